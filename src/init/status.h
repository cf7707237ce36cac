/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* End as a process has whose STATUS wait(2) told: with its exit status, or by the same
 * signal. Leaves no core file: if there is one, it is that process's own. */
_Noreturn void berth_status_end(int status);

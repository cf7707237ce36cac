/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* End as the process ended whose STATUS wait(2) told: with its exit status, or by the
 * same signal. Leaves no core file, because that process may have left its own. */
_Noreturn void berth_status_end(int status);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Call first in main(): no file that is opened later becomes standard input, output or
 * error. If one of these is closed, a descriptor that cannot be read (0) or written (1,
 * 2) takes its number until exec. */
void berth_streams_reserve(void);

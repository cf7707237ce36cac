/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Called first in main(), so that no file that is opened later becomes standard input,
 * output or error: if one of these is closed, a descriptor that can be neither read nor
 * written takes its place until exec. */
void berth_streams_reserve(void);

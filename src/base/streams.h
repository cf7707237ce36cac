/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_BASE_STREAMS_H
#define BERTH_BASE_STREAMS_H

/* For main(), first: let no file that is opened later be standard input, output or
 * error. Where one of them is closed, something that can be neither read nor written,
 * as the stream is to be, takes its place until exec. */
void berth_streams_hold(void);

#endif

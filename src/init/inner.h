/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Put the calling process, which is in the outer user namespace of step/outer.h, into
 * the inner one, INNER, with no capability; what its programs can get is bounded as it
 * was. Returns 0, or -1 with errno. */
int berth_inner_enter(int inner);

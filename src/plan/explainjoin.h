/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

/* Append to RET one JSON array of the objects in TEXT, which the components of a step
 * have printed: each line starts with a number, a colon and a blank
 * (berth_explain_write()). The lines of several may be mixed. The array is in the order
 * of the numbers. If TEXT is something else, such as lines with the labels of srun -l,
 * appends it as it is. Out of memory sticks in RET. */
void berth_explain_join(const char *text, struct berth_buf *ret);

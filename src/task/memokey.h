/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_TASK_MEMOKEY_H
#define BERTH_TASK_MEMOKEY_H

#include <stdbool.h>

#include "base/buf.h"
#include "task/inside.h"

/* Append to KEY all that the answer depends on and that is known without a look into
 * the container, which runs with the environment CONTAINER (ends in NULL): lines of
 * text. Nothing that a user may want to hide is in it. False: there is no key, since
 * the image is a directory, whose files can change one by one, or because of a newline
 * in a value. */
bool berth_memokey_write(const struct berth_inside *inside, char *const *container,
                         struct berth_buf *key);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_BIND_MEMOKEY_H
#define BERTH_BIND_MEMOKEY_H

#include <stdbool.h>

#include "base/buf.h"
#include "bind/inside.h"

/* Appends to KEY all that the result depends on and that is known without inspecting
 * the container, which runs with the environment CONTAINER (ends in NULL): lines of
 * text. KEY contains nothing that a user may want to hide. Returns false when there is
 * no key: the image is a directory, whose files can change one by one, or a value has a
 * newline. */
bool berth_memokey_write(const struct berth_inside *inside, char *const *container,
                         struct berth_buf *key);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The library task/mark.c as part of a program, so that it is no file that an
 * installation could lack. */

#include "task/marklib.h"

/* Made by the Makefile. */
static const unsigned char bytes[] = {
#include "task/mark-bytes.h"
};

const void *berth_marklib(size_t *ret_size)
{
    *ret_size = sizeof(bytes);
    return bytes;
}

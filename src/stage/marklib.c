/* SPDX-License-Identifier: Apache-2.0 */
/* The library stage/mark.c as part of a program, so that it is no file that an
 * installation could lack. */

#include "stage/marklib.h"

/* Made by the Makefile. */
static const unsigned char bytes[] = {
#include "stage/mark-bytes.h"
};

const void *berth_marklib(size_t *ret_size)
{
    *ret_size = sizeof(bytes);
    return bytes;
}

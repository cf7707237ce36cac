/* SPDX-License-Identifier: Apache-2.0 */
/* Holds the library stage/mark.c as part of the program, so that no installation lacks
 * it.
 */

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

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* The bytes of the library stage/mark.c, to be written into a stage. */
const void *berth_marklib(size_t *ret_size);

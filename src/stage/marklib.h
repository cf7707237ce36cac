/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* The bytes of the library stage/mark.c, *RET_SIZE many, for the file in a stage. */
const void *berth_marklib(size_t *ret_size);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* Copies up to COUNT bytes of the data of the dynamic symbol NAME in the ELF file open
 * at FD: the value of a library's constant before anything runs. Returns the number of
 * bytes; 0 when the file is not ELF, is damaged, or has no such data. */
size_t berth_elf_value(int fd, const char *name, void *bytes, size_t count);

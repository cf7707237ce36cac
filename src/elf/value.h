/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* Copies up to COUNT bytes of the value of the dynamic symbol NAME, as the ELF file
 * open at FD stores it, to BYTES. Returns the number of bytes; 0 if the file is not
 * ELF, is damaged, or has no such data. */
size_t berth_elf_value(int fd, const char *name, void *bytes, size_t count);

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_ELF_VALUE_H
#define BERTH_ELF_VALUE_H

#include <stddef.h>

/* Copy up to COUNT bytes of what the dynamic symbol NAME of the ELF file open at FD
 * stands for: the value that a constant of a library has before anything runs. Returns
 * how many; 0 when the file is no ELF file, is damaged, or has no such data. */
size_t berth_elf_value(int fd, const char *name, void *bytes, size_t count);

#endif

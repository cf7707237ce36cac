/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "elf/facts.h"

/* The facts of a file as bytes, for a cache. */

/* Appends ELF to RET. Out of memory sticks in RET. */
void berth_elf_put(const struct berth_elf *elf, struct berth_buf *ret);

/* Reads the COUNT bytes at BYTES, which live as long as *RET_ELF: that has the names of
 * its symbols there. Returns 0 with *RET_ELF, which the caller owns (berth_elf_fini);
 * -1 when they are damaged. */
int berth_elf_get(const char *bytes, size_t count, struct berth_elf *ret_elf);

/* The name of the machine NAME that lives as long as the program; NULL: unknown. */
const char *berth_elf_machine(const char *name);

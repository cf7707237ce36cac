/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "elf/facts.h"

/* Appends the facts ELF to RET as bytes, for a cache. Out of memory sticks in RET. */
void berth_elf_put(const struct berth_elf *elf, struct berth_buf *ret);

/* Reads such COUNT bytes at BYTES, which must live as long as *RET_ELF, because the
 * names of its symbols point into them. Returns 0 with *RET_ELF, which the caller owns
 * (berth_elf_fini); -1 if the bytes are damaged, or out of memory. */
int berth_elf_get(const char *bytes, size_t count, struct berth_elf *ret_elf);

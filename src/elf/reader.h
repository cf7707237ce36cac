/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <gelf.h>

#include "elf/facts.h"

/* Private to src/elf: an ELF file that is being read. */
struct berth_elf_reader {
    Elf *elf;
    int fd;
    uint64_t size; /* of the file */
    GElf_Ehdr header;
};

/* Bytes of the largest table that is read; a larger one is a damaged file. */
#define BERTH_ELF_SECTION_MAX ((uint64_t)256 << 20)

/* Sets ERR to the sentence for a file whose WHAT breaks the gABI. Returns -1. */
int berth_elf_damaged(struct berth_err *err, const char *what);

/* Returns the contents of SECTION, which libelf owns, and its header; NULL: it is
 * damaged, or too large to be read. */
Elf_Data *berth_elf_data(Elf_Scn *section, GElf_Shdr *ret_header);

/* Moves *SECTION (NULL: the start) to the next section of TYPE, or to NULL at the end.
 * Returns its contents, which libelf owns, and its header; NULL: there is none, or it
 * is damaged, or the section to which it links is too large. */
Elf_Data *berth_elf_next(Elf *elf, Elf_Scn **section, uint32_t type,
                         GElf_Shdr *ret_header);

/* Parts of berth_elf_read(): each fills its members of ELF, as QUESTION asks. Returns
 * 0, or -1 with a sentence in ERR if the file is damaged, or out of memory. */
int berth_elf_read_symbols(struct berth_elf_reader *reader,
                           const struct berth_elf_question *question,
                           struct berth_elf *elf, struct berth_err *err);
int berth_elf_read_versions(struct berth_elf_reader *reader, struct berth_elf *elf,
                            struct berth_err *err);
int berth_elf_read_inner(struct berth_elf_reader *reader,
                         const struct berth_elf_question *question,
                         struct berth_elf *elf, struct berth_err *err);
int berth_elf_read_texts(struct berth_elf_reader *reader,
                         const struct berth_elf_question *question,
                         struct berth_elf *elf, struct berth_err *err);

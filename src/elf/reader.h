/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <gelf.h>

#include "elf/facts.h"

/* Private to src/elf: an ELF file that is being read, with the addresses of its dynamic
 * section. An address of 0 means that the file lacks the table. */
struct berth_elf_reader {
    Elf *elf;
    int fd;
    uint64_t size; /* of the file */
    GElf_Ehdr header;
    size_t segments;
    uint64_t strings, strings_size;
    uint64_t symbols;
    uint64_t hash, gnu_hash;
    uint64_t rela, rela_size, rela_relative;
    uint64_t rel, rel_size, rel_relative;
    uint64_t plt, plt_size, plt_type;
    uint64_t version_needs, version_need_count;
    uint64_t version_defs, version_def_count;
    const Elf_Data *text; /* the strings themselves */
};

/* Bytes of the largest table that is read; a larger one is a damaged file. */
#define BERTH_ELF_TABLE_MAX ((uint64_t)256 << 20)

/* Sets ERR to the sentence for a file whose WHAT breaks the gABI. Returns -1. */
int berth_elf_damaged(struct berth_err *err, const char *what);

/* The COUNT bytes at ADDRESS in memory, as TYPE; libelf owns them. NULL: the file does
 * not have them. */
Elf_Data *berth_elf_table(struct berth_elf_reader *reader, uint64_t address,
                          uint64_t count, Elf_Type type);

/* The same, but fewer than COUNT bytes if the file has fewer. */
Elf_Data *berth_elf_table_upto(struct berth_elf_reader *reader, uint64_t address,
                               uint64_t count, Elf_Type type);

/* The string at OFFSET of the dynamic strings; NULL: there is none. */
const char *berth_elf_string(const struct berth_elf_reader *reader, uint64_t offset);

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

/* Compares two symbols by name, for qsort() and bsearch(). */
int berth_elf_compare(const void *a, const void *b);

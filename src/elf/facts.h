/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/strvec.h"

enum berth_elf_kind {
    BERTH_ELF_NONE,    /* neither ELF nor a script, or not a regular file */
    BERTH_ELF_SCRIPT,  /* starts with #! */
    BERTH_ELF_STATIC,  /* a program that no loader starts (PIE or not) */
    BERTH_ELF_PROGRAM, /* a program that names its loader (PT_INTERP) */
    BERTH_ELF_LIBRARY, /* a shared object, also the loader itself */
    BERTH_ELF_OTHER,   /* an object file, a core */
};

struct berth_elf_symbol {
    char *name;
    uint64_t size; /* bytes; 0 for most undefined symbols */
    bool weak;     /* undefined and weak: it may stay missing */
};

struct berth_elf_symbols {
    struct berth_elf_symbol *items;
    size_t count;
    size_t room;
    bool is_sorted;   /* by name, as the symbols of a file are */
    bool is_borrowed; /* the names belong to the bytes of berth_elf_get() */
};

/* The facts in one ELF file. Members that the file does not have are NULL or empty. */
struct berth_elf {
    enum berth_elf_kind kind;
    char *machine;     /* as `uname -m` prints it; NULL: berth does not know it */
    int bits;          /* 32 or 64 */
    char *interpreter; /* the loader, or the interpreter after #! */
    char *soname;
    struct berth_strvec needed;
    char *rpath;
    char *runpath;
    struct berth_strvec version_needs; /* library, version that it must define, library,
                                          ...; without those marked weak */
    struct berth_strvec version_defs;  /* that it defines, without its own name */
    struct berth_elf_symbols undefined;
    struct berth_elf_symbols defined; /* also the copied ones */
    struct berth_elf_symbols copied;  /* R_*_COPY: data that moves into the program */
    struct berth_strvec texts;        /* among its constants */
    struct berth_strvec inner; /* symbols that a program does not export, from its full
                                  symbol table, which `strip` removes */
};

/* Which symbols and texts to keep. */
struct berth_elf_question {
    bool (*symbol)(const char *name); /* NULL: every symbol */
    /* NULL: no text. Texts of 4 to 255 bytes (longer ones are cut) of a program, or of
     * a library that defines a symbol that was asked for. At most 1024 are kept. */
    bool (*text)(const char *text);
    /* NULL: no mark. Texts that are kept in addition to these, at most 64. */
    bool (*mark)(const char *text);
    bool (*inner)(const char *name); /* NULL: no symbol */
};

/* Read the file open at FD, which may be anybody's and is not trusted, as far as
 * QUESTION asks (NULL: every symbol, no text). A file that is not ELF is an answer
 * (kind), not an error. Returns 0 with *RET_ELF, which the caller owns
 * (berth_elf_fini); -1 with a sentence in ERR when FD cannot be read or the ELF file is
 * damaged. */
int berth_elf_read(int fd, const struct berth_elf_question *question,
                   struct berth_elf *ret_elf, struct berth_err *err);

/* The same for the file at PATH, which the sentence names. */
int berth_elf_read_path(const char *path, const struct berth_elf_question *question,
                        struct berth_elf *ret_elf, struct berth_err *err);

/* The question for neither symbols nor texts. */
extern const struct berth_elf_question berth_elf_no_symbols;

void berth_elf_fini(struct berth_elf *elf);

#define BERTH_ELF __attribute__((cleanup(berth_elf_fini)))

/* The symbol NAME in the list; NULL: it is not there. */
const struct berth_elf_symbol *berth_elf_find(const struct berth_elf_symbols *symbols,
                                              const char *name);

/* Copies up to COUNT bytes of the value of the dynamic symbol NAME, as the ELF file
 * open at FD stores it, to BYTES. Returns the number of bytes; 0 if the file is not
 * ELF, is damaged, or has no such data. */
size_t berth_elf_value(int fd, const char *name, void *bytes, size_t count);

/* Copies the build ID of the ELF file open at FD, at most COUNT bytes, to BYTES.
 * `strip` and `patchelf` do not change a build ID. Returns its length; 0 if the file
 * has none, or is not ELF, or is damaged. */
size_t berth_elf_build_id(int fd, void *bytes, size_t count);

/* Appends the facts ELF to RET as bytes, for a cache. Out of memory sticks in RET. */
void berth_elf_put(const struct berth_elf *elf, struct berth_buf *ret);

/* Reads such COUNT bytes at BYTES, which must live as long as *RET_ELF, because the
 * names of its symbols point into them. Returns 0 with *RET_ELF, which the caller owns
 * (berth_elf_fini); -1 if the bytes are damaged, or out of memory. */
int berth_elf_get(const char *bytes, size_t count, struct berth_elf *ret_elf);

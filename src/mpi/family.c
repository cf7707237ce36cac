/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which MPI a library is, by marks that were found in the libraries of
 * MPICH 3.2 to 5.0, Intel MPI 2021, and Open MPI 1.10 to 6.0. */

#include "mpi/family.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "mpi/filenames.h"
#include "mpi/names.h"

static bool defines(const struct berth_elf *elf, const char *name)
{
    return berth_elf_find(&elf->defined, name) != NULL;
}

static bool defines_any(const struct berth_elf *elf, const char *const *names)
{
    for (; *names; names++)
        if (defines(elf, *names))
            return true;
    return false;
}

static bool any_is(const struct berth_elf_symbols *symbols,
                   bool (*is)(const char *name))
{
    for (size_t i = 0; i < symbols->count; i++)
        if (is(symbols->items[i].name))
            return true;
    return false;
}

static bool is_cxx(const char *name)
{
    return berth_text_starts(name, "_ZN3MPI");
}

/* Is it the library of Open MPI for `use mpi`, or for F08? Debian also ships empty
 * ones, libmpi_usempi...-gfortran.so. */
static bool is_usempi(const struct berth_elf *elf)
{
    if (!elf->soname || !berth_text_starts(elf->soname, "libmpi_usempi"))
        return false;
    return any_is(&elf->defined, berth_mpi_is_symbol);
}

/* A profiler defines only MPI_Init, and needs PMPI_Init; MPI defines both. */
static unsigned int parts_of(const struct berth_elf *elf)
{
    static const char *const fortran[] = {"pmpi_init", "pmpi_init_", "pmpi_init__",
                                          "PMPI_INIT", NULL};
    static const char *const f08[] = {"mpi_init_f08_", "pmpi_init_f08_", "mpi_init_f08",
                                      NULL};
    unsigned int parts = 0;

    if (defines(elf, "PMPI_Init"))
        parts |= BERTH_PART_C;
    if (defines_any(elf, fortran))
        parts |= BERTH_PART_FORTRAN;
    if (defines_any(elf, f08) && !berth_elf_find(&elf->undefined, "pmpi_init_f08_"))
        parts |= BERTH_PART_F08;
    if (any_is(&elf->defined, is_cxx))
        parts |= BERTH_PART_CXX;
    if (is_usempi(elf) && !(parts & (BERTH_PART_F08 | BERTH_PART_FORTRAN)))
        parts |= BERTH_PART_USEMPI;
    return parts;
}

/* The family by what the library needs, if its symbols do not show the family: the C++
 * library of MPICH uses only names of the MPI standard. */
static enum berth_mpi_family family_by_needed(const struct berth_elf *elf)
{
    static const char *const openmpi[] = {"libopen-pal", "libopen-rte", NULL};
    enum berth_mpi_family family = BERTH_FAMILY_UNKNOWN;

    for (size_t i = 0; i < elf->needed.count; i++) {
        const char *soname = elf->needed.items[i];
        enum berth_mpi_family one;

        if (berth_text_starts_any(soname, openmpi))
            return BERTH_FAMILY_OPENMPI;
        one = berth_mpi_family_of_soname(soname);
        if (one != BERTH_FAMILY_NONE && family == BERTH_FAMILY_UNKNOWN)
            family = one;
    }
    return family;
}

/* Does the file define, or need, a symbol that IS? */
static bool uses(const struct berth_elf *elf, bool (*is)(const char *name))
{
    return any_is(&elf->defined, is) || any_is(&elf->undefined, is);
}

static enum berth_mpi_family family_of(const struct berth_elf *elf)
{
    /* Before the symbols: the standard's libraries have the private names too. */
    if (elf->soname && berth_mpi_abi_number(elf->soname) >= 0)
        return BERTH_FAMILY_ABI;
    for (size_t i = 0; i < BERTH_MPI_IMPLEMENTATIONS; i++)
        if (uses(elf, berth_mpi_implementations[i].is))
            return berth_mpi_implementations[i].family;
    return family_by_needed(elf);
}

/* The implementation of a library of FAMILY, which may be the standard's ABI; NULL: it
 * is not known. */
static const struct berth_mpi_implementation *
implementation_of(const struct berth_elf *elf, enum berth_mpi_family family)
{
    for (size_t i = 0; i < BERTH_MPI_IMPLEMENTATIONS; i++) {
        const struct berth_mpi_implementation *it = &berth_mpi_implementations[i];

        if (it->family == family || any_is(&elf->defined, it->is))
            return it;
    }
    return NULL;
}

/* The vendor that a library shows: one of those that have made theirs from MPICH, or
 * else the implementation itself. */
static const char *vendor_of(const struct berth_elf *elf, enum berth_mpi_family family)
{
    static const char *const texts[][2] = {
        {"Intel(R) MPI Library", "Intel MPI"},
        {"CRAY MPICH", "Cray MPICH"},
        {"MVAPICH", "MVAPICH"},
        {"ParaStation", "ParaStation MPI"},
    };
    const struct berth_mpi_implementation *it = implementation_of(elf, family);

    if (it && it->family != BERTH_FAMILY_MPICH)
        return it->name;
    if (defines(elf, "I_MPI_Check_image_status"))
        return "Intel MPI";
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (berth_strvec_has_start(&elf->texts, texts[i][0]))
            return texts[i][1];
    return it ? it->name : NULL;
}

/* With how many numbers, with points between, TEXT starts. */
static int numbers_of(const char *text)
{
    int count = 0;

    while (isdigit((unsigned char)*text)) {
        count++;
        text += strspn(text, "0123456789");
        if (*text == '.')
            text++;
    }
    return count;
}

/* Intel's versions begin with a year, Open MPI's have three numbers. */
static bool is_version_of(const char *vendor, const char *text)
{
    bool has_year =
        berth_text_starts(text, "20") && strcspn(text, ".") == strlen("2021");

    if (strcmp(vendor, "Intel MPI") == 0)
        return has_year && numbers_of(text) >= 2;
    return strcmp(vendor, "Open MPI") == 0 && numbers_of(text) == 3;
}

/* Do the libraries of VENDOR have their version after another number, c:r:a of libtool?
 */
static bool has_libtool_number(const char *vendor)
{
    return strcmp(vendor, "Intel MPI") != 0 && strcmp(vendor, "Open MPI") != 0;
}

/* The version after the text I, if that is a number of libtool; else NULL. */
static const char *text_after_number(const struct berth_strvec *texts, size_t i)
{
    const char *next = texts->items[i + 1]; /* NULL after the last one */

    if (!strchr(texts->items[i], ':') || !next)
        return NULL;
    return numbers_of(next) >= 2 ? next : NULL;
}

/* The text that is the version of the library. A program with an MPI inside may have
 * its own version in the same form: if two differ, none counts. */
static const char *version_text(const struct berth_elf *elf,
                                const struct berth_mpi_library *library)
{
    const char *found = NULL;

    for (size_t i = 0; i < elf->texts.count; i++) {
        const char *text = elf->texts.items[i];
        const char *after = text_after_number(&elf->texts, i);

        if (!isdigit((unsigned char)*text))
            continue;
        if (after && has_libtool_number(library->vendor))
            return after;
        if (!is_version_of(library->vendor, text))
            continue;
        if (!library->is_inside)
            return text;
        if (found && strcmp(found, text) != 0)
            return NULL;
        found = text;
    }
    return found;
}

/* Releases by the numbers behind .so. in the file's name, which libtool sets and which
 * grow with each release. */
static const struct {
    enum berth_mpi_family family;
    int major, minor;
    const char *version;
} files[] = {
    {BERTH_FAMILY_OPENMPI, 12, 0, "1.10"}, {BERTH_FAMILY_OPENMPI, 20, 10, "2"},
    {BERTH_FAMILY_OPENMPI, 40, 0, "3.0"},  {BERTH_FAMILY_OPENMPI, 40, 10, "3.1"},
    {BERTH_FAMILY_OPENMPI, 40, 20, "4.0"}, {BERTH_FAMILY_OPENMPI, 40, 30, "4.1"},
    {BERTH_FAMILY_OPENMPI, 40, 40, "5.0"}, {BERTH_FAMILY_OPENMPI, 40, 50, "6.0"},
    {BERTH_FAMILY_MPICH, 12, 2, "4.0"},    {BERTH_FAMILY_MPICH, 12, 3, "4.1"},
    {BERTH_FAMILY_MPICH, 12, 4, "4.2"},    {BERTH_FAMILY_MPICH, 12, 5, "4.3"},
    {BERTH_FAMILY_MPICH, 12, 6, "5.0"},
};

static const char *version_of_file(enum berth_mpi_family family, const char *file)
{
    const char *number = file ? strstr(file, ".so.") : NULL;
    int major, minor, patch;

    if (!number || sscanf(number, ".so.%d.%d.%d", &major, &minor, &patch) != 3)
        return NULL;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        bool is_number = files[i].major == major && files[i].minor == minor;

        if (files[i].family == family && is_number)
            return files[i].version;
    }
    return NULL;
}

/* Sets vendor and version, which only the C library shows. */
static void set_release(const struct berth_elf *elf, const char *file,
                        struct berth_mpi_library *library)
{
    const char *version = NULL;

    library->vendor = vendor_of(elf, library->family);
    if (library->vendor)
        version = version_text(elf, library);
    if (!version)
        version = version_of_file(library->family, file);
    if (version)
        snprintf(library->version, sizeof(library->version), "%s", version);
}

/* Is it Intel's library for INTEGER of 8 bytes? It has no SONAME, and needs the
 * profiling names of the Fortran library. */
static bool is_ilp64(const struct berth_elf *elf, const char *file)
{
    return file && berth_text_starts(file, "libmpi_ilp64.so") &&
           defines(elf, "mpi_init_");
}

static void classify_library(const struct berth_elf *elf, const char *file,
                             struct berth_mpi_library *library)
{
    library->parts = parts_of(elf);
    if (!library->parts && is_ilp64(elf, file))
        library->parts = BERTH_PART_ILP64;
    if (elf->soname && berth_text_starts(elf->soname, "libopen_mpi.so"))
        library->parts |= BERTH_PART_CORE;
    if (!library->parts)
        return;
    library->family = family_of(elf);
    if (library->family == BERTH_FAMILY_ABI)
        library->abi_number = (unsigned int)berth_mpi_abi_number(elf->soname);
}

static bool has_marks(const struct berth_elf *elf, enum berth_mpi_family family)
{
    unsigned int seen = 0;

    for (size_t i = 0; i < elf->texts.count; i++)
        seen |= berth_mpi_mark(family, elf->texts.items[i]);
    return __builtin_popcount(seen) >= 2;
}

static bool has_inner(const struct berth_elf *elf, const char *name)
{
    return berth_strvec_has(&elf->inner, name) || defines(elf, name);
}

/* The family of an MPI inside a file: by constants, which `strip` leaves, or by
 * symbols. */
static enum berth_mpi_family family_inside(const struct berth_elf *elf)
{
    bool is_mpi = has_inner(elf, "PMPI_Init");

    for (size_t i = 0; i < BERTH_MPI_IMPLEMENTATIONS; i++) {
        const struct berth_mpi_implementation *it = &berth_mpi_implementations[i];
        bool has_symbols = is_mpi && has_inner(elf, it->inner);

        if (has_symbols || has_marks(elf, it->family))
            return it->family;
    }
    return is_mpi ? BERTH_FAMILY_UNKNOWN : BERTH_FAMILY_NONE;
}

void berth_mpi_classify(const struct berth_elf *elf, const char *file,
                        struct berth_mpi_library *ret_library)
{
    struct berth_mpi_library library = {.parts = 0};

    if (elf->kind == BERTH_ELF_LIBRARY)
        classify_library(elf, file, &library);
    if (!library.parts) {
        library.family = family_inside(elf);
        library.is_inside = library.family != BERTH_FAMILY_NONE;
    }
    if (library.is_inside)
        library.parts = BERTH_PART_C;
    if (library.parts & BERTH_PART_C)
        set_release(elf, file, &library);
    *ret_library = library;
}

bool berth_mpi_family_is_implementation(enum berth_mpi_family family)
{
    for (size_t i = 0; i < BERTH_MPI_IMPLEMENTATIONS; i++)
        if (berth_mpi_implementations[i].family == family)
            return true;
    return false;
}

const char *berth_mpi_family_name(enum berth_mpi_family family)
{
    for (size_t i = 0; i < BERTH_MPI_IMPLEMENTATIONS; i++)
        if (berth_mpi_implementations[i].family == family)
            return berth_mpi_implementations[i].name;
    if (family == BERTH_FAMILY_ABI)
        return "the MPI standard ABI";
    return family == BERTH_FAMILY_NONE ? "no MPI" : "an unknown MPI";
}

const char *berth_mpi_part_name(enum berth_mpi_part part)
{
    static const char *const names[BERTH_PART_COUNT] = {
        "C",
        "Fortran (mpif.h, use mpi)",
        "Fortran (use mpi)",
        "Fortran 2008 (use mpi_f08)",
        "C++",
        "Fortran with 8-byte INTEGER (ILP64)",
        "the core library of Open MPI 6 (libopen_mpi)",
    };

    return names[__builtin_ctz(part)];
}

void berth_mpi_part_names(unsigned int parts, struct berth_strvec *ret)
{
    for (unsigned int part = 1; part < 1U << BERTH_PART_COUNT; part <<= 1)
        if (parts & part)
            berth_strvec_push(ret, berth_mpi_part_name((enum berth_mpi_part)part));
}

const char *berth_mpi_library_name(const struct berth_mpi_library *library, char *name,
                                   size_t size)
{
    const char *called = library->vendor;

    if (!called)
        called = berth_mpi_family_name(library->family);
    if (*library->version)
        snprintf(name, size, "%s %s", called, library->version);
    else
        snprintf(name, size, "%s", called);
    return name;
}

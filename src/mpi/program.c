/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what a program needs of MPI from the files that its loader loads, without those
 * that only MPI needs. */

#include "mpi/program.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/grow.h"
#include "base/text.h"
#include "mpi/filenames.h"
#include "mpi/names.h"

static bool is_mpi(const struct berth_mpi_object *object)
{
    return object->library.family != BERTH_FAMILY_NONE;
}

static bool is_needed(const struct berth_mpi_objects *objects,
                      const struct berth_mpi_object *object)
{
    for (size_t i = 0; i < objects->count; i++)
        if (berth_strvec_has(&objects->items[i].elf.needed, object->soname))
            return true;
    return false;
}

static bool may_be_own(const struct berth_mpi_object *object)
{
    return !is_mpi(object) && object->role != BERTH_ROLE_PRESENT;
}

/* Flags for the program's own files: it, what it needs, and what is preloaded. The
 * caller frees them; NULL: out of memory. */
static bool *find_own(const struct berth_mpi_objects *objects)
{
    bool *own = calloc(objects->count + 1, sizeof(*own));

    if (!own)
        return NULL;
    for (size_t i = 0; i < objects->count; i++) {
        const struct berth_mpi_object *object = &objects->items[i];
        bool is_loaded = object->role == BERTH_ROLE_LOADED;
        bool is_preloaded = is_loaded && !is_needed(objects, object);

        if (object->role == BERTH_ROLE_PROGRAM || is_preloaded)
            berth_mpi_objects_reach(objects, object, may_be_own, own);
    }
    return own;
}

/* Does one of the program's own files define NAME? */
static bool own_defines(const struct berth_mpi_objects *objects, const bool *own,
                        const char *name)
{
    for (size_t i = 0; i < objects->count; i++)
        if (own[i] && berth_elf_find(&objects->items[i].elf.defined, name))
            return true;
    return false;
}

/* Does another file that is loaded define NAME? */
static bool others_define(const struct berth_mpi_objects *objects, const bool *own,
                          const char *name)
{
    for (size_t i = 0; i < objects->count; i++) {
        const struct berth_mpi_object *object = &objects->items[i];

        if (own[i] || object->role != BERTH_ROLE_LOADED)
            continue;
        if (berth_elf_find(&object->elf.defined, name))
            return true;
    }
    return false;
}

static unsigned int part_of(const char *name)
{
    if (berth_text_starts(name, "_Z"))
        return BERTH_PART_CXX;
    if (berth_mpi_is_c_function(name)) /* MPI_Status_f082c is one */
        return BERTH_PART_C;
    if (strstr(name, "_f08") || berth_text_starts(name, "MPIR_F08"))
        return BERTH_PART_F08;
    /* Modules, procedures, and common blocks (mpipriv1_). */
    if (berth_text_starts(name, "__") || berth_text_starts(name, "mpi") ||
        berth_text_starts(name, "pmpi"))
        return BERTH_PART_FORTRAN;
    return BERTH_PART_C;
}

/* Adds SYMBOL. SIZE: of the data that was copied into the program, or 0. */
static int add_need(struct berth_mpi_program *program,
                    const struct berth_elf_symbol *symbol, uint64_t size,
                    struct berth_err *err)
{
    struct berth_elf_symbols *needs = &program->needs;
    struct berth_elf_symbol item = {.size = size};

    if (berth_elf_find(needs, symbol->name))
        return 0;
    item.name = strdup(symbol->name);
    if (!item.name || berth_append(needs, &item) < 0) {
        free(item.name);
        return berth_err_oom(err);
    }
    program->parts |= part_of(symbol->name);
    return 0;
}

static int add_needs(const struct berth_mpi_objects *objects, const bool *own,
                     const struct berth_mpi_object *object,
                     struct berth_mpi_program *program, struct berth_err *err)
{
    const struct berth_elf *elf = &object->elf;
    bool known = berth_mpi_objects_load(objects);

    for (size_t i = 0; i < elf->copied.count; i++) {
        const struct berth_elf_symbol *symbol = &elf->copied.items[i];

        if (!berth_mpi_is_symbol(symbol->name))
            continue;
        if (add_need(program, symbol, symbol->size, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < elf->undefined.count; i++) {
        const struct berth_elf_symbol *symbol = &elf->undefined.items[i];

        if (symbol->weak || !berth_mpi_is_symbol(symbol->name))
            continue;
        if (own_defines(objects, own, symbol->name))
            continue;

        /* With MPI's files at hand, a name that only looks like one of MPI's shows. */
        if (known && !others_define(objects, own, symbol->name))
            continue;
        if (add_need(program, symbol, 0, err) < 0)
            return -1;
    }
    return 0;
}

/* The families whose symbols are among SYMBOLS, as bits. */
static unsigned int marks_of(const struct berth_elf_symbols *symbols)
{
    unsigned int seen = 0;

    for (size_t i = 0; i < BERTH_MPI_IMPLEMENTATIONS; i++)
        for (size_t k = 0; k < symbols->count; k++)
            if (berth_mpi_implementations[i].is(symbols->items[k].name))
                seen |= 1U << berth_mpi_implementations[i].family;
    return seen;
}

/* Families as bits: by symbols, by the MPI libraries that are loaded, and by the names
 * of missing libraries, which count only if nothing else shows a family. */
struct seen {
    unsigned int marks, libraries, names;
    unsigned int abi_number;
    unsigned int parts; /* of files that no symbol tells of */
};

static void add_needed(const struct berth_mpi_objects *objects, const char *soname,
                       struct seen *seen)
{
    const unsigned int silent = BERTH_PART_USEMPI | BERTH_PART_ILP64 | BERTH_PART_CORE;
    const struct berth_mpi_object *needed = berth_mpi_objects_find(objects, soname);
    enum berth_mpi_family named = berth_mpi_family_of_soname(soname);

    if (needed && needed->role == BERTH_ROLE_LOADED) {
        if (!is_mpi(needed))
            return;
        seen->libraries |= 1U << needed->library.family;
        seen->abi_number = needed->library.abi_number;
        seen->parts |= needed->library.parts & silent;
    } else if (named == BERTH_FAMILY_ABI) {
        seen->libraries |= 1U << BERTH_FAMILY_ABI;
        seen->abi_number = (unsigned int)berth_mpi_abi_number(soname);
    } else {
        seen->names |= 1U << named;
    }
}

static int set_family(const struct seen *seen, struct berth_mpi_program *program,
                      struct berth_err *err)
{
    unsigned int families = seen->marks | seen->libraries;

    if (!families)
        families = seen->names & ~(1U << BERTH_FAMILY_NONE);
    program->family = BERTH_FAMILY_NONE;
    program->abi_number = seen->abi_number;
    program->parts |= seen->parts;
    for (unsigned int family = BERTH_FAMILY_MPICH; family <= BERTH_FAMILY_UNKNOWN;
         family++) {
        unsigned int bit = 1U << family;

        if (!(families & bit))
            continue;
        program->family = BERTH_FAMILY_UNKNOWN;
        if (families == bit)
            program->family = (enum berth_mpi_family)family;
        berth_strvec_push(&program->families, berth_mpi_family_name(family));
    }
    return berth_err_oom_if(program->families.failed, err);
}

/* Does OBJECT show that its image has musl? A program does by its loader. */
static bool shows_musl(const struct berth_mpi_object *object)
{
    const char *loader = object->elf.interpreter;

    if (object->role != BERTH_ROLE_PROGRAM)
        return object->soname && berth_text_starts(object->soname, "libc.musl-");
    if (object->elf.kind != BERTH_ELF_PROGRAM || !loader)
        return false;
    return strstr(loader, "ld-musl") != NULL;
}

static void set_kind(const struct berth_mpi_objects *objects,
                     struct berth_mpi_program *program)
{
    for (size_t i = 0; i < objects->count; i++) {
        const struct berth_mpi_object *object = &objects->items[i];

        if (shows_musl(object))
            program->musl = true;
        if (object->role != BERTH_ROLE_PROGRAM)
            continue;
        program->path = object->path;
        program->kind = object->elf.kind;
        program->machine = object->elf.machine;
        program->bits = object->elf.bits;
    }
}

static int read_own(const struct berth_mpi_objects *objects, const bool *own,
                    struct berth_mpi_program *program, struct berth_err *err)
{
    struct seen seen = {0};

    for (size_t i = 0; i < objects->count; i++) {
        const struct berth_elf *elf = &objects->items[i].elf;

        if (!own[i])
            continue;
        if (add_needs(objects, own, &objects->items[i], program, err) < 0)
            return -1;
        seen.marks |= marks_of(&elf->undefined) | marks_of(&elf->defined);
        for (size_t j = 0; j < elf->needed.count; j++)
            add_needed(objects, elf->needed.items[j], &seen);
    }
    return set_family(&seen, program, err);
}

/* An MPI inside one of the program's files comes before any that is loaded. A library
 * that only lies in the image is not one of these. */
static void set_inside(const struct berth_mpi_objects *objects,
                       struct berth_mpi_program *program)
{
    for (size_t i = 0; i < objects->count; i++) {
        const struct berth_mpi_object *object = &objects->items[i];
        bool is_library = object->elf.kind == BERTH_ELF_LIBRARY;

        if (!object->library.is_inside)
            continue;
        if (is_library && object->role == BERTH_ROLE_PRESENT)
            continue;
        program->inside = object;
        program->family = object->library.family;
        return;
    }
}

int berth_mpi_program_read(const struct berth_mpi_objects *objects,
                           struct berth_mpi_program *ret_program, struct berth_err *err)
{
    struct berth_mpi_program program = {.family = BERTH_FAMILY_NONE};
    BERTH_FREE bool *own = find_own(objects);

    *ret_program = program;
    if (!own)
        return berth_err_oom(err);
    set_kind(objects, &program);
    if (read_own(objects, own, &program, err) < 0) {
        berth_mpi_program_fini(&program);
        return -1;
    }
    set_inside(objects, &program);
    *ret_program = program;
    return 0;
}

void berth_mpi_program_fini(struct berth_mpi_program *program)
{
    for (size_t i = 0; i < program->needs.count; i++)
        free(program->needs.items[i].name);
    free(program->needs.items);
    berth_strvec_fini(&program->families);
    *program = (struct berth_mpi_program){0};
}

static int refuse_unknown(const struct berth_mpi_program *program,
                          struct berth_err *err)
{
    BERTH_BUF struct berth_buf text = {0};

    berth_strvec_join(&program->families, " and ", &text);
    if (text.failed)
        return berth_err_oom(err);
    return berth_err_set(err,
                         "berth cannot tell which MPI the program wants (marks of: "
                         "%s); build it with one MPI, or " BERTH_RULES_HYBRID,
                         text.text);
}

int berth_mpi_refuse_static(const char *path, const char *with, struct berth_err *err)
{
    BERTH_BUF struct berth_buf mpi = {0};

    berth_buf_part(&mpi, " with ", with, "");
    return berth_err_set(err,
                         "'%s' is linked statically%s, so no library of the host "
                         "reaches it; link it with shared libraries, name the program "
                         "that it starts, or " BERTH_RULES_HYBRID,
                         path, berth_buf_text(&mpi));
}

int berth_mpi_check_program(const struct berth_mpi_program *program,
                            struct berth_err *err)
{
    const struct berth_mpi_object *inside = program->inside;

    if (program->path && berth_mpi_is_starter(program->path))
        return berth_err_set(err,
                             "'%s' starts ranks itself, which cannot be done in every "
                             "task of a step; choose --mpi-bind=local for an mpirun on "
                             "one node, or let srun start the program",
                             program->path);
    if (inside) {
        char name[BERTH_MPI_NAME_SIZE];

        berth_mpi_library_name(&inside->library, name, sizeof(name));
        return berth_mpi_refuse_static(inside->path, name, err);
    }
    if (program->family == BERTH_FAMILY_UNKNOWN)
        return refuse_unknown(program, err);
    return 0;
}

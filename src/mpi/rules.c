/* SPDX-License-Identifier: Apache-2.0 */
/* The rules that decide whether a program fits a host's MPI. Each either passes or ends
 * the judgement with a sentence. */

#include "mpi/rules.h"

#include <stdio.h>
#include <string.h>

#include "mpi/names.h"

enum { NAMED_MAX = 3 };

/* Can the program load a library of the host at all? */
static int judge_kind(struct berth_mpi_cause *cause)
{
    const struct berth_mpi_program *program = cause->program;

    cause->verdict->reason = BERTH_REASON_IMAGE;
    if (berth_mpi_check_program(program, &cause->verdict->because) < 0) {
        if (program->family == BERTH_FAMILY_UNKNOWN)
            cause->verdict->answer = BERTH_VERDICT_CANNOT_TELL;
        return -1;
    }
    if (program->kind == BERTH_ELF_STATIC)
        return berth_mpi_refuse_static(program->path, NULL, &cause->verdict->because);
    if (program->kind != BERTH_ELF_PROGRAM && program->kind != BERTH_ELF_SCRIPT) {
        cause->verdict->answer = BERTH_VERDICT_CANNOT_TELL;
        return berth_err_set(
            &cause->verdict->because,
            "'%s' is neither a program nor a script; name one, or " BERTH_RULES_HYBRID,
            program->path ? program->path : "");
    }
    cause->verdict->reason = BERTH_REASON_NODE;
    return 0;
}

static int judge_machine(struct berth_mpi_cause *cause)
{
    const struct berth_mpi_program *program = cause->program;
    const struct berth_mpi_object *host =
        berth_mpi_objects_mpi(cause->host, cause->family);

    if (program->musl) {
        cause->verdict->reason = BERTH_REASON_IMAGE;
        return berth_err_set(
            &cause->verdict->because,
            "the image has musl as its C library, and the host's %s needs "
            "glibc; build the image on a distribution with glibc, "
            "or " BERTH_RULES_HYBRID,
            cause->host_name);
    }
    if (program->kind != BERTH_ELF_PROGRAM || !program->machine || !host ||
        !host->elf.machine ||
        (strcmp(program->machine, host->elf.machine) == 0 &&
         program->bits == host->elf.bits))
        return 0;
    return berth_err_set(
        &cause->verdict->because,
        "'%s' is for %s (%d bits) and the host's %s for %s (%d bits); use "
        "an image for the host's machine",
        program->path, program->machine, program->bits, cause->host_name,
        host->elf.machine, host->elf.bits);
}

static bool abi_fits(unsigned int program, unsigned int host)
{
    /* 0 is the standard's ABI under a wrong name; 12 is another ABI. */
    return program == host || (program <= 1 && host <= 1);
}

/* The family of the host when it has one C library or several of one family. */
static enum berth_mpi_family only_family(const struct berth_mpi_objects *host)
{
    enum berth_mpi_family found = BERTH_FAMILY_NONE;

    for (size_t i = 0; i < host->count; i++) {
        const struct berth_mpi_library *library = &host->items[i].library;

        if (!(library->parts & BERTH_PART_C))
            continue;
        /* The native library of an installation shows its family. */
        if (found == BERTH_FAMILY_NONE || found == BERTH_FAMILY_ABI)
            found = library->family;
    }
    return found;
}

/* The program wants WANTED, which is of FAMILY, and the host has another. */
static int refuse_family(struct berth_mpi_cause *cause, const char *wanted,
                         enum berth_mpi_family family)
{
    return berth_err_set(
        &cause->verdict->because,
        "the program wants %s, and the host's MPI is %s; " BERTH_RULES_HYBRID
        ", or a profile with %s (--mpi-bind=NAME)",
        wanted, cause->host_name, berth_mpi_family_name(family));
}

static int refuse_part(struct berth_mpi_cause *cause, const char *part)
{
    return berth_err_set(&cause->verdict->because,
                         "the program uses MPI from %s, and the host's %s has no "
                         "library for that; " BERTH_RULES_HYBRID
                         ", or a profile whose MPI has it (--mpi-bind=NAME)",
                         part, cause->host_name);
}

/* The MPI of FAMILY is the one of the host's that is to be used. */
static int use(struct berth_mpi_cause *cause, enum berth_mpi_family family)
{
    cause->family = family;
    berth_mpi_describe(cause->host, family, cause->host_name, sizeof(cause->host_name));
    return 0;
}

static int judge_host(struct berth_mpi_cause *cause)
{
    enum berth_mpi_family family = only_family(cause->host);

    if (family == BERTH_FAMILY_NONE)
        return berth_err_set(
            &cause->verdict->because,
            "no MPI library was found on the host; load its module before "
            "srun, name a profile (--mpi-bind=NAME), or " BERTH_RULES_HYBRID);
    if (family == BERTH_FAMILY_UNKNOWN) {
        cause->verdict->answer = BERTH_VERDICT_CANNOT_TELL;
        return berth_err_set(
            &cause->verdict->because,
            "'%s' of the host is neither MPICH nor Open MPI; name a profile "
            "(--mpi-bind=NAME), or " BERTH_RULES_HYBRID,
            berth_mpi_objects_mpi(cause->host, family)->path);
    }
    return use(cause, family);
}

static int judge_family(struct berth_mpi_cause *cause)
{
    const struct berth_mpi_program *program = cause->program;
    const struct berth_mpi_object *host =
        berth_mpi_objects_mpi(cause->host, program->family);

    if (!host)
        return refuse_family(cause, berth_mpi_family_name(program->family),
                             program->family);
    if (program->family == BERTH_FAMILY_ABI &&
        !abi_fits(program->abi_number, host->library.abi_number))
        return berth_err_set(&cause->verdict->because,
                             "the program wants libmpi_abi.so.%u and the host's %s has "
                             "libmpi_abi.so.%u, which is another ABI; build it again, "
                             "or " BERTH_RULES_HYBRID,
                             program->abi_number, cause->host_name,
                             host->library.abi_number);
    return use(cause, program->family);
}

static int judge_parts(struct berth_mpi_cause *cause)
{
    unsigned int missing =
        cause->program->parts & ~berth_mpi_objects_parts(cause->host, cause->family);

    for (int i = 0; i < BERTH_PART_COUNT; i++)
        if (missing & 1U << i)
            return refuse_part(cause, berth_mpi_part_name(1U << i));
    return 0;
}

static bool is_defined(const struct berth_mpi_objects *objects, const char *name)
{
    for (size_t i = 0; i < objects->count; i++)
        if (berth_elf_find(&objects->items[i].elf.defined, name))
            return true;
    return false;
}

/* Parts of two installations do not fit each other, even of one family. */
static int judge_install(struct berth_mpi_cause *cause)
{
    for (size_t i = 0; i < cause->host->count; i++) {
        const struct berth_mpi_object *object = &cause->host->items[i];

        if (object->library.family != cause->family || cause->idle[i])
            continue;
        for (size_t j = 0; j < object->elf.undefined.count; j++) {
            const struct berth_elf_symbol *symbol = &object->elf.undefined.items[j];

            if (symbol->weak || !berth_mpi_is_symbol(symbol->name) ||
                is_defined(cause->host, symbol->name))
                continue;
            return berth_err_set(
                &cause->verdict->because,
                "'%s' of the host needs %s, which the host's %s lacks, so "
                "they are of two installations; name a profile of one "
                "(--mpi-bind=NAME), or " BERTH_RULES_HYBRID,
                object->path, symbol->name, cause->host_name);
        }
    }
    return 0;
}

/* The symbol in the files that the program gets, not in those of another family that
 * the host has; NULL: none has it. */
static const struct berth_elf_symbol *host_symbol(const struct berth_mpi_cause *cause,
                                                  const char *name)
{
    const struct berth_elf_symbol *found = NULL;

    for (size_t i = 0; i < cause->host->count && !found; i++) {
        const struct berth_mpi_object *object = &cause->host->items[i];

        if (!cause->idle[i] && (object->library.family == cause->family ||
                                object->library.family == BERTH_FAMILY_NONE))
            found = berth_elf_find(&object->elf.defined, name);
    }
    return found;
}

static int judge_symbols(struct berth_mpi_cause *cause)
{
    const struct berth_elf_symbols *needs = &cause->program->needs;
    char names[256] = "";
    size_t missing = 0, used = 0;

    for (size_t i = 0; i < needs->count; i++) {
        if (host_symbol(cause, needs->items[i].name))
            continue;
        if (missing++ < NAMED_MAX && used < sizeof(names))
            used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
                                     missing > 1 ? ", " : "", needs->items[i].name);
    }
    if (!missing)
        return 0;
    return berth_err_set(
        &cause->verdict->because,
        "the host's %s lacks %zu of the %zu MPI symbols that the program "
        "needs (%s%s); " BERTH_RULES_HYBRID
        ", or a profile with another release (--mpi-bind=NAME)",
        cause->host_name, missing, needs->count, names,
        missing > NAMED_MAX ? ", ..." : "");
}

static int judge_sizes(struct berth_mpi_cause *cause)
{
    const struct berth_elf_symbols *needs = &cause->program->needs;

    for (size_t i = 0; i < needs->count; i++) {
        const struct berth_elf_symbol *need = &needs->items[i];
        const struct berth_elf_symbol *symbol = host_symbol(cause, need->name);

        /* Only what was copied into the program has a size there. */
        if (need->size == 0 || symbol->size == need->size)
            continue;
        return berth_err_set(
            &cause->verdict->because,
            "the program and the host's %s do not fit (%s has %llu bytes in the one, "
            "and %llu in the other); build it with that release, "
            "or " BERTH_RULES_HYBRID,
            cause->host_name, need->name, (unsigned long long)need->size,
            (unsigned long long)symbol->size);
    }
    return 0;
}

/* If the image has no library of the host's own family, both sides may have the library
 * of the standard ABI. */
static int share_abi(struct berth_mpi_cause *cause)
{
    if (berth_mpi_objects_parts(cause->image, cause->family) ||
        !berth_mpi_objects_mpi(cause->image, BERTH_FAMILY_ABI) ||
        !berth_mpi_objects_mpi(cause->host, BERTH_FAMILY_ABI))
        return 0;
    return use(cause, BERTH_FAMILY_ABI);
}

/* Judges by the MPIs of the image, for a program whose MPI is not known before it runs.
 */
static int judge_inventory(struct berth_mpi_cause *cause)
{
    const char *path = cause->program->path;
    unsigned int here = berth_mpi_objects_parts(cause->image, cause->family);
    unsigned int host = berth_mpi_objects_parts(cause->host, cause->family);
    unsigned int missing = here & ~host & (BERTH_PART_FORTRAN | BERTH_PART_F08);
    char theirs[BERTH_MPI_NAME_SIZE];

    for (int family = BERTH_FAMILY_MPICH; !here && family <= BERTH_FAMILY_UNKNOWN;
         family++) {
        enum berth_mpi_family other = (enum berth_mpi_family)family;

        if (!berth_mpi_objects_parts(cause->image, other))
            continue;
        return refuse_family(
            cause, berth_mpi_describe(cause->image, other, theirs, sizeof(theirs)),
            other);
    }
    if (!here) {
        cause->verdict->reason = BERTH_REASON_IMAGE;
        cause->verdict->answer = BERTH_VERDICT_CANNOT_TELL;
        return berth_err_set(
            &cause->verdict->because,
            "'%s' loads no MPI library, and none was found in the image; if "
            "it uses MPI, name the program itself, or " BERTH_RULES_HYBRID,
            path);
    }
    if (missing) {
        cause->verdict->answer = BERTH_VERDICT_CANNOT_TELL;
        return refuse_part(cause, "Fortran");
    }
    return 0;
}

int berth_mpi_apply_rules(struct berth_mpi_cause *cause)
{
    static int (*const of_program[])(struct berth_mpi_cause *) = {
        judge_kind,    judge_host,    judge_family, judge_machine, judge_parts,
        judge_install, judge_symbols, judge_sizes,  NULL};
    static int (*const of_inventory[])(struct berth_mpi_cause *) = {
        judge_kind,      judge_host,    share_abi, judge_machine,
        judge_inventory, judge_install, NULL};

    for (int (*const *rule)(struct berth_mpi_cause *) =
             cause->program->family != BERTH_FAMILY_NONE ? of_program : of_inventory;
         *rule; rule++)
        if ((*rule)(cause) < 0)
            return -1;
    return 0;
}

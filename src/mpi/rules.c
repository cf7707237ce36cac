/* SPDX-License-Identifier: Apache-2.0 */
/* The rules that decide whether a program fits a host's MPI. Each either passes or ends
 * the judgement with a sentence. */

#include "mpi/rules.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "mpi/names.h"

enum { NAMED_MAX = 3 };

/* Can the program load a library of the host at all? */
static int judge_kind(struct berth_mpi_cause *cause)
{
    const struct berth_mpi_program *program = cause->program;

    /* What is refused here is the image's on every node. */
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

/* Are PROGRAM and the library HOST for two machines? Nothing is known of a script, or
 * of a file whose facts are not there. */
static bool is_other_machine(const struct berth_mpi_program *program,
                             const struct berth_mpi_object *host)
{
    if (program->kind != BERTH_ELF_PROGRAM || !program->machine)
        return false;
    if (!host || !host->elf.machine)
        return false;
    return program->bits != host->elf.bits ||
           strcmp(program->machine, host->elf.machine) != 0;
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
    if (!is_other_machine(program, host))
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

/* Append "neither MPICH nor Open MPI", of all families of implementations. */
static void list_known(struct berth_buf *ret)
{
    const char *before = "neither ";

    for (int family = BERTH_FAMILY_MPICH; family < BERTH_FAMILY_ABI; family++) {
        berth_buf_puts(ret, before);
        berth_buf_puts(ret, berth_mpi_family_name((enum berth_mpi_family)family));
        before = " nor ";
    }
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
        BERTH_BUF struct berth_buf known = {0};

        list_known(&known);
        cause->verdict->answer = BERTH_VERDICT_CANNOT_TELL;
        return berth_err_set(&cause->verdict->because,
                             "'%s' of the host is %s; name a profile "
                             "(--mpi-bind=NAME), or " BERTH_RULES_HYBRID,
                             berth_mpi_objects_mpi(cause->host, family)->path,
                             berth_buf_text(&known));
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

/* The name of a symbol of MPI that OBJECT needs and no file of the HOST has; NULL: it
 * lacks none. */
static const char *lacking_symbol(const struct berth_mpi_objects *host,
                                  const struct berth_mpi_object *object)
{
    const struct berth_elf_symbols *undefined = &object->elf.undefined;

    for (size_t i = 0; i < undefined->count; i++) {
        const struct berth_elf_symbol *symbol = &undefined->items[i];

        if (symbol->weak || !berth_mpi_is_symbol(symbol->name))
            continue;
        if (!is_defined(host, symbol->name))
            return symbol->name;
    }
    return NULL;
}

/* Parts of two installations do not fit each other, even of one family. */
static int judge_install(struct berth_mpi_cause *cause)
{
    for (size_t i = 0; i < cause->host->count; i++) {
        const struct berth_mpi_object *object = &cause->host->items[i];
        const char *lacking;

        if (object->library.family != cause->family || cause->idle[i])
            continue;
        lacking = lacking_symbol(cause->host, object);
        if (lacking)
            return berth_err_set(
                &cause->verdict->because,
                "'%s' of the host needs %s, which the host's %s lacks, so they are of "
                "two installations; name a profile of one (--mpi-bind=NAME), "
                "or " BERTH_RULES_HYBRID,
                object->path, lacking, cause->host_name);
    }
    return 0;
}

/* The symbol in the files that the program gets, not in those of another family that
 * the host has; NULL: none has it. */
static const struct berth_elf_symbol *host_symbol(const struct berth_mpi_cause *cause,
                                                  const char *name)
{
    for (size_t i = 0; i < cause->host->count; i++) {
        const struct berth_mpi_object *object = &cause->host->items[i];
        enum berth_mpi_family family = object->library.family;
        const struct berth_elf_symbol *found;

        if (cause->idle[i])
            continue;
        if (family != cause->family && family != BERTH_FAMILY_NONE)
            continue;
        found = berth_elf_find(&object->elf.defined, name);
        if (found)
            return found;
    }
    return NULL;
}

static int judge_symbols(struct berth_mpi_cause *cause)
{
    const struct berth_elf_symbols *needs = &cause->program->needs;
    BERTH_BUF struct berth_buf names = {0};
    size_t missing = 0;

    for (size_t i = 0; i < needs->count; i++) {
        if (host_symbol(cause, needs->items[i].name))
            continue;
        missing++;
        if (missing <= NAMED_MAX)
            berth_buf_part(&names, names.used ? ", " : "", needs->items[i].name, "");
    }
    if (missing == 0)
        return 0;
    if (missing > NAMED_MAX)
        berth_buf_puts(&names, ", ...");
    return berth_err_set(
        &cause->verdict->because,
        "the host's %s lacks %zu of the %zu MPI symbols that the program needs "
        "(%s); " BERTH_RULES_HYBRID
        ", or a profile with another release (--mpi-bind=NAME)",
        cause->host_name, missing, needs->count, berth_buf_text(&names));
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
    bool has_family = berth_mpi_objects_parts(cause->image, cause->family) != 0;
    bool image_has_abi = berth_mpi_objects_mpi(cause->image, BERTH_FAMILY_ABI);
    bool host_has_abi = berth_mpi_objects_mpi(cause->host, BERTH_FAMILY_ABI);

    if (has_family || !image_has_abi || !host_has_abi)
        return 0;
    return use(cause, BERTH_FAMILY_ABI);
}

/* Refuses an image without an MPI of the host's family: with another one, or with none.
 */
static int refuse_inventory(struct berth_mpi_cause *cause)
{
    char theirs[BERTH_MPI_NAME_SIZE];

    for (int i = BERTH_FAMILY_MPICH; i <= BERTH_FAMILY_UNKNOWN; i++) {
        enum berth_mpi_family other = (enum berth_mpi_family)i;

        if (!berth_mpi_objects_parts(cause->image, other))
            continue;
        berth_mpi_describe(cause->image, other, theirs, sizeof(theirs));
        return refuse_family(cause, theirs, other);
    }
    cause->verdict->reason = BERTH_REASON_IMAGE;
    cause->verdict->answer = BERTH_VERDICT_CANNOT_TELL;
    return berth_err_set(
        &cause->verdict->because,
        "'%s' loads no MPI library, and none was found in the image; if "
        "it uses MPI, name the program itself, or " BERTH_RULES_HYBRID,
        cause->program->path);
}

/* Judges by the MPIs of the image, for a program whose MPI is not known before it runs.
 */
static int judge_inventory(struct berth_mpi_cause *cause)
{
    unsigned int image = berth_mpi_objects_parts(cause->image, cause->family);
    unsigned int host = berth_mpi_objects_parts(cause->host, cause->family);
    unsigned int missing = image & ~host;

    if (!image)
        return refuse_inventory(cause);
    if (!(missing & (BERTH_PART_FORTRAN | BERTH_PART_F08)))
        return 0;
    cause->verdict->answer = BERTH_VERDICT_CANNOT_TELL;
    return refuse_part(cause, "Fortran");
}

typedef int rule(struct berth_mpi_cause *cause);

int berth_mpi_apply_rules(struct berth_mpi_cause *cause)
{
    static rule *const of_program[] = {judge_kind,    judge_host,  judge_family,
                                       judge_machine, judge_parts, judge_install,
                                       judge_symbols, judge_sizes, NULL};
    static rule *const of_inventory[] = {judge_kind,    judge_host,      share_abi,
                                         judge_machine, judge_inventory, judge_install,
                                         NULL};
    rule *const *next = of_program;

    if (cause->program->family == BERTH_FAMILY_NONE)
        next = of_inventory;
    for (; *next; next++)
        if ((*next)(cause) < 0)
            return -1;
    return 0;
}

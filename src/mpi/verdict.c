/* SPDX-License-Identifier: Apache-2.0 */
/* Can this program run on this MPI? Each rule either passes or ends the judgement with
 * a sentence; what they have in common is that a wrong YES shows as a crash, or as N
 * ranks of size 1, and a NO as one line. */

#include "mpi/verdict.h"

#include <stdio.h>
#include <string.h>

#include "mpi/glibc.h"
#include "mpi/names.h"

#define HYBRID "choose --mpi-bind=hybrid"

enum { NAME_SIZE = 64, NAMED_MAX = 3 };

/* The two sides, and what is known of them by now. */
struct cause {
    const struct berth_mpi_program *program;
    const struct berth_mpi_objects *image;
    const struct berth_mpi_objects *host;
    enum berth_mpi_family family; /* of the host's that is to be used */
    char host_name[NAME_SIZE];    /* "MPICH 4.2.3" */
    struct berth_mpi_verdict *verdict;
    struct berth_err *because; /* the verdict's */
};

/* Rules return PASS, or END after writing the answer and the sentence. */
enum outcome { PASS, END };

/* After the sentence has been written. */
static enum outcome end(struct cause *cause, enum berth_mpi_answer answer)
{
    cause->verdict->answer = answer;
    return END;
}

const char *berth_mpi_describe(const struct berth_mpi_objects *objects,
                               enum berth_mpi_family family, char *name, size_t size)
{
    const struct berth_mpi_object *object = berth_mpi_objects_mpi(objects, family);
    const char *vendor = object ? object->library.vendor : NULL;
    const char *version = object ? object->library.version : "";

    snprintf(name, size, "%s%s%s", vendor ? vendor : berth_mpi_family_name(family),
             *version ? " " : "", version);
    return name;
}

/* The program itself: can anything of the host be put under it? */
static enum outcome judge_kind(struct cause *cause)
{
    const struct berth_mpi_program *program = cause->program;

    if (program->kind == BERTH_ELF_STATIC) {
        berth_err_set(cause->because,
                      "'%s' is linked statically, so its MPI is inside it and cannot "
                      "be exchanged; link it with shared libraries, or " HYBRID,
                      program->path);
        return end(cause, BERTH_MPI_NO);
    }
    if (program->kind != BERTH_ELF_PROGRAM && program->kind != BERTH_ELF_SCRIPT) {
        berth_err_set(cause->because,
                      "'%s' is neither a program nor a script; name one, or " HYBRID,
                      program->path ? program->path : "");
        return end(cause, BERTH_MPI_CANNOT_TELL);
    }
    if (program->privileged) {
        berth_err_set(cause->because,
                      "'%s' is setuid, so its loader does not say which MPI it would "
                      "load; take the bit away, or " HYBRID,
                      program->path);
        return end(cause, BERTH_MPI_CANNOT_TELL);
    }
    return PASS;
}

static enum outcome judge_machine(struct cause *cause)
{
    const struct berth_mpi_program *program = cause->program;
    const struct berth_mpi_object *host =
        berth_mpi_objects_mpi(cause->host, cause->family);

    if (program->musl) {
        berth_err_set(cause->because,
                      "the image has musl as its C library, and the host's %s needs "
                      "glibc; build the image on a distribution with glibc, or " HYBRID,
                      cause->host_name);
        return end(cause, BERTH_MPI_NO);
    }
    if (program->kind != BERTH_ELF_PROGRAM || !program->machine || !host ||
        !host->elf.machine ||
        (strcmp(program->machine, host->elf.machine) == 0 &&
         program->bits == host->elf.bits))
        return PASS;
    berth_err_set(cause->because,
                  "'%s' is for %s (%d bits) and the host's %s for %s (%d bits); use "
                  "an image for the host's machine",
                  program->path, program->machine, program->bits, cause->host_name,
                  host->elf.machine, host->elf.bits);
    return end(cause, BERTH_MPI_NO);
}

static bool abi_fits(unsigned int program, unsigned int host)
{
    /* 0 was the standard's too, under a wrong name; 12 was not. */
    return program == host || (program <= 1 && host <= 1);
}

/* The family of the host when it has one C library or several of one family. */
static enum berth_mpi_family only_family(const struct berth_mpi_objects *host)
{
    enum berth_mpi_family found = BERTH_MPI_NONE;

    for (size_t i = 0; i < host->count; i++) {
        const struct berth_mpi_library *library = &host->items[i].library;

        if (!(library->parts & BERTH_MPI_C))
            continue;
        /* An installation's native library speaks for it. */
        if (found == BERTH_MPI_NONE || found == BERTH_MPI_ABI)
            found = library->family;
    }
    return found;
}

static enum outcome refuse_family(struct cause *cause)
{
    enum berth_mpi_family family = cause->program->family;

    berth_mpi_describe(cause->host, only_family(cause->host), cause->host_name,
                       sizeof(cause->host_name));
    if (family == BERTH_MPI_ABI) {
        berth_err_set(cause->because,
                      "the program wants the MPI standard ABI (libmpi_abi.so.1), and "
                      "the host's %s "
                      "has no such library; " HYBRID
                      ", or a profile whose MPI has it (--mpi-bind=NAME)",
                      cause->host_name);
        return end(cause, BERTH_MPI_NO);
    }
    berth_err_set(cause->because,
                  "the program wants %s, and the host's MPI is %s; " HYBRID
                  ", or a profile with %s (--mpi-bind=NAME)",
                  berth_mpi_family_name(family), cause->host_name,
                  berth_mpi_family_name(family));
    return end(cause, BERTH_MPI_NO);
}

static enum outcome judge_host(struct cause *cause)
{
    enum berth_mpi_family family = only_family(cause->host);

    if (family == BERTH_MPI_NONE) {
        berth_err_set(cause->because,
                      "no MPI library was found on the host; load its module before "
                      "srun, name a profile (--mpi-bind=NAME), or " HYBRID);
        return end(cause, BERTH_MPI_NO);
    }
    if (family == BERTH_MPI_UNKNOWN) {
        berth_err_set(cause->because,
                      "'%s' of the host is neither MPICH nor Open MPI; name a profile "
                      "(--mpi-bind=NAME), or " HYBRID,
                      berth_mpi_objects_mpi(cause->host, family)->path);
        return end(cause, BERTH_MPI_CANNOT_TELL);
    }
    cause->family = family;
    berth_mpi_describe(cause->host, family, cause->host_name, sizeof(cause->host_name));
    return PASS;
}

static enum outcome judge_family(struct cause *cause)
{
    const struct berth_mpi_program *program = cause->program;
    const struct berth_mpi_object *host =
        berth_mpi_objects_mpi(cause->host, program->family);

    if (program->family == BERTH_MPI_UNKNOWN) {
        berth_err_set(cause->because,
                      "'%s' has marks of %s%s%s, so it cannot be told which MPI it "
                      "wants; " HYBRID,
                      program->path, program->families.items[0],
                      program->families.count > 1 ? " and of " : "",
                      program->families.count > 1 ? program->families.items[1] : "");
        return end(cause, BERTH_MPI_CANNOT_TELL);
    }
    if (!host)
        return refuse_family(cause);
    if (program->family == BERTH_MPI_ABI &&
        !abi_fits(program->abi_number, host->library.abi_number)) {
        berth_err_set(cause->because,
                      "the program wants libmpi_abi.so.%u and the host's %s has "
                      "libmpi_abi.so.%u, which is another ABI; build it again, "
                      "or " HYBRID,
                      program->abi_number, cause->host_name, host->library.abi_number);
        return end(cause, BERTH_MPI_NO);
    }
    cause->family = program->family;
    berth_mpi_describe(cause->host, program->family, cause->host_name,
                       sizeof(cause->host_name));
    return PASS;
}

static enum outcome judge_parts(struct cause *cause)
{
    unsigned int missing =
        cause->program->parts & ~berth_mpi_objects_parts(cause->host, cause->family);

    for (int i = 0; i < BERTH_MPI_PARTS; i++)
        if (missing & 1U << i) {
            berth_err_set(cause->because,
                          "the program uses MPI from %s, and the host's %s has no "
                          "library for that; " HYBRID
                          ", or a profile whose MPI has it (--mpi-bind=NAME)",
                          berth_mpi_part_name(1U << i), cause->host_name);
            return end(cause, BERTH_MPI_NO);
        }
    return PASS;
}

/* Parts of two installations do not fit each other, even of one family. */
static enum outcome judge_install(struct cause *cause)
{
    for (size_t i = 0; i < cause->host->count; i++) {
        const struct berth_mpi_object *object = &cause->host->items[i];

        if (object->library.family != cause->family)
            continue;
        for (size_t j = 0; j < object->elf.undefined.count; j++) {
            const struct berth_elf_symbol *symbol = &object->elf.undefined.items[j];

            if (symbol->weak || !berth_mpi_is_symbol(symbol->name) ||
                berth_mpi_objects_symbol(cause->host, symbol->name))
                continue;
            berth_err_set(cause->because,
                          "'%s' of the host needs %s, which the host's %s lacks, so "
                          "they are of two installations; name a profile of one "
                          "(--mpi-bind=NAME), or " HYBRID,
                          object->path, symbol->name, cause->host_name);
            return end(cause, BERTH_MPI_NO);
        }
    }
    return PASS;
}

/* The symbol that the files of the program's family define, not those of another family
 * that the host has too. */
static const struct berth_elf_symbol *host_symbol(const struct cause *cause,
                                                  const char *name)
{
    const struct berth_elf_symbol *found = NULL;

    for (size_t i = 0; i < cause->host->count && !found; i++) {
        const struct berth_mpi_object *object = &cause->host->items[i];

        if (object->library.family == cause->family ||
            object->library.family == BERTH_MPI_NONE)
            found = berth_elf_find(&object->elf.defined, name);
    }
    return found;
}

static enum outcome judge_symbols(struct cause *cause)
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
        return PASS;
    berth_err_set(cause->because,
                  "the host's %s lacks %zu of the %zu MPI symbols that the program "
                  "needs (%s%s); " HYBRID
                  ", or a profile with another release (--mpi-bind=NAME)",
                  cause->host_name, missing, needs->count, names,
                  missing > NAMED_MAX ? ", ..." : "");
    return end(cause, BERTH_MPI_NO);
}

static enum outcome judge_sizes(struct cause *cause)
{
    const struct berth_elf_symbols *needs = &cause->program->needs;

    for (size_t i = 0; i < needs->count; i++) {
        const struct berth_elf_symbol *need = &needs->items[i];
        const struct berth_elf_symbol *symbol = host_symbol(cause, need->name);

        /* Only what was copied into the program has a size there. */
        if (need->size == 0 || symbol->size == need->size)
            continue;
        berth_err_set(cause->because,
                      "the program was built where %s has %llu bytes, and in the "
                      "host's %s it has %llu; build it with that release, or " HYBRID,
                      need->name, (unsigned long long)need->size, cause->host_name,
                      (unsigned long long)symbol->size);
        return end(cause, BERTH_MPI_NO);
    }
    return PASS;
}

static enum outcome judge_glibc(struct cause *cause)
{
    struct berth_mpi_glibc glibc;

    berth_mpi_compare_glibc(cause->image, cause->host, &cause->verdict->choices,
                            &glibc);
    if (glibc.image_serves)
        return PASS;
    if (!glibc.image_newest || !glibc.host_newest) {
        berth_err_set(cause->because,
                      "the host's %s needs %s, and no libc.so.6 was found %s; " HYBRID,
                      cause->host_name, glibc.version,
                      glibc.image_newest ? "on the host" : "in the image");
        return end(cause, BERTH_MPI_CANNOT_TELL);
    }
    if (!glibc.host_serves) {
        berth_err_set(cause->because,
                      "the host's %s needs %s, which the image's glibc (%s) lacks, "
                      "and the image needs %s, which the host's glibc (%s) "
                      "lacks; " HYBRID,
                      cause->host_name, glibc.version, glibc.image_newest,
                      glibc.host_lacks, glibc.host_newest);
        return end(cause, BERTH_MPI_NO);
    }
    berth_err_set(cause->because,
                  "the host's %s needs %s and the image's glibc has %s, so the host's "
                  "glibc goes with it; where the site forbids that, build the image "
                  "on a newer distribution, or " HYBRID,
                  cause->host_name, glibc.version, glibc.image_newest);
    return end(cause, BERTH_MPI_YES_WITH_HOST_GLIBC);
}

/* What an image has, when what will run in it cannot be known. */
static enum outcome judge_inventory(struct cause *cause)
{
    const char *path = cause->program->path;
    unsigned int here = berth_mpi_objects_parts(cause->image, cause->family);
    unsigned int host = berth_mpi_objects_parts(cause->host, cause->family);
    unsigned int missing = here & ~host & (BERTH_MPI_FORTRAN | BERTH_MPI_F08);
    char theirs[NAME_SIZE];

    for (int family = BERTH_MPI_MPICH; !here && family <= BERTH_MPI_UNKNOWN; family++) {
        enum berth_mpi_family other = (enum berth_mpi_family)family;

        if (!berth_mpi_objects_parts(cause->image, other))
            continue;
        berth_err_set(cause->because,
                      "the image's MPI is %s, and the host's is %s; " HYBRID
                      ", or a profile with %s (--mpi-bind=NAME)",
                      berth_mpi_describe(cause->image, other, theirs, sizeof(theirs)),
                      cause->host_name, berth_mpi_family_name(other));
        return end(cause, BERTH_MPI_NO);
    }
    if (!here) {
        berth_err_set(cause->because,
                      "'%s' loads no MPI library, and none was found in the image; if "
                      "it uses MPI, name the program itself, or " HYBRID,
                      path);
        return end(cause, BERTH_MPI_CANNOT_TELL);
    }
    if (missing) {
        berth_err_set(cause->because,
                      "'%s' may start programs in Fortran, for which the host's %s "
                      "has no library; name the program itself, or " HYBRID,
                      path, cause->host_name);
        return end(cause, BERTH_MPI_CANNOT_TELL);
    }
    return PASS;
}

/* Another MPI of the image that has no twin on the host; NULL when there is none. */
static const struct berth_mpi_object *stays(const struct cause *cause)
{
    for (size_t i = 0; i < cause->image->count; i++) {
        const struct berth_mpi_object *object = &cause->image->items[i];

        if ((object->library.parts & BERTH_MPI_C) &&
            !berth_mpi_objects_mpi(cause->host, object->library.family))
            return object;
    }
    return NULL;
}

static void tell_inventory(struct cause *cause)
{
    const struct berth_mpi_object *other = stays(cause);
    char exchanged_name[NAME_SIZE], other_name[NAME_SIZE] = "";

    berth_mpi_describe(cause->image, cause->family, exchanged_name,
                       sizeof(exchanged_name));
    if (other)
        berth_mpi_describe(cause->image, other->library.family, other_name,
                           sizeof(other_name));
    berth_err_set(
        &cause->verdict->because,
        "what '%s' starts gets the host's %s where it wants the image's %s%s%s",
        cause->program->path, cause->host_name, exchanged_name,
        other ? "; the image has another MPI, which stays: " : "", other_name);
}

static void tell_yes(struct cause *cause)
{
    const struct berth_mpi_program *program = cause->program;

    cause->verdict->answer = BERTH_MPI_YES;
    if (program->family == BERTH_MPI_NONE)
        tell_inventory(cause);
    else
        berth_err_set(cause->because,
                      "the program wants %s, and the host's %s has all MPI symbols "
                      "that it needs (%zu)",
                      berth_mpi_family_name(program->family), cause->host_name,
                      program->needs.count);
}

/* Of a program only what it wants; of a script all that the host can stand for. */
static unsigned int exchanged(const struct cause *cause)
{
    unsigned int families = 1U << cause->family;

    if (cause->program->family != BERTH_MPI_NONE)
        return families;
    for (int family = BERTH_MPI_MPICH; family < BERTH_MPI_UNKNOWN; family++)
        if (berth_mpi_objects_mpi(cause->host, (enum berth_mpi_family)family) &&
            berth_mpi_objects_mpi(cause->image, (enum berth_mpi_family)family))
            families |= 1U << family;
    return families;
}

static enum outcome judge_all(struct cause *cause)
{
    enum outcome (*const of_program[])(struct cause *) = {
        judge_kind,  judge_host,    judge_family,  judge_machine,
        judge_parts, judge_install, judge_symbols, judge_sizes};
    enum outcome (*const of_inventory[])(struct cause *) = {
        judge_kind, judge_host, judge_machine, judge_inventory, judge_install};
    size_t count = sizeof(of_program) / sizeof(of_program[0]);

    if (cause->program->family != BERTH_MPI_NONE) {
        for (size_t i = 0; i < count; i++)
            if (of_program[i](cause) == END)
                return END;
        return PASS;
    }
    count = sizeof(of_inventory) / sizeof(of_inventory[0]);
    for (size_t i = 0; i < count; i++)
        if (of_inventory[i](cause) == END)
            return END;
    return PASS;
}

int berth_mpi_judge(const struct berth_mpi_program *program,
                    const struct berth_mpi_objects *image,
                    const struct berth_mpi_objects *host,
                    struct berth_mpi_verdict *ret_verdict, struct berth_err *err)
{
    struct cause cause = {
        program, image, host, BERTH_MPI_NONE, "", ret_verdict, &ret_verdict->because};
    struct berth_err refused;

    *ret_verdict = (struct berth_mpi_verdict){.answer = BERTH_MPI_CANNOT_TELL};
    if (judge_all(&cause) == END)
        return 0;
    if (berth_mpi_choose(image, host, &ret_verdict->choices, &refused, err) < 0)
        return -1;
    if (*refused.text) {
        ret_verdict->answer = BERTH_MPI_NO;
        ret_verdict->because = refused;
        return 0;
    }
    ret_verdict->families = exchanged(&cause);
    if (judge_glibc(&cause) == PASS)
        tell_yes(&cause);
    return 0;
}

void berth_mpi_verdict_fini(struct berth_mpi_verdict *verdict)
{
    berth_mpi_choices_fini(&verdict->choices);
    *verdict = (struct berth_mpi_verdict){0};
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Judges whether a program can run on a host's MPI. A wrong YES is a crash, or N ranks
 * of size 1; a wrong NO is one line. */

#include "mpi/verdict.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "mpi/glibc.h"
#include "mpi/names.h"
#include "mpi/rules.h"

/* The end of the sentence of a NO. */
static const char *advice(const struct berth_mpi_cause *cause)
{
    return cause->program ? "; " BERTH_RULES_HYBRID : "";
}

static int judge_glibc(struct berth_mpi_cause *cause)
{
    struct berth_mpi_glibc glibc;

    berth_mpi_compare_glibc(cause->image, cause->host, cause->idle,
                            &cause->verdict->choices, &glibc);
    if (!glibc.image_lacks)
        return 0;
    if (!glibc.image_newest || !glibc.host_newest) {
        const char *where = glibc.image_newest ? "on the host" : "in the image";

        cause->verdict->answer = BERTH_VERDICT_CANNOT_TELL;
        return berth_err_set(&cause->verdict->because,
                             "the host's %s needs %s, and no libc.so.6 was found %s%s",
                             cause->host_name, glibc.image_lacks, where, advice(cause));
    }
    if (glibc.host_lacks)
        return berth_err_set(
            &cause->verdict->because,
            "the host's %s needs %s, which the image's glibc (%s) lacks, "
            "and the image needs %s, which the host's glibc (%s) lacks%s",
            cause->host_name, glibc.image_lacks, glibc.image_newest, glibc.host_lacks,
            glibc.host_newest, advice(cause));
    cause->verdict->answer = BERTH_VERDICT_YES_WITH_HOST_GLIBC;
    return berth_err_set(
        &cause->verdict->because,
        "the host's %s brings the host's C library with it, because the "
        "image's (%s) is older than %s needs (%s)",
        cause->host_name, glibc.image_newest, cause->host_name, glibc.image_lacks);
}

static void explain_yes(struct berth_mpi_cause *cause)
{
    const struct berth_mpi_program *program = cause->program;
    char images[BERTH_MPI_NAME_SIZE];

    if (program->family != BERTH_FAMILY_NONE) {
        berth_err_set(&cause->verdict->because,
                      "the program wants %s, and the host's %s has all MPI symbols "
                      "that it needs (%zu)",
                      berth_mpi_family_name(program->family), cause->host_name,
                      program->needs.count);
        return;
    }
    berth_mpi_describe(cause->image, cause->family, images, sizeof(images));
    berth_err_set(&cause->verdict->because,
                  "programs that '%s' starts get the host's %s instead of the image's "
                  "%s",
                  program->path, cause->host_name, images);
}

/* The parts of MPI that the program loads: those it uses, and others it is linked with.
 */
static unsigned int loaded_parts(const struct berth_mpi_cause *cause)
{
    unsigned int parts = cause->program->parts | BERTH_PART_C;

    for (size_t i = 0; i < cause->image->count; i++) {
        const struct berth_mpi_object *object = &cause->image->items[i];

        if (object->role == BERTH_ROLE_LOADED &&
            object->library.family == cause->program->family)
            parts |= object->library.parts;
    }
    return parts;
}

/* Flags for the files of the host that this program (NULL: any) does not load:
 * Fortran's library and libgfortran, if the program is in C. A file that no MPI library
 * needs (a plugin) counts as loaded. The caller frees the flags; NULL: out of memory.
 */
static bool *find_idle(const struct berth_mpi_cause *cause)
{
    const struct berth_mpi_objects *host = cause->host;
    unsigned int parts;
    BERTH_FREE bool *idle = calloc(host->count + 1, sizeof(*idle));
    BERTH_FREE bool *loaded = calloc(host->count + 1, sizeof(*loaded));

    if (!idle || !loaded)
        return NULL;
    if (!cause->program || cause->program->family == BERTH_FAMILY_NONE)
        return berth_steal(&idle);

    /* What only a library of an unused part needs may be idle ... */
    parts = loaded_parts(cause);
    for (size_t i = 0; i < host->count; i++) {
        unsigned int those = host->items[i].library.parts;

        if (those && !(those & parts))
            berth_mpi_objects_reach(host, &host->items[i], NULL, idle);
    }

    /* ... unless one that is loaded needs it, too. */
    for (size_t i = 0; i < host->count; i++)
        if (!idle[i] || (host->items[i].library.parts & parts))
            berth_mpi_objects_reach(host, &host->items[i], NULL, loaded);
    for (size_t i = 0; i < host->count; i++)
        idle[i] = !loaded[i];
    return berth_steal(&idle);
}

/* Judges whether the libraries of both sides can be in one process. Returns 1 if they
 * can, 0 if the verdict has another answer, -1 out of memory. */
static int judge_libraries(struct berth_mpi_cause *cause, struct berth_err *err)
{
    struct berth_mpi_verdict *verdict = cause->verdict;
    struct berth_err refused;

    if (berth_mpi_choose(cause->image, cause->host, cause->idle, &verdict->choices,
                         &refused, err) < 0)
        return -1;
    if (*refused.text) {
        berth_err_set(&verdict->because, "%s%s", refused.text, advice(cause));
        return 0;
    }
    return judge_glibc(cause) == 0;
}

/* Judges CAUSE, which has both sides and the verdict. Returns 0, or -1 out of memory.
 */
static int judge(struct berth_mpi_cause *cause, struct berth_err *err)
{
    BERTH_FREE bool *idle = find_idle(cause);
    int result;

    *cause->verdict = (struct berth_mpi_verdict){.answer = BERTH_VERDICT_NO,
                                                 .reason = BERTH_REASON_NODE};
    cause->idle = idle;
    if (!idle)
        return berth_err_oom(err);
    if (cause->program && berth_mpi_apply_rules(cause) < 0)
        return 0;
    result = judge_libraries(cause, err);
    if (result <= 0)
        return result;
    cause->verdict->answer = BERTH_VERDICT_YES;
    if (cause->program)
        explain_yes(cause);
    return 0;
}

int berth_mpi_judge(const struct berth_mpi_program *program,
                    const struct berth_mpi_objects *image,
                    const struct berth_mpi_objects *host,
                    struct berth_mpi_verdict *ret_verdict, struct berth_err *err)
{
    struct berth_mpi_cause cause = {
        .program = program, .image = image, .host = host, .verdict = ret_verdict};

    return judge(&cause, err);
}

int berth_mpi_judge_fabric(const char *name, const struct berth_mpi_objects *image,
                           const struct berth_mpi_objects *host,
                           struct berth_mpi_verdict *ret_verdict, struct berth_err *err)
{
    struct berth_mpi_cause cause = {
        .image = image, .host = host, .verdict = ret_verdict};

    snprintf(cause.host_name, sizeof(cause.host_name), "%s", name);
    return judge(&cause, err);
}

void berth_mpi_verdict_fini(struct berth_mpi_verdict *verdict)
{
    berth_mpi_choices_fini(&verdict->choices);
    *verdict = (struct berth_mpi_verdict){0};
}

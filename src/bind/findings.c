/* SPDX-License-Identifier: Apache-2.0 */
/* What berth-mpi saw, for an account of the launch. Decides nothing. */

#include "bind/findings.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "mpi/glibc.h"
#include "mpi/pmi.h"
#include "report/finding.h"
#include "step/channel.h"

static const enum berth_mpi_family families[] = {
    BERTH_FAMILY_MPICH, BERTH_FAMILY_OPENMPI, BERTH_FAMILY_ABI};

enum { FAMILIES = sizeof(families) / sizeof(families[0]) };

static int tell(const struct berth_findings *findings, const char *name,
                const char *value, struct berth_err *err)
{
    BERTH_FREE char *text = NULL;

    if (!value)
        return 0;
    if (asprintf(&text, "%s\n%s", name, value) < 0)
        return berth_err_oom(err);
    return berth_channel_send(findings->channel, BERTH_CHANNEL_FACT, text, err);
}

static int tell_command(const struct berth_findings *findings, struct berth_err *err)
{
    const struct berth_look *look = findings->look;
    enum berth_mpi_family family = findings->wants->family;
    bool is_linked = family != BERTH_FAMILY_NONE && family != BERTH_FAMILY_UNKNOWN;

    if (tell(findings, BERTH_FINDING_PROGRAM, findings->program, err) < 0 ||
        (strcmp(look->runner, findings->program) != 0 &&
         tell(findings, BERTH_FINDING_RUNNER, look->runner, err) < 0))
        return -1;
    return is_linked ? tell(findings, BERTH_FINDING_LINKED,
                            berth_mpi_family_name(family), err)
                     : 0;
}

/* Each MPI of the image, though several may be of one family. */
static int tell_image(const struct berth_findings *findings, struct berth_err *err)
{
    const struct berth_mpi_objects *objects = &findings->look->objects;
    BERTH_STRVEC struct berth_strvec told = {0};

    for (int i = 0; i < FAMILIES; i++)
        for (size_t j = 0; j < objects->count; j++) {
            const struct berth_mpi_objects one = {.items = &objects->items[j],
                                                  .count = 1};
            char text[64];
            const char *name =
                berth_mpi_describe(&one, families[i], text, sizeof(text));

            if (!berth_mpi_objects_mpi(&one, families[i]) ||
                berth_strvec_has(&told, name))
                continue;
            if (tell(findings, BERTH_FINDING_IMAGE_MPI, name, err) < 0)
                return -1;
            berth_strvec_push(&told, name);
        }
    return told.failed ? berth_err_oom(err) : 0;
}

/* By which names of srun --mpi the library of FAMILY among OBJECTS finds its peers. */
static int tell_managers(const struct berth_findings *findings,
                         const struct berth_mpi_objects *objects,
                         enum berth_mpi_family family, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec types = {0};
    BERTH_BUF struct berth_buf text = {0};

    berth_mpi_manager_types(berth_mpi_managers(objects, family), &types);
    for (size_t i = 0; i < types.count; i++) {
        berth_buf_puts(&text, i ? " " : "");
        berth_buf_puts(&text, types.items[i]);
    }
    if (types.failed || text.failed)
        return berth_err_oom(err);
    return types.count ? tell(findings, BERTH_FINDING_MANAGERS, text.text, err) : 0;
}

static int tell_glibc(const struct berth_findings *findings,
                      const struct berth_graft *graft, struct berth_err *err)
{
    bool is_replaced = graft->verdict.answer == BERTH_VERDICT_YES_WITH_HOST_GLIBC;
    struct berth_mpi_glibc glibc;

    berth_mpi_compare_glibc(&findings->look->objects, &graft->staged, NULL, NULL,
                            &glibc);
    if (tell(findings, BERTH_FINDING_GLIBC, is_replaced ? "replaced" : "kept", err) <
            0 ||
        tell(findings, BERTH_FINDING_GLIBC_IMAGE, glibc.image_newest, err) < 0)
        return -1;
    return tell(findings, BERTH_FINDING_GLIBC_HOST, glibc.host_newest, err);
}

/* STAGED may be NULL. */
static int tell_library(const struct berth_findings *findings,
                        const struct berth_closure_item *item, const char *staged,
                        struct berth_err *err)
{
    BERTH_FREE char *text = NULL;

    if (asprintf(&text, "%s\t%s%s%s", item->soname, item->path, staged ? "\t" : "",
                 staged ? staged : "") < 0)
        return berth_err_oom(err);
    return tell(findings, staged ? BERTH_FINDING_LIBRARY : BERTH_FINDING_OWN, text,
                err);
}

/* What the image's loader said in the end. */
static int tell_verified(const struct berth_findings *findings,
                         const struct berth_graft *graft, struct berth_err *err)
{
    const struct berth_closure *closure = &graft->closure;

    if (tell(findings, BERTH_FINDING_LOADER, findings->look->loader, err) < 0 ||
        tell(findings, BERTH_FINDING_TARGET, graft->target, err) < 0)
        return -1;
    for (size_t i = 0; i < closure->count; i++) {
        const struct berth_closure_item *item = &closure->items[i];
        const char *staged = item->path ? berth_graft_staged(graft, item->path) : NULL;

        if (staged && tell_library(findings, item, staged, err) < 0)
            return -1;
    }
    return 0;
}

/* The files by which the site sets what the staged libraries do. The first sources of a
 * manifest are those of its files. */
static int tell_configs(const struct berth_findings *findings,
                        const struct berth_manifest *manifest, struct berth_err *err)
{
    for (size_t i = 0; i < manifest->file_count && i < manifest->source_count; i++) {
        const char *dot = strrchr(manifest->files[i].file, '.');

        if (dot && strcmp(dot, ".conf") == 0 &&
            tell(findings, BERTH_FINDING_CONFIG, manifest->sources[i].path, err) < 0)
            return -1;
    }
    return 0;
}

static int tell_graft(const struct berth_findings *findings,
                      const struct berth_graft *graft, struct berth_err *err)
{
    if (tell(findings, BERTH_FINDING_STACK, graft->stack->version, err) < 0 ||
        tell(findings, BERTH_FINDING_PROFILE, graft->stack->profile->name, err) < 0 ||
        tell(findings, BERTH_FINDING_FOUND, graft->stack->origin, err) < 0 ||
        tell(findings, BERTH_FINDING_STAGED, graft->host, err) < 0 ||
        tell_configs(findings, &graft->manifest, err) < 0 ||
        tell_glibc(findings, graft, err) < 0 ||
        tell_managers(findings, &graft->staged, graft->family, err) < 0)
        return -1;
    return tell_verified(findings, graft, err);
}

/* Is it a library of an MPI in the image? */
static bool is_mpi(const struct berth_look *look, const char *soname)
{
    const struct berth_mpi_object *object =
        berth_mpi_objects_find(&look->objects, soname);

    for (int i = 0; object && i < FAMILIES; i++)
        if (object->library.family == families[i])
            return true;
    return false;
}

/* The image's own library runs. */
static int tell_own(const struct berth_findings *findings, struct berth_err *err)
{
    const struct berth_look *look = findings->look;

    for (int i = 0; i < FAMILIES; i++)
        if (berth_mpi_objects_mpi(&look->objects, families[i]) &&
            (findings->wants->family == BERTH_FAMILY_NONE ||
             findings->wants->family == families[i]) &&
            tell_managers(findings, &look->objects, families[i], err) < 0)
            return -1;
    if (tell(findings, BERTH_FINDING_LOADER, look->loader, err) < 0 ||
        tell(findings, BERTH_FINDING_TARGET, look->loader ? look->runner : NULL, err) <
            0)
        return -1;
    for (size_t i = 0; i < look->closure.count; i++)
        if (look->closure.items[i].path &&
            is_mpi(look, look->closure.items[i].soname) &&
            tell_library(findings, &look->closure.items[i], NULL, err) < 0)
            return -1;
    return 0;
}

/* How it is seen that the ranks load it (bind/witness.h). */
static int tell_watched(const struct berth_findings *findings, struct berth_err *err)
{
    return tell(findings, BERTH_FINDING_WATCHED,
                findings->apart ? "each rank while it runs, by what it has mapped"
                                : "each rank while it runs, by the mark that the "
                                  "copies make, or what it has mapped",
                err);
}

int berth_findings_tell(const struct berth_findings *findings, struct berth_err *err)
{
    if (tell_command(findings, err) < 0 || tell_image(findings, err) < 0)
        return -1;
    for (int i = 0; i < findings->count; i++)
        if (tell_graft(findings, &findings->grafts[i], err) < 0)
            return -1;
    return findings->count ? tell_watched(findings, err) : tell_own(findings, err);
}

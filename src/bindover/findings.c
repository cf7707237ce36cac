/* SPDX-License-Identifier: Apache-2.0 */
/* Lists what berth-mpi found, for explain. Decides nothing. */

#include "bindover/findings.h"

#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "mpi/glibc.h"
#include "mpi/pmi.h"

/* Adds a fact, unless VALUE is NULL. */
static void add(struct berth_strvec *facts, const char *name, const char *value)
{
    if (value)
        berth_strvec_push_pair(facts, name, value);
}

static void add_command(const struct berth_program *program, struct berth_strvec *facts)
{
    const struct berth_scan *scan = &program->scan;
    enum berth_mpi_family family = program->wants.family;

    add(facts, BERTH_FINDING_PROGRAM, program->path);
    if (strcmp(scan->runner, program->path) != 0)
        add(facts, BERTH_FINDING_RUNNER, scan->runner);
    if (family != BERTH_FAMILY_NONE && family != BERTH_FAMILY_UNKNOWN)
        add(facts, BERTH_FINDING_LINKED, berth_mpi_family_name(family));
}

/* Adds each MPI of the image; several may be of one family. */
static void add_image(const struct berth_program *program, struct berth_strvec *facts)
{
    const struct berth_mpi_objects *objects = &program->scan.objects;
    BERTH_STRVEC struct berth_strvec added = {0};

    for (enum berth_mpi_family it = BERTH_FAMILY_MPICH; it <= BERTH_FAMILY_ABI; it++)
        for (size_t j = 0; j < objects->count; j++) {
            const struct berth_mpi_objects one = {.items = &objects->items[j],
                                                  .count = 1};
            char text[64];
            const char *name = berth_mpi_describe(&one, it, text, sizeof(text));

            if (!berth_mpi_objects_mpi(&one, it) || berth_strvec_has(&added, name))
                continue;
            add(facts, BERTH_FINDING_IMAGE_MPI, name);
            berth_strvec_push(&added, name);
        }
    facts->failed |= added.failed;
}

/* Adds the types of srun --mpi with which the MPI of FAMILY among OBJECTS works. */
static void add_managers(const struct berth_mpi_objects *objects,
                         enum berth_mpi_family family, struct berth_strvec *facts)
{
    BERTH_STRVEC struct berth_strvec types = {0};
    BERTH_BUF struct berth_buf text = {0};

    berth_mpi_manager_types(berth_mpi_managers(objects, family), &types);
    berth_strvec_join(&types, " ", &text);
    add(facts, BERTH_FINDING_MANAGERS, text.text);
    facts->failed |= text.failed;
}

static void add_glibc(const struct berth_program *program,
                      const struct berth_replacement *replacement,
                      struct berth_strvec *facts)
{
    const char *state = "kept";
    struct berth_mpi_glibc glibc;

    if (replacement->verdict.answer == BERTH_VERDICT_YES_WITH_HOST_GLIBC)
        state = BERTH_GLIBC_REPLACED;

    berth_mpi_compare_glibc(&program->scan.objects, &replacement->staged, NULL, NULL,
                            &glibc);
    add(facts, BERTH_FINDING_GLIBC, state);
    add(facts, BERTH_FINDING_GLIBC_IMAGE, glibc.image_newest);
    add(facts, BERTH_FINDING_GLIBC_HOST, glibc.host_newest);
}

/* STAGED may be NULL. */
static void add_library(const struct berth_closure_item *item, const char *staged,
                        struct berth_strvec *facts)
{
    berth_strvec_push(facts, BERTH_FINDING_LIBRARY);
    if (staged)
        berth_strvec_pushf(facts, "%s\t%s\t%s", item->soname, item->path, staged);
    else
        berth_strvec_pushf(facts, "%s\t%s", item->soname, item->path);
}

/* Adds what the image's loader reported after the mounts. */
static void add_verified(const struct berth_program *program,
                         const struct berth_replacement *replacement,
                         struct berth_strvec *facts)
{
    const struct berth_closure *closure = &replacement->closure;

    add(facts, BERTH_FINDING_LOADER, program->scan.loader);
    add(facts, BERTH_FINDING_TARGET, replacement->target);
    for (size_t i = 0; i < closure->count; i++) {
        const struct berth_closure_item *item = &closure->items[i];
        const struct berth_mpi_object *staged;

        if (!item->path)
            continue;
        staged = berth_replacement_staged(replacement, item->path);
        if (staged)
            add_library(item, staged->path, facts);
    }
}

/* The files by which the site sets what the staged libraries do. */
static void add_configs(const struct berth_manifest *manifest,
                        struct berth_strvec *facts)
{
    const struct berth_strvec *sources = &manifest->sources;

    for (size_t i = 0; i * BERTH_MANIFEST_FILE < manifest->files.count; i++)
        if (2 * i < sources->count &&
            berth_text_ends(manifest->files.items[i * BERTH_MANIFEST_FILE], ".conf"))
            add(facts, BERTH_FINDING_CONFIG, sources->items[2 * i]);
}

static void add_replacement(const struct berth_program *program,
                            const struct berth_replacement *replacement,
                            struct berth_strvec *facts)
{
    add(facts, BERTH_FINDING_STACK, replacement->stack->version);
    add(facts, BERTH_FINDING_PROFILE, replacement->stack->profile->name);
    add(facts, BERTH_FINDING_FOUND, replacement->stack->origin);
    add(facts, BERTH_FINDING_STAGED, replacement->host);
    add_configs(&replacement->manifest, facts);
    add_glibc(program, replacement, facts);
    if (berth_replacement_is_mpi(replacement))
        add_managers(&replacement->staged, replacement->family, facts);
    add_verified(program, replacement, facts);
}

/* Is it a library of an MPI in the image? */
static bool is_mpi(const struct berth_scan *scan, const char *soname)
{
    const struct berth_mpi_object *object =
        berth_mpi_objects_find(&scan->objects, soname);

    return object && object->library.family != BERTH_FAMILY_NONE;
}

/* Adds the image's MPI, which runs. */
static void add_image_mpi(const struct berth_program *program,
                          struct berth_strvec *facts)
{
    const struct berth_scan *scan = &program->scan;
    enum berth_mpi_family wanted = program->wants.family;

    for (enum berth_mpi_family it = BERTH_FAMILY_MPICH; it <= BERTH_FAMILY_ABI; it++) {
        bool is_wanted = wanted == BERTH_FAMILY_NONE || wanted == it;

        if (is_wanted && berth_mpi_objects_mpi(&scan->objects, it))
            add_managers(&scan->objects, it, facts);
    }

    /* Without a loader there is nothing of which it was asked. */
    if (!scan->loader)
        return;
    add(facts, BERTH_FINDING_LOADER, scan->loader);
    add(facts, BERTH_FINDING_TARGET, scan->runner);
    for (size_t i = 0; i < scan->closure.count; i++) {
        const struct berth_closure_item *item = &scan->closure.items[i];

        if (item->path && is_mpi(scan, item->soname))
            add_library(item, NULL, facts);
    }
}

void berth_findings_list(const struct berth_program *program,
                         struct berth_strvec *facts)
{
    bool has_mpi = program->count > 0 && berth_replacement_is_mpi(&program->items[0]);

    add_command(program, facts);
    add_image(program, facts);
    if (!has_mpi)
        add_image_mpi(program, facts);
    for (int i = 0; i < program->count; i++)
        add_replacement(program, &program->items[i], facts);
}

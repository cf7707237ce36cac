/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that the tasks of a step find each other, whichever MPI of the container they
 * use. */

#include "bindover/bindover.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/resolve.h"
#include "base/text.h"
#include "mpi/pmi.h"

/* What is checked. */
struct check {
    const struct berth_decide *inside;
    const struct berth_program *program;
    char *const *container;
};

/* The replacement over the MPI of FAMILY; NULL: the image's own stays. */
static const struct berth_replacement *
replacement_of(const struct berth_program *program, enum berth_mpi_family family)
{
    for (int i = 0; i < program->count; i++)
        if (program->items[i].family == family)
            return &program->items[i];
    return NULL;
}

/* The variable of the process manager that the container lacks; NULL: none. */
static const char *find_lost(const struct check *check)
{
    for (const char *const *name = berth_mpi_contacts; *name; name++)
        if (berth_environ_value(check->inside->task, *name) &&
            !berth_environ_value(check->container, *name))
            return *name;
    return NULL;
}

/* Checks the MPI of FAMILY among OBJECTS. *RET_SPEAKS: it speaks to the process
 * manager.
 */
static int check_one(const struct check *check, const struct berth_mpi_objects *objects,
                     enum berth_mpi_family family, const char *owner, bool *ret_speaks,
                     struct berth_err *err)
{
    const char *value = berth_environ_value(check->inside->task, "SLURM_NTASKS");
    unsigned int tasks = value ? (unsigned int)strtoul(value, NULL, 10) : 1;
    unsigned int managers = berth_mpi_managers(objects, family);
    char name[64];
    char whose[96];

    snprintf(whose, sizeof(whose), "%s %s", owner,
             berth_mpi_describe(objects, family, name, sizeof(name)));
    *ret_speaks =
        berth_mpi_check_manager(
            managers, berth_environ_value(check->inside->task, "SLURM_MPI_TYPE"), tasks,
            check->inside->reach.het_step, whose, err) == 0;
    if (!*ret_speaks ||
        berth_mpi_check_contact(find_lost(check), tasks, whose, err) < 0)
        return -1;
    return berth_mpi_check_reach(&check->inside->reach, managers, whose, err);
}

/* May the program use the image's own MPI of FAMILY? */
static bool may_use(const struct check *check, enum berth_mpi_family family)
{
    enum berth_mpi_family wants = check->program->wants.family;

    return berth_mpi_objects_mpi(&check->program->scan.objects, family) &&
           (wants == family || wants == BERTH_FAMILY_NONE ||
            wants == BERTH_FAMILY_UNKNOWN);
}

/* The families of the MPIs in lib/ beside an interpreter, as bits: its programs find
 * these, if it belongs to a virtual environment or to Conda. 0: none, or it is the
 * system's. */
static unsigned int find_beside(const struct check *check)
{
    static const char *const common[] = {"", "/usr", "/usr/local", NULL};
    const struct berth_mpi_objects *image = &check->program->scan.objects;
    BERTH_FREE char *prefix =
        strdup(check->program->scan.runner ? check->program->scan.runner : "");
    BERTH_FREE char *lib = NULL;
    BERTH_FREE char *real = NULL;
    unsigned int families = 0;

    for (int i = 0; prefix && i < 2; i++)
        if (strrchr(prefix, '/'))
            *strrchr(prefix, '/') = '\0';
    for (const char *const *it = common; prefix && *it; it++)
        if (strcmp(prefix, *it) == 0)
            return 0;
    if (!prefix || asprintf(&lib, "%s/lib/", prefix) < 0)
        return 0;
    real = berth_resolve(lib);
    for (size_t i = 0; real && i < image->count; i++)
        if (image->items[i].role == BERTH_ROLE_PRESENT &&
            berth_text_starts(image->items[i].path, real) &&
            image->items[i].path[strlen(real)] == '/')
            families |= 1U << image->items[i].library.family;
    return families & ~(1U << BERTH_FAMILY_NONE);
}

int berth_startup_check(const struct berth_decide *inside,
                        struct berth_program *program, char *const *container,
                        struct berth_err *err)
{
    const struct check check = {inside, program, container};
    bool refused = false;
    bool fits = false;
    bool is_known =
        false; /* the one that is meant was seen: it speaks to the manager */
    unsigned int beside =
        program->wants.family == BERTH_FAMILY_NONE ? find_beside(&check) : 0;
    struct berth_err why;

    *program->alone.text = '\0';
    program->alone_replacement = NULL;
    for (enum berth_mpi_family family = BERTH_FAMILY_MPICH; family <= BERTH_FAMILY_ABI;
         family++) {
        const struct berth_replacement *replacement = replacement_of(program, family);
        bool is_meant = !beside || (beside & 1U << family);
        bool speaks;

        /* A program that the command starts may still load what is mounted. */
        if (program->count ? !replacement : !may_use(&check, family) || !is_meant)
            continue;
        if (check_one(&check,
                      replacement ? &replacement->staged : &program->scan.objects,
                      family, replacement ? "the host's" : "the image's", &speaks,
                      &why) == 0) {
            fits |= is_meant;
            continue;
        }
        berth_err_set(&program->alone,
                      replacement ? "%s" : "%s if this is the MPI that '%s' uses",
                      why.text, program->path);
        program->alone_replacement = replacement;
        refused |= is_meant;
        if (is_meant && (speaks || !is_known))
            *err = why;
        is_known |= is_meant && speaks;
    }
    return refused && !fits ? -1 : 0;
}

/* Is another library of the image's MPI NAME replaced? One install may have a library
 * for each of two families: its own, and the standard's. */
static bool is_half_replaced(const struct berth_program *program, const char *name)
{
    const struct berth_mpi_objects *image = &program->scan.objects;

    for (size_t i = 0; i < image->count; i++) {
        const struct berth_mpi_library *library = &image->items[i].library;
        char own[BERTH_MPI_NAME_SIZE];

        if ((library->parts & BERTH_PART_C) &&
            replacement_of(program, library->family) &&
            strcmp(berth_mpi_library_name(library, own, sizeof(own)), name) == 0)
            return true;
    }
    return false;
}

/* Lists the MPIs of the image that nothing replaces. */
static void list_others(const struct berth_program *program, struct berth_strvec *ret)
{
    const struct berth_mpi_objects *image = &program->scan.objects;

    for (size_t i = 0; i < image->count; i++) {
        enum berth_mpi_family family = image->items[i].library.family;
        struct berth_err sentence;
        char name[64];

        if (&image->items[i] != berth_mpi_objects_mpi(image, family) ||
            replacement_of(program, family))
            continue;
        berth_mpi_describe(image, family, name, sizeof(name));
        if (is_half_replaced(program, name))
            berth_err_set(&sentence, "programs that use %s keep the image's %s (%s)",
                          berth_mpi_family_name(family), name,
                          berth_text_base(image->items[i].path));
        else
            berth_err_set(&sentence, "the image has another MPI, which stays: %s",
                          name);
        berth_strvec_push_once(ret, sentence.text);
    }
}

void berth_startup_name(const struct berth_program *program, bool all,
                        struct berth_buf *ret)
{
    BERTH_STRVEC struct berth_strvec sentences = {0};

    for (int i = 0; i < program->count; i++)
        if (all ||
            program->items[i].verdict.answer != BERTH_VERDICT_YES_WITH_HOST_GLIBC)
            berth_strvec_push_once(&sentences, program->items[i].verdict.because.text);
    if (program->wants.family == BERTH_FAMILY_NONE)
        list_others(program, &sentences);
    berth_strvec_join(&sentences, "; ", ret);
}

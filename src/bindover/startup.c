/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that the tasks of a step find each other, whichever MPI of the container they
 * use. */

#include "bindover/startup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/resolve.h"
#include "base/text.h"
#include "container/munge.h"
#include "mpi/pmi.h"
#include "request/path.h"

/* What is checked. */
struct check {
    const struct berth_decide *inside;
    const struct berth_program *program;
    char *const *container;
    unsigned int beside; /* the MPIs beside an interpreter (find_beside()) */
};

/* What the MPIs that were checked so far have shown. */
struct answer {
    bool fits;     /* one that the program means finds the other ranks */
    bool is_known; /* of those that it means, one speaks to the process manager, so that
                      its sentence is the one to print */
    bool refused;  /* one that it means does not find them; WHY */
    struct berth_err why;
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

static unsigned int count_tasks(const struct check *check)
{
    const char *value = berth_environ_value(check->inside->task, "SLURM_NTASKS");

    if (!value)
        return 1;
    return (unsigned int)strtoul(value, NULL, 10);
}

/* As root in a user namespace, an MPI of the image connects to Slurm's PMIx server by
 * munge, or ends in MPI_Init. TYPE is that of --mpi; NULL: none. Refuse WHOSE MPI,
 * which speaks to MANAGERS, without it. A container that another step has started may
 * have no root, whatever the site's default. */
static int check_root(const struct check *check, unsigned int managers,
                      const char *type, const char *whose, struct berth_err *err)
{
    const bool is_root =
        check->inside->request->root == BERTH_YES && check->inside->is_root;
    const bool is_pmix = type && berth_text_starts(type, "pmix");
    const char *why;

    if (!is_root || !is_pmix || !(managers & BERTH_PMI_PMIX))
        return 0;
    why = berth_munge_why_not(check->inside->task, BERTH_MUNGE_LIBRARIES);
    if (!why)
        return 0;
    return berth_err_set(err,
                         "--container-remap-root: %s ends in MPI_Init with --mpi=%s if "
                         "it runs as root, as %s; leave --container-remap-root out of "
                         "this step, or have the host's MPI run (--mpi-bind=host)",
                         whose, type, why);
}

/* Checks the MPI of FAMILY: that of REPLACEMENT, or of the image (NULL). *RET_SPEAKS:
 * it speaks to the process manager. */
static int check_one(const struct check *check,
                     const struct berth_replacement *replacement,
                     enum berth_mpi_family family, bool *ret_speaks,
                     struct berth_err *err)
{
    const struct berth_mpi_reach *reach = &check->inside->reach;
    const char *type = berth_environ_value(check->inside->task, "SLURM_MPI_TYPE");
    const struct berth_mpi_objects *objects = &check->program->scan.objects;
    const char *owner = "the image's";
    unsigned int tasks = count_tasks(check);
    unsigned int managers;
    char name[64];
    char whose[96];

    if (replacement) {
        objects = &replacement->staged;
        owner = "the host's";
    }
    managers = berth_mpi_managers(objects, family);
    snprintf(whose, sizeof(whose), "%s %s", owner,
             berth_mpi_describe(objects, family, name, sizeof(name)));

    *ret_speaks = berth_mpi_check_manager(managers, type, tasks, reach->het_step, whose,
                                          err) == 0;
    if (!*ret_speaks)
        return -1;
    if (!replacement && check_root(check, managers, type, whose, err) < 0)
        return -1;
    if (berth_mpi_check_contact(find_lost(check), tasks, whose, err) < 0)
        return -1;
    return berth_mpi_check_reach(reach, managers, whose, err);
}

/* May the program use the image's own MPI of FAMILY? */
static bool may_use(const struct check *check, enum berth_mpi_family family)
{
    enum berth_mpi_family wants = check->program->wants.family;

    if (!berth_mpi_objects_mpi(&check->program->scan.objects, family))
        return false;
    return wants == family || wants == BERTH_FAMILY_NONE ||
           wants == BERTH_FAMILY_UNKNOWN;
}

/* The directory of libraries beside the interpreter RUNNER: /p/lib of /p/bin/python.
 * NULL: there is none, or the interpreter is the system's. The caller frees it. */
static char *find_lib(const char *runner)
{
    static const char *const system[] = {"", "/usr", "/usr/local", NULL};
    BERTH_FREE char *prefix = strdup(runner);
    BERTH_FREE char *lib = NULL;

    if (!prefix)
        return NULL;
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(prefix, '/');

        if (slash)
            *slash = '\0';
    }

    if (berth_text_is_any(prefix, system))
        return NULL;
    if (asprintf(&lib, "%s/lib/", prefix) < 0)
        return NULL;
    return berth_resolve(lib);
}

/* The families of the MPIs in lib/ beside an interpreter, as bits: its programs find
 * these, if it belongs to a virtual environment or to Conda. 0: none, or it is the
 * system's. */
static unsigned int find_beside(const struct berth_program *program)
{
    const struct berth_mpi_objects *image = &program->scan.objects;
    BERTH_FREE char *lib = NULL;
    unsigned int families = 0;

    if (program->scan.runner)
        lib = find_lib(program->scan.runner);
    if (!lib)
        return 0;
    for (size_t i = 0; i < image->count; i++) {
        const struct berth_mpi_object *object = &image->items[i];

        if (object->role == BERTH_ROLE_PRESENT &&
            object->library.family != BERTH_FAMILY_NONE &&
            berth_path_is_within(object->path, lib))
            families |= 1U << object->library.family;
    }
    return families;
}

/* Does the program mean the MPI of FAMILY: any, or one that is beside its interpreter?
 */
static bool is_meant(const struct check *check, enum berth_mpi_family family)
{
    return !check->beside || (check->beside & 1U << family);
}

/* Must the MPI of FAMILY, over which REPLACEMENT (NULL: none) is, be checked? */
static bool is_checked(const struct check *check, enum berth_mpi_family family,
                       const struct berth_replacement *replacement)
{
    /* A program that the command starts may still load what is mounted. */
    if (check->program->count)
        return replacement != NULL;
    return may_use(check, family) && is_meant(check, family);
}

/* Notes for the witness that ranks which load the MPI of REPLACEMENT (NULL: the
 * image's) do not find each other, for the reason WHY. */
static void note_alone(struct berth_program *program,
                       const struct berth_replacement *replacement,
                       const struct berth_err *why)
{
    program->alone_replacement = replacement;
    if (replacement)
        program->alone = *why;
    else
        berth_err_set(&program->alone, "%s if this is the MPI that '%s' uses",
                      why->text, program->path);
}

/* Checks the MPI of FAMILY, if the program may use it, and adds to ANSWER. */
static void check_family(const struct check *check, struct berth_program *program,
                         enum berth_mpi_family family, struct answer *answer)
{
    const struct berth_replacement *replacement = replacement_of(program, family);
    struct berth_err why;
    bool speaks, fits;

    if (!is_checked(check, family, replacement))
        return;
    fits = check_one(check, replacement, family, &speaks, &why) == 0;
    if (!fits)
        note_alone(program, replacement, &why);
    if (!is_meant(check, family))
        return;

    if (fits) {
        answer->fits = true;
        return;
    }
    answer->refused = true;
    if (speaks || !answer->is_known)
        answer->why = why;
    if (speaks)
        answer->is_known = true;
}

int berth_startup_check(const struct berth_decide *inside,
                        struct berth_program *program, char *const *container,
                        struct berth_err *err)
{
    struct check check = {inside, program, container, 0};
    struct answer answer = {0};

    *program->alone.text = '\0';
    program->alone_replacement = NULL;
    if (program->wants.family == BERTH_FAMILY_NONE)
        check.beside = find_beside(program);

    for (enum berth_mpi_family family = BERTH_FAMILY_MPICH; family <= BERTH_FAMILY_ABI;
         family++)
        check_family(&check, program, family, &answer);
    if (answer.fits || !answer.refused)
        return 0;
    *err = answer.why;
    return -1;
}

/* Is another library of the image's MPI NAME replaced? One install may have a library
 * for each of two families: its own, and the standard's. */
static bool is_half_replaced(const struct berth_program *program, const char *name)
{
    const struct berth_mpi_objects *image = &program->scan.objects;

    for (size_t i = 0; i < image->count; i++) {
        const struct berth_mpi_library *library = &image->items[i].library;
        char other[BERTH_MPI_NAME_SIZE];
        bool is_c = library->parts & BERTH_PART_C;

        if (!is_c || !replacement_of(program, library->family))
            continue;
        berth_mpi_library_name(library, other, sizeof(other));
        if (strcmp(other, name) == 0)
            return true;
    }
    return false;
}

/* Lists the MPIs of the image that nothing replaces. */
static void list_others(const struct berth_program *program, struct berth_strvec *ret)
{
    const struct berth_mpi_objects *image = &program->scan.objects;

    for (size_t i = 0; i < image->count; i++) {
        const struct berth_mpi_object *object = &image->items[i];
        enum berth_mpi_family family = object->library.family;
        bool is_first = object == berth_mpi_objects_mpi(image, family);
        struct berth_err sentence;
        char name[64];

        if (!is_first || replacement_of(program, family))
            continue;
        berth_mpi_describe(image, family, name, sizeof(name));
        if (is_half_replaced(program, name))
            berth_err_set(&sentence, "programs that use %s keep the image's %s (%s)",
                          berth_mpi_family_name(family), name,
                          berth_text_base(object->path));
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

    for (int i = 0; i < program->count; i++) {
        const struct berth_mpi_verdict *verdict = &program->items[i].verdict;
        bool brings_glibc = verdict->answer == BERTH_VERDICT_YES_WITH_HOST_GLIBC;

        if (all || !brings_glibc)
            berth_strvec_push_once(&sentences, verdict->because.text);
    }
    if (program->wants.family == BERTH_FAMILY_NONE)
        list_others(program, &sentences);
    berth_strvec_join(&sentences, "; ", ret);
}

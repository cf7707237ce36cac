/* SPDX-License-Identifier: Apache-2.0 */
/* Judges an MPI that runs without --mpi-bind. Reads files of the image, as the user. */

#include "bindover/singleton.h"

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "bindover/scan.h"
#include "mpi/names.h"
#include "mpi/objects.h"
#include "mpi/pmi.h"
#include "mpi/verdict.h"
#include "container/namespaces.h"
#include "ipc/report.h"
#include "request/path.h"

/* PATH in the root of a process; NULL: out of memory. */
static char *in_root(int pid, const char *path)
{
    char *name;

    if (asprintf(&name, "/proc/%d/root%s", pid, path) < 0)
        return NULL;
    return name;
}

static int open_library(const struct berth_singleton *it, int *ret_root)
{
    const int roots[] = {it->pid, it->holder};

    for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
        BERTH_FREE char *name = in_root(roots[i], it->path);
        int fd;

        if (!name)
            return -1;
        fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        *ret_root = roots[i];
        if (fd >= 0)
            return fd;
    }
    return -1;
}

/* Open MPI up to 4 has its PMI in components beside the library. Their names show which
 * process manager they serve. */
static void add_components(const struct berth_singleton *it, int root,
                           struct berth_mpi_objects *objects)
{
    BERTH_FREE char *library = in_root(root, it->path);
    BERTH_FREE char *directory = library ? berth_path_beside(library, "openmpi") : NULL;
    glob_t found = {0};

    if (directory && berth_scan_glob(directory, "mca_pmix_*", &found))
        for (size_t i = 0; i < found.gl_pathc; i++) {
            struct berth_elf nothing = {0};

            berth_mpi_objects_add(objects, BERTH_ROLE_PRESENT, NULL,
                                  berth_text_base(found.gl_pathv[i]), &nothing, NULL);
        }
    globfree(&found);
}

static int read_objects(const struct berth_singleton *it,
                        struct berth_mpi_objects *objects)
{
    struct berth_elf elf;
    int root = 0;
    BERTH_CLOSE int fd = open_library(it, &root);

    if (fd < 0 || berth_elf_read(fd, &berth_mpi_question, &elf, NULL) < 0)
        return -1;
    if (berth_mpi_objects_add(objects, BERTH_ROLE_LOADED, NULL, it->path, &elf, NULL) <
        0)
        return -1;
    add_components(it, root, objects);
    return 0;
}

void berth_singleton_warn(const struct berth_singleton *singleton, const char *why,
                          struct berth_err *ret)
{
    const char *type = singleton->type;
    const bool has_manager = *type && strcmp(type, "none") != 0;
    const char *others = "";

    if (singleton->is_several && has_manager)
        others = ", the others wait for it in MPI_Init";
    if (*singleton->mode)
        berth_err_set(ret,
                      "warning: image '%s': if the program uses MPI%s: %s; or "
                      "--mpi-bind=off if it does not",
                      singleton->image, others, why);
    else
        berth_err_set(ret,
                      "warning: image '%s': if the program uses MPI%s: %s, and "
                      "--mpi-bind for the host's library; or --mpi-bind=off if it does "
                      "not",
                      singleton->image, others, why);
}

/* Checks whether the tasks find each other (mpi/pmi.h) with the MPI of OBJECTS. */
static int check(const struct berth_singleton *singleton,
                 const struct berth_mpi_objects *objects, struct berth_err *err)
{
    enum berth_mpi_family family = objects->items[0].library.family;
    unsigned int managers = berth_mpi_managers(objects, family);
    const char *type = NULL;
    char name[64];
    char whose[96];

    if (*singleton->type)
        type = singleton->type;
    snprintf(whose, sizeof(whose), "the image's %s",
             berth_mpi_describe(objects, family, name, sizeof(name)));
    return berth_mpi_check_manager(managers, type, singleton->tasks,
                                   singleton->het_step, whose, err);
}

/* Prints one line on standard error if the tasks do not find each other. */
static void warn(const struct berth_singleton *singleton)
{
    struct berth_mpi_objects objects = {0};
    struct berth_err why, warning;

    if (read_objects(singleton, &objects) == 0 &&
        check(singleton, &objects, &why) < 0) {
        berth_singleton_warn(singleton, why.text, &warning);
        berth_report(-1, singleton->node, &warning);
    }
    berth_mpi_objects_fini(&objects);
}

void berth_singleton_run(char *const *arguments)
{
    struct berth_singleton singleton = {.pid = atoi(arguments[0]),
                                        .holder = atoi(arguments[1]),
                                        .path = arguments[2],
                                        .type = arguments[3],
                                        .tasks = (unsigned int)atoi(arguments[4]),
                                        .node = arguments[5],
                                        .image = arguments[6],
                                        .het_step = strcmp(arguments[7], "het") == 0,
                                        .mode = arguments[8],
                                        .is_several =
                                            strcmp(arguments[9], "several") == 0};

    berth_namespaces_enter_user(singleton.holder ? singleton.holder : singleton.pid);
    warn(&singleton);
}

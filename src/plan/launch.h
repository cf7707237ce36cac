/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/strvec.h"
#include "plan/gpu.h"
#include "plan/order.h"
#include "plan/plan.h"
#include "request/request.h"

/* A container, its runtime and the command in it. Borrows everything. */
/* The reasons of the `places` for TMPDIR, which do not decide which steps share the
 * container of a job (job/key.h). */
#define BERTH_PLACE_TMPDIR     "TMPDIR of the tasks"
#define BERTH_PLACE_TMPDIR_END "TMPDIR leads there"

struct berth_launch {
    const struct berth_order *order; /* of which this is a part; NULL: none */
    const char *runtime;             /* absolute path of singularity or apptainer; NULL:
                                        it was not looked for */
    const char *home;                /* $HOME of the task; NULL: not set */
    const char *directory;           /* working directory of the task; NULL: removed */
    const char *node;                /* the node's name in messages */
    const struct berth_request *request; /* has an image */
    struct berth_strvec mounts;          /* of berth: SRC:DST:ro|rw */
    struct berth_strvec fabric;          /* the same, of site/fabric.h and of DEVICES */
    struct berth_strvec places; /* mounts that berth adds unasked (run/places.h), as
                                 pairs: SRC:DST:ro|rw|sqsh, why */
    struct berth_gpu_choice gpu;
    char *const *environment; /* of the task, for NAME of --container-env */
    char *const *command;     /* the user's words, ended by NULL */
    bool unknown_user;        /* the node's user database lacks the user */
    const char *account_home; /* the home in that database; NULL: none */
    const char *reader; /* of a squashfs file: the script of the host that the runtime
                           reads for the image's variables; NULL: another image, which
                           has scripts of its own */
    const char *image_directory; /* the working directory of the image, as its file
                                    tells it (image/workdir.h); NULL: it does not */
    const char *overlay;         /* the directory for what tasks write to the image
                                    (container/overlay.h); NULL: memory. Of a container
                                    with a name also if it is read-only */
    bool is_outer;               /* the runtime runs as root in the outer user namespace
                                    (container/outer.h) */
};

/* Append to RET the mounts of the container, in the order of the words of the runtime.
 * BINDS (NULL: none) are those of plan/binding.h. Returns 0, or -1 with a sentence in
 * ERR. */
int berth_launch_mounts(const struct berth_launch *launch,
                        const struct berth_strvec *binds, struct berth_plan *ret,
                        struct berth_err *err);

/* Append to RET the variables of ENVIRONMENT, the runtime's, by which it mounts
 * (NAME=VALUE, APPTAINER_BIND and its like), without mounts on a place of
 * berth_launch_mounts(): the runtime would make those of variables first, and keep the
 * first on a place. Returns as berth_launch_mounts(). */
int berth_launch_binds(const struct berth_launch *launch, char *const *environment,
                       struct berth_strvec *ret, struct berth_err *err);

/* Append to RET the variables that REQUEST and TERMS set or remove for the command.
 * ENVIRONMENT is the task's, for NAME of --container-env. */
void berth_launch_variables(const struct berth_request *request,
                            const struct berth_terms *terms, char *const *environment,
                            struct berth_plan *ret);

/* Append to ARGV the words that start the runtime with the user's command in a
 * container of its own. Returns 0, or -1 with a sentence in ERR if a mount cannot be
 * parsed. */
int berth_launch_own_argv(const struct berth_launch *launch, struct berth_strvec *argv,
                          struct berth_err *err);

/* Append to ARGV the words that start the runtime with berth-init as the holder of a
 * container that tasks join. The holder ends at end of file on descriptor TASKS (-1:
 * for an explanation, which shows no descriptors), and writes its environment to READY.
 * INNER is a descriptor for the inner user namespace that the holder enters; -1: none.
 * Returns 0, or -1 with a sentence in ERR. */
int berth_launch_holder_argv(const struct berth_launch *launch, const char *init,
                             int tasks, int ready, int inner, struct berth_strvec *argv,
                             struct berth_err *err);

/* The words of berth-init alone, for a holder that starts in a container that exists.
 * The last word is that of berth_launch_made_by(): `berth ps` reads it in /proc. */
void berth_launch_hold(const struct berth_request *request, const char *init, int tasks,
                       int ready, int inner, struct berth_strvec *argv);

/* Append to RET the options of REQUEST that make another container of the same image,
 * as a user writes them, with blanks between; nothing if there are none. */
void berth_launch_made_by(const struct berth_request *request, struct berth_buf *ret);

/* Append to SET (NAME=VALUE) the settings of MPI libraries for tasks that each have
 * their own user namespace, and so cannot read each other's memory; except variables
 * that are in ENVIRONMENT, the task's. (openucx issues 4224 and 8958, pull request
 * 9213; Open MPI issue 4948, pull requests 6997 and 6998.) */
void berth_launch_separate(char *const *environment, struct berth_strvec *set);

/* Has DIRECTORY the name of one that slurmstepd makes for the process manager of a
 * step? The user can set the variables that name them to any other. Out of memory:
 * false, and *RET_FAILED is true. */
bool berth_launch_is_manager_place(const char *directory, bool *ret_failed);

/* The image's runscript, where both Singularity and Apptainer keep it. */
#define BERTH_LAUNCH_RUNSCRIPT "/.singularity.d/runscript"

/* Where a runtime reads the variables of an image without /.singularity.d/env
 * (action_script.sh of Apptainer and of SingularityCE): the place of `reader`. A
 * squashfs file of enroot has them in /etc/environment, NAME=VALUE on each line. */
#define BERTH_LAUNCH_READER_PLACE "/environment"

/* The entry point of a squashfs file of enroot: a script of /bin/sh that changes to the
 * working directory of the image and becomes its arguments, perhaps through a program
 * of the image (docker::configure in enroot's src/docker.sh). */
#define BERTH_LAUNCH_RC "/etc/rc"

/* Append to ARGV the command of LAUNCH, with the image's entry point before it if the
 * request asks for that (--container-entrypoint). */
void berth_launch_command(const struct berth_launch *launch, struct berth_strvec *argv);

/* Do tasks start in the working directory of the image, if it has one, and not in that
 * of srun? An image of enroot does so; and a user who leaves the home out has left that
 * of srun out, as a rule. Not if --container-workdir names another. */
bool berth_launch_prefers_image(const struct berth_launch *launch);

/* The file that is the entry point of the image of LAUNCH, if it has one. */
const char *berth_launch_entrypoint(const struct berth_launch *launch);

/* The same in the form of putenv(3): each NAME to unset, each NAME=VALUE to set. */
void berth_launch_env(const struct berth_request *request,
                      const struct berth_terms *terms, char *const *environment,
                      struct berth_strvec *env);

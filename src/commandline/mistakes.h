/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "commandline/hetgroup.h"
#include "request/request.h"

/* What people type, Slurm takes, and does not do what they mean: the program runs on
 * the host, or with words that were meant for srun. Each may be meant after all, so it
 * is only said. Each function returns whether there is something to say, and the
 * sentence in RET. */

/* What srun, sbatch or salloc has just read. */
struct berth_typed {
    const struct berth_hetgroups *line;
    int optind;         /* getopt's, behind the options */
    const char *caller; /* "srun", "sbatch" or "salloc" */
    const char *prefix; /* the site's, of our options */
    bool is_contained;  /* the component has an image, */
    bool is_named;      /* which an option says, not only the environment */
};

/* An option of ours behind the command, which gets it as an argument. Not where the
 * command has such options itself: `salloc srun --container-image=...`. */
bool berth_mistake_misplaced(const struct berth_typed *typed, struct berth_err *ret);

/* The same of a line of a --multi-prog file: WORDS of its command, ended by NULL.
 * PREFIX: the site's, of our options. */
bool berth_mistake_on_line(char *const *words, const char *prefix,
                           struct berth_err *ret);

/* A colon that is not a word, and so begins no component: `./a :-n1 ./b`, `./a: -n1
 * ./b`. Only where the line has an option of ours, and where an option of srun and a
 * command are behind the colon: `rsync host: -av to` is meant so. */
bool berth_mistake_colon(const struct berth_typed *typed, struct berth_err *ret);

/* What VALUE of Slurm's own --container is. */
enum berth_bundle {
    BERTH_BUNDLE_NONE,   /* not there */
    BERTH_BUNDLE_FILE,   /* a file, as images are */
    BERTH_BUNDLE_PLAIN,  /* a directory without config.json */
    BERTH_BUNDLE_PROPER, /* a directory with it (OCI runtime specification) */
};

/* An image as the value of Slurm's --container or SLURM_CONTAINER, where an OCI bundle
 * is expected. */
bool berth_mistake_bundle(const struct berth_typed *typed, const char *value,
                          enum berth_bundle kind, struct berth_err *ret);

/* A variable of pyxis, which says the image there: the value of PYXIS_CONTAINER_IMAGE,
 * or NULL. Silent where our options have a prefix: pyxis may be there, too. */
bool berth_mistake_pyxis(const struct berth_typed *typed, const char *value,
                         struct berth_err *ret);

/* An mpirun of --mpi-bind=launch that would not use srun; in ENVIRONMENT. */
bool berth_mistake_ssh(const struct berth_typed *typed,
                       const struct berth_request *request, char *const *environment,
                       struct berth_err *ret);

/* An mpirun in a component with an image, for REQUEST: it would ask Slurm for its
 * ranks, and wait for ever. Not with a --mpi-bind that is for it, or an `off` that was
 * typed; and not where srun refuses it (commandline/launcher.h). */
bool berth_mistake_mpirun(const struct berth_typed *typed,
                          const struct berth_request *request, struct berth_err *ret);

/* The script TEXT, NAME for people, of a job with an image has no srun. A script that
 * it calls may have one, which is not looked at. */
bool berth_mistake_script(const char *name, const char *text, struct berth_err *ret);

/* May the script TEXT hand on its arguments? A shell's does with "$@" or "$1"; of
 * others (Python, Perl, csh) that is not known. Then an option behind the script's name
 * may be for a srun in it. */
bool berth_mistake_passes_arguments(const char *text);

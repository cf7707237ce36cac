/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <glob.h>
#include <stdbool.h>

#include "base/err.h"
#include "site/plugstack.h"
#include "cli/checks.h"
#include "site/terms.h"

/* Where and how facts are read. */
struct berth_host {
    const char *root;         /* in front of every path; "": this host */
    const char *path;         /* PATH, for programs; NULL: not set */
    char *const *env;         /* ends in NULL */
    struct berth_terms terms; /* of the site: which MPI stacks steps get */
    struct berth_doctor_facts *facts;
    struct berth_err *err;
};

/* Read the facts of this host below the directory ROOT, as the calling user, in the
 * environment ENV; RELEASE is that of the caller. Starts the runtime, srun and berth's
 * programs for their versions, each for ten seconds at most, and a child that tries to
 * make a user namespace. What cannot be read stays unknown. On success the caller owns
 * *RET_FACTS (berth_doctor_facts_fini). */
int berth_host_read(const char *root, char *const *env, const char *release,
                    struct berth_doctor_facts *ret_facts, struct berth_err *err);

/* The rest is private to src/cli. The caller frees the texts that are returned;
 * NULL: cannot be read, or out of memory. */

/* Returns PATH below the root. */
char *berth_host_place(const struct berth_host *host, const char *path);

/* glob(3) below the root. Returns false if nothing fits; else the caller frees *RET
 * with globfree(3). */
bool berth_host_glob(const struct berth_host *host, const char *pattern, glob_t *ret);

/* Returns the text of the file PATH, at most 4 MB. */
char *berth_host_text(const struct berth_host *host, const char *path);

/* Runs the words ARGV, of which the first is a path. Returns the standard output and,
 * behind it, the standard error; NULL also if the program fails. */
char *berth_host_ask(const struct berth_host *host, const char *const *argv);

/* Returns the first line that PATH --version prints, which lives as long as the facts;
 * NULL: none. */
const char *berth_host_version(const struct berth_host *host, const char *path);

/* Returns NAME in the directory of FILE; NAME itself if it is absolute. */
char *berth_host_beside(const char *file, const char *name);

/* slurm.conf as Slurm's commands find it. `path` and `text` are NULL if there is none.
 */
struct berth_host_conf {
    char *path;
    char *text;      /* and that of the files that it includes */
    char *plugstack; /* where plugstack.conf is, or would be */
};

/* Find and read slurm.conf. The caller owns *RET. */
void berth_host_conf(const struct berth_host *host, struct berth_host_conf *ret);
void berth_host_conf_fini(struct berth_host_conf *conf);

/* Called with DATA for the files and lines of plugstack.conf, in Slurm's order. */
struct berth_host_listener {
    void (*file)(void *data, const char *text); /* each file; may be NULL */
    void (*line)(void *data, const char *file,  /* each line but `include` */
                 const struct berth_plugstack_line *line);
    void *data;
};

/* Read the plugstack.conf at PATH and all files that it includes. Returns false if PATH
 * cannot be read. */
bool berth_host_plugstack(const struct berth_host *host, const char *path,
                          const struct berth_host_listener *to);

/* Read the facts about the runtime at CONFIGURED, runtime.path of berth.yaml; NULL: the
 * one on the PATH. */
void berth_host_read_runtime(struct berth_host *host, const char *configured);

/* Read the facts about Slurm and berth.yaml, and the terms of HOST. Returns
 * runtime.path of berth.yaml, which lives as long as the facts; NULL: not set. */
const char *berth_host_read_slurm(struct berth_host *host);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <glob.h>
#include <stdbool.h>

#include "base/err.h"
#include "site/plugstack.h"
#include "diagnose/doctor.h"
#include "site/terms.h"

/* Where facts are read. */
struct berth_host {
    const char *root;         /* in front of every path; "": this host */
    const char *path;         /* PATH, for programs; NULL: not set */
    char *const *env;         /* ends in NULL */
    struct berth_terms terms; /* of its site, by which it offers MPI stacks */
    struct berth_doctor_facts *facts;
    struct berth_err *err;
};

/* Read what doctor wants to know of this host, as the calling user; RELEASE is that of
 * the berth that asks. Starts the runtime, srun and berth's programs to hear their
 * versions, each for some seconds at most, and a child that tries to make a user
 * namespace. What cannot be read is not data. On success the caller owns *RET_FACTS
 * (berth_doctor_facts_fini). */
int berth_host_read(const char *root, char *const *env, const char *release,
                    struct berth_doctor_facts *ret_facts, struct berth_err *err);

/* Private to src/probe. The texts that are returned are the caller's; NULL:
 * cannot be read, or out of memory. */

/* PATH below the root. */
char *berth_host_place(const struct berth_host *host, const char *path);

/* glob(3) below the root. Returns false if nothing fits; else the caller frees *RET
 * with globfree(3). */
bool berth_host_glob(const struct berth_host *host, const char *pattern, glob_t *ret);

/* The text of a file, at most 4 MB. */
char *berth_host_text(const struct berth_host *host, const char *path);

/* What the program at ARGV[0] (a path), run with these words, says on standard output
 * and then on standard error; NULL also when it fails. */
char *berth_host_ask(const struct berth_host *host, const char *const *argv);

/* The first line that PATH --version prints; lives as long as the facts. NULL: none. */
const char *berth_host_version(const struct berth_host *host, const char *path);

/* NAME beside FILE; NAME alone if it is absolute. */
char *berth_host_beside(const char *file, const char *name);

/* slurm.conf as Slurm's commands find it. NULL: there is none. */
struct berth_host_conf {
    char *path;
    char *text;      /* with that of the files that it includes */
    char *plugstack; /* where plugstack.conf is, or would be */
};

void berth_host_conf(const struct berth_host *host, struct berth_host_conf *ret);
void berth_host_conf_fini(struct berth_host_conf *conf);

/* The callbacks for files and lines of plugstack.conf, in Slurm's order. */
struct berth_host_listener {
    void (*file)(void *data, const char *text); /* of each; NULL: not wanted */
    void (*line)(void *data, const char *file,  /* each that includes nothing */
                 const struct berth_plugstack_line *line);
    void *data;
};

/* Read that at PATH with all that it includes. Returns false if it is not there. */
bool berth_host_plugstack(const struct berth_host *host, const char *path,
                          const struct berth_host_listener *to);

void berth_host_read_runtime(struct berth_host *host, const char *configured);

/* Returns what berth.yaml says of the runtime's path, in the facts; NULL: nothing. What
 * it says else is in the terms. */
const char *berth_host_read_slurm(struct berth_host *host);

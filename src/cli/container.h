/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

/* A container that runs on a node. Owns its texts. */
struct berth_container {
    char *node;
    char *image;      /* as the user wrote it */
    char *options;    /* that make another container of that image (plan/launch.h) */
    unsigned int job; /* SLURM_JOB_ID, of a het job the leader's; 0: none */
    int step;         /* SLURM_STEP_ID; -1: none (`berth run`, or the job's own) */
    int component;    /* of the step; -1: the step has only one, or it is not known */
    int rank;         /* the lowest of its tasks, or the one asked for; -1: not known */
    unsigned int tasks; /* 0: the job keeps the container for later steps */
    unsigned int since; /* time of the start: seconds since the Epoch */
    int memory;   /* KiB of the programs that serve its image; -1: there are none */
    int cpu;      /* their processor time in ms; -1: there are none */
    pid_t holder; /* berth-init, on its node; `berth ps` calls it ID */
    unsigned int mounts; /* inode of its mount namespace; not in the text */
    pid_t task;          /* the process of `rank`, on its node; not in the text */
    int offset;          /* of the component of a het job; not in the text; -1: none */
};

struct berth_containers {
    struct berth_container *items;
    size_t count, room;
};

/* Append CONTAINER as a line of text. The start of a long name of an image is cut off:
 * Slurm cuts lines of a task at 1024 bytes. */
void berth_container_put(const struct berth_container *container,
                         struct berth_buf *buf);

/* Append the containers in TEXT, which this function overwrites, to *RET, with the
 * component OFFSET of a het job (-1: none). Skips lines that other programs wrote. */
int berth_containers_get(char *text, int offset, struct berth_containers *ret,
                         struct berth_err *err);

/* Containers as the processes of a user on this node show them. The user could forge
 * what these processes say: nothing here is a boundary between users. */

/* Which containers of this node to find. */
struct berth_find {
    uid_t user;
    unsigned int job;    /* 0: of all jobs; of a het job the leader's number */
    unsigned int number; /* of a het job the component's own number, or 0 */
    int rank;            /* only containers with this task; -1: all */
};

/* Append to RET the containers in which a task runs, and those that a job keeps for its
 * steps. */
int berth_find_containers(const struct berth_find *wanted, struct berth_containers *ret,
                          struct berth_err *err);

/* Sort by job, step, node and rank. */
void berth_containers_sort(struct berth_containers *containers);

/* Selects a container of one job. */
struct berth_selector {
    const char *job;  /* as the user wrote it */
    int step;         /* -1: the newest step with a container */
    const char *node; /* NULL: the first with such a container */
    int component;    /* -1: any */
    int rank;         /* -1: any; else the containers to choose from have this rank */
    int holder;       /* of the container; -1: any */
    const char *name; /* of the container (--container-name); NULL: any */
    bool is_to_save;  /* what a step wrote is another thing on each node */
};

/* Read the number, from 0, at the start of TEXT; *RET_END is after it. Returns -1 if
 * there is none, or it is too large. */
int berth_selector_number(const char *text, char **ret_end);

/* Read JOBID[.STEPID[+COMPONENT]] in TEXT into `job`, `step` and `component` of *RET,
 * which borrows TEXT: this function ends TEXT after the JOBID. */
int berth_selector_read(char *text, struct berth_selector *ret, struct berth_err *err);

/* Returns the one of CONTAINERS, which must be sorted, that SELECTOR matches: of those
 * in which tasks run, or else of those that the job keeps. NULL with a sentence in ERR:
 * SELECTOR matches none, or containers that differ. *RET_SEVERAL, which starts as
 * `= {0}`, has the result; or the containers that differ; it borrows their texts, and
 * the caller frees its items. */
const struct berth_container *
berth_containers_choose(const struct berth_containers *containers,
                        const struct berth_selector *selector,
                        struct berth_containers *ret_several, struct berth_err *err);

/* Print a line for each of CONTAINERS, with a heading, to STREAM; or all as JSON.
 * Returns an exit status. */
int berth_containers_print(const struct berth_containers *containers, bool is_json,
                           FILE *stream);

/* The sentence for a container that has ended. Always returns -1. */
int berth_container_refuse_ended(struct berth_err *err);

/* Run COMMAND, ended by NULL (empty: a shell), in CONTAINER, which is on this node, as
 * its task runs: in the task's namespaces, directory and environment except TERM, with
 * the caller's standard input, output and error. Returns the exit status of the command
 * as in a shell, with "" in ERR; or a status of container/become.h with a sentence. */
int berth_enter(const struct berth_container *container, char **command,
                struct berth_err *err);

/* Write FILE, a squashfs file if its name ends in .sqsh, else a SIF file: the file
 * system of CONTAINER, which is on this node, without what is mounted in it, and with a
 * label that says from what it was made. Replaces FILE only if IS_FORCED. Needs the
 * room of two images in the directory of FILE. Returns 0; or -1 with a sentence in ERR,
 * and FILE is as it was. The caller ignores SIGHUP, SIGINT and SIGTERM from now on.
 * *RET_BYTES is the size of FILE; if RET_BYTES is NULL, a line says it after a save
 * that took long. */
int berth_save(const struct berth_container *container, const char *file,
               bool is_forced, off_t *ret_bytes, struct berth_err *err);

void berth_container_fini(struct berth_container *container);
void berth_containers_fini(struct berth_containers *containers);

#define BERTH_CONTAINERS __attribute__((cleanup(berth_containers_fini)))

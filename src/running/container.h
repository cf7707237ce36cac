/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

/* A container that runs on a node. A value struct; owns its texts. */
struct berth_container {
    char *node;
    char *image;        /* as it was asked for */
    unsigned int job;   /* SLURM_JOB_ID: of a het job the leader's; 0: none */
    int step;           /* SLURM_STEP_ID; -1: none (`berth run`, or the job's own) */
    int component;      /* of the step; -1: it has only one, or nobody knows */
    int rank;           /* the least one in it, or the one asked for; -1: not known */
    unsigned int tasks; /* 0: the job keeps it for its steps, which have copies */
    unsigned int since; /* when it was started: seconds since the Epoch */
    int memory;   /* KiB of the programs that serve its image, and the processor */
    int cpu;      /* time that they have used, in ms; -1: there are none */
    pid_t holder; /* berth-init, on its node */
    pid_t task;   /* the process of `rank`, on its node; not part of the text */
    int offset;   /* of the component of a het job, set by who asked; -1: none */
};

struct berth_containers {
    struct berth_container *items;
    size_t count, room;
};

/* Append CONTAINER as a line of text. A long name of an image loses its beginning:
 * Slurm cuts lines of a task at 1024 bytes. */
void berth_container_put(const struct berth_container *container,
                         struct berth_buf *buf);

/* Append the containers in TEXT, which this changes, to *RET; their job is one of
 * component OFFSET. Other lines of TEXT are somebody else's. */
int berth_containers_get(char *text, int offset, struct berth_containers *ret,
                         struct berth_err *err);

/* Append *ITEM, which is empty then. Returns 0, or -1 out of memory. */
int berth_containers_add(struct berth_containers *containers,
                         struct berth_container *item);

/* By job, step, node and rank. */
void berth_containers_sort(struct berth_containers *containers);

/* What is to be entered, of one job. */
struct berth_selector {
    const char *job;  /* as the user wrote it */
    int step;         /* -1: the newest one with a container */
    const char *node; /* NULL: the first one */
    int component;    /* -1: not said */
    int rank;         /* -1: not said; else CONTAINERS are those that have it */
};

/* Read TEXT, JOBID[.STEPID[+COMPONENT]], into RET->step and RET->component, and end it
 * behind the JOBID, which is RET->job. */
int berth_selector_read(char *text, struct berth_selector *ret, struct berth_err *err);

/* The one of CONTAINERS, which are sorted, that SELECTOR means. NULL with a sentence in
 * ERR: there is none, or the selector does not tell between different ones. */
const struct berth_container *
berth_containers_choose(const struct berth_containers *containers,
                        const struct berth_selector *selector, struct berth_err *err);

void berth_container_fini(struct berth_container *container);
void berth_containers_fini(struct berth_containers *containers);

#define BERTH_CONTAINERS __attribute__((cleanup(berth_containers_fini)))

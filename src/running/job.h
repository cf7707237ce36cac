/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/strvec.h"

/* A job as squeue(1) tells it, or one component of a het job. */
struct berth_job {
    unsigned int id;     /* for srun --jobid: of a het job the leader's */
    int offset;          /* of the component; -1: not of a het job */
    unsigned int number; /* its own one */
    uid_t user;
    unsigned int nodes;
    char state[32]; /* RUNNING, ... */
};

struct berth_jobs {
    struct berth_job *items;
    size_t count, room;
};

/* The format of squeue that is read here. */
#define BERTH_JOB_FORMAT "%A %i %U %D %T"

/* Read the output of squeue. */
int berth_jobs_get(const char *text, struct berth_jobs *ret, struct berth_err *err);

/* Leave in JOBS those that NAME means, as a user writes it: 12, 12+1, 12_3. Returns 0;
 * -1 with a sentence in ERR if there are none, or one is not of USER or does not run.
 */
int berth_jobs_select(struct berth_jobs *jobs, const char *name, uid_t user,
                      struct berth_err *err);

void berth_jobs_fini(struct berth_jobs *jobs);

#define BERTH_JOBS __attribute__((cleanup(berth_jobs_fini)))

/* The environment OWN of the user for a squeue or srun of ours: without variables that
 * stand for their options or berth's, which are for the user's steps. */
void berth_job_environment(char *const *own, struct berth_strvec *ret);

/* Append the words of an srun that runs something beside the tasks of JOB (of component
 * OFFSET), which follows: on NODE, or (NULL) on all NODES, a task for each. */
void berth_job_srun(const char *srun, unsigned int job, int offset, const char *node,
                    unsigned int nodes, struct berth_strvec *ret);

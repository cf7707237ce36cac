/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/installed.h"
#include "base/strvec.h"
#include "cli/container.h"

/* A job, or one component of a het job, as squeue(1) lists it. */
struct berth_job {
    unsigned int id;     /* for srun --jobid: of a het job the leader's */
    int offset;          /* of the component; -1: not of a het job */
    unsigned int number; /* of the component; of other jobs the same as `id` */
    uid_t user;
    unsigned int nodes;
    char state[32]; /* RUNNING, ... */
};

struct berth_jobs {
    struct berth_job *items;
    size_t count, room;
};

/* The --format of squeue that berth_jobs_get() reads. */
#define BERTH_JOB_FORMAT "%A %i %U %D %T"

/* Append the jobs in TEXT, the output of squeue, which is overwritten, to RET. */
int berth_jobs_get(char *text, struct berth_jobs *ret, struct berth_err *err);

/* Remove the jobs from JOBS that NAME (12, 12+1 or 12_3) does not mean. Returns 0; -1
 * with a sentence in ERR if none is left, or one is not of USER or does not run. */
int berth_jobs_select(struct berth_jobs *jobs, const char *name, uid_t user,
                      struct berth_err *err);

void berth_jobs_fini(struct berth_jobs *jobs);

#define BERTH_JOBS __attribute__((cleanup(berth_jobs_fini)))

/* Append ENV, an environment, for a squeue or srun that berth starts: without the
 * variables that set options of these commands or of berth, which are for the user's
 * steps. */
void berth_job_environment(char *const *env, struct berth_strvec *ret);

/* Append the arguments of an srun that runs a command, which the caller appends, beside
 * the steps of JOB (component OFFSET; -1: not a het job): one task on NODE, or if that
 * is NULL, on each of the NODES nodes. */
void berth_job_srun(const char *srun, unsigned int job, int offset, const char *node,
                    unsigned int nodes, struct berth_strvec *ret);

/* The first arguments of the commands that srun starts on nodes: `berth ps --node-part`
 * lists the containers of its node, `berth enter --node-part` enters one. */
#define BERTH_ASK_PROGRAM berth_installed(BERTH_BINDIR "/berth")
#define BERTH_ASK_NODE    "--node-part"

/* These functions run the commands of Slurm that are on the PATH. */

/* Append to RET, and sort, the containers on all nodes of the caller's jobs that NAME
 * means (berth_jobs_select()); NULL: of all that run. RANK: only those with that task;
 * -1: all. A job or a node that does not answer does not hide the others: after -1,
 * with the sentence of the last one in ERR, RET has the containers of the others. */
int berth_ask_containers(const char *name, int rank, struct berth_containers *ret,
                         struct berth_err *err);

/* Returns the path of srun, which the caller frees; NULL: this host has no srun. */
char *berth_ask_srun(void);

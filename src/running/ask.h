/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "running/container.h"
#include "running/job.h"

/* The first words of a command that nodes run, to tell their containers to
 * berth_ask_containers(), or to enter one. */
#define BERTH_ASK_PROGRAM BERTH_BINDIR "/berth"
#define BERTH_ASK_WORD    "--node-part"

/* Slurm, by its commands on the PATH. Each returns 0, or -1 with a sentence in ERR. */

/* The caller's jobs that NAME means (running/job.h); NULL: all that run. */
int berth_ask_jobs(const char *name, struct berth_jobs *ret, struct berth_err *err);

/* Append the containers of JOB on NODE (NULL: on all of its nodes), as in
 * running/find.h. */
int berth_ask_containers(const struct berth_job *job, const char *node, int rank,
                         struct berth_containers *ret, struct berth_err *err);

/* The path of srun; NULL: it is not on this host. The caller frees it. */
char *berth_ask_srun(void);

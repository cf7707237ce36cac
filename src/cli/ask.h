/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "cli/container.h"
#include "cli/job.h"

/* The first words of the commands that srun starts on nodes: `berth ps --node-part`
 * lists the containers of its node, `berth enter --node-part` enters one. */
#define BERTH_ASK_PROGRAM BERTH_BINDIR "/berth"
#define BERTH_ASK_WORD    "--node-part"

/* These functions run the commands of Slurm that are on the PATH. */

/* Get the caller's jobs that NAME means (berth_jobs_select()); NULL: all that run. The
 * caller owns *RET, which starts with {0}. */
int berth_ask_jobs(const char *name, struct berth_jobs *ret, struct berth_err *err);

/* Append the containers of JOB on NODE (NULL: on all of its nodes) to RET, those with
 * task RANK (-1: all), and sort RET. After -1, RET has those of the nodes that
 * answered. */
int berth_ask_containers(const struct berth_job *job, const char *node, int rank,
                         struct berth_containers *ret, struct berth_err *err);

/* Returns the path of srun, which the caller frees; NULL: this host has no srun. */
char *berth_ask_srun(void);

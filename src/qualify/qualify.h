/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "qualify/session.h"

/* Does what a site has fit together: its MPI, images, network and Slurm? Runs steps in
 * the job of this process (SLURM_JOB_ID), and reads what they have done. */

/* Is this process in a job? */
bool berth_qualify_in_job(void);

/* Does the partition that ASKED names, or SALLOC_PARTITION, or Slurm's default, have
 * one node? false: also where Slurm does not say. */
bool berth_qualify_is_small(const struct berth_qualify *asked);

/* Append the words of the salloc that gives a job to COMMAND, which follows: of two
 * nodes, or of those in WISHES (words of salloc, ended by NULL). -1 with a sentence in
 * ERR: Slurm's commands are not on this host. */
int berth_qualify_salloc(char *const *wishes, char *const *command,
                         struct berth_strvec *ret, struct berth_err *err);

/* Run all checks. The caller owns *RET_CHECKS in each case. The directory where the
 * programs are kept when a check failed is appended to RET_KEPT. -1 with a sentence in
 * ERR: not all could be run. */
int berth_qualify_run(const struct berth_qualify *asked,
                      struct berth_checks *ret_checks, struct berth_buf *ret_kept,
                      struct berth_err *err);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "commandline/mistakes.h"
#include "request/request.h"
#include "site/site.h"

/* In srun, sbatch and salloc: one line, on the user's terminal, for each thing that was
 * typed and will not do what it looks like (commandline/mistakes.h). */

/* SENTENCE, with the site's PREFIX of options, as a line of srun, sbatch or salloc.
 * With their --quiet, too: else the job would run on the host in silence. */
void berth_typed_warn(const char *prefix, struct berth_err *sentence);

/* Behind the options of a component of srun. BUNDLE: the value of Slurm's own
 * --container, or of its variable; NULL: none. */
void berth_typed_step(const struct berth_typed *typed, const char *bundle);

/* About an mpirun in a component of srun. SITE_SAYS: the site may say --mpi-bind. */
void berth_typed_mpirun(const struct berth_typed *typed,
                        const struct berth_request *request, bool site_says);

/* Behind the options of sbatch or salloc, also about the script, as far as it can be
 * read again. With an image from the environment only, as a profile sets it for every
 * job, nothing is said of a script without srun. */
void berth_typed_job(const struct berth_typed *typed, const char *bundle);

/* Is the image of REQUEST, which has one, right? One that is here and wrong, or that
 * SITE does not allow, is refused; one from a registry is checked when it is pulled.
 * One that is missing is refused or gets a line, as SITE says; srun in a job leaves it
 * to the nodes. PREFIX is that of the site's options. */
int berth_typed_image(const struct berth_site *site, const char *prefix,
                      const struct berth_request *request, struct berth_err *err);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "request/mistakes.h"
#include "request/request.h"
#include "site/site.h"

/* In srun, sbatch and salloc: warns of arguments that do not do what they
 * seem to do (request/mistakes.h), in one line each. */

/* Print SENTENCE as a warning of srun, sbatch or salloc, with the site's PREFIX in
 * names of options; also under --quiet, because the job may run on the host. */
void berth_commandline_warn(const char *prefix, struct berth_err *sentence);

/* After the options of a component of srun: warn of mistakes on the command line, or
 * refuse them. BUNDLE is the value of Slurm's own --container, or of its variable;
 * NULL: none. */
int berth_commandline_step(const struct berth_typed *typed, const char *bundle,
                           struct berth_err *err);

/* Is the command `berth run`, which reads the defaults of the job itself? */
bool berth_commandline_is_run(const struct berth_typed *typed);

/* Read the script of sbatch, or the command of --wrap, into RET. Returns 0, or -1 if
 * that cannot be known. */
int berth_commandline_script(const struct berth_typed *typed, struct berth_buf *ret);

/* After the options of sbatch or salloc: warn of mistakes on the command line, and in
 * sbatch of a script without srun, if the script can be read again. If only the
 * environment names the image, as a profile of the shell does for all jobs, such a
 * script is right. */
int berth_commandline_job(const struct berth_typed *typed, const char *bundle,
                          struct berth_err *err);

/* Check the image of REQUEST, which must have one. Refuse a file that is not an image,
 * and an image that SITE does not allow. Refuse a missing image, or warn of it, as
 * images.missing says; in a job, srun leaves that to the nodes. An image from a
 * registry is checked by the pull. Returns 0, or -1 with a sentence in ERR. PREFIX is
 * the site's prefix of options. */
int berth_commandline_image(const struct berth_site *site, const char *prefix,
                            const struct berth_request *request, struct berth_err *err);

/* In srun, sbatch and salloc, before Slurm allocates anything: if the image of REQUEST
 * is a URI, pull the image into the user's cache, and set the image to that file. On a
 * host without a runtime, sbatch and salloc leave the pull to the first srun of the
 * job. SITE must have been read if the image is a URI. Returns 0, or -1 with a sentence
 * in ERR. */
int berth_commandline_pull(const struct berth_site *site, struct berth_request *request,
                           struct berth_err *err);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "request/hetgroup.h"

/* Where srun writes standard output and standard error of the tasks. */

/* The file that gets both, as the user typed it: `srun -o FILE` writes standard error
 * to FILE, too, unless -e gives it another place (job_update_io_fnames() in srun's
 * srun_job.c). NULL: there is no such file. The options are those of the current spec
 * of LINE, of which OPTIND is the end (getopt). OUTPUT and ERROR are the values of
 * SLURM_STDOUTMODE and SLURM_STDERRMODE, which the options win over; NULL: not set. The
 * result belongs to LINE or is OUTPUT. */
const char *berth_streams_file(const struct berth_hetgroups *line, int optind,
                               const char *output, const char *error);

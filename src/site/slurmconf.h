/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/strvec.h"

/* Append the paths at which Slurm's commands look for slurm.conf, in their order:
 * NAMED, the value of SLURM_CONF (NULL or "": it is not set), and the usual places; at
 * last that where slurmd keeps what it gets from slurmctld ("configless"). Other files
 * of Slurm, such as oci.conf, are beside slurm.conf. */
void berth_slurmconf_places(const char *named, struct berth_strvec *ret);

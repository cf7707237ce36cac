/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <slurm/spank.h>

#include "request/hetgroup.h"
#include "request/option.h"

/* Register every option of berth, with PREFIX before its name. If PREFIX is "" and the
 * options of LINE (NULL: there is no command line) do not ask for the help, register
 * those of pyxis, too. CALLBACK gets as its value the index in berth_options. Call this
 * in slurm_spank_init() of every context: sbatch and salloc do not load a static table
 * spank_options[]. Returns 0 or -1. */
int berth_options_register(spank_t sp, const char *prefix,
                           const struct berth_hetgroups *line, spank_opt_cb_f callback);

/* Remove Slurm's copies of all options by UNSET, like a function of spank.h. */
void berth_options_remove(spank_t sp, const char *prefix,
                          spank_err_t (*unset)(spank_t sp, const char *name));

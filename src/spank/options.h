/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include <slurm/spank.h>

#include "request/option.h"
#include "commandline/pyxis.h"

/* Those of commandline/pyxis.h are behind those of request/option.h. */
enum { BERTH_OPTIONS_ALL = BERTH_OPTION_COUNT + BERTH_PYXIS_COUNT };

/* Register every option of request/option.h, with PREFIX in front of its name, and
 * without a PREFIX those of commandline/pyxis.h. CALLBACK gets the enum
 * berth_option_id, or BERTH_OPTION_COUNT and the place in berth_pyxis_options, as its
 * value. spank_option_register() needs to be called in slurm_spank_init() of every
 * context: a static spank_options[] table is not loaded by sbatch and salloc. Returns 0
 * or -1. */
int berth_options_register(spank_t sp, const char *prefix, spank_opt_cb_f callback);

/* Remove Slurm's copies of all options by UNSET, a function of spank.h. */
void berth_options_remove(spank_t sp, const char *prefix,
                          spank_err_t (*unset)(spank_t sp, const char *name));

/* The name that Slurm gives the environment variable of an option, for the plugin
 * `berth` (_opt_env_name() in Slurm's spank.c), into NAME of SIZE bytes. */
void berth_options_variable(const char *prefix, int option, char *name, size_t size);

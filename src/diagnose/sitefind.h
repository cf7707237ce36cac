/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "site/site.h"

/* The settings of the plugin on this host, for the command berth, which does not get
 * the words behind berth.so from Slurm. */

/* The path of berth.yaml: config= in plugstack.conf, which is beside slurm.conf or
 * named there (SLURM_CONF of the environment ENV, which ends in NULL, or the usual
 * places). NULL in *RET_PATH, which the caller frees: no config=, or the files cannot
 * be read; then it is BERTH_SITE_FILE. Returns 0, or -1 with the sentence in ERR with
 * which the plugin refuses those words. */
int berth_site_find(char *const *env, char **ret_path, struct berth_err *err);

/* option_prefix= of the same line; "" where it says none. The rest as above. */
int berth_site_prefix(char *const *env, char **ret_prefix, struct berth_err *err);

/* Find the file, and read it as berth_site_read() does. */
int berth_site_read_here(char *const *env, struct berth_site *ret,
                         struct berth_err *err);

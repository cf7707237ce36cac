/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "site/settings.h"
#include "site/site.h"

/* Read the words after berth.so in this host's plugstack.conf, for the command berth,
 * which does not get them from Slurm. plugstack.conf is beside slurm.conf or named
 * there; slurm.conf is SLURM_CONF of the environment ENV, which ends in NULL, or at one
 * of the usual places. Files that cannot be read say nothing: then, as where no word
 * says it, `option_prefix` is "" and `config` NULL, which means BERTH_SITE_FILE.
 * Returns 0, or -1 with the sentence with which the plugin refuses those words in ERR.
 * In each case the caller owns *RET. */
int berth_site_settings(char *const *env, struct berth_settings *ret,
                        struct berth_err *err);

/* Read the berth.yaml of those settings as berth_site_read() does. */
int berth_site_read_here(char *const *env, struct berth_site *ret,
                         struct berth_err *err);

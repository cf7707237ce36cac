/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "cli/host.h"
#include "site/settings.h"
#include "site/site.h"

/* Read the words after berth.so in plugstack.conf of HOST, for the command berth, which
 * does not get them from Slurm. Of several lines with berth.so the last one counts.
 * Files that cannot be read say nothing: then all of *RET is NULL, which for `config`
 * means BERTH_SITE_FILE. Returns 0, or -1 with the sentence with which the plugin
 * refuses those words in ERR. In each case the caller owns *RET. */
int berth_site_settings(const struct berth_host *host, struct berth_settings *ret,
                        struct berth_err *err);

/* Read the berth.yaml of those settings, with ENV as the environment of this host, as
 * berth_site_read() does. */
int berth_site_read_here(char *const *env, struct berth_site *ret,
                         struct berth_err *err);

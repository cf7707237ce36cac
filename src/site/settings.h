/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/* The settings behind berth.so in plugstack.conf, as KEY=VALUE words; all other
 * settings are in berth.yaml (site/site.h):
 *
 *     option_prefix=PREFIX   every option is --PREFIX...; default none
 *     config=PATH            where berth.yaml is; default BERTH_SITE_FILE */
struct berth_settings {
    char *option_prefix; /* "" when not said */
    char *config;        /* NULL when not said */
};

/* Read the words of plugstack.conf (spank.h: the ac and av of every callback). On
 * success the caller owns *RET. Returns 0, or -1 with a sentence in ERR; then *RET
 * still has every value that was right, so that option names do not change because
 * another word is wrong. */
int berth_settings_read(int count, char *const *words, struct berth_settings *ret,
                        struct berth_err *err);

void berth_settings_fini(struct berth_settings *settings);

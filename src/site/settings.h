/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/* The KEY=VALUE words after berth.so in plugstack.conf; all other settings are in
 * berth.yaml (site/site.h):
 *
 *     option_prefix=PREFIX   every option is --PREFIX...; default none
 *     config=PATH            where berth.yaml is; default BERTH_SITE_FILE */
struct berth_settings {
    char *option_prefix; /* "": not set */
    char *config;        /* NULL: not set */
};

/* Reads the COUNT words of plugstack.conf (spank.h: the ac and av of each callback).
 * The caller owns *RET (berth_settings_fini), also after -1, which comes with a
 * sentence in ERR about the first wrong word: *RET then has all right values, so that a
 * wrong word does not change the names of options. */
int berth_settings_read(int count, char *const *words, struct berth_settings *ret,
                        struct berth_err *err);

void berth_settings_fini(struct berth_settings *settings);

#define BERTH_SETTINGS __attribute__((cleanup(berth_settings_fini)))

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/strvec.h"

/* plugstack.conf(5) as a list of its lines. */
enum berth_plugstack_kind {
    BERTH_PLUGSTACK_REQUIRED,
    BERTH_PLUGSTACK_OPTIONAL,
    BERTH_PLUGSTACK_INCLUDE,
    BERTH_PLUGSTACK_WRONG, /* a line that Slurm cannot read */
};

struct berth_plugstack_line {
    enum berth_plugstack_kind kind;
    char *place;               /* FILE:LINE */
    bool is_berth;             /* the plugin is berth.so */
    char *path;                /* of the plugin, or the pattern of an include (glob(7));
                                  NULL: none */
    struct berth_strvec words; /* the arguments of the plugin; of a line that Slurm
                                  cannot read, all words */
};

/* A value struct: start with `= {0}`, end with berth_plugstack_fini(). */
struct berth_plugstack {
    struct berth_plugstack_line *items; /* without comments and empty lines */
    size_t count, room;
};

/* Appends the lines of TEXT, which is overwritten, to RET; FILE is where TEXT is from.
 * Does not read included files. Returns 0, or -1 out of memory. */
int berth_plugstack_read(const char *file, char *text, struct berth_plugstack *ret);

void berth_plugstack_fini(struct berth_plugstack *stack);

/* The KEY=VALUE arguments after berth.so in plugstack.conf; all other settings are in
 * berth.yaml (site/site.h):
 *
 *     option_prefix=PREFIX   every option is --PREFIX...; default none
 *     config=PATH            where berth.yaml is; default BERTH_SITE_FILE */
struct berth_settings {
    char *option_prefix; /* "": not set */
    char *config;        /* NULL: not set */
};

/* Reads the COUNT ARGUMENTS of plugstack.conf (spank.h: the ac and av of each
 * callback). The caller owns *RET (berth_settings_fini), also after -1, which comes
 * with a sentence in ERR about the first wrong argument: *RET then has all right
 * values, so that a wrong argument does not change the names of options. */
int berth_settings_read(int count, char *const *arguments, struct berth_settings *ret,
                        struct berth_err *err);

void berth_settings_fini(struct berth_settings *settings);

#define BERTH_SETTINGS __attribute__((cleanup(berth_settings_fini)))

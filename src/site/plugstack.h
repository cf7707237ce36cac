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
    int number;
    bool is_berth;             /* the plugin is berth.so */
    char *path;                /* of the plugin, or the pattern of an include (glob(7));
                                  NULL: none */
    struct berth_strvec words; /* the arguments of the plugin */
};

struct berth_plugstack {
    struct berth_plugstack_line *items; /* without comments and empty lines */
    size_t count, room;
};

/* Reads TEXT; does not read included files. On success the caller owns *RET
 * (berth_plugstack_fini). Returns 0, or -1 out of memory. */
int berth_plugstack_read(const char *text, struct berth_plugstack *ret,
                         struct berth_err *err);

void berth_plugstack_fini(struct berth_plugstack *stack);

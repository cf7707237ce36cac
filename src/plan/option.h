/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_PLAN_OPTION_H
#define BERTH_PLAN_OPTION_H

#include <stdbool.h>

#include "plan/request.h"

/* One option, declared once: Slurm's registration, the wire form, `--help`, the man
 * page test and the messages all read this table. */
struct berth_option {
    const char *name;     /* without the leading -- and without the site's prefix */
    const char *argument; /* what --help calls the value; NULL: takes none; [...]: may
                             be left out */
    const char *help;     /* one line for `srun --help` */
};

/* Indexed by enum berth_option_id. */
extern const struct berth_option berth_options[BERTH_OPTION_COUNT];

/* May the value be left out? */
bool berth_option_is_optional(const struct berth_option *option);

/* What both sides say where the site has raw_args=deny. */
#define BERTH_OPTION_ARGS_DENIED                                                       \
    "--container-args: this site does not allow it; leave it out"

/* Write the options that the sentence names as the site calls them: with PREFIX. */
void berth_option_spell(const char *prefix, struct berth_err *err);

#endif

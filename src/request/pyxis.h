/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/* Options of pyxis that berth does not have. A script with
 * such an option gets a message that says what to write, and not Slurm's "unrecognized
 * option". */
struct berth_pyxis_option {
    const char *name;
    const char *argument; /* as in struct berth_option */
    const char *instead;  /* what is wrong; what would be right. NULL: berth does
                             the same without the option */
};

enum { BERTH_PYXIS_COUNT = 6 };

extern const struct berth_pyxis_option berth_pyxis_options[BERTH_PYXIS_COUNT];

/* Checks OPTION, which the user has given. Returns 0 if berth does the same anyway, or
 * -1 with a sentence in ERR that says what to write instead. */
int berth_pyxis_check(const struct berth_pyxis_option *option, struct berth_err *err);

/* The same for the option NAME; 0 for another name. */
int berth_pyxis_check_name(const char *name, struct berth_err *err);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/* Options of pyxis that berth does not have. Scripts with such an option get a message
 * that says what to write, and not Slurm's "unrecognized option". */
struct berth_pyxis_option {
    const char *name;
    const char *argument; /* as in struct berth_option */
    const char *instead;  /* what is wrong; what would be right. NULL: berth does
                             the same without the option */
};

enum { BERTH_PYXIS_COUNT = 6 };

extern const struct berth_pyxis_option berth_pyxis_options[BERTH_PYXIS_COUNT];

/* The text of `--help` for OPTION, a constant. */
const char *berth_pyxis_help(const struct berth_pyxis_option *option);

/* Checks OPTION, which the user has given. Returns 0 if berth does the same anyway, or
 * -1 with a sentence in ERR that says what to write instead. */
int berth_pyxis_check(const struct berth_pyxis_option *option, struct berth_err *err);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "request/request.h"

/* What the field of an option is. That decides how the option is kept, merged,
 * compared, freed and sent. */
enum berth_option_kind {
    BERTH_KIND_TEXT,   /* char *: one value, NULL when not said */
    BERTH_KIND_LIST,   /* struct berth_strvec: each value adds to it */
    BERTH_KIND_SWITCH, /* enum berth_choice: the option says one of the two */
};

struct berth_option;

/* The value of an option, as somebody wrote it. */
struct berth_written {
    const struct berth_option *option;
    const char *value; /* NULL: none, where it may be left out */
    const char *base;  /* the directory of relative paths; NULL: there are none */
};

/* One option, declared once: Slurm's registration, the command line of berth, its
 * variable, the request, what is sent to the nodes, `--help`, the completion, the man
 * page test and the messages all read this table. */
struct berth_option {
    const char *name;     /* without the leading -- and without the site's prefix */
    const char *argument; /* what `berth --help` calls the value; NULL: takes none;
                             [...]: may be left out */
    const char *help;     /* one line for `srun --help` */
    enum berth_option_kind kind;
    size_t field;           /* its offset in struct berth_request */
    enum berth_choice says; /* of a switch */
    /* Check the value and append it to RET in full form: one of a text, any number of a
     * list. NULL: a switch. Returns 0, or -1 with a sentence in ERR; ask for RET's
     * `failed`. */
    int (*parse)(const struct berth_written *written, struct berth_strvec *ret,
                 struct berth_err *err);
    const char *column; /* what `srun --help` calls the value, short enough that Slurm
                           leaves the help on the same line; NULL: as ARGUMENT */
    const char *noun;   /* what messages call a value that is one of the words of
                           ARGUMENT; NULL: it is not */
};

/* Indexed by enum berth_option_id. */
extern const struct berth_option berth_options[BERTH_OPTION_COUNT];

/* The option called NAME; BERTH_OPTION_COUNT: none is. */
enum berth_option_id berth_option_find(const char *name);

/* The switch that says SAYS of the member at FIELD; each has one for yes and for no. */
const struct berth_option *berth_option_switch(size_t field, enum berth_choice says);

/* May the value be left out? */
bool berth_option_is_optional(const struct berth_option *option);

/* What both sides say where the site has raw_args=deny. */
#define BERTH_OPTION_ARGS_DENIED                                                       \
    "--container-args: this site does not allow it; leave it out"

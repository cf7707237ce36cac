/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "request/request.h"

/* The kind of the field of an option in struct berth_request, by which berth merges,
 * compares, frees and sends the option. */
enum berth_option_kind {
    BERTH_KIND_TEXT,   /* char *: one value; NULL: unsaid */
    BERTH_KIND_LIST,   /* struct berth_strvec: values accumulate */
    BERTH_KIND_SWITCH, /* enum berth_choice: the option sets yes, or it sets no */
};

struct berth_option;

/* The value of an option as a user or a site wrote it. */
struct berth_written {
    const struct berth_option *option;
    const char *value; /* NULL: left out, where that is allowed */
    const char *base;  /* the directory of relative paths; NULL: they are errors */
};

/* One option, declared once. Slurm's registration, the command line of berth, the
 * variables, the request, the wire, `--help`, the completion, the messages and the test
 * of the manual page read the table. */
struct berth_option {
    const char *name;     /* without -- and the site's prefix */
    const char *argument; /* the value in `berth --help`; NULL: the option has none;
                             [...]: it may be left out */
    const char *help;     /* one line for `srun --help` */
    enum berth_option_kind kind;
    size_t field;           /* its offset in struct berth_request */
    enum berth_choice says; /* what a switch sets */
    /* Parses the value and appends it to RET in full form: one string for a text, any
     * number for a list. NULL for a switch. Returns 0, or -1 with a sentence in ERR;
     * the caller checks RET's `failed`. */
    int (*parse)(const struct berth_written *written, struct berth_strvec *ret,
                 struct berth_err *err);
    const char *noun;    /* what messages call the value, which is one of the words
                            of ARGUMENT; NULL: any other kind of value */
    const char *name_of; /* what it may be besides; NULL: nothing */
    bool (*takes)(const char *word); /* is WORD such a name? */
    const char *instead; /* of what is no option of berth: what is wrong; what would be
                            right. NULL: berth does the same without it */
};

/* The number of options of pyxis that berth does not have, and of old names of options.
 * A script with one of these gets a message that says what to write, and not Slurm's
 * "unrecognized option". */
enum {
    BERTH_PYXIS_COUNT = 4,
    BERTH_OPTIONS_ALL = BERTH_OPTION_COUNT + BERTH_PYXIS_COUNT
};

/* Indexed by enum berth_option_id; after them those of pyxis, which have a name, an
 * argument, a help and `instead`. */
extern const struct berth_option berth_options[BERTH_OPTIONS_ALL];

/* The option NAME, without -- and prefix; BERTH_OPTION_COUNT: there is none. */
enum berth_option_id berth_option_find(const char *name);

/* The name of the option that NAME may mean: container-NAME, or the nearest one; NULL:
 * each differs by more than MOST letters (base/suggest.h). */
const char *berth_option_near(const char *name, size_t most);

/* The option that sets the field at offset FIELD, a switch, to SAYS (yes or no). Each
 * such field has both. */
const struct berth_option *berth_option_switch(size_t field, enum berth_choice says);

/* Does the option have a value that may be left out? */
bool berth_option_is_optional(const struct berth_option *option);

/* The `has_arg` of the option, for getopt_long(3) and for spank.h. */
int berth_option_has_arg(const struct berth_option *option);

/* The message of srun and of the nodes for raw_args: none. */
#define BERTH_OPTION_ARGS_DENIED                                                       \
    "--container-args: this site does not allow it; leave it out"

/* Replaces in the sentence of ERR each of our options, --NAME, by --PREFIXNAME, as the
 * site calls the option. PREFIX "" changes nothing. */
void berth_spell_options(const char *prefix, struct berth_err *err);

/* Checks OPTION, one of pyxis that the user has given. Returns 0 if berth does the same
 * anyway, or -1 with a sentence in ERR that says what to write instead. */
int berth_pyxis_check(const struct berth_option *option, struct berth_err *err);

/* The same for the option NAME; 0 for another name. */
int berth_pyxis_check_name(const char *name, struct berth_err *err);

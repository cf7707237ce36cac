/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_CONF_SCHEMA_H
#define BERTH_CONF_SCHEMA_H

#include <stddef.h>

#include "base/err.h"
#include "base/strvec.h"
#include "conf/site.h"

/* Every key of berth.yaml, once: reading, `berth check`, the manual page and the
 * shipped file go by this table. */

enum berth_shape {
    BERTH_SHAPE_VALUE,          /* char * */
    BERTH_SHAPE_LIST,           /* struct berth_strvec */
    BERTH_SHAPE_PAIRS,          /* NAME: VALUE; struct berth_strvec of both in turn */
    BERTH_SHAPE_CHOICE,         /* unsigned int, the place in `words` */
    BERTH_SHAPE_CHOICE_OR_LIST, /* the same, or one more than the last for `list` */
    BERTH_SHAPE_SECONDS,        /* unsigned int */
    BERTH_SHAPE_FLAG,           /* bool */
    BERTH_SHAPE_RULES,          /* of struct berth_site */
};

struct berth_key {
    const char *path;     /* SECTION.KEY, or KEY */
    const char *fallback; /* as it is written; of a list [] */
    const char *help;
    enum berth_shape shape;
    int (*check)(const char *text, struct berth_err *err); /* one value (values.h) */
    const char *const *words; /* of a choice, ended by NULL */
    size_t field;             /* its offset in struct berth_site */
    size_t list;              /* of BERTH_SHAPE_CHOICE_OR_LIST */
    size_t said;              /* a bool that tells that it was; 0: none */
};

/* Ended by a path of NULL. */
extern const struct berth_key berth_keys[];

/* Read the SIZE bytes of a file that messages call FILE over the defaults. Appends a
 * sentence `FILE:LINE: KEY: ...` to FAULTS for each fault; *RET has what was right, and
 * the caller owns it. Returns 0, also with faults, or -1 out of memory. */
int berth_schema_read(const char *file, const char *bytes, size_t size,
                      struct berth_site *ret, struct berth_strvec *faults,
                      struct berth_err *err);

#endif

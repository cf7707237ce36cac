/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/strvec.h"

/* A library as the loader found it. */
struct berth_closure_item {
    char *soname; /* as others need it, without directories */
    char *path;   /* NULL: not found */
};

/* The answer of a loader to LD_TRACE_LOADED_OBJECTS=1 or to --list. */
struct berth_closure {
    struct berth_closure_item *items; /* in the order of loading, without the vDSO */
    size_t count, room;
    struct berth_strvec lacks; /* the path of a library, a version that it should define
                                  (GLIBC_2.38), the path of who needs it, ... */
    struct berth_strvec undefined; /* if the loader was asked to look up symbols: one
                                      that no file defines ("f", "f, version V1"), the
                                      path of who needs it, ... */
    bool is_static;                /* the program is static: nothing to load */
    struct berth_strvec said;      /* the loader's other messages, at most 32 */
};

/* Reads the COUNT bytes at TEXT, which a loader (glibc 2.27 to 2.43, musl) wrote to
 * stdout and stderr, in any order. glibc's exit status is 0 even if a library or a
 * version is missing. LD_TRACE_LOADED_OBJECTS=1 lists every library that is missing,
 * --list only the first. Returns 0 with *RET_CLOSURE, which the caller owns
 * (berth_closure_fini); -1 with a sentence in ERR if TEXT is not from a loader, or out
 * of memory. */
int berth_closure_parse(const char *text, size_t count,
                        struct berth_closure *ret_closure, struct berth_err *err);

/* The library that others need as SONAME; NULL: there is none. */
const struct berth_closure_item *berth_closure_find(const struct berth_closure *closure,
                                                    const char *soname);

void berth_closure_fini(struct berth_closure *closure);

#define BERTH_CLOSURE __attribute__((cleanup(berth_closure_fini)))

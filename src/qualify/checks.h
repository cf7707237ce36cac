/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"

/* What berth qualify has found out: a row for each check. Decides nothing. */
enum berth_check_result {
    BERTH_CHECK_OK,
    BERTH_CHECK_NOTE, /* worth knowing */
    BERTH_CHECK_SKIP, /* not tried; the text says why */
    BERTH_CHECK_FAIL,
};

enum { BERTH_FIGURES = 8 };

/* What was measured in one way: in microseconds, MB/s or seconds. */
struct berth_figure {
    char way[128];
    double value;   /* 0: not measured */
    bool is_judged; /* a value that is far from native is worth a note */
};

/* The same in several ways, of which the first is native. */
struct berth_figures {
    const char *unit; /* static */
    bool is_more_better;
    bool is_sum; /* what is added to native counts, and not the ratio */
    size_t count;
    struct berth_figure items[BERTH_FIGURES];
};

struct berth_check {
    enum berth_check_result result;
    char *about;      /* what was tried */
    char *text;       /* what came of it */
    char *command;    /* that a shell takes, to try it again; NULL: there is none */
    char network[64]; /* that a ring has used, "tcp/eth0", "cxi"; "": not known */
    struct berth_figures figures; /* `count` 0: nothing is measured here */
    bool stays; /* what berth_checks_settle() does not change: a step that hangs */
};

/* A value struct: start with {0}. */
struct berth_checks {
    struct berth_check *items;
    size_t count, room;
    struct berth_buf untried; /* why nobody knows whether MPI works; no text: tried */
    bool has_one_node;        /* so nothing was tried between nodes */
};

/* Append a row; all texts are copied. COMMAND may be NULL. */
int berth_checks_add(struct berth_checks *checks, enum berth_check_result result,
                     const char *about, const char *text, const char *command,
                     struct berth_err *err);

/* The checks from FIRST on are one thing, tried with each type of srun --mpi. If one of
 * them is ok, or has an answer that is not a failure, those that failed are notes. */
void berth_checks_settle(struct berth_checks *checks, size_t first);

size_t berth_checks_count(const struct berth_checks *checks,
                          enum berth_check_result result);

/* "ok", "note", "skip", "fail" */
const char *berth_check_word(enum berth_check_result result);

/* Append ROW as a line, with its command in a second one if it failed or IS_VERBOSE. */
void berth_check_put(const struct berth_check *row, bool is_verbose,
                     struct berth_buf *ret);

/* Append "12 checks: 9 ok, 2 notes, 1 skipped, 0 failed". */
void berth_checks_sum(const struct berth_checks *checks, struct berth_buf *ret);

/* Is the site qualified: no check failed, and MPI was tried? Appends the sentence that
 * says so, or why not. */
bool berth_checks_verdict(const struct berth_checks *checks, struct berth_buf *ret);

/* Append the rows as the array "checks" of an open object. */
void berth_checks_json(const struct berth_checks *checks, struct berth_json *json);

void berth_checks_fini(struct berth_checks *checks);

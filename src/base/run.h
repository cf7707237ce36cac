/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/deadline.h"
#include "base/err.h"

/* The first DIRECTORY/NAME that is a program, of the absolute directories in PATH (a
 * list like PATH, may be NULL) and then of the usual ones; NULL: there is none. The
 * caller frees it. */
char *berth_run_find(const char *name, const char *path);

/* Is PATH a file that may be run? */
bool berth_run_is_program(const char *path);

/* A helper program, such as the loader or patchelf, and what it may cost. */
struct berth_run {
    const char *const *argv; /* ended by NULL; argv[0] is a path */
    const char *const *env;  /* ended by NULL */
    int seconds;             /* that it may take */
    size_t most;             /* bytes that it may say, in all */
    /* What is left of the seconds; NULL: all. */
    struct berth_deadline *deadline;
};

/* What it said and how it ended. */
struct berth_ran {
    struct berth_buf out;
    struct berth_buf err;
    int status; /* as waitpid(2) tells it */
};

/* Run it, without input, and wait for its end. A program that fails is an answer
 * (status), not an error. Returns 0 with *RET_RAN, which the caller owns
 * (berth_ran_fini); -1 with a sentence in ERR when it cannot be started, takes too long
 * or says too much; it and its children are then killed. */
int berth_run(const struct berth_run *run, struct berth_ran *ret_ran,
              struct berth_err *err);

void berth_ran_fini(struct berth_ran *ran);

/* Waits until the child PID has ended, where it is one (above 0). Returns its status as
 * waitpid(2) tells it; 0: that is not known. */
int berth_run_wait(pid_t pid);

/* The last line of what was said on standard error, or of all; "" when nothing was.
 * Ends the text of RAN there. */
const char *berth_ran_last_line(struct berth_ran *ran);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/deadline.h"
#include "base/err.h"

/* Returns the first DIRECTORY/NAME that is a program, of the absolute directories in
 * PATH (a list like the variable PATH; may be NULL), then of the usual ones, and last
 * beside berth's own programs; NULL: there is none. The caller frees the result. */
char *berth_run_find(const char *name, const char *path);

/* Is PATH a regular file that the caller may execute? */
bool berth_run_is_program(const char *path);

/* A helper program, such as the loader or patchelf, and its limits. */
struct berth_run {
    const char *const *argv;         /* ended by NULL; argv[0] is a path */
    const char *const *env;          /* ended by NULL */
    int seconds;                     /* the longest time that it may run */
    size_t most;                     /* bytes of output and errors together */
    struct berth_deadline *deadline; /* instead of `seconds` from now; NULL: none */
    void (*tick)(void *data);        /* called twice a second or more; NULL: nothing */
    void *data;                      /* for that */
    bool gets_signals;               /* in the caller's process group: Ctrl-C ends it */
};

/* The output of a program, and how it ended. */
struct berth_ran {
    struct berth_buf out;
    struct berth_buf err;
    int status; /* as from waitpid(2) */
};

/* Run the program, without input, and wait for its end. A program that fails is an
 * answer (`status`), not an error. Returns 0 with *RET_RAN, which the caller owns
 * (berth_ran_fini); -1 with a sentence in ERR if the program cannot be started, or has
 * passed a limit and was killed with its children. */
int berth_run(const struct berth_run *run, struct berth_ran *ret_ran,
              struct berth_err *err);

void berth_ran_fini(struct berth_ran *ran);

#define BERTH_RAN __attribute__((cleanup(berth_ran_fini)))

/* If PID is above 0, waits until this child has ended. Returns its status as from
 * waitpid(2), or 0 if that is not known. */
int berth_run_wait(pid_t pid);

/* Returns why the program has failed: the signal that ended it, or the last line of its
 * standard error, or of its output if there are no errors; "" if there is neither. Cuts
 * blanks and newlines off the end of that text. */
const char *berth_ran_last_line(struct berth_ran *ran);

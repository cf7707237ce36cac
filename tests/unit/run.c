/* SPDX-License-Identifier: Apache-2.0 */
/* A helper program ends, by itself or when it passes a limit, and leaves no process. */

#include "base/run.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

#include "unit.h"

static const char *const env[] = {"PATH=/usr/bin:/bin", "TEA=green", NULL};

/* Run `sh -c SCRIPT` with these limits. */
static int run_script(const char *script, int seconds, size_t most,
                      struct berth_ran *ret_ran, struct berth_err *err)
{
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    const struct berth_run run = {
        .argv = argv, .env = env, .seconds = seconds, .most = most};

    return berth_run(&run, ret_ran, err);
}

static const struct {
    const char *script;
    const char *out;
    const char *err;
    int status; /* of exit; a signal is negative */
    const char *last;
} scripts[] = {
    {"echo one; echo two >&2", "one\n", "two\n", 0, "two"},
    {"echo one; echo two; exit 3", "one\ntwo\n", "", 3, "two"},
    {"exit 0", "", "", 0, ""},
    {"echo \"$TEA\"; cat", "green\n", "", 0, "green"},
    {"kill -9 $$", "", "", -SIGKILL, "Killed"},
    {"printf 'no end'; printf 'of a line \n\n' >&2", "no end", "of a line \n\n", 0,
     "of a line"},
    {"exec >&- 2>&-; sleep 0.1; exit 4", "", "", 4, ""},
};

/* Seconds: more than any busy machine needs. */
enum { ENOUGH = 600 };

TEST_ROWS(output_and_status_are_returned, scripts)
{
    struct berth_ran ran;
    struct berth_err err;
    int status;

    ck_assert_int_eq(run_script(scripts[_i].script, ENOUGH, 1000, &ran, &err), 0);
    ck_assert_str_eq(ran.out.text ? ran.out.text : "", scripts[_i].out);
    ck_assert_str_eq(ran.err.text ? ran.err.text : "", scripts[_i].err);
    status = WIFSIGNALED(ran.status) ? -WTERMSIG(ran.status) : WEXITSTATUS(ran.status);
    ck_assert_int_eq(status, scripts[_i].status);
    ck_assert_str_eq(berth_ran_last_line(&ran), scripts[_i].last);
    berth_ran_fini(&ran);
}

static const struct {
    const char *script;
    int seconds;
    const char *why;
} bad[] = {
    {"sleep 600", 1,
     "'/bin/sh': not done after 1 seconds; check whether this node is overloaded or a "
     "file system hangs"},
    {"exec >&- 2>&-; sleep 600", 1,
     "'/bin/sh': not done after 1 seconds; check whether this node is overloaded or a "
     "file system hangs"},
    {"yes", ENOUGH,
     "'/bin/sh': says more than 1000 bytes; is it the program of that name?"},
};

/* Runs in a child, which must not call the library of the tests. Returns its status. */
static int run_past_a_limit(int i)
{
    struct berth_ran ran;
    struct berth_err err = {0};
    char script[200];

    snprintf(script, sizeof(script), "sleep 500 & %s", bad[i].script);
    if (run_script(script, bad[i].seconds, 1000, &ran, &err) == -1 &&
        strcmp(err.text, bad[i].why) == 0)
        return EXIT_SUCCESS;
    fprintf(stderr, "%s: %s\n", bad[i].script, err.text);
    return EXIT_FAILURE;
}

/* Run all at once, because each takes a second or more. The children of the scripts
 * hold the pipe open, so its end shows that they are killed, too. */
TEST(a_program_past_a_limit_is_killed_with_its_children)
{
    pid_t runners[COUNT(bad)];
    int ends[2];
    char byte;

    ck_assert_int_eq(pipe(ends), 0);
    for (int i = 0; i < COUNT(bad); i++) {
        runners[i] = fork();
        if (runners[i] == 0)
            _exit(run_past_a_limit(i));
    }
    for (int i = 0; i < COUNT(bad); i++)
        ck_assert_int_eq(unit_ended(runners[i]), EXIT_SUCCESS);
    close(ends[1]);
    ck_assert_int_eq(read(ends[0], &byte, 1), 0);
    close(ends[0]);
}

TEST(a_missing_program_is_named)
{
    const char *const argv[] = {"/nowhere/patchelf", NULL};
    const struct berth_run run = {.argv = argv, .env = env, .seconds = 1, .most = 10};
    struct berth_ran ran;
    struct berth_err err;

    ck_assert_int_eq(berth_run(&run, &ran, &err), -1);
    ck_assert_str_eq(err.text,
                     "'/nowhere/patchelf': cannot be started: No such file or "
                     "directory");
}

/* The caller blocks and ignores signals, as a task may. */
TEST(a_program_gets_default_signals)
{
    struct berth_ran ran;
    struct berth_err err;
    sigset_t all, before;

    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    signal(SIGTERM, SIG_IGN);
    ck_assert_int_eq(run_script("kill -TERM $$; exit 1", ENOUGH, 100, &ran, &err), 0);
    signal(SIGTERM, SIG_DFL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    ck_assert(WIFSIGNALED(ran.status) && WTERMSIG(ran.status) == SIGTERM);
    berth_ran_fini(&ran);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the MPI program of berth qualify, in an image and on the host. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "qualify/session.h"
#include "request/uri.h"
#include "running/ask.h"

/* What a shell says of a command that is not there. */
enum { NOT_FOUND = 127 };

/* A registry may be far, and an image large. */
enum { PULL_SECONDS = 3600 };

static int make(struct berth_session *session, const char *image, char **ret_program,
                struct berth_outcome *ret, struct berth_buf *command,
                struct berth_err *err)
{
    BERTH_FREE char *source = NULL, *program = NULL;
    struct berth_trial trial = {.image = image, .mpi = "none", .nodes = 1, .each = 1};

    if (asprintf(&source, "%s/qualify.c", session->directory) < 0 ||
        asprintf(&program, "%s/%s-%zu", session->directory, image ? "image" : "host",
                 session->checks.count) < 0)
        return berth_err_oom(err);
    trial.command[0] = "mpicc";
    trial.command[1] = "-O1";
    trial.command[2] = "-o";
    trial.command[3] = program;
    trial.command[4] = source;
    if (berth_session_run(session, &trial, ret, command, NULL, err) < 0)
        return -1;
    berth_measured_fini(&ret->measured);
    *ret_program = berth_steal(&program);
    return 0;
}

int berth_stage_pull(struct berth_session *session, const char *image, bool *ret_here,
                     struct berth_err *err)
{
    const char *const words[] = {BERTH_ASK_PROGRAM, "pull", image, NULL};
    BERTH_BUF struct berth_buf out = {0}, text = {0}, command = {0}, about = {0};
    int64_t since = berth_clock();
    struct berth_err why = {.text = ""};
    const char *own;

    *ret_here = true;
    if (!berth_uri_is(image))
        return 0;
    *ret_here = berth_session_ask(session, words, PULL_SECONDS, &out, &why) == 0;
    if (session->asked->stop && *session->asked->stop)
        return berth_err_set(err, "interrupted");
    own = strstr(why.text, "berth: ");
    if (*ret_here)
        berth_buf_addf(&text, "it is in the cache of images, after %.1f s",
                       (double)(berth_clock() - since) / 1000);
    else
        berth_buf_puts(&text, own ? own : why.text);
    berth_buf_puts(&command, "berth pull ");
    berth_buf_word(&command, image);
    berth_buf_addf(&about, "pull, %s", berth_session_name(session, image));
    if (about.failed)
        return berth_err_oom(err);
    return berth_session_check(session, *ret_here ? BERTH_CHECK_OK : BERTH_CHECK_FAIL,
                               about.text, &text, &command, err);
}

/* Is there no mpicc? That is what slurmstepd says on the host, and berth of an image.
 */
static bool has_none(const struct berth_outcome *outcome)
{
    const struct berth_witnessed *said = &outcome->witnessed;

    return !outcome->is_late &&
           (strstr(said->sentence, "command 'mpicc' is not on the image's PATH ") ||
            (!*said->sentence && strstr(said->other, "execve(): mpicc: No such file")));
}

/* Is there an mpicc that has no compiler? An image may have it for mpirun alone. */
static bool has_no_compiler(const struct berth_outcome *outcome)
{
    return !outcome->is_late && !*outcome->witnessed.sentence &&
           WIFEXITED(outcome->status) && WEXITSTATUS(outcome->status) == NOT_FOUND;
}

int berth_stage_native(struct berth_session *session, struct berth_err *err)
{
    BERTH_BUF struct berth_buf command = {0}, text = {0};
    BERTH_FREE char *program = NULL;
    struct berth_outcome outcome;
    enum berth_check_result result;

    if (make(session, NULL, &program, &outcome, &command, err) < 0)
        return -1;
    result = berth_trial_ended(&outcome, &text);
    if (result == BERTH_CHECK_OK) {
        berth_buf_puts(&text, "built with the host's mpicc");
        session->program = berth_steal(&program);
    } else if (has_none(&outcome)) {
        berth_buf_fini(&text);
        text = (struct berth_buf){0};
        berth_buf_puts(&text, "the host has no mpicc; a program of an image is tried "
                              "there");
        result = BERTH_CHECK_SKIP;
    } else if (has_no_compiler(&outcome)) {
        berth_buf_puts(&text,
                       "; so the host's mpicc builds nothing, and a program of an "
                       "image is tried there");
        result = BERTH_CHECK_SKIP;
    }
    return berth_session_check(session, result, "program, native", &text, &command,
                               err);
}

/* What MPI has the image of its own? */
static int ask_library(struct berth_session *session, const char *image,
                       const char *program, char library[128], struct berth_err *err)
{
    BERTH_BUF struct berth_buf command = {0};
    const struct berth_trial trial = {.image = image,
                                      .mpi = "none",
                                      .bind = "off",
                                      .nodes = 1,
                                      .each = 1,
                                      .command = {program, "library"}};
    struct berth_outcome outcome;

    if (berth_session_run(session, &trial, &outcome, &command, NULL, err) < 0)
        return -1;
    snprintf(library, 128, "%s", outcome.measured.library);
    berth_measured_fini(&outcome.measured);
    return 0;
}

int berth_stage_build(struct berth_session *session, const char *image,
                      char **ret_program, char library[128], struct berth_err *err)
{
    BERTH_BUF struct berth_buf command = {0}, text = {0}, about = {0};
    BERTH_FREE char *program = NULL;
    struct berth_outcome outcome;
    enum berth_check_result result;

    *library = '\0';
    *ret_program = NULL;
    if (make(session, image, &program, &outcome, &command, err) < 0)
        return -1;
    result = berth_trial_ended(&outcome, &text);
    if (result == BERTH_CHECK_OK) {
        if (ask_library(session, image, program, library, err) < 0)
            return -1;
        berth_buf_addf(&text, "built with the image's mpicc: %s",
                       *library ? library : "an MPI that does not say its name");
        *ret_program = berth_steal(&program);
    } else if (has_none(&outcome)) {
        result = BERTH_CHECK_SKIP;
        berth_buf_fini(&text);
        text = (struct berth_buf){0};
        berth_buf_puts(&text, "the image has no mpicc, so its MPI is not tried");
        berth_session_untried(session, image,
                              "it has no mpicc; name an image that has (--image)");
    } else if (has_no_compiler(&outcome)) {
        result = BERTH_CHECK_SKIP;
        berth_buf_puts(&text,
                       "; so the image's mpicc builds nothing, and its MPI is not "
                       "tried");
        berth_session_untried(session, image,
                              "its mpicc builds nothing; name another image (--image)");
    }
    if (result != BERTH_CHECK_FAIL && !session->startable)
        session->startable = image;
    berth_buf_addf(&about, "program, %s", berth_session_name(session, image));
    if (about.failed)
        return berth_err_oom(err);
    return berth_session_check(session, result, about.text, &text, &command, err);
}

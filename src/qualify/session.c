/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the steps of berth qualify. */

#include "qualify/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/run.h"
#include "base/text.h"
#include "running/job.h"

extern char **environ;

/* Steps of ours end well before: what a step may say in its time, and the time that
 * srun gets to end a step that hangs. */
enum { MOST = 64 << 20, GRACE = 10 };

static int run(struct berth_session *session, const char *const *words, int seconds,
               struct berth_ran *ret, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec env = {0};
    struct berth_run how = {.argv = words,
                            .seconds = seconds,
                            .most = MOST,
                            .grace = GRACE,
                            .stop = session->asked->stop};

    berth_job_environment(environ, &env);
    if (env.failed)
        return berth_err_oom(err);
    how.env = (const char *const *)env.items;
    return berth_run(&how, ret, err);
}

char *berth_session_find(const char *program, struct berth_err *err)
{
    char *found = berth_run_find(program, getenv("PATH"));

    if (!found)
        berth_err_set(err,
                      "%s is not on the PATH; log in to a host where Slurm's commands "
                      "are",
                      program);
    return found;
}

int berth_session_ask(struct berth_session *session, const char *const *words,
                      int seconds, struct berth_buf *ret_out, struct berth_err *err)
{
    struct berth_ran ran;
    int result;

    if (run(session, words, seconds, &ran, err) < 0)
        return -1;
    berth_buf_puts(ret_out, ran.out.text ? ran.out.text : "");
    berth_buf_puts(ret_out, ran.err.text ? ran.err.text : "");
    result = ran.status
                 ? berth_err_set(err, "'%s': %s", words[0], berth_ran_last_line(&ran))
                 : 0;
    berth_ran_fini(&ran);
    return ret_out->failed ? berth_err_oom(err) : result;
}

int berth_session_run(struct berth_session *session, const struct berth_trial *trial,
                      struct berth_outcome *ret_outcome, struct berth_buf *ret_command,
                      struct berth_buf *ret_out, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec words = {0};
    struct berth_outcome outcome = {.seconds = session->asked->seconds};
    struct berth_ran ran = {.status = 0};
    struct berth_err why;
    int64_t since = berth_clock();
    int result;

    berth_trial_words(trial, &session->site, &words);
    if (words.failed)
        return berth_err_oom(err);
    berth_trial_shell(&words, &session->site, ret_command);
    result = run(session, (const char *const *)words.items, outcome.seconds, &ran, err);
    outcome.ms = berth_clock() - since;
    outcome.is_late = result < 0 && outcome.ms >= outcome.seconds * 1000;
    if (session->asked->stop && *session->asked->stop)
        result = berth_err_set(err, "interrupted");
    else if (outcome.is_late)
        result = 0;
    if (result == 0) {
        outcome.status = ran.status;
        berth_witnessed_read(ran.out.text, &outcome.witnessed);
        berth_witnessed_read(ran.err.text, &outcome.witnessed);
        if (berth_measured_read(ran.out.text, &outcome.measured, &why) < 0) {
            outcome.status = -1;
            snprintf(outcome.witnessed.sentence, sizeof(outcome.witnessed.sentence),
                     "%.500s", why.text);
        }
        if (ret_out)
            berth_buf_puts(ret_out, ran.out.text ? ran.out.text : "");
        *ret_outcome = outcome;
    }
    berth_ran_fini(&ran);
    return result;
}

const char *berth_session_name(const struct berth_session *session, const char *image)
{
    const struct berth_strvec *images = &session->asked->images;
    const char *name = berth_text_base(image);
    size_t alike = 0;

    for (size_t i = 0; i < images->count; i++)
        alike += strcmp(berth_text_base(images->items[i]), name) == 0;
    return alike > 1 ? image : name;
}

void berth_session_untried(struct berth_session *session, const char *image,
                           const char *why)
{
    if (!session->checks.untried.used)
        berth_buf_addf(&session->checks.untried, "MPI was not tried in %s: %s",
                       berth_session_name(session, image), why);
}

int berth_session_check(struct berth_session *session, enum berth_check_result result,
                        const char *about, const struct berth_buf *text,
                        const struct berth_buf *command, struct berth_err *err)
{
    if ((text && text->failed) || (command && command->failed))
        return berth_err_oom(err);
    return berth_checks_add(&session->checks, result, about,
                            text && text->text ? text->text : "",
                            command ? command->text : NULL, err);
}

void berth_session_tell(struct berth_session *session)
{
    for (; session->told < session->checks.count; session->told++)
        session->asked->tell(&session->checks.items[session->told],
                             session->asked->told);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* How fast are two ranks, and the start of a step: the host and an image side by side.
 */

#include <stdio.h>

#include "qualify/session.h"

enum { TURNS = 5, QUICK = 3, WAYS = 3 };

/* The same, time and again. */
struct series {
    struct berth_trial trial;
    bool is_tried;
    struct berth_buf command;
    struct berth_buf fault; /* no text: all is well */
    size_t count;
    double latency[TURNS], bandwidth[TURNS], seconds[TURNS];
};

static int run_once(struct berth_session *session, struct series *series,
                    struct berth_err *err)
{
    BERTH_BUF struct berth_buf command = {0};
    struct berth_outcome outcome;

    if (berth_session_run(session, &series->trial, &outcome, &command, NULL, err) < 0)
        return -1;
    if (!series->command.used) {
        series->command = command;
        command = (struct berth_buf){0};
    }
    series->is_tried = berth_trial_ended(&outcome, &series->fault) == BERTH_CHECK_OK;
    if (series->is_tried) {
        series->latency[series->count] = outcome.measured.latency;
        series->bandwidth[series->count] = outcome.measured.bandwidth;
        series->seconds[series->count++] = (double)outcome.ms / 1000;
    }
    if (series->is_tried && *series->trial.command[0] == '/' &&
        !(outcome.measured.latency > 0 && outcome.measured.bandwidth > 0)) {
        berth_buf_puts(&series->fault, "the program has measured nothing");
        series->is_tried = false;
    }
    berth_measured_fini(&outcome.measured);
    return 0;
}

/* One after another, so that a busy minute touches all of them. What fails once is not
 * run again. */
static int run_all(struct berth_session *session, struct series series[WAYS],
                   struct berth_err *err)
{
    int turns = session->asked->is_quick ? QUICK : TURNS;

    for (int turn = 0; turn < turns; turn++)
        for (int i = 0; i < WAYS; i++)
            if (series[i].is_tried && run_once(session, &series[i], err) < 0)
                return -1;
    return 0;
}

/* 0 where there is nothing. */
static double median(double *values, size_t count)
{
    return count ? berth_trial_median(values, count) : 0;
}

/* The one that has failed; NULL: none has. */
static const struct series *find_failed(const struct series series[WAYS])
{
    for (int i = 0; i < WAYS; i++)
        if (series[i].fault.used)
            return &series[i];
    return NULL;
}

/* The command to try again: what has failed, that of the image with the host's MPI, or
 * what there is. */
static const struct berth_buf *find_command(const struct series series[WAYS])
{
    static const int order[WAYS] = {1, 2, 0};
    const struct series *failed = find_failed(series);

    for (int i = 0; !failed && i < WAYS; i++)
        if (series[order[i]].command.used)
            return &series[order[i]].command;
    return failed ? &failed->command : NULL;
}

/* Append a check of what was measured, in TEXT, or of what has failed. */
static int check_series(struct berth_session *session, const struct series series[WAYS],
                        enum berth_check_result result, const char *about,
                        struct berth_buf *text, struct berth_err *err)
{
    const struct series *failed = find_failed(series);

    if (failed)
        berth_buf_addf(text, "%s%s", text->used ? "; " : "", failed->fault.text);
    return berth_session_check(session, failed ? BERTH_CHECK_FAIL : result, about, text,
                               find_command(series), err);
}

static void free_all(struct series series[WAYS])
{
    for (int i = 0; i < WAYS; i++) {
        berth_buf_fini(&series[i].command);
        berth_buf_fini(&series[i].fault);
    }
}

static int check_speeds(struct berth_session *session, struct series series[WAYS],
                        const char *image, unsigned int nodes, struct berth_err *err)
{
    const struct berth_speeds latency = {
        .native = median(series[0].latency, series[0].count),
        .host = median(series[1].latency, series[1].count),
        .own = median(series[2].latency, series[2].count)};
    const struct berth_speeds bandwidth = {
        .native = median(series[0].bandwidth, series[0].count),
        .host = median(series[1].bandwidth, series[1].count),
        .own = median(series[2].bandwidth, series[2].count)};
    BERTH_BUF struct berth_buf small = {0}, large = {0};
    enum berth_check_result result;
    char about[512];

    result = berth_trial_compare(&latency, false, "us", &small);
    snprintf(about, sizeof(about), "latency of 8 B, %s, %s", image,
             nodes == 1 ? "on a node" : "between nodes");
    if (check_series(session, series, result, about, &small, err) < 0)
        return -1;
    result = berth_trial_compare(&bandwidth, true, "MB/s", &large);
    snprintf(about, sizeof(about), "bandwidth of 4 MiB, %s, %s", image,
             nodes == 1 ? "on a node" : "between nodes");
    return check_series(session, series, result, about, &large, err);
}

int berth_stage_speeds(struct berth_session *session, const char *image,
                       const char *program, const struct berth_working *working,
                       struct berth_err *err)
{
    const char *name = image ? berth_session_name(session, image) : "the host";
    int result = 0;

    for (unsigned int nodes = 1; nodes <= 2 && nodes <= session->nodes.count && !result;
         nodes++) {
        const struct berth_trial pair = {.nodes = nodes, .each = 3 - nodes};
        struct series series[WAYS] = {
            {.trial = pair}, {.trial = pair}, {.trial = pair}};

        for (int i = 0; i < WAYS; i++) {
            struct berth_trial *trial = &series[i].trial;

            trial->image = i ? image : NULL;
            trial->command[0] = i ? program : working->program;
            trial->command[1] = "speed";
            trial->mpi = i == 0   ? working->native
                         : i == 1 ? working->host
                                  : working->own;
            trial->bind = i == 0 ? NULL : i == 1 ? working->stack : "hybrid";
            series[i].is_tried = *trial->mpi;
        }
        result = run_all(session, series, err);
        if (result == 0)
            result = check_speeds(session, series, name, nodes, err);
        free_all(series);
        berth_session_tell(session);
    }
    return result;
}

static void put_start(const char *name, struct series *series, struct berth_buf *ret)
{
    if (series->count)
        berth_buf_addf(ret, "%s%s %.2f s", ret->used ? ", " : "", name,
                       berth_trial_median(series->seconds, series->count));
}

static int check_starts(struct berth_session *session, struct series series[WAYS],
                        unsigned int nodes, struct berth_err *err)
{
    BERTH_BUF struct berth_buf text = {0};
    char about[64];

    put_start("on the host", &series[0], &text);
    put_start("in the image", &series[1], &text);
    put_start("in a container that the job keeps", &series[2], &text);
    snprintf(about, sizeof(about), "start of true, %u node%s", nodes,
             nodes == 1 ? "" : "s");
    return check_series(session, series, BERTH_CHECK_OK, about, &text, err);
}

int berth_stage_starts(struct berth_session *session, const char *image,
                       struct berth_err *err)
{
    int result = 0;

    for (unsigned int nodes = 1; nodes <= 2 && nodes <= session->nodes.count && !result;
         nodes++) {
        const struct berth_trial plain = {
            .mpi = "none", .nodes = nodes, .each = 1, .command = {"true"}};
        struct series series[WAYS] = {
            {.trial = plain, .is_tried = true},
            {.trial = plain, .is_tried = image},
            {.trial = plain, .is_tried = image && session->has_extern}};

        series[1].trial.image = series[2].trial.image = image;
        series[2].trial.lifetime = "job";
        result = run_all(session, series, err);
        if (result == 0)
            result = check_starts(session, series, nodes, err);
        free_all(series);
    }
    berth_session_tell(session);
    return result;
}

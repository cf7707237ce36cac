/* SPDX-License-Identifier: Apache-2.0 */
/* How fast are two ranks, and the start of a step: the host and an image side by side.
 */

#include <stdio.h>

#include "qualify/session.h"

enum { TURNS = 5, QUICK = 3 };

/* The ways that are compared; behind them the fabrics of the host. */
enum { NATIVE, HOST, OWN, FABRIC, WAYS = FABRIC + BERTH_FABRICS };

_Static_assert((int)WAYS <= (int)BERTH_FIGURES, "each way has a figure");

/* What is measured in each way. */
enum { LATENCY, BANDWIDTH, SECONDS, KINDS };

static const struct kind {
    const char *name, *unit;
    bool is_more_better, is_sum;
} kinds[KINDS] = {{"latency of 8 B", "us", false, false},
                  {"bandwidth of 4 MiB", "MB/s", true, false},
                  {"start of true", "s", false, true}};

/* The same, time and again. */
struct series {
    struct berth_trial trial;
    char way[128]; /* for people */
    bool is_judged, is_tried;
    bool is_unnamed; /* as in struct berth_fabric */
    struct berth_buf command;
    struct berth_buf fault; /* no text: all is well */
    size_t count;
    double values[KINDS][TURNS];
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
        series->values[LATENCY][series->count] = outcome.measured.latency;
        series->values[BANDWIDTH][series->count] = outcome.measured.bandwidth;
        series->values[SECONDS][series->count++] = (double)outcome.ms / 1000;
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

/* The medians of KIND. */
static struct berth_figures figures_of(struct series series[WAYS], int kind)
{
    struct berth_figures figures = {.unit = kinds[kind].unit,
                                    .is_more_better = kinds[kind].is_more_better,
                                    .is_sum = kinds[kind].is_sum,
                                    .count = WAYS};

    for (int i = 0; i < WAYS; i++) {
        struct berth_figure *figure = &figures.items[i];

        snprintf(figure->way, sizeof(figure->way), "%s", series[i].way);
        figure->is_judged = series[i].is_judged;
        if (series[i].count)
            figure->value = berth_trial_median(series[i].values[kind], series[i].count);
    }
    return figures;
}

/* The one that has failed; NULL: none has. One whose failure is a note comes last. */
static const struct series *find_failed(const struct series series[WAYS])
{
    const struct series *found = NULL;

    for (int i = 0; i < WAYS; i++)
        if (series[i].fault.used &&
            (!found || (found->is_unnamed && !series[i].is_unnamed)))
            found = &series[i];
    return found;
}

/* The command to try again: what has failed, that of the image with the host's MPI, or
 * what there is. */
static const struct berth_buf *find_command(const struct series series[WAYS])
{
    static const int order[] = {HOST, OWN, NATIVE};
    const struct series *failed = find_failed(series);

    for (size_t i = 0; !failed && i < sizeof(order) / sizeof(*order); i++)
        if (series[order[i]].command.used)
            return &series[order[i]].command;
    return failed ? &failed->command : NULL;
}

/* Append a check of KIND, ABOUT something, by SERIES, or of what has failed. */
static int check_kind(struct berth_session *session, struct series series[WAYS],
                      int kind, const char *about, struct berth_err *err)
{
    const struct berth_figures figures = figures_of(series, kind);
    const struct series *failed = find_failed(series);
    BERTH_BUF struct berth_buf text = {0}, name = {0};
    enum berth_check_result result = berth_trial_compare(&figures, &text);

    if (failed) {
        berth_buf_addf(&text, "; %s: %s", failed->way, failed->fault.text);
        result = failed->is_unnamed ? BERTH_CHECK_NOTE : BERTH_CHECK_FAIL;
    }
    berth_buf_addf(&name, "%s, %s", kinds[kind].name, about);
    if (name.failed)
        return berth_err_oom(err);
    if (berth_session_check(session, result, name.text, &text, find_command(series),
                            err) < 0)
        return -1;
    session->checks.items[session->checks.count - 1].figures = figures;
    return 0;
}

static void free_all(struct series series[WAYS])
{
    for (int i = 0; i < WAYS; i++) {
        berth_buf_fini(&series[i].command);
        berth_buf_fini(&series[i].fault);
    }
}

/* Two ranks run TRIAL, called WAY, with the type that was FOUND to work. */
static void set_pair(struct series *series, const struct berth_trial *trial,
                     const char *way, const struct berth_found *found)
{
    series->trial = *trial;
    series->trial.command[1] = "speed";
    series->trial.mpi = found->type;
    series->is_tried = *found->type;
    snprintf(series->way, sizeof(series->way), "%s", way);
}

/* SHAPE says on how many nodes. */
static void set_pairs(const struct berth_trial *shape, const char *image,
                      const char *program, const struct berth_working *working,
                      struct series series[WAYS])
{
    struct berth_trial trial = *shape;

    trial.command[0] = working->program;
    set_pair(&series[NATIVE], &trial, "native", &working->native);
    trial.image = image;
    trial.command[0] = program;
    trial.bind = working->stack;
    set_pair(&series[HOST], &trial, "the host's MPI in the image", &working->host);
    trial.bind = "hybrid";
    set_pair(&series[OWN], &trial, "the image's own", &working->own);
    series[HOST].is_judged = true;
}

/* The image's own MPI on each fabric of the host that it has used. */
static void set_fabrics(const struct berth_working *working, struct series series[WAYS])
{
    for (size_t i = 0; i < working->fabric_count; i++) {
        const struct berth_fabric *fabric = &working->fabrics[i];
        struct berth_trial trial = series[OWN].trial;
        char way[128];

        trial.fabric = fabric->name;
        trial.settings = fabric->settings;
        snprintf(way, sizeof(way), "the image's own on the host's %s%s%s%s",
                 fabric->name, *fabric->found.network ? " (" : "",
                 fabric->found.network, *fabric->found.network ? ")" : "");
        set_pair(&series[FABRIC + i], &trial, way, &fabric->found);
        series[FABRIC + i].is_judged = true;
        series[FABRIC + i].is_unnamed = fabric->is_unnamed;
    }
}

int berth_stage_speeds(struct berth_session *session, const char *image,
                       const char *program, const struct berth_working *working,
                       struct berth_err *err)
{
    const char *name = image ? berth_session_name(session, image) : "the host";
    unsigned int most = session->nodes.count < 2 ? 1 : 2;
    int result = 0;

    for (unsigned int nodes = 1; nodes <= most && !result; nodes++) {
        const struct berth_trial shape = {.nodes = nodes, .each = 3 - nodes};
        struct series series[WAYS] = {{.count = 0}};
        char about[512];

        set_pairs(&shape, image, program, working, series);
        if (nodes == most)
            set_fabrics(working, series);
        snprintf(about, sizeof(about), "%s, %s", name,
                 nodes == 1 ? "on a node" : "between nodes");
        result = run_all(session, series, err);
        if (result == 0)
            result = check_kind(session, series, LATENCY, about, err);
        if (result == 0)
            result = check_kind(session, series, BANDWIDTH, about, err);
        free_all(series);
        berth_session_tell(session);
    }
    return result;
}

static int measure_starts(struct berth_session *session, const char *image,
                          unsigned int nodes, struct berth_err *err)
{
    const struct berth_trial plain = {
        .mpi = "none", .nodes = nodes, .each = 1, .command = {"true"}};
    struct series series[WAYS] = {
        {.trial = plain, .way = "on the host", .is_tried = true},
        {.trial = plain, .way = "in the image", .is_tried = image},
        {.trial = plain,
         .way = "in a container that the job keeps",
         .is_tried = image && session->has_extern}};
    char about[64];
    int result;

    series[1].trial.image = series[2].trial.image = image;
    series[2].trial.lifetime = "job";
    snprintf(about, sizeof(about), "%u node%s", nodes, nodes == 1 ? "" : "s");
    result = run_all(session, series, err);
    if (result == 0)
        result = check_kind(session, series, SECONDS, about, err);
    free_all(series);
    berth_session_tell(session);
    return result;
}

int berth_stage_starts(struct berth_session *session, const char *image,
                       struct berth_err *err)
{
    unsigned int all = (unsigned int)session->nodes.count;
    int result = 0;

    for (unsigned int nodes = 1; nodes < all && !result; nodes *= 2)
        result = measure_starts(session, image, nodes, err);
    return result ? result : measure_starts(session, image, all, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What Slurm and the nodes say of themselves. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "qualify/session.h"
#include "running/ask.h"

/* What ls(1) says of a file that is not there. srun has other numbers for its own. */
enum { LS_NOT_FOUND = 2 };

/* Run WORDS, of which the first is found on the PATH. */
static int ask_slurm(struct berth_session *session, const char *const *words,
                     struct berth_buf *ret, struct berth_err *err)
{
    BERTH_FREE char *program = berth_session_find(words[0], err);
    const char *found[5] = {program};

    if (!program)
        return -1;
    for (int i = 1; i < 4 && words[i]; i++)
        found[i] = words[i];
    return berth_session_ask(session, found, session->asked->seconds, ret, err);
}

static int find_nodes(struct berth_session *session, struct berth_err *err)
{
    BERTH_BUF struct berth_buf out = {0};
    const char *list = session->asked->node_list ? session->asked->node_list
                                                 : getenv("SLURM_JOB_NODELIST");
    const char *const words[] = {"scontrol", "show", "hostnames", list, NULL};

    if (!list)
        return berth_err_set(err,
                             "the job has no SLURM_JOB_NODELIST; run berth qualify "
                             "in a job of one component, or outside of jobs");
    if (ask_slurm(session, words, &out, err) < 0)
        return -1;
    berth_lines_read(out.text, &session->nodes);
    if (session->nodes.failed)
        return berth_err_oom(err);
    return session->nodes.count ? 0
                                : berth_err_set(err, "-w: '%s' names no node", list);
}

/* The types that the user has named, or all. */
static int find_types(struct berth_session *session, struct berth_err *err)
{
    BERTH_BUF struct berth_buf out = {0}, list = {0};
    BERTH_STRVEC struct berth_strvec all = {0};
    const char *const words[] = {"srun", "--mpi=list", NULL};
    const struct berth_strvec *asked = &session->asked->types;

    if (ask_slurm(session, words, &out, err) < 0)
        return -1;
    berth_types_read(out.text, &all);
    berth_strvec_join(&all, ", ", &list);
    for (size_t i = 0; i < asked->count; i++)
        if (!berth_strvec_has(&all, asked->items[i]) &&
            !berth_types_have_version(out.text ? out.text : "", asked->items[i]))
            return berth_err_set(err, "--mpi: srun has no type '%s'; it has %s",
                                 asked->items[i], list.text ? list.text : "none");
    berth_strvec_append(&session->types, asked->count ? asked : &all);
    return session->types.failed || all.failed || list.failed ? berth_err_oom(err) : 0;
}

static int find_extern(struct berth_session *session, struct berth_err *err)
{
    BERTH_BUF struct berth_buf out = {0}, text = {0};
    const char *const words[] = {"scontrol", "show", "config", NULL};

    if (ask_slurm(session, words, &out, err) < 0)
        return -1;
    session->has_extern = berth_config_has_extern(out.text);
    berth_buf_puts(&text, session->has_extern
                              ? "jobs have one, so --container-lifetime=job works"
                              : "jobs have none (PrologFlags=Contain), so "
                                "--container-lifetime=job does not work");
    return berth_session_check(session,
                               session->has_extern ? BERTH_CHECK_OK : BERTH_CHECK_NOTE,
                               "extern step", &text, NULL, err);
}

/* Run PROGRAM WORD OPTION on NODE alone. */
static int ask_node(struct berth_session *session, const char *node,
                    const char *program, const char *word, const char *option,
                    struct berth_buf *ret_out, struct berth_buf *ret_command,
                    struct berth_outcome *ret, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec one = {0};
    const struct berth_trial trial = {
        .mpi = "none", .nodes = 1, .each = 1, .command = {program, word, option}};
    const struct berth_strvec *all = session->site.nodes;
    int result;

    berth_strvec_push(&one, node);
    if (one.failed)
        return berth_err_oom(err);
    session->site.nodes = &one;
    result = berth_session_run(session, &trial, ret, ret_command, ret_out, err);
    session->site.nodes = all;
    if (result == 0)
        berth_measured_fini(&ret->measured);
    return result;
}

static int judge_node(struct berth_session *session, const char *node,
                      struct berth_strvec *briefs, struct berth_err *err)
{
    BERTH_BUF struct berth_buf out = {0}, command = {0}, text = {0}, about = {0};
    struct berth_outcome outcome;
    enum berth_check_result result;

    if (ask_node(session, node, BERTH_ASK_PROGRAM, "doctor", "--brief", &out, &command,
                 &outcome, err) < 0)
        return -1;
    berth_strvec_push(briefs, out.text ? out.text : "");
    if (out.text && strstr(out.text, "berth="))
        result = berth_brief_judge(out.text, &text);
    else if ((result = berth_trial_ended(&outcome, &text)) == BERTH_CHECK_OK)
        result = berth_brief_judge("", &text);
    berth_buf_addf(&about, "node %s", node);
    if (about.failed || briefs->failed)
        return berth_err_oom(err);
    return berth_session_check(session, result, about.text, &text, &command, err);
}

static int compare_nodes(struct berth_session *session,
                         const struct berth_strvec *briefs, struct berth_err *err)
{
    BERTH_BUF struct berth_buf text = {0};
    enum berth_check_result result = BERTH_CHECK_SKIP;

    session->checks.has_one_node = session->nodes.count < 2;
    if (session->checks.has_one_node)
        berth_buf_puts(&text, "there is one node, so nothing is tried between nodes; "
                              "-N2 takes two");
    else
        result = berth_brief_compare(&session->nodes, briefs, &text);
    return berth_session_check(session, result, "nodes", &text, NULL, err);
}

int berth_stage_directory(struct berth_session *session, bool *ret_seen,
                          struct berth_err *err)
{
    BERTH_FREE char *source = NULL;

    *ret_seen = true;
    if (asprintf(&source, "%s/qualify.c", session->directory) < 0)
        return berth_err_oom(err);
    for (size_t i = 0; i < 2 && i < session->nodes.count && *ret_seen; i++) {
        BERTH_BUF struct berth_buf out = {0}, command = {0}, text = {0};
        struct berth_outcome outcome;

        if (ask_node(session, session->nodes.items[i], "ls", source, NULL, &out,
                     &command, &outcome, err) < 0)
            return -1;
        if (outcome.is_late || !WIFEXITED(outcome.status) ||
            WEXITSTATUS(outcome.status) != LS_NOT_FOUND)
            continue;
        *ret_seen = false;
        berth_buf_addf(&text,
                       "node %s does not see '%s' (%s); name one that all nodes see "
                       "(--directory)",
                       session->nodes.items[i], session->directory,
                       outcome.witnessed.other);
        if (berth_session_check(session, BERTH_CHECK_FAIL, "directory", &text, &command,
                                err) < 0)
            return -1;
    }
    return 0;
}

int berth_stage_slurm(struct berth_session *session, struct berth_err *err)
{
    return find_nodes(session, err) < 0 || find_types(session, err) < 0 ? -1 : 0;
}

/* What the first node has for images. */
static int find_offers(struct berth_session *session, struct berth_err *err)
{
    BERTH_BUF struct berth_buf out = {0}, command = {0}, text = {0}, about = {0};
    const char *node = session->nodes.items[0];
    struct berth_outcome outcome;
    enum berth_check_result result;

    if (ask_node(session, node, BERTH_ASK_PROGRAM, "profiles", NULL, &out, &command,
                 &outcome, err) < 0)
        return -1;
    session->offer_count = berth_offers_read(out.text ? out.text : "", session->offers);
    result = berth_trial_ended(&outcome, &text);
    if (result == BERTH_CHECK_OK)
        result = berth_offers_judge(session->offers, session->offer_count, &text);
    berth_buf_addf(&about, "profiles of %s", node);
    if (about.failed)
        return berth_err_oom(err);
    return berth_session_check(session, result, about.text, &text, &command, err);
}

int berth_stage_nodes(struct berth_session *session, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec briefs = {0};

    for (size_t i = 0; i < session->nodes.count; i++)
        if (judge_node(session, session->nodes.items[i], &briefs, err) < 0)
            return -1;
    if (compare_nodes(session, &briefs, err) < 0 || find_extern(session, err) < 0 ||
        find_offers(session, err) < 0)
        return -1;
    berth_session_tell(session);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* berth-mpi: puts the host's MPI into a container that runs (--mpi-bind). Started by
 * the supervisor, as the user, once for a step on a node. Finds the host's MPI stacks,
 * and stages the one that is asked for by its child, which enters the container; or
 * lets it do at once what an earlier step did. Where the host's MPI is in the container
 * then, it stays and watches whether the ranks load it. */

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "request/wire.h"
#include "stage/offered.h"
#include "probe/profilesread.h"
#include "probe/siteread.h"
#include "stage/build.h"
#include "base/detach.h"
#include "bind/inside.h"
#include "step/handover.h"
#include "step/memo.h"
#include "bind/memokey.h"
#include "step/names.h"
#include "step/program.h"
#include "bind/replay.h"
#include "step/namespaces.h"
#include "stage/stage.h"
#include "stage/expire.h"
#include "step/channel.h"
#include "launch/notice.h"
#include "bind/witness.h"

extern char **environ;

/* What the supervisor wrote. */
struct order {
    struct berth_handover task;
    struct berth_handover container;
    struct berth_request request;
    struct berth_terms terms;
    struct berth_strvec programs; /* of several; none: that of the command */
    int channel;                  /* to the supervisor */
    int64_t end;                  /* on berth_clock(): a copy is to be there by then */
    int said;                     /* standard error of a task; -1: none */
    struct berth_witness *witness;
};

/* The supervisor ends us when its time is over, which is to be said before that. */
static int64_t find_end(const char *seconds)
{
    long left = strtol(seconds, NULL, 10);

    return berth_clock() + (left - 1 - left / 8) * 1000;
}

/* Each a line of TEXT, which this changes. */
static void split_programs(char *text, struct berth_strvec *ret)
{
    while (text && *text)
        berth_strvec_push(ret, strsep(&text, "\n"));
}

static int read_order(int argc, char **argv, struct order *order, struct berth_err *err)
{
    if (argc != 4)
        return berth_err_set(err, "started by hand; it is for berth-task only");
    order->channel = atoi(argv[3]);
    if (berth_handover_read(atoi(argv[1]), &order->task) < 0 ||
        berth_handover_read(atoi(argv[2]), &order->container) < 0 ||
        order->task.words.count != 11 || order->container.words.count < 1)
        return berth_err_set(err,
                             "started with wrong words; it is for berth-task only");
    order->end = find_end(order->task.words.items[6]);
    order->said = atoi(order->task.words.items[7]);
    split_programs(order->task.words.items[8], &order->programs);
    if (order->programs.failed)
        return berth_err_oom(err);
    if (berth_terms_get(order->task.words.items[3], &order->terms, err) < 0)
        return -1;
    return berth_wire_get_request(order->task.words.items[1], &order->request, err);
}

/* Stage the stack of number NUMBER, and tell inside where it is. A stack that cannot be
 * staged is told too: inside decides what that means. */
static int stage(const struct order *order, const struct berth_stacks *stacks,
                 const char *number, int inside, struct berth_memo *memo,
                 struct berth_err *err)
{
    size_t at = strtoul(number, NULL, 10);
    int64_t least = berth_clock() + 1000;
    struct berth_staged staged;
    BERTH_FREE char *answer = NULL;
    struct berth_err why;

    if (at >= stacks->count)
        return berth_err_set(err, "there is no stack %zu", at);
    if (berth_stage_get(&stacks->items[at], order->end > least ? order->end : least,
                        &staged, &why) < 0)
        return berth_channel_send(inside, BERTH_CHANNEL_REFUSED, why.text, err);
    berth_stage_touch(staged.path);
    berth_memo_add(memo, BERTH_MEMO_STAGE, staged.path, staged.mounted);
    if (asprintf(&answer, "%s\n%s", staged.path, staged.mounted) < 0)
        answer = NULL;
    berth_staged_fini(&staged);
    return answer ? berth_channel_send(inside, BERTH_CHANNEL_STAGED, answer, err)
                  : berth_err_oom(err);
}

/* What inside tells, for later steps. Returns whether it is for them alone. */
static bool remember(struct berth_memo *memo, enum berth_channel_kind kind, char *text)
{
    static const struct {
        enum berth_channel_kind told;
        enum berth_memo_kind kind;
        bool alone;
    } kinds[] = {
        {BERTH_CHANNEL_PROGRAM, BERTH_MEMO_PROGRAM, true},
        {BERTH_CHANNEL_FILE, BERTH_MEMO_FILE, true},
        {BERTH_CHANNEL_TARGET, BERTH_MEMO_TARGET, true},
        {BERTH_CHANNEL_FOUND, BERTH_MEMO_FOUND, true},
        {BERTH_CHANNEL_OUT, BERTH_MEMO_OUT, true},
        {BERTH_CHANNEL_BIND, BERTH_MEMO_BIND, false},
        {BERTH_CHANNEL_SET, BERTH_MEMO_SET, false},
        {BERTH_CHANNEL_NOTE, BERTH_MEMO_NOTE, false},
        {BERTH_CHANNEL_NODE_NOTE, BERTH_MEMO_NODE_NOTE, false},
        {BERTH_CHANNEL_WITNESS, BERTH_MEMO_WITNESS, true},
    };
    char *second = strchr(text, '\n');

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (kinds[i].told != kind)
            continue;
        if (second)
            *second = '\0';
        berth_memo_add(memo, kinds[i].kind, text, second ? second + 1 : "");
        if (second)
            *second = '\n';
        return kinds[i].alone;
    }
    return false;
}

/* Do what inside asks, hand on what it tells, and remember it. Returns the last kind of
 * message: DONE, REFUSED or AGAIN; -1 with a sentence in ERR. */
static int serve(const struct order *order, const struct berth_stacks *stacks,
                 int inside, struct berth_memo *memo, bool *ret_keep,
                 struct berth_err *err)
{
    char text[BERTH_CHANNEL_SIZE];
    enum berth_channel_kind kind;
    int result;

    do {
        if (berth_channel_receive(inside, NULL, &kind, text, err) < 0)
            return -1;
        result = 0;
        if (kind == BERTH_CHANNEL_STAGE)
            result = stage(order, stacks, text, inside, memo, err);
        else if (kind == BERTH_CHANNEL_KEEP)
            *ret_keep = true;
        else if (kind != BERTH_CHANNEL_AGAIN && !remember(memo, kind, text))
            result = berth_channel_send(order->channel, kind, text, err);
        if (result < 0)
            return -1;
    } while (kind != BERTH_CHANNEL_DONE && kind != BERTH_CHANNEL_REFUSED &&
             kind != BERTH_CHANNEL_AGAIN);
    return (int)kind;
}

/* In a process of its own: as MEMO says (NULL: by looking) put the host's MPI into the
 * container. TELLS takes what inside tells. Returns as serve(). */
static int go_inside(const struct order *order, struct berth_inside *inside,
                     const struct berth_memo *memo, struct berth_memo *tells,
                     bool *ret_keep, struct berth_err *err)
{
    int ends[2];
    int result;
    pid_t child;

    if (berth_channel_open(ends, err) < 0)
        return -1;
    child = fork();
    if (child == 0) {
        close(ends[0]);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        environ = order->container.environment.items;
        inside->channel = ends[1];
        if (memo)
            berth_replay_run(inside, memo);
        else
            berth_inside_run(inside);
        _exit(EXIT_SUCCESS);
    }
    close(ends[1]);
    if (child < 0)
        result = berth_err_set(err, "cannot start a process: %s", strerror(errno));
    else
        result = serve(order, inside->stacks, ends[0], tells, ret_keep, err);
    close(ends[0]);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    return result;
}

/* Is what MEMO says of the host still so? */
static bool holds(const struct berth_memo *memo, const struct berth_stage_root *user)
{
    const struct berth_stage_root site = berth_stage_site();

    for (size_t i = 0; i < memo->count; i++) {
        const struct berth_memo_record *it = &memo->records[i];
        char identity[BERTH_MEMO_IDENTITY_SIZE];

        if (it->kind == BERTH_MEMO_STAGE && !berth_stage_holds(&site, it->first) &&
            !berth_stage_holds(user, it->first))
            return false;
        if (it->kind == BERTH_MEMO_STAGE)
            berth_stage_touch(it->first);
        if (it->kind != BERTH_MEMO_HOST)
            continue;
        berth_memo_identity(it->first, true, identity);
        if (strcmp(identity, it->second) != 0)
            return false;
    }
    return true;
}

/* STAGE is the name of one, a blank, and why its MPI finds no other rank; "": none. */
static void take_alone(struct berth_witness *witness, const char *stage)
{
    const char *blank = strchr(stage, ' ');

    if (!blank)
        return;
    witness->alone = strndup(stage, (size_t)(blank - stage));
    witness->because = strdup(blank + 1);
}

/* What there is to be witnessed, of what was told and staged. */
static void take_witness(const struct order *order, const struct berth_memo *memo)
{
    for (size_t i = 0; i < memo->count; i++) {
        const struct berth_memo_record *it = &memo->records[i];

        if (it->kind == BERTH_MEMO_STAGE)
            berth_strvec_push(&order->witness->stages, it->first);
        if (it->kind == BERTH_MEMO_WITNESS && !order->witness->host) {
            order->witness->host = strdup(it->first);
            take_alone(order->witness, it->second);
        }
    }
}

/* Do what an earlier step did. Returns 1 when that is done; 0 when there is none, or it
 * is another now; -1 with a sentence in ERR. */
static int replay(const struct order *order, struct berth_inside *inside,
                  const struct berth_stage_root *user, const char *key,
                  struct berth_err *err)
{
    struct berth_memo memo;
    struct berth_memo ignored = {0};
    bool keep;
    int result = BERTH_CHANNEL_AGAIN;

    if (!berth_memo_load(user, key, &memo))
        return 0;
    if (holds(&memo, user))
        result = go_inside(order, inside, &memo, &ignored, &keep, err);
    if (result == BERTH_CHANNEL_DONE)
        take_witness(order, &memo);
    if (result == BERTH_CHANNEL_AGAIN)
        berth_memo_forget(user, key);
    berth_memo_fini(&memo);
    berth_memo_fini(&ignored);
    return result < 0 ? -1 : result != BERTH_CHANNEL_AGAIN;
}

static void remember_host(struct berth_memo *memo, const struct berth_stacks *stacks)
{
    for (size_t i = 0; i < stacks->count; i++)
        for (size_t j = 0; j < stacks->items[i].count; j++) {
            const char *path = stacks->items[i].libraries[j].path;
            char identity[BERTH_MEMO_IDENTITY_SIZE];

            berth_memo_identity(path, true, identity);
            berth_memo_add(memo, BERTH_MEMO_HOST, path, identity);
        }
}

/* Look, and keep what was seen under KEY (NULL: not). */
static int look(const struct order *order, struct berth_inside *inside,
                const struct berth_stage_root *user, const char *key,
                struct berth_err *err)
{
    struct berth_stacks stacks = {0};
    struct berth_memo memo = {0};
    bool keep = false;
    int result;

    if (berth_request_mpi_may_host(&order->request) &&
        berth_stacks_find(inside->profiles, inside->task, &stacks, err) < 0)
        return -1;
    berth_offered_sort(&stacks, &order->terms.order);
    inside->stacks = &stacks;
    remember_host(&memo, &stacks);
    result = go_inside(order, inside, NULL, &memo, &keep, err);
    if (result == BERTH_CHANNEL_DONE)
        take_witness(order, &memo);
    if (result == BERTH_CHANNEL_DONE && keep && key)
        berth_memo_save(user, key, &memo);
    berth_memo_fini(&memo);
    return result < 0 ? -1 : 0;
}

static void use_root(const struct berth_stage_root *root, int fd)
{
    if (fd < 0)
        return;
    berth_expire_use(root, fd);
}

/* The supervisor has the descriptors open until the step has ended here. */
static void use_roots(const struct order *order, const struct berth_stage_root *user)
{
    const struct berth_stage_root site = berth_stage_site();
    int fds[2];

    if (sscanf(order->task.words.items[4], "%d,%d", &fds[0], &fds[1]) != 2)
        return;
    use_root(user, fds[0]);
    use_root(&site, fds[1]);
}

/* What the tasks of the step can reach. */
static void find_reach(const struct order *order, struct berth_inside *inside)
{
    const char *nodes = berth_environ_value(inside->task, "SLURM_STEP_NUM_NODES");

    inside->reach.apart = (unsigned int)atoi(order->task.words.items[5]);
    inside->reach.nodes = nodes ? (unsigned int)atoi(nodes) : 1;
    berth_namespaces_look(inside->holder, &inside->reach);
}

/* A library of PMIx that does not see the files of its server ends in MPI_Init, unless
 * it is to ask the server for all of it. */
static int tell_pmix(const struct order *order, const struct berth_inside *inside,
                     char *const *container, struct berth_err *err)
{
    if (!berth_namespaces_hide_pmix(inside->holder, inside->task) ||
        berth_environ_value(container, "PMIX_MCA_gds"))
        return 0;
    return berth_channel_send(order->channel, BERTH_CHANNEL_SET, "PMIX_MCA_gds=hash",
                              err);
}

/* Do it with what the site and berth know of MPI stacks. */
static int run_with(const struct order *order, const struct berth_profile *profiles,
                    struct berth_err *err)
{
    static char *const nothing[] = {NULL};
    char *const *task = order->task.environment.items;
    char *const *container = order->container.environment.items;
    const char *directory = order->task.words.items[2];
    char path[BERTH_STAGE_USER_SIZE];
    const struct berth_stage_root user = berth_stage_user(path);
    BERTH_BUF struct berth_buf key = {0};
    struct berth_inside inside = {
        .holder = atoi(order->task.words.items[0]),
        .request = &order->request,
        .terms = &order->terms,
        .profiles = profiles,
        .command = order->container.words.items,
        .programs = order->programs.count ? &order->programs : NULL,
        .directory = *directory ? directory : NULL,
        .task = task ? task : nothing,
    };
    bool has_key;
    int done;

    if (tell_pmix(order, &inside, container, err) < 0)
        return -1;
    find_reach(order, &inside);
    use_roots(order, &user);
    /* A memo says what was done for one program, and not what was seen, nor who reaches
     * whom. */
    has_key = !inside.programs && !berth_request_explained(&order->request) &&
              berth_mpi_check_reach(&inside.reach, ~0U, "", NULL) == 0 &&
              berth_memokey_write(&inside, container ? container : nothing, &key);
    done = has_key ? replay(order, &inside, &user, key.text, err) : 0;

    if (done == 0)
        done = look(order, &inside, &user, has_key ? key.text : NULL, err);
    return done < 0 ? -1 : 0;
}

static int run(const struct order *order, struct berth_err *err)
{
    BERTH_PROFILE_SET struct berth_profile_set set = {0};

    if (berth_request_mpi_may_host(&order->request) &&
        berth_profiles_read(&order->terms, berth_site_owner(), &set, err) < 0)
        return -1;
    return run_with(order, set.items, err);
}

/* With the end of the supervisor's socket as standard input, a task's standard error as
 * our own, and nothing else. */
static void witness(const struct order *order)
{
    struct berth_witness *it = order->witness;
    char *const *task = order->task.environment.items;
    unsigned int apart = (unsigned int)atoi(order->task.words.items[5]);
    const char *node = berth_environ_value(task, BERTH_TASK_NODE);
    int tasks, parent;

    if (!it->host || order->said < 0 || berth_request_explained(&order->request) ||
        sscanf(order->task.words.items[7], "%*d,%d,%d", &tasks, &parent) != 2)
        return;
    it->node = node ? node : "this node";
    it->must = berth_request_mpi_must_host(&order->request);
    it->verbose = berth_notice_is_verbose(task);
    it->step = order->task.words.items[9];
    it->record = order->task.words.items[10];
    it->environment = task;
    it->request = &order->request;
    it->tasks = (unsigned int)tasks;
    it->holder = apart ? 0 : atoi(order->task.words.items[0]);
    it->parent = parent;
    dup2(order->channel, STDIN_FILENO);
    dup2(order->said, STDERR_FILENO);
    berth_close_from(STDERR_FILENO + 1);
    berth_witness_run(it);
}

int main(int argc, char **argv)
{
    static struct berth_witness to_witness;
    static struct order order = {.channel = -1, .said = -1, .witness = &to_witness};
    struct berth_err err;

    if (berth_program_tells("berth-mpi", argc, argv))
        return EXIT_SUCCESS;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    berth_hide_from(STDERR_FILENO + 1); /* from what we start, of the image too */
    umask(022);                         /* the user's is for the user's files */
    if (read_order(argc, argv, &order, &err) == 0 && run(&order, &err) == 0) {
        witness(&order);
        berth_witness_fini(&to_witness);
        return EXIT_SUCCESS;
    }
    if (order.channel >= 0)
        berth_channel_send(order.channel, BERTH_CHANNEL_REFUSED, err.text, NULL);
    else
        fprintf(stderr, "berth-mpi: %s\n", err.text);
    return EXIT_FAILURE;
}

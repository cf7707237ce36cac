/* SPDX-License-Identifier: Apache-2.0 */
/* berth-mpi: puts the host's MPI into a running container (--mpi-bind). The supervisor
 * starts it as the user, once for a step on a node. It finds the host's MPI stacks, and
 * starts a child that enters the container and asks for stages of them. If the child
 * has mounted the host's MPI, berth-mpi stays as the witness of the ranks. */

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <signal.h>
#include <unistd.h>

#include "base/child.h"
#include "base/cleanup.h"
#include "base/environ.h"
#include "base/run.h"
#include "base/text.h"
#include "plan/fallback.h"
#include "plan/order.h"
#include "plan/binding.h"
#include "bindover/hostlibs.h"
#include "site/fabric.h"
#include "site/profilesread.h"
#include "site/siteread.h"
#include "base/detach.h"
#include "bindover/decide.h"
#include "bindover/kind.h"
#include "bindover/offered.h"
#include "ipc/handover.h"
#include "bindover/factcache.h"
#include "ipc/loadmark.h"
#include "container/program.h"
#include "bindover/singleton.h"
#include "container/namespaces.h"
#include "bindover/stage.h"
#include "ipc/channel.h"
#include "run/notice.h"
#include "bindover/witness.h"

extern char **environ;

/* The inputs, which the supervisor wrote, and the witness. */
struct work {
    struct berth_order order;
    struct berth_handover task;
    struct berth_handover container;
    int channel; /* to the supervisor */
    int64_t end; /* on berth_clock(): a stage must be complete by then */
    struct berth_witness *witness;
};

/* Reads what the descriptors in the arguments have: that of the task, with the order,
 * and that of the container, with the command. False: they are not the supervisor's. */
static bool read_arguments(int argc, char **argv, struct work *work)
{
    if (argc != 4)
        return false;
    work->channel = atoi(argv[3]);
    if (berth_handover_read(atoi(argv[1]), &work->task) < 0)
        return false;
    if (berth_handover_read(atoi(argv[2]), &work->container) < 0)
        return false;
    return work->task.words.count == 1 && work->container.words.count >= 1;
}

static int read_work(int argc, char **argv, struct work *work, struct berth_err *err)
{
    int seconds;

    if (!read_arguments(argc, argv, work))
        return berth_err_set(
            err, "wrong arguments; only berth-start can start this program");
    if (berth_order_get(work->task.words.items[0], &work->order, err) < 0)
        return -1;
    /* The supervisor ends berth-mpi then, and a refusal must come before that. */
    seconds = work->order.mpi.seconds;
    work->end = berth_clock() + (int64_t)(seconds - 1 - seconds / 8) * 1000;
    return 0;
}

/* Let the witness watch for STACK, which is staged at PATH: ranks use it that have
 * mapped the library that proves the use of its kind. */
static void watch_for(const struct work *work, const struct berth_decide *with,
                      const struct berth_stack *stack, const char *path)
{
    struct berth_strvec *stages = &work->witness->stages;

    switch (berth_kind_of(stack->profile)->proof) {
    case BERTH_PROOF_MARK:
        berth_strvec_push_pair(stages, path, BERTH_MARK_LIBRARY);
        break;
    case BERTH_PROOF_FIRST:
        berth_strvec_push_pair(stages, path, berth_stack_first(stack));
        break;
    case BERTH_PROOF_ANY:
        if (!berth_hostlibs_are_watched(with))
            break;
        for (size_t i = 0; i < stack->count; i++)
            berth_strvec_push_pair(stages, path, stack->libraries[i].soname);
        break;
    }
}

/* Stage the stack of number NUMBER, and send its place to the child at INSIDE. If it
 * cannot be staged, send the reason: the child decides what that means. */
static int stage(const struct work *work, const struct berth_decide *with,
                 const char *number, int inside, struct berth_err *err)
{
    size_t at = strtoul(number, NULL, 10);
    const struct berth_stack *stack = &with->stacks->items[at];
    int64_t end = berth_clock() + 1000; /* a copy that exists is found, however late */
    struct berth_staged staged;
    BERTH_FREE char *answer = NULL;
    struct berth_err why;

    if (at >= with->stacks->count)
        return berth_err_damaged(err, "stack %zu", at);
    if (end < work->end)
        end = work->end;
    if (berth_stage_get(stack, end, &staged, &why) < 0) {
        berth_channel_refuse(inside, &why);
        return 0;
    }

    watch_for(work, with, stack, staged.path);
    if (asprintf(&answer, "%s\n%s", staged.path, staged.mounted) < 0)
        answer = NULL;
    berth_staged_fini(&staged);
    if (!answer)
        return berth_err_oom(err);
    return berth_channel_send(inside, BERTH_CHANNEL_STAGED, answer, err);
}

/* The child's answer is complete: keep it for the witness, and hand it on. */
static int answer(const struct work *work, const struct berth_buf *bytes,
                  struct berth_err *err)
{
    if (berth_binding_get(bytes->text, bytes->used, &work->witness->binding, err) < 0 ||
        berth_channel_send_result(work->channel, bytes, err) < 0)
        return -1;
    return berth_channel_send(work->channel, BERTH_CHANNEL_DONE, "", err);
}

/* Serve the child in the container until it has answered or has refused. */
static int serve(const struct work *work, const struct berth_decide *with, int inside,
                 struct berth_err *err)
{
    struct berth_channel_message message;
    BERTH_BUF struct berth_buf bytes = {0};

    for (;;) {
        if (berth_channel_receive(inside, NULL, &message, err) < 0)
            return -1;
        switch (message.kind) {
        case BERTH_CHANNEL_STAGE:
            if (stage(work, with, message.text, inside, err) < 0)
                return -1;
            break;
        case BERTH_CHANNEL_RESULT:
            berth_buf_add(&bytes, message.text, message.count);
            break;
        case BERTH_CHANNEL_DONE:
            return answer(work, &bytes, err);
        default:
            return berth_channel_refusal(&message, err);
        }
    }
}

/* In the child of start_inside(). */
static int run_inside(int channel, void *data)
{
    struct berth_decide *inside = data;

    inside->channel = channel;
    berth_decide_run(inside);
    return EXIT_SUCCESS;
}

/* Start the child that puts the host's MPI into the container, and serve it. */
static int start_inside(const struct work *work, struct berth_decide *inside,
                        struct berth_err *err)
{
    char **own = environ;
    int channel, result;
    pid_t child;

    environ = work->container.environment.items;
    child = berth_child_with_channel(run_inside, inside, SIGKILL, &channel);
    environ = own;
    if (child < 0)
        return berth_err_spent(err, errno);

    result = serve(work, inside, channel, err);
    close(channel);
    berth_run_wait(child);
    return result;
}

/* The kinds of stacks that REQUEST may use, as bits. */
static unsigned int kinds_of(const struct berth_request *request)
{
    const unsigned int mpi = 1U << BERTH_PROFILE_MPI;
    unsigned int kinds = 0;

    if (berth_request_mpi_may_host(request))
        kinds |= mpi;
    if (berth_request_has_libs(request))
        kinds |= BERTH_KINDS_ALL & ~mpi;
    return kinds;
}

/* Remove from STACKS the libraries that REQUEST may not use. */
static void keep_asked(const struct berth_request *request, struct berth_stacks *stacks)
{
    size_t kept = 0;

    for (size_t i = 0; i < stacks->count; i++) {
        struct berth_stack *stack = &stacks->items[i];
        bool is_mpi = stack->profile->kind == BERTH_PROFILE_MPI;

        if (!is_mpi && !berth_fabric_may_use(stack->profile, request)) {
            berth_stack_fini(stack);
            continue;
        }
        stacks->items[kept] = *stack;
        kept++;
    }
    stacks->count = kept;
}

/* Find the stacks that the request may use, and add those that this node lacks and
 * other nodes may have. */
static int find_stacks(const struct work *work, const struct berth_decide *inside,
                       struct berth_stacks *stacks, struct berth_err *err)
{
    const struct berth_request *request = &work->order.request;
    const unsigned int libraries = 1U << BERTH_PROFILE_LIBRARIES;
    const unsigned int kinds = kinds_of(request);

    if (!kinds)
        return 0;
    if (berth_stacks_find(inside->host_cache, inside->profiles, kinds, inside->task,
                          stacks, err) < 0)
        return -1;
    if (berth_fallback_has_others(request, inside->reach.nodes) &&
        berth_offered_add_absent(inside->profiles, kinds & ~libraries, stacks, err) < 0)
        return -1;
    berth_offered_sort(stacks, &work->order.terms.order);
    keep_asked(request, stacks);
    return 0;
}

/* Is the image a file without an overlay, so that its files never change? */
static bool is_fixed(const struct berth_request *request)
{
    static const char *const overlays[] = {"--overlay", "-o", NULL};
    struct stat st;

    for (size_t i = 0; i < request->args.count; i++)
        if (berth_text_starts_any(request->args.items[i], overlays))
            return false;
    return stat(request->image, &st) == 0 && S_ISREG(st.st_mode);
}

/* Find the host's stacks and start the child, both with the facts that earlier steps
 * have stored about files of the host and of the image. */
static int run_with_caches(const struct work *work, struct berth_decide *inside,
                           const struct berth_stage_root *user, struct berth_err *err)
{
    BERTH_BUF struct berth_buf subject = {0};
    struct berth_stacks stacks = {0};
    struct berth_factcache host, image;
    int result;

    berth_factcache_identify(work->order.request.image, &subject);
    if (subject.failed)
        return berth_err_oom(err);
    berth_factcache_open(user, "host", &host);
    berth_factcache_open(user, subject.text, &image);
    inside->host_cache = &host;
    inside->image_cache = is_fixed(&work->order.request) ? &image : NULL;
    inside->stacks = &stacks;
    result = find_stacks(work, inside, &stacks, err);
    if (result == 0)
        result = start_inside(work, inside, err);
    berth_factcache_fini(&host);
    berth_factcache_fini(&image);
    return result;
}

/* Find out by which means the tasks of the step can reach each other. */
static void find_reach(const struct work *work, struct berth_decide *inside)
{
    const char *nodes = berth_environ_value(inside->task, "SLURM_STEP_NUM_NODES");

    inside->reach.nodes = nodes ? (unsigned int)atoi(nodes) : 1;
    inside->reach.het_step = berth_order_het_step(&work->order.step, inside->task);
    berth_namespaces_find_reach(inside->holder.pid, &inside->reach);
}

/* The variable that tasks need if the container hides the files of the PMIx server: a
 * library of PMIx would end the program in MPI_Init, unless it asks the server for all
 * data. NULL: they need none. */
static const char *choose_variable(const struct berth_decide *inside,
                                   char *const *container)
{
    if (!berth_namespaces_is_pmix_hidden(inside->holder.pid, inside->task))
        return NULL;
    if (berth_environ_value(container, "PMIX_MCA_gds"))
        return NULL;
    return "PMIX_MCA_gds=hash";
}

static int run(const struct work *work, struct berth_err *err)
{
    static char *const nothing[] = {NULL};
    BERTH_PROFILE_SET struct berth_profile_set set = {0};
    char *const *task = work->task.environment.items;
    char path[BERTH_STAGE_USER_SIZE];
    const struct berth_stage_root user = berth_stage_user(path);
    struct berth_decide inside = {
        .holder = {work->order.mpi.holder, work->order.mpi.mounts},
        .request = &work->order.request,
        .terms = &work->order.terms,
        .command = work->container.words.items,
        .programs = work->order.programs.count ? &work->order.programs : NULL,
        .directory = work->order.mpi.directory,
        .image_directory = work->order.mpi.image_directory,
        .prefers_image = work->order.mpi.prefers_image,
        .task = task ? task : nothing,
    };

    if (berth_request_may_stage(&work->order.request) &&
        berth_profiles_read(&work->order.terms, berth_site_owner(), &set, err) < 0)
        return -1;
    inside.profiles = set.items;
    inside.variable = choose_variable(&inside, work->container.environment.items);
    find_reach(work, &inside);
    inside.is_root = berth_namespaces_is_root(inside.holder.pid);
    return run_with_caches(work, &inside, &user, err);
}

/* Become the witness, with three descriptors: the supervisor's socket as standard
 * input, which ends with the step, and a task's standard error. */
static void witness(const struct work *work)
{
    struct berth_witness *it = work->witness;
    char *const *task = work->task.environment.items;
    const char *node = berth_environ_value(task, BERTH_TASK_NODE);
    bool has_something = it->binding.host || it->binding.fabric;

    if (!has_something || berth_request_is_explained(&work->order.request))
        return;
    if (work->order.mpi.task_stderr < 0)
        return;

    it->node = node ? node : "this node";
    it->must = berth_request_mpi_must_host(&work->order.request);
    it->verbose = berth_notice_is_verbose(task);
    it->environment = task;
    it->order = &work->order;
    it->tasks = work->order.container.tasks;
    it->holder = (struct berth_holder){work->order.mpi.holder, work->order.mpi.mounts};
    dup2(work->channel, STDIN_FILENO);
    dup2(work->order.mpi.task_stderr, STDERR_FILENO);
    berth_close_from(STDERR_FILENO + 1);
    berth_witness_run(it);
}

int main(int argc, char **argv)
{
    static struct berth_witness to_witness;
    static struct work work = {.channel = -1, .witness = &to_witness};
    struct berth_err err;

    if (berth_program_prints_version("berth-mpi", argc, argv))
        return EXIT_SUCCESS;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (berth_program_protect(argv, &err) < 0) {
        fprintf(stderr, "berth-mpi: %s\n", err.text);
        return EXIT_FAILURE;
    }
    if (argc == 2 + BERTH_SINGLETON_ARGUMENTS && strcmp(argv[1], "--singleton") == 0) {
        berth_singleton_run(argv + 2);
        return EXIT_SUCCESS;
    }
    berth_cloexec_from(STDERR_FILENO + 1); /* from all programs that this one starts */
    umask(022);                            /* the user's is for the user's files */
    if (read_work(argc, argv, &work, &err) == 0 && run(&work, &err) == 0) {
        witness(&work);
        berth_witness_fini(&to_witness);
        return EXIT_SUCCESS;
    }
    if (work.channel >= 0)
        berth_channel_refuse(work.channel, &err);
    else
        fprintf(stderr, "berth-mpi: %s\n", err.text);
    return EXIT_FAILURE;
}

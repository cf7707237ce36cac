/* SPDX-License-Identifier: Apache-2.0 */
/* The server of a job: one process for each job and node that knows the containers of
 * the job. Its children start the containers; the server itself starts no runtime and
 * reads no file of an image. A step waits for a container that was started for another
 * step.
 *
 * A container without a name is found by its key, and a step with another key gets
 * another one. One with a name is found by it. What lasts under the name is a directory
 * with all that steps have written. While no step runs in the container, a step with
 * other options has it started anew over that directory; while one does, the container
 * is joined as it is, or the step is refused: a file system that is mounted twice over
 * one directory would be damaged. */

#include "run/jobserver.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/detach.h"
#include "base/environ.h"
#include "base/err.h"
#include "base/text.h"
#include "job/key.h"
#include "job/named.h"
#include "job/protocol.h"
#include "ipc/loop.h"
#include "ipc/message.h"
#include "ipc/peer.h"
#include "job/variables.h"
#include "container/namespaces.h"
#include "container/overlay.h"
#include "container/processes.h"
#include "ipc/rendezvous.h"
#include "request/named.h"
#include "run/supervisor.h"
#include "run/task.h"

extern char **environ;

/* The most containers of a job on a node, and steps that ask for one; and the
 * descriptors that are not for steps. */
enum { CONTAINERS_MAX = 32, STEPS_MAX = 512, OTHERS = 128 };

/* A name. Its place is free if `order` has none. */
struct named {
    struct berth_order order;     /* of the step for which its container was started */
    struct berth_overlay overlay; /* what steps have written */
    struct container *container;  /* NULL: none runs */
    int users;        /* a user namespace with all ids of what was written; -1: none */
    bool has_started; /* a container of this name has run */
};

struct container {
    int channel; /* to the process that keeps it; end of file: it has ended; -1: none */
    pid_t process;                  /* that process */
    struct berth_handover question; /* of the step for which it was started */
    int answer; /* the handover that the process has sent; -1: none yet */
    struct berth_strvec variables; /* of job/variables.h */
};

/* A step that asks. Its place is free if `socket` is -1; then it has no question, no
 * name and no patience. */
struct step {
    int socket;
    struct berth_handover question; /* no words: it has not asked yet */
    struct berth_order order;       /* of the question */
    struct named *uses; /* it has the container of this name; NULL: it waits */
    bool has_made;      /* the name that it asks for: no other step had it */
    int64_t until;      /* when its patience ends (berth_clock()); 0: it has begun to
                           wait for no other step */
};

/* What the free places have. */
#define NO_CONTAINER ((struct container){.channel = -1, .answer = -1})
#define NO_STEP      ((struct step){.socket = -1, .order = BERTH_ORDER_EMPTY})
#define NO_NAME                                                                        \
    ((struct named){                                                                   \
        .order = BERTH_ORDER_EMPTY, .overlay = BERTH_OVERLAY_NONE, .users = -1})

static struct {
    struct berth_loop loop;
    bool is_over; /* the extern step has ended */
    struct container containers[CONTAINERS_MAX];
    struct named names[CONTAINERS_MAX];
    struct step steps[STEPS_MAX];
    size_t count, most; /* of the steps */
} server;

static void drop_step(struct step *step)
{
    berth_loop_remove(&server.loop, step->socket);
    close(step->socket);
    berth_handover_fini(&step->question);
    berth_order_fini(&step->order);
    *step = NO_STEP;
    server.count--;
}

static void refuse(const struct step *step, const struct berth_err *why)
{
    BERTH_STRVEC struct berth_strvec words = {0};

    berth_strvec_push(&words, why->text);
    berth_message_send_words(step->socket, BERTH_JOB_REFUSE, &words);
}

/* End CONTAINER; its steps learn it from their ends of the channel. */
static void drop_container(struct container *container)
{
    berth_loop_remove(&server.loop, container->channel);
    close(container->channel);
    if (container->answer >= 0)
        close(container->answer);
    kill(container->process, SIGKILL);
    waitpid(container->process, NULL, 0);
    berth_handover_fini(&container->question);
    berth_strvec_fini(&container->variables);
    *container = NO_CONTAINER;
    for (size_t i = 0; i < CONTAINERS_MAX; i++)
        if (server.names[i].container == container)
            server.names[i].container = NULL;
}

/* The name of CONTAINER; NULL: it has none. */
static struct named *name_of(const struct container *container)
{
    for (size_t i = 0; i < CONTAINERS_MAX; i++)
        if (server.names[i].container == container)
            return &server.names[i];
    return NULL;
}

static bool has_same(const struct container *container,
                     const struct berth_handover *question, size_t which)
{
    return strcmp(container->question.words.items[which],
                  question->words.items[which]) == 0;
}

static bool has_same_directory(const struct container *container,
                               const struct berth_handover *question)
{
    return has_same(container, question, BERTH_JOB_DIRECTORY) &&
           has_same(container, question, BERTH_JOB_IDENTITY);
}

/* Does the step want only a container that was started in its working directory? It
 * asks so again if the first container lacks that. */
static bool asks_for_directory(const struct berth_handover *question)
{
    return strcmp(question->words.items[BERTH_JOB_OWN], "own") == 0;
}

/* May the step of QUESTION join CONTAINER, as far as is known? The key has no name, so
 * a container with a name fits its own steps only. */
static bool fits(const struct container *container,
                 const struct berth_handover *question)
{
    if (container->channel < 0 || question->words.count == 0)
        return false;
    if (!has_same(container, question, BERTH_JOB_KEY))
        return false;
    if (asks_for_directory(question) && !has_same_directory(container, question))
        return false;
    if (container->answer < 0)
        return true; /* it starts, and nobody knows yet which variables matter */
    return berth_job_variables_same(&container->variables,
                                    container->question.environment.items,
                                    question->environment.items);
}

/* Returns a container for QUESTION, rather one that was started in the same directory;
 * NULL: none. */
static struct container *find(const struct berth_handover *question)
{
    struct container *found = NULL;

    for (size_t i = 0; i < CONTAINERS_MAX; i++) {
        struct container *container = &server.containers[i];

        if (!fits(container, question) || name_of(container))
            continue;
        if (has_same_directory(container, question))
            return container;
        if (!found)
            found = container;
    }
    return found;
}

enum { START_SECONDS = 600 }; /* the step that waits gives up earlier */

/* Enter the rendezvous MADE as a task does; RET is for the supervisor. */
static int enter(const struct berth_rendezvous *made, struct berth_rendezvous *ret,
                 struct berth_err *err)
{
    *ret = *made;
    ret->memory = dup(made->memory);
    ret->tasks = dup(made->tasks);
    ret->ended = dup(made->ended);
    return berth_rendezvous_enter(ret, err);
}

/* This process has all signals blocked, and the runtime must not: start it with none
 * blocked. */
static int start_unblocked(const struct berth_launch *launch,
                           struct berth_rendezvous *rendezvous, struct berth_err *err)
{
    sigset_t none, all;
    int result;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, &all);
    result = berth_supervisor_start(launch, rendezvous, err);
    sigprocmask(SIG_SETMASK, &all, NULL);
    return result;
}

/* In the process that keeps a container: start it, and wait until tasks can join it. It
 * has a rendezvous of its own, in which this process does what slurmstepd and the first
 * task do in a step. */
static int start_container(const struct berth_handover *question, const char *overlay,
                           struct berth_rendezvous *made, struct berth_rendezvous *ret,
                           struct berth_err *err)
{
    static char *no_command[] = {NULL};
    struct berth_task task = {.order = BERTH_ORDER_EMPTY};
    struct berth_job_launch job;

    environ = question->environment.items;
    if (berth_order_get(question->words.items[BERTH_JOB_ORDER], &task.order, err) < 0)
        return -1;
    if (chdir(question->words.items[BERTH_JOB_DIRECTORY]) < 0 && chdir("/") < 0)
        return -1;
    berth_task_begin(&task, no_command);
    task.launch.overlay = overlay;
    if (berth_prepare(&task, err) < 0)
        return -1;
    berth_job_launch_from(&task.launch, &job);

    if (berth_rendezvous_make(made, 1, err) < 0)
        return -1;
    berth_rendezvous_configure(made, START_SECONDS, NULL);
    if (enter(made, ret, err) < 0 || !berth_rendezvous_claim(ret))
        return -1;
    if (start_unblocked(&job.launch, ret, err) < 0)
        return -1;
    if (berth_rendezvous_wait(ret, err) != BERTH_RENDEZVOUS_READY)
        return -1;
    return 0;
}

/* Find the variables on which the environment of the image depends. Only a process in
 * the container's user namespace may read files of the image, so this process enters
 * it, and stays. */
static void find_variables(pid_t holder, struct berth_strvec *ret)
{
    BERTH_FREE char *root = NULL;

    if (berth_namespaces_enter_user(holder) < 0 ||
        asprintf(&root, "/proc/%d/root", holder) < 0)
        berth_strvec_push(ret, BERTH_JOB_ANY);
    else
        berth_job_variables_find(root, ret);
}

/* Returns the descriptor of the answer, or -1. The runtime was started with the
 * environment of this process, which gets that of the container. */
static int write_answer(const struct berth_rendezvous *rendezvous,
                        struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec words = {0};
    BERTH_STRVEC struct berth_strvec changes = {0};
    BERTH_STRVEC struct berth_strvec environment = {0};
    const struct berth_rendezvous_page *page = rendezvous->page;

    berth_environ_split(page->text + page->changes.at, page->changes.count, &changes);
    berth_strvec_append(&environment, &changes);
    berth_strvec_push(&words, BERTH_VERSION);
    berth_strvec_pushf(&words, "%d", page->holder.pid);
    berth_strvec_pushf(&words, "%u", page->holder.mounts);
    berth_strvec_pushf(&words, "%zu", changes.count);
    if (berth_job_variables_cleaned(&changes))
        berth_strvec_push(&words, BERTH_JOB_ANY);
    if (berth_task_set(&changes, err) < 0)
        return -1;
    for (char *const *item = environ; *item; item++)
        berth_strvec_push(&environment, *item);
    find_variables(page->holder.pid, &words);
    if (words.failed || environment.failed)
        return berth_err_oom(err);
    return berth_handover_write(&words, environment.items, err);
}

/* Wait until the container has ended. The supervisor reports its end, unless it was
 * killed. */
static void await_end(const struct berth_rendezvous *made,
                      struct berth_rendezvous *rendezvous, struct berth_holder holder)
{
    enum { LOOK_AGAIN_SECONDS = 1 };

    close(rendezvous->ended); /* else the pipe has a writer */
    while (!berth_rendezvous_await_loss(rendezvous, LOOK_AGAIN_SECONDS)) {
        bool was_killed = berth_rendezvous_is_any_lost(made);

        if (was_killed || !berth_holder_is_there(holder))
            return;
    }
}

/* What a container is started from. */
struct asked {
    const struct berth_handover *question;
    const char *overlay; /* the directory of its name; NULL: it has none */
};

/* In a child: start a container from what was ASKED (DATA), send JOIN over CHANNEL,
 * or REFUSE with the reason, and stay until the container ends. The words of JOIN end
 * with names of variables (job/variables.h). */
static int become_container(int channel, void *data)
{
    BERTH_STRVEC struct berth_strvec words = {0};
    const struct asked *asked = data;
    struct berth_rendezvous made, rendezvous;
    struct berth_err err;
    int answer = -1;

    berth_close_others(&channel, 1);
    if (start_container(asked->question, asked->overlay, &made, &rendezvous, &err) == 0)
        answer = write_answer(&rendezvous, &err);
    if (answer < 0) {
        berth_strvec_push(&words, err.text);
        berth_message_send_words(BERTH_JOBSERVER_SOCKET, BERTH_JOB_REFUSE, &words);
        return EXIT_FAILURE;
    }
    if (berth_message_send_fd(BERTH_JOBSERVER_SOCKET, BERTH_JOB_JOIN, answer) < 0)
        return EXIT_FAILURE;
    close(answer);
    await_end(&made, &rendezvous, rendezvous.page->holder);
    return EXIT_SUCCESS;
}

static void read_container(void *data);

/* Returns a place for a container, or NULL. */
static struct container *find_free(void)
{
    for (size_t i = 0; i < CONTAINERS_MAX; i++)
        if (server.containers[i].channel < 0)
            return &server.containers[i];
    return NULL;
}

/* Start a process that starts the container for QUESTION, over the directory OVERLAY of
 * its name, if it has one (else NULL). Returns NULL if there can be none. */
static struct container *start(const struct berth_handover *question,
                               const char *overlay)
{
    struct container *container = find_free();
    struct asked asked = {question, overlay};
    bool is_kept;

    if (!container)
        return NULL;
    container->process = berth_child_with_channel(become_container, &asked, SIGKILL,
                                                  &container->channel);
    if (container->process < 0)
        return NULL;
    berth_strvec_append(&container->question.words, &question->words);
    berth_strvec_append(&container->question.environment, &question->environment);
    is_kept =
        !container->question.words.failed && !container->question.environment.failed;
    if (is_kept && berth_loop_add(&server.loop, container->channel, read_container,
                                  container) == 0)
        return container;
    drop_container(container);
    return NULL;
}

/* The name that STEP asks for; NULL: the job has none such. */
static struct named *find_name(const struct step *step)
{
    for (size_t i = 0; i < CONTAINERS_MAX; i++) {
        const char *name = server.names[i].order.request.container_name;

        if (name && berth_named_same(name, step->order.request.container_name))
            return &server.names[i];
    }
    return NULL;
}

/* Does a step run in the container of NAME? */
static bool is_used(const struct named *name)
{
    for (size_t i = 0; i < STEPS_MAX; i++)
        if (server.steps[i].uses == name)
            return true;
    return false;
}

/* Forget NAME, and all that was written. */
static void drop_name(struct named *name)
{
    if (name->container)
        drop_container(name->container);
    berth_overlay_remove_in(&name->overlay, name->users);
    if (name->users >= 0)
        close(name->users);
    berth_order_fini(&name->order);
    *name = NO_NAME;
}

/* The order of NAME is that of STEP from now on. Returns 0, or -1 with a sentence in
 * ERR. */
static int adopt_order(struct named *name, const struct step *step,
                       struct berth_err *err)
{
    struct berth_order order;

    if (berth_order_get(step->question.words.items[BERTH_JOB_ORDER], &order, err) < 0)
        return -1;
    berth_order_fini(&name->order);
    name->order = order;
    return 0;
}

/* Returns a place for a name, or NULL. */
static struct named *find_free_name(void)
{
    for (size_t i = 0; i < CONTAINERS_MAX; i++)
        if (!server.names[i].order.request.container_name)
            return &server.names[i];
    return NULL;
}

/* Where the directory for what STEP writes is made. */
static const char *find_top(const struct step *step)
{
    const char *temporary =
        berth_environ_value(step->question.environment.items, "TMPDIR");

    if (step->order.terms.writable)
        return step->order.terms.writable;
    if (temporary && *temporary == '/')
        return temporary;
    return "/tmp";
}

/* Make the name that STEP asks for, and the directory for what steps write. Returns
 * NULL with a sentence in ERR. */
static struct named *make_name(const struct step *step, struct berth_err *err)
{
    struct named *name = find_free_name();

    if (!name) {
        berth_err_set(err,
                      "--container-name: the job has %d containers with names on "
                      "this node, and no more can be kept",
                      CONTAINERS_MAX);
        return NULL;
    }
    if (berth_overlay_make(find_top(step), getenv(BERTH_TASK_NODE), &name->overlay,
                           err) < 0)
        return NULL;
    if (adopt_order(name, step, err) == 0)
        return name;
    berth_overlay_remove(&name->overlay);
    return NULL;
}

/* Refuse ASKED, the value of a step that gives no image, as the job has no such
 * container. */
static int refuse_unknown(const char *asked, struct berth_err *err)
{
    const int length = berth_named_length(asked);

    if (berth_named_is_step(asked))
        return berth_err_set(err,
                             "--container-name=%.*s: the job has no such container on "
                             "this node; to join a step whose container has no name, "
                             "write: berth enter %.*s COMMAND",
                             length, asked, length, asked);
    return berth_err_set(err,
                         "--container-name=%.*s: the job has no such container on "
                         "this node; give the image in the first step that names it "
                         "(--container-image=IMAGE)",
                         length, asked);
}

/* May STEP have the container of NAME (NULL: the job has none) by the flag and the
 * image that the step gives? Returns 0, or -1 with a sentence in ERR. */
static int check_asked(const struct step *step, const struct named *name,
                       struct berth_err *err)
{
    const char *asked = step->order.request.container_name;
    const char *flag = berth_named_flag(asked);
    const bool must_create = strcmp(flag, BERTH_NAMED_CREATE) == 0;
    const bool must_run = strcmp(flag, BERTH_NAMED_EXEC) == 0;
    /* a step asks again if the container lacks its working directory */
    const bool has_made = step->has_made || asks_for_directory(&step->question);

    if (must_create && name && !has_made)
        return berth_err_set(err,
                             "--container-name=%s: the job has a container with this "
                             "name; leave out :create, or take another name",
                             asked);
    if (must_run && (!name || !is_used(name)))
        return berth_err_set(err,
                             "--container-name=%s: no step runs in a container with "
                             "this name on this node; leave out :exec to start it",
                             asked);
    if (!name && !step->order.request.image)
        return refuse_unknown(asked, err);
    if (!name)
        return 0;
    return berth_job_check_image(&name->order.request, &step->order.request, err);
}

/* Tell STEP which image the container of NAME has. */
static void send_image(const struct step *step, const struct named *name)
{
    const struct berth_request *request = &name->order.request;
    BERTH_STRVEC struct berth_strvec words = {0};

    berth_strvec_push(&words, request->image);
    berth_strvec_push(&words, berth_text_or(request->uri, ""));
    berth_message_send_words(step->socket, BERTH_JOB_IMAGE, &words);
}

/* Start the container of NAME for STEP. Returns 0, or -1 with a sentence in ERR. */
static int start_name(struct named *name, const struct step *step,
                      struct berth_err *err)
{
    if (name->container)
        drop_container(name->container);
    if (adopt_order(name, step, err) < 0)
        return -1;
    name->container = start(&step->question, name->overlay.path);
    if (name->container)
        return 0;
    return berth_err_set(err,
                         "--container-name=%s: the job keeps %d containers on this "
                         "node, and can keep no more",
                         name->order.request.container_name, CONTAINERS_MAX);
}

static void join(const struct step *step, const struct container *container)
{
    berth_message_send_fds(step->socket, BERTH_JOB_JOIN,
                           (const int[]){container->answer, container->channel},
                           BERTH_JOB_JOIN_FDS);
}

/* STEP has the container of NAME until its socket ends. Returns that it stays. */
static bool use_name(struct step *step, struct named *name)
{
    join(step, name->container);
    step->uses = name;
    berth_handover_fini(&step->question);
    return false;
}

/* Another step runs in the container of NAME, which is not what STEP asks for, WHY. It
 * may have ended a moment ago: wait. Returns whether STEP is answered. */
static bool wait_for_name(struct step *step, const struct berth_err *why)
{
    enum { PATIENCE_MS = 5000 };
    const int64_t now = berth_clock();

    if (step->until == 0)
        step->until = now + PATIENCE_MS;
    if (now < step->until)
        return false;
    refuse(step, why);
    return true;
}

/* Refuse STEP, WHY. Returns that it is answered. */
static bool answer_no(const struct step *step, const struct berth_err *why)
{
    refuse(step, why);
    return true;
}

/* Let STEP use the container of NAME, in which no other step runs: as it is, if it fits
 * the step, or started anew. Returns as answer(). */
static bool answer_alone(struct step *step, struct named *name, bool is_same)
{
    struct berth_err err;

    if (is_same)
        return use_name(step, name);
    if (start_name(name, step, &err) < 0)
        return answer_no(step, &err);
    return false;
}

/* Let STEP use the container of NAME, in which another step runs, if it is what the
 * step asks for. Returns as answer(). */
static bool answer_beside(struct step *step, struct named *name, bool is_same)
{
    struct berth_err err;

    if (!name->container)
        return false; /* it was killed, and its steps end soon */
    if (!is_same &&
        berth_job_check_running(&name->order.request, &step->order.request, &err) < 0)
        return wait_for_name(step, &err);
    return use_name(step, name);
}

/* Answer STEP, which asks for a container with a name. Returns as answer(). */
static bool answer_named(struct step *step)
{
    struct named *name = find_name(step);
    struct berth_err err;
    bool is_same;

    if (check_asked(step, name, &err) < 0)
        return answer_no(step, &err);
    if (!step->order.request.image) {
        send_image(step, name);
        return true;
    }
    if (!name) {
        name = make_name(step, &err);
        if (!name)
            return answer_no(step, &err);
        step->has_made = true;
    }
    if (name->container && name->container->answer < 0)
        return false; /* it starts for another step */

    is_same = name->container && fits(name->container, &step->question);
    if (is_used(name))
        return answer_beside(step, name, is_same);
    return answer_alone(step, name, is_same);
}

/* Answer STEP, unless it must wait: the variables on which a container depends are
 * known only when it has started. Returns whether STEP is answered, and goes. */
static bool answer(struct step *step)
{
    struct container *container;

    if (!step->question.words.count)
        return false;
    if (step->order.request.container_name)
        return answer_named(step);
    container = find(&step->question);
    if (!container)
        container = start(&step->question, NULL);
    if (!container) {
        berth_message_send_fd(step->socket, BERTH_JOB_ALONE, -1);
        return true;
    }
    if (container->answer < 0)
        return false;
    join(step, container);
    return true;
}

static void answer_all(void)
{
    for (size_t i = 0; i < STEPS_MAX; i++)
        if (answer(&server.steps[i]))
            drop_step(&server.steps[i]);
}

/* CONTAINER did not start: each step that waits for it starts its own container, and
 * reports why that fails. */
static void refuse_waiting(const struct container *container)
{
    for (size_t i = 0; i < STEPS_MAX; i++) {
        struct step *step = &server.steps[i];

        if (step->order.request.container_name || !fits(container, &step->question))
            continue;
        berth_message_send_fd(step->socket, BERTH_JOB_ALONE, -1);
        drop_step(step);
    }
}

/* The container of NAME did not start, WHY: no step that waits for it gets another one.
 * What was written before stays. */
static void refuse_named(struct named *name, const struct berth_err *why)
{
    for (size_t i = 0; i < STEPS_MAX; i++) {
        struct step *step = &server.steps[i];
        bool waits = !step->uses && step->order.request.container_name;

        if (!waits || find_name(step) != name)
            continue;
        refuse(step, why);
        drop_step(step);
    }
    if (!name->has_started)
        drop_name(name);
}

/* Read the reason from FD, and close it. */
static void read_reason(int fd, struct berth_err *ret)
{
    struct berth_handover said;

    berth_err_set(ret, "the container was killed while it started");
    if (fd < 0 || berth_message_read_handover(fd, &said) < 0)
        return;
    if (said.words.count == 1)
        berth_err_set(ret, "%s", said.words.items[0]);
    berth_handover_fini(&said);
}

/* The container of NAME has started; HOLDER holds it. What its programs write may
 * belong to any id of its user namespace. */
static void register_start(struct named *name, pid_t holder)
{
    name->has_started = true;
    if (name->users < 0 && berth_namespaces_has_others(holder))
        name->users = berth_namespaces_open(holder, "user");
}

/* CONTAINER has not started, and FD (-1: none) has the reason. */
static void register_failure(struct container *container, int fd)
{
    struct named *name = name_of(container);
    struct berth_err why;

    read_reason(fd, &why);
    if (!name)
        refuse_waiting(container);
    drop_container(container);
    if (name)
        refuse_named(name, &why);
}

/* CONTAINER has started, and ANSWER is the handover for its steps, which this takes.
 * Returns 0, or -1: it cannot be read. */
static int register_answer(struct container *container, int answer)
{
    struct named *name = name_of(container);
    struct berth_handover said;

    container->answer = fcntl(answer, F_DUPFD_CLOEXEC, 0);
    if (container->answer < 0 || berth_handover_read(answer, &said) < 0) {
        close(answer);
        return -1;
    }
    container->variables = berth_steal(&said.words); /* but for the first four */
    berth_handover_fini(&said);
    if (name)
        register_start(name, atoi(container->variables.items[1]));
    return 0;
}

/* The process of DATA, a struct container, says that the container has started, or has
 * ended. */
static void read_container(void *data)
{
    struct container *container = data;
    int fd = -1;
    int kind;

    if (container->answer >= 0) {
        drop_container(container);
        return;
    }
    kind = berth_message_receive_fd(container->channel, &fd);
    if (kind != BERTH_JOB_JOIN || fd < 0)
        register_failure(container, fd);
    else if (register_answer(container, fd) < 0)
        register_failure(container, -1);
    else
        answer_all();
}

/* May a process with SOCKET and the descriptors FDS ask? Not a program in an image,
 * which could start programs on the host; and not a step that has other mounts than the
 * server (job_container/tmpfs). A program in an image can open no namespace of the
 * host, except under a setuid runtime, which makes no user namespace; so the process
 * that connected has to be in the namespace, too. */
static bool is_allowed(const int fds[BERTH_JOB_FDS])
{
    return berth_namespaces_is_own(fds[BERTH_JOB_USER], "user") &&
           berth_namespaces_is_own(fds[BERTH_JOB_MOUNTS], "mnt");
}

/* Read the question of the process at SOCKET. Returns 0, or -1: it sends another thing,
 * or may not ask. */
static int read_question(int socket, struct berth_handover *ret)
{
    int fds[BERTH_JOB_FDS] = {-1, -1, -1};
    int result = -1;

    /* first: this process takes no socket of a program in an image, which could stand
     * for a process of the host with it (ipc/peer.h) */
    if (berth_peer_client(socket) != BERTH_PEER_OWN)
        return -1;
    if (berth_message_receive_fds(socket, fds, BERTH_JOB_FDS) == BERTH_JOB_ASK &&
        is_allowed(fds)) {
        result = berth_message_read_handover(fds[BERTH_JOB_HANDOVER], ret);
        fds[BERTH_JOB_HANDOVER] = -1;
    }
    for (size_t i = 0; i < BERTH_JOB_FDS; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    if (result < 0 || ret->words.count == BERTH_JOB_WORDS)
        return result;
    berth_handover_fini(ret);
    return -1;
}

/* Read the question of STEP, and its order: one that cannot be read has no name, and no
 * container starts by it. Returns 0, or -1: STEP may not ask. */
static int read_asked(struct step *step)
{
    struct berth_err err;

    if (read_question(step->socket, &step->question) < 0)
        return -1;
    berth_order_get(step->question.words.items[BERTH_JOB_ORDER], &step->order, &err);
    return 0;
}

/* DATA, a struct step, asks, has given up, or has ended. */
static void read_step(void *data)
{
    struct step *step = data;
    const bool has_asked = step->question.words.count > 0;

    if (step->uses) {
        drop_step(step);
        answer_all(); /* others may have its container */
        return;
    }
    if (has_asked || read_asked(step) < 0 || answer(step))
        drop_step(step);
}

/* Returns a place for a step, or NULL. */
static struct step *find_free_step(void)
{
    if (server.count == server.most)
        return NULL;
    for (size_t i = 0; i < STEPS_MAX; i++)
        if (server.steps[i].socket < 0)
            return &server.steps[i];
    return NULL;
}

static void accept_step(void *data)
{
    int socket = berth_peer_accept(BERTH_JOBSERVER_SOCKET);
    struct step *step = find_free_step();

    (void)data;
    if (socket < 0)
        return;
    if (!step || berth_loop_add(&server.loop, socket, read_step, step) < 0) {
        close(socket);
        return;
    }
    step->socket = socket;
    server.count++;
}

static void end_extern(void *data)
{
    (void)data;
    server.is_over = true;
}

/* For how long the server may sleep, in milliseconds: until the patience of a step
 * ends; -1: until a message comes. */
static int find_pause(void)
{
    const int64_t now = berth_clock();
    int64_t first = INT64_MAX;

    for (size_t i = 0; i < STEPS_MAX; i++) {
        const struct step *step = &server.steps[i];

        if (step->until != 0 && !step->uses && step->until < first)
            first = step->until;
    }
    if (first == INT64_MAX)
        return -1;
    if (first <= now)
        return 0;
    return (int)(first - now) + 1;
}

/* Set how many steps may wait: at the limit of descriptors neither accept4(2) nor
 * poll(2) would work. */
static void set_most(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_max <= OTHERS)
        return;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    server.most = files.rlim_cur - OTHERS;
    if (server.most > STEPS_MAX)
        server.most = STEPS_MAX;
}

static void clear_places(void)
{
    for (size_t i = 0; i < CONTAINERS_MAX; i++) {
        server.containers[i] = NO_CONTAINER;
        server.names[i] = NO_NAME;
    }
    for (size_t i = 0; i < STEPS_MAX; i++)
        server.steps[i] = NO_STEP;
}

void berth_jobserver_run(pid_t extern_step)
{
    static const int listening = BERTH_JOBSERVER_SOCKET;
    int end; /* can be read when the extern step has ended */

    if (berth_detach(&listening, 1, NULL) < 0)
        return;
    set_most();
    end = berth_process_open(extern_step);
    if (end < 0)
        return; /* it has ended, or the kernel (before 5.3) has no pidfd */
    fcntl(BERTH_JOBSERVER_SOCKET, F_SETFL, O_NONBLOCK);
    clear_places();
    if (berth_loop_add(&server.loop, end, end_extern, NULL) < 0)
        return;
    if (berth_loop_add(&server.loop, BERTH_JOBSERVER_SOCKET, accept_step, NULL) < 0)
        return;

    while (!server.is_over)
        if (berth_loop_wait(&server.loop, find_pause()) == 0)
            answer_all(); /* the patience of a step may have ended */
    for (size_t i = 0; i < CONTAINERS_MAX; i++)
        drop_name(&server.names[i]);
}

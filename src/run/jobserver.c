/* SPDX-License-Identifier: Apache-2.0 */
/* The server of a job: one process for each job and node that knows the containers of
 * the job. Its children start the containers; the server itself starts no runtime and
 * reads no file of an image. A step waits for a container that was started for another
 * step. */

#include "run/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/cleanup.h"
#include "base/detach.h"
#include "base/environ.h"
#include "base/err.h"
#include "job/key.h"
#include "ipc/message.h"
#include "ipc/peer.h"
#include "job/variables.h"
#include "container/namespaces.h"
#include "container/processes.h"
#include "ipc/rendezvous.h"
#include "run/task.h"

extern char **environ;

/* The most containers of a job on a node, and steps that wait for one; and the
 * descriptors that are not for steps. */
enum { CONTAINERS_MAX = 32, WAITING_MAX = 512, OTHERS = 128 };

struct container {
    int channel; /* to the process that keeps it; end of file: it has ended; -1: none */
    pid_t process;                  /* that process */
    struct berth_handover question; /* of the step for which it was started */
    int answer; /* the handover that the process has sent; -1: none yet */
    struct berth_strvec variables; /* of job/variables.h */
};

struct step {
    int socket;
    struct berth_handover question; /* no words: it has not asked yet */
};

static struct {
    int extern_step; /* a descriptor that can be read when the extern step has ended */
    struct container containers[CONTAINERS_MAX];
    struct step waiting[WAITING_MAX];
    size_t count, most;
} server;

static void drop_step(struct step *step)
{
    close(step->socket);
    berth_handover_fini(&step->question);
    *step = server.waiting[--server.count];
}

/* End CONTAINER; its steps learn it from their ends of the channel. */
static void drop_container(struct container *container)
{
    close(container->channel);
    if (container->answer >= 0)
        close(container->answer);
    kill(container->process, SIGKILL);
    waitpid(container->process, NULL, 0);
    berth_handover_fini(&container->question);
    berth_strvec_fini(&container->variables);
    *container = (struct container){.channel = -1, .answer = -1};
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

/* May the step of QUESTION join CONTAINER, as far as is known? */
static bool fits(const struct container *container,
                 const struct berth_handover *question)
{
    return container->channel >= 0 && question->words.count &&
           has_same(container, question, BERTH_JOB_KEY) &&
           (strcmp(question->words.items[BERTH_JOB_OWN], "own") != 0 ||
            has_same_directory(container, question)) &&
           (container->answer < 0 ||
            berth_job_variables_same(&container->variables,
                                     container->question.environment.items,
                                     question->environment.items));
}

/* Returns a container for QUESTION, rather one that was started in the same directory;
 * NULL: none. */
static struct container *find(const struct berth_handover *question)
{
    struct container *found = NULL;

    for (size_t i = 0; i < CONTAINERS_MAX; i++) {
        struct container *container = &server.containers[i];

        if (!fits(container, question))
            continue;
        if (has_same_directory(container, question))
            return container;
        found = found ? found : container;
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
static int start_container(const struct berth_handover *question,
                           struct berth_rendezvous *made, struct berth_rendezvous *ret,
                           struct berth_err *err)
{
    static char *no_command[] = {NULL};
    struct berth_task task = {.order = BERTH_ORDER_EMPTY};
    struct berth_job_launch job = {0};

    environ = question->environment.items;
    if (berth_order_get(question->words.items[BERTH_JOB_ORDER], &task.order, err) < 0)
        return -1;
    if (chdir(question->words.items[BERTH_JOB_DIRECTORY]) < 0 && chdir("/") < 0)
        return -1;
    berth_task_begin(&task, no_command);
    if (berth_prepare(&task, err) < 0 ||
        berth_job_launch_from(&task.launch, &job, err) < 0 ||
        berth_rendezvous_make(made, 1, err) < 0)
        return -1;
    berth_rendezvous_configure(made, START_SECONDS, NULL);
    if (enter(made, ret, err) < 0 || !berth_rendezvous_claim(ret) ||
        start_unblocked(&job.launch, ret, err) < 0)
        return -1;
    return berth_rendezvous_wait(ret, err) == BERTH_RENDEZVOUS_READY ? 0 : -1;
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
    while (!berth_rendezvous_await_loss(rendezvous, LOOK_AGAIN_SECONDS) &&
           berth_holder_is_there(holder) && !berth_rendezvous_is_any_lost(made))
        ;
}

/* In a child: start a container from QUESTION (ipc/message.h), send JOIN over CHANNEL,
 * and stay until the container ends. The words of JOIN end with names of variables
 * (job/variables.h). */
static int become_container(int channel, void *data)
{
    const struct berth_handover *question = data;
    struct berth_rendezvous made, rendezvous;
    struct berth_err err;
    int answer;

    berth_close_others(&channel, 1);
    if (start_container(question, &made, &rendezvous, &err) < 0)
        return EXIT_FAILURE;
    answer = write_answer(&rendezvous, &err);
    if (answer < 0 ||
        berth_job_send(BERTH_JOBSERVER_SOCKET, BERTH_JOB_JOIN, answer) < 0)
        return EXIT_FAILURE;
    close(answer);
    await_end(&made, &rendezvous, rendezvous.page->holder);
    return EXIT_SUCCESS;
}

/* Returns a place for a container, or NULL. */
static struct container *find_free(void)
{
    for (size_t i = 0; i < CONTAINERS_MAX; i++)
        if (server.containers[i].channel < 0)
            return &server.containers[i];
    return NULL;
}

/* Start a process that starts the container for QUESTION. Returns NULL if there can be
 * none. */
static struct container *start(const struct berth_handover *question)
{
    struct container *container = find_free();

    if (!container)
        return NULL;
    container->process = berth_child_with_channel(become_container, (void *)question,
                                                  SIGKILL, &container->channel);
    if (container->process < 0)
        return NULL;
    berth_strvec_append(&container->question.words, &question->words);
    berth_strvec_append(&container->question.environment, &question->environment);
    if (!container->question.words.failed && !container->question.environment.failed)
        return container;
    drop_container(container);
    return NULL;
}

/* Answer STEP, unless it must wait: the variables on which a container depends are
 * known only when it has started. Returns whether STEP is answered. */
static bool answer(const struct step *step)
{
    struct container *container = find(&step->question);

    if (!step->question.words.count)
        return false;
    if (!container)
        container = start(&step->question);
    if (!container)
        berth_job_send(step->socket, BERTH_JOB_ALONE, -1);
    else if (container->answer < 0)
        return false;
    else
        berth_job_send_all(step->socket, BERTH_JOB_JOIN,
                           (const int[]){container->answer, container->channel},
                           BERTH_JOB_JOIN_FDS);
    return true;
}

/* Backwards, because an answer removes a step. */
static void answer_all(void)
{
    for (size_t i = server.count; i-- > 0;)
        if (answer(&server.waiting[i]))
            drop_step(&server.waiting[i]);
}

/* CONTAINER did not start: each step that waits for it starts its own container, and
 * reports why that fails. */
static void refuse_waiting(const struct container *container)
{
    for (size_t i = server.count; i-- > 0;)
        if (fits(container, &server.waiting[i].question)) {
            berth_job_send(server.waiting[i].socket, BERTH_JOB_ALONE, -1);
            drop_step(&server.waiting[i]);
        }
}

/* The process of CONTAINER says that the container has started, or has ended. */
static void read_container(struct container *container)
{
    struct berth_handover said;
    int fd;

    if (container->answer < 0 &&
        berth_job_receive(container->channel, &fd) == BERTH_JOB_JOIN && fd >= 0) {
        container->answer = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        if (container->answer >= 0 && berth_handover_read(fd, &said) == 0) {
            container->variables = said.words; /* but for the first four */
            said.words = (struct berth_strvec){0};
            berth_handover_fini(&said);
            answer_all();
            return;
        }
    }
    if (container->answer < 0)
        refuse_waiting(container);
    drop_container(container);
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
    if (berth_job_receive_all(socket, fds, BERTH_JOB_FDS) == BERTH_JOB_ASK &&
        is_allowed(fds)) {
        result = berth_job_read(fds[BERTH_JOB_HANDOVER], ret);
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

/* STEP asks, or has given up. */
static void read_step(struct step *step)
{
    if (step->question.words.count ||
        read_question(step->socket, &step->question) < 0 || answer(step))
        drop_step(step);
}

static void accept_step(void)
{
    int socket = berth_job_accept(BERTH_JOBSERVER_SOCKET);

    if (socket >= 0 && server.count < server.most)
        server.waiting[server.count++] = (struct step){.socket = socket};
    else if (socket >= 0)
        close(socket);
}

/* Wait for one message or more, and answer. Returns false when the extern step has
 * ended. */
static bool serve(void)
{
    enum { LISTENING, EXTERN, CONTAINERS, STEPS = CONTAINERS + CONTAINERS_MAX };
    struct pollfd fds[STEPS + WAITING_MAX] = {
        [LISTENING] = {.fd = BERTH_JOBSERVER_SOCKET, .events = POLLIN},
        [EXTERN] = {.fd = server.extern_step, .events = POLLIN}};

    for (size_t i = 0; i < CONTAINERS_MAX; i++)
        fds[CONTAINERS + i] =
            (struct pollfd){.fd = server.containers[i].channel, .events = POLLIN};
    for (size_t i = 0; i < server.count; i++)
        fds[STEPS + i] =
            (struct pollfd){.fd = server.waiting[i].socket, .events = POLLIN};
    if (poll(fds, STEPS + server.count, -1) <= 0)
        return true;
    for (size_t i = server.count; i-- > 0;)
        if (fds[STEPS + i].revents)
            read_step(&server.waiting[i]);
    for (size_t i = 0; i < CONTAINERS_MAX; i++)
        if (fds[CONTAINERS + i].revents)
            read_container(&server.containers[i]);
    if (fds[LISTENING].revents)
        accept_step();
    return !fds[EXTERN].revents;
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
    server.most =
        files.rlim_cur - OTHERS < WAITING_MAX ? files.rlim_cur - OTHERS : WAITING_MAX;
}

void berth_jobserver_run(pid_t extern_step)
{
    static const int listening = BERTH_JOBSERVER_SOCKET;

    if (berth_detach(&listening, 1, NULL) < 0)
        return;
    set_most();
    server.extern_step = berth_process_open(extern_step);
    if (server.extern_step < 0)
        return; /* it has ended, or the kernel (before 5.3) has no pidfd */
    fcntl(BERTH_JOBSERVER_SOCKET, F_SETFL, O_NONBLOCK);
    for (size_t i = 0; i < CONTAINERS_MAX; i++)
        server.containers[i] = (struct container){.channel = -1, .answer = -1};
    while (serve())
        ;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The server of a job: one process for each job and node that knows the containers of
 * the job. Its children start the containers; the server itself starts no runtime and
 * reads no file of an image. A step waits for a container that was started for another
 * step. */

#include "run/jobserver.h"

#include <errno.h>
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

#include "base/cleanup.h"
#include "base/detach.h"
#include "base/environ.h"
#include "base/err.h"
#include "job/key.h"
#include "job/message.h"
#include "job/variables.h"
#include "step/namespaces.h"
#include "step/processes.h"
#include "step/rendezvous.h"
#include "run/prepare.h"
#include "run/supervisor.h"
#include "run/task.h"

extern char **environ;

/* The most containers of a job on a node, and steps at a time; and the descriptors that
 * are not for steps. */
enum { CONTAINERS_MAX = 32, STEPS_MAX = 4096, OTHERS = 128 };

struct container {
    int channel;                    /* to the process that keeps it; -1: none */
    pid_t process;                  /* that process */
    struct berth_handover question; /* of the step for which it was started */
    int answer; /* the handover that the process has sent; -1: none yet */
    struct berth_strvec variables; /* of job/variables.h */
};

struct step {
    int socket;
    bool has_asked;
    struct berth_handover question; /* until it is answered */
    struct container *container;    /* that it has joined; NULL: none yet */
};

static struct {
    int extern_step; /* a descriptor that can be read when the extern step has ended */
    struct container containers[CONTAINERS_MAX];
    struct step *steps;
    size_t count, most;
} server;

static void drop_step(struct step *step)
{
    close(step->socket);
    berth_handover_fini(&step->question);
    *step = server.steps[--server.count];
}

/* End CONTAINER; its steps learn it by the end of their sockets. */
static void drop_container(struct container *container)
{
    for (size_t i = server.count; i-- > 0;)
        if (server.steps[i].container == container)
            drop_step(&server.steps[i]);
    close(container->channel);
    if (container->answer >= 0)
        close(container->answer);
    kill(container->process, SIGKILL);
    waitpid(container->process, NULL, 0);
    berth_handover_fini(&container->question);
    berth_strvec_fini(&container->variables);
    *container = (struct container){.channel = -1, .answer = -1};
}

static const char *word(const struct berth_handover *question, size_t which)
{
    return question->words.items[which];
}

static bool has_same(const struct container *container,
                     const struct berth_handover *question, size_t which)
{
    return strcmp(word(&container->question, which), word(question, which)) == 0;
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
    return container->channel >= 0 && has_same(container, question, BERTH_JOB_KEY) &&
           (strcmp(word(question, BERTH_JOB_OWN), "own") != 0 ||
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
    static char name[] = "berth-start", nothing[] = "true"; /* no step, no command */
    static char *words[] = {name, nothing, NULL};
    struct berth_task task = {.order = BERTH_ORDER_EMPTY};
    struct berth_job_launch job = {0};

    environ = question->environment.items;
    if (setenv(BERTH_TASK_ORDER, question->words.items[BERTH_JOB_ORDER], 1) < 0)
        return berth_err_oom(err);
    if (chdir(question->words.items[BERTH_JOB_DIRECTORY]) < 0 && chdir("/") < 0)
        return -1;
    if (berth_task_read(&task, words, err) < 0 || berth_prepare(&task, err) < 0 ||
        berth_job_launch_from(&task.launch, &job, err) < 0 ||
        berth_rendezvous_make(made, 1, err) < 0)
        return -1;
    berth_rendezvous_configure(made, START_SECONDS, NULL);
    if (enter(made, ret, err) < 0 || !berth_rendezvous_claim(ret, 1) ||
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

/* Returns the descriptor of the answer, or -1. */
static int write_answer(const struct berth_rendezvous *rendezvous,
                        struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec words = {0};
    BERTH_STRVEC struct berth_strvec environment = {0};
    struct berth_holder holder = berth_rendezvous_holder(rendezvous);
    size_t count, before;
    const char *part = berth_rendezvous_before(rendezvous, &count);

    berth_environ_split(part, count, &environment);
    before = environment.count;
    berth_strvec_push(&words, BERTH_VERSION);
    berth_strvec_pushf(&words, "%d", holder.pid);
    berth_strvec_pushf(&words, "%u", holder.mounts);
    berth_strvec_pushf(&words, "%zu", before);
    part = berth_rendezvous_after(rendezvous, &count);
    berth_environ_split(part, count, &environment);
    if (environment.failed)
        return berth_err_oom(err);
    if (berth_job_variables_cleaned(environ, environment.items + before))
        berth_strvec_push(&words, "*");
    find_variables(holder.pid, &words);
    if (words.failed)
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

/* In a child: start a container from QUESTION (job/message.h), send JOIN over CHANNEL,
 * and stay until the container ends. The words of JOIN end with names of variables
 * (job/variables.h). */
_Noreturn static void become_container(int channel,
                                       const struct berth_handover *question)
{
    struct berth_rendezvous made, rendezvous;
    struct berth_err err;
    int answer;

    berth_close_others(&channel, 1);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (start_container(question, &made, &rendezvous, &err) < 0 ||
        (answer = write_answer(&rendezvous, &err)) < 0 ||
        berth_job_send(BERTH_JOBSERVER_SOCKET, BERTH_JOB_JOIN, answer) < 0)
        _exit(EXIT_FAILURE);
    close(answer);
    await_end(&made, &rendezvous, berth_rendezvous_holder(&rendezvous));
    _exit(EXIT_SUCCESS);
}

/* Start a process that starts the container for QUESTION, which the container then
 * owns. Returns NULL if there can be none. */
static struct container *start(struct berth_handover *question)
{
    struct container *container = server.containers;
    int ends[2];

    while (container < server.containers + CONTAINERS_MAX && container->channel >= 0)
        container++;
    if (container == server.containers + CONTAINERS_MAX ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return NULL;
    container->process = fork();
    if (container->process == 0)
        become_container(ends[1], question);
    close(ends[1]);
    if (container->process < 0) {
        close(ends[0]);
        return NULL;
    }
    container->channel = ends[0];
    container->question = *question;
    *question = (struct berth_handover){0};
    return container;
}

static void refuse(struct step *step)
{
    berth_job_send(step->socket, BERTH_JOB_ALONE, -1);
    drop_step(step);
}

/* Answer STEP, which has asked, unless the step must wait: the variables on which a
 * container depends are known only when it has started. */
static void answer(struct step *step)
{
    struct berth_handover *question = &step->question;
    struct container *container = find(question);

    if (!container) {
        struct berth_handover copy = {0};

        berth_strvec_append(&copy.words, &question->words);
        berth_strvec_append(&copy.environment, &question->environment);
        if (!copy.words.failed && !copy.environment.failed)
            container = start(&copy);
        berth_handover_fini(&copy);
        if (!container)
            refuse(step);
        return;
    }
    if (container->answer < 0)
        return;
    if (berth_job_send(step->socket, BERTH_JOB_JOIN, container->answer) < 0) {
        drop_step(step);
        return;
    }
    step->container = container;
    berth_handover_fini(question);
}

/* Answer all steps that wait; backwards, because an answer may remove a step. */
static void answer_all(void)
{
    for (size_t i = server.count; i-- > 0;)
        if (server.steps[i].has_asked && !server.steps[i].container)
            answer(&server.steps[i]);
}

/* CONTAINER did not start: each step that waits for it starts its own container, and
 * reports why that fails. */
static void refuse_waiting(const struct container *container)
{
    for (size_t i = server.count; i-- > 0;) {
        struct step *step = &server.steps[i];

        if (step->has_asked && !step->container && fits(container, &step->question))
            refuse(step);
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

/* Read a question from a step, a process of the user. */
static int read_question(int fd, struct berth_handover *ret)
{
    if (berth_job_read(fd, ret) < 0)
        return -1;
    if (ret->words.count == BERTH_JOB_WORDS)
        return 0;
    berth_handover_fini(ret);
    return -1;
}

/* May a process with SOCKET and the descriptors FDS ask? Not a program in an image,
 * which could start programs on the host; and not a step that has other mounts than the
 * server (job_container/tmpfs). A program in an image can open no namespace of the
 * host, except under a setuid runtime, which makes no user namespace; so the process
 * that connected has to be in the namespace, too. */
static bool is_allowed(int socket, const int fds[BERTH_JOB_FDS])
{
    return berth_namespaces_is_own(fds[BERTH_JOB_USER], "user") &&
           berth_namespaces_is_own(fds[BERTH_JOB_MOUNTS], "mnt") &&
           berth_namespaces_shared(berth_job_peer(socket).pid, getpid(), "mnt");
}

static void read_step(struct step *step)
{
    int fds[BERTH_JOB_FDS];
    int kind = berth_job_receive_all(step->socket, fds, BERTH_JOB_FDS);

    if (kind < 0 && errno == EAGAIN)
        return;
    if (kind == BERTH_JOB_ASK && !step->has_asked && is_allowed(step->socket, fds)) {
        step->has_asked = read_question(fds[BERTH_JOB_HANDOVER], &step->question) == 0;
        fds[BERTH_JOB_HANDOVER] = -1;
    } else
        step->has_asked = false;
    for (size_t i = 0; i < BERTH_JOB_FDS; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    if (step->has_asked)
        answer(step);
    else
        drop_step(step);
}

/* A connection that cannot be accepted stays in the queue: wait a moment, or serve()
 * would spin. */
static void accept_step(void)
{
    enum { AGAIN_MS = 100 };
    int socket =
        accept4(BERTH_JOBSERVER_SOCKET, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct step *steps;

    if (socket < 0) {
        if (errno != EAGAIN)
            poll(NULL, 0, AGAIN_MS);
        return;
    }
    steps = server.count < server.most && berth_job_peer(socket).uid == getuid()
                ? realloc(server.steps, (server.count + 1) * sizeof(*steps))
                : NULL;
    if (!steps) {
        close(socket);
        return;
    }
    server.steps = steps;
    server.steps[server.count++] = (struct step){.socket = socket};
}

/* Read from those of FDS that are ready: first the containers, then the COUNT steps. */
static void read_ready(const struct pollfd *fds, size_t count)
{
    for (size_t i = count; i-- > 0;)
        if (fds[CONTAINERS_MAX + i].revents && i < server.count &&
            server.steps[i].socket == fds[CONTAINERS_MAX + i].fd)
            read_step(&server.steps[i]);
    for (size_t i = 0; i < CONTAINERS_MAX; i++)
        if (fds[i].revents && server.containers[i].channel == fds[i].fd)
            read_container(&server.containers[i]);
}

/* Wait for one message or more, and answer. Returns false when the extern step has
 * ended. */
static bool serve(void)
{
    enum { LISTENING, EXTERN, FIRST };
    size_t count = server.count;
    struct pollfd *fds = calloc(FIRST + CONTAINERS_MAX + count, sizeof(*fds));
    bool goes_on = fds != NULL;

    if (!fds)
        return false;
    fds[LISTENING] = (struct pollfd){.fd = BERTH_JOBSERVER_SOCKET, .events = POLLIN};
    fds[EXTERN] = (struct pollfd){.fd = server.extern_step, .events = POLLIN};
    for (size_t i = 0; i < CONTAINERS_MAX; i++)
        fds[FIRST + i] =
            (struct pollfd){.fd = server.containers[i].channel, .events = POLLIN};
    for (size_t i = 0; i < count; i++)
        fds[FIRST + CONTAINERS_MAX + i] =
            (struct pollfd){.fd = server.steps[i].socket, .events = POLLIN};
    if (poll(fds, FIRST + CONTAINERS_MAX + count, -1) > 0) {
        goes_on = !fds[EXTERN].revents;
        read_ready(fds + FIRST, count);
        if (fds[LISTENING].revents)
            accept_step();
    }
    free(fds);
    return goes_on;
}

/* Set how many steps there may be. At the limit of descriptors neither accept4(2) nor
 * poll(2) would work. */
static void set_most(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_max <= OTHERS)
        return;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    server.most =
        files.rlim_max - OTHERS < STEPS_MAX ? files.rlim_max - OTHERS : STEPS_MAX;
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

/* SPDX-License-Identifier: Apache-2.0 */
/* Sends the question of a step to the job's server, and reads the answer. */

#include "job/client.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "job/key.h"
#include "job/protocol.h"
#include "ipc/message.h"
#include "ipc/peer.h"
#include "job/variables.h"
#include "plan/envdiff.h"
#include "base/fileid.h"
#include "base/text.h"
#include "ipc/handover.h"
#include "container/namespaces.h"

extern char **environ;

/* The server is at its limit, does not answer or has ended; or the container did not
 * start, and then the step's own start reports why. */
#define NONE "the job's server has no container for the step"

/* Returns a socket, or -1: nobody listens there. */
static int connect_address(const struct berth_address *address)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -1;
    if (berth_peer_name(fd) == 0 && berth_address_connect(fd, address) == 0)
        return fd;
    close(fd);
    return -1;
}

/* The listener must be root's slurmstepd: anybody can take the address. */
static int connect_server(const struct berth_launch *launch, struct berth_err *err)
{
    struct berth_address address;
    int fd = -1;
    uid_t owner = 0;

    if (berth_job_address(getuid(), launch->order->job, launch->node, &address) == 0)
        fd = connect_address(&address);
    if (fd >= 0)
        owner = berth_peer_of(fd).uid;
    if (fd >= 0 && owner == 0)
        return fd;

    if (fd >= 0)
        close(fd);
    if (owner != 0)
        return berth_err_set(err,
                             "a process of user %u has taken the address of the job's "
                             "server on this node; ask the administrators",
                             owner);
    return berth_err_set(err,
                         "the job has no extern step on this node that can keep the "
                         "container; set PrologFlags=Contain in slurm.conf, and not "
                         "CLONE_NEWPID in namespace.yaml");
}

int berth_job_check(const struct berth_launch *launch, struct berth_err *err)
{
    int server = connect_server(launch, err);

    if (server < 0)
        return -1;
    close(server);
    return 0;
}

/* Write the order of STEP without what belongs to the step alone. */
static int put_order(const struct berth_order *step, struct berth_buf *ret,
                     struct berth_err *err)
{
    struct berth_order order = *step; /* borrows */

    order.asked = (struct berth_request){0};
    order.restored = order.programs = order.allocation = (struct berth_strvec){0};
    order.record = order.argv0 = NULL;
    order.job = 0;
    order.step = (struct berth_order_step){0};
    order.container = (struct berth_order_container){.tasks = 1};
    order.report = order.memory = order.tasks = order.ended = -1;
    return berth_order_put(&order, ret, err);
}

/* Append the identity of DIRECTORY; "": it is gone. */
static void put_identity(const char *directory, struct berth_strvec *ret)
{
    BERTH_FREE char *identity = NULL;
    struct stat status;

    if (directory && stat(directory, &status) == 0)
        identity = berth_fileid_identity(&status);
    berth_strvec_push(ret, berth_text_or(identity, ""));
}

/* Write the question. Returns the descriptor of a handover, or -1 with a sentence in
 * ERR. */
static int write_question(const struct berth_job_question *question,
                          struct berth_err *err)
{
    const struct berth_launch *launch = question->launch;
    BERTH_BUF struct berth_buf key = {0};
    BERTH_BUF struct berth_buf order = {0};
    BERTH_STRVEC struct berth_strvec words = {0};
    struct berth_job_launch job;
    const bool has_image = launch->request->image != NULL;
    const char *which = "any"; /* of the containers that fit */

    berth_job_launch_from(launch, &job);
    if (has_image && berth_job_key(&job, &key, err) < 0)
        return -1;
    if (put_order(launch->order, &order, err) < 0)
        return -1;
    if (question->own_directory)
        which = "own";
    /* In the order of enum berth_job_word. */
    berth_strvec_push(&words, berth_buf_text(&key));
    berth_strvec_push(&words, order.text);
    berth_strvec_push(&words, berth_text_or(launch->directory, ""));
    put_identity(launch->directory, &words);
    berth_strvec_push(&words, which);
    if (words.failed)
        return berth_err_oom(err);
    return berth_handover_write(&words, environ, err);
}

static void close_all(int fds[BERTH_JOB_JOIN_FDS])
{
    for (int i = 0; i < BERTH_JOB_JOIN_FDS; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
        fds[i] = -1;
    }
}

/* Write the sentence of the server's handover FD into ERR, and close FD. Always returns
 * -1. */
static int read_refusal(int fd, struct berth_err *err)
{
    struct berth_handover handover;

    if (berth_message_read_handover(fd, &handover) < 0)
        return berth_err_set(err, NONE);
    if (handover.words.count == 1)
        berth_err_set(err, "%s", handover.words.items[0]);
    else
        berth_err_set(err, NONE);
    berth_handover_fini(&handover);
    return -1;
}

/* Wait until SOCKET has an answer; without a name for half of the time that is left:
 * the rest is for a start without the server. */
static int await_message(const struct berth_job_question *question, int socket,
                         struct berth_err *err)
{
    struct pollfd fds[] = {{.fd = socket, .events = POLLIN},
                           {.fd = question->tasks, .events = POLLIN}};
    const bool is_named = question->launch->request->container_name != NULL;
    int64_t least = 0;

    if (!is_named)
        least = berth_deadline_left(question->deadline) / 2;
    while (poll(fds, 2, BERTH_DEADLINE_POLL_MS) < 0 || !fds[0].revents) {
        bool is_late = berth_deadline_left(question->deadline) < least;

        if (fds[1].revents || is_late)
            return berth_err_set(err, NONE);
    }
    return 0;
}

/* Has a message of KIND its descriptors in FDS? */
static bool is_complete(enum berth_job_kind kind, const int fds[BERTH_JOB_JOIN_FDS])
{
    if (fds[0] < 0)
        return false;
    /* the second is open as long as the container is wanted */
    return kind != BERTH_JOB_JOIN || fds[1] >= 0;
}

/* Wait for the answer of KIND. The caller owns both descriptors of RET_FDS. */
static int await(const struct berth_job_question *question, int socket,
                 enum berth_job_kind kind, int ret_fds[BERTH_JOB_JOIN_FDS],
                 struct berth_err *err)
{
    int got;

    if (await_message(question, socket, err) < 0)
        return -1;
    got = berth_message_receive_fds(socket, ret_fds, BERTH_JOB_JOIN_FDS);
    if (got == (int)kind && is_complete(kind, ret_fds))
        return 0;
    if (got == BERTH_JOB_REFUSE && ret_fds[0] >= 0) {
        read_refusal(ret_fds[0], err);
        ret_fds[0] = -1;
    } else {
        berth_err_set(err, NONE);
    }
    close_all(ret_fds);
    return -1;
}

/* Read the answer from FD, and close FD. */
static int read_answer(int fd, struct berth_job_answer *answer, struct berth_err *err)
{
    struct berth_handover handover;
    size_t changes;

    if (berth_handover_read(fd, &handover) < 0 || handover.words.count < 4 ||
        strcmp(handover.words.items[0], BERTH_VERSION) != 0)
        return berth_err_set(err, NONE);
    answer->holder.pid = atoi(handover.words.items[1]);
    answer->holder.mounts = (unsigned int)strtoul(handover.words.items[2], NULL, 10);
    changes = strtoul(handover.words.items[3], NULL, 10);
    for (size_t i = 0; i < handover.environment.count; i++) {
        struct berth_strvec *list = &answer->after;

        if (i < changes)
            list = &answer->changes;
        berth_strvec_push(list, handover.environment.items[i]);
    }
    /* remove what only this step has, too */
    if (berth_job_variables_cleaned(&answer->changes))
        berth_envdiff(environ, answer->after.items, &answer->changes);
    return berth_err_oom_if(answer->changes.failed || answer->after.failed, err);
}

/* Send the question FD, with the namespaces of this process. */
static int send_question(int socket, int fd, struct berth_err *err)
{
    BERTH_CLOSE int user = berth_namespaces_open(getpid(), "user");
    BERTH_CLOSE int mounts = berth_namespaces_open(getpid(), "mnt");
    const int fds[BERTH_JOB_FDS] = {fd, user, mounts};

    if (user < 0 || mounts < 0)
        return berth_err_set(err, NONE);
    if (berth_message_send_fds(socket, BERTH_JOB_ASK, fds, BERTH_JOB_FDS) < 0)
        return berth_err_set(err, NONE);
    return 0;
}

/* Ask, and wait for an answer of KIND. Returns the socket, or -1 with a sentence in
 * ERR.
 */
static int ask(const struct berth_job_question *question, enum berth_job_kind kind,
               int ret_fds[BERTH_JOB_JOIN_FDS], struct berth_err *err)
{
    BERTH_CLOSE int text = write_question(question, err);
    int socket;

    if (text < 0)
        return -1;
    socket = connect_server(question->launch, err);
    if (socket < 0)
        return -1;
    if (send_question(socket, text, err) == 0 &&
        await(question, socket, kind, ret_fds, err) == 0)
        return socket;
    close(socket);
    return -1;
}

int berth_job_ask(const struct berth_job_question *question,
                  struct berth_job_answer *ret_answer, struct berth_err *err)
{
    int fds[BERTH_JOB_JOIN_FDS] = {-1, -1};
    int socket = ask(question, BERTH_JOB_JOIN, fds, err);

    *ret_answer = (struct berth_job_answer){.end = -1, .user = -1};
    if (socket < 0)
        return -1;
    if (question->launch->request->container_name)
        ret_answer->user = socket;
    else
        close(socket);
    ret_answer->end = fds[1];
    if (read_answer(fds[0], ret_answer, err) == 0)
        return 0;
    berth_job_answer_fini(ret_answer);
    return -1;
}

int berth_job_find_image(const struct berth_job_question *question, char **ret_image,
                         char **ret_uri, struct berth_err *err)
{
    int fds[BERTH_JOB_JOIN_FDS] = {-1, -1};
    BERTH_CLOSE int socket = ask(question, BERTH_JOB_IMAGE, fds, err);
    struct berth_handover answer;
    bool has_image;

    if (socket < 0)
        return -1;
    if (fds[1] >= 0)
        close(fds[1]);
    if (berth_message_read_handover(fds[0], &answer) < 0)
        return berth_err_set(err, NONE);
    has_image = answer.words.count == 2;
    if (has_image) {
        *ret_image = berth_steal(&answer.words.items[0]);
        *ret_uri = NULL;
        if (*answer.words.items[1])
            *ret_uri = berth_steal(&answer.words.items[1]);
    }
    berth_handover_fini(&answer);
    if (!has_image)
        return berth_err_set(err, NONE);
    return 0;
}

void berth_job_answer_fini(struct berth_job_answer *answer)
{
    if (answer->end >= 0)
        close(answer->end);
    if (answer->user >= 0)
        close(answer->user);
    berth_strvec_fini(&answer->changes);
    berth_strvec_fini(&answer->after);
    *answer = (struct berth_job_answer){.end = -1, .user = -1};
}

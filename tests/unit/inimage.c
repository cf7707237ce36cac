/* SPDX-License-Identifier: Apache-2.0 */
/* What berth-start and berth-init do for a task that has joined its container, without
 * a container:
 *
 * inimage become [--try] [--workdir DIR] [--stay DIR] [--image-directory DIR]
 * [--prefers]
 * [--runscript FILE] [--entrypoint] COMMAND...: become COMMAND, with --entrypoint the
 * image's runscript; --prefers: in the directory of the image.
 *
 * inimage serve COMMAND...: run COMMAND with the PATH $IMAGE_PATH, and with commands of
 * the host as the order in BERTH_TASK_ORDER allows.
 *
 * inimage apart COMMAND...: become COMMAND, the only task of a step that must not join
 * a container. */

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/environ.h"
#include "inside/hostserver.h"
#include "run/task.h"
#include "container/become.h"
#include "ipc/report.h"
#include "container/start.h"

extern char **environ;

static int become(char **argv)
{
    struct berth_become it = {.pwd = getenv("PWD")};
    struct berth_err note;
    struct berth_err err;
    int only_tries = 0;
    int status = -1;

    for (; *argv && strncmp(*argv, "--", 2) == 0; argv++)
        if (strcmp(*argv, "--try") == 0)
            only_tries = 1;
        else if (strcmp(*argv, "--entrypoint") == 0)
            it.entrypoint = argv[1];
        else if (strcmp(*argv, "--prefers") == 0)
            it.prefers_image = true;
        else if (strcmp(*argv, "--image-directory") == 0)
            it.image_directory = *++argv;
        else if (strcmp(*argv, "--workdir") == 0)
            it.workdir = *++argv;
        else if (strcmp(*argv, "--runscript") == 0)
            it.runscript = *++argv;
        else
            it.stay = *++argv;
    it.command = argv;
    if (berth_become_chdir(&it, &note, &err) == 0) {
        if (*note.text)
            fprintf(stderr, "note: %s\n", note.text);
        status =
            only_tries ? berth_become_try(&it, &err) : berth_become_command(&it, &err);
    }
    if (status != 0)
        berth_report(-1, "n1", &err);
    return status < 0 ? BERTH_REFUSED : status;
}

/* Start the command of TASK in the environment of a container. */
static pid_t start(const struct berth_task *task, struct berth_hostcommand *offer)
{
    struct berth_strvec set = {0};
    pid_t child;

    setenv("PATH", getenv("IMAGE_PATH"), 1);
    setenv("IMAGES", "1", 1);
    if (offer->programs >= 0)
        offer->programs = dup2(offer->programs, BERTH_START_PROGRAMS);
    berth_hostcommand_list(offer, getpid(), environ, &set);
    for (size_t i = 0; i < set.count; i++)
        putenv(set.items[i]);
    for (char **variable = environ; *variable; variable++)
        berth_strvec_push(&offer->container, *variable);
    child = fork();
    if (child == 0) {
        close(offer->socket);
        close(BERTH_START_PROGRAMS);
        sigprocmask(SIG_SETMASK, offer->mask, NULL);
        execvp(task->launch.command[0], task->launch.command);
        _exit(BERTH_NOT_FOUND);
    }
    return child;
}

static int serve(char **argv)
{
    enum { LOOK_AGAIN_MS = 5 };
    struct berth_task task = {.order = BERTH_ORDER_EMPTY};
    struct berth_hostcommand offer;
    BERTH_STRVEC struct berth_strvec of_host = {0};
    struct berth_err err;
    sigset_t all, mask;
    pid_t child, app;
    int status;

    if (berth_task_read(&task, argv, &err) < 0)
        return berth_task_end(&task, -1, &err);
    for (char **variable = environ; *variable; variable++)
        berth_strvec_push(&of_host, *variable);
    task.launch.environment = of_host.items;
    berth_hostcommand_open(&task.launch, &offer);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &mask);
    offer.mask = &mask;
    app = start(&task, &offer);
    for (;;) {
        struct pollfd fd = {.fd = offer.server ? -1 : offer.socket, .events = POLLIN};

        if (poll(&fd, 1, LOOK_AGAIN_MS) == 1)
            berth_hostcommand_serve(&offer);
        while ((child = waitpid(-1, &status, WNOHANG)) > 0)
            if (child == app)
                return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            else
                offer.server = 0;
    }
}

static int apart(char **argv)
{
    const char *order = getenv(BERTH_TASK_ORDER);
    struct berth_rendezvous made;
    struct berth_err err;
    char *whole;

    if (order && *order && berth_rendezvous_make(&made, 1, &err) == 0) {
        berth_rendezvous_configure(&made, 60, "the test says so");
        if (asprintf(
                &whole,
                "%.*stask:container-tasks=1&memory-fd=%d&tasks-fd=%d&ended-fd=%d;.",
                (int)strlen(order) - 1, order, made.memory, made.tasks, made.ended) > 0)
            setenv(BERTH_TASK_ORDER, whole, 1);
    }
    execvp(argv[0], argv);
    return BERTH_NOT_FOUND;
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "apart") == 0)
        return apart(argv + 2);
    return argc > 2 && strcmp(argv[1], "serve") == 0 ? serve(argv + 1)
                                                     : become(argv + 2);
}

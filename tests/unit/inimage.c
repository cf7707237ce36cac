/* SPDX-License-Identifier: Apache-2.0 */
/* What berth-start and berth-init do for a task that has joined its container, without
 * a container:
 *
 * inimage become [--try] [--workdir DIR] [--stay DIR] COMMAND...: become COMMAND.
 *
 * inimage serve COMMAND...: run COMMAND with the PATH $IMAGE_PATH, and with commands of
 * the host as the order in BERTH_TASK_ORDER allows. */

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/environ.h"
#include "job/hostserver.h"
#include "run/task.h"
#include "step/become.h"
#include "step/report.h"
#include "step/start.h"

extern char **environ;

static int become(char **argv)
{
    struct berth_become it = {.pwd = getenv("PWD")};
    struct berth_err err;
    int only_tries = 0;
    int status = -1;

    for (; *argv && strncmp(*argv, "--", 2) == 0; argv++)
        if (strcmp(*argv, "--try") == 0)
            only_tries = 1;
        else if (strcmp(*argv, "--workdir") == 0)
            it.workdir = *++argv;
        else
            it.stay = *++argv;
    it.command = argv;
    if (berth_become_chdir(&it, &err) == 0)
        status =
            only_tries ? berth_become_try(&it, &err) : berth_become_command(&it, &err);
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
    for (char **variable = environ; *variable; variable++)
        berth_strvec_push(&offer->container, *variable);
    if (offer->programs >= 0)
        offer->programs = dup2(offer->programs, BERTH_START_PROGRAMS);
    berth_hostcommand_list(offer, getpid(), &set);
    berth_strvec_fini(&offer->container);
    for (size_t i = 0; i < set.count; i++)
        putenv(set.items[i]);
    for (char **variable = environ; *variable; variable++)
        berth_strvec_push(&offer->container, *variable);
    child = fork();
    if (child == 0) {
        close(offer->socket);
        close(BERTH_START_PROGRAMS);
        sigprocmask(SIG_SETMASK, offer->mask, NULL);
        execvp(task->command[0], task->command);
        _exit(BERTH_NOT_FOUND);
    }
    return child;
}

static int serve(char **argv)
{
    enum { LOOK_AGAIN_MS = 20 };
    struct berth_task task = {.order = BERTH_ORDER_EMPTY};
    struct berth_launch launch = {.order = &task.order, .request = &task.order.request};
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
    launch.environment = of_host.items;
    launch.directory = task.directory;
    launch.node = task.node;
    berth_hostcommand_open(&launch, &offer);
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

int main(int argc, char **argv)
{
    return argc > 2 && strcmp(argv[1], "serve") == 0 ? serve(argv + 1)
                                                     : become(argv + 2);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Saves the container of a step, by `berth save`. */

#include "run/saver.h"

#include <errno.h>
#include <libgen.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/cleanup.h"
#include "base/detach.h"
#include "base/installed.h"
#include "base/strvec.h"
#include "base/text.h"
#include "image/image.h"
#include "ipc/report.h"

int berth_saver_check(const struct berth_launch *launch, struct berth_err *err)
{
    const char *file = launch->request->save;
    BERTH_FREE char *copy = strdup(file);
    const char *directory;

    if (!copy)
        return berth_err_oom(err);
    directory = dirname(copy);
    if (launch->order->step.nodes > 1)
        return berth_err_set(
            err,
            "--container-save: the step has %u nodes, and each has a "
            "container of its own; save it in a step on one node (-N1)",
            launch->order->step.nodes);
    if (berth_image_check_unsaved(file, err) < 0)
        return -1;
    if (access(directory, W_OK | X_OK) == 0)
        return 0;
    return berth_err_set(err,
                         "--container-save: '%s': %s; take a directory that you may "
                         "write to on every node",
                         directory, strerror(errno));
}

struct saving {
    const struct berth_launch *launch;
    pid_t holder;
    int to;
};

/* In the child. */
static int become_save(void *data)
{
    const struct saving *saving = data;
    const struct berth_launch *launch = saving->launch;
    const char *job = berth_text_or(getenv("SLURM_JOB_ID"), "0");
    BERTH_STRVEC struct berth_strvec words = {0};
    sigset_t none;

    dup2(saving->to, STDERR_FILENO);
    berth_close_from(STDERR_FILENO + 1);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);

    berth_strvec_push(&words, berth_installed(BERTH_BINDIR "/berth"));
    berth_strvec_push(&words, "save");
    berth_strvec_push(&words, BERTH_SAVER_WORD);
    berth_strvec_pushf(&words, "%d", saving->holder);
    berth_strvec_push(&words, launch->request->save);
    berth_strvec_push(&words, berth_text_or(launch->node, ""));
    berth_strvec_push(&words, job);
    berth_strvec_push(&words, berth_request_name(launch->request));
    if (words.failed)
        return EXIT_FAILURE;
    execv(words.items[0], words.items);
    berth_report_line(STDERR_FILENO, launch->node, "--container-save: '%s': %s",
                      words.items[0], strerror(errno));
    return EXIT_FAILURE;
}

pid_t berth_saver_start(const struct berth_launch *launch, pid_t holder, int to)
{
    struct saving saving = {launch, holder, to};

    return berth_child(become_save, &saving, SIGKILL);
}

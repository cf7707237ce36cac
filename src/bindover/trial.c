/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves the mount namespace of the process for a copy of it, and comes back. */

#include "bindover/trial.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/environ.h"

extern char **environ;

static const char namespace_file[] = "/proc/self/ns/mnt";

static void close_all(const struct berth_trial *trial)
{
    const int fds[] = {trial->mounts, trial->root, trial->directory};

    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

/* Opens what the process returns to. */
static bool open_all(struct berth_trial *trial)
{
    trial->mounts = open(namespace_file, O_RDONLY | O_CLOEXEC);
    trial->root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    trial->directory = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return trial->mounts >= 0 && trial->root >= 0 && trial->directory >= 0;
}

/* Enters a copy of the mount namespace, out of which no mount propagates. */
static int enter_copy(void)
{
    if (unshare(CLONE_NEWNS) < 0)
        return -1;
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

int berth_trial_begin(struct berth_trial *trial, struct berth_err *err)
{
    *trial = (struct berth_trial){0};
    for (char **it = environ; it && *it; it++)
        berth_strvec_push(&trial->before, *it);
    if (trial->before.failed) {
        berth_strvec_fini(&trial->before);
        return berth_err_oom(err);
    }

    if (!open_all(trial) || enter_copy() < 0) {
        berth_err_file(err, namespace_file, "copied");
        close_all(trial);
        berth_strvec_fini(&trial->before);
        return -1;
    }
    trial->is_open = true;
    return 0;
}

/* Returns to the namespace, where setns(2) sets root and working directory to the top
 * of all mounts. */
static int leave_copy(const struct berth_trial *trial)
{
    if (setns(trial->mounts, CLONE_NEWNS) < 0)
        return -1;
    if (fchdir(trial->root) < 0 || chroot(".") < 0)
        return -1;
    return fchdir(trial->directory);
}

static int restore_environment(const struct berth_trial *trial)
{
    if (clearenv() != 0)
        return -1;
    for (size_t i = 0; i < trial->before.count; i++)
        if (berth_environ_set(trial->before.items[i]) < 0)
            return -1;
    return 0;
}

int berth_trial_end(struct berth_trial *trial, struct berth_err *err)
{
    int result = 0;

    if (!trial->is_open)
        return 0;
    if (leave_copy(trial) < 0)
        result = berth_err_file(err, namespace_file, "entered again");
    close_all(trial);
    if (restore_environment(trial) < 0)
        result = berth_err_oom(err);
    berth_strvec_fini(&trial->before);
    *trial = (struct berth_trial){0};
    return result;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Starts berth-mpi, which binds the host's MPI into a container, and receives the
 * binding. */

#include "run/binder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/cleanup.h"
#include "base/detach.h"
#include "base/environ.h"
#include "base/installed.h"
#include "base/run.h"
#include "base/tree.h"
#include "mpi/reach.h"
#include "plan/fallback.h"
#include "site/fabric.h"
#include "site/mountrules.h"
#include "image/allowed.h"
#include "site/profilesread.h"
#include "site/siteread.h"
#include "ipc/channel.h"
#include "ipc/handover.h"
#include "ipc/loadmark.h"
#include "container/program.h"
#include "container/stageroot.h"

/* The descriptors of berth-mpi, which are 3, 4, ... there: the order, and the
 * environment of the task on the host; the command, and the environment in the
 * container; ipc/channel.h; as in struct berth_binder. */
enum { TASK, CONTAINER, CHANNEL, TASK_STDERR, DESCRIPTORS, FIRST = 3 };

static int open_root(struct berth_stage_root root)
{
    return berth_tree_open(root.path, root.owner, root.forbidden, NULL, NULL);
}

/* Locks the directory FD (-1: none) until this process ends. systemd-tmpfiles has such
 * a lock itself while it cleans. */
static void lock_directory(const struct berth_binder *binder, int fd)
{
    static const struct timespec moment = {.tv_nsec = 50000000};

    if (fd < 0)
        return;
    while (flock(fd, LOCK_SH | LOCK_NB) < 0) {
        bool may_succeed = errno == EWOULDBLOCK || errno == EINTR;

        if (!may_succeed || berth_deadline_left(binder->deadline) <= 0)
            return;
        nanosleep(&moment, NULL);
    }
}

/* Locks the stage NAME in the directory ROOT. */
static void lock_stage(const struct berth_binder *binder, int root, const char *name)
{
    if (*name != '.')
        lock_directory(binder, openat(root, name,
                                      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

/* Locks the user's stages, and the directory that they are in, for as long as the step
 * runs on its node: systemd-tmpfiles descends into no directory that is locked
 * (tmpfiles.d(5)). A stage that the step makes is too young for it. */
static void lock_stages(const struct berth_binder *binder)
{
    char path[BERTH_STAGE_USER_SIZE];
    BERTH_CLOSEDIR DIR *list = NULL;
    const struct dirent *entry;
    int root;

    if (!berth_request_may_stage(binder->launch->request))
        return;
    root = open_root(berth_stage_user(path));
    lock_directory(binder, root);
    if (root < 0)
        return;
    list = opendir(path);
    if (!list)
        return;
    for (entry = readdir(list); entry; entry = readdir(list))
        lock_stage(binder, root, entry->d_name);
}

static int write_handovers(const struct berth_binder *binder, int fds[DESCRIPTORS],
                           struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec words = {0};
    BERTH_STRVEC struct berth_strvec command = {0};
    BERTH_BUF struct berth_buf text = {0};
    const struct berth_launch *launch = binder->launch;
    struct berth_order order = *launch->order; /* borrows */

    order.request = *launch->request;
    order.asked = (struct berth_request){0}; /* of no use to berth-mpi */
    order.mpi = (struct berth_order_mpi){
        .holder = binder->holder.pid,
        .mounts = binder->holder.mounts,
        .seconds = (int)(berth_deadline_left(binder->deadline) / 1000),
        .task_stderr = -1,
        .directory = (char *)launch->directory,
        .image_directory = (char *)launch->image_directory,
        .prefers_image = berth_launch_prefers_image(launch),
    };
    if (binder->task_stderr >= 0)
        order.mpi.task_stderr = FIRST + TASK_STDERR;
    if (berth_order_put(&order, &text, err) < 0)
        return -1;
    berth_strvec_push(&words, text.text);
    berth_launch_command(launch, &command);
    if (words.failed || command.failed)
        return berth_err_oom(err);
    fds[TASK] = berth_handover_write(&words, launch->environment, err);
    if (fds[TASK] < 0)
        return -1;
    fds[CONTAINER] = berth_handover_write(&command, binder->environment, err);
    if (fds[CONTAINER] < 0)
        return -1;
    return 0;
}

/* In a child: become berth-mpi, which inherits CHANNEL and the descriptors DATA, and no
 * other one. It gets no variable of the user: LD_LIBRARY_PATH is for the application.
 */
static int become_program(int channel, void *data)
{
    int *fds = data;
    static char *const environment[] = {(char *)"PATH=/usr/bin:/bin:/usr/sbin:/sbin",
                                        NULL};
    static char *const argv[] = {(char *)"berth-mpi", (char *)"3", (char *)"4",
                                 (char *)"5", NULL};
    const char *program = berth_installed(BERTH_LIBEXECDIR "/berth-mpi");
    struct berth_err err;

    fds[CHANNEL] = channel;
    berth_close_others(fds, DESCRIPTORS);
    execve(program, argv, environment);
    berth_program_missing(program, &err);
    berth_channel_refuse(FIRST + CHANNEL, &err);
    return EXIT_FAILURE;
}

/* Receive the binding: until berth-mpi is done, or refuses. */
static int receive(const struct berth_binder *binder, int channel,
                   struct berth_binding *ret, struct berth_err *err)
{
    BERTH_BUF struct berth_buf bytes = {0};
    struct berth_channel_message message;

    for (;;) {
        if (berth_channel_receive(channel, binder->deadline, &message, err) < 0)
            return -1;
        if (message.kind != BERTH_CHANNEL_RESULT)
            break;
        berth_buf_add(&bytes, message.text, message.count);
    }

    if (message.kind != BERTH_CHANNEL_DONE)
        return berth_channel_refusal(&message, err);
    if (bytes.failed)
        return berth_err_oom(err);
    return berth_binding_get(bytes.text, bytes.used, ret, err);
}

static int start_program(const struct berth_binder *binder, int fds[DESCRIPTORS],
                         struct berth_binding *ret_binding,
                         struct berth_binder_witness *ret_witness,
                         struct berth_err *err)
{
    int channel;
    pid_t child = berth_child_with_channel(become_program, fds, 0, &channel);

    if (child < 0)
        return berth_err_spent(err, errno);
    if (receive(binder, channel, ret_binding, err) == 0) {
        *ret_witness = (struct berth_binder_witness){child, channel};
        return 0;
    }

    close(channel);
    kill(child, SIGKILL);
    berth_run_wait(child);
    return -1;
}

int berth_binder_run(const struct berth_binder *binder,
                     struct berth_binding *ret_binding,
                     struct berth_binder_witness *ret_witness, struct berth_err *err)
{
    int fds[DESCRIPTORS] = {-1, -1, -1, binder->task_stderr};
    int result;

    *ret_binding = (struct berth_binding){0};
    *ret_witness = (struct berth_binder_witness){0};
    if (!berth_request_looks_inside(binder->launch->request))
        return 0;
    lock_stages(binder);
    result = write_handovers(binder, fds, err);
    if (result == 0)
        result = start_program(binder, fds, ret_binding, ret_witness, err);
    for (int i = TASK; i <= CONTAINER; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    return result;
}

int berth_binder_mounts(const struct berth_request *request,
                        struct berth_strvec *mounts, struct berth_err *err)
{
    char path[BERTH_STAGE_USER_SIZE];
    const struct berth_stage_root site = berth_stage_site();
    struct berth_stage_root user;
    BERTH_CLOSE int user_root = -1;
    BERTH_CLOSE int site_root = -1;
    bool has_stages;

    if (!berth_request_may_stage(request))
        return 0;
    user = berth_stage_user_made(path);
    user_root = berth_stage_root_open(&user, err);
    site_root = open_root(site);
    has_stages = user_root >= 0 || site_root >= 0;

    /* else staging fails for the same reason, and the image's MPI runs */
    if (!has_stages && berth_request_mpi_must_host(request))
        return berth_err_at(err, "--mpi-bind");
    if (user_root >= 0)
        berth_strvec_pushf(mounts, "%s:%s:ro", user.path, user.mounted);
    if (site_root >= 0)
        berth_strvec_pushf(mounts, "%s:%s:ro", site.path, site.mounted);
    /* any directory that every node has: marks are mounted over it (ipc/loadmarks.h) */
    if (has_stages)
        berth_strvec_push(mounts, "/usr:" BERTH_MARK_DIRECTORY ":ro");
    return berth_err_oom_if(mounts->failed, err);
}

/* Append the mounts of the paths that match PATTERN. */
static void add_devices(const char *pattern, struct berth_strvec *mounts)
{
    glob_t found;

    if (glob(pattern, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *path = found.gl_pathv[i];

        if (!strchr(path, ':')) /* which separates source and destination */
            berth_strvec_pushf(mounts, "%s:%s:rw", path, path);
    }
    globfree(&found);
}

int berth_binder_devices(const struct berth_strvec *patterns,
                         struct berth_strvec *mounts, struct berth_err *err)
{
    for (size_t i = 0; i < patterns->count; i++)
        add_devices(patterns->items[i], mounts);
    return berth_err_oom_if(mounts->failed, err);
}

int berth_binder_fabric(const struct berth_request *request,
                        const struct berth_terms *terms, struct berth_strvec *mounts,
                        struct berth_err *err)
{
    BERTH_PROFILE_SET struct berth_profile_set set = {0};
    BERTH_STRVEC struct berth_strvec binds = {0};
    BERTH_STRVEC struct berth_strvec devices = {0};
    BERTH_STRVEC struct berth_strvec present = {0};

    if (!berth_request_may_stage(request))
        return 0;
    if (berth_profiles_read(terms, berth_site_owner(), &set, err) < 0 ||
        berth_fabric_list(set.items, request, &binds, &devices, err) < 0)
        return -1;
    /* a profile lists what some nodes have */
    if (berth_allowed_present(&binds, &present, err) < 0 ||
        berth_binder_devices(&devices, &present, err) < 0)
        return -1;
    for (size_t i = 0; i < present.count; i++)
        if (!berth_mountrules_has_destination(&request->mounts, present.items[i],
                                              &mounts->failed))
            berth_strvec_push(mounts, present.items[i]);
    return berth_err_oom_if(mounts->failed, err);
}

/* The host's libraries cannot be mounted, BECAUSE: may the image's run on NODES nodes,
 * of which others may have them? Returns 0, or -1 with a sentence in ERR. */
static int fall_back(const struct berth_request *request, unsigned int nodes,
                     const struct berth_err *because, struct berth_err *err)
{
    if (berth_request_mpi_must_host(request))
        return berth_err_set(err, "%s; choose --mpi-bind=hybrid", because->text);
    if (berth_request_names_libs(request))
        return berth_err_set(err, "%s; leave --container-libs out", because->text);
    if (berth_request_mpi_may_host(request))
        return berth_fallback_mpi(request, nodes, BERTH_REASON_NODE, because, err);
    return berth_fallback_fabric(request, nodes, BERTH_REASON_NODE, because, err);
}

int berth_binder_separate(const struct berth_launch *launch, pid_t holder,
                          const char *why, struct berth_binding *binding,
                          struct berth_err *err)
{
    const struct berth_request *request = launch->request;
    const char *nodes =
        berth_environ_value(launch->environment, "SLURM_STEP_NUM_NODES");
    struct berth_mpi_reach reach = {.separate = launch->order->container.tasks,
                                    .nodes = 1,
                                    .shm = launch->order->is_closed};
    struct berth_err because, note;

    if (nodes)
        reach.nodes = (unsigned int)atoi(nodes);
    if (holder)
        berth_namespaces_find_reach(holder, &reach);
    if (berth_request_mpi_chosen(request) &&
        berth_mpi_check_reach(&reach, 0, "its MPI", err) < 0)
        return -1;
    if (!berth_request_may_stage(request))
        return 0;

    berth_err_set(&because, "%s, so nothing can be mounted in its containers", why);
    if (fall_back(request, reach.nodes, &because, err) < 0)
        return -1;
    if (berth_request_has_libs(request))
        berth_err_set(
            &note, "the image's own MPI runs, on its own network libraries: %s", why);
    else
        berth_err_set(&note, "the image's own MPI runs (hybrid): %s", why);
    binding->note = strdup(note.text);
    return berth_err_oom_if(!binding->note, err);
}

void berth_binder_end(const struct berth_binder_witness *watcher, bool failed)
{
    char byte = BERTH_CHANNEL_SUCCEEDED;

    if (!watcher->pid)
        return;
    if (failed)
        byte = BERTH_CHANNEL_FAILED;
    send(watcher->end, &byte, 1, MSG_NOSIGNAL);
    close(watcher->end);
}

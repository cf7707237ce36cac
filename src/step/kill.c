/* SPDX-License-Identifier: Apache-2.0 */
/* Kills what is left of a container, or of its start. */

#include "step/kill.h"

#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "step/servers.h"
#include "step/namespaces.h"
#include "step/processes.h"

static bool kill_child(const struct berth_process *process, void *parent)
{
    return process->parent == *(const pid_t *)parent &&
           !berth_servers_has_name(process->name) && kill(process->pid, SIGKILL) == 0;
}

void berth_kill_holder(struct berth_holder holder)
{
    BERTH_CLOSE int process = berth_process_open(holder.pid);

    if (!berth_holder_is_there(holder))
        return;
    if (process >= 0)
        berth_process_signal(process, SIGKILL);
    else /* before Linux 5.3 */
        kill(holder.pid, SIGKILL);
}

void berth_kill_children(void)
{
    pid_t self = getpid();

    berth_processes_each_child(&self, 1, kill_child, &self);
}

/* A mount namespace, and a process in it that is not killed. */
struct space {
    ino_t number;
    pid_t but;
};

/* Most processes of a node are root's, threads of the kernel among them, and a user
 * cannot kill these: to read who owns a process takes a third of the time. */
static bool may_kill(pid_t pid)
{
    char path[32];
    struct stat process;

    snprintf(path, sizeof(path), "/proc/%d", pid);
    return geteuid() == 0 || (stat(path, &process) == 0 && process.st_uid != 0);
}

static bool kill_in_space(pid_t pid, void *data)
{
    const struct space *wanted = data;
    char path[64];
    struct stat space;

    if (!may_kill(pid))
        return false;
    snprintf(path, sizeof(path), "/proc/%d/ns/mnt", pid);
    return pid != wanted->but && stat(path, &space) == 0 &&
           space.st_ino == wanted->number && kill(pid, SIGKILL) == 0;
}

void berth_kill_namespace(int space, pid_t but)
{
    enum { ROUNDS = 10 }; /* a process that is seen may start one that is not */
    struct space wanted = {.but = but};
    struct stat status;

    if (berth_namespaces_is_own(space, "mnt") || fstat(space, &status) < 0)
        return;
    wanted.number = status.st_ino;
    for (int i = 0; i < ROUNDS && berth_processes_each_pid(kill_in_space, &wanted) > 0;
         i++)
        ;
}

/* Is PROCESS a server that has not detached itself yet, or its fusermount? To kill one
 * of them would leave a mount without a server. */
static bool is_mounting(const struct berth_process *process, pid_t runtime)
{
    struct berth_process above;

    return berth_text_starts(process->name, "fusermount") ||
           (berth_servers_has_name(process->name) &&
            (process->parent == runtime ||
             (berth_process_read(process->parent, &above) &&
              berth_servers_has_name(above.name))));
}

/* Kill PROCESS if it descends from *DATA. A server gets its signal later, so that it
 * can unmount.
 */
static bool kill_descendant(const struct berth_process *process, void *data)
{
    struct berth_process above = *process;
    pid_t parent = *(const pid_t *)data;

    if (is_mounting(process, parent))
        return false;
    while (above.parent > 1 && above.parent != parent)
        if (!berth_process_read(above.parent, &above))
            return false;
    return above.parent == parent && kill(process->pid, SIGKILL) == 0;
}

bool berth_kill_tree(pid_t pid)
{
    kill(pid, SIGSTOP);
    berth_processes_each(kill_descendant, &pid);
    return kill(pid, SIGKILL) == 0;
}

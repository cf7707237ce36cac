/* SPDX-License-Identifier: Apache-2.0 */
/* Compares and opens namespaces of processes: which parts of the node does a container
 * share? */

#include "container/namespaces.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/fd.h"
#include "base/text.h"
#include "container/processes.h"

/* The inode number of namespace NAME of process PID; 0: it cannot be seen. */
static ino_t find_number(pid_t pid, const char *name)
{
    char path[64];
    struct stat status;

    snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, name);
    if (stat(path, &status) < 0)
        return 0;
    return status.st_ino;
}

struct berth_holder berth_holder_of(pid_t pid)
{
    return (struct berth_holder){pid, (unsigned int)find_number(pid, "mnt")};
}

bool berth_holder_is_there(struct berth_holder holder)
{
    return holder.mounts && berth_holder_of(holder.pid).mounts == holder.mounts;
}

int berth_holder_open(struct berth_holder holder)
{
    int fd = berth_namespaces_open(holder.pid, "mnt");
    struct stat status;

    if (fd < 0)
        return -1;
    if (fstat(fd, &status) == 0 && status.st_ino == holder.mounts)
        return fd;
    close(fd);
    errno = ESRCH;
    return -1;
}

void berth_holder_kill(struct berth_holder holder)
{
    BERTH_CLOSE int process = berth_process_open(holder.pid);

    if (!berth_holder_is_there(holder))
        return;
    if (process >= 0)
        berth_process_signal(process, SIGKILL);
    else /* before Linux 5.3 */
        kill(holder.pid, SIGKILL);
}

bool berth_namespaces_differ(pid_t pid, const char *name)
{
    ino_t ours = find_number(getpid(), name);
    ino_t theirs = find_number(pid, name);

    return ours && theirs && ours != theirs;
}

bool berth_namespaces_shared(pid_t pid, pid_t other, const char *name)
{
    ino_t number = find_number(pid, name);

    return number && number == find_number(other, name);
}

bool berth_namespaces_is_own(int fd, const char *name)
{
    char path[64];
    struct stat it, ours;

    snprintf(path, sizeof(path), "/proc/self/ns/%s", name);
    if (fstat(fd, &it) < 0 || stat(path, &ours) < 0)
        return false;
    return it.st_dev == ours.st_dev && it.st_ino == ours.st_ino;
}

int berth_namespaces_open(pid_t pid, const char *name)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
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

    if (geteuid() == 0)
        return true;
    snprintf(path, sizeof(path), "/proc/%d", pid);
    return stat(path, &process) == 0 && process.st_uid != 0;
}

static bool kill_in_space(pid_t pid, void *data)
{
    const struct space *wanted = data;
    char path[64];
    struct stat space;

    if (pid == wanted->but || !may_kill(pid))
        return false;
    snprintf(path, sizeof(path), "/proc/%d/ns/mnt", pid);
    if (stat(path, &space) < 0 || space.st_ino != wanted->number)
        return false;
    return kill(pid, SIGKILL) == 0;
}

void berth_namespaces_kill(int fd, pid_t but)
{
    enum { ROUNDS = 10 }; /* a process that is seen may start one that is not */
    struct space wanted = {.but = but};
    struct stat status;
    int killed = 1;

    if (berth_namespaces_is_own(fd, "mnt") || fstat(fd, &status) < 0)
        return;
    wanted.number = status.st_ino;
    for (int i = 0; i < ROUNDS && killed > 0; i++)
        killed = berth_processes_each_pid(kill_in_space, &wanted);
}

/* Programs of the image that are root in that namespace could trace this process, and
 * see the host's files by it, but for one that is not dumpable (ptrace(2)). */
bool berth_namespaces_has_others(pid_t pid)
{
    char path[64];
    unsigned long inside, outside, count;
    unsigned long all = 0;
    BERTH_FCLOSE FILE *map = NULL;

    snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
    map = fopen(path, "re");
    while (map && fscanf(map, "%lu %lu %lu", &inside, &outside, &count) == 3)
        all += count;
    return all > 1;
}

bool berth_namespaces_is_root(pid_t pid)
{
    const unsigned long user = geteuid();
    char path[64];
    unsigned long inside, outside, count;
    BERTH_FCLOSE FILE *map = NULL;

    snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
    map = fopen(path, "re");
    while (map && fscanf(map, "%lu %lu %lu", &inside, &outside, &count) == 3)
        if (inside == 0)
            return outside == user;
    return false;
}

int berth_namespaces_enter_user(pid_t pid)
{
    BERTH_CLOSE int user = berth_namespaces_open(pid, "user");

    prctl(PR_SET_DUMPABLE, 0);
    if (user < 0)
        return -1;
    return setns(user, CLONE_NEWUSER);
}

static int write_file(const char *path, const char *text)
{
    BERTH_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return -1;
    return berth_fd_write(fd, text, strlen(text));
}

static int write_map(const char *path, unsigned int id, unsigned int outer_id)
{
    char line[64];

    snprintf(line, sizeof(line), "%u %u 1", id, outer_id);
    return write_file(path, line);
}

/* user_namespaces(7): an ordinary user may write the map of groups only after
 * setgroups(2) is denied. */
int berth_namespaces_map(uid_t uid, uid_t outer_uid, gid_t gid, gid_t outer_gid)
{
    if (write_file("/proc/self/setgroups", "deny") < 0)
        return -1;
    if (write_map("/proc/self/uid_map", uid, outer_uid) < 0)
        return -1;
    return write_map("/proc/self/gid_map", gid, outer_gid);
}

static bool has_separate_memory(pid_t holder)
{
    char path[64];
    struct stat ours, theirs;

    snprintf(path, sizeof(path), "/proc/%d/root/dev/shm", holder);
    if (stat("/dev/shm", &ours) < 0 || stat(path, &theirs) < 0)
        return false;
    return ours.st_dev != theirs.st_dev;
}

void berth_namespaces_find_reach(pid_t holder, struct berth_mpi_reach *reach)
{
    reach->pid = berth_namespaces_differ(holder, "pid");
    reach->ipc = berth_namespaces_differ(holder, "ipc");
    reach->network = berth_namespaces_differ(holder, "net");
    reach->shm = has_separate_memory(holder);
}

/* Slurm makes a directory for the clients of a step below TmpFS, or where mpi.conf
 * says. No variable names it. By default it is below the directory of the server; if it
 * is elsewhere, it counts as hidden, too. */
bool berth_namespaces_is_pmix_hidden(pid_t holder, char *const *task)
{
    static const char start[] = "slurm.pmix.";
    const char *step = berth_environ_value(task, "PMIX_NAMESPACE");
    const char *modules = berth_environ_value(task, "PMIX_GDS_MODULE");
    const char *top = berth_environ_value(task, "PMIX_SYSTEM_TMPDIR");
    BERTH_FREE char *path = NULL;

    if (!step || !berth_text_starts(step, start))
        return false;
    if (!modules || !strstr(modules, "shmem"))
        return false;
    if (!top)
        top = "/tmp";
    if (asprintf(&path, "/proc/%d/root%s/spmix_appdir_%u_%s", holder, top, getuid(),
                 step + strlen(start)) < 0) {
        path = NULL;
        return false;
    }
    return access(path, X_OK) < 0;
}

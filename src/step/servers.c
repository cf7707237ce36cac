/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the programs that serve the image of a container, checks which file they serve,
 * ends them, and removes what they leave. Nothing shows which runtime made a directory,
 * so only this is removed: a mount without a server, and an empty directory that no
 * runtime is about to use. */

#include "step/servers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/environ.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/opened.h"
#include "step/namespaces.h"
#include "step/processes.h"

/* Is NAME (comm) that of a server? */
static bool has_name(const char *name)
{
    static const char *const names[] = {"squashfuse", "fuse-overlayfs", "fuse2fs",
                                        "gocryptfs", NULL};

    return berth_text_starts_any(name, names);
}

static bool is_ours(const struct berth_process *process,
                    const struct berth_servers *servers)
{
    return has_name(process->name) &&
           (process->parent == servers->runtime ||
            (servers->socket &&
             berth_opened_by(process->pid, servers->socket) == BERTH_OPENED_YES));
}

/* Of the servers of RUNTIME. Those of SingularityCE are children of its parent, ABOVE
 * (0: not known). */
struct usage {
    pid_t runtime, above;
    struct berth_servers_usage *ret;
};

static bool add_usage(const struct berth_process *process, void *data)
{
    const struct usage *it = data;
    struct berth_servers_usage *ret = it->ret;

    if (!has_name(process->name) || (process->parent != it->runtime &&
                                     (it->above <= 1 || process->parent != it->above)))
        return false;
    if (ret->count < sizeof(ret->pids) / sizeof(*ret->pids))
        ret->pids[ret->count] = process->pid;
    ret->count++;
    ret->kib += process->pages * (sysconf(_SC_PAGESIZE) / 1024);
    ret->ms += (long)process->ticks * 1000 / sysconf(_SC_CLK_TCK);
    return true;
}

static pid_t parent_of(pid_t pid)
{
    struct berth_process process;

    return pid > 1 && berth_process_read(pid, &process) ? process.parent : 0;
}

void berth_servers_usage(pid_t holder, struct berth_servers_usage *ret)
{
    struct usage usage = {.runtime = parent_of(holder), .ret = ret};
    pid_t parents[2];

    *ret = (struct berth_servers_usage){0};
    usage.above = parent_of(usage.runtime);
    parents[0] = usage.runtime;
    parents[1] = usage.above;
    if (usage.runtime > 1)
        berth_processes_each_child(parents, usage.above > 1 ? 2 : 1, add_usage, &usage);
}

/* Call FUNCTION with each process that may be a server, and with DATA. Returns as
 * berth_processes_each(). A large node has thousands of processes, and tasks wait. */
static int each(const struct berth_servers *servers,
                bool (*function)(const struct berth_process *, void *), void *data)
{
    const pid_t parents[] = {servers->reaper, servers->runtime};

    return berth_processes_each_child(
        parents, servers->runtime == servers->reaper ? 1 : 2, function, data);
}

/* Trace the threads of PID that are not traced yet. Returns how many. They end with
 * this process: if a server is stopped that nobody traces, tasks that wait for it
 * cannot be killed. */
static int seize_threads(pid_t pid)
{
    char path[64];
    struct dirent *entry;
    DIR *directory;
    int count = 0;

    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    directory = opendir(path);
    while (directory && (entry = readdir(directory)))
        count += entry->d_name[0] != '.' &&
                 ptrace(PTRACE_SEIZE, atoi(entry->d_name), 0,
                        PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL) == 0;
    if (directory)
        closedir(directory);
    return count;
}

/* Trace all threads of PROCESS, because a signal to a process goes to any thread that
 * is not stopped. A traced thread starts traced threads, so all are traced when a round
 * finds no other. */
static bool seize(const struct berth_process *process, void *servers)
{
    bool seized = false;

    if (!is_ours(process, servers))
        return false;
    while (seize_threads(process->pid) > 0)
        seized = true;
    return seized;
}

int berth_servers_seize(struct berth_servers *servers)
{
    return each(servers, seize, servers);
}

/* Is THREAD a thread of PROCESS? */
static bool is_thread_of(pid_t thread, pid_t process)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/task/%d", process, thread);
    return access(path, F_OK) == 0;
}

/* May the signal that stopped the thread PID reach it? Yes, if it is from the kernel (a
 * fault, a broken pipe), from RUNTIME or this process, which end the server, or from a
 * thread of the same process (pthread_cancel(3)). */
static bool is_allowed(pid_t pid, pid_t runtime)
{
    siginfo_t info;

    if (ptrace(PTRACE_GETSIGINFO, pid, 0, &info) < 0)
        return true;
    return info.si_code > 0 || info.si_pid == runtime || info.si_pid == getpid() ||
           is_thread_of(pid, info.si_pid);
}

/* Let PID go on from a stop with STATUS, as waitpid(2) tells it. */
static void go_on(pid_t pid, int status, pid_t runtime)
{
    int number = WSTOPSIG(status);
    int event = status >> 16;

    if (event == PTRACE_EVENT_STOP && number != SIGTRAP)
        ptrace(PTRACE_LISTEN, pid, 0, 0);
    else if (event)
        ptrace(PTRACE_CONT, pid, 0, 0);
    else
        ptrace(PTRACE_CONT, pid, 0, is_allowed(pid, runtime) ? number : 0);
}

/* As wait4(-1, ...); reads the name of the process before, because it is gone
 * afterwards. */
static pid_t wait_next(struct berth_servers *servers, int *ret_status)
{
    struct berth_process process;
    siginfo_t info = {0};

    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0)
        return -1;
    if (info.si_pid == 0)
        return 0;
    servers->is_server =
        berth_process_read(info.si_pid, &process) && has_name(process.name);
    /* its last thread may still remove what was read of it in /proc: wait4() spins */
    poll(NULL, 0, 2);
    return wait4(info.si_pid, ret_status, __WALL | WNOHANG, &servers->usage);
}

pid_t berth_servers_reap(struct berth_servers *servers, int *ret_status)
{
    int status;
    pid_t pid;

    while ((pid = wait_next(servers, &status)) > 0 && WIFSTOPPED(status))
        go_on(pid, status, servers->runtime);
    if (pid > 0 && ret_status)
        *ret_status = status;
    return pid;
}

static void wake(int number)
{
    (void)number; /* the signal interrupts ppoll() */
}

void berth_servers_wait(struct pollfd fds[], nfds_t count, int milliseconds)
{
    const struct sigaction action = {.sa_handler = wake};
    const struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    sigset_t others;

    sigaction(SIGCHLD, &action, NULL);
    sigfillset(&others);
    sigdelset(&others, SIGCHLD);
    for (nfds_t i = 0; i < count; i++)
        fds[i].revents = 0; /* an interrupted ppoll() leaves them as they are */
    ppoll(fds, count, milliseconds < 0 ? NULL : &time, &others);
}

/* A user can unmount FUSE only through a setuid program. */
static void unmount(const char *place)
{
    static const char *const programs[] = {"/usr/bin/fusermount3",
                                           "/usr/bin/fusermount"};
    char *const environment[] = {NULL};
    pid_t pid;

    if (umount2(place, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
        return;
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        const char *const argv[] = {programs[i], "-q", "-u", "-z", "--", place, NULL};

        if (posix_spawn(&pid, programs[i], NULL, NULL, (char *const *)argv,
                        environment) == 0) {
            waitpid(pid, NULL, 0);
            return;
        }
    }
}

/* Remove the mount at PLACE, rootfs-NUMBER/root, whose server has ended, and its
 * directories. Changes the text PLACE. */
static void remove_mount(char *place)
{
    if (rmdir(place) < 0) {
        unmount(place);
        rmdir(place);
    }
    *strrchr(place, '/') = '\0';
    rmdir(place);
}

/* Has SingularityCE made PLACE, /tmp/rootfs-NUMBER/root, for its server? */
static bool is_made_by_runtime(const char *place)
{
    const char *slash = strrchr(place, '/');
    BERTH_FREE char *above = slash ? strndup(place, (size_t)(slash - place)) : NULL;

    return above && *above == '/' &&
           berth_text_starts(berth_text_base(above), "rootfs-");
}

/* The last word of the command line of a server is the place where it mounts. */
static void remember_mount(pid_t pid, struct berth_strvec *mounts)
{
    BERTH_STRVEC struct berth_strvec words = {0};
    BERTH_BUF struct berth_buf text = {0};
    char path[32];

    snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
    if (berth_namespaces_differ(pid, "mnt") ||
        berth_fd_read_path(path, SIZE_MAX, &text) < 0 || !text.used)
        return;
    berth_environ_split(text.text, text.used, &words);
    if (!words.failed && is_made_by_runtime(words.items[words.count - 1]))
        berth_strvec_push_once(mounts, words.items[words.count - 1]);
}

/* The servers that end, and the signal that they get. */
struct order {
    struct berth_servers *servers;
    int number;
};

static bool end(const struct berth_process *process, void *data)
{
    const struct order *order = data;

    if (!is_ours(process, order->servers))
        return false;
    remember_mount(process->pid, &order->servers->mounts);
    return kill(process->pid, order->number) == 0;
}

void berth_servers_end(struct berth_servers *servers, int rounds)
{
    if (rounds >= BERTH_SERVERS_PATIENCE)
        each(servers, end,
             &(struct order){servers,
                             rounds < 2 * BERTH_SERVERS_PATIENCE ? SIGTERM : SIGKILL});
}

void berth_servers_tidy(struct berth_servers *servers)
{
    for (size_t i = 0; i < servers->mounts.count; i++)
        remove_mount(servers->mounts.items[i]);
    berth_strvec_fini(&servers->mounts);
}

static bool kill_other(const struct berth_process *process, void *parent)
{
    return process->parent == *(const pid_t *)parent && !has_name(process->name) &&
           !berth_text_starts(process->name, "fusermount") &&
           kill(process->pid, SIGKILL) == 0;
}

void berth_servers_kill_others(void)
{
    pid_t self = getpid();

    berth_processes_each_child(&self, 1, kill_other, &self);
}

/* The file that is looked for in the servers; and has any server been found? */
struct search {
    struct berth_servers *servers;
    const char *identity;
    bool any;
};

static bool has_image(const struct berth_process *process, void *data)
{
    struct search *search = data;

    if (!is_ours(process, search->servers))
        return false;
    search->any = true;
    return berth_opened_by(process->pid, search->identity) == BERTH_OPENED_YES;
}

int berth_servers_check(struct berth_servers *servers, const char *identity,
                        const char *image, bool *ret_unpacked, struct berth_err *err)
{
    struct stat st;
    bool is_there = stat(image, &st) == 0;
    bool is_directory = is_there && S_ISDIR(st.st_mode);
    BERTH_FREE char *now = is_there ? berth_opened_identity(&st) : NULL;
    struct search search = {.servers = servers, .identity = identity ? identity : now};

    *ret_unpacked = false;
    if (!search.identity ||
        berth_opened_by(servers->runtime, search.identity) != BERTH_OPENED_NO ||
        each(servers, has_image, &search) > 0)
        return 0;
    if (!identity)
        *ret_unpacked = !search.any && !is_directory && geteuid() != 0;
    else if (search.any || is_directory)
        return berth_err_set(err, BERTH_OPENED_EXCHANGED, image);
    else
        return berth_err_set(err,
                             BERTH_SERVERS_UNPACKED
                             "so that it cannot be compared with the file that this "
                             "site allows" BERTH_SERVERS_REPAIR,
                             image);
    return 0;
}

/* Can PROGRAM be the name of PROCESS (comm has at most 15 bytes: proc(5))? */
static bool is_called(const struct berth_process *process, const char *program)
{
    return strncmp(process->name, program, 15) == 0;
}

/* Is PROCESS one of RUNTIME (a path; maybe a script that executes the runtime) that may
 * be about to mount an image? When it has mounted, it is another program, starter. A
 * process that has ended has no program. */
static bool is_starting(const struct berth_process *process, void *runtime)
{
    char path[64];
    char program[1];
    struct stat st;

    snprintf(path, sizeof(path), "/proc/%d", process->pid);
    if ((!is_called(process, runtime) && !is_called(process, "apptainer") &&
         !is_called(process, "singularity")) ||
        stat(path, &st) < 0 || st.st_uid != geteuid())
        return false;
    snprintf(path, sizeof(path), "/proc/%d/exe", process->pid);
    return readlink(path, program, sizeof(program)) > 0;
}

static bool is_any_starting(const char *runtime)
{
    return berth_processes_each(is_starting, (void *)berth_text_base(runtime)) > 0;
}

/* Is the file system of DIRECTORY of this node alone? In one of several nodes, another
 * node may be about to use a directory, and /proc does not show that. */
static bool is_local(int directory)
{
    static const unsigned int kinds[] = {
        BTRFS_SUPER_MAGIC, EXT4_SUPER_MAGIC, F2FS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC,
        RAMFS_MAGIC,       TMPFS_MAGIC,      XFS_SUPER_MAGIC};
    struct statfs found;

    if (fstatfs(directory, &found) < 0)
        return false;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if ((unsigned int)found.f_type == kinds[i])
            return true;
    return false;
}

/* Remove the directories of NAME that are empty, if IS_QUIET: no runtime is about to
 * use them. */
static void clear(const char *directory, const char *name, bool is_quiet)
{
    static const char *const parts[] = {"l", "u", "m", "w/work", "w", "root", ""};
    char path[4096];
    struct stat st;

    snprintf(path, sizeof(path), "%s/%s/root", directory, name);
    if (stat(path, &st) < 0 && errno == ENOTCONN) /* its server has ended */
        remove_mount(path);
    for (size_t i = 0; is_quiet && i < sizeof(parts) / sizeof(parts[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s/%s", directory, name, parts[i]);
        rmdir(path);
    }
}

/* Is NAME the word START with a number behind it? */
static bool is_numbered(const char *name, const char *start)
{
    const char *number;

    if (!berth_text_starts(name, start))
        return false;
    number = name + strlen(start);
    return *number && number[strspn(number, "0123456789")] == '\0';
}

static bool is_left(int directory, const char *name)
{
    struct stat st;

    return (is_numbered(name, "rootfs-") || is_numbered(name, "check-overlay")) &&
           fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

/* Clear the directories in PATH. Look for runtimes only after a directory was found: a
 * runtime that starts in between would be missed. */
static void clear_all(const char *path, const char *runtime)
{
    DIR *directory = opendir(path);
    bool local = directory && is_local(dirfd(directory));
    struct dirent *entry;

    while (directory && (entry = readdir(directory)))
        if (is_left(dirfd(directory), entry->d_name))
            clear(path, entry->d_name, local && !is_any_starting(runtime));
    if (directory)
        closedir(directory);
}

void berth_servers_clear(const char *runtime)
{
    static const char *const variables[] = {"TMPDIR", "SINGULARITY_TMPDIR",
                                            "SINGULARITY_LOCALCACHEDIR",
                                            "SINGULARITY_CACHEDIR"};

    clear_all("/tmp", runtime);
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *path = getenv(variables[i]);

        if (path && *path == '/')
            clear_all(path, runtime);
    }
}

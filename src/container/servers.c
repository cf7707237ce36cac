/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the programs that serve the image of a container, checks which file they serve,
 * ends them, and removes what they leave. Nothing shows which runtime made a directory,
 * so only this is removed: a mount without a server, and an empty directory that no
 * runtime is about to use. */

#include "container/servers.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <linux/magic.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
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

#include "base/cleanup.h"
#include "base/directory.h"
#include "base/text.h"
#include "base/fileid.h"
#include "container/processes.h"

/* Is NAME (comm) that of a server? */
static bool has_name(const char *name)
{
    static const char *const names[] = {"squashfuse", "fuse-overlayfs", "fuse2fs",
                                        "gocryptfs", NULL};

    return berth_text_starts_any(name, names);
}

static bool add_usage(const struct berth_process *process, void *data)
{
    struct berth_servers_usage *ret = data;

    if (!has_name(process->name))
        return false;
    ret->count++;
    ret->kib += process->pages * (sysconf(_SC_PAGESIZE) / 1024);
    ret->ms += (long)process->ticks * 1000 / sysconf(_SC_CLK_TCK);
    return true;
}

static pid_t parent_of(pid_t pid)
{
    struct berth_process process;

    if (pid <= 1 || !berth_process_read(pid, &process))
        return 0;
    return process.parent;
}

/* The servers of SingularityCE are children of the parent of the runtime. */
void berth_servers_usage(pid_t holder, struct berth_servers_usage *ret)
{
    pid_t runtime = parent_of(holder);
    pid_t above = parent_of(runtime);

    *ret = (struct berth_servers_usage){0};
    if (runtime > 1)
        berth_process_each_child(runtime, add_usage, ret);
    if (above > 1)
        berth_process_each_child(above, add_usage, ret);
}

/* Call FUNCTION with each child of the runtime and of this process, and with DATA.
 * Returns as berth_processes_each(). */
static int each(const struct berth_servers *servers,
                bool (*function)(const struct berth_process *, void *), void *data)
{
    return berth_process_each_child(getpid(), function, data) +
           berth_process_each_child(servers->runtime, function, data);
}

/* Trace THREAD. Returns false if it is traced, or has ended. */
static bool seize_thread(pid_t thread)
{
    return ptrace(PTRACE_SEIZE, thread, 0, PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL) ==
           0;
}

/* Trace the threads of PID that are not traced yet. Returns how many. They end with
 * this process: if a server is stopped that nobody traces, tasks that wait for it
 * cannot be killed. */
static int seize_threads(pid_t pid)
{
    char path[64];
    BERTH_CLOSEDIR DIR *directory = NULL;
    const struct dirent *entry;
    int count = 0;

    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    directory = opendir(path);
    entry = berth_directory_next(directory);
    while (entry) {
        int thread = atoi(entry->d_name);

        if (thread > 0 && seize_thread(thread))
            count++;
        entry = berth_directory_next(directory);
    }
    return count;
}

/* Trace all threads of PROCESS, because a signal to a process goes to any thread that
 * is not stopped. A traced thread starts traced threads, so all are traced when a round
 * finds no other. */
static bool seize(const struct berth_process *process, void *unused)
{
    int count;

    (void)unused;
    if (!has_name(process->name))
        return true;
    do {
        count = seize_threads(process->pid);
    } while (count > 0);
    return true;
}

void berth_servers_seize(struct berth_servers *servers)
{
    each(servers, seize, NULL);
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
    bool is_signal = event == 0;

    if (event == PTRACE_EVENT_STOP && number != SIGTRAP)
        ptrace(PTRACE_LISTEN, pid, 0, 0);
    else if (is_signal && is_allowed(pid, runtime))
        ptrace(PTRACE_CONT, pid, 0, number);
    else
        ptrace(PTRACE_CONT, pid, 0, 0);
}

/* Reads the name of a killed process before waitpid(2), because it is gone afterwards.
 */
pid_t berth_servers_reap(struct berth_servers *servers, int *ret_status)
{
    struct berth_process process;
    bool is_killed;
    pid_t pid;

    for (;;) {
        siginfo_t info = {0};

        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0)
            return -1;
        if (info.si_pid == 0)
            return 0;
        is_killed = info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED;
        servers->is_server = is_killed && berth_process_read(info.si_pid, &process) &&
                             has_name(process.name);
        /* the last thread of the runtime may still remove what was read of it in /proc,
         * and waitpid() would spin meanwhile */
        if (info.si_pid == servers->runtime)
            usleep(2000);
        pid = waitpid(info.si_pid, ret_status, __WALL | WNOHANG);
        if (pid <= 0 || !WIFSTOPPED(*ret_status))
            return pid;
        go_on(pid, *ret_status, servers->runtime);
    }
}

static void wake(int number)
{
    (void)number; /* the signal interrupts ppoll() */
}

void berth_servers_wait(struct pollfd fds[], nfds_t count, int milliseconds)
{
    const struct sigaction action = {.sa_handler = wake};
    const struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    const struct timespec *limit = NULL;
    sigset_t others;

    sigaction(SIGCHLD, &action, NULL);
    sigfillset(&others);
    sigdelset(&others, SIGCHLD);
    for (nfds_t i = 0; i < count; i++)
        fds[i].revents = 0; /* an interrupted ppoll() leaves them as they are */
    if (milliseconds >= 0)
        limit = &time;
    ppoll(fds, count, limit, &others);
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

static bool end(const struct berth_process *process, void *signal)
{
    return has_name(process->name) && kill(process->pid, *(const int *)signal) == 0;
}

void berth_servers_end(struct berth_servers *servers, int rounds)
{
    int signal = SIGTERM;

    if (rounds < BERTH_SERVERS_PATIENCE)
        return;
    if (rounds >= 2 * BERTH_SERVERS_PATIENCE)
        signal = SIGKILL;
    each(servers, end, &signal);
}

static bool kill_other(const struct berth_process *process, void *unused)
{
    (void)unused;
    if (has_name(process->name) || berth_text_starts(process->name, "fusermount"))
        return false;
    return kill(process->pid, SIGKILL) == 0;
}

void berth_servers_kill_others(void)
{
    berth_process_each_child(getpid(), kill_other, NULL);
}

/* The file that is looked for in the servers; and has any server been found? */
struct search {
    const char *identity;
    bool any;
};

static bool has_image(const struct berth_process *process, void *data)
{
    struct search *search = data;

    if (!has_name(process->name))
        return false;
    search->any = true;
    return berth_fileid_by(process->pid, search->identity) == BERTH_OPENED_YES;
}

/* Has the runtime, or one of the servers, the file of SEARCH open? */
static bool is_served(const struct berth_servers *servers, struct search *search)
{
    if (berth_fileid_by(servers->runtime, search->identity) != BERTH_OPENED_NO)
        return true;
    return each(servers, has_image, search) > 0;
}

int berth_servers_check(struct berth_servers *servers, const char *identity,
                        const char *image, bool *ret_unpacked, struct berth_err *err)
{
    struct stat st;
    bool is_there = stat(image, &st) == 0;
    bool is_directory = is_there && S_ISDIR(st.st_mode);
    BERTH_FREE char *now = NULL;
    struct search search = {.identity = identity};

    if (is_there)
        now = berth_fileid_identity(&st);
    if (!identity)
        search.identity = now;

    *ret_unpacked = false;
    if (!search.identity || is_served(servers, &search))
        return 0;

    if (!identity) {
        bool has_no_server = !search.any && !is_directory;

        /* root's runtime mounts the image itself, without a server */
        *ret_unpacked = has_no_server && geteuid() != 0;
        return 0;
    }
    if (search.any || is_directory)
        return berth_err_set(err, BERTH_OPENED_EXCHANGED, image);
    return berth_err_set(err,
                         BERTH_SERVERS_UNPACKED
                         "so that it cannot be compared with the file that this "
                         "site allows" BERTH_SERVERS_REPAIR,
                         image);
}

/* Can PROGRAM be the name of PROCESS (comm has at most 15 bytes: proc(5))? */
static bool is_called(const struct berth_process *process, const char *program)
{
    return strncmp(process->name, program, 15) == 0;
}

/* Is PROCESS one of RUNTIME (a name; maybe a script that executes the runtime) that may
 * be about to mount an image? When it has mounted, it is another program, starter. A
 * process that has ended has no program. */
static bool is_starting(const struct berth_process *process, void *runtime)
{
    char path[64], program[1];
    struct stat st;
    bool has_runtime_name = is_called(process, runtime) ||
                            is_called(process, "apptainer") ||
                            is_called(process, "singularity");

    if (!has_runtime_name)
        return false;
    snprintf(path, sizeof(path), "/proc/%d", process->pid);
    if (stat(path, &st) < 0 || st.st_uid != geteuid())
        return false;
    snprintf(path, sizeof(path), "/proc/%d/exe", process->pid);
    return readlink(path, program, sizeof(program)) > 0;
}

/* Is the file system of PATH of this node alone? In one of several nodes, another node
 * may be about to use a directory, and /proc does not show that. */
static bool is_local(const char *path)
{
    static const unsigned int kinds[] = {
        BTRFS_SUPER_MAGIC, EXT4_SUPER_MAGIC, F2FS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC,
        RAMFS_MAGIC,       TMPFS_MAGIC,      XFS_SUPER_MAGIC};
    struct statfs found;

    if (statfs(path, &found) < 0)
        return false;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if ((unsigned int)found.f_type == kinds[i])
            return true;
    return false;
}

/* Is PATH a directory of the user? */
static bool is_directory_of_user(const char *path)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        return false;
    return S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

/* Remove the mount in DIRECTORY, if its server has ended, of which stat(2) learns later
 * than statfs(2); and then, or if IS_QUIET, the directories that are empty: no runtime
 * is about to use them. */
static void clear(const char *directory, bool is_quiet)
{
    static const char *const parts[] = {"l", "u", "m", "w/work", "w", "root", ""};
    char path[4096];
    struct statfs found;

    snprintf(path, sizeof(path), "%s/root", directory);
    if (statfs(path, &found) < 0 && errno == ENOTCONN) {
        unmount(path);
        is_quiet = true;
    }
    if (!is_quiet)
        return;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", directory, parts[i]);
        rmdir(path);
    }
}

/* Does a runtime make directories with names such as NAME? */
static bool is_name_of_runtime(const char *name)
{
    return fnmatch("rootfs-[0-9]*", name, 0) == 0 ||
           fnmatch("check-overlay[0-9]*", name, 0) == 0;
}

/* Clear the directory NAME in PATH, if a runtime may have left it. Look for runtimes
 * only now that it was found: one that starts in between would be missed. */
static void clear_one(const char *path, const char *name, char *runtime)
{
    BERTH_FREE char *left = NULL;
    bool is_quiet;

    if (!is_name_of_runtime(name))
        return;
    if (asprintf(&left, "%s/%s", path, name) < 0) {
        left = NULL;
        return;
    }
    if (!is_directory_of_user(left))
        return;
    is_quiet = is_local(path) && berth_processes_each(is_starting, runtime) == 0;
    clear(left, is_quiet);
}

/* Clear the directories in PATH. */
static void clear_all(const char *path, char *runtime)
{
    BERTH_CLOSEDIR DIR *directory = opendir(path);
    const struct dirent *entry = berth_directory_next(directory);

    while (entry) {
        clear_one(path, entry->d_name, runtime);
        entry = berth_directory_next(directory);
    }
}

void berth_servers_clear(const char *runtime)
{
    static const char *const variables[] = {"TMPDIR", "SINGULARITY_TMPDIR",
                                            "SINGULARITY_LOCALCACHEDIR",
                                            "SINGULARITY_CACHEDIR"};
    char *name = (char *)berth_text_base(runtime);

    clear_all("/tmp", name);
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *path = getenv(variables[i]);

        if (path && *path == '/')
            clear_all(path, name);
    }
}

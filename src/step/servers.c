/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the programs that serve the image of a container, checks which file they serve,
 * and ends them. */

#include "step/servers.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/opened.h"
#include "step/remains.h"
#include "step/namespaces.h"
#include "step/processes.h"

bool berth_servers_has_name(const char *name)
{
    static const char *const names[] = {"squashfuse", "fuse-overlayfs", "fuse2fs",
                                        "gocryptfs", NULL};

    return berth_text_starts_any(name, names);
}

static bool is_ours(const struct berth_process *process,
                    const struct berth_servers *servers)
{
    return berth_servers_has_name(process->name) &&
           (process->parent == servers->runtime ||
            (servers->socket &&
             berth_opened_by(process->pid, servers->socket) == BERTH_OPENED_YES));
}

void berth_servers_add_usage(const struct berth_process *process, pid_t runtime,
                             pid_t above, struct berth_servers_usage *usage)
{
    if (!berth_servers_has_name(process->name) ||
        (process->parent != runtime && (above <= 1 || process->parent != above)))
        return;
    if (usage->count < sizeof(usage->pids) / sizeof(*usage->pids))
        usage->pids[usage->count] = process->pid;
    usage->count++;
    usage->kib += process->pages * (sysconf(_SC_PAGESIZE) / 1024);
    usage->ms += (long)process->ticks * 1000 / sysconf(_SC_CLK_TCK);
}

struct usage {
    pid_t runtime, above;
    struct berth_servers_usage *ret;
};

static bool add_usage(const struct berth_process *process, void *data)
{
    const struct usage *usage = data;

    berth_servers_add_usage(process, usage->runtime, usage->above, usage->ret);
    return false;
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
    servers->is_server = berth_process_read(info.si_pid, &process) &&
                         berth_servers_has_name(process.name);
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

/* The servers that end, and the signal that they get. */
struct order {
    struct berth_servers *servers;
    int number;
};

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
    char path[64], words[4096];
    const char *last = words;
    size_t count;
    FILE *file;

    if (berth_namespaces_differ(pid, "mnt"))
        return;
    snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
    file = fopen(path, "re");
    if (!file)
        return;
    count = fread(words, 1, sizeof(words) - 1, file);
    fclose(file);
    words[count] = '\0';
    for (const char *word = words; word < words + count; word += strlen(word) + 1)
        last = word;
    if (is_made_by_runtime(last) && !berth_strvec_has(mounts, last))
        berth_strvec_push(mounts, last);
}

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
        berth_remains_unmount(servers->mounts.items[i]);
    berth_strvec_fini(&servers->mounts);
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

static bool is_directory(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool berth_servers_unpacked(struct berth_servers *servers, const char *image)
{
    BERTH_FREE char *identity = NULL;
    struct search search = {.servers = servers};
    struct stat st;

    if (geteuid() == 0 || stat(image, &st) < 0 || S_ISDIR(st.st_mode))
        return false;
    search.identity = identity = berth_opened_identity(&st);
    return identity && berth_opened_by(servers->runtime, identity) == BERTH_OPENED_NO &&
           each(servers, has_image, &search) == 0 && !search.any;
}

int berth_servers_check(struct berth_servers *servers, const char *identity,
                        const char *image, struct berth_err *err)
{
    struct search search = {.servers = servers, .identity = identity};

    if (!identity || berth_opened_by(servers->runtime, identity) != BERTH_OPENED_NO ||
        each(servers, has_image, &search) > 0)
        return 0;
    if (search.any || is_directory(image))
        return berth_err_set(err, BERTH_OPENED_EXCHANGED, image);
    return berth_err_set(err,
                         BERTH_SERVERS_UNPACKED
                         "so that it cannot be compared with the file that this site "
                         "allows" BERTH_SERVERS_REPAIR,
                         image);
}

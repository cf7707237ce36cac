/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the processes of this node from /proc: their names, parents and environments.
 */

#include "container/processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/directory.h"
#include "base/environ.h"
#include "base/fd.h"
#include "base/grow.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434 /* Linux 5.3, the same number everywhere */
#endif
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424 /* Linux 5.1, the same number everywhere */
#endif

/* Fields 3 (state) and on: of these 4 ppid, 14 utime, 15 stime, 22 starttime, 24 rss.
 */
#define FIELDS                                                                         \
    " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d %*d %*d %*d %*d "     \
    "%llu "                                                                            \
    "%*u %ld"

bool berth_process_read(pid_t pid, struct berth_process *ret)
{
    unsigned long system;
    char path[32];
    char line[512];
    char *start, *end;
    ssize_t count = -1;
    BERTH_CLOSE int fd = -1;

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        count = read(fd, line, sizeof(line) - 1);
    if (count < 0)
        return false;
    line[count] = '\0';

    /* the name may have blanks and brackets */
    start = strchr(line, '(');
    end = strrchr(line, ')');
    if (!start || !end ||
        sscanf(end + 1, FIELDS, &ret->parent, &ret->ticks, &system, &ret->began,
               &ret->pages) != 5)
        return false;
    ret->ticks += system;
    *end = '\0';
    ret->pid = pid;
    snprintf(ret->name, sizeof(ret->name), "%s", start + 1);
    return true;
}

int berth_processes_each_pid(bool (*function)(pid_t, void *), void *data)
{
    BERTH_CLOSEDIR DIR *directory = opendir("/proc");
    const struct dirent *entry = berth_directory_next(directory);
    int count = 0;

    while (entry) {
        pid_t pid = (pid_t)atoi(entry->d_name);

        if (pid > 0 && function(pid, data))
            count++;
        entry = berth_directory_next(directory);
    }
    return count;
}

struct call {
    bool (*function)(const struct berth_process *, void *);
    void *data;
};

static bool read_and_call(pid_t pid, void *data)
{
    const struct call *it = data;
    struct berth_process process;

    return berth_process_read(pid, &process) && it->function(&process, it->data);
}

int berth_processes_each(bool (*function)(const struct berth_process *, void *),
                         void *data)
{
    return berth_processes_each_pid(read_and_call, &(struct call){function, data});
}

int berth_process_environment(pid_t pid, size_t most, struct berth_buf *ret)
{
    char path[32];

    snprintf(path, sizeof(path), "/proc/%d/environ", pid);
    return berth_fd_read_path(path, most, ret);
}

int berth_process_words(pid_t pid, size_t most, struct berth_buf *ret)
{
    char path[32];

    snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
    return berth_fd_read_path(path, most, ret);
}

pid_t berth_process_stepd(void)
{
    const char *task = getenv("SLURM_TASK_PID");
    struct berth_process process;

    if (!task || !berth_process_read(atoi(task), &process))
        return 0;
    return process.parent;
}

int berth_process_open(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

int berth_process_signal(int process, int number)
{
    return (int)syscall(SYS_pidfd_send_signal, process, number, NULL, 0);
}

struct list {
    pid_t *items;
    size_t count, room;
};

static void add_children(pid_t pid, const char *thread, struct list *list)
{
    BERTH_FREE char *name = NULL;
    BERTH_FCLOSE FILE *children = NULL;
    pid_t child;

    if (asprintf(&name, "/proc/%d/task/%s/children", pid, thread) < 0) {
        name = NULL;
        return;
    }
    children = fopen(name, "re");
    if (!children)
        return;
    while (fscanf(children, "%d", &child) == 1)
        if (berth_append(list, &child) < 0)
            return;
}

size_t berth_process_children(pid_t pid, pid_t **ret_children)
{
    struct list list = {0};
    BERTH_CLOSEDIR DIR *threads = NULL;
    const struct dirent *entry;
    char name[32];

    snprintf(name, sizeof(name), "/proc/%d/task", pid);
    threads = opendir(name);
    entry = berth_directory_next(threads);
    while (entry) {
        if (*entry->d_name != '.')
            add_children(pid, entry->d_name, &list);
        entry = berth_directory_next(threads);
    }
    *ret_children = list.items;
    return list.count;
}

static bool call_below(pid_t pid, int depth, bool (*function)(pid_t, void *),
                       void *data)
{
    enum { DEPTH_MAX = 32 };
    BERTH_FREE pid_t *children = NULL;
    size_t count;

    if (!function(pid, data))
        return false;
    if (depth == DEPTH_MAX)
        return true;
    count = berth_process_children(pid, &children);
    for (size_t i = 0; i < count; i++)
        if (!call_below(children[i], depth + 1, function, data))
            return false;
    return true;
}

bool berth_process_each_below(pid_t pid, bool (*function)(pid_t, void *), void *data)
{
    return call_below(pid, 0, function, data);
}

int berth_process_each_child(pid_t pid,
                             bool (*function)(const struct berth_process *, void *),
                             void *data)
{
    struct call call = {function, data};
    BERTH_FREE pid_t *children = NULL;
    size_t count = berth_process_children(pid, &children);
    int found = 0;

    for (size_t i = 0; i < count; i++)
        if (read_and_call(children[i], &call))
            found++;
    return found;
}

struct variable {
    const char *name;
    unsigned int *ret_number;
};

/* Read the variable from the environment of PID. Returns true, to go on below PID, if
 * PID was started without the variable. */
static bool lacks_variable(pid_t pid, void *data)
{
    const struct variable *variable = data;
    BERTH_BUF struct berth_buf bytes = {0};
    BERTH_STRVEC struct berth_strvec environment = {0};
    const char *value;

    berth_process_environment(pid, SIZE_MAX, &bytes);
    berth_environ_split(bytes.text, bytes.used, &environment);
    value = berth_environ_value(environment.items, variable->name);
    return !value || sscanf(value, "%u", variable->ret_number) != 1;
}

bool berth_process_variable(pid_t pid, const char *name, unsigned int *ret_number)
{
    struct variable variable = {name, ret_number};

    return !berth_process_each_below(pid, lacks_variable, &variable);
}

int berth_process_umask(pid_t pid)
{
    char name[64];
    char line[128];
    BERTH_FCLOSE FILE *status = NULL;
    unsigned int mask;

    snprintf(name, sizeof(name), "/proc/%d/status", pid);
    status = fopen(name, "re");
    while (status && fgets(line, sizeof(line), status))
        if (sscanf(line, "Umask: %o", &mask) == 1)
            return (int)mask;
    return -1;
}

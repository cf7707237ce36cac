/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process can see of itself, for conformance.t: `probe PREFIX [RANK]` writes
 * PREFIX.RANK.env (its environment), PREFIX.RANK.state (what must be alike) and
 * PREFIX.RANK.kin (how it stands to other processes). Linked statically: the image may
 * have no libc.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { LAST_LIMIT = 15, MOST_FDS = 1024 };

static const char *prefix;
static const char *rank; /* of the task, for the name of the files */

static FILE *output(const char *what)
{
    char path[PATH_MAX];
    FILE *file;

    snprintf(path, sizeof path, "%s.%s.%s", prefix, rank, what);
    file = fopen(path, "we");
    if (!file) {
        perror(path);
        exit(1);
    }
    return file;
}

/* One line, whatever is in TEXT. */
static void put(FILE *file, const char *text)
{
    for (; *text; text++) {
        if (*text == '\\')
            fputs("\\\\", file);
        else if (*text == '\n')
            fputs("\\n", file);
        else
            putc(*text, file);
    }
    putc('\n', file);
}

static void put_link(FILE *file, const char *title, const char *path)
{
    char target[PATH_MAX] = "";

    if (readlink(path, target, sizeof target - 1) < 0)
        snprintf(target, sizeof target, "(%s)", strerror(errno));
    fprintf(file, "%s ", title);
    put(file, target);
}

/* The lines of PATH, or only those that start with one of NAMES. */
static void put_lines(FILE *file, const char *path, const char *const *names)
{
    static char line[1 << 20];
    FILE *in = fopen(path, "re");

    while (in && fgets(line, sizeof line, in)) {
        const char *const *name = names;

        while (name && *name && strncmp(line, *name, strlen(*name)) != 0)
            name++;
        if (!name || *name)
            fprintf(file, "%s", line);
    }
    if (in)
        fclose(in);
    else
        fprintf(file, "%s: %s\n", path, strerror(errno));
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void put_environment(void)
{
    FILE *file = output("env");
    size_t count = 0;

    while (environ[count])
        count++;
    qsort(environ, count, sizeof *environ, by_text);
    for (size_t i = 0; i < count; i++)
        put(file, environ[i]);
    fclose(file);
}

/* Those that were open when this program started: OPEN, one letter for each. */
static void put_descriptors(FILE *file, const char *open)
{
    for (int fd = 0; fd < MOST_FDS; fd++) {
        char path[64], title[64];
        struct stat st;

        if (!open[fd])
            continue;
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        snprintf(title, sizeof title, "descriptor %d flags %o", fd,
                 (unsigned)fcntl(fd, F_GETFL));
        if (fstat(fd, &st) < 0)
            continue;
        fprintf(file, "%s mode %o: ", title, (unsigned)st.st_mode);
        put_link(file, "", path);
    }
}

/* Is the descriptor open that the process manager's variable names? */
static void put_pmi(FILE *file, const char *open)
{
    const char *text = getenv("PMI_FD");
    int fd = text ? atoi(text) : -1;

    if (text)
        fprintf(file, "PMI_FD is %s\n",
                fd >= 0 && fd < MOST_FDS && open[fd] ? "open" : "not open");
}

static void put_limits(FILE *file)
{
    for (int i = 0; i <= LAST_LIMIT; i++) {
        struct rlimit limit;

        if (getrlimit(i, &limit) == 0)
            fprintf(file, "limit %d: %llu %llu\n", i,
                    (unsigned long long)limit.rlim_cur,
                    (unsigned long long)limit.rlim_max);
    }
}

static void put_identity(FILE *file)
{
    uid_t uid[3];
    gid_t gid[3], groups[256];
    int count = getgroups(256, groups);
    mode_t mask = umask(0);

    umask(mask);
    getresuid(&uid[0], &uid[1], &uid[2]);
    getresgid(&gid[0], &gid[1], &gid[2]);
    fprintf(file, "uid %d %d %d gid %d %d %d groups", (int)uid[0], (int)uid[1],
            (int)uid[2], (int)gid[0], (int)gid[1], (int)gid[2]);
    for (int i = 0; i < count; i++)
        fprintf(file, " %d", (int)groups[i]);
    fprintf(file, "\numask %o\n", (unsigned)mask);
}

static void put_attributes(FILE *file)
{
    int reaper = -1;

    prctl(PR_GET_CHILD_SUBREAPER, &reaper);
    fprintf(file, "subreaper %d, dumpable %d, keepcaps %d\n", reaper,
            prctl(PR_GET_DUMPABLE), prctl(PR_GET_KEEPCAPS));
    fprintf(file, "securebits %d, timer slack %d, personality %x\n",
            prctl(PR_GET_SECUREBITS), prctl(PR_GET_TIMERSLACK),
            personality(0xffffffff));
    fprintf(file, "nice %d, scheduler %d\n", getpriority(PRIO_PROCESS, 0),
            sched_getscheduler(0));
}

/* The signals of one kind are for the kernel to name: SigQ counts all processes. */
static void put_state(const char *open)
{
    static const char *const names[] = {
        "Name:",         "Umask:",        "TracerPid:",  "Uid:",     "Gid:",
        "Groups:",       "Threads:",      "SigPnd:",     "ShdPnd:",  "SigBlk:",
        "SigIgn:",       "SigCgt:",       "CapInh:",     "CapPrm:",  "CapEff:",
        "CapBnd:",       "CapAmb:",       "NoNewPrivs:", "Seccomp:", "Seccomp_filters:",
        "Cpus_allowed:", "Mems_allowed:", NULL};
    static const char *const spaces[] = {"ipc",
                                         "uts",
                                         "net",
                                         "pid",
                                         "pid_for_children",
                                         "cgroup",
                                         "time",
                                         "time_for_children"};
    FILE *file = output("state");

    put_identity(file);
    put_pmi(file, open);
    put_limits(file);
    put_attributes(file);
    put_descriptors(file, open);
    put_link(file, "cwd", "/proc/self/cwd");
    put_link(file, "exe", "/proc/self/exe");
    put_link(file, "root", "/proc/self/root");
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        char path[64];

        snprintf(path, sizeof path, "/proc/self/ns/%s", spaces[i]);
        put_link(file, spaces[i], path);
    }
    put_lines(file, "/proc/self/status", names);
    put_lines(file, "/proc/self/oom_score_adj", NULL);
    put_lines(file, "/proc/self/cgroup", NULL);
    put_lines(file, "/proc/self/uid_map", NULL);
    put_lines(file, "/proc/self/gid_map", NULL);
    put_lines(file, "/proc/self/setgroups", NULL);
    put_lines(file, "/proc/self/mountinfo", NULL);
    fclose(file);
}

static const char *who(pid_t pid)
{
    if (pid == getpid())
        return "itself";
    return pid == getppid() ? "its parent" : "another";
}

/* CHILDREN: what waitpid() said first of all. */
static void put_kin(int children)
{
    int death = -1;
    const char *task = getenv("SLURM_TASK_PID");
    FILE *file = output("kin");
    char path[64];

    fprintf(file, "waitpid: %s\n", children ? strerror(children) : "has children");
    prctl(PR_GET_PDEATHSIG, &death);
    fprintf(file, "death signal %d\n", death);
    fprintf(file, "process group of %s, session of %s\n", who(getpgrp()),
            who(getsid(0)));
    fprintf(file, "the process that Slurm started: %s\n",
            !task                    ? "unknown"
            : atoi(task) == getpid() ? "yes"
                                     : "no");
    snprintf(path, sizeof path, "/proc/%d/comm", (int)getppid());
    fprintf(file, "parent: ");
    put_lines(file, path, NULL);
    fclose(file);
}

int main(int argc, char **argv)
{
    int children = waitpid(-1, NULL, WNOHANG) < 0 ? errno : 0;
    static char open[MOST_FDS];

    for (int fd = 0; fd < MOST_FDS; fd++)
        open[fd] = fcntl(fd, F_GETFD) >= 0;
    rank = argc > 2 ? argv[2] : getenv("SLURM_PROCID");
    if (argc < 2 || !rank) {
        fprintf(stderr, "usage: probe PREFIX [RANK]\n");
        return 1;
    }
    prefix = argv[1];
    put_state(open);
    put_kin(children);
    put_environment();
    return 0;
}

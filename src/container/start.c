/* SPDX-License-Identifier: Apache-2.0 */
/* Starts a container runtime with berth-init, which holds the container, and says why a
 * runtime did not start. */

#include "container/start.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/cleanup.h"
#include "base/detach.h"
#include "base/environ.h"
#include "base/fd.h"
#include "base/text.h"
#include "site/flags.h"
#include "container/identity.h"
#include "container/join.h"
#include "container/limits.h"
#include "container/outer.h"
#include "container/program.h"

extern char **environ;

/* The descriptors of the runtime and of berth-init. */
enum {
    INIT = BERTH_PROGRAM_INIT,
    TASKS,
    READY,
    INNER,
    DESCRIPTORS = BERTH_START_OVERLAY - INIT + 1
};

/* Remove the colours of a terminal: ESC [ NUMBERS m. */
static void remove_colours(char *text)
{
    static const char start[] = "\033[";
    char *from = text;
    char *to = text;

    while (*from) {
        if (berth_text_starts(from, start)) {
            from += strlen(start);
            from += strspn(from, "0123456789;m");
        } else {
            *to = *from;
            from++;
            to++;
        }
    }
    *to = '\0';
}

/* Returns the place in LOG that names an error; NULL: there is none. The texts are
 * those of Apptainer, and those with which Go ends a program. */
static char *find_error(char *log)
{
    static const char *const errors[] = {
        "FATAL", "fatal error:", "runtime/cgo:", "ERROR", "Error"};

    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        char *at = strstr(log, errors[i]);

        if (at)
            return at;
    }
    return NULL;
}

/* Returns the last line of LOG, and cuts what is empty after it. */
static char *find_last_line(char *log)
{
    char *end = log + strlen(log);
    char *before;

    while (end > log && (end[-1] == '\n' || end[-1] == ' '))
        end--;
    *end = '\0';
    before = strrchr(log, '\n');
    if (!before)
        return log;
    return before + 1;
}

/* Read the end of the log FD, as much as there is room for. */
static void read_log(int fd, char *log, size_t size)
{
    struct stat st = {0};
    off_t most = (off_t)size - 1;
    off_t at = 0;
    ssize_t count;

    fstat(fd, &st);
    if (st.st_size > most)
        at = st.st_size - most;
    count = pread(fd, log, (size_t)most, at);
    if (count < 0)
        count = 0;
    log[count] = '\0';
}

/* Copy the line of the log that names an error to LINE; if there is none, the last
 * line. */
static void find_last_words(int fd, char *line, size_t size)
{
    static char log[65536];
    char *text;

    read_log(fd, log, sizeof(log));
    remove_colours(log);
    text = find_error(log);
    if (!text)
        text = find_last_line(log);
    text[strcspn(text, "\n")] = '\0';
    snprintf(line, size, "%.*s", (int)size - 1,
             berth_text_or(berth_text_given(text), "it said nothing"));
}

/* Does VARIABLE, a list with commas, name SOURCE, of LENGTH bytes, as the source of a
 * mount: SOURCE or SOURCE:DESTINATION? */
static bool names_source(const char *variable, const char *source, size_t length)
{
    const char *at = strpbrk(variable, "=,");

    while (at) {
        const char *item = at + 1;

        if (strncmp(item, source, length) == 0 && strchr(":,", item[length]))
            return true;
        at = strpbrk(item, "=,");
    }
    return false;
}

/* The variable in ENVIRONMENT by which the runtime mounts the source that WORDS names;
 * NULL: there is none. */
static const char *find_bind(const char *words, char *const *environment)
{
    static const char before[] = "mount source ";
    const char *source = strstr(words, before);
    size_t length;

    if (!source)
        return NULL;
    source += strlen(before);
    length = strcspn(source, " ");
    for (char *const *item = environment; *item; item++) {
        const char *flag = berth_flags_variable(*item);
        bool is_bind = flag && berth_text_starts(flag, "BIND");

        if (is_bind && names_source(*item, source, length))
            return *item;
    }
    return NULL;
}

/* Returns the remedy for an error: the first row that fits. The texts of the errors are
 * those of Apptainer. */
static const char *advise(const char *words, const struct berth_request *request)
{
    static const char memory[] =
        "the limit of virtual memory is too low for the runtime: raise it where you "
        "set it (ulimit -v)";
    static const struct {
        const char *words;
        const char *advice;
        bool anyway; /* also if the request has nothing that could be wrong */
    } rows[] = {
        {"engine configuration too big",
         "unset variables that the command does not need", true},
        {"runtime/cgo: pthread_create failed",
         "a hard limit is too low for it (ulimit -H -u, -v): raise it where you set "
         "it, "
         "or ask the administrators",
         true},
        {"failed to reserve page summary memory", memory, true},
        {"fatal error: out of memory", memory, true},
        {"error while loading shared libraries",
         "take the directory of that library out of LD_LIBRARY_PATH, or have the "
         "administrators install it",
         true},
        {"unknown compression algorithm",
         "the image is good, and another runtime reads it; build it with gzip, which "
         "every runtime reads (mksquashfs -comp gzip)",
         true},
        {"stat /proc/self/fd/",
         "the container needs /proc: leave out the flag that removes it, or have the "
         "administrators set `mount proc = yes`",
         true},
        {"unknown flag", "leave that flag out of --container-args", false},
        {"unknown shorthand flag", "leave that flag out of --container-args", false},
        {"flag needs an argument", "give that flag a value in --container-args", false},
        {"--pem-path missing",
         "the image is encrypted: write --container-args=--pem-path=FILE with the file "
         "of its key",
         true},
        {"encryption private key",
         "the image is encrypted: --container-args=--pem-path=FILE names another key, "
         "or "
         "one in another form than `openssl rsa -traditional` writes",
         true},
        {"could not open image",
         "look in --container-args for an argument that is not a flag, or a flag "
         "without "
         "its value",
         false},
        {"don't have write permissions", "use --container-writable instead of a flag",
         false},
        {"doesn't exist", "mount what is on every node", false},
        {"failed to load data image", "make that squashfs file again with mksquashfs",
         false},
        {"not a directory",
         "mount a directory over a directory, and a file over a "
         "file (--container-mounts)",
         false},
    };
    bool asked =
        request->args.count || request->mounts.count || request->home == BERTH_YES;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (!asked && !rows[i].anyway)
            continue;
        if (strstr(words, rows[i].words))
            return rows[i].advice;
    }
    return "ask the administrators, or look with `berth doctor` on that node";
}

/* Is the place AT in TEXT in a part of a path, after a slash? */
static bool is_in_path(const char *at, const char *text)
{
    while (at > text && at[-1] != ' ' && at[-1] != '/')
        at--;
    return at > text && at[-1] == '/';
}

/* Does the runtime blame the directory for what tasks write? WORDS are its own. A file
 * or directory of the user may have such a name, so a part of a path does not count. */
static bool blames_overlay(const char *words)
{
    static const char overlay[] = "overlay";
    const char *at = strstr(words, overlay);

    while (at) {
        if (!is_in_path(at, words))
            return true;
        at = strstr(at + strlen(overlay), overlay);
    }
    return false;
}

/* The runtime ended before its container had started: write why, from its log, in one
 * line into ERR. Always returns -1. */
static int explain_end(const struct berth_start *start, struct berth_err *err)
{
    const struct berth_launch *launch = start->launch;
    const char *variable, *remedy;
    char words[512], unset[128];

    find_last_words(start->log, words, sizeof(words));
    variable = find_bind(words, launch->environment);
    if (variable) {
        snprintf(unset, sizeof(unset),
                 "unset %.*s, which names it, or mount what is on every node",
                 (int)strcspn(variable, "="), variable);
        remedy = unset;
    } else {
        remedy = advise(words, launch->request);
    }
    berth_err_set(err, "image '%s': %s did not start it: %s; %s",
                  berth_request_name(launch->request), launch->runtime, words, remedy);
    if (launch->overlay && blames_overlay(words))
        berth_err_mark(err, BERTH_ERR_OVERLAY);
    return -1;
}

/* Set the variables of berth_launch_binds(). */
static int set_binds(const struct berth_launch *launch, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec set = {0};

    if (berth_launch_binds(launch, environ, &set, err) < 0)
        return -1;
    for (size_t i = 0; i < set.count; i++) {
        char *value = strchr(set.items[i], '=');

        *value = '\0';
        if (setenv(set.items[i], value + 1, 1) < 0)
            return berth_err_oom(err);
    }
    return 0;
}

int berth_start_become(const struct berth_launch *launch, char *const *argv,
                       struct berth_err *err)
{
    const char *directory = launch->directory;
    bool is_there = directory && access(directory, R_OK) == 0 && chdir(directory) == 0;

    if (!is_there && chdir("/") < 0)
        return berth_err_file(err, "/", "opened");
    if (set_binds(launch, err) < 0)
        return -1;
    if (launch->unknown_user && berth_identity_provide(err) < 0)
        return -1;
    execv(launch->runtime, argv);
    return berth_err_file(err, launch->runtime, "started");
}

/* A program that a child becomes by `body`, which gets `data`, and returns only if that
 * fails. */
struct program {
    const struct berth_start *start;
    void (*body)(const struct berth_start *start, void *data, struct berth_err *err);
    void *data;
    int descriptors[DESCRIPTORS];
};

/* In the child: set the standard streams, and keep only DESCRIPTORS open. */
static void detach(const struct berth_start *start, const int descriptors[DESCRIPTORS])
{
    dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
    dup2(start->log, STDOUT_FILENO);
    dup2(start->log, STDERR_FILENO);
    berth_close_others(descriptors, DESCRIPTORS);
    setpgid(0, 0);
    if (start->mask)
        sigprocmask(SIG_SETMASK, start->mask, NULL);
    berth_limits_raise();
}

/* In a child: become DATA, a struct program. The log gets the sentence if that fails.
 */
static int become(void *data)
{
    const struct program *program = data;
    struct berth_err why;

    detach(program->start, program->descriptors);
    program->body(program->start, program->data, &why);
    dprintf(STDERR_FILENO, "%s\n", why.text);
    return EXIT_FAILURE;
}

/* Start a child that becomes a program by BODY with DATA. The child has a copy of the
 * log as standard error, and berth-init an end of a pair of sockets, on which the
 * kernel tells its process id. */
static int start_child(struct berth_start *start,
                       void (*body)(const struct berth_start *start, void *data,
                                    struct berth_err *err),
                       void *data, struct berth_err *err)
{
    BERTH_CLOSE int init = berth_program_open(err);
    BERTH_CLOSE int ready = -1;
    struct program program = {.start = start, .body = body, .data = data};
    int on = 1;
    int ends[2];
    pid_t pid;

    start->runtime = 0;
    start->answer = -1;
    start->log = berth_fd_memory("berth-log", MFD_CLOEXEC);
    if (init < 0)
        return -1;
    if (start->log < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return berth_err_spent(err, errno);
    start->answer = ends[0];
    ready = ends[1];
    if (setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0)
        return berth_err_spent(err, errno);

    memcpy(program.descriptors,
           (const int[]){init, start->tasks, ready, start->inner, start->programs,
                         start->overlay},
           sizeof(program.descriptors));
    pid = berth_child(become, &program, 0);
    if (pid < 0)
        return berth_err_spent(err, errno);
    start->runtime = pid;
    return 0;
}

/* The runtime believes PWD, and would mount a directory that was reached through a
 * symbolic link at the name of the link only. Tasks join at the real path, and get the
 * PWD that they had (container/become.c). */
static int set_pwd(const struct berth_launch *launch)
{
    bool is_path = launch->directory && *launch->directory == '/';

    if (!is_path)
        return 0;
    return setenv("PWD", launch->directory, 1);
}

/* Make what the runtime is to find: its user namespace, and its environment. */
static int prepare(const struct berth_start *start)
{
    if (start->inner >= 0 && berth_outer_enter(INNER) < 0)
        return -1;
    if (setenv("GOGC", BERTH_PROGRAM_GOGC, 0) < 0)
        return -1;
    return set_pwd(start->launch);
}

static void run(const struct berth_start *start, void *argv, struct berth_err *err)
{
    if (prepare(start) < 0)
        berth_err_spent(err, errno);
    else
        berth_start_become(start->launch, argv, err);
}

int berth_start(struct berth_start *start, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec argv = {0};
    int inner = -1;

    if (start->inner >= 0)
        inner = INNER;
    if (berth_launch_holder_argv(start->launch, BERTH_PROGRAM_INIT_PATH, TASKS, READY,
                                 inner, &argv, err) < 0)
        return -1;
    return start_child(start, run, argv.items, err);
}

/* A container to copy, as in berth_start_in(). */
struct copy {
    struct berth_holder holder;
    char *const *environment;
    bool looks;
};

/* Is PATH the file of STATUS? */
static bool is_file(const char *path, const struct stat *status)
{
    struct stat found;

    if (stat(path, &found) < 0)
        return false;
    return found.st_dev == status->st_dev && found.st_ino == status->st_ino;
}

static void run_in(const struct berth_start *start, void *data, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec argv = {0};
    const struct copy *copy = data;
    const char *directory = start->launch->directory;
    struct stat here;
    bool looks = copy->looks && directory && stat(directory, &here) == 0;

    close(INNER);
    berth_launch_hold(start->launch->request, BERTH_PROGRAM_INIT_PATH, TASKS, READY, -1,
                      &argv);
    if (berth_join_owner(copy->holder, err) < 0)
        return;
    if (looks && !is_file(directory, &here))
        _exit(BERTH_START_NO_DIRECTORY);
    /* mounts of the step stay in a copy, and later mounts of the host appear in it */
    if (unshare(CLONE_NEWNS) == 0 &&
        mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) == 0)
        fexecve(INIT, argv.items, copy->environment);
    berth_err_spent(err, errno);
}

int berth_start_in(struct berth_start *start, struct berth_holder holder,
                   char *const *environment, bool looks, struct berth_err *err)
{
    return start_child(start, run_in, &(struct copy){holder, environment, looks}, err);
}

void berth_start_fini(struct berth_start *start)
{
    if (start->log >= 0)
        close(start->log);
    if (start->answer >= 0)
        close(start->answer);
    start->log = start->answer = -1;
}

static bool has_ended(pid_t child)
{
    siginfo_t info = {0};

    return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
           info.si_pid == child;
}

/* Wait until there is something to read. Also check whether the runtime has ended: a
 * program that it has left may keep the other side open. */
static int await(const struct berth_start *start, struct berth_err *err)
{
    struct pollfd fds[] = {{.fd = start->answer, .events = POLLIN},
                           {.fd = start->tasks, .events = POLLIN}};

    for (;;) {
        int ready = poll(fds, 2, BERTH_DEADLINE_POLL_MS);

        if (ready > 0 && fds[0].revents)
            return 0;
        if (ready > 0 && fds[1].revents)
            return berth_err_set(err,
                                 "the step ended before its container had started");
        if (has_ended(start->runtime))
            return explain_end(start, err);
        if (berth_deadline_left(start->deadline) < 0)
            return berth_err_set(err, "image '%s': " BERTH_START_TOO_LATE,
                                 berth_request_name(start->launch->request),
                                 start->seconds);
    }
}

/* Read at most COUNT bytes. *RET_SENDER is the process that sent them, by the id that
 * the caller sees. Returns as recvmsg(2). */
static ssize_t receive_part(int socket, void *bytes, size_t count, pid_t *ret_sender)
{
    char control[CMSG_SPACE(sizeof(struct ucred))];
    struct iovec data = {bytes, count};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof(control)};
    ssize_t got = recvmsg(socket, &message, 0);
    const struct cmsghdr *part = NULL;
    struct ucred sender;

    if (got > 0)
        part = CMSG_FIRSTHDR(&message);
    if (part && part->cmsg_type == SCM_CREDENTIALS) {
        memcpy(&sender, CMSG_DATA(part), sizeof(sender));
        *ret_sender = sender.pid;
    }
    return got;
}

/* Read all COUNT bytes. *RET_SENDER as above. */
static int receive(const struct berth_start *start, void *bytes, size_t count,
                   pid_t *ret_sender, struct berth_err *err)
{
    char *next = bytes;

    while (count > 0) {
        ssize_t got;

        if (await(start, err) < 0)
            return -1;
        got = receive_part(start->answer, next, count, ret_sender);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return explain_end(start, err);
        next += got;
        count -= (size_t)got;
    }
    return 0;
}

/* Send the COUNT bytes to berth-init, which reads them. */
static int send_all(const struct berth_start *start, const void *bytes, size_t count,
                    struct berth_err *err)
{
    const char *next = bytes;

    while (count > 0) {
        ssize_t sent = send(start->answer, next, count, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return explain_end(start, err);
        next += sent;
        count -= (size_t)sent;
    }
    return 0;
}

/* Let berth-init look at the places of the mounts, and compare with the sources. */
static int check_mounts(const struct berth_start *start, struct berth_err *err)
{
    static const struct berth_mountcheck none;
    const struct berth_mountcheck *check = &none;
    BERTH_FREE struct berth_mountcheck_seen *seen = NULL;
    uint32_t size;
    pid_t sender;

    if (start->mounts)
        check = start->mounts;
    size = (uint32_t)check->places.used;
    seen = calloc(check->count + 1, sizeof(*seen));
    if (!seen)
        return berth_err_oom(err);

    if (send_all(start, &size, sizeof(size), err) < 0)
        return -1;
    if (send_all(start, check->places.text, size, err) < 0)
        return -1;
    if (receive(start, seen, check->count * sizeof(*seen), &sender, err) < 0)
        return -1;
    if (berth_mountcheck_compare(check, seen, err) == 0)
        return 0;
    return berth_err_at(err, "image '%s'", berth_request_name(start->launch->request));
}

int berth_start_await(const struct berth_start *start, struct berth_holder *ret_holder,
                      struct berth_strvec *ret_environ, struct berth_err *err)
{
    enum { ENVIRON_MAX = 16 << 20 }; /* anything larger is not an environment */
    BERTH_FREE char *bytes = NULL;
    struct berth_holder holder;
    pid_t sender = 0;
    uint32_t count;
    char byte;

    if (receive(start, &byte, 1, &sender, err) < 0)
        return -1;
    holder = berth_holder_of(sender);
    *ret_holder = holder;
    if (check_mounts(start, err) < 0)
        return -1;

    if (receive(start, &count, sizeof(count), &sender, err) < 0)
        return -1;
    if (count <= ENVIRON_MAX)
        bytes = malloc(count + 1);
    if (!bytes)
        return berth_err_oom(err);
    if (receive(start, bytes, count, &sender, err) < 0)
        return -1;
    bytes[count] = '\0';
    berth_environ_split(bytes, count, ret_environ);
    return berth_err_oom_if(ret_environ->failed, err);
}

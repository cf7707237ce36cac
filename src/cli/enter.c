/* SPDX-License-Identifier: Apache-2.0 */
/* berth enter: runs a command beside the tasks of a step, in their container, or in one
 * that the job keeps; berth save: writes that to an image. The first part asks Slurm
 * for the container and becomes an srun, which runs the second part on the node:
 * berth VERB --node-part. */

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/detach.h"
#include "base/environ.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/fields.h"
#include "base/run.h"
#include "base/strvec.h"
#include "cli/squeue.h"
#include "cli/cli.h"
#include "cli/container.h"
#include "ipc/report.h"
#include "request/path.h"
#include "run/saver.h"
#include "container/become.h"
#include "container/join.h"
#include "container/namespaces.h"
#include "container/processes.h"
#include "container/program.h"

extern char **environ;

static int refuse_ended(struct berth_err *err)
{
    return berth_err_set(err, "the container has ended; see berth ps");
}

/* Replaces the environment by that with which process PID was started, except TERM. */
static int adopt_environment(pid_t pid, struct berth_err *err)
{
    enum { MOST = 16 << 20 };
    static struct berth_strvec variables; /* `environ` points here from now on */
    BERTH_BUF struct berth_buf bytes = {0};
    const char *term = getenv("TERM");
    BERTH_FREE char *kept = term ? strdup(term) : NULL;

    if (berth_process_environment(pid, MOST, &bytes) < 0)
        return refuse_ended(err);
    if (bytes.used)
        berth_environ_split(bytes.text, bytes.used, &variables);
    if (bytes.failed || variables.failed)
        return berth_err_oom(err);
    clearenv();
    if (variables.items)
        environ = variables.items;
    berth_program_unset_gogc();
    if (kept && setenv("TERM", kept, 1) < 0)
        return berth_err_oom(err);
    return 0;
}

/* Sets RET to a shell of the image. $SHELL may name a shell that only the host has. */
static int choose_shell(char *ret[2], struct berth_err *err)
{
    static char bash[] = "/bin/bash", sh[] = "/bin/sh";
    char *shells[] = {getenv("SHELL"), bash, sh};

    for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++)
        if (shells[i] && *shells[i] == '/' && access(shells[i], X_OK) == 0) {
            ret[0] = shells[i];
            return 0;
        }
    return berth_err_set(err, "the image has no shell; name a command that it has");
}

static int open_directory(pid_t pid)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/cwd", pid);
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Run on the CPUs of process PID: Slurm may give a step of one task fewer. On a machine
 * with more processors than cpu_set_t holds, nothing changes. */
static void adopt_affinity(pid_t pid)
{
    cpu_set_t set;

    if (sched_getaffinity(pid, sizeof(set), &set) == 0)
        sched_setaffinity(0, sizeof(set), &set);
}

static int wait_for(pid_t child)
{
    int status = berth_run_wait(child);

    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Become COMMAND in CONTAINER. Returns only if that fails: a status of
 * container/become.h, with a sentence in ERR. */
static int become(const struct berth_container *container, char **command,
                  struct berth_err *err)
{
    /* In a container that the job keeps there is no task. */
    pid_t like = container->task ? container->task : container->holder;
    /* The environment of the task, or if it is not known, that of the container. */
    pid_t with = container->rank < 0 ? container->holder : container->task;
    const struct berth_holder holder = {container->holder, container->mounts};
    BERTH_CLOSE int directory = open_directory(like);
    char *shell[2] = {NULL};
    struct berth_become become = {.command = *command ? command : shell};

    adopt_affinity(container->task); /* 0: as this process */
    if (adopt_environment(with, err) < 0 || berth_join(holder, err) < 0)
        return BERTH_REFUSED;
    if (directory >= 0 && fchdir(directory) < 0)
        unsetenv("PWD"); /* the directory is gone: stay in / */
    if (!*command && choose_shell(shell, err) < 0)
        return BERTH_NOT_FOUND;
    berth_cloexec_from(STDERR_FILENO + 1);
    return berth_become_command(&become, err);
}

/* Copy what FD has now to standard output. Returns false at the end of FD. */
static bool copy_output(int fd)
{
    char bytes[65536];
    ssize_t count = read(fd, bytes, sizeof(bytes));

    if (count < 0)
        return errno == EINTR;
    return count > 0 && berth_fd_write(STDOUT_FILENO, bytes, (size_t)count) == 0;
}

/* Copy FD to standard output until CHILD has ended and FD is empty; processes that
 * CHILD leaves in the background may keep FD open. ENDED is readable when CHILD has
 * ended. Returns the status of CHILD. */
static int relay(int fd, pid_t child, int ended)
{
    struct pollfd fds[] = {{.fd = fd, .events = POLLIN},
                           {.fd = ended, .events = POLLIN}};

    bool is_open = true;

    while (is_open) {
        fds[0].revents = 0;
        fds[1].revents = 0;
        poll(fds, 2, -1);
        if (fds[0].revents)
            is_open = copy_output(fd);
        else if (fds[1].revents)
            is_open = false; /* CHILD has ended, and nothing is left to copy */
    }
    close(fd);
    return wait_for(child);
}

/* srun --unbuffered passes bytes on at once only if it gives the task a terminal as its
 * standard output. Programs behave differently on a terminal, so they get a pipe. */
static int run_piped(const struct berth_container *container, char **command,
                     struct berth_err *err)
{
    sigset_t ends, old;
    int ended, pipes[2];
    pid_t child = -1;

    sigemptyset(&ends);
    sigaddset(&ends, SIGCHLD);
    sigprocmask(SIG_BLOCK, &ends, &old);
    ended = signalfd(-1, &ends, SFD_CLOEXEC);
    if (ended >= 0 && pipe2(pipes, O_CLOEXEC) == 0)
        child = fork();
    if (child < 0) {
        berth_err_spent(err, errno);
        return BERTH_REFUSED;
    }
    if (child == 0) {
        sigprocmask(SIG_SETMASK, &old, NULL);
        dup2(pipes[1], STDOUT_FILENO);
        return become(container, command, err);
    }
    close(pipes[1]);
    close(STDIN_FILENO); /* only the command reads it */
    return relay(pipes[0], child, ended);
}

/* Run COMMAND, ended by NULL (empty: a shell), in CONTAINER, which is on this
 * node, as its task runs: in the task's namespaces, directory and environment except
 * TERM, with the caller's standard input, output and error. Returns the exit status of
 * the command as in a shell, with "" in ERR; or a status of container/become.h with a
 * sentence. */
static int enter(const struct berth_container *container, char **command,
                 struct berth_err *err)
{
    err->text[0] = '\0';
    if (isatty(STDOUT_FILENO) && !isatty(STDIN_FILENO))
        return run_piped(container, command, err);
    return become(container, command, err);
}

/* Append ARGUMENT of the command, encoded: srun would read a colon as its own, and the
 * plugin would warn of options in it. */
static void push_encoded(const char *argument, struct berth_strvec *argv)
{
    BERTH_BUF struct berth_buf field = {0};

    berth_field_put(&field, 0, "word", argument);
    if (field.failed)
        argv->failed = true;
    else
        berth_strvec_push(argv, field.text);
}

/* Decode the arguments of push_encoded() in place. */
static int decode(char **argv, struct berth_err *err)
{
    for (; *argv; argv++) {
        char *next = *argv, *key;

        if (berth_field_next(&next, &key, argv, err) < 0)
            return -1;
    }
    return 0;
}

#define SAVE "save"

/* Become the srun that runs VERB, with the arguments COMMAND, in CONTAINER. Returns
 * only on failure: -1 with a sentence in ERR. */
static int become_srun(const struct berth_container *container, const char *verb,
                       char **command, struct berth_err *err)
{
    BERTH_FREE char *srun = berth_ask_srun();
    BERTH_STRVEC struct berth_strvec argv = {0};
    BERTH_STRVEC struct berth_strvec env = {0};
    bool is_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);

    berth_job_srun(srun, container->job, container->offset, container->node, 1, &argv);
    berth_strvec_push(&argv, is_terminal ? "--pty" : "--unbuffered");
    berth_strvec_push(&argv, BERTH_ASK_PROGRAM);
    berth_strvec_push(&argv, verb);
    berth_strvec_push(&argv, BERTH_ASK_NODE);
    berth_strvec_pushf(&argv, "%u", container->job);
    berth_strvec_pushf(&argv, "%d", container->rank);
    berth_strvec_pushf(&argv, "%d", container->holder);
    for (; *command; command++)
        push_encoded(*command, &argv);
    berth_job_environment(environ, &env);
    if (argv.failed || env.failed)
        return berth_err_oom(err);
    execve(srun, argv.items, env.items);
    return berth_err_file(err, srun, "started");
}

/* Save CONTAINER, which is on this node, to the file in ARGV. */
static int save(const struct berth_container *container, char **argv,
                struct berth_err *err)
{
    err->text[0] = '\0';
    if (berth_save(container, argv[0], argv[1], NULL, err) < 0)
        return BERTH_REFUSED;
    puts(argv[0]);
    return EXIT_SUCCESS;
}

/* Save the container of a step that has no more tasks, for its supervisor: WORDS are
 * those of run/saver.h. */
static int save_step(char **words)
{
    const struct berth_holder holder = berth_holder_of(atoi(words[0]));
    struct berth_container container = {.holder = holder.pid,
                                        .mounts = holder.mounts,
                                        .node = words[2],
                                        .job =
                                            (unsigned int)strtoul(words[3], NULL, 10),
                                        .image = words[4]};
    struct berth_err err;
    off_t bytes = 0;

    if (access(words[1], F_OK) == 0)
        berth_err_set(&err,
                      "'%s' was made while the step ran, and stays as it is; save to "
                      "another name",
                      words[1]);
    else if (berth_save(&container, words[1], false, &bytes, &err) == 0) {
        berth_report_line(STDERR_FILENO, container.node, "saved '%s' (%lld MB)",
                          words[1], ((long long)bytes + 500000) / 1000000);
        return EXIT_SUCCESS;
    }
    berth_err_at(&err, "%s: --container-save", container.node);
    return berth_cli_fail(&err);
}

/* Run VERB, with the arguments COMMAND, in CONTAINER, which is on this node. */
static int run_verb(const char *verb, const struct berth_container *container,
                    char **command)
{
    struct berth_err err;
    int status;

    if (strcmp(verb, SAVE) == 0)
        status = save(container, command, &err);
    else
        status = enter(container, command, &err);
    if (*err.text) {
        berth_err_at(&err, "%s: image '%s'", container->node, container->image);
        berth_cli_fail(&err);
    }
    return status;
}

/* Run the second part of VERB. ARGV is what become_srun() put after BERTH_ASK_NODE. */
static int do_here(const char *verb, char **argv)
{
    BERTH_CONTAINERS struct berth_containers found = {0};
    char **command = argv + 3;
    const struct berth_find wanted = {
        .user = getuid(),
        .job = (unsigned int)strtoul(argv[0], NULL, 10),
        .rank = atoi(argv[1]),
    };
    pid_t holder = atoi(argv[2]);
    struct berth_err err;

    if (decode(command, &err) < 0 || berth_find_containers(&wanted, &found, &err) < 0)
        return berth_cli_fail(&err);
    for (size_t i = 0; i < found.count; i++)
        if (found.items[i].holder == holder)
            return run_verb(verb, &found.items[i], command);
    refuse_ended(&err);
    berth_err_at(&err, "job %u", wanted.job);
    return berth_cli_fail(&err);
}

/* Read TEXT, the value of the option with the letter FOUND. */
static int read_number(int found, const char *text, struct berth_selector *selector,
                       struct berth_err *err)
{
    const char *name = "rank";
    int *number = &selector->rank;
    char *end;

    if (found == 'c') {
        name = "component";
        number = &selector->component;
    }
    *number = berth_selector_number(text, &end);
    if (*number < 0 || *end)
        return berth_err_set(err, "expected a number for --%s, got '%s'", name, text);
    return 0;
}

/* Read TEXT, the value of --container: a number of `berth ps`, or a name. */
static void read_container(const char *text, struct berth_selector *selector)
{
    char *end;
    const int number = berth_selector_number(text, &end);

    if (number >= 0 && !*end)
        selector->holder = number;
    else
        selector->name = text;
}

/* Read the command line: options, JOBID, options, COMMAND; of `save`, --force is one
 * and FILE the command. Returns the index of the command; 0: the command line is wrong;
 * -1 with a sentence in ERR. */
static int read_line(int argc, char **argv, struct berth_selector *selector,
                     bool *is_forced, struct berth_err *err)
{
    static const struct option options[] = {
        {"component", required_argument, NULL, 'c'},
        {"container", required_argument, NULL, 'i'},
        {"rank", required_argument, NULL, 'r'},
        {"force", no_argument, NULL, 'f'},
        {0},
    };
    bool saves = strcmp(argv[0], SAVE) == 0;
    int found;

    opterr = 0;
    while (optind < argc) {
        found = getopt_long(argc, argv, "+w:", options, NULL);
        if (found == 'w')
            selector->node = optarg;
        else if (found == 'i')
            read_container(optarg, selector);
        else if (found == 'c' || found == 'r') {
            if (read_number(found, optarg, selector, err) < 0)
                return berth_err_at(err, "%s", argv[0]);
        } else if (found == 'f' && saves)
            *is_forced = true;
        else if (found != -1)
            return 0;
        else if (selector->job || optind == argc)
            break;
        else if (berth_selector_read(argv[optind++], selector, err) < 0)
            return berth_err_at(err, "%s", argv[0]);
    }
    return selector->job && (!saves || optind + 1 == argc) ? optind : 0;
}

int berth_cli_enter(int argc, char **argv)
{
    BERTH_CONTAINERS struct berth_containers found = {0};
    struct berth_containers several = {0}; /* borrows from FOUND */
    struct berth_selector selector = {
        .step = -1, .component = -1, .rank = -1, .holder = -1};
    const struct berth_container *chosen;
    bool saves = strcmp(argv[0], SAVE) == 0;
    BERTH_FREE char *here = getcwd(NULL, 0), *file = NULL;
    char *save[] = {NULL, NULL, NULL}, force[] = "--force";
    bool is_forced = false;
    struct berth_err err;
    int command;

    if (argc >= 5 && strcmp(argv[1], BERTH_ASK_NODE) == 0)
        return do_here(argv[0], argv + 2);
    if (saves && argc == 2 + BERTH_SAVER_WORDS &&
        strcmp(argv[1], BERTH_SAVER_WORD) == 0)
        return save_step(argv + 2);
    selector.is_to_save = saves;
    command = read_line(argc, argv, &selector, &is_forced, &err);
    if (command == 0)
        return BERTH_CLI_USAGE;
    if (command < 0)
        return berth_cli_misused(&err);
    if (saves && berth_path_absolute(argv[command], here, &file, &err) < 0)
        return berth_cli_misused(&err);
    save[0] = file;
    save[1] = is_forced ? force : NULL;
    /* On all nodes, so that an error can name a container that is elsewhere. */
    chosen = NULL;
    if (berth_ask_containers(selector.job, selector.rank, &found, &err) == 0 ||
        found.count > 0)
        chosen = berth_containers_choose(&found, &selector, &several, &err);
    if (chosen)
        become_srun(chosen, argv[0], saves ? save : argv + command, &err);
    berth_err_at(&err, "%s", argv[0]);
    berth_cli_fail(&err);
    if (!chosen && several.count)
        berth_containers_print(&several, false, stderr);
    free(several.items);
    return BERTH_CLI_FAILED;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a command line of Slurm names, of which a container has others. Here the
 * container's are in the directory `inside`, the host's in the working directory. */

#include "supervise/hostfiles.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "job/hostcommand.h"
#include "job/message.h"
#include "unit.h"

static char *directory;

static void make(const char *name, const char *text)
{
    unit_write(name, text, strlen(text));
}

static void set_up(void)
{
    directory = unit_directory();
    ck_assert_int_eq(chdir(directory), 0);
    ck_assert_int_eq(mkdir("inside", 0700), 0);
    ck_assert_int_eq(mkdir("inside/dir", 0700), 0);
    ck_assert_int_eq(mkdir("both", 0700), 0);
    ck_assert_int_eq(mkdir("other", 0700), 0);
    ck_assert_int_eq(mkdir("inside/other", 0700), 0);
    ck_assert_int_eq(symlink("../both", "inside/both"), 0);
    ck_assert_int_eq(mkfifo("inside/fifo", 0600), 0);
    ck_assert_int_eq(mkfifo("both/fifo", 0600), 0);
    make("both/f", "both");
    make("inside/f", "inside");
    make("inside/n1", "a file called as a node");
    make("f", "the host's");
    make("inside/large", "");
    ck_assert_int_eq(truncate("inside/large", (16 << 20) + 1), 0);
}

static void tear_down(void)
{
    ck_assert_int_eq(chdir("/"), 0);
    unit_remove(directory);
    free(directory);
}

/* The program in the container: opens what it is asked for. */
_Noreturn static void answer(int socket)
{
    struct berth_hostcommand_file file;
    char path[PATH_MAX + 8];

    while (recv(socket, &file, sizeof(file), 0) > 0) {
        int fd, error;

        snprintf(path, sizeof(path), "inside/%s", file.path);
        fd = open(path, file.flags | O_NONBLOCK);
        error = errno;
        berth_job_send(socket, SIGWINCH, -1); /* a terminal may change at any time */
        berth_job_send(socket,
                       fd < 0 ? BERTH_HOSTCOMMAND_NO_FILE : BERTH_HOSTCOMMAND_FILE, fd);
        if (fd < 0)
            berth_job_send(socket, error, -1);
        if (strcmp(file.path, "fifo") == 0 && !(file.flags & O_PATH))
            make("inside/fifo", "through a pipe");
    }
    _exit(EXIT_SUCCESS);
}

/* TEXT, with what /proc/self/fd/N holds in its place. */
static char *resolve(const char *text)
{
    const char *at = strstr(text, "/proc/self/fd/");
    char held[100] = "";
    char *result;
    int fd;

    if (!at)
        return strdup(text);
    fd = open(at, O_RDONLY);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_gt(read(fd, held, sizeof(held) - 1), 0);
    close(fd);
    ck_assert_int_eq(fcntl(atoi(strrchr(at, '/') + 1), F_GETFD), 0); /* is inherited */
    ck_assert_int_gt(asprintf(&result, "%.*s{%s}", (int)(at - text), text, held), 0);
    return result;
}

#define ALONE(option, path)                                                            \
    option ": '" path                                                                  \
           "' is in the container alone; use a directory that the host has, too"

/* What the words become, or the sentence. */
static const struct {
    const char *words;
    const char *result;
} lines[] = {
    {"srun -w n1,n2 f", "srun -w n1,n2 f"},
    {"srun -w ./n1 x", "srun -w {a file called as a node} x"},
    {"srun -lw./n1 x", "srun -lw{a file called as a node} x"},
    {"srun --nodelist=./n1 x", "srun --nodelist={a file called as a node} x"},
    {"srun --nodel ./n1 x", "srun --nodel {a file called as a node} x"},
    {"srun --nodelist=both/f x", "srun --nodelist=both/f x"},
    {"srun -F f -x ./f x", "srun -F {inside} -x {inside} x"},
    {"srun -i f cat f", "srun -i {inside} cat f"},
    {"srun -i none -o none -e 3 x", "srun -i none -o none -e 3 x"},
    {"srun -i /dev/null -o /dev/null x", "srun -i /dev/null -o /dev/null x"},
    {"srun --export=f --bb f --export-file=f x",
     "srun --export=f --bb f --export-file={inside} x"},
    {"srun --expo=f --export-f f x", "srun --expo=f --export-f {inside} x"},
    {"srun -i fifo x", "srun -i {through a pipe} x"},
    {"srun --multi-prog f a", "srun --multi-prog {inside} a"},
    {"srun --multi-prog -- f", "srun --multi-prog -- {inside}"},
    {"srun f : --multi-prog f : f", "srun f : --multi-prog {inside} : f"},
    {"srun --multi-prog", "srun --multi-prog"},
    {"srun -n1 --multi f", "srun -n1 --multi {inside}"},
    {"srun -n1 --multi-p f : -i none x", "srun -n1 --multi-p {inside} : -i none x"},
    {"srun --multi-prog /dev/stdin", "srun --multi-prog /dev/stdin"},
    {"srun --unbuf ls -i gone", "srun --unbuf ls -i gone"},
    {"srun --wait 5 -i f x", "srun --wait 5 -i {inside} x"},
    {"srun -n1 : -i f x", "srun -n1 : -i {inside} x"},
    {"srun -i both/fifo x", "srun -i both/fifo x"},
    {"srun -i - -o None -e ALL x", "srun -i - -o None -e ALL x"},
    {"srun -i /dev/stdin -o /dev/stdout x", "srun -i /dev/stdin -o /dev/stdout x"},
    {"sbatch -n1 : -n1 both/f : -i gone", "sbatch -n1 : -n1 both/f : -i gone"},
    {"sbatch -D both found", "sbatch -D both found"},
    {"sbatch -o all.out both/f", ALONE("--output", "all.out")},
    {"salloc --no-shell -w ./f -n1", "salloc --no-shell -w {inside} -n1"},
    {"srun -o both/o.%t -e both/%j/e x", "srun -o both/o.%t -e both/%j/e x"},
    {"srun -o both/n/n/%j -e both/new/e x", "srun -o both/n/n/%j -e both/new/e x"},
    {"srun -o dir/new/%j x", ALONE("--output", "dir/new/%j")},
    {"srun -D both x", "srun -D both x"},
    {"srun -D other x", "srun -D other x"},
    {"sbatch -W both/f", "sbatch -W both/f"},
    {"salloc -n1 f", "salloc -n1 f"},
    {"sacct -D -i gone -o dir/%t", "sacct -D -i gone -o dir/%t"},
    {"squeue -w ./n1 -o dir/f", "squeue -w ./n1 -o dir/f"},
    {"srun -i gone x",
     "--input: 'gone': No such file or directory; name a file that this container has"},
    {"srun -i dir x",
     "--input: 'dir': Is a directory; name a file that this container has"},
    {"srun -i large x", "--input: 'large' is in the container alone and has more than "
                        "16 MiB; use a directory that the host has, too"},
    {"srun -i dir/%t x", ALONE("--input", "dir/%t")},
    {"srun -o o x", ALONE("--output", "o")},
    {"srun -e dir/%j/e x", ALONE("--error", "dir/%j/e")},
    {"srun --chdir=dir x", ALONE("--chdir", "dir")},
    {"srun --task-prolog=f x", ALONE("--task-prolog", "f")},
    {"sbatch -W f", ALONE("the script", "f")},
    {"sbatch -i f both/f", ALONE("--input", "f")},
};

/* The words of TEXT, and VARIABLE, as the command gets them; or the sentence. */
static char *carry(const char *text, const char *variable)
{
    BERTH_STRVEC struct berth_strvec words = {0};
    BERTH_STRVEC struct berth_strvec environment = {0};
    BERTH_FREE char *copy = strdup(text);
    BERTH_BUF struct berth_buf result = {0};
    char *const task[] = {(char *)"SLURM_HOSTFILE=of/the/task", NULL};
    struct berth_err err;
    int ends[2];
    pid_t child;

    for (char *rest = copy; rest;)
        berth_strvec_push(&words, strsep(&rest, " "));
    berth_strvec_push(&environment, "A=1");
    berth_strvec_push(&environment, variable);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    child = fork();
    if (child == 0) {
        close(ends[0]);
        answer(ends[1]);
    }
    close(ends[1]);
    if (berth_hostfiles_carry(ends[0], words.items, &environment, task, &err) < 0)
        berth_buf_puts(&result, err.text);
    else
        for (size_t i = 0; i <= words.count; i++) {
            BERTH_FREE char *word =
                resolve(i < words.count ? words.items[i] : environment.items[1]);

            if (i == words.count && strcmp(variable, "") == 0)
                continue;
            if (i > 0)
                berth_buf_puts(&result, " ");
            berth_buf_puts(&result, word);
        }
    close(ends[0]);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    return strdup(result.text);
}

START_TEST(words_and_what_they_become)
{
    BERTH_FREE char *result = carry(lines[_i].words, "");

    ck_assert_str_eq(result, lines[_i].result);
}
END_TEST

/* The same of a variable. */
static const struct {
    const char *command;
    const char *variable;
    const char *result; /* the variable, or the sentence */
} variables[] = {
    {"srun", "SLURM_HOSTFILE=f", "SLURM_HOSTFILE={inside}"},
    {"sbatch", "SLURM_HOSTFILE=f", "SLURM_HOSTFILE={inside}"},
    {"srun", "SLURM_HOSTFILE=of/the/task", "SLURM_HOSTFILE=of/the/task"},
    {"srun", "SLURM_HOSTFILES=f", "SLURM_HOSTFILES=f"},
    {"srun", "SLURM_STDINMODE=f", "SLURM_STDINMODE={inside}"},
    {"srun", "SRUN_INPUT=none", "SRUN_INPUT=none"},
    {"srun", "SRUN_INPUT", "SRUN_INPUT"},
    {"srun", "SRUN_INPUT=-", "SRUN_INPUT=-"},
    {"srun", "SLURM_STDOUTMODE=both/o", "SLURM_STDOUTMODE=both/o"},
    {"srun", "SRUN_OUTPUT=o", ALONE("SRUN_OUTPUT", "o")},
    {"srun", "SLURM_STDERRMODE=dir/%t", ALONE("SLURM_STDERRMODE", "dir/%t")},
    {"srun", "SLURM_WORKING_DIR=dir", ALONE("SLURM_WORKING_DIR", "dir")},
    {"srun", "SLURM_TASK_PROLOG=f", ALONE("SLURM_TASK_PROLOG", "f")},
    {"srun", "SBATCH_OUTPUT=o", "SBATCH_OUTPUT=o"},
    {"sbatch", "SBATCH_OUTPUT=o", ALONE("SBATCH_OUTPUT", "o")},
    {"sbatch", "SLURM_STDOUTMODE=o", "SLURM_STDOUTMODE=o"},
    {"squeue", "SLURM_STDOUTMODE=o", "SLURM_STDOUTMODE=o"},
};

START_TEST(variables_and_what_they_become)
{
    BERTH_FREE char *result = carry(variables[_i].command, variables[_i].variable);
    size_t length = strlen(variables[_i].command) + 1;

    if (strncmp(result, variables[_i].command, length - 1) != 0)
        length = 0; /* a sentence */
    ck_assert_str_eq(result + length, variables[_i].result);
}
END_TEST

START_TEST(a_variable_that_says_multi_prog)
{
    BERTH_FREE char *steps = carry("srun f", "SLURM_SRUN_MULTI=1");
    BERTH_FREE char *script = carry("sbatch both/f f", "SLURM_SRUN_MULTI=1");

    ck_assert_str_eq(steps, "srun {inside} SLURM_SRUN_MULTI=1");
    ck_assert_str_eq(script, "sbatch both/f f SLURM_SRUN_MULTI=1");
}
END_TEST

/* Whoever asks is sent a signal meanwhile, or ends. */
START_TEST(a_program_that_ends)
{
    char *words[] = {(char *)"srun", (char *)"-if", NULL};
    char *const task[] = {NULL};
    struct berth_strvec environment = {0};
    struct berth_hostcommand_file file;
    int ends[2], status;
    pid_t child;

    berth_strvec_push(&environment, "A=1");
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    child = fork();
    if (child == 0) {
        close(ends[1]);
        berth_hostfiles_carry(ends[0], words, &environment, task, NULL);
        _exit(EXIT_SUCCESS);
    }
    close(ends[0]);
    ck_assert_int_gt(recv(ends[1], &file, sizeof(file), 0), 0);
    if (_i == 0)
        berth_job_send(ends[1], SIGINT, -1);
    else
        shutdown(ends[1], SHUT_WR);
    ck_assert_int_eq(recv(ends[1], &status, sizeof(status), 0),
                     _i == 0 ? (ssize_t)sizeof(status) : 0);
    if (_i == 0)
        ck_assert_int_eq(status, SIGINT);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(WEXITSTATUS(status), EXIT_FAILURE);
    berth_strvec_fini(&environment);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("hostfiles");

    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_loop_test(tests, words_and_what_they_become, 0, COUNT(lines));
    tcase_add_loop_test(tests, variables_and_what_they_become, 0, COUNT(variables));
    tcase_add_test(tests, a_variable_that_says_multi_prog);
    tcase_add_loop_test(tests, a_program_that_ends, 0, 2);
    return unit_run("hostfiles", tests);
}

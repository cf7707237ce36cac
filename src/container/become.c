/* SPDX-License-Identifier: Apache-2.0 */
/* Becomes the user's command, or says in one sentence why it cannot be started. */

#include "container/become.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/child.h"
#include "base/choice.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/run.h"
#include "base/searchpath.h"
#include "base/text.h"
#include "container/runscript.h"
#include "plan/launch.h"
#include "request/multiprog.h"
#include "request/request.h"

/* Commands of Slurm that a container has if the site allows that. It always has srun.
 */
static const char *const of_slurm[] = {"salloc", "sbatch", "scancel", "scontrol",
                                       "sinfo",  "squeue", NULL};

#define ON_HOST "start it on the host, or ask the administrators for `inside: all`"

/* Is the absolute PATH the working directory? */
static bool is_here(const char *path)
{
    struct stat there, here;

    if (stat(path, &there) < 0 || stat(".", &here) < 0)
        return false;
    return there.st_dev == here.st_dev && there.st_ino == here.st_ino;
}

/* Set PWD to PATH, if PATH is the working directory: the runtime has set PWD to a path
 * without the symbolic links of the task's.
 */
static int set_pwd(const char *path)
{
    bool is_absolute = path && *path == '/';

    if (!is_absolute || !is_here(path))
        return 0;
    return setenv("PWD", path, 1);
}

/* Change to the working directory of the image. Returns its path, which the caller
 * frees; NULL: it has none, or has none at that path. */
static char *enter_image_directory(const struct berth_become *become)
{
    BERTH_FREE char *directory = NULL;

    if (become->image_directory)
        directory = strdup(become->image_directory);
    else
        directory = berth_runscript_directory(BERTH_LAUNCH_RC);

    if (!directory || chdir(directory) < 0)
        return NULL;
    return berth_steal(&directory);
}

/* The container lacks the working directory of the task, because of NUMBER (errno):
 * change to that of the image, else to /, and write into NOTE that this is so. Returns
 * 0, or -1 with errno. */
static int leave_missing(const struct berth_become *become, int number,
                         struct berth_err *note)
{
    BERTH_FREE char *directory = enter_image_directory(become);
    const char *whose = directory ? ", the image's" : "";

    if (!directory)
        directory = strdup("/");
    if (!directory || chdir(directory) < 0)
        return -1;
    berth_err_set(
        note,
        "the working directory '%s' is not in the container (%s); the command "
        "starts in '%s'%s: mount yours (--container-mounts=%s), or name "
        "another (--container-workdir=DIR)",
        become->stay, strerror(number), directory, whose, become->stay);
    return setenv("PWD", directory, 1);
}

/* Change to the working directory if nobody has asked for one. Returns 0, or -1 with
 * errno. */
static int enter_usual(const struct berth_become *become, struct berth_err *note)
{
    if (become->prefers_image) {
        BERTH_FREE char *directory = enter_image_directory(become);

        if (directory)
            return setenv("PWD", directory, 1);
    }
    if (become->stay && chdir(become->stay) < 0)
        return leave_missing(become, errno, note);
    return set_pwd(become->pwd);
}

int berth_become_chdir(const struct berth_become *become, struct berth_err *note,
                       struct berth_err *err)
{
    if (note)
        *note->text = '\0';
    if (!become->workdir) {
        if (enter_usual(become, note) < 0)
            return berth_err_file(err, "/", "opened");
        return 0;
    }
    if (chdir(become->workdir) < 0)
        return berth_err_set(
            err,
            "--container-workdir=%s: %s; expected a directory of the image or of a "
            "mount",
            become->workdir, strerror(errno));
    if (set_pwd(become->workdir) < 0)
        return berth_err_oom(err);
    return 0;
}

/* Does the #! line of SCRIPT end in CR LF? The kernel takes the CR as a part of the
 * interpreter's name. */
static bool has_windows_lines(const char *script)
{
    BERTH_FCLOSE FILE *file = fopen(script, "re");
    char line[512];

    return file && fgets(line, sizeof(line), file) && berth_text_starts(line, "#!") &&
           strstr(line, "\r\n");
}

/* Is FILE a file for `srun --multi-prog`? */
static bool lists_programs(const char *file)
{
    enum { HEAD = 4096 };
    BERTH_BUF struct berth_buf text = {0};

    if (berth_fd_read_path(file, HEAD, &text) < 0 || text.failed)
        return false;
    return text.used && berth_multiprog_begins(text.text);
}

/* Is WORD a NAME=VALUE, which a shell allows before a command, and srun does not? */
static bool is_assignment(const char *word)
{
    const char *end = word;
    bool has_name;

    while (*end == '_' || isalnum((unsigned char)*end))
        end++;
    has_name = end != word && !isdigit((unsigned char)*word);
    return has_name && *end == '=';
}

/* Does the last directory of PATH offer the command NAME of the host? */
static bool is_offered(const char *name)
{
    const char *place = getenv(BERTH_OUTSIDE_PLACE);
    BERTH_FREE char *file = NULL;

    return place && asprintf(&file, "%s/%s", place, name) > 0 &&
           access(file, X_OK) == 0;
}

/* The mistake in a NAME that no program has; NULL: it may be the name of one. */
static const char *mistake_in(const char *name)
{
    if (*name == '$')
        return "Slurm and berth expand no variables: write its value";
    if (is_assignment(name))
        return "it sets a variable: write --container-env=A=1,B=2 before the command";
    if (strchr(name, ' '))
        return "it has blanks: leave the quotes out";
    /* the value is optional, so srun takes one after a blank as the command */
    if (berth_choice_find(BERTH_MODE_WORDS, name) >= 0)
        return "write a value of --mpi-bind after an equals sign";
    return NULL;
}

/* Write why the command NAME is not found, which is a path. */
static void explain_path(const char *name, struct berth_err *err)
{
    const char *base = berth_text_base(name);

    if (is_offered(base))
        berth_err_set(err,
                      "command '%s' is not in the image; write %s, which runs the "
                      "host's",
                      name, base);
    else if (berth_text_is_any(base, of_slurm))
        berth_err_set(err, "command '%s' is not in the image; " ON_HOST, name);
    else
        berth_err_set(err,
                      "command '%s' is not in the image; check the path, or mount it "
                      "(--container-mounts)",
                      name);
}

/* How many bytes of PATH, a value of the variable, are directories of the image? berth
 * adds its own directory after them. */
static int length_in_image(const char *path)
{
    const char *outside = strstr(path, BERTH_OUTSIDE_PATH);

    if (!outside)
        return (int)strlen(path);
    return (int)(outside - path);
}

/* Write why the command NAME is not found on the PATH. RUNSCRIPT as in struct
 * berth_become. */
static void explain_name(const char *name, const char *runscript, struct berth_err *err)
{
    const char *value = getenv("PATH");
    const char *path = value ? value : "not set";
    int length = length_in_image(path);

    if (berth_text_is_any(name, of_slurm))
        berth_err_set(err, "command '%s' is not on the image's PATH (%.*s); " ON_HOST,
                      name, length, path);
    else if (runscript && berth_runscript_prepares(runscript))
        berth_err_set(err,
                      "command '%s' is not on the image's PATH (%.*s), and not in the "
                      "working directory; check the name, give its path, or use "
                      "--container-entrypoint: the image's runscript may set the PATH",
                      name, length, path);
    else
        berth_err_set(err,
                      "command '%s' is not on the image's PATH (%.*s), and not in the "
                      "working directory; check the name, or give its path",
                      name, length, path);
}

/* List the container's /. Returns 0 or errno. */
static int list_root(bool *ret_is_empty)
{
    BERTH_CLOSEDIR DIR *list = opendir("/");

    if (!list)
        return errno;
    *ret_is_empty = true;
    for (;;) {
        struct dirent *entry;

        errno = 0;
        entry = readdir(list);
        if (!entry || errno)
            return errno;
        if (*entry->d_name != '.')
            *ret_is_empty = false;
    }
}

/* Can the container's / not be listed? Then the image is damaged, and WHY says it. */
static bool is_damaged(struct berth_err *why)
{
    bool is_empty = false;
    int number = list_root(&is_empty);

    if (number == 0 && !is_empty)
        return false;
    berth_err_set(why,
                  "the image is damaged: its '/' cannot be listed (%s); copy, pull or "
                  "build it again",
                  number ? strerror(number) : "it is empty");
    return true;
}

/* Write why the command of BECOME, which the image does not have, is not found. FILE is
 * its path; NULL: it is a name for the PATH. */
static void explain_missing(const struct berth_become *become, const char *file,
                            struct berth_err *err)
{
    const char *name = become->command[0];
    const char *mistake = mistake_in(name);

    if (is_damaged(err))
        return;
    if (mistake)
        berth_err_set(err, "command '%s' is not in the image; %s", name, mistake);
    else if (file)
        explain_path(name, err);
    else
        explain_name(name, become->runscript, err);
}

/* The exit status of a shell for a command that execve(2) refuses with NUMBER. */
static int status_of(int number)
{
    if (number == ENOENT)
        return BERTH_NOT_FOUND;
    return BERTH_NOT_EXECUTABLE;
}

/* What the user can do about FILE, which exists and cannot be started because of NUMBER
 * (errno). */
static const char *hint_for(const char *file, int number)
{
    if (number == ENOENT && has_windows_lines(file))
        return "its #! line ends as in Windows: convert it (dos2unix)";
    if (number == ENOENT)
        return "the interpreter of its #! line, or its loader, is not in the image: "
               "mount or install it";
    if (number == EACCES && file && lists_programs(file))
        return "it lists programs for ranks: write --multi-prog before it";
    if (number == ENOEXEC)
        return "build it for this machine, or write #!/bin/sh at its top";
    return "name a program, or make this one executable (chmod +x)";
}

/* Write why the command of BECOME cannot be started, because of NUMBER (errno). FILE is
 * its path; NULL: it is not found. Returns the exit status. */
static int refuse(const struct berth_become *become, const char *file, int number,
                  struct berth_err *err)
{
    bool is_there = file && access(file, F_OK) == 0;

    /* of a file that is there, ENOENT is about its interpreter (execve(2)) */
    if (number == ENOENT && !is_there)
        explain_missing(become, file, err);
    else
        berth_err_set(err, "command '%s' cannot be started (%s); %s",
                      become->command[0], strerror(number), hint_for(file, number));
    return status_of(number);
}

int berth_become_on_host(char *const *command, struct berth_err *err)
{
    int number;

    execvp(command[0], command);
    number = errno;
    berth_err_set(err, "command '%s': %s; check the name, or give its path", command[0],
                  strerror(number));
    return status_of(number);
}

/* Returns the path of NAME in the working directory. */
static char *path_here(const char *name)
{
    BERTH_FREE char *directory = getcwd(NULL, 0);
    char *found;

    if (!directory)
        return strdup(name);
    if (asprintf(&found, "%s/%s", directory, name) < 0)
        return NULL;
    return found;
}

static bool is_file(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* Returns the path of NAME on the PATH or else in the working directory, as slurmstepd
 * does. NULL with errno: it is in neither. */
static char *find_name(const char *name)
{
    struct berth_searchpath path = {.left = getenv("PATH")};
    bool is_forbidden = false;

    if (!path.left)
        path.left = "/bin:/usr/bin";
    while (berth_searchpath_next(&path)) {
        BERTH_FREE char *file = berth_searchpath_file(&path, name);

        if (!file)
            return NULL;
        if (!is_file(file))
            continue;
        if (access(file, X_OK) == 0)
            return berth_steal(&file);
        /* a later directory may have one that can be executed */
        is_forbidden = true;
    }

    if (!is_forbidden && is_file(name))
        return path_here(name);
    errno = is_forbidden ? EACCES : ENOENT;
    return NULL;
}

char *berth_become_find(const char *name)
{
    if (!strchr(name, '/'))
        return find_name(name);
    if (*name == '.')
        return path_here(name);
    return strdup(name);
}

/* Returns 0, or the exit status with a sentence in ERR. */
static int check_entrypoint(const struct berth_become *become, struct berth_err *err)
{
    if (!become->entrypoint || berth_runscript_exists(become->entrypoint))
        return 0;
    berth_err_set(err,
                  "--container-entrypoint: the image has no entry point ('%s'); leave "
                  "the option out, or build the image with one",
                  become->entrypoint);
    return BERTH_NOT_FOUND;
}

int berth_become_command(const struct berth_become *become, struct berth_err *err)
{
    char *name = become->command[0];
    BERTH_FREE char *program = berth_become_find(name);
    int number = errno;
    int status = check_entrypoint(become, err);

    if (status != 0)
        return status;
    if (program) {
        become->command[0] = program;
        execv(program, become->command);
        number = errno;
        become->command[0] = name;
    }
    return refuse(become, program, number, err);
}

struct trial {
    const char *program;
    char *const *command;
};

/* In a child: become the program of DATA, a struct trial, which stops before its first
 * instruction because it is traced. If tracing is forbidden, only check that the file
 * can be executed. Returns errno. */
static int try_program(void *data)
{
    const struct trial *trial = data;

    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
        execv(trial->program, trial->command);
    else if (access(trial->program, X_OK) == 0)
        return 0;
    return errno;
}

int berth_become_try(const struct berth_become *become, struct berth_err *err)
{
    const char *name = become->command[0];
    BERTH_FREE char *program = berth_become_find(name);
    int number = errno;
    int status = check_entrypoint(become, err);
    struct trial trial = {program, become->command};
    pid_t child;

    if (status != 0)
        return status;
    if (!program)
        return refuse(become, NULL, number, err);
    /* it dies with this process: the command would go on without its tracer */
    child = berth_child(try_program, &trial, SIGKILL);
    if (child < 0) {
        berth_err_spent(err, errno);
        return BERTH_REFUSED;
    }
    status = berth_run_wait(child);
    if (WIFSTOPPED(status)) {
        /* execve(2) has succeeded: the tracer sees the program stop */
        kill(child, SIGKILL);
        berth_run_wait(child);
        return 0;
    }
    number = WEXITSTATUS(status);
    if (number == 0)
        return 0;
    return refuse(become, program, number, err);
}

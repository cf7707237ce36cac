/* SPDX-License-Identifier: Apache-2.0 */
/* berth-oci: what RunTimeRun of oci.conf(5) names, so that Slurm's own --container runs
 * an image. slurmstepd starts it in place of each task:
 *
 *     berth-oci ENVIRONMENT CONTAINER COMMAND [ARGUMENT...]
 *
 * ENVIRONMENT is a file with the environment of the task, each entry ended by a null
 * byte (CreateEnvFile=null): the process itself has that of slurmstepd. CONTAINER is
 * the value of --container. The process becomes `berth run` with that image; or the
 * command, if the plugin has prepared the task; or the site's runtime, if CONTAINER is
 * an OCI bundle. */

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/environ.h"
#include "base/fd.h"
#include "base/installed.h"
#include "base/searchpath.h"
#include "base/strvec.h"
#include "base/text.h"
#include "cli/host.h"
#include "cli/slurmtask.h"
#include "container/become.h"
#include "container/program.h"
#include "image/image.h"
#include "plan/order.h"
#include "request/bundle.h"
#include "request/script.h"

extern char **environ;

#ifndef BERTH_RUN_PROGRAM /* of a test */
#define BERTH_RUN_PROGRAM BERTH_BINDIR "/berth"
#endif

/* The arguments of the command line. */
enum { ENVIRONMENT = 1, CONTAINER, COMMAND };

/* Read the file PATH into RET, if it is of this user or of root: slurmstepd makes its
 * directory writable by the user's primary group, so that another user of that group
 * can exchange the file. Returns 0, or -1 with errno. */
static int read_trusted(const char *path, struct berth_buf *ret)
{
    enum { MOST = 64 << 20 }; /* bytes; Linux passes less to a program */
    BERTH_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat status;
    bool is_trusted;

    if (fd < 0 || fstat(fd, &status) < 0)
        return -1;
    is_trusted = status.st_uid == geteuid() || status.st_uid == 0;
    if (!is_trusted) {
        errno = EPERM;
        return -1;
    }
    return berth_fd_read(fd, MOST, ret);
}

/* The environment cannot be read from the file PATH because of NUMBER (errno). */
static int refuse_environment(const char *path, int number, struct berth_err *err)
{
    if (number == EPERM)
        return berth_err_set(err,
                             "'%s', the environment of the task: it belongs to another "
                             "user; tell the administrators",
                             path);
    return berth_err_set(err,
                         "'%s', the environment of the task: %s; oci.conf must have "
                         "CreateEnvFile=null, and pass %%e",
                         path, strerror(number));
}

/* Replace the environment of this process by that in the file PATH. */
static int read_environment(const char *path, struct berth_err *err)
{
    static char *nothing[] = {NULL};
    static struct berth_strvec variables; /* `environ` points here from now on */
    BERTH_BUF struct berth_buf text = {0};

    if (read_trusted(path, &text) < 0)
        return refuse_environment(path, errno, err);
    berth_environ_split(berth_buf_text(&text), text.used, &variables);
    if (variables.failed)
        return berth_err_oom(err);

    environ = nothing;
    if (variables.items)
        environ = variables.items;
    return 0;
}

/* Has the plugin prepared the task? Then the command is a program of berth with an
 * order, or the plugin has decided that the task runs on the host. */
static bool is_prepared(void)
{
    return getenv(BERTH_TASK_ORDER) || getenv(BERTH_SCRIPT_VARIABLE) ||
           getenv(BERTH_BUNDLE_HOST);
}

static int become_prepared(char **command, struct berth_err *err)
{
    unsetenv(BERTH_BUNDLE_HOST);
    return berth_become_on_host(command, err);
}

/* Become the site's runtime for bundles, with the arguments in ARGV. */
static int become_runtime(char **argv, struct berth_err *err)
{
    BERTH_SITE struct berth_site site = berth_site_default();

    if (berth_site_read_here(environ, &site, err) < 0)
        return -1;
    if (!site.oci.runtime)
        return berth_err_set(err,
                             "'%s' is an OCI bundle, and berth runs images; give an "
                             "image, or ask the administrators to set oci.runtime in "
                             "berth.yaml",
                             argv[CONTAINER]);
    argv[0] = site.oci.runtime;
    execv(argv[0], argv);
    return berth_err_set(err, "oci.runtime: '%s': %s; correct berth.yaml", argv[0],
                         strerror(errno));
}

/* Returns the path that slurmstepd finds for the command NAME (base/searchpath.h),
 * which the caller frees; NULL: none, or out of memory. */
static char *find_as_slurmstepd(const char *name)
{
    struct berth_searchpath path = {.left = getenv("PATH")};

    while (berth_searchpath_next(&path)) {
        BERTH_FREE char *file = NULL;
        struct stat status;

        if (path.length == 0)
            continue;
        file = berth_searchpath_file(&path, name);
        if (file && stat(file, &status) == 0 && !S_ISDIR(status.st_mode))
            return berth_steal(&file);
    }
    return NULL;
}

/* Returns the name of COMMAND, if slurmstepd has made this path of a name, else
 * COMMAND: the path is one of the host, and the image may have the command at another
 * one. A path that was typed, and is just the one that slurmstepd would find, becomes a
 * name, too. */
static char *name_of(char *command)
{
    char *slash = strrchr(command, '/');
    BERTH_FREE char *found = NULL;

    if (*command != '/' || slash[1] == '\0')
        return command;
    found = find_as_slurmstepd(slash + 1);
    if (found && strcmp(found, command) == 0)
        return slash + 1;
    return command;
}

/* Become ARGV, of which the first is the path of berth. */
static int become_berth(const struct berth_strvec *argv, struct berth_err *err)
{
    if (argv->failed)
        return berth_err_oom(err);
    execv(argv->items[0], argv->items);
    return berth_program_missing(argv->items[0], err);
}

static void push_all(char *const *arguments, struct berth_strvec *argv)
{
    for (; *arguments; arguments++)
        berth_strvec_push(argv, *arguments);
}

/* Become `berth run` with the image CONTAINER and COMMAND. */
static int become_run(const char *container, char **command, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec argv = {0};

    if (berth_script_is(environ, command[0])) {
        setenv(BERTH_SCRIPT_VARIABLE, command[0], 1);
        /* sbatch sets this one for the steps of the script, slurmrestd does not, and
         * from an outer job it may have another value */
        setenv(BERTH_BUNDLE_VARIABLE, container, 1);
    } else {
        command[0] = name_of(command[0]);
    }
    setenv(BERTH_BUNDLE_RUN, "1", 1);

    berth_strvec_push(&argv, berth_installed(BERTH_RUN_PROGRAM));
    berth_strvec_push(&argv, "run");
    berth_strvec_pushf(&argv, "--container-image=%s", container);
    berth_strvec_push(&argv, "--");
    push_all(command, &argv);
    return become_berth(&argv, err);
}

/* The plugin starts this program before a batch script that runs in the image of its
 * job. ARGUMENTS begin with the script, except on releases of Slurm where the plugin
 * can only replace it (spank/batch.c). */
static int become_script(char **arguments, struct berth_err *err)
{
    char *script = getenv(BERTH_SCRIPT_VARIABLE);
    BERTH_STRVEC struct berth_strvec argv = {0};

    if (*arguments && strcmp(*arguments, script) == 0)
        arguments++;

    berth_strvec_push(&argv, berth_installed(BERTH_RUN_PROGRAM));
    berth_strvec_push(&argv, "run");
    berth_strvec_push(&argv, "--");
    berth_strvec_push(&argv, script);
    push_all(arguments, &argv);
    return become_berth(&argv, err);
}

/* Become the task. Returns only on failure. */
static int become_task(char **argv, struct berth_err *err)
{
    if (read_environment(argv[ENVIRONMENT], err) < 0)
        return -1;
    if (is_prepared())
        return become_prepared(argv + COMMAND, err);
    if (berth_image_is_bundle(argv[CONTAINER]))
        return become_runtime(argv, err);
    return become_run(argv[CONTAINER], argv + COMMAND, err);
}

/* Print ERR, in one task of each node. */
static void report(const struct berth_err *err)
{
    if (berth_slurmtask_is_first_on_node())
        fprintf(stderr, "berth: %s: %s\n", berth_slurmtask_node(), err->text);
}

int main(int argc, char **argv)
{
    struct berth_err err;

    berth_fd_reserve();
    if (berth_program_prints_version("berth-oci", argc, argv))
        return EXIT_SUCCESS;
    if (getenv(BERTH_SCRIPT_VARIABLE)) {
        become_script(argv + 1, &err);
        report(&err);
        return BERTH_REFUSED;
    }
    if (argc <= COMMAND) {
        fprintf(stderr, "berth: berth-oci is started by Slurm, by the line RunTimeRun "
                        "of oci.conf; see spank_berth(8)\n");
        return BERTH_REFUSED;
    }
    become_task(argv, &err);
    report(&err);
    return BERTH_REFUSED;
}

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
#include <limits.h>
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
#include "base/strvec.h"
#include "base/text.h"
#include "cli/host.h"
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

/* The words of the command line. */
enum { ENVIRONMENT = 1, CONTAINER, COMMAND };

/* Read the file PATH into RET, if it is of this user or of root: slurmstepd makes its
 * directory writable by the user's primary group, so that another user of that group
 * can exchange the file. Returns 0, or -1 with errno. */
static int read_own(const char *path, struct berth_buf *ret)
{
    enum { MOST = 64 << 20 }; /* bytes; Linux passes less to a program */
    BERTH_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat status;

    if (fd < 0 || fstat(fd, &status) < 0)
        return -1;
    if (status.st_uid == geteuid() || status.st_uid == 0)
        return berth_fd_read(fd, MOST, ret);
    errno = EPERM;
    return -1;
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
    static struct berth_strvec variables;
    BERTH_BUF struct berth_buf text = {0};

    if (read_own(path, &text) < 0)
        return refuse_environment(path, errno, err);
    berth_environ_split(text.text ? text.text : "", text.used, &variables);
    if (variables.failed)
        return berth_err_oom(err);
    environ = variables.items ? variables.items : (char *[]){NULL};
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

/* slurmstepd passes the path that it finds for the name of a command on the host, where
 * the image may have another one: return the name. A path that was typed and is just
 * that one becomes a name, too. */
static char *name_of(char *command)
{
    const char *path = getenv("PATH");
    const char *name = berth_text_base(command);
    BERTH_FREE char *directories = path ? strdup(path) : NULL;
    char *next = directories;
    char *directory;

    if (*command != '/' || !*name)
        return command;
    while ((directory = strsep(&next, ":"))) {
        char found[PATH_MAX];
        struct stat status;

        if (!*directory) /* slurmstepd skips these */
            continue;
        snprintf(found, sizeof(found), "%s/%s", directory, name);
        if (stat(found, &status) < 0 || S_ISDIR(status.st_mode))
            continue;
        return strcmp(found, command) == 0 ? command + (name - command) : command;
    }
    return command;
}

/* Become WORDS, of which the first is the path of berth. */
static int become_berth(const struct berth_strvec *words, struct berth_err *err)
{
    if (words->failed)
        return berth_err_oom(err);
    execv(words->items[0], words->items);
    return berth_program_missing(words->items[0], err);
}

/* Become `berth run` with the image CONTAINER and COMMAND. */
static int become_run(const char *container, char **command, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec words = {0};

    if (berth_script_is(environ, command[0])) {
        setenv(BERTH_SCRIPT_VARIABLE, command[0], 1);
        /* sbatch sets this one for the steps of the script, slurmrestd does not, and
         * from an outer job it may have another value */
        setenv(BERTH_BUNDLE_VARIABLE, container, 1);
    } else {
        command[0] = name_of(command[0]);
    }
    setenv(BERTH_BUNDLE_RUN, "1", 1);
    berth_strvec_push(&words, berth_installed(BERTH_RUN_PROGRAM));
    berth_strvec_push(&words, "run");
    berth_strvec_pushf(&words, "--container-image=%s", container);
    berth_strvec_push(&words, "--");
    for (char **word = command; *word; word++)
        berth_strvec_push(&words, *word);
    return become_berth(&words, err);
}

/* The plugin starts this program before a batch script that runs in the image of its
 * job. ARGV has the script, except on releases of Slurm where the plugin can only
 * replace it (spank/batch.c). */
static int become_script(char **argv, struct berth_err *err)
{
    char *script = getenv(BERTH_SCRIPT_VARIABLE);
    const bool has_script = argv[1] && strcmp(argv[1], script) == 0;
    BERTH_STRVEC struct berth_strvec words = {0};

    berth_strvec_push(&words, berth_installed(BERTH_RUN_PROGRAM));
    berth_strvec_push(&words, "run");
    berth_strvec_push(&words, "--");
    berth_strvec_push(&words, script);
    for (char **word = argv + (has_script ? 2 : 1); *word; word++)
        berth_strvec_push(&words, *word);
    return become_berth(&words, err);
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
    const char *node = getenv(BERTH_TASK_NODE);
    const char *local = getenv("SLURM_LOCALID");

    if (!local || strcmp(local, "0") == 0)
        fprintf(stderr, "berth: %s: %s\n", node ? node : "this host", err->text);
}

int main(int argc, char **argv)
{
    struct berth_err err;

    berth_fd_reserve();
    if (berth_program_prints_version("berth-oci", argc, argv))
        return EXIT_SUCCESS;
    if (getenv(BERTH_SCRIPT_VARIABLE)) {
        become_script(argv, &err);
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

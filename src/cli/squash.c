/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the files by which a squashfs file keeps the variables, the working directory
 * and the entry point of a container's image. */

#include "cli/squash.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/child.h"
#include "base/cleanup.h"
#include "base/detach.h"
#include "base/environ.h"
#include "base/fd.h"
#include "base/run.h"
#include "base/text.h"
#include "container/join.h"
#include "container/processes.h"
#include "container/runscript.h"
#include "container/runtime.h"
#include "image/enroot.h"
#include "image/workdir.h"
#include "plan/launch.h"

#define SCRIPTS_ENV "/.singularity.d/env"

bool berth_squash_is(const char *file)
{
    return berth_text_ends(file, ".sqsh");
}

/* What the child that reads the variables gets. */
struct reading {
    const struct berth_container *container;
    int to; /* it writes them here */
};

/* In the container: become a shell that runs the image's scripts, and prints what they
 * set. The scripts may need HOME, the user's. Returns only on failure. */
static void become_shell(void)
{
    static const char script[] =
        "for berth_i in " SCRIPTS_ENV "/*.sh; do\n"
        "    [ -f \"$berth_i\" ] && . \"$berth_i\" >/dev/null\n"
        "done\n"
        "unset berth_i\n"
        "exec env -0";
    static char *const argv[] = {(char *)"sh", (char *)"-c", (char *)script, NULL};
    static const char path[] =
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    BERTH_FREE char *home = NULL;
    const char *of_user = getenv("HOME");
    char *env[] = {(char *)path, NULL, NULL};

    if (of_user && asprintf(&home, "HOME=%s", of_user) < 0)
        home = NULL;
    env[1] = home;
    execve("/bin/sh", argv, env);
}

/* In the child, which writes nothing if the image has no such scripts. */
static int print_variables(void *data)
{
    enum { SECONDS = 60 };
    const struct reading *reading = data;
    const struct berth_container *container = reading->container;
    const struct berth_holder holder = {container->holder, container->mounts};
    struct berth_err err;

    if (berth_join(holder, &err) < 0)
        return EXIT_FAILURE;
    if (access(SCRIPTS_ENV, F_OK) < 0)
        return EXIT_SUCCESS;

    dup2(reading->to, STDOUT_FILENO);
    berth_close_from(STDERR_FILENO + 1);
    /* A script of the image that waits ends here. */
    alarm(SECONDS);
    become_shell();
    return EXIT_FAILURE;
}

/* Append the variables that the image's scripts set, as `env -0` prints them, to RET.
 */
static int read_variables(const struct berth_container *container,
                          struct berth_buf *ret, struct berth_err *err)
{
    enum { MOST = 1 << 20 };
    struct reading reading = {.container = container};
    BERTH_CLOSE int from = -1;
    int pipes[2];
    int status;
    pid_t child;

    if (pipe2(pipes, O_CLOEXEC) < 0)
        return berth_err_spent(err, errno);
    from = pipes[0];
    reading.to = pipes[1];
    child = berth_child(print_variables, &reading, SIGKILL);
    close(pipes[1]);
    if (child < 0)
        return berth_err_spent(err, errno);

    berth_fd_read(from, MOST, ret);
    /* One that prints more than that is refused like one that fails: it gets SIGPIPE.
     */
    close(from);
    from = -1;
    status = berth_run_wait(child);

    if (ret->failed)
        return berth_err_oom(err);
    if (status == 0)
        return 0;
    return berth_err_set(err, "a .sqsh file needs the image's /bin/sh and env, to read "
                              "its variables, and these have failed; save it as a "
                              ".sif file");
}

/* Returns the working directory of the image from which HOLDER runs, which the caller
 * frees; NULL: it is not known. */
static char *find_directory(pid_t holder)
{
    enum { MOST = 16 << 20 };
    BERTH_BUF struct berth_buf bytes = {0};
    BERTH_STRVEC struct berth_strvec variables = {0};
    const char *image;

    if (berth_process_environment(holder, MOST, &bytes) < 0 || !bytes.used)
        return NULL;
    berth_environ_split(bytes.text, bytes.used, &variables);
    if (variables.failed)
        return NULL;
    image = berth_runtime_image(variables.items);
    if (!image)
        return NULL;
    return berth_image_workdir(image);
}

/* Print that the variables NAMES are lost. */
static void note_left_out(const struct berth_strvec *names)
{
    BERTH_BUF struct berth_buf list = {0};

    if (names->count == 0)
        return;
    berth_strvec_join(names, ", ", &list);
    fprintf(stderr,
            "berth: note: a .sqsh file cannot hold a variable with more than one "
            "line; left out: %s\n",
            berth_buf_text(&list));
}

int berth_squash_read(const struct berth_container *container, struct berth_squash *ret,
                      struct berth_err *err)
{
    BERTH_BUF struct berth_buf bytes = {0};
    BERTH_STRVEC struct berth_strvec left_out = {0};

    if (read_variables(container, &bytes, err) < 0)
        return -1;
    ret->has_scripts = bytes.used > 0;
    if (!ret->has_scripts)
        return 0;

    berth_enroot_environment(bytes.text, bytes.used, &ret->environment, &left_out);
    ret->directory = find_directory(container->holder);
    if (ret->environment.failed || left_out.failed)
        return berth_err_oom(err);
    note_left_out(&left_out);
    return 0;
}

/* Open memory with TEXT. Returns a descriptor that stays open through exec; -1 with a
 * sentence in ERR. */
static int make_file(const struct berth_buf *text, struct berth_err *err)
{
    int fd;

    if (text->failed)
        return berth_err_oom(err);
    fd = berth_fd_memory("file", 0);
    if (fd < 0)
        return berth_err_spent(err, errno);
    if (text->used && berth_fd_write(fd, text->text, text->used) < 0) {
        berth_err_spent(err, errno);
        close(fd);
        return -1;
    }
    return fd;
}

/* Read the entry point in the directory SCRIPTS into RET; "": there is none. */
static int read_entrypoint(int scripts, struct berth_buf *ret, struct berth_err *err)
{
    enum { MOST = 1 << 20 };
    BERTH_CLOSE int file =
        openat(scripts, "runscript",
               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    char path[64];
    struct stat st;

    if (file < 0)
        return 0;
    if (fstat(file, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > MOST)
        return 0;

    /* one that a runtime has written for an image without an entry point does not count
     */
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    if (!berth_runscript_exists(path))
        return 0;
    if (berth_fd_read(file, MOST, ret) < 0)
        return berth_err_file(err, BERTH_LAUNCH_RUNSCRIPT, "read");
    return 0;
}

void berth_squash_push_file(const char *place, const char *mode, int fd,
                            struct berth_strvec *argv)
{
    berth_strvec_push(argv, "-p");
    berth_strvec_pushf(argv, "%s f %s 0 0 cat /proc/self/fd/%d", place, mode, fd);
}

int berth_squash_push(struct berth_squash *squash, int scripts,
                      struct berth_strvec *argv, struct berth_err *err)
{
    BERTH_BUF struct berth_buf entrypoint = {0};
    BERTH_BUF struct berth_buf rc = {0};

    if (!squash->has_scripts)
        return 0;
    if (scripts >= 0 && read_entrypoint(scripts, &entrypoint, err) < 0)
        return -1;
    berth_enroot_rc(squash->directory, entrypoint.used > 0, &rc);
    squash->files[0] = make_file(&squash->environment, err);
    squash->files[1] = make_file(&rc, err);
    squash->files[2] = make_file(&entrypoint, err);
    for (size_t i = 0; i < sizeof(squash->files) / sizeof(squash->files[0]); i++)
        if (squash->files[i] < 0)
            return -1;

    berth_squash_push_file("etc/environment", "644", squash->files[0], argv);
    berth_squash_push_file("etc/rc", "644", squash->files[1], argv);
    if (entrypoint.used)
        berth_squash_push_file(BERTH_ENROOT_ENTRYPOINT, "755", squash->files[2], argv);
    /* With them the runtime would not read /etc/environment. The links at the root are
     * those that a runtime makes to its scripts. */
    berth_strvec_split(argv,
                       "-e,etc/environment,etc/rc," BERTH_ENROOT_ENTRYPOINT
                       ",.singularity.d,singularity,environment,.exec,.run,.shell,"
                       ".test");
    return 0;
}

void berth_squash_fini(struct berth_squash *squash)
{
    berth_buf_fini(&squash->environment);
    free(squash->directory);
    squash->directory = NULL;
    for (size_t i = 0; i < sizeof(squash->files) / sizeof(squash->files[0]); i++) {
        if (squash->files[i] >= 0)
            close(squash->files[i]);
        squash->files[i] = -1;
    }
}

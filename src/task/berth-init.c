/* SPDX-License-Identifier: Apache-2.0 */
/* berth-init: the first program of ours in the image. Linked statically, because the
 * image may hold no libc and no shell. It goes to the working directory, sets the
 * variables that win over the image's, and becomes the user's command; if it cannot, it
 * says so in one line of ours instead of one for each task of somebody else's. */

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "plan/option.h"
#include "task/guard.h"
#include "task/report.h"

/* As a shell says it: not there, and there but not to be executed. */
enum { NOT_FOUND = 127, NOT_EXECUTABLE = 126, REFUSED = 1 };

struct init {
    const char *place;
    const char *prefix;  /* of options, in messages */
    const char *workdir; /* asked for: it must be there */
    const char *stay;    /* where the task was on the host */
    int report;
    int guard;
    char **command;
};

static int read_words(int argc, char **argv, struct init *init)
{
    static const struct option options[] = {
        {"place", required_argument, NULL, 'p'},
        {"report", required_argument, NULL, 'r'},
        {"prefix", required_argument, NULL, 'o'},
        {"workdir", required_argument, NULL, 'w'},
        {"stay", required_argument, NULL, 's'},
        {"guard", required_argument, NULL, 'g'},
        {"env", required_argument, NULL, 'e'},
        {NULL, 0, NULL, 0},
    };
    int c;

    while ((c = getopt_long(argc, argv, "+", options, NULL)) != -1) {
        if (c == 'p')
            init->place = optarg;
        else if (c == 'r')
            init->report = atoi(optarg);
        else if (c == 'o')
            init->prefix = optarg;
        else if (c == 'w')
            init->workdir = optarg;
        else if (c == 's')
            init->stay = optarg;
        else if (c == 'g')
            init->guard = atoi(optarg);
        else if (c != 'e' || putenv(optarg) != 0)
            return -1;
    }
    init->command = argv + optind;
    return *init->command ? 0 : -1;
}

static int enter(const struct init *init, struct berth_err *err)
{
    if (init->workdir && chdir(init->workdir) < 0)
        return berth_err_set(
            err,
            "--container-workdir: '%s': %s; expected a directory of the "
            "image or of a mount",
            init->workdir, strerror(errno));
    if (!init->workdir && init->stay && chdir(init->stay) < 0)
        return berth_err_set(
            err,
            "the working directory '%s' is not in the image: %s; mount "
            "it (--container-mounts=%s) or name another "
            "(--container-workdir=DIR)",
            init->stay, strerror(errno), init->stay);
    return 0;
}

/* Our own descriptors end where the application begins. */
static void close_ours(const struct init *init, const char *self)
{
    int fd = strncmp(self, "/proc/self/fd/", 14) == 0 ? atoi(self + 14) : -1;

    if (fd >= 0)
        fcntl(fd, F_SETFD, FD_CLOEXEC);
    if (init->report >= 0)
        fcntl(init->report, F_SETFD, FD_CLOEXEC);
}

static int explain(const struct init *init, int number, struct berth_err *err)
{
    const char *name = init->command[0];
    const char *path = getenv("PATH");

    if (number == ENOENT && strchr(name, '/') && access(name, F_OK) == 0)
        berth_err_set(
            err,
            "command '%s' is there, but not the interpreter that it names (#! "
            "line, or the loader of another C library); mount or install it",
            name);
    else if (number == ENOENT && strchr(name, '/'))
        berth_err_set(err,
                      "command '%s' is not in the image; check the path, or mount it "
                      "(--container-mounts)",
                      name);
    else if (number == ENOENT)
        berth_err_set(
            err,
            "command '%s' is not on the image's PATH (%s); check the name, or "
            "give its path",
            name, path ? path : "not set");
    else
        berth_err_set(err, "command '%s' cannot be executed: %s", name,
                      strerror(number));
    return number == ENOENT ? NOT_FOUND : NOT_EXECUTABLE;
}

int main(int argc, char **argv)
{
    struct init init = {.place = "berth-init", .prefix = "", .report = -1, .guard = -1};
    struct berth_err err;
    int status = REFUSED;

    if (read_words(argc, argv, &init) < 0)
        berth_err_set(&err, "started with wrong words; it is for berth-task only");
    else if (enter(&init, &err) == 0) {
        close_ours(&init, argv[0]);
        if (init.guard >= 0)
            berth_guard_wait(init.guard);
        execvp(init.command[0], init.command);
        status = explain(&init, errno, &err);
    }
    berth_option_spell(init.prefix, &err);
    berth_report(init.report, init.place, &err);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Executes sbatch a second time, with the environment and the standard input that it
 * was started with, and a table in a variable. */

#include "spank/resubmit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "request/wire.h"

extern char **environ;

/* The process, a colon and the table: that of another process counts for nothing. */
#define VARIABLE "BERTH_SBATCH_AGAIN"

/* Standard input before it is read: the offset in a file, or a copy of what is in a
 * pipe whose writer has ended, as that of `sbatch <<EOF`; -1: none. */
static off_t offset;
static int copy;

static struct berth_strvec environment;

/* Is standard input a pipe whose writer has ended? *RET_SIZE is how much is in it. */
static bool is_whole_pipe(int *ret_size)
{
    struct pollfd end = {.fd = STDIN_FILENO, .events = POLLIN};

    if (poll(&end, 1, 0) != 1 || !(end.revents & POLLHUP))
        return false;
    return ioctl(STDIN_FILENO, FIONREAD, ret_size) == 0;
}

static int copy_pipe(void)
{
    int ends[2];
    int size;
    ssize_t copied;

    if (!is_whole_pipe(&size) || pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    copied = tee(STDIN_FILENO, ends[1], (size_t)size, SPLICE_F_NONBLOCK);
    close(ends[1]);
    if (copied == size)
        return ends[0];
    close(ends[0]);
    return -1;
}

int berth_resubmit_init(struct berth_table *ret, struct berth_err *err)
{
    const char *value = getenv(VARIABLE);
    char *table = NULL;
    int result = 0;

    if (value && strtol(value, &table, 10) == getpid() && *table == ':')
        result = berth_wire_get_table(table + 1, ret, err);
    unsetenv(VARIABLE);
    for (char **it = environ; it && *it; it++)
        berth_strvec_push(&environment, *it);
    offset = lseek(STDIN_FILENO, 0, SEEK_CUR);
    copy = copy_pipe();
    return result;
}

/* Can the script that LINE names be read only once, as `sbatch <(COMMAND)`, or as
 * standard input of which there is no copy? Not if another component names it. */
static bool is_spent(const struct berth_hetgroups *line, int optind)
{
    struct stat status;
    size_t end;
    size_t first = berth_hetgroups_command(line, optind, &end);
    bool is_last = first == line->argv.count;

    if (first < end)
        return stat(line->argv.items[first], &status) == 0 && S_ISFIFO(status.st_mode);
    if (!is_last || berth_hetgroups_find_option(line, optind, "wrap", NULL))
        return false;
    return offset < 0 && copy < 0;
}

int berth_resubmit(const struct berth_hetgroups *line, int optind,
                   const struct berth_table *table, struct berth_err *err)
{
    BERTH_FREE char *text = NULL;

    if (is_spent(line, optind))
        return berth_err_set(err,
                             "the components of this job have different container "
                             "options, so sbatch has to read the script twice, and it "
                             "is not in a file; give sbatch a file");
    if (berth_wire_put_table(table, &text, err) < 0)
        return -1;
    berth_strvec_pushf(&environment, VARIABLE "=%d:%s", getpid(), text);
    if (environment.failed)
        return berth_err_oom(err);
    if (offset >= 0)
        lseek(STDIN_FILENO, offset, SEEK_SET);
    else if (copy >= 0)
        dup2(copy, STDIN_FILENO);
    execve("/proc/self/exe", line->argv.items, environment.items);
    return berth_err_spent(err, errno);
}

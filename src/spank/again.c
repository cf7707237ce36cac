/* SPDX-License-Identifier: Apache-2.0 */
/* Executes sbatch or salloc a second time, with the environment and the standard input
 * that it was started with, and a table in a variable. */

#include "spank/again.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/environ.h"
#include "base/fd.h"
#include "request/wire.h"

/* The process, a colon and the table: that of another process counts for nothing. */
#define VARIABLE "BERTH_SBATCH_AGAIN"

/* Standard input before it is read: the offset in a file, or a copy of what is in a
 * pipe whose writer has ended, as that of `sbatch <<EOF`; -1: none. */
static off_t offset;
static int copy;

/* Whether standard input has bytes (POLLIN), and no writer (POLLHUP). */
static int poll_input(void)
{
    struct pollfd end = {.fd = STDIN_FILENO, .events = POLLIN};

    return poll(&end, 1, 0) == 1 ? end.revents & (POLLIN | POLLHUP) : 0;
}

static int copy_pipe(void)
{
    int ends[2];
    int size;

    if (!(poll_input() & POLLHUP) || ioctl(STDIN_FILENO, FIONREAD, &size) < 0 ||
        pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    if (tee(STDIN_FILENO, ends[1], (size_t)size, SPLICE_F_NONBLOCK) != size) {
        close(ends[0]);
        ends[0] = -1;
    }
    close(ends[1]);
    return ends[0];
}

void berth_again_init(struct berth_table *ret)
{
    const char *value = getenv(VARIABLE);
    char *table = NULL;

    if (value && strtol(value, &table, 10) == getpid() && *table == ':')
        berth_wire_get_table(table + 1, ret, NULL);
    unsetenv(VARIABLE);
    offset = lseek(STDIN_FILENO, 0, SEEK_CUR);
    copy = copy_pipe();
}

static int restore_input(struct berth_err *err)
{
    if (offset >= 0)
        lseek(STDIN_FILENO, offset, SEEK_SET);
    else if (copy >= 0)
        dup2(copy, STDIN_FILENO);
    else if (poll_input() == POLLHUP)
        return berth_err_set(err,
                             "the components of this job have different container "
                             "options, so sbatch has to read the script twice, and it "
                             "comes from a pipe; give sbatch a file");
    return 0;
}

int berth_again(char *const *words, const struct berth_table *table,
                struct berth_err *err)
{
    enum { LONGEST = 4 << 20 }; /* bytes; above the kernel's limit */
    BERTH_STRVEC struct berth_strvec environment = {0};
    BERTH_BUF struct berth_buf first = {0};
    BERTH_FREE char *text = NULL;

    if (berth_wire_put_table(table, &text, err) < 0 || restore_input(err) < 0)
        return -1;
    /* Of two values of a variable the first counts. */
    berth_strvec_pushf(&environment, VARIABLE "=%d:%s", getpid(), text);
    if (berth_fd_read_path("/proc/self/environ", LONGEST, &first) == 0 && first.used)
        berth_environ_split(first.text, first.used, &environment);
    if (environment.failed || first.failed)
        return berth_err_oom(err);
    execve("/proc/self/exe", words, environment.items);
    return berth_err_spent(err, errno);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the standard output of srun, which the tasks of an explained step write to,
 * and prints it as one JSON array. The tasks run no command: nobody waits for output
 * that comes late, and it is short. */

#include "spank/explained.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "plan/explainjoin.h"

/* The memory that is standard output meanwhile, and the true standard output; -1: srun
 * prints as always. */
static struct {
    int memory;
    int output;
} collected = {-1, -1};

/* Does each row of TABLE print an object of its own? */
static bool has_objects(const struct berth_table *table)
{
    const char *form = table->rows[0].request.explain;

    return table->count > 1 && form && strcmp(form, BERTH_EXPLAIN_JSON) == 0;
}

void berth_explained_begin(const struct berth_table *table)
{
    enum { LEAST = STDERR_FILENO + 1 };

    if (table->count == 0 || !has_objects(table) || collected.output >= 0)
        return;
    fflush(stdout);
    collected.output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, LEAST);
    if (collected.output < 0)
        return;
    collected.memory = berth_fd_memory("berth-explain", 0);
    if (collected.memory < 0 || dup2(collected.memory, STDOUT_FILENO) < 0) {
        close(collected.output);
        collected.output = -1;
    }
}

/* Read all of the memory as a text. */
static bool read_memory(struct berth_buf *ret)
{
    enum { MOST = 64 << 20 };

    if (lseek(collected.memory, 0, SEEK_SET) < 0)
        return false;
    return berth_fd_read(collected.memory, MOST, ret) == 0 && !ret->failed;
}

void berth_explained_end(void)
{
    BERTH_BUF struct berth_buf text = {0};
    BERTH_BUF struct berth_buf array = {0};

    if (collected.output < 0)
        return;
    fflush(stdout);
    dup2(collected.output, STDOUT_FILENO);
    close(collected.output);
    collected.output = -1;
    if (!read_memory(&text)) {
        fprintf(stderr, "srun: error: berth: --container-explain=json: the output of "
                        "the components is lost; explain one component\n");
        return;
    }
    berth_explain_join(berth_buf_text(&text), &array);
    if (!array.failed)
        berth_fd_write(STDOUT_FILENO, array.text, array.used);
}

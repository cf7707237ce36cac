/* SPDX-License-Identifier: Apache-2.0 */
/* One task's environment in the image, from another's. Environments are written here
 * with a newline behind each variable. */

#include "plan/envdiff.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "unit.h"

extern char **environ;

static const struct {
    const char *name;
    const char *before;
    const char *after;
    const char *own;
    const char *result;
} cases[] = {
    {"nothing at all", "", "", "", ""},
    {"what nobody touched stays", "A=1\n", "A=1\n", "A=1\n", "A=1\n"},
    {"the task's own stays", "", "", "SLURM_PROCID=3\n", "SLURM_PROCID=3\n"},
    {"another value of the task's own stays", "SLURM_PROCID=0\n", "SLURM_PROCID=0\n",
     "SLURM_PROCID=3\n", "SLURM_PROCID=3\n"},
    {"what the runtime set is set", "", "PATH=/bin\n", "A=1\n", "A=1\nPATH=/bin\n"},
    {"what the runtime changed is changed", "PATH=/host\n", "PATH=/bin\n",
     "PATH=/host\n", "PATH=/bin\n"},
    {"changed for a task with another value, too", "PATH=/host\n", "PATH=/bin\n",
     "PATH=/other\n", "PATH=/bin\n"},
    {"set over the task's own", "", "A=image\n", "A=task\n", "A=image\n"},
    {"what the runtime took away is taken away", "A=1\nB=2\n", "B=2\n", "A=1\nB=2\n",
     "B=2\n"},
    {"taken away with another value, too", "A=1\n", "", "A=9\n", ""},
    {"the starter's own does not come along", "PMI_FD=3\n", "PMI_FD=3\n", "", ""},
    {"a name that begins another", "AB=1\n", "AB=1\nA=2\n", "AB=1\n", "AB=1\nA=2\n"},
    {"a name that begins another, taken away", "A=1\nAB=2\n", "AB=2\n", "A=1\nAB=2\n",
     "AB=2\n"},
    {"empty values", "A=\nB=1\n", "A=\nB=\n", "A=\nB=1\n", "A=\nB=\n"},
    {"an equals sign in a value", "A=b=c\n", "A=b=d\n", "A=b=c\n", "A=b=d\n"},
    {"bytes that are not UTF-8 stay", "A=caf\xe9 \xff\n",
     "A=caf\xef\xbf\xbd \xef\xbf\xbd\n", "A=caf\xe9 \xff\nB=1\n",
     "A=caf\xe9 \xff\nB=1\n"},
    {"the start of a replacement stays", "A=\xef\xbf\n", "A=\xef\xbf\xbd\xef\xbf\xbd\n",
     "A=\xef\xbf\n", "A=\xef\xbf\n"},
    {"a replacement character is one", "A=\xef\xbf\xbd\n", "A=\xef\xbf\xbd\n",
     "A=\xef\xbf\xbd\n", "A=\xef\xbf\xbd\n"},
    {"bytes that are not UTF-8, and a change", "A=\xe9x\n", "A=\xef\xbf\xbdy\n",
     "A=\xe9x\n", "A=\xef\xbf\xbdy\n"},
    {"order does not matter", "C=3\nA=1\nB=2\n", "B=2\nC=3\nA=1\n", "B=2\nA=1\nC=3\n",
     "B=2\nA=1\nC=3\n"},
};

/* The lines of TEXT. */
static struct berth_strvec list(const char *text)
{
    struct berth_strvec lines = {0};

    for (; *text; text += strcspn(text, "\n") + 1)
        berth_strvec_pushf(&lines, "%.*s", (int)strcspn(text, "\n"), text);
    return lines;
}

TEST_ROWS(the_runtime_changes_a_task, cases)
{
    BERTH_STRVEC struct berth_strvec before = list(cases[_i].before);
    BERTH_STRVEC struct berth_strvec after = list(cases[_i].after);
    BERTH_STRVEC struct berth_strvec own = list(cases[_i].own);
    BERTH_STRVEC struct berth_strvec changes = {0};
    BERTH_BUF struct berth_buf lines = {0};
    char *variables[8] = {NULL};
    char **usual = environ;

    berth_envdiff(before.items, after.items, &changes);
    for (size_t i = 0; i < own.count; i++)
        variables[i] = own.items[i];
    environ = variables;
    for (size_t i = 0; i < changes.count; i++)
        ck_assert_int_eq(putenv(changes.items[i]), 0);
    for (char **item = environ; *item; item++)
        berth_buf_addf(&lines, "%s\n", *item);
    environ = usual;
    ck_assert_msg(strcmp(lines.used ? lines.text : "", cases[_i].result) == 0,
                  "%s: got\n%s", cases[_i].name, lines.text);
}

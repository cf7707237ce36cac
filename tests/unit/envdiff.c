/* SPDX-License-Identifier: Apache-2.0 */
/* One task's environment in the image, from another's. Environments are written here
 * with a newline behind each variable. */

#include "plan/envdiff.h"

#include "base/cleanup.h"
#include "unit.h"

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

/* TEXT with NUL for newline. The caller frees it. */
static char *block(const char *text, size_t *ret_count)
{
    char *bytes = strdup(text);

    *ret_count = strlen(text);
    for (char *c = bytes; *c; c++)
        if (*c == '\n')
            *c = '\0';
    return bytes;
}

TEST_ROWS(the_runtime_changes_a_task, cases)
{
    BERTH_STRVEC struct berth_strvec own = {0};
    BERTH_STRVEC struct berth_strvec result = {0};
    BERTH_FREE char *lines = NULL;
    static char *none[] = {NULL};
    size_t before_count, after_count, own_count;
    BERTH_FREE char *before = block(cases[_i].before, &before_count);
    BERTH_FREE char *after = block(cases[_i].after, &after_count);
    BERTH_FREE char *text = block(cases[_i].own, &own_count);
    struct berth_err err;

    for (size_t at = 0; at < own_count; at += strlen(text + at) + 1)
        berth_strvec_push(&own, text + at);
    ck_assert_int_eq(berth_envdiff_apply(before, before_count, after, after_count,
                                         own.items ? own.items : none, &result, &err),
                     0);
    lines = unit_lines(&result);
    ck_assert_msg(strcmp(lines, cases[_i].result) == 0, "%s: got\n%s", cases[_i].name,
                  lines);
}

TEST(a_cut_environment_stays_in_bounds)
{
    BERTH_STRVEC struct berth_strvec result = {0};
    static char *own[] = {(char *)"A=1", (char *)"C=3", NULL};
    struct berth_err err;

    for (size_t count = 0; count <= 8; count++) {
        BERTH_FREE char *before = malloc(count + 1);
        BERTH_FREE char *cut = realloc(berth_steal(&before), count ? count : 1);

        memcpy(cut, "A=1\0B=2", count);
        ck_assert_int_eq(
            berth_envdiff_apply(cut, count, cut, count, own, &result, &err), 0);
    }
}

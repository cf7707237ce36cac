/* SPDX-License-Identifier: Apache-2.0 */
/* On which variables the environment of an image depends, and when two steps of a job
 * may share a container. */

#include "job/variables.h"

#include "base/buf.h"
#include "unit.h"

static const struct {
    const char *name, *script;
    const char *words; /* that are found, in their order */
} scripts[] = {
    {"10-docker.sh", "export A=\"${A:-plain}\"\n", "export A A plain"},
    {"90-environment.sh", "# B is not read\nX=1 # nor C\n", "X"},
    {"90-environment.sh", "PATH=/opt/bin:$PATH\n", "PATH opt bin PATH"},
    {"90-environment.sh", ". /opt/setup.sh\n", "* opt setup sh"},
    {"90-environment.sh", "test -f x && . x\n", "test f x * x"},
    {"90-environment.sh", "source x\n", "* source x"},
    {"90-environment.sh", "X=$(env | wc -l)\n", "X * env wc l"},
    {"90-environment.sh", "PATH=/opt/env/bin\n", "PATH opt env bin"},
    {"90-environment.sh", "export X=env\n", "export X env"},
    {"90-environment.sh", "eval \"$SETUP\"\n", "* eval SETUP"},
    {"90-environment.sh", "V=1.5 W=a.b\n", "V W a b"},
    {"95-apps.sh", "if [ -f a ]; then\n    . a\nfi\n", "if f a then a fi"},
    {"90-environment.sh", "if [ -f a ]; then\n    . a\nfi\n", "if f a then * a fi"},
    {"99-base.sh", "", ""},
};

TEST_ROWS(a_script_tells_which_variables_it_may_read, scripts)
{
    BERTH_STRVEC struct berth_strvec found = {0};
    BERTH_BUF struct berth_buf words = {0};

    berth_job_variables_scan(scripts[_i].name, scripts[_i].script, &found);
    for (size_t i = 0; i < found.count; i++) {
        berth_buf_puts(&words, i ? " " : "");
        berth_buf_puts(&words, found.items[i]);
    }
    ck_assert_str_eq(words.text ? words.text : "", scripts[_i].words);
}

static const struct {
    const char *names;
    const char *one, *other; /* variables, in lines */
    bool same;
} steps[] = {
    {"A", "A=1\nB=1", "A=1\nB=2", true},
    {"A", "A=1", "A=2", false},
    {"A", "A=1", "", false},
    {"A", "", "A=1", false},
    {"A", "A=", "", false},
    {"A", "AB=1", "AB=2", true},
    {"*", "B=1\nSLURM_STEP_ID=1\nTMPDIR=/a", "B=1\nSLURM_STEP_ID=2\nPMI_RANK=0", true},
    {"*", "B=1", "B=2", false},
    {"SLURM_JOB_NAME", "SLURM_JOB_NAME=a", "SLURM_JOB_NAME=b", false},
    {"", "PATH=/a", "PATH=/b", false},
    {"", "HOME=/a", "HOME=/b", false},
    {"", "APPTAINERENV_X=1", "", false},
    {"", "SINGULARITY_BIND=/x", "SINGULARITY_BIND=/y", false},
};

static void split(const char *lines, char separator, struct berth_strvec *ret)
{
    while (*lines) {
        size_t length = strcspn(lines, (char[]){separator, '\0'});

        berth_strvec_pushf(ret, "%.*s", (int)length, lines);
        lines += length + (lines[length] != '\0');
    }
}

TEST_ROWS(steps_share_a_container_if_what_it_depends_on_is_the_same, steps)
{
    BERTH_STRVEC struct berth_strvec names = {0};
    BERTH_STRVEC struct berth_strvec one = {0};
    BERTH_STRVEC struct berth_strvec other = {0};

    split(steps[_i].names, ' ', &names);
    split(steps[_i].one, '\n', &one);
    split(steps[_i].other, '\n', &other);
    berth_strvec_push(&one, "_=/bin/one");
    berth_strvec_push(&other, "_=/bin/other");
    ck_assert(berth_job_variables_same(&names, one.items, other.items) ==
              steps[_i].same);
}

TEST(a_runtime_that_cleans_the_environment_removes_what_slurm_sets)
{
    BERTH_STRVEC struct berth_strvec changes = {0};

    berth_strvec_push(&changes, "PATH=/bin");
    berth_strvec_push(&changes, "SLURM_JOB_ID=1");
    ck_assert(!berth_job_variables_cleaned(&changes));
    berth_strvec_push(&changes, "SLURM_JOB_ID");
    ck_assert(berth_job_variables_cleaned(&changes));
}

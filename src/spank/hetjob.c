/* SPDX-License-Identifier: Apache-2.0 */
/* In srun: tells the nodes which partition and account each component of a het job has.
 */

#include "spank/hetjob.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <slurm/slurm.h>

#include "base/text.h"
#include "request/components.h"

/* Set NAME of the component GROUP to VALUE, in both of Slurm's forms; NULL: unset it.
 */
static void set_both(const char *name, uint32_t group, const char *value)
{
    static const char *const suffixes[] = {"HET", "PACK"};

    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        char variable[64];

        snprintf(variable, sizeof(variable), "%s_%s_GROUP_%u", name, suffixes[i],
                 group);
        if (value)
            setenv(variable, value, 1);
        else
            unsetenv(variable);
    }
}

static void set_component(uint32_t group, const char *job, const char *partition,
                          const char *account)
{
    set_both("SLURM_JOB_ID", group, job);
    set_both("SLURM_JOB_PARTITION", group, partition);
    set_both("SLURM_JOB_ACCOUNT", group, berth_text_given(account));
}

/* Ask slurmctld about JOB, the first component of a het job. Returns its components,
 * which the caller frees; NULL: it does not answer. */
static job_info_msg_t *load_job(uint32_t job)
{
    job_info_msg_t *answer = NULL;
    int result;

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
    slurm_step_id_t id = SLURM_STEP_ID_INITIALIZER;

    id.job_id = job;
    result = slurm_load_job(&answer, id, SHOW_ALL);
#else
    result = slurm_load_job(&answer, job, SHOW_ALL);
#endif
    if (result != SLURM_SUCCESS)
        return NULL;
    return answer;
}

void berth_hetjob_forget(void)
{
    if (getenv("SLURM_JOB_ID"))
        return;
    for (uint32_t group = 0; group <= BERTH_GROUP_MAX; group++)
        set_component(group, NULL, NULL, NULL);
}

void berth_hetjob_tell(void)
{
    const char *job = getenv("SLURM_JOB_ID");
    static bool is_told;
    job_info_msg_t *answer;
    uint32_t first;

    if (is_told || !job || !getenv("SLURM_HET_SIZE"))
        return;
    first = (uint32_t)strtoul(job, NULL, 10);
    answer = load_job(first);
    if (!answer)
        return;
    for (uint32_t i = 0; i < answer->record_count; i++) {
        const slurm_job_info_t *component = &answer->job_array[i];
        char id[16];

        if (component->het_job_id != first ||
            component->het_job_offset > BERTH_GROUP_MAX)
            continue;
        snprintf(id, sizeof(id), "%u", component->job_id);
        set_component(component->het_job_offset, id, component->partition,
                      component->account);
    }
    slurm_free_job_info_msg(answer);
    is_told = true;
}

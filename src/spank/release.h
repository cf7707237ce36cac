/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include <slurm/slurm.h>
#include <slurm/spank.h>

/* Differences between releases of slurm.h: newer ones name a job by a step id, which
 * older ones name by a number. */

/* In the argument of slurm_update_job(). */
#define BERTH_RELEASE_UPDATES_BY_STEP                                                  \
    (SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0))

/* In the arguments of slurm_load_job(). Releases after 26.05 have a macro of that name.
 */
#define BERTH_RELEASE_LOADS_BY_STEP                                                    \
    (SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0))

/* The member of UPDATE that is the number of the job. */
static inline uint32_t *berth_release_job(job_desc_msg_t *update)
{
#if BERTH_RELEASE_UPDATES_BY_STEP
    return &update->step_id.job_id;
#else
    return &update->job_id;
#endif
}

/* slurm_load_job() of JOB: the caller frees *RET by slurm_free_job_info_msg(). */
static inline int berth_release_load_job(job_info_msg_t **ret, uint32_t job)
{
#if BERTH_RELEASE_LOADS_BY_STEP
    slurm_step_id_t id = SLURM_STEP_ID_INITIALIZER;

    id.job_id = job;
    return (slurm_load_job)(ret, id, 0);
#else
    return slurm_load_job(ret, job, 0);
#endif
}

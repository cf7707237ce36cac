/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include <slurm/slurm.h>
#include <slurm/spank.h>

/* How slurm.h names a job: by a number or, step by step, by a step's id. */

/* In what is sent to slurm_update_job(). */
#define BERTH_RELEASE_UPDATES_BY_STEP                                                  \
    (SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0))

/* As an argument of slurm_load_job(). Releases after 26.05 have a macro of that name.
 */
#define BERTH_RELEASE_LOADS_BY_STEP                                                    \
    (SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0))

/* Where UPDATE has the number of its job. */
static inline uint32_t *berth_release_job(job_desc_msg_t *update)
{
#if BERTH_RELEASE_UPDATES_BY_STEP
    return &update->step_id.job_id;
#else
    return &update->job_id;
#endif
}

/* What slurmctld knows of JOB: as slurm_load_job(). */
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

/* SPDX-License-Identifier: Apache-2.0 */
/* Reads from Slurm's variables, and from the names of slurmstepd's sockets, which task
 * this process is. */

#include "cli/slurmtask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/text.h"
#include "plan/order.h"
#include "request/components.h"
#include "request/script.h"

extern char **environ;

/* The variables in which an mpirun gives a process its rank: of Hydra (MPICH, Intel
 * MPI, MVAPICH), Open MPI, PRRTE and PALS. Slurm's PMI plugins set the first ones, too.
 */
static const char *const mpirun_ranks[] = {"PMI_RANK", "OMPI_COMM_WORLD_RANK",
                                           "PMIX_RANK", "PALS_RANKID", NULL};

#define SLURM_RANK "SLURM_PROCID"

/* The rank that an mpirun, or Slurm's PMI, gives this process; NULL: none. */
static const char *mpirun_rank(void)
{
    for (const char *const *variable = mpirun_ranks; *variable; variable++) {
        const char *rank = getenv(*variable);

        if (rank)
            return rank;
    }
    return NULL;
}

/* The value of VARIABLE; 0: it is not set. */
static unsigned int number_of(const char *variable)
{
    const char *text = getenv(variable);

    if (!text)
        return 0;
    return (unsigned int)strtoul(text, NULL, 10);
}

/* Is NUMBER 0, or not set (NULL)? */
static bool is_zero(const char *number)
{
    return !number || strcmp(number, "0") == 0;
}

const char *berth_slurmtask_node(void)
{
    const char *node = getenv(BERTH_TASK_NODE);

    return berth_text_or(node, "this host");
}

bool berth_slurmtask_is_first_on_node(void)
{
    return is_zero(getenv("SLURM_LOCALID"));
}

/* Is this process, or one above it, a task of a step? */
static bool is_below_step(void)
{
    return berth_script_has_step(environ) && getenv("SLURM_JOB_ID") &&
           getenv("SLURM_GTIDS") && getenv(SLURM_RANK);
}

/* Has an mpirun in a task started this process? Slurm's own process managers give a
 * task its rank in the step and the size of the step, so that other numbers are those
 * of an mpirun; the name space of PMIx says whose it is. */
static bool is_below_mpirun(void)
{
    const char *rank = mpirun_rank();
    const char *size = getenv("PMI_SIZE");
    const char *tasks = getenv("SLURM_NTASKS");
    const char *space = getenv("PMIX_NAMESPACE");

    if (getenv("OMPI_COMM_WORLD_RANK"))
        return true;
    if (rank && strcmp(rank, getenv(SLURM_RANK)) != 0)
        return true;
    if (size && tasks && strcmp(size, tasks) != 0)
        return true;
    return space && !berth_text_starts(space, "slurm.pmix.");
}

bool berth_slurmtask_is_in_step(void)
{
    return is_below_step() && !is_below_mpirun();
}

unsigned int berth_slurmtask_rank(void)
{
    return number_of(SLURM_RANK);
}

bool berth_slurmtask_has_mpirun_rank(void)
{
    return mpirun_rank() != NULL;
}

bool berth_slurmtask_is_on_first_node(void)
{
    return is_zero(getenv("SLURM_NODEID"));
}

bool berth_slurmtask_is_first_rank(void)
{
    const char *rank = mpirun_rank();

    if (!rank)
        rank = getenv(SLURM_RANK);
    return is_zero(rank);
}

unsigned int berth_slurmtask_job(void)
{
    return number_of("SLURM_JOB_ID");
}

unsigned int berth_slurmtask_nodes(void)
{
    return number_of("SLURM_STEP_NUM_NODES");
}

unsigned int berth_slurmtask_tasks(void)
{
    return number_of("SLURM_STEP_NUM_TASKS");
}

/* Has a slurmstepd of this host a socket named NODE_JOB.STEP and then REST
 * (spank/stepd.h)? STEP is that of this task. */
static bool has_stepd(unsigned int job, const char *rest)
{
    enum { MOST = 4 << 20 };
    BERTH_BUF struct berth_buf sockets = {0};
    char name[64];

    snprintf(name, sizeof(name), "_%u.%u%s", job, number_of("SLURM_STEP_ID"), rest);
    if (berth_fd_read_path("/proc/net/unix", MOST, &sockets) < 0)
        return false;
    return strstr(berth_buf_text(&sockets), name);
}

bool berth_slurmtask_has_components(void)
{
    if (getenv("SLURM_HET_SIZE"))
        return true;

    /* A het step of one allocation has no such variable: only the name of the socket
     * ends in the number of the component. */
    return has_stepd(number_of("SLURM_JOB_ID"), ".");
}

/* The job of the component GROUP of a het job; 0: there is none. */
static unsigned int job_of_group(int group)
{
    static const char *const formats[] = {"SLURM_JOB_ID_HET_GROUP_%d",
                                          "SLURM_JOB_ID_PACK_GROUP_%d"};

    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        char name[64];
        unsigned int job;

        snprintf(name, sizeof(name), formats[i], group);
        job = number_of(name);
        if (job > 0)
            return job;
    }
    return 0;
}

int berth_slurmtask_group(void)
{
    /* SLURM_JOB_ID is that of the first component in all of them */
    for (int group = 0; group <= BERTH_GROUP_MAX; group++) {
        unsigned int job = job_of_group(group);

        if (job == 0)
            return -1;
        if (has_stepd(job, "\n"))
            return group;
    }
    return -1;
}

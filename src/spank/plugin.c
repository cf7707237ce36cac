/* SPDX-License-Identifier: Apache-2.0 */
/* The callbacks of a SPANK plugin (slurm/spank.h, spank(8)): maps each, by the process
 * that loads the plugin, to a function. srun, sbatch and salloc load it as the user;
 * slurmstepd loads it on the node. */

#include "spank/plugin.h"

SPANK_PLUGIN(berth, 1)

/* `berth doctor` reads this symbol from the file. */
extern const char plugin_release[];
const char plugin_release[] = BERTH_VERSION;

int slurm_spank_init(spank_t sp, int count, char **arguments)
{
    switch (spank_context()) {
    case S_CTX_LOCAL:
    case S_CTX_ALLOCATOR:
        return berth_local_init(sp, count, arguments);
    case S_CTX_REMOTE:
        return berth_remote_init(sp, count, arguments);
    default:
        return 0;
    }
}

int slurm_spank_init_post_opt(spank_t sp, int count, char **arguments)
{
    (void)count;
    (void)arguments;
    switch (spank_context()) {
    case S_CTX_LOCAL:
        return berth_local_step();
    case S_CTX_ALLOCATOR:
        return berth_local_job(sp);
    case S_CTX_REMOTE:
        return berth_remote_open(sp);
    default:
        return 0;
    }
}

int slurm_spank_exit(spank_t sp, int count, char **words)
{
    (void)sp;
    (void)count;
    (void)words;
    if (spank_context() == S_CTX_LOCAL)
        berth_local_end();
    return 0;
}

/* The callbacks of one context. */
#define CALLBACK(name, function)                                                       \
    int name(spank_t sp, int count, char **arguments)                                  \
    {                                                                                  \
        (void)count;                                                                   \
        (void)arguments;                                                               \
        return function(sp);                                                           \
    }

CALLBACK(slurm_spank_local_user_init, berth_local_launch)
CALLBACK(slurm_spank_user_init, berth_remote_step)
CALLBACK(slurm_spank_task_post_fork, berth_remote_forked)
CALLBACK(slurm_spank_task_exit, berth_remote_task_exit)
CALLBACK(slurm_spank_task_init, berth_remote_task)

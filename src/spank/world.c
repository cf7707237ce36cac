/* SPDX-License-Identifier: Apache-2.0 */
/* The one MPI_COMM_WORLD of all components of an srun. */

#include "spank/world.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <slurm/slurm.h>

#include "base/cleanup.h"
#include "request/launcher.h"

/* What slurm.conf says; NULL: it cannot be asked. */
static char *site_default(void)
{
    slurm_conf_t *conf = NULL;
    char *type = NULL;

    if (slurm_load_ctl_conf(0, &conf) != SLURM_SUCCESS)
        return NULL;
    if (conf->mpi_default)
        type = strdup(conf->mpi_default);
    slurm_free_ctl_conf(conf);
    return type;
}

/* Inside one ordinary allocation, where the components of srun become one step. */
static bool is_one_step(void)
{
    return getenv("SLURM_JOB_ID") && !getenv("SLURM_HET_SIZE");
}

int berth_world_check(const struct berth_table *table,
                      const struct berth_hetgroups *hetgroups, int optind,
                      struct berth_err *err)
{
    static char *said; /* --mpi counts in the first component only */
    BERTH_FREE char *site = NULL;
    const char *type = NULL;
    const char *source = "";

    if (table->count == 1 &&
        berth_hetgroups_option(hetgroups, optind, "mpi", 2, &type) && type) {
        free(said);
        said = strdup(type);
    }
    if (table->count < 2 || berth_table_multiprog(table) || !is_one_step() ||
        !berth_launcher_may_share_world(table))
        return 0;
    type = said;
    if (!type) {
        type = getenv("SLURM_MPI_TYPE");
        source = " (SLURM_MPI_TYPE)";
    }
    if (!type) {
        type = site = site_default();
        source = " (MpiDefault in slurm.conf)";
    }
    return berth_launcher_check_step(type, source, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Variables that look like those of options and are not. */

#include "request/misnamed.h"

#include "unit.h"

static const struct {
    const char *variable;
    const char *sentence; /* NULL: no warning */
} rows[] = {
    {"BERTH_CONTAINER_IMGE=a.sif", "BERTH_CONTAINER_IMGE is set, which berth does not "
                                   "read; did you mean BERTH_CONTAINER_IMAGE?"},
    {"BERTH_CONTAINER_MOUNT=/a", "BERTH_CONTAINER_MOUNT is set, which berth does not "
                                 "read; did you mean BERTH_CONTAINER_MOUNTS?"},
    {"BERTH_MPIBIND=host", "BERTH_MPIBIND is set, which berth does not read; did you "
                           "mean BERTH_MPI_BIND?"},
    {"BERTH_CONTAINER_CGROUPS=x",
     "BERTH_CONTAINER_CGROUPS is set, which berth does not read; spank_berth(8) lists "
     "its variables"},
    {"BERTH_CONTAINER_IMAGE=a.sif", NULL},
    {"BERTH_CONTAINER_REMAP_ROOT=0", NULL}, /* it has an answer of its own */
    {"BERTH_TASK_ORDER=x", NULL},
    {"BERTH_SBATCH_AGAIN=x", NULL},
    {"BERTH_INSIDE=x", NULL},
    {"BERTH_INSIDE_PATH=x", NULL},
    {"BERTH_ROOT=/opt/berth", NULL}, /* of a module */
    {"BERTH_IMAGE=a.sif", NULL},     /* of a script */
    {"BERTH_CONTAINER_IMGE", NULL},  /* not a variable */
    {"XBERTH_CONTAINER_IMGE=a", NULL},
    {"PYXIS_CONTAINER_IMAGE=a", NULL},
    {"PYXIS_X=1", NULL},
};

TEST_ROWS(names_that_are_not_read_are_found, rows)
{
    struct berth_err err = {0};
    bool is = berth_misnamed_is(rows[_i].variable, &err);

    ck_assert_str_eq(err.text, rows[_i].sentence ? rows[_i].sentence : "");
    ck_assert(is == !!rows[_i].sentence);
}

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
    {"BERTH_CONTAINER_HOSTNAME=x",
     "BERTH_CONTAINER_HOSTNAME is set, which berth does not read; spank_berth(8) lists "
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
    {"PYXIS_CONTAINER_IMAGE=a", "PYXIS_CONTAINER_IMAGE is set, which berth does not "
                                "read; write BERTH_CONTAINER_IMAGE"},
    {"PYXIS_CONTAINER_MOUNT_HOME=0", "PYXIS_CONTAINER_MOUNT_HOME is set, which berth "
                                     "does not read; write BERTH_CONTAINER_MOUNT_HOME"},
    {"PYXIS_CONTAINER_REMAP_ROOT=0", NULL},
    {"PYXIS_CONTAINER_REMAP_ROOT=1",
     "PYXIS_CONTAINER_REMAP_ROOT is set, which berth does not read; "
     "--container-remap-root: tasks run as yourself; leave it out, or write "
     "--container-args=--fakeroot"},
    {"PYXIS_CONTAINER_ENTRYPOINT_LOG=1", NULL}, /* berth does the same */
    {"PYXIS_X=1", NULL},
};

TEST_ROWS(names_that_are_not_read_are_found, rows)
{
    struct berth_err err = {0};
    bool is = berth_misnamed_is(rows[_i].variable, true, &err);

    ck_assert_str_eq(err.text, rows[_i].sentence ? rows[_i].sentence : "");
    ck_assert(is == !!rows[_i].sentence);
}

TEST(beside_pyxis_its_variables_are_its_own)
{
    struct berth_err err;

    ck_assert(!berth_misnamed_is("PYXIS_CONTAINER_IMAGE=a", false, &err));
    ck_assert(berth_misnamed_is("BERTH_CONTAINER_IMGE=a", false, &err));
}

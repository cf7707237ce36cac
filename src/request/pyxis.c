/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the options that berth does not have, with what to write. */

#include "request/pyxis.h"

#include <stddef.h>
#include <string.h>

const struct berth_pyxis_option berth_pyxis_options[BERTH_PYXIS_COUNT] = {
    {"container-name", "NAME",
     "berth's containers have no names; write --container-lifetime=job to have one for "
     "all steps of a job, or unpack the image once, with 'apptainer build --sandbox "
     "DIRECTORY IMAGE', and write --container-image=DIRECTORY"},
    {"container-save", "PATH",
     "berth does not save what a step writes; build the image with what it is to have: "
     "'apptainer build IMAGE.sif RECIPE.def'"},
    {"container-remap-root", NULL,
     "tasks run as yourself; leave it out, or write --container-args=--fakeroot"},
    {"no-container-remap-root", NULL, NULL},
    {"container-entrypoint-log", NULL, NULL},
    {"container-unshare", "NS",
     "tasks have the host's network and names; write the flag of the container "
     "runtime: "
     "--container-args=--ipc or --container-args=--uts"},
};

int berth_pyxis_check(const struct berth_pyxis_option *option, struct berth_err *err)
{
    if (!option->instead)
        return 0;
    return berth_err_set(err, "--%s: %s", option->name, option->instead);
}

int berth_pyxis_check_name(const char *name, struct berth_err *err)
{
    for (size_t i = 0; i < BERTH_PYXIS_COUNT; i++)
        if (strcmp(name, berth_pyxis_options[i].name) == 0)
            return berth_pyxis_check(&berth_pyxis_options[i], err);
    return 0;
}

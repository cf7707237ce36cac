/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the #SBATCH lines of a script. */

#include "request/script.h"

#include <stdlib.h>

#include "base/cleanup.h"

#include "unit.h"

/* The containers of the first three components of a script; "-": none. */
static const struct {
    const char *script;
    const char *containers[3];
} scripts[] = {
    {"#!/bin/sh\n#SBATCH --container=a -n1\n#SBATCH hetjob\n#SBATCH -n2 --container "
     "b\n",
     {"a", "b", "-"}},
    {"#SBATCH -n1\n\n# text\n#SBATCH packjob\n#SBATCH --container='a b' # "
     "--container=c\n",
     {"-", "a b", "-"}},
    {"#SBATCH --container=a\n#SBATCH --container=\"b c\"\n#SBATCH hetjob\n#SBATCH "
     "hetjob\n"
     "#SBATCH --container=d",
     {"b c", "-", "d"}},
    {"#SBATCH --container\n#SBATCH --container-image=b --containers=c\n",
     {"-", "-", "-"}},
    {"#SBATCH --container=a\ntrue\n#SBATCH --container=b\n", {"a", "-", "-"}},
    {" #SBATCH --container=a\n##SBATCH --container=b\n", {"-", "-", "-"}},
    {"", {"-", "-", "-"}},
};

TEST_ROWS(the_container_of_a_component_is_in_the_lines_of_its_script, scripts)
{
    for (size_t i = 0; i < 3; i++) {
        BERTH_FREE char *seen = berth_script_container(scripts[_i].script, i);

        ck_assert_str_eq(seen ? seen : "-", scripts[_i].containers[i]);
    }
}

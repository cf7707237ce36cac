/* SPDX-License-Identifier: Apache-2.0 */
/* The differences between Apptainer and Singularity in commands, variables and options.
 */

#include "pull/product.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static const struct berth_product apptainer = {
    .words = {"", "apptainer registry login", "apptainer remote add",
              "APPTAINER_NOHTTPS", "APPTAINER_TMPDIR"},
};

static const struct berth_product singularity = {
    .words = {"", "singularity registry login", "singularity remote add",
              "SINGULARITY_NOHTTPS", "SINGULARITY_TMPDIR"},
    .may_pull_oci = true,
};

static const struct berth_product singularity_3 = {
    .words = {"", "singularity remote login", "singularity remote add",
              "SINGULARITY_NOHTTPS", "SINGULARITY_TMPDIR"},
};

const struct berth_product *berth_product_of(const char *version)
{
    enum { FIRST_WITH_OCI = 4 };
    const char *number;

    if (!version || !berth_text_starts(version, "singularity"))
        return &apptainer;
    number = strpbrk(version, "0123456789");
    return number && atoi(number) < FIRST_WITH_OCI ? &singularity_3 : &singularity;
}

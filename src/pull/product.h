/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* What a container runtime calls its own commands and variables. */
enum berth_product_word {
    BERTH_PRODUCT_NOTHING, /* "" */
    BERTH_PRODUCT_LOGIN,   /* the command that logs in to a registry */
    BERTH_PRODUCT_REMOTE,  /* the command that adds a library */
    BERTH_PRODUCT_NOHTTPS, /* the variable that does without https */
    BERTH_PRODUCT_TMPDIR,  /* the variable of the directory that it works in */
    BERTH_PRODUCT_WORDS
};

/* A container runtime: Apptainer, Singularity before version 4, SingularityCE or
 * SingularityPRO since. */
struct berth_product {
    const char *words[BERTH_PRODUCT_WORDS];
    bool may_pull_oci; /* `pull` may make an OCI-SIF, and knows --no-oci */
};

/* The product whose --version says VERSION, "apptainer version 1.4.5"; NULL, and what
 * is not known, is taken for Apptainer. Never NULL. */
const struct berth_product *berth_product_of(const char *version);

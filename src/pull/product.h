/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* Commands and variables that each container runtime has under its own name. */
enum berth_product_word {
    BERTH_PRODUCT_NOTHING, /* "" */
    BERTH_PRODUCT_LOGIN,   /* the command that logs in to a registry */
    BERTH_PRODUCT_REMOTE,  /* the command that adds a library */
    BERTH_PRODUCT_NOHTTPS, /* the variable that allows a registry without https */
    BERTH_PRODUCT_TMPDIR,  /* the variable for its temporary directory */
    BERTH_PRODUCT_WORDS
};

/* A container runtime: Apptainer, Singularity before version 4, SingularityCE or
 * SingularityPRO since. */
struct berth_product {
    const char *words[BERTH_PRODUCT_WORDS];
    bool may_pull_oci; /* `pull` may make an OCI-SIF file, and has --no-oci */
};

/* The product whose --version prints VERSION, like "apptainer version 1.4.5". Apptainer
 * if VERSION is NULL or not known; never NULL. */
const struct berth_product *berth_product_of(const char *version);

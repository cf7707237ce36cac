/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/fields.h"
#include "base/strvec.h"
#include "site/site.h"

/* What the plugin tells berth-task besides the request: the site's settings that are
 * not options of a component. A value struct: start with `= {0}`, end with
 * berth_terms_fini(). */
struct berth_terms {
    struct berth_strvec unset; /* variables, in no container */
    struct berth_strvec
        signers; /* fingerprints of the keys that may sign an image; empty: any image */
    char *signers_place;       /* where the site asks for them, FILE:LINE; NULL: not
                                  known */
    struct berth_strvec order; /* of the host's MPI stacks, the preferred first: name,
                                  FILE:LINE: KEY, ... */
    struct berth_strvec modes; /* of --mpi-bind, for any job, as far as these name
                                  such a stack: the same */
    char *profiles;            /* the directory of the site's; NULL: none */
    char *keep_glibc; /* FILE:LINE where the site forbids the host's glibc in images;
                         NULL: it is allowed */
    char *inside; /* what the site says of commands of Slurm in a container, a word of
                     the key `inside`; NULL: nothing */
    char *image;  /* the identity of the image's file (probe/allowed.h); NULL: any */
};

/* The terms of SITE. On success the caller owns *RET. */
int berth_terms_of(const struct berth_site *site, struct berth_terms *ret,
                   struct berth_err *err);

/* The members, for base/fields.h. */
extern const struct berth_field berth_terms_fields[];

void berth_terms_fini(struct berth_terms *terms);

#define BERTH_TERMS __attribute__((cleanup(berth_terms_fini)))

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/fields.h"
#include "base/strvec.h"
#include "site/site.h"

/* The variables that commands in PyTorch images get (plan/pytorch.h), as
 * environment.pytorch of berth.yaml lists them, ended by NULL; and the word for none of
 * them. */
extern const char *const berth_terms_pytorch[];
#define BERTH_TERMS_NO_PYTORCH "none"

/* What the site decided besides the request: settings that are not options of a
 * component. The plugin sends them to berth-task. A value struct: start with `= {0}`,
 * end with berth_terms_fini(). */
struct berth_terms {
    struct berth_strvec unset;   /* names of variables that no container has */
    struct berth_strvec pytorch; /* NAME or NAME=VALUE, for PyTorch images; empty: all
                                    of berth_terms_pytorch */
    struct berth_strvec
        signers; /* fingerprints of the keys that may sign an image; empty: any image */
    char *signers_place;       /* FILE:LINE of images.signatures; NULL: not known */
    struct berth_strvec order; /* of the host's MPI stacks, the preferred first, as
                                  pairs: name, `FILE:LINE: KEY` */
    struct berth_strvec modes; /* all names of stacks that the site sets as --mpi-bind
                                  for some job: the same pairs */
    struct berth_strvec
        forbidden;              /* mounts.forbidden and mounts.forced, for the mounts */
    struct berth_strvec forced; /* that berth adds by itself */
    char *writable;             /* directory for what tasks write to an image; NULL:
                                   $TMPDIR */
    char *profiles;             /* directory of the site's profiles; NULL: none */
    char *keep_glibc; /* FILE:LINE where the site forbids the host's glibc in images;
                         NULL: the site allows it */
    char *inside;     /* the word of the key `inside`, the commands of Slurm in a
                         container; NULL: the default */
    char *image;      /* the identity of the image's file (image/allowed.h); NULL: any
                         file */
    /* For a request that leaves the image of a container with a name out: what the node
       checks when it knows the image. Else empty. */
    struct berth_strvec roots;  /* images.roots */
    struct berth_strvec owners; /* images.owners */
    bool has_uris; /* the site has rules for URIs, which decide about images of a
                      registry */
    struct berth_strvec uris;         /* images.uris */
    struct berth_strvec image_places; /* of these, as `places` of struct berth_site */
};

/* Makes the terms of SITE, except `image`. On success the caller owns *RET. Returns 0,
 * or -1 out of memory. */
int berth_terms_of(const struct berth_site *site, struct berth_terms *ret,
                   struct berth_err *err);

/* Add to TERMS what SITE says of images, for a request without one. Returns 0, or -1
 * out of memory. */
int berth_terms_add_images(const struct berth_site *site, struct berth_terms *terms,
                           struct berth_err *err);

/* The members, for base/fields.h. */
extern const struct berth_field berth_terms_fields[];

void berth_terms_fini(struct berth_terms *terms);

#define BERTH_TERMS __attribute__((cleanup(berth_terms_fini)))

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/strvec.h"
#include "site/terms.h"

/* An image, and the terms of a site, which may want it to be signed. Borrows
 * everything. */
struct berth_signature {
    const char *runtime;
    const char *image;
    const struct berth_terms *terms; /* with the keys, and the identity of the image */
    char *const *environment;        /* of the runtime, which finds its keys by it */
    unsigned int seconds;            /* that the runtime may take */
    struct berth_deadline *deadline; /* as in base/run.h */
};

/* Check that the SIF file is signed, and with keys of the terms only, if these have
 * any. The runtime verifies the signatures with the keys on this host; anybody's
 * keyring will do, because the fingerprint identifies a key. Returns 0, or -1 with a
 * sentence in ERR. */
int berth_signature_check(const struct berth_signature *signature,
                          struct berth_err *err);

/* Checks ANSWER, the output of `apptainer verify --json`: the file system of the image
 * must be signed, each signature must be by a key of FINGERPRINTS (whole, hexadecimal,
 * in any case, with blanks or without), and the data must be unchanged. Returns 0, or
 * -1 with a sentence in ERR that names the key. */
int berth_signers_check(const char *answer, const struct berth_strvec *fingerprints,
                        struct berth_err *err);

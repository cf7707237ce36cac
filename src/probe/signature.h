/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/strvec.h"

/* The image, and the keys that may have signed it. Borrows everything. */
struct berth_signature {
    const char *runtime;
    const char *image;
    const char *identity; /* which file it is (probe/opened.h); NULL: whichever it is */
    const struct berth_strvec *fingerprints; /* empty: nobody asks */
    char *const *environment; /* tells the runtime where its keys are; ended by NULL */
    unsigned int seconds;     /* that it may take */
    struct berth_deadline *deadline; /* as in base/run.h */
    const char *place;               /* where that is asked for; NULL: not known */
};

/* Is the SIF file signed with these keys only? The runtime verifies it with the keys
 * that it finds on this host. Whose keyring that is does not matter, because the
 * fingerprint identifies the key. */
int berth_signature_check(const struct berth_signature *signature,
                          struct berth_err *err);

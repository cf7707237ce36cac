/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_PROBE_SIGNATURE_H
#define BERTH_PROBE_SIGNATURE_H

#include "base/err.h"
#include "base/strvec.h"

/* Is the SIF file IMAGE signed with one of the keys FINGERPRINTS (empty: nobody asks)?
 * Lets RUNTIME verify it, within SECONDS, with the keys that it finds for ENVIRONMENT
 * (ended by NULL). Returns 0, or -1 with a sentence in ERR. */
int berth_signature_check(const char *runtime, const char *image,
                          const struct berth_strvec *fingerprints,
                          char *const *environment, unsigned int seconds,
                          struct berth_err *err);

#endif

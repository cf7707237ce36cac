/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/strvec.h"

/* Does ANSWER, which `apptainer verify --json` has printed, say that the file system of
 * the image is signed, that every signature is by one of the keys FINGERPRINTS
 * (hexadecimal, blanks and case do not count, whole), and that the data is what was
 * signed? Returns 0, or -1 with a sentence in ERR that says who has signed it. */
int berth_signers_check(const char *answer, const struct berth_strvec *fingerprints,
                        struct berth_err *err);

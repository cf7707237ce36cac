/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/strvec.h"

/* Checks ANSWER, the output of `apptainer verify --json`: the file system of the image
 * must be signed, each signature must be by a key of FINGERPRINTS (whole, hexadecimal,
 * in any case, with blanks or without), and the data must be unchanged. Returns 0, or
 * -1 with a sentence in ERR that names the key. */
int berth_signers_check(const char *answer, const struct berth_strvec *fingerprints,
                        struct berth_err *err);

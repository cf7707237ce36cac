/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "base/strvec.h"
#include "site/site.h"

/* Reads berth.yaml from PATH; NULL: BERTH_SITE_FILE of berth's tree, or the defaults if
 * that file does not exist.
 *
 * A file that others than root and OWNER can have written is refused: one of the two
 * must own the file, each directory above it and each link to it, and neither the group
 * nor others may write to them, except to directories with the sticky bit. OWNER is the
 * user who has installed berth (berth_site_owner()). */

/* Read it into *RET, which the caller owns. Returns 0; or -1 with the first error in
 * ERR, and the defaults in *RET. */
int berth_site_read(const char *path, uid_t owner, struct berth_site *ret,
                    struct berth_err *err);

/* The same, but append a sentence to ERRORS for each error, of a rule, too. Returns 0,
 * or -1 when out of memory. */
int berth_site_errors(const char *path, uid_t owner, struct berth_site *ret,
                      struct berth_strvec *errors, struct berth_err *err);

/* Read the SIZE bytes of such a file, FILE in messages, over the defaults: *RET has all
 * values without an error. Returns as above. */
int berth_site_parse(const char *file, const char *bytes, size_t size,
                     struct berth_site *ret, struct berth_strvec *errors,
                     struct berth_err *err);

/* The owner of the program or plugin that this function was loaded from; root if that
 * is not known. */
uid_t berth_site_owner(void);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "base/strvec.h"
#include "site/site.h"

/* berth.yaml, from its file. It is refused if anybody but root and OWNER could have
 * written it: it, each directory on the way to it and each link belong to one of the
 * two, and neither group nor others may write there (a directory with the sticky bit
 * may be open to them). OWNER is who decides what berth is on this host, the owner of
 * its program (berth_site_owner()).
 *
 * PATH NULL: BERTH_SITE_FILE; if it does not exist, the defaults apply. */

/* Read it into *RET, which the caller owns. Returns 0, or -1 with the first fault in
 * ERR, and the defaults in *RET. */
int berth_site_read(const char *path, uid_t owner, struct berth_site *ret,
                    struct berth_err *err);

/* The same, and append a sentence to FAULTS for each fault that there is. Returns 0,
 * or -1 out of memory. */
int berth_site_faults(const char *path, uid_t owner, struct berth_site *ret,
                      struct berth_strvec *faults, struct berth_err *err);

/* The owner of the file that this function was loaded from; root if that cannot be
 * told. */
uid_t berth_site_owner(void);

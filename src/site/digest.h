/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "site/site.h"

/* What berth.yaml and the site's profiles decide about the MPI of a step, as a short
 * text: nodes that decide otherwise could take two MPI libraries into one
 * MPI_COMM_WORLD, which would wait for each other without end. So the host of srun
 * sends its digest to the nodes.
 *
 * In it are the rules that set the image, --mpi-bind or --container-libs, mpi.order and
 * mpi.glibc; and, after a point, the text of each profile of the site, or `none`.
 * Nothing else of the file is. */

/* The most bytes of a digest, with its NUL. */
#define BERTH_DIGEST_SIZE 34

/* Writes the digest of SITE to RET. OWNER is that of berth_site_owner(): profiles that
 * others can write do not count. Returns 0, or -1 when out of memory. */
int berth_digest_of(const struct berth_site *site, uid_t owner,
                    char ret[BERTH_DIGEST_SIZE], struct berth_err *err);

/* Compares OWN, the digest of this node, with SENT, `DIGEST HOST` of the host of srun.
 * A host of srun without profiles, like a login host without MPI, says nothing about
 * them. Returns 0, or -1 with a sentence in ERR: they differ, or SENT has another form.
 */
int berth_digest_check(const char *own, const char *sent, struct berth_err *err);

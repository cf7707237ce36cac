/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

/* Images in registries, as people write them who have another tool in mind. */

/* Does NAME look like an image in a registry: ubuntu:22.04, docker:ubuntu,
 * nvcr.io/nvidia/app, nvcr.io#nvidia/app? Then appends the URI that is meant to RET. A
 * path may look so, too: ask for one that is not there. */
bool berth_registry_meant(const char *name, struct berth_buf *ret);

/* The same for a NAME that need not look so, like ubuntu: could it be one? */
bool berth_registry_possible(const char *name, struct berth_buf *ret);

/* Is NAME the bare name of a registry, like nvcr.io? */
bool berth_registry_is_host(const char *name);

/* What makes a bare name of the `nvcr.io#nvidia/app` in a script. */
#define BERTH_REGISTRY_CUT "(Slurm cuts an #SBATCH line at '#')"

/* Does NAME end like a file that somebody has built (.sif, .tar, ...)? */
bool berth_registry_is_file(const char *name);

/* URI with a `/` for the `#` of docker://REGISTRY#NAME. The caller frees it; NULL when
 * out of memory. */
char *berth_registry_plain(const char *uri);

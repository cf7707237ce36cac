/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

/* Names of images in registries without a scheme, or in the spelling of enroot and
 * pyxis, and the URIs that their users mean. */

/* Does NAME look like an image in a registry: ubuntu:22.04, docker:ubuntu,
 * nvcr.io/nvidia/app, nvcr.io#nvidia/app? Then appends the URI to RET. A path may look
 * the same, so that the caller asks only about a file that does not exist. */
bool berth_registry_meant(const char *name, struct berth_buf *ret);

/* Could NAME be an image in a registry, even if it does not look like one: ubuntu? Then
 * appends the URI to RET. */
bool berth_registry_possible(const char *name, struct berth_buf *ret);

/* Is NAME the bare name of a registry, like nvcr.io? */
bool berth_registry_is_host(const char *name);

/* For messages: why `nvcr.io#nvidia/app` in a script arrives as `nvcr.io`. */
#define BERTH_REGISTRY_CUT "(Slurm cuts an #SBATCH line at '#')"

/* Does NAME end like the file of an image or an archive (.sif, .tar, ...)? */
bool berth_registry_is_file(const char *name);

/* A copy of URI with `/` in place of the `#` of docker://REGISTRY#NAME. The caller
 * frees the copy. NULL: out of memory. */
char *berth_registry_plain(const char *uri);

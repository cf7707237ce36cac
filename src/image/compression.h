/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/strvec.h"
#include "site/site.h"

/* How the file system of a new image is compressed: by mksquashfs, with zstd where this
 * host and its runtime can, in a tenth of the time of gzip, the default of runtimes. */

/* The mksquashfs that RUNTIME would use: its own, else that of the host. NULL: there is
 * none. The caller frees it. */
char *berth_compression_program(const char *runtime);

/* Choose the compression that SITE asks for (images.compression), or zstd. *RET is NULL
 * if that is gzip, or this host cannot make or read it: the runtime then compresses as
 * it does by itself. RET_NOTE gets a sentence if that is not what the site wants, or
 * "". *RET belongs to SITE or is constant. Returns 0, or -1 if a signal has ended the
 * trial, and so is to end what it was for. */
int berth_compression_choose(const struct berth_site *site, const char *runtime,
                             const char *mksquashfs, const char **ret,
                             struct berth_err *ret_note);

/* Append the arguments of mksquashfs for CHOSEN (NULL: none for the compression), for
 * the processors of this process, and for memory that a job may have. */
void berth_compression_arguments(const char *chosen, struct berth_strvec *ret);

/* Does the kernel with the configuration CONFIG, a text, read squashfs with the
 * compression NAME? Yes if CONFIG says nothing of squashfs. */
bool berth_compression_kernel_reads(const char *config, const char *name);

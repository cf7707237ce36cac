/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/strvec.h"

/* The two files that enroot, and berth with it, knows of a squashfs file:
 * /etc/environment and /etc/rc. Text only: nothing here opens a file. */

/* Where the entry point of a SIF file is kept in a squashfs file that was saved:
 * /etc/rc starts it. Relative to the root of the image. */
#define BERTH_ENROOT_ENTRYPOINT "etc/rc.entrypoint"

/* Append to RET the lines of /etc/environment for BYTES, the COUNT bytes that `env -0`
 * prints: NAME=VALUE strings, each ended by NUL. Leaves out the variables of shells, of
 * the runtime and of the user's home, and the runtime's directory of libraries. Appends
 * to LEFT_OUT the names of variables that no line can hold, because their value has a
 * newline. */
void berth_enroot_environment(const char *bytes, size_t count, struct berth_buf *ret,
                              struct berth_strvec *left_out);

/* Append to RET an /etc/rc: it changes to DIRECTORY (NULL, or one with a character that
 * is special between double quotes: it does not), and becomes its arguments, with
 * HAS_ENTRYPOINT through BERTH_ENROOT_ENTRYPOINT. */
void berth_enroot_rc(const char *directory, bool has_entrypoint, struct berth_buf *ret);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Text of other programs with a `KEY = VALUE` on each line: slurm.conf, apptainer.conf,
 * the output of `apptainer buildcfg`. */

/* The last value of KEY, in any case, in TEXT, without blanks and quotes around the
 * value and without a comment after it. The caller frees the value. NULL: TEXT has no
 * KEY, KEY has no value, or out of memory. */
char *berth_keys_value(const char *text, const char *key);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Files of others with a `KEY = VALUE` on each line: slurm.conf, apptainer.conf, the
 * words of `apptainer buildcfg`. */

/* The last value of KEY in TEXT, without blanks around it and without what is behind
 * " #"; case does not count in KEY. NULL: it is not there, has no value, or out of
 * memory. The caller frees it. */
char *berth_keys_value(const char *text, const char *key);

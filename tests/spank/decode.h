/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the plugin sends, by the names of options and of members of structures: a test
 * says what arrives, and not by which text. All return a text that the caller frees, or
 * end the process if the text cannot be read. */

/* The table TEXT of SLURM_BERTH_STEP: `GROUP: --OPTION=VALUE ...; GROUP: ...`. GROUP is
 * a het group, `*` for all, or `/` and ranks; `env=`, `job=` and `one-file` after it
 * are what its tasks need besides. */
char *decode_table(const char *text);

/* The request in the order TEXT: `--OPTION=VALUE ...`. What no option sets has no
 * dashes: `uri=`, `world=` and `site=`. */
char *decode_request(const char *text);

/* The order TEXT, in parts: `request ...; step nodes=1 first; task ...`. The numbers of
 * descriptors, which differ from run to run, are `fd`. */
char *decode_order(const char *text);

/* The command that the order TEXT has in place of the plugin's; NULL: none. */
char *decode_argv0(const char *text);

/* Calls CHECK with each descriptor of the order TEXT. */
void decode_descriptors(const char *text, void (*check)(int fd));

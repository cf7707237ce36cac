/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <glob.h>
#include <stdbool.h>

#include "base/err.h"
#include "site/plugstack.h"
#include "site/site.h"

/* A host whose files and programs are read. The caller frees the texts that are
 * returned; NULL: cannot be read, or out of memory. */
struct berth_host {
    const char *root; /* before every path; "": this host */
    char *const *env; /* ends in NULL */
};

/* Returns PATH below the root. */
char *berth_host_place(const struct berth_host *host, const char *path);

/* glob(3) below the root. Returns false if nothing fits; else the caller frees *RET
 * with globfree(3). */
bool berth_host_glob(const struct berth_host *host, const char *pattern, glob_t *ret);

/* Is there a file that PATTERN (glob(7)) matches? */
bool berth_host_has(const struct berth_host *host, const char *pattern);

/* Returns the text of the file PATH, at most 4 MB. */
char *berth_host_text(const struct berth_host *host, const char *path);

/* Returns the path of the program NAME: the first in PATH and the usual directories;
 * below a root, the one in /usr/bin. */
char *berth_host_find(const struct berth_host *host, const char *name);

/* Runs ARGV, of which the first is a path, for ten seconds at most. Returns the
 * standard output and, after it, the standard error; NULL also if the program fails. */
char *berth_host_ask(const struct berth_host *host, const char *const *argv);

/* Returns the first line that PATH --version prints; NULL: none. */
char *berth_host_version(const struct berth_host *host, const char *path);

/* slurm.conf as Slurm's commands find it. `path` and `text` are NULL if there is none.
 */
struct berth_host_conf {
    char *path;
    char *text;      /* and that of the files that it includes */
    char *plugstack; /* where plugstack.conf is, or would be */
};

/* Find and read slurm.conf. The caller owns *RET. */
void berth_host_conf(const struct berth_host *host, struct berth_host_conf *ret);
void berth_host_conf_fini(struct berth_host_conf *conf);

/* Append to RET the lines of the plugstack.conf at PATH and of all files that it
 * includes, in Slurm's order. Returns false if PATH cannot be read. */
bool berth_host_plugstack(const struct berth_host *host, const char *path,
                          struct berth_plugstack *ret);

/* Read the arguments of berth.so in STACK, for the command berth, which does not get
 * them from Slurm. Of several lines with berth.so the last one counts, as for the
 * plugin. Without such a line all of *RET is NULL, which for `config` means
 * BERTH_SITE_FILE. Returns 0, or -1 with the sentence with which the plugin refuses
 * those arguments in ERR. In each case the caller owns *RET. */
int berth_host_settings(const struct berth_plugstack *stack, struct berth_settings *ret,
                        struct berth_err *err);

/* The same for the plugstack.conf of HOST; files that cannot be read have no lines. */
int berth_site_settings(const struct berth_host *host, struct berth_settings *ret,
                        struct berth_err *err);

/* Read the berth.yaml of those settings, with ENV as the environment of this host, as
 * berth_site_read() does. */
int berth_site_read_here(char *const *env, struct berth_site *ret,
                         struct berth_err *err);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/diagnoses.h"
#include "unit.h"

/* A host that is a directory, without a fault until a test breaks something. */
extern struct berth_doctor doctor; /* what berth doctor says of it */

/* What a test cannot make of a directory. */
struct fakehost {
    bool is_setuid; /* of the runtime */
    bool refuses_namespaces;
    unsigned long megabytes; /* of /dev/shm */
    const char *fault;       /* of the site's profiles; NULL: none */
    size_t stacks;           /* of the host: an MPI */
    size_t libraries;        /* a BLAS */
};
extern struct fakehost fake;

#define CONF  "/etc/slurm/slurm.conf"
#define STACK "/etc/slurm/plugstack.conf"
#define OURS  "/etc/slurm/plugstack.conf.d/berth.conf"

#define RUNTIME(more)                                                                  \
    "case $1 in --version) echo apptainer version 1.4.5 ;;\n"                          \
    "buildcfg) echo LIBEXECDIR=/usr/libexec; "                                         \
    "echo APPTAINER_CONF_FILE=/etc/apptainer/apptainer.conf; " more " ;;\nesac"

/* Make a file below the root, with its directories; one that sh executes; a link.
 * Remove one. */
void put(const char *path, const char *text, mode_t mode);
void set(const char *path, const char *text);
void script(const char *path, const char *text);
void point(const char *path, const char *to);
void gone(const char *path);

/* Examine the host, again after a change. */
void look(void);

/* The diagnosis, as on a host whose root is "/", with DIGEST and USER for the digest
 * and the number of the user who runs the test. The caller frees it. */
char *line_of(const struct berth_diagnosis *diagnosis);

/* The same with TEXT, which this function frees. */
char *as_root(char *text);

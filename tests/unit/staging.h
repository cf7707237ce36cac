/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "stage/stage.h"

/* Stages of stacks that are made of libraries compiled here. A stage is mounted where
 * it is, so that the loader can be asked about it. */

/* For the compiler: linked with libc, as all that a loader starts is. */
#define LIBC " -Wl,--no-as-needed -lc"

extern char *directory;              /* all is in here */
extern char *host;                   /* its host/lib, for the libraries */
extern struct berth_stage_root root; /* not there yet */
extern const struct berth_stack *stack;

/* Once for all tests: an MPICH with UCX is compiled. libmpi.so.12 needs libucs.so.0,
 * which opens ucx/. One module needs a library that only LD_LIBRARY_PATH finds, one
 * needs another module, one a library that is nowhere. */
void staging_compile(void);
void staging_remove(void);

/* For each test. */
void staging_setup(void);
void staging_teardown(void);

/* That MPICH in host, as stack. */
void staging_install(void);

/* The stack to which VARIABLE=VALUE leads, as stack. */
void staging_find_stack(const char *variable, const char *value,
                        const char *library_path);

/* The first stack of PROFILES (as berth_profiles), as stack. */
void staging_find_profile(const struct berth_profile *profiles,
                          const char *library_path);

/* Make a stage, or find one, of stack in root. */
struct berth_staged staging_make(void);
int staging_find(struct berth_staged *ret_staged);

/* Why none can be made, with @ for the directory. The caller frees it. */
char *staging_refusal(void);

/* What the manifest tells, but for glibc and sizes. The caller frees it. */
char *staging_tell(const struct berth_staged *staged);

/* How many entries of the root start so. */
int staging_entries(const char *start);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bindover/stage.h"

/* Stages of stacks that are made of libraries compiled here. A stage is mounted where
 * it is, so that the loader can be asked about it. */

extern char *directory;              /* has all files of a test */
extern char *host;                   /* DIRECTORY/host/lib, for the libraries */
extern struct berth_stage_root root; /* its directory does not exist at first */
extern const struct berth_stack *stack;

/* Once for all tests: an MPICH with UCX is compiled. libmpi.so.12 needs libucs.so.0,
 * which opens ucx/. One module needs a library that only LD_LIBRARY_PATH finds, one
 * needs another module, one a library that is nowhere. */
void staging_compile(void);
void staging_remove(void);

/* Before and after each test. */
void staging_setup(void);
void staging_teardown(void);

/* Put that MPICH into HOST, and set STACK to it. */
void staging_install(void);

/* Set STACK to the stack to which VARIABLE=VALUE leads. */
void staging_find_stack(const char *variable, const char *value,
                        const char *library_path);

/* Set STACK to the first stack of PROFILES (as berth_profiles). */
void staging_find_profile(const struct berth_profile *profiles,
                          const char *library_path);

/* Make a stage of STACK in ROOT, or find one. */
struct berth_staged staging_make(void);
int staging_find(struct berth_staged *ret_staged);

/* The sentence why none can be made, with @ for the directory. The caller frees it. */
char *staging_refusal(void);

/* The records of the manifest, without glibc and sizes. The caller frees the text. */
char *staging_tell(const struct berth_staged *staged);

/* The number of entries of ROOT that begin with START. */
int staging_entries(const char *start);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/strvec.h"
#include "elf/closure.h"
#include "step/factcache.h"

/* Asks the dynamic linker what it would load, instead of repeating its search. */

/* An answer that is in CACHE (NULL: none) is taken from there, as long as the loader,
 * the file, the directories of LD_LIBRARY_PATH, the files of the answer and their
 * directories are what they were; otherwise it is put there. */

/* Ask LOADER what it would map for FILE, a program or a library (both are paths of the
 * root that the process has), in the environment ENV (ends in NULL), what LD_PRELOAD
 * brings included. Nothing of FILE runs; what LD_AUDIT names does. Returns 0 with
 * *RET_CLOSURE, which the caller owns (berth_closure_fini); what is not found is an
 * answer in it. Returns -1 with a sentence in ERR when the loader cannot be started or
 * does not end within 20 seconds, or cannot load FILE. */
int berth_loader_list(struct berth_factcache *cache, const char *loader,
                      const char *file, char *const *env,
                      struct berth_closure *ret_closure, struct berth_err *err);

/* Ask where LOADER finds libraries of the SONAMEs NAMES (ends in NULL) for PROGRAM,
 * which has no search path of its own: LD_LIBRARY_PATH of ENV, the cache, the usual
 * directories. Appends the paths of those that are there to RET. */
int berth_loader_find(struct berth_factcache *cache, const char *loader,
                      const char *program, const char *const *names, char *const *env,
                      struct berth_strvec *ret, struct berth_err *err);

/* The path of the loader of this program, and of this program. On success the caller
 * frees both. */
int berth_loader_self(char **ret_loader, char **ret_program, struct berth_err *err);

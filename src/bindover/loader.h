/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/strvec.h"
#include "elf/closure.h"
#include "bindover/factcache.h"

/* Asks the dynamic linker what it would load, instead of repeating its search. */

/* CACHE (NULL: none) stores the answers. An answer holds as long as the loader, the
 * file, the directories of LD_LIBRARY_PATH, the files of the answer and their
 * directories do not change. */

/* Asks LOADER which libraries it would map for FILE, a program or a library, in the
 * environment ENV (ends in NULL), LD_PRELOAD included. Both are paths in the root of
 * the process. No code of FILE runs, but code of a library that LD_AUDIT names does.
 * Returns 0 with *RET_CLOSURE, which the caller owns (berth_closure_fini) and which
 * names also the libraries that are missing; -1 with a sentence in ERR if the loader
 * cannot be started, does not end within 20 seconds, or cannot load FILE. */
int berth_loader_list(struct berth_factcache *cache, const char *loader,
                      const char *file, char *const *env,
                      struct berth_closure *ret_closure, struct berth_err *err);

/* The same, and the loader looks up all symbols, as if they were all needed at once:
 * the closure lists those that no file defines. */
int berth_loader_relocate(const char *loader, const char *file, char *const *env,
                          struct berth_closure *ret_closure, struct berth_err *err);

/* Refuses a libc.so.6 in CLOSURE, that of FILE in ENV, that comes from a directory of
 * LD_LIBRARY_PATH and is not of the same glibc as LOADER: the program would die before
 * its first instruction, although all libraries are found. */
int berth_loader_check_c_library(const char *loader, const char *file, char *const *env,
                                 const struct berth_closure *closure,
                                 struct berth_err *err);

/* Asks where LOADER finds the SONAMEs NAMES (ends in NULL) for PROGRAM, which must not
 * have a search path of its own: in LD_LIBRARY_PATH of ENV, by ld.so.cache, or in the
 * usual directories. Appends the paths of those that exist to RET. Returns 0, or -1
 * with a sentence in ERR. */
int berth_loader_find(struct berth_factcache *cache, const char *loader,
                      const char *program, const char *const *names, char *const *env,
                      struct berth_strvec *ret, struct berth_err *err);

/* The paths of this program's loader and of this program. Returns 0, and the caller
 * frees both; or -1 with a sentence in ERR. */
int berth_loader_self(char **ret_loader, char **ret_program, struct berth_err *err);

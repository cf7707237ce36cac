/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

/* Refuse PATH, where there is no file: the sentence in ERR suggests a similar name in
 * the same directory, or an image in a registry. Returns -1. */
int berth_missing_explain(const char *path, struct berth_err *err);

/* Is NAME, a value of --container-image, an image in a registry
 * (berth_registry_names()) and not a path? It is a path if the directory BASE has the
 * first name of it, or if BASE is NULL. Appends the URI of an image to RET; the caller
 * checks RET's `failed`. */
bool berth_missing_names_image(const char *name, const char *base,
                               struct berth_buf *ret);

/* There is no file at PATH, or one with a similar name: did the user type a word,
 * without a directory, that may be an image in a registry: ubuntu, pytorch/pytorch?
 * Then appends the URI to RET. */
bool berth_missing_is_word(const char *path, struct berth_buf *ret);

/* There is no file at PATH: did the user type the name of an image in a registry, or
 * such a word, without a directory? Then no host has such a file. */
bool berth_missing_in_registry(const char *path);

/* There is no file at PATH: is this so on all hosts, because they share the file system
 * of its directory? */
bool berth_missing_everywhere(const char *path);

/* Do hosts share a file system of TYPE (f_type of statfs(2))? False if that is not
 * known: all of FUSE has one type. Public for a test. */
bool berth_missing_is_shared(unsigned int type);

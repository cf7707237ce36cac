/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* Checks of one value of a configuration file. Each returns 0, or -1 with
 * `expected X, got 'TEXT'` in ERR; the caller adds the place. */

/* Not empty. */
int berth_value_text(const char *text, struct berth_err *err);

/* An absolute path without a component `..`. */
int berth_value_path(const char *text, struct berth_err *err);

/* A path that starts with /, ~/ or $. */
int berth_value_cache(const char *text, struct berth_err *err);

/* zstd, zstd:LEVEL, gzip, gzip:LEVEL or lz4. */
int berth_value_compression(const char *text, struct berth_err *err);

/* SRC[:DST[:ro|rw|sqsh]], both absolute, without a comma. */
int berth_value_mount(const char *text, struct berth_err *err);

/* The name of a variable, in which `*` matches any text. */
int berth_value_pattern(const char *text, struct berth_err *err);

/* The name of a variable. */
int berth_value_variable(const char *text, struct berth_err *err);

/* NAME=VALUE */
int berth_value_assignment(const char *text, struct berth_err *err);

/* The beginning of a URI: docker://, oras://registry.example/climate/ */
int berth_value_uri(const char *text, struct berth_err *err);

/* The name of a user, or a number. */
int berth_value_user(const char *text, struct berth_err *err);

/* 40 or 64 hexadecimal digits. */
int berth_value_fingerprint(const char *text, struct berth_err *err);

/* Is TEXT the name of a device, vendor.com/class=name (CDI, SPEC.md)? */
bool berth_value_is_device(const char *text);

/* A mode of --mpi-bind, or a name (berth_mode_is_word()). */
int berth_value_mode(const char *text, struct berth_err *err);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/* What one value of a configuration file may be. Each returns 0, or -1 with
 * `expected X, got 'TEXT'` in ERR, for the caller to put the place in front. */

int berth_value_text(const char *text, struct berth_err *err);

/* An absolute path without a component `..`. */
int berth_value_path(const char *text, struct berth_err *err);

/* The same, or one that starts with ~/ or with $NAME. */
int berth_value_cache(const char *text, struct berth_err *err);

/* SRC[:DST[:ro|rw|sqsh]], both absolute. */
int berth_value_mount(const char *text, struct berth_err *err);

/* The name of a variable, in which `*` stands for any text. */
int berth_value_pattern(const char *text, struct berth_err *err);

int berth_value_variable(const char *text, struct berth_err *err);

/* NAME=VALUE */
int berth_value_assignment(const char *text, struct berth_err *err);

/* How a URI begins: docker://, oras://registry.example/climate/ */
int berth_value_uri(const char *text, struct berth_err *err);

/* The name of a user, or a number. */
int berth_value_user(const char *text, struct berth_err *err);

/* 40 or 64 hexadecimal digits. */
int berth_value_fingerprint(const char *text, struct berth_err *err);

/* auto, off, or a name that a fabric can have (request/mode.h). */
int berth_value_fabric(const char *text, struct berth_err *err);

/* A mode of --mpi-bind, or a name that a stack or profile can have (request/mode.h). */
int berth_value_mode(const char *text, struct berth_err *err);

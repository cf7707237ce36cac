/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/* A directory of stages (bindover/stage.h), on the host and in the container. */
struct berth_stage_root {
    const char *path;    /* on the host */
    const char *mounted; /* in the container */
    uid_t owner;         /* the only user who may write it */
    mode_t forbidden;    /* permissions that it must not have; it has all others */
};

/* Where `berth profiles --prepare` puts the stages for all users, as root. */
#define BERTH_STAGE_SITE         "/var/lib/berth/stage"
#define BERTH_STAGE_SITE_MOUNTED "/.berth/site"
#define BERTH_STAGE_USER_MOUNTED "/.berth/user"

/* Advice that makes a user's root unnecessary, appended to a sentence. */
#define BERTH_STAGE_ADVICE                                                             \
    "; have the administrators run 'berth profiles --prepare' on this node"

/* Advice if a start is too short for a copy, appended to a sentence. */
#define BERTH_STAGE_SLOW                                                               \
    ", have the administrators run 'berth profiles --prepare' on this node, or raise " \
    "runtime.start_timeout in berth.yaml"

/* Bytes of the path of a user's root. */
enum { BERTH_STAGE_USER_SIZE = 64 };

/* Returns the root for all users; and that of the calling user, whose path is written
 * to PATH, which must live as long: /tmp/berth-UID, or, if that belongs to somebody
 * else (anybody may make it first), the user's directory /tmp/berth-UID.XXXXXX, if
 * there is one.
 */
struct berth_stage_root berth_stage_site(void);
struct berth_stage_root berth_stage_user(char path[BERTH_STAGE_USER_SIZE]);

/* The same; makes the second directory if the first one belongs to somebody else. */
struct berth_stage_root berth_stage_user_made(char path[BERTH_STAGE_USER_SIZE]);

/* The same below TOP, a directory like /tmp; MAKE: make the second directory. */
struct berth_stage_root berth_stage_user_in(const char *top, bool make,
                                            char path[BERTH_STAGE_USER_SIZE]);

/* Open the directory, and make it if it is missing. Nobody but its owner can replace it
 * in a /tmp with the sticky bit. Returns a descriptor; -1 with a sentence in ERR if it
 * cannot be made, or if another user could write it. */
int berth_stage_root_open(const struct berth_stage_root *root, struct berth_err *err);

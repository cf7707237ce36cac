/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <pwd.h>
#include <stdio.h>
#include <sys/types.h>

#include "request/request.h"
#include "container/namespaces.h"

/* The user database of a container. A runtime adds its user to the database of the
 * image. A runtime in an outer user namespace (container/outer.h) is root there and
 * adds root, so the user and the groups of the tasks would have no names. */

/* Open the database of an image. NULL: it is not there, no regular file, or of more
 * than 16 MiB. */
FILE *berth_database_open(const char *path);

/* Copy the entries of FROM, a passwd(5), to TO, with USER in place of the first one
 * that has its number; if there is none, USER follows the last one. */
void berth_database_put_user(FILE *from, const struct passwd *user, FILE *to);

/* Returns the home of user UID in FROM, a passwd(5), which the caller frees; NULL: it
 * has none. */
char *berth_database_home(FILE *from, uid_t uid);

/* Correct /etc/passwd and /etc/group in the container of process HOLDER, which was
 * started for REQUEST and runs no task yet: they get what the runtime would have
 * written for the user of the calling process. Changes only files that the runtime has
 * made, or files of a writable container, which is discarded at its end. If that fails,
 * the files stay as they are. */
void berth_database_correct(struct berth_holder holder,
                            const struct berth_request *request);

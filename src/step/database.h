/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

#include "base/buf.h"
#include "request/request.h"
#include "step/namespaces.h"

/* The user database of a container. A runtime adds its user to the database of the
 * image. A runtime in an outer user namespace (step/outer.h) is root there and adds
 * root, so the user and the groups of the tasks would have no names. */

/* Append TEXT, a passwd(5), to RET, with LINE (which ends in a newline) in place of the
 * first line of user UID; if there is none, LINE follows the last line. */
void berth_database_put_user(const char *text, uid_t uid, const char *line,
                             struct berth_buf *ret);

/* Append the home of user UID in TEXT, a passwd(5), to RET; if there is none, FALLBACK.
 */
void berth_database_put_home(const char *text, uid_t uid, const char *fallback,
                             struct berth_buf *ret);

/* Correct /etc/passwd and /etc/group in the container of process HOLDER, which was
 * started for REQUEST and runs no task yet: they get what the runtime would have
 * written for the user of the calling process. Changes only files that the runtime has
 * made, or files of a writable container, which is discarded at its end. If that fails,
 * the files stay as they are. */
void berth_database_correct(struct berth_holder holder,
                            const struct berth_request *request);

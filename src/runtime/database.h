/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

#include "base/buf.h"
#include "request/request.h"

/* The user database of a container. A runtime adds its user to the image's; one that is
 * root in an outer user namespace (step/outer.h) adds root, and the tasks' user and
 * groups have no names. */

/* Append TEXT, a passwd(5), to RET, with LINE (with its end) in place of the first line
 * of user UID, or behind the last one. */
void berth_database_put_user(const char *text, uid_t uid, const char *line,
                             struct berth_buf *ret);

/* The home of user UID in TEXT, a passwd(5), or FALLBACK, appended to RET. */
void berth_database_put_home(const char *text, uid_t uid, const char *fallback,
                             struct berth_buf *ret);

/* In the container of process HOLDER, which was started for REQUEST and runs no task
 * yet: let /etc/passwd and /etc/group be what the runtime would have made of them for
 * the user of the calling process. Only files that the runtime has made are changed,
 * and those of a container that can be written and is thrown away. Where that fails
 * they stay as they are. */
void berth_database_correct(pid_t holder, const struct berth_request *request);

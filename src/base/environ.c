/* SPDX-License-Identifier: Apache-2.0 */
/* Environments: NAME=VALUE strings. */

#include "base/environ.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

const char *berth_environ_value(char *const *env, const char *name)
{
    size_t length = strcspn(name, "=");

    for (; env && *env; env++)
        if (strncmp(*env, name, length) == 0 && (*env)[length] == '=')
            return *env + length + 1;
    return NULL;
}

void berth_environ_split(const char *bytes, size_t count, struct berth_strvec *ret)
{
    for (size_t at = 0; at < count; at += strlen(bytes + at) + 1)
        berth_strvec_push(ret, bytes + at);
}

void berth_environ_join(char *const *list, struct berth_buf *ret)
{
    for (; list && *list; list++)
        berth_buf_add(ret, *list, strlen(*list) + 1);
}

int berth_environ_set(const char *variable)
{
    const char *equals = strchr(variable, '=');
    BERTH_FREE char *name = NULL;

    if (!equals)
        return 0;
    name = strndup(variable, (size_t)(equals - variable));
    if (!name)
        return -1;
    return setenv(name, equals + 1, 1);
}

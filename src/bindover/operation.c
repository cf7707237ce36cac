/* SPDX-License-Identifier: Apache-2.0 */
/* The list of what is done in a container, and the loop that does it. Does not know
 * why. */

#include "bindover/operation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>

#include "base/environ.h"
#include "base/grow.h"

static bool has_mount(const struct berth_operations *operations, const char *what,
                      const char *over)
{
    for (size_t i = 0; i < operations->count; i++) {
        const struct berth_operation *it = &operations->items[i];

        if (it->kind == BERTH_OPERATION_MOUNT && strcmp(it->what, what) == 0 &&
            strcmp(it->over, over) == 0)
            return true;
    }
    return false;
}

/* Append OPERATION, with copies of its texts. */
static void push(struct berth_operations *operations,
                 const struct berth_operation *operation)
{
    struct berth_operation *more;

    if (berth_grow(&operations->items, operations->count, &operations->room,
                   sizeof(*more)) < 0) {
        operations->failed = true;
        return;
    }
    more = &operations->items[operations->count];
    operations->count++;

    *more = *operation;
    more->what = strdup(operation->what);
    if (!more->what)
        operations->failed = true;
    if (!operation->over)
        return;
    more->over = strdup(operation->over);
    if (!more->over)
        operations->failed = true;
}

void berth_operations_mount(struct berth_operations *operations, const char *what,
                            const char *over, const struct berth_replacement *cause)
{
    const struct berth_operation operation = {BERTH_OPERATION_MOUNT, (char *)what,
                                              (char *)over, cause};

    if (!operations->failed && !has_mount(operations, what, over))
        push(operations, &operation);
}

void berth_operations_set(struct berth_operations *operations, const char *what,
                          const struct berth_replacement *cause)
{
    const struct berth_operation operation = {BERTH_OPERATION_SET, (char *)what, NULL,
                                              cause};

    push(operations, &operation);
}

void berth_operations_add(struct berth_operations *operations,
                          const struct berth_strvec *pairs,
                          const struct berth_strvec *set,
                          const struct berth_replacement *cause)
{
    for (size_t i = 0; i < pairs->count; i += 2)
        berth_operations_mount(operations, pairs->items[i], pairs->items[i + 1], cause);
    for (size_t i = 0; i < set->count; i++)
        berth_operations_set(operations, set->items[i], cause);
}

/* The root of an Apptainer container is unbindable (mount_namespaces(7)): nothing of it
 * can be the source of a bind mount as long as it is. */
static int bind_of_root(const char *what, const char *over)
{
    int result, number;

    if (mount(NULL, "/", NULL, MS_PRIVATE, NULL) < 0)
        return -1;
    result = mount(what, over, NULL, MS_BIND, NULL);
    number = errno;
    mount(NULL, "/", NULL, MS_UNBINDABLE, NULL);
    errno = number;
    return result;
}

static int bind_file(const char *what, const char *over)
{
    if (mount(what, over, NULL, MS_BIND, NULL) == 0)
        return 0;
    if (errno != EINVAL)
        return -1;
    return bind_of_root(what, over);
}

static int do_one(const struct berth_operation *operation, struct berth_err *err)
{
    switch (operation->kind) {
    case BERTH_OPERATION_MOUNT:
        if (bind_file(operation->what, operation->over) == 0)
            return 0;
        return berth_err_set(err, "cannot mount '%s' over '%s': %s", operation->what,
                             operation->over, strerror(errno));
    case BERTH_OPERATION_SET:
        return berth_err_oom_if(berth_environ_set(operation->what) < 0, err);
    }
    return 0;
}

int berth_operations_do(const struct berth_operations *operations, size_t first,
                        struct berth_err *err)
{
    if (operations->failed)
        return berth_err_oom(err);
    for (size_t i = first; i < operations->count; i++)
        if (do_one(&operations->items[i], err) < 0)
            return -1;
    return 0;
}

void berth_operations_cut(struct berth_operations *operations, size_t count)
{
    while (operations->count > count) {
        operations->count--;
        free(operations->items[operations->count].what);
        free(operations->items[operations->count].over);
    }
}

void berth_operations_fini(struct berth_operations *operations)
{
    berth_operations_cut(operations, 0);
    free(operations->items);
    *operations = (struct berth_operations){0};
}

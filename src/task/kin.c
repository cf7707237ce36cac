/* SPDX-License-Identifier: Apache-2.0 */
/* Who has started whom. */

#include "task/kin.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/grow.h"

struct list {
    pid_t *items;
    size_t count, room;
};

static void add_children(pid_t pid, const char *thread, struct list *list)
{
    BERTH_FREE char *name = NULL;
    BERTH_FCLOSE FILE *children = NULL;
    pid_t child;

    if (asprintf(&name, "/proc/%d/task/%s/children", pid, thread) < 0)
        return;
    children = fopen(name, "re");
    while (children && fscanf(children, "%d", &child) == 1 &&
           berth_grow(&list->items, list->count, &list->room, sizeof(child)) == 0)
        list->items[list->count++] = child;
}

size_t berth_kin_children(pid_t pid, pid_t **ret_children)
{
    struct list list = {0};
    struct dirent *entry;
    DIR *threads;
    char name[32];

    snprintf(name, sizeof(name), "/proc/%d/task", pid);
    threads = opendir(name);
    while (threads && (entry = readdir(threads)))
        if (*entry->d_name != '.')
            add_children(pid, entry->d_name, &list);
    if (threads)
        closedir(threads);
    *ret_children = list.items;
    return list.count;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of this node, as /proc tells them. */

#include "task/processes.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool berth_process_read(const char *pid, struct berth_process *ret)
{
    char path[300];
    char line[256];
    char *open, *close;
    size_t count;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%s/stat", pid);
    file = fopen(path, "re");
    if (!file)
        return false;
    count = fread(line, 1, sizeof(line) - 1, file);
    fclose(file);
    line[count] = '\0';
    open = strchr(line, '(');
    close = strrchr(line, ')');
    if (!open || !close || sscanf(close + 1, " %*c %d", &ret->parent) != 1)
        return false;
    *close = '\0';
    ret->pid = (pid_t)atoi(pid);
    snprintf(ret->name, sizeof(ret->name), "%s", open + 1);
    return true;
}

int berth_processes_visit(bool (*visit)(const struct berth_process *, void *),
                          void *data)
{
    DIR *directory = opendir("/proc");
    struct dirent *entry;
    struct berth_process process;
    int count = 0;

    while (directory && (entry = readdir(directory)))
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
            berth_process_read(entry->d_name, &process))
            count += visit(&process, data);
    if (directory)
        closedir(directory);
    return count;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Which rank, which host, which image, and which MPI library that really runs. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tell.h"

enum { PATHS = 4000, LINE = 8000 };

void tell_marker(char *text, int size)
{
    FILE *file = fopen("/etc/berth-image", "r");

    snprintf(text, size, "host");
    if (!file)
        return;
    if (fgets(text, size, file))
        text[strcspn(text, "\n")] = '\0';
    fclose(file);
}

/* Is PATH itself a mount point (the fifth word), so that another file lies over it? */
static int lies_over(const char *path)
{
    FILE *mounts = fopen("/proc/self/mountinfo", "r");
    char line[LINE], *point;
    int found = 0, word;

    while (mounts && !found && fgets(line, sizeof line, mounts)) {
        for (point = line, word = 0; point && word < 4; word++)
            point = strchr(point + 1, ' ');
        found = point && strncmp(point + 1, path, strlen(path)) == 0 &&
                point[1 + strlen(path)] == ' ';
    }
    if (mounts)
        fclose(mounts);
    return found;
}

static int is_mpi(const char *path)
{
    const char *file = strrchr(path, '/');

    return file &&
           (strncmp(file, "/libmpi", 7) == 0 || strncmp(file, "/libopen_mpi", 12) == 0);
}

/* Each path once; the kernel lists a file's mappings one after the other. */
static void mapped(char *text, size_t size)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[LINE], last[LINE] = "";
    size_t used = 0;

    text[0] = '\0';
    while (maps && fgets(line, sizeof line, maps)) {
        char *path = strchr(line, '/');

        line[strcspn(line, "\n")] = '\0';
        if (!path || !is_mpi(path) || strcmp(path, last) == 0)
            continue;
        strcpy(last, path);
        if (used < size)
            used += snprintf(text + used, size - used, "%s%s%s", used ? " " : "", path,
                             lies_over(path) ? "!" : "");
    }
    if (maps)
        fclose(maps);
}

void tell_library(const char *who, const char *version)
{
    char host[256] = "", marker[64], libraries[PATHS];

    gethostname(host, sizeof host - 1);
    tell_marker(marker, sizeof marker);
    mapped(libraries, sizeof libraries);
    printf("%s on %s in %s: %.*s [%s]\n", who, host, marker,
           (int)strcspn(version, "\n"), version, libraries);
    fflush(stdout);
}

void tell(int rank, int size, const char *version)
{
    char who[64];

    snprintf(who, sizeof who, "rank %d of %d", rank, size);
    tell_library(who, version);
}

void tell_padded(int rank, int size, const char *version, int length)
{
    char text[LINE];

    while (length > 0 && version[length - 1] == ' ')
        length--;
    snprintf(text, sizeof text, "%.*s", length, version);
    tell(rank, size, text);
}

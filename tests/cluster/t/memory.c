/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For several.t: two programs of a step, of which one reads the other's memory.
 * `memory show FILE` tells in FILE who it is and where its text lies, and ends when
 * that was read; `memory read FILE` reads it. Linked statically: the image may have no
 * libc.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { SIZE = 24, ROUNDS = 600 };

static char text[SIZE] = "memory of another image";

static void await(const char *path)
{
    for (int i = 0; i < ROUNDS && access(path, F_OK) < 0; i++)
        usleep(50000);
}

static void create(const char *path, const char *line)
{
    char name[512];
    FILE *file;

    snprintf(name, sizeof name, "%s.new", path);
    file = fopen(name, "w");
    if (!file) {
        perror(name);
        exit(1);
    }
    fputs(line, file);
    fclose(file);
    rename(name, path);
}

static int show(const char *path, const char *end)
{
    char line[128];

    snprintf(line, sizeof line, "%d %p\n", getpid(), (void *)text);
    create(path, line);
    await(end);
    return 0;
}

static int read_other(const char *path, const char *end)
{
    char found[SIZE] = "";
    struct iovec ours = {found, SIZE}, theirs = {.iov_len = SIZE};
    FILE *file;
    int pid;

    await(path);
    file = fopen(path, "r");
    if (!file || fscanf(file, "%d %p", &pid, &theirs.iov_base) != 2)
        return 1;
    memset(text, 0, sizeof text);
    if (process_vm_readv(pid, &ours, 1, &theirs, 1, 0) < 0)
        perror("process_vm_readv");
    else
        printf("read: %s\n", found);
    create(end, "");
    return 0;
}

int main(int argc, char **argv)
{
    char end[512];

    if (argc != 3)
        return 2;
    snprintf(end, sizeof end, "%s.end", argv[2]);
    return strcmp(argv[1], "show") == 0 ? show(argv[2], end) : read_other(argv[2], end);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What a hostile program of an image can open in /proc. Linked statically.
 *
 *   reach PLACE...          print once each way to a file of the host, or "nothing"
 *   reach --until FILE PLACE...  print "ready"; the same again and again until there is
 *                                such a file
 *
 * PLACE is a path of the host that the container does not show (to be found from a
 * directory that a process has open), or DEVICE:INODE=NAME of a file of the host that
 * the program must not be able to write. /proc/PID/{root,cwd,exe}, fd/N and map_files/N
 * of each process are opened: from a directory the program climbs to the top and looks
 * for the paths, and a file that is one of those is opened to write. */

#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 256 };

static char **places;
static char *found[MOST];
static int count, opened;

/* Print a line, but for process ids and what was printed before. */
static void report(const char *program, const char *what, const char *place,
                   const char *how)
{
    char line[512];

    snprintf(line, sizeof(line), "%s %s: %s %s", program, what, place, how);
    for (int i = 0; i < count; i++)
        if (strcmp(found[i], line) == 0)
            return;
    if (count == MOST)
        return;
    found[count++] = strdup(line);
    printf("%s\n", line);
    fflush(stdout);
}

/* The directory above all others, from FD. */
static int climb(int fd)
{
    struct stat here, above;

    for (;;) {
        int next = openat(fd, "..", O_PATH | O_DIRECTORY);

        if (next < 0)
            return fd;
        if (fstat(fd, &here) < 0 || fstat(next, &above) < 0)
            return fd;
        close(fd);
        fd = next;
        if (here.st_dev == above.st_dev && here.st_ino == above.st_ino)
            return fd;
    }
}

static void try_directory(const char *program, const char *what, int fd)
{
    int top = climb(dup(fd));
    struct stat st;

    for (char **it = places; *it; it++)
        if (**it == '/' && fstatat(top, *it + 1, &st, 0) == 0)
            report(program, what, *it, "is there");
    close(top);
}

static void try_file(const char *program, const char *what, const char *path,
                     const struct stat *st)
{
    char number[64];

    snprintf(number, sizeof(number), "%llu:%llu=", (unsigned long long)st->st_dev,
             (unsigned long long)st->st_ino);
    for (char **it = places; *it; it++) {
        int fd;

        if (strncmp(*it, number, strlen(number)) != 0)
            continue;
        /* a program that runs is only busy (ETXTBSY), and is written when it has ended
         */
        fd = open(path, O_WRONLY);
        if (fd >= 0 || errno == ETXTBSY)
            report(program, what, strchr(*it, '=') + 1, "can be written");
        if (fd >= 0)
            close(fd);
    }
}

static void try_path(const char *program, const char *what, const char *path)
{
    int fd = open(path, O_PATH);
    struct stat st;

    if (fd < 0)
        return;
    opened++;
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
        try_directory(program, what, fd);
    else if (S_ISREG(st.st_mode))
        try_file(program, what, path, &st);
    close(fd);
}

static void try_each(const char *program, const char *process, const char *list)
{
    char path[512], what[512];
    struct dirent *entry;
    DIR *directory;

    snprintf(path, sizeof(path), "%s/%s", process, list);
    directory = opendir(path);
    while (directory && (entry = readdir(directory))) {
        if (*entry->d_name == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s/%s", process, list, entry->d_name);
        snprintf(what, sizeof(what), "%s/%s", list,
                 strcmp(list, "fd") == 0 ? entry->d_name : "N");
        try_path(program, what, path);
    }
    if (directory)
        closedir(directory);
}

static void try_process(const char *pid)
{
    static const char *const links[] = {"root", "cwd", "exe"};
    char process[300], path[400], program[64] = "?";
    FILE *file;

    snprintf(process, sizeof(process), "/proc/%s", pid);
    snprintf(path, sizeof(path), "%s/comm", process);
    file = fopen(path, "r");
    if (file && fgets(program, sizeof(program), file))
        program[strcspn(program, "\n")] = '\0';
    if (file)
        fclose(file);
    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", process, links[i]);
        try_path(program, links[i], path);
    }
    try_each(program, process, "fd");
    try_each(program, process, "map_files");
}

static void try_all(void)
{
    DIR *processes = opendir("/proc");
    struct dirent *entry;

    while (processes && (entry = readdir(processes)))
        if (*entry->d_name >= '1' && *entry->d_name <= '9')
            try_process(entry->d_name);
    if (processes)
        closedir(processes);
}

int main(int argc, char **argv)
{
    const char *end = NULL;

    places = argv + 1;
    if (argc > 2 && strcmp(argv[1], "--until") == 0) {
        end = argv[2];
        places = argv + 3;
        puts("ready");
        fflush(stdout);
    }
    do
        try_all();
    while (end && access(end, F_OK) < 0);
    if (!count)
        printf(opened ? "nothing\n" : "nothing was opened\n");
    return 0;
}

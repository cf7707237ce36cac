/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the MPI that processes have mapped. Reads files of the image, as the user. */

#include "bindover/mapped.h"

#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/text.h"
#include "elf/facts.h"
#include "mpi/names.h"
#include "container/processes.h"

enum { PATH_SIZE = 64, MEMORY_MAX = 64 << 20 };

/* A line of /proc/PID/maps (proc_pid_maps(5)). */
struct mapping {
    unsigned long start, end;
    char access[5]; /* "r-xp" */
    dev_t device;
    ino_t inode;
    const char *path;
};

void berth_mapped_add_stage(struct berth_mapped_files *files, const char *path,
                            const char *library, enum berth_mapped kind)
{
    char *const paths[] = {(char *)path, NULL};
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    FTSENT *entry;

    while (tree && (entry = fts_read(tree))) {
        if (entry->fts_info != FTS_F ||
            berth_grow(&files->staged, files->staged_count, &files->staged_room,
                       sizeof(*files->staged)) < 0)
            continue;
        files->staged[files->staged_count++] = (struct berth_mapped_stage){
            entry->fts_statp->st_dev, entry->fts_statp->st_ino,
            strcmp(entry->fts_name, library) == 0 ? kind : BERTH_MAPPED_NONE,
            berth_text_base(path)};
    }
    if (tree)
        fts_close(tree);
}

/* Is the file a staged one? Then FILE gets what that shows. */
static bool judge_staged(const struct berth_mapped_files *files, dev_t device,
                         ino_t inode, struct berth_mapped_file *file)
{
    bool is_staged = false;

    for (size_t i = 0; i < files->staged_count; i++)
        if (files->staged[i].inode == inode && files->staged[i].device == device) {
            is_staged = true;
            if (files->staged[i].kind != BERTH_MAPPED_NONE) {
                file->kind = files->staged[i].kind;
                file->stage = files->staged[i].name;
            }
        }
    return is_staged;
}

static void judge_content(int fd, const char *path, struct berth_mapped_file *file)
{
    struct berth_mpi_library library;
    BERTH_ELF struct berth_elf elf = {0};

    if (berth_elf_read(fd, &berth_mpi_question, &elf, NULL) < 0)
        return;
    berth_mpi_classify(&elf, berth_text_base(path), &library);
    if (library.parts & BERTH_PART_C) {
        file->kind = BERTH_MAPPED_OTHER;
        berth_mpi_library_name(&library, file->name, sizeof(file->name));
    }
}

/* Are there several marks of FAMILY among COUNT BYTES? */
static bool has_marks(enum berth_mpi_family family, const char *bytes, ssize_t count)
{
    unsigned int seen = 0;

    for (ssize_t at = 0; at < count; at += (ssize_t)strlen(bytes + at) + 1)
        seen |= berth_mpi_mark(family, bytes + at);
    return __builtin_popcount(seen) >= 2;
}

/* Judge a file that is gone, or cannot be read, by the constants that process PID has
 * mapped of it: /proc/PID/map_files opens such a file for root alone. */
static void judge_memory(pid_t pid, const struct mapping *mapping,
                         struct berth_mapped_file *file)
{
    size_t count = mapping->end - mapping->start;
    BERTH_FREE char *bytes = count < MEMORY_MAX ? calloc(1, count + 1) : NULL;
    BERTH_CLOSE int fd = -1;
    char name[PATH_SIZE];
    ssize_t got;

    file->start = mapping->start;
    if (mapping->access[1] == 'w' || mapping->access[3] != 'p')
        return;
    snprintf(name, sizeof(name), "/proc/%d/mem", pid);
    fd = open(name, O_RDONLY | O_CLOEXEC);
    got = bytes && fd >= 0 ? pread(fd, bytes, count, (off_t)mapping->start) : -1;
    for (enum berth_mpi_family it = BERTH_FAMILY_MPICH; it <= BERTH_FAMILY_ABI; it++)
        if (file->kind == BERTH_MAPPED_NONE && has_marks(it, bytes, got)) {
            file->kind = BERTH_MAPPED_OTHER;
            snprintf(file->name, sizeof(file->name), "%s", berth_mpi_family_name(it));
        }
}

/* Judge what process PID has mapped. Some file systems show a device in the maps that
 * differs from that of stat(2), so both are tried. */
static void judge(const struct berth_mapped_files *files, pid_t pid,
                  const struct mapping *mapping, struct berth_mapped_file *file)
{
    BERTH_FREE char *name = NULL;
    BERTH_CLOSE int fd = -1;
    struct stat st;

    if (judge_staged(files, file->device, file->inode, file) ||
        asprintf(&name, "/proc/%d/root%s", pid, mapping->path) < 0)
        return;
    fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) < 0)
        judge_memory(pid, mapping, file);
    else if (!judge_staged(files, st.st_dev, st.st_ino, file) && S_ISREG(st.st_mode))
        judge_content(fd, mapping->path, file);
    if (file->kind == BERTH_MAPPED_OTHER)
        file->path = strdup(mapping->path);
}

/* The index in FILES of what is mapped, which is judged if it is new; -1: no memory. */
static ssize_t find(struct berth_mapped_files *files, pid_t pid,
                    const struct mapping *mapping)
{
    struct berth_mapped_file *file;

    for (size_t i = 0; i < files->count; i++)
        if (files->items[i].inode == mapping->inode &&
            files->items[i].device == mapping->device &&
            (!files->items[i].start || files->items[i].start == mapping->start))
            return (ssize_t)i;
    if (berth_grow(&files->items, files->count, &files->room, sizeof(*file)) < 0)
        return -1;
    file = &files->items[files->count];
    *file =
        (struct berth_mapped_file){.device = mapping->device, .inode = mapping->inode};
    judge(files, pid, mapping, file);
    return (ssize_t)files->count++;
}

/* What one inspection has found: indices, because the list moves when it grows; -1:
 * none. */
struct inspection {
    struct berth_mapped_files *files;
    ssize_t staged, other, both; /* BOTH: the other one, beside a staged one */
};

static bool is_of(const struct berth_mapped_files *files, ssize_t at,
                  enum berth_mapped kind)
{
    return at >= 0 && files->items[at].kind == kind;
}

/* Parses LINE, which MAPPING borrows. False: nothing with a path. */
static bool read_mapping(const char *line, struct mapping *mapping)
{
    unsigned int major_number, minor_number;
    unsigned long long inode;
    int path = 0;

    if (sscanf(line, "%lx-%lx %4s %*x %x:%x %llu %n", &mapping->start, &mapping->end,
               mapping->access, &major_number, &minor_number, &inode, &path) != 6)
        return false;
    mapping->device = makedev(major_number, minor_number);
    mapping->inode = (ino_t)inode;
    mapping->path = line + path;
    return *mapping->path == '/';
}

/* Inspects one process without its descendants. */
static bool inspect_one(pid_t pid, void *data)
{
    struct inspection *inspection = data;
    struct berth_mapped_files *files = inspection->files;
    ssize_t staged = -1, other = -1;
    char name[PATH_SIZE];
    BERTH_FCLOSE FILE *maps = NULL;
    BERTH_FREE char *line = NULL;
    size_t room = 0;
    ssize_t length;

    snprintf(name, sizeof(name), "/proc/%d/maps", pid);
    maps = fopen(name, "re");
    while (maps && (length = getline(&line, &room, maps)) > 0) {
        struct mapping mapping;
        ssize_t at = -1;

        line[length - 1] = '\0';
        if (read_mapping(line, &mapping))
            at = find(files, pid, &mapping);
        if (staged < 0 && is_of(files, at, BERTH_MAPPED_STAGED))
            staged = at;
        if (other < 0 && is_of(files, at, BERTH_MAPPED_OTHER))
            other = at;
        files->has_beside |= is_of(files, at, BERTH_MAPPED_BESIDE);
    }
    if (inspection->staged < 0)
        inspection->staged = staged;
    if (inspection->other < 0)
        inspection->other = other;
    inspection->both = staged < 0 ? -1 : other;
    return inspection->both < 0;
}

enum berth_mapped berth_mapped_inspect(struct berth_mapped_files *files, pid_t pid,
                                       const struct berth_mapped_file **ret_file)
{
    struct inspection inspection = {files, -1, -1, -1};
    ssize_t found;

    files->has_beside = false;
    berth_process_each_below(pid, inspect_one, &inspection);
    found = inspection.both >= 0     ? inspection.both
            : inspection.staged >= 0 ? inspection.staged
                                     : inspection.other;
    *ret_file = found < 0 ? NULL : &files->items[found];
    if (inspection.both >= 0)
        return BERTH_MAPPED_BOTH;
    return found < 0 ? BERTH_MAPPED_NONE : files->items[found].kind;
}

void berth_mapped_fini(struct berth_mapped_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->items[i].path);
    free(files->items);
    free(files->staged);
    *files = (struct berth_mapped_files){0};
}

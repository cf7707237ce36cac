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

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/text.h"
#include "elf/facts.h"
#include "mpi/names.h"
#include "step/processes.h"

#define DELETED " (deleted)"

enum { PATH_SIZE = 64 };

void berth_mapped_add_stage(struct berth_mapped_files *files, const char *path,
                            const char *library)
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
            strcmp(entry->fts_name, library) == 0, berth_text_base(path)};
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
            if (files->staged[i].tells) {
                file->kind = BERTH_MAPPED_STAGED;
                file->stage = files->staged[i].name;
            }
        }
    return is_staged;
}

static void name_library(const struct berth_mpi_library *library,
                         struct berth_mapped_file *file)
{
    file->kind = BERTH_MAPPED_OTHER;
    berth_mpi_library_name(library, file->name, sizeof(file->name));
}

/* Judge a file that is gone or cannot be read by its name. */
static void judge_name(const char *path, struct berth_mapped_file *file)
{
    BERTH_FREE char *copy = strdup(path);
    char *end = copy ? strstr(copy, DELETED) : NULL;
    enum berth_mpi_family family;

    if (!copy)
        return;
    if (end)
        *end = '\0';
    family = berth_mpi_family_of_soname(berth_text_base(copy));
    if (family == BERTH_FAMILY_NONE)
        return;
    file->kind = BERTH_MAPPED_OTHER;
    snprintf(file->name, sizeof(file->name), "%s", berth_mpi_family_name(family));
}

static void judge_content(int fd, const char *path, struct berth_mapped_file *file)
{
    struct berth_mpi_library library;
    struct berth_elf elf;

    if (berth_elf_read(fd, &berth_mpi_question, &elf, NULL) < 0)
        return;
    berth_mpi_classify(&elf, berth_text_base(path), &library);
    if (library.parts & BERTH_PART_C)
        name_library(&library, file);
    berth_elf_fini(&elf);
}

/* Judge the file PATH of process PID. Some file systems show a device in the maps that
 * differs from that of stat(2), so both are tried. */
static void judge(const struct berth_mapped_files *files, pid_t pid, const char *path,
                  struct berth_mapped_file *file)
{
    BERTH_FREE char *name = NULL;
    BERTH_CLOSE int fd = -1;
    struct stat st;

    if (judge_staged(files, file->device, file->inode, file) ||
        asprintf(&name, "/proc/%d/root%s", pid, path) < 0)
        return;
    fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) < 0)
        judge_name(path, file);
    else if (!judge_staged(files, st.st_dev, st.st_ino, file) && S_ISREG(st.st_mode))
        judge_content(fd, path, file);
    if (file->kind == BERTH_MAPPED_OTHER)
        file->path = strdup(path);
}

/* The index of the file in FILES, which is judged if it is new; -1: no memory. */
static ssize_t find(struct berth_mapped_files *files, pid_t pid, const char *path,
                    dev_t device, ino_t inode)
{
    struct berth_mapped_file *file;

    for (size_t i = 0; i < files->count; i++)
        if (files->items[i].inode == inode && files->items[i].device == device)
            return (ssize_t)i;
    if (berth_grow(&files->items, files->count, &files->room, sizeof(*file)) < 0)
        return -1;
    file = &files->items[files->count];
    *file = (struct berth_mapped_file){.device = device, .inode = inode};
    judge(files, pid, path, file);
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

/* Inspects one process without its descendants (proc_pid_maps(5)). */
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
        unsigned int major_number, minor_number;
        unsigned long long inode;
        ssize_t at = -1;
        int path = 0;

        line[length - 1] = '\0';
        if (sscanf(line, "%*x-%*x %*s %*x %x:%x %llu %n", &major_number, &minor_number,
                   &inode, &path) == 3 &&
            line[path] == '/')
            at = find(files, pid, line + path, makedev(major_number, minor_number),
                      (ino_t)inode);
        if (staged < 0 && is_of(files, at, BERTH_MAPPED_STAGED))
            staged = at;
        if (other < 0 && is_of(files, at, BERTH_MAPPED_OTHER))
            other = at;
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

/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the MPI that processes have mapped. Reads files of the image, as the user. */

#include "bindover/mapped.h"

#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/text.h"
#include "bindover/initialized.h"
#include "mpi/filenames.h"
#include "container/maps.h"
#include "elf/facts.h"
#include "mpi/names.h"
#include "container/processes.h"

enum { PATH_SIZE = 64, MEMORY_MAX = 64 << 20 };

static int open_of_process(pid_t pid, const char *file)
{
    char name[PATH_SIZE];

    snprintf(name, sizeof(name), "/proc/%d/%s", pid, file);
    return open(name, O_RDONLY | O_CLOEXEC);
}

static void add_staged(struct berth_mapped_files *files, const FTSENT *entry,
                       const char *stage, enum berth_mapped kind)
{
    BERTH_CLOSE int fd = -1;
    struct berth_mapped_stage staged = {
        .device = entry->fts_statp->st_dev,
        .inode = entry->fts_statp->st_ino,
        .kind = kind,
        .has_state = berth_mpi_is_file_name(entry->fts_name),
        .name = berth_text_base(stage),
    };

    if (staged.has_state) {
        fd = open(entry->fts_accpath, O_RDONLY | O_CLOEXEC);
        staged.build_id_length =
            berth_elf_build_id(fd, staged.build_id, sizeof(staged.build_id));
    }
    if (berth_grow(&files->staged, files->staged_count, &files->staged_room,
                   sizeof(staged)) == 0)
        files->staged[files->staged_count++] = staged;
}

void berth_mapped_add_stage(struct berth_mapped_files *files, const char *path,
                            const char *library, enum berth_mapped kind)
{
    char *const paths[] = {(char *)path, NULL};
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);

    if (!tree)
        return;
    for (;;) {
        const FTSENT *entry = fts_read(tree);
        enum berth_mapped shown = BERTH_MAPPED_NONE;

        if (!entry)
            break;
        if (strcmp(entry->fts_name, library) == 0)
            shown = kind;
        if (entry->fts_info == FTS_F)
            add_staged(files, entry, path, shown);
    }
    fts_close(tree);
}

/* Is the file a staged one? Then FILE gets what that shows. */
static bool judge_staged(const struct berth_mapped_files *files, dev_t device,
                         ino_t inode, struct berth_mapped_file *file)
{
    for (size_t i = 0; i < files->staged_count; i++) {
        const struct berth_mapped_stage *staged = &files->staged[i];

        if (staged->inode != inode || staged->device != device)
            continue;
        file->is_staged = true;
        file->has_state |= staged->has_state;
        if (staged->kind != BERTH_MAPPED_NONE) {
            file->kind = staged->kind;
            file->stage = staged->name;
        }
    }
    return file->is_staged;
}

/* Was the file open at FD built together with a staged library? */
static bool is_copy(const struct berth_mapped_files *files, int fd)
{
    unsigned char id[sizeof(files->staged->build_id)];
    size_t length = berth_elf_build_id(fd, id, sizeof(id));

    for (size_t i = 0; i < files->staged_count && length > 0; i++)
        if (files->staged[i].build_id_length == length &&
            memcmp(files->staged[i].build_id, id, length) == 0)
            return true;
    return false;
}

/* Judges the file open at FD. The memory of a program, or of a library that has MPI
 * linked into it, is not that of MPI alone. Nor is that of an MPI of an unknown family,
 * which may be a layer that calls another one. */
static void judge_content(const struct berth_mapped_files *files, int fd,
                          const char *path, struct berth_mapped_file *file)
{
    struct berth_mpi_library library;
    BERTH_ELF struct berth_elf elf = {0};
    bool holds_state;

    if (berth_elf_read(fd, &berth_mpi_question, &elf, NULL) < 0)
        return;
    berth_mpi_classify(&elf, berth_text_base(path), &library);
    holds_state = library.parts & (BERTH_PART_C | BERTH_PART_CORE);
    file->has_state =
        holds_state && !library.is_inside && library.family != BERTH_FAMILY_UNKNOWN;

    if (!(library.parts & BERTH_PART_C))
        return;
    file->kind = BERTH_MAPPED_OTHER;
    if (is_copy(files, fd))
        file->kind = BERTH_MAPPED_COPY;
    berth_mpi_library_name(&library, file->name, sizeof(file->name));
}

/* The family that several of its marks among COUNT BYTES show. */
static enum berth_mpi_family find_marks(const char *bytes, ssize_t count)
{
    unsigned int seen[BERTH_FAMILY_UNKNOWN] = {0};

    for (ssize_t at = 0; at < count; at += (ssize_t)strlen(bytes + at) + 1)
        for (enum berth_mpi_family it = BERTH_FAMILY_MPICH; it < BERTH_FAMILY_UNKNOWN;
             it++) {
            seen[it] |= berth_mpi_mark(it, bytes + at);
            if (__builtin_popcount(seen[it]) >= 2)
                return it;
        }
    return BERTH_FAMILY_NONE;
}

/* May constants be in MAPPING? Where they have a part of the file of their own, code
 * is not read for them, which takes ten times as long. */
static bool may_have_constants(const struct berth_mapping *mapping)
{
    bool is_private = mapping->access[3] == 'p';
    bool is_constant = mapping->access[1] != 'w';
    bool is_code = mapping->access[2] == 'x';
    bool has_header = mapping->offset == 0;

    return is_private && is_constant && (!is_code || has_header);
}

/* Is the file the program that the process executes? */
static bool is_program(pid_t pid, const struct berth_mapping *mapping)
{
    char name[PATH_SIZE];
    struct stat st;

    snprintf(name, sizeof(name), "/proc/%d/exe", pid);
    return stat(name, &st) == 0 && st.st_dev == mapping->device &&
           st.st_ino == mapping->inode;
}

/* Judge a file that is gone, or cannot be read, by the constants that process PID has
 * mapped of it: /proc/PID/map_files opens such a file for root alone. */
static void judge_memory(pid_t pid, const struct berth_mapping *mapping,
                         struct berth_mapped_file *file)
{
    size_t count = mapping->end - mapping->start;
    BERTH_FREE char *bytes = NULL;
    BERTH_CLOSE int fd = -1;
    enum berth_mpi_family family;

    file->start = mapping->start;
    if (!may_have_constants(mapping) || count >= MEMORY_MAX)
        return;
    bytes = calloc(1, count + 1);
    fd = open_of_process(pid, "mem");
    if (!bytes || fd < 0)
        return;
    family = find_marks(bytes, pread(fd, bytes, count, (off_t)mapping->start));
    if (family == BERTH_FAMILY_NONE)
        return;
    file->kind = BERTH_MAPPED_OTHER;
    file->has_state = !is_program(pid, mapping);
    snprintf(file->name, sizeof(file->name), "%s", berth_mpi_family_name(family));
}

/* Is FILE of a kind that is reported with its path? */
static bool has_path(const struct berth_mapped_file *file)
{
    return file->kind == BERTH_MAPPED_OTHER || file->kind == BERTH_MAPPED_COPY;
}

/* Judge what process PID has mapped. Some file systems show a device in the maps that
 * differs from that of stat(2), so both are tried. */
static void judge(const struct berth_mapped_files *files, pid_t pid,
                  const struct berth_mapping *mapping, struct berth_mapped_file *file)
{
    BERTH_FREE char *name = NULL;
    BERTH_CLOSE int fd = -1;
    struct stat st;

    if (judge_staged(files, file->device, file->inode, file))
        return;
    if (asprintf(&name, "/proc/%d/root%s", pid, mapping->path) < 0)
        return;
    fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) < 0)
        judge_memory(pid, mapping, file);
    else if (!judge_staged(files, st.st_dev, st.st_ino, file) && S_ISREG(st.st_mode))
        judge_content(files, fd, mapping->path, file);
    if (has_path(file))
        file->path = strdup(mapping->path);
}

/* Was FILE found by MAPPING, or by another one of the same file? One that cannot be
 * read is known by each of its mappings. */
static bool is_of(const struct berth_mapped_file *file,
                  const struct berth_mapping *mapping)
{
    if (file->inode != mapping->inode || file->device != mapping->device)
        return false;
    return !file->start || file->start == mapping->start;
}

/* The index in FILES of what is mapped, which is judged if it is new; -1: no memory. */
static ssize_t find(struct berth_mapped_files *files, pid_t pid,
                    const struct berth_mapping *mapping)
{
    struct berth_mapped_file *file;

    for (size_t i = 0; i < files->count; i++)
        if (is_of(&files->items[i], mapping))
            return (ssize_t)i;
    if (berth_grow(&files->items, files->count, &files->room, sizeof(*file)) < 0)
        return -1;
    file = &files->items[files->count];
    *file =
        (struct berth_mapped_file){.device = mapping->device, .inode = mapping->inode};
    judge(files, pid, mapping, file);
    if (has_path(file) && !file->path)
        return -1;
    files->count++;
    return (ssize_t)(files->count - 1);
}

/* A file that a process has mapped from its start on. */
struct library {
    dev_t device;
    ino_t inode;
    ssize_t file; /* the index of the one that says that it has a state; -1: none */
    struct berth_mpi_place place;
};

enum { STATES_MAX = 16 };

/* What one process has mapped: indices, because the list of files moves when it grows;
 * -1: none. */
struct process {
    struct berth_mapped_files *files;
    pid_t pid;
    ssize_t staged;
    ssize_t other; /* an OTHER; if there is none, a COPY */
    bool has_beside;
    struct library current;            /* to which the last mapping belongs */
    struct library states[STATES_MAX]; /* which show whether MPI_Init was called */
    size_t state_count;
};

/* Ends the current library. */
static void end_library(struct process *process)
{
    if (process->current.file >= 0 && process->state_count < STATES_MAX)
        process->states[process->state_count++] = process->current;
    process->current = (struct library){.file = -1};
}

/* Notes that MAPPING is a part of a library, and that the file AT judged it. */
static void add_part(struct process *process, const struct berth_mapping *mapping,
                     ssize_t at)
{
    struct library *current = &process->current;
    struct berth_mpi_place *place = &current->place;

    if (mapping->offset == 0) {
        end_library(process);
        current->device = mapping->device;
        current->inode = mapping->inode;
        place->start = mapping->start;
    }
    if (current->device != mapping->device || current->inode != mapping->inode)
        return;
    if (process->files->items[at].has_state)
        current->file = at;
    if (place->end_count < BERTH_PLACE_ENDS)
        place->ends[place->end_count++] = mapping->end;
}

static bool add_mapping(const struct berth_mapping *mapping, void *data)
{
    struct process *process = data;
    ssize_t at = find(process->files, process->pid, mapping);
    enum berth_mapped kind;
    bool has_other;

    if (at < 0)
        return true;
    add_part(process, mapping, at);
    kind = process->files->items[at].kind;
    has_other = process->other >= 0 &&
                process->files->items[process->other].kind == BERTH_MAPPED_OTHER;
    if (kind == BERTH_MAPPED_STAGED && process->staged < 0)
        process->staged = at;
    if (kind == BERTH_MAPPED_OTHER && !has_other)
        process->other = at;
    if (kind == BERTH_MAPPED_COPY && process->other < 0)
        process->other = at;
    process->has_beside |= kind == BERTH_MAPPED_BESIDE;
    return true;
}

/* What the memory of the process shows about the host's MPI, or about other ones. An
 * MPI that has its state in several libraries is initialized if one of them is. */
static enum berth_mpi_use read_use(const struct process *process, bool is_staged)
{
    enum berth_mpi_use use = BERTH_USE_UNKNOWN;

    for (size_t i = 0; i < process->state_count; i++) {
        const struct library *state = &process->states[i];
        enum berth_mpi_use one;

        if (process->files->items[state->file].is_staged != is_staged)
            continue;
        one = berth_mpi_read_use(process->pid, &state->place);
        if (one > use)
            use = one;
    }
    return use;
}

/* Which MPI answers in a process that has mapped another one than the host's. */
static enum berth_answer_of_other answer_of(const struct process *process,
                                            enum berth_mpi_use host,
                                            enum berth_mpi_use other)
{
    bool is_copy = process->files->items[process->other].kind == BERTH_MAPPED_COPY;
    bool has_host = process->staged >= 0;

    if (other == BERTH_USE_LOADED)
        return BERTH_OTHER_NONE;
    /* A copy of the staged file needs the library that makes the mark, and the staged
     * libraries, as the staged file does. */
    if (is_copy)
        return has_host ? BERTH_OTHER_NONE : BERTH_OTHER_COPY;
    if (!has_host)
        return other == BERTH_USE_INITIALIZED ? BERTH_OTHER_ALONE : BERTH_OTHER_LOADED;
    if (other == BERTH_USE_INITIALIZED && host == BERTH_USE_LOADED)
        return BERTH_OTHER_BESIDE;
    return BERTH_OTHER_EITHER;
}

/* What one inspection has found, with indices as in struct process. */
struct inspection {
    struct berth_mapped_files *files;
    struct berth_mapped_seen *seen;
    ssize_t staged, other;
};

/* Inspects one process without its descendants. */
static bool inspect_one(pid_t pid, void *data)
{
    struct inspection *inspection = data;
    struct berth_mapped_seen *seen = inspection->seen;
    struct process process = {.files = inspection->files,
                              .pid = pid,
                              .staged = -1,
                              .other = -1,
                              .current.file = -1};
    enum berth_mpi_use host = BERTH_USE_UNKNOWN;
    enum berth_mpi_use other = BERTH_USE_UNKNOWN;
    enum berth_answer_of_other answer = BERTH_OTHER_NONE;

    /* What is mapped, and what the memory of its MPIs shows. */
    berth_maps_each(pid, add_mapping, &process);
    end_library(&process);
    if (process.staged >= 0)
        host = read_use(&process, true);
    if (process.other >= 0) {
        other = read_use(&process, false);
        answer = answer_of(&process, host, other);
    }

    if (inspection->staged < 0)
        inspection->staged = process.staged;
    if (answer > seen->answer) {
        seen->answer = answer;
        inspection->other = process.other;
    }
    seen->is_initialized |= host == BERTH_USE_INITIALIZED;
    seen->is_idle |= process.other >= 0 && other == BERTH_USE_LOADED;
    seen->has_beside |= process.has_beside;
    return true;
}

void berth_mapped_inspect(struct berth_mapped_files *files, pid_t pid,
                          struct berth_mapped_seen *ret_seen)
{
    struct inspection inspection = {files, ret_seen, -1, -1};

    *ret_seen = (struct berth_mapped_seen){0};
    berth_process_each_below(pid, inspect_one, &inspection);
    if (inspection.staged >= 0)
        ret_seen->staged = &files->items[inspection.staged];
    if (inspection.other >= 0)
        ret_seen->other = &files->items[inspection.other];
}

void berth_mapped_fini(struct berth_mapped_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->items[i].path);
    free(files->items);
    free(files->staged);
    *files = (struct berth_mapped_files){0};
}

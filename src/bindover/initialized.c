/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out whether a process has called MPI_Init, by the memory of its MPI library.
 * The process may be anybody's program: nothing that is read is trusted. */

#include "bindover/initialized.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

enum {
    BLOCK = 4096,
    BLOCKS_INITIALIZED = 12, /* between 7 and 18: see the header */
    SEGMENTS_MAX = 64,
    PAGES_AT_ONCE = 512,
};

/* Bits of an entry of /proc/PID/pagemap (Documentation/admin-guide/mm/pagemap.rst). */
#define PAGE_PRESENT (UINT64_C(1) << 63)
#define PAGE_SWAPPED (UINT64_C(1) << 62)

/* A process whose memory is read. */
struct process {
    int memory; /* /proc/PID/mem */
    int pages;  /* /proc/PID/pagemap */
    uint64_t page_size;
    char *page; /* room for one */
};

/* What was found in zeroed memory. */
struct count {
    uint64_t blocks;  /* that the library has */
    uint64_t written; /* of these, not zero any more; no more than needed */
};

static int open_file(pid_t pid, const char *file)
{
    char name[64];

    snprintf(name, sizeof(name), "/proc/%d/%s", pid, file);
    return open(name, O_RDONLY | O_CLOEXEC);
}

static bool read_at(int fd, uint64_t address, void *bytes, size_t count)
{
    return pread(fd, bytes, count, (off_t)address) == (ssize_t)count;
}

static bool is_zero(const char *bytes)
{
    static const char zeros[BLOCK];

    return memcmp(bytes, zeros, BLOCK) == 0;
}

/* Counts the blocks of the page at ADDRESS that are not zero. The page that the kernel
 * lends to a program which only reads is zero, too. */
static uint64_t count_page(const struct process *process, uint64_t address,
                           uint64_t entry)
{
    uint64_t blocks = process->page_size / BLOCK;
    uint64_t written = 0;

    if (entry & PAGE_SWAPPED)
        return blocks;
    if (!(entry & PAGE_PRESENT) ||
        !read_at(process->memory, address, process->page, process->page_size))
        return 0;
    for (uint64_t i = 0; i < blocks; i++)
        if (!is_zero(process->page + i * BLOCK))
            written++;
    return written;
}

/* Counts in the pages from START to END. False: they cannot be read. */
static bool count_pages(const struct process *process, uint64_t start, uint64_t end,
                        struct count *count)
{
    uint64_t size = process->page_size;
    uint64_t entries[PAGES_AT_ONCE];

    count->blocks += (end - start) / BLOCK;
    while (start < end && count->written < BLOCKS_INITIALIZED) {
        uint64_t pages = (end - start) / size;

        if (pages > PAGES_AT_ONCE)
            pages = PAGES_AT_ONCE;
        if (!read_at(process->pages, start / size * sizeof(*entries), entries,
                     pages * sizeof(*entries)))
            return false;
        for (uint64_t i = 0; i < pages && count->written < BLOCKS_INITIALIZED; i++)
            count->written += count_page(process, start + i * size, entries[i]);
        start += pages * size;
    }
    return true;
}

/* Is HEADER that of a file of this machine's word size, with a table of segments that
 * has room here? */
static bool is_readable(const ElfW(Ehdr) * header)
{
    const unsigned char own_class = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;

    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return false;
    if (header->e_ident[EI_CLASS] != own_class)
        return false;
    return header->e_phentsize == sizeof(ElfW(Phdr)) && header->e_phnum <= SEGMENTS_MAX;
}

/* The segments of the library at START. Returns how many; 0: it is not a library of
 * this machine's kind. */
static unsigned int read_segments(const struct process *process, uint64_t start,
                                  ElfW(Phdr) segments[SEGMENTS_MAX])
{
    ElfW(Ehdr) header;

    if (!read_at(process->memory, start, &header, sizeof(header)))
        return 0;
    if (!is_readable(&header))
        return 0;
    if (!read_at(process->memory, start + header.e_phoff, segments,
                 header.e_phnum * sizeof(segments[0])))
        return 0;
    return header.e_phnum;
}

/* Does such memory begin at ADDRESS? It follows variables that the file initializes. A
 * program may have mapped a part of the file only, to read it, and other things there.
 */
static bool follows(const struct berth_mpi_place *place, uint64_t address)
{
    for (unsigned int i = 0; i < place->end_count; i++)
        if (place->ends[i] == address)
            return true;
    return false;
}

/* Counts in the memory of SEGMENT, of a library that was moved by BIAS, that no byte of
 * the file initializes: whole pages, for the first one begins with such bytes. */
static bool count_segment(const struct process *process,
                          const struct berth_mpi_place *place,
                          const ElfW(Phdr) * segment, uint64_t bias,
                          struct count *count)
{
    uint64_t size = process->page_size;
    uint64_t start = bias + segment->p_vaddr + segment->p_filesz;
    uint64_t end = bias + segment->p_vaddr + segment->p_memsz;

    start = (start + size - 1) / size * size;
    end = (end + size - 1) / size * size;
    if (segment->p_memsz <= segment->p_filesz || start >= end)
        return true;
    /* A library of 1 TiB is a damaged one. */
    if ((end - start) >> 40 || !follows(place, start))
        return true;
    return count_pages(process, start, end, count);
}

static enum berth_mpi_use read_use(const struct process *process,
                                   const struct berth_mpi_place *place)
{
    ElfW(Phdr) segments[SEGMENTS_MAX];
    unsigned int segment_count = read_segments(process, place->start, segments);
    const ElfW(Phdr) *first = NULL;
    struct count count = {0};
    uint64_t bias;

    for (unsigned int i = 0; i < segment_count && !first; i++)
        if (segments[i].p_type == PT_LOAD)
            first = &segments[i];
    if (!first)
        return BERTH_USE_UNKNOWN;
    bias = place->start - first->p_vaddr / process->page_size * process->page_size;
    for (unsigned int i = 0; i < segment_count; i++)
        if (segments[i].p_type == PT_LOAD &&
            !count_segment(process, place, &segments[i], bias, &count))
            return BERTH_USE_UNKNOWN;
    if (count.blocks < BLOCKS_INITIALIZED)
        return BERTH_USE_UNKNOWN;
    if (count.written < BLOCKS_INITIALIZED)
        return BERTH_USE_LOADED;
    return BERTH_USE_INITIALIZED;
}

enum berth_mpi_use berth_mpi_read_use(pid_t pid, const struct berth_mpi_place *place)
{
    BERTH_CLOSE int memory = open_file(pid, "mem");
    BERTH_CLOSE int pages = open_file(pid, "pagemap");
    uint64_t page_size = (uint64_t)sysconf(_SC_PAGESIZE);
    BERTH_FREE char *page = malloc(page_size);
    const struct process process = {memory, pages, page_size, page};

    if (memory < 0 || pages < 0 || !page)
        return BERTH_USE_UNKNOWN;
    return read_use(&process, place);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The library libberth-mark.so, which the C library of a staged MPI needs. When the
 * loader initialises it, the process has loaded the host's MPI, and the library makes a
 * mark (ipc/loadmark.h). Programs of every image load it, so it needs no library and no
 * version of a symbol. It calls syscall() and dl_iterate_phdr() of the C library in the
 * process, names that applications hardly define. No failure may disturb the
 * application. */

#include <fcntl.h>
#include <link.h>
#include <sys/syscall.h>

#include "ipc/loadmark.h"

/* Declared here: <unistd.h> could give it a version. */
long syscall(long number, ...);
extern __typeof__(dl_iterate_phdr) dl_iterate_phdr __attribute__((weak));

/* Where this library begins in memory: a symbol of the linker's. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));

enum { STAGE_MAX = 128, PATH_SIZE = 64 + STAGE_MAX, DIGITS = 10 };

static char *append(char *at, const char *text)
{
    while (*text)
        *at++ = *text++;
    *at = '\0';
    return at;
}

static char *append_number(char *at, unsigned int number)
{
    char digits[DIGITS + 1];
    char *digit = digits + DIGITS;

    *digit = '\0';
    do {
        *--digit = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return append(at, digit);
}

/* The value of BERTH_MARK_VARIABLE in ENVIRONMENT; NULL: it is not set, or not a
 * number. */
static const char *find_rank(char **environment)
{
    static const char name[] = BERTH_MARK_VARIABLE "=";

    for (; environment && *environment; environment++) {
        const char *at = *environment;
        const char *end;
        int i = 0;

        while (name[i] && at[i] == name[i])
            i++;
        if (name[i])
            continue;
        at += i;
        for (end = at; *end >= '0' && *end <= '9'; end++)
            ;
        return *end || end == at || end - at > DIGITS ? (const char *)0 : at;
    }
    return (const char *)0;
}

/* The path of this library, as the loader has it. */
static int find_path(struct dl_phdr_info *info, size_t size, void *ret_path)
{
    (void)size;
    if (info->dlpi_addr != (ElfW(Addr))__ehdr_start)
        return 0;
    *(const char **)ret_path = info->dlpi_name;
    return 1;
}

/* The name of the stage, which is the directory above that of this library. */
static char *append_stage(char *at)
{
    const char *path = (const char *)0;
    const char *start, *end;
    int slashes = 0;

    if (!dl_iterate_phdr || !dl_iterate_phdr(find_path, &path) || !path)
        return at;
    for (end = path; *end; end++)
        ;
    while (end > path && slashes < 2)
        slashes += *--end == '/';
    for (start = end; start > path && start[-1] != '/'; start--)
        ;
    for (int i = 0; start < end && i < STAGE_MAX; i++)
        *at++ = *start++;
    *at = '\0';
    return at;
}

__attribute__((constructor)) static void mark(int argc, char **argv, char **environment)
{
    char path[PATH_SIZE];
    char *at = append(path, BERTH_MARK_DIRECTORY "/");
    const char *rank = find_rank(environment);

    (void)argc;
    (void)argv;
    if (rank)
        at = append(at, rank);
    else
        at = append_number(append(at, BERTH_MARK_PID),
                           (unsigned int)syscall(SYS_getpid));
    append_stage(append(at, BERTH_MARK_STAGE));
    syscall(SYS_mkdirat, AT_FDCWD, path, 0700);
}

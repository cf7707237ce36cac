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
    while (*text) {
        *at = *text;
        at++;
        text++;
    }
    *at = '\0';
    return at;
}

static char *append_number(char *at, unsigned int number)
{
    char digits[DIGITS + 1];
    char *digit = digits + DIGITS;

    *digit = '\0';
    do {
        digit--;
        *digit = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return append(at, digit);
}

/* The value of ITEM, NAME=VALUE, if it is of the variable BERTH_MARK_VARIABLE; NULL: it
 * is another one. */
static const char *value_of(const char *item)
{
    static const char name[] = BERTH_MARK_VARIABLE "=";
    int i = 0;

    while (name[i] && item[i] == name[i])
        i++;
    if (name[i])
        return (const char *)0;
    return item + i;
}

static int is_number(const char *text)
{
    int digits = 0;

    while (text[digits] >= '0' && text[digits] <= '9')
        digits++;
    return !text[digits] && digits > 0 && digits <= DIGITS;
}

/* The value of BERTH_MARK_VARIABLE in ENVIRONMENT; NULL: it is not set, or not a
 * number. */
static const char *find_rank(char **environment)
{
    if (!environment)
        return (const char *)0;
    for (; *environment; environment++) {
        const char *value = value_of(*environment);

        if (value)
            return is_number(value) ? value : (const char *)0;
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

/* The last slash of PATH before END; PATH itself if there is none. */
static const char *find_slash(const char *path, const char *end)
{
    while (end > path) {
        end--;
        if (*end == '/')
            return end;
    }
    return path;
}

/* The name of the stage, which is the directory above that of this library: STAGE of
 * /var/STAGE/lib/libberth-mark.so. */
static char *append_stage(char *at)
{
    const char *path = (const char *)0;
    const char *start, *end;

    if (!dl_iterate_phdr || !dl_iterate_phdr(find_path, &path) || !path)
        return at;

    end = path;
    while (*end)
        end++;
    end = find_slash(path, end); /* before libberth-mark.so */
    end = find_slash(path, end); /* before lib */
    start = find_slash(path, end);
    if (*start == '/' && start < end)
        start++;

    for (int i = 0; start < end && i < STAGE_MAX; i++) {
        *at = *start;
        at++;
        start++;
    }
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
    if (rank) {
        at = append(at, rank);
    } else {
        at = append(at, BERTH_MARK_PID);
        at = append_number(at, (unsigned int)syscall(SYS_getpid));
    }
    at = append(at, BERTH_MARK_STAGE);
    append_stage(at);
    syscall(SYS_mkdirat, AT_FDCWD, path, 0700);
}

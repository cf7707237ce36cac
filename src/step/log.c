/* SPDX-License-Identifier: Apache-2.0 */
/* Makes one sentence of the output of a runtime. */

#include "step/log.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "site/flags.h"

int berth_log_open(struct berth_err *err)
{
    int fd = berth_fd_memory("berth-log", MFD_CLOEXEC);

    return fd < 0 ? berth_err_spent(err, errno) : fd;
}

/* Remove the colours of a terminal: ESC [ NUMBERS m. */
static void remove_colours(char *text)
{
    char *to = text;

    while (*text)
        if (text[0] == '\033' && text[1] == '[')
            text += 2 + strspn(text + 2, "0123456789;m");
        else
            *to++ = *text++;
    *to = '\0';
}

/* Returns the place in LOG that names a fault; NULL: there is none. The words are those
 * of Apptainer, and those with which Go ends a program. */
static char *find_fault(char *log)
{
    static const char *const faults[] = {
        "FATAL", "fatal error:", "runtime/cgo:", "ERROR", "Error"};
    char *at = NULL;

    for (size_t i = 0; !at && i < sizeof(faults) / sizeof(faults[0]); i++)
        at = strstr(log, faults[i]);
    return at;
}

/* Copy the line of the log that names a fault to LINE; if there is none, the last line.
 */
static void find_last_words(int fd, char *line, size_t size)
{
    static char log[65536];
    struct stat st = {0};
    char *text, *end;
    ssize_t count;
    off_t at;

    fstat(fd, &st);
    at = st.st_size >= (off_t)sizeof(log) ? st.st_size - (off_t)sizeof(log) + 1 : 0;
    count = pread(fd, log, sizeof(log) - 1, at);
    log[count > 0 ? count : 0] = '\0';
    remove_colours(log);
    text = find_fault(log);
    if (!text) {
        end = log + strlen(log);
        while (end > log && (end[-1] == '\n' || end[-1] == ' '))
            *--end = '\0';
        text = strrchr(log, '\n');
        text = text ? text + 1 : log;
    }
    text[strcspn(text, "\n")] = '\0';
    snprintf(line, size, "%.*s", (int)size - 1, *text ? text : "it said nothing");
}

/* The variable in ENVIRONMENT by which the runtime mounts the source that WORDS names;
 * NULL: there is none. */
static const char *find_bind(const char *words, char *const *environment)
{
    static const char before[] = "mount source ";
    const char *source = strstr(words, before);
    size_t length;

    if (!source)
        return NULL;
    source += strlen(before);
    length = strcspn(source, " ");
    for (; *environment; environment++) {
        const char *flag = berth_flags_variable(*environment);
        const char *at = flag && berth_text_starts(flag, "BIND") ? *environment : NULL;

        while (at && (at = strpbrk(at, "=,")) &&
               (strncmp(++at, source, length) != 0 || !strchr(":,", at[length])))
            ;
        if (at)
            return *environment;
    }
    return NULL;
}

/* Returns the remedy for a fault: the first row that fits. The words of the faults are
 * those of Apptainer. */
static const char *advise(const char *words, const struct berth_request *request)
{
    static const struct {
        const char *words;
        const char *advice;
        bool anyway; /* also if the request has nothing that could be wrong */
    } rows[] = {
        {"engine configuration too big",
         "unset variables that the command does not need", true},
        {"runtime/cgo: pthread_create failed",
         "a hard limit of this node is too low for it (ulimit -H -u, -v); ask the "
         "administrators",
         true},
        {"error while loading shared libraries",
         "take the directory of that library out of LD_LIBRARY_PATH, or have the "
         "administrators install it",
         true},
        {"unknown compression algorithm",
         "the image is good, and another runtime reads it; build it with gzip, which "
         "every runtime reads (mksquashfs -comp gzip)",
         true},
        {"stat /proc/self/fd/",
         "the container needs /proc: leave out the flag that removes it, or have the "
         "administrators set `mount proc = yes`",
         true},
        {"unknown flag", "leave that flag out of --container-args", false},
        {"unknown shorthand flag", "leave that flag out of --container-args", false},
        {"flag needs an argument", "give that flag a value in --container-args", false},
        {"could not open image",
         "look in --container-args for an argument that is not a flag, or a flag "
         "without "
         "its value",
         false},
        {"don't have write permissions", "use --container-writable instead of a flag",
         false},
        {"doesn't exist", "mount what is on every node", false},
        {"failed to load data image", "make that squashfs file again with mksquashfs",
         false},
        {"not a directory",
         "mount a directory over a directory, and a file over a "
         "file (--container-mounts)",
         false},
    };
    bool asked =
        request->args.count || request->mounts.count || request->home == BERTH_YES;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if ((asked || rows[i].anyway) && strstr(words, rows[i].words))
            return rows[i].advice;
    return "ask the administrators, or look with `berth doctor` on that node";
}

int berth_log_explain(int fd, const struct berth_launch *launch, struct berth_err *err)
{
    const char *variable;
    char words[512];

    find_last_words(fd, words, sizeof(words));
    variable = find_bind(words, launch->environment);
    if (variable)
        return berth_err_set(err,
                             "image '%s': %s did not start it: %s; unset %.*s, which "
                             "names it, or mount what is on every node",
                             berth_request_name(launch->request), launch->runtime,
                             words, (int)strcspn(variable, "="), variable);
    return berth_err_set(err, "image '%s': %s did not start it: %s; %s",
                         berth_request_name(launch->request), launch->runtime, words,
                         advise(words, launch->request));
}

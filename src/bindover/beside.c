/* SPDX-License-Identifier: Apache-2.0 */
/* Finds MPI libraries that no loader names and no inventory of the image has. Reads
 * only some dozen directories, since a home directory may be on a slow file system. */

#include "bindover/scan.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/environ.h"
#include "base/fd.h"
#include "base/resolve.h"
#include "base/text.h"
#include "bindover/inventory.h"
#include "base/run.h"

enum {
    ENTRIES_MAX = 4096, /* of a directory */
    CHILDREN_MAX = 16,  /* of a mount */
    PATHS_MAX = 64,     /* that words and scripts name */
    PROGRAMS_MAX = 4,   /* that are scanned */
    SCRIPT_MAX = 65536, /* bytes of a script */
};

struct search {
    const struct berth_beside *beside;
    struct berth_scan *scan;
    struct berth_strvec seen;  /* directories */
    struct berth_strvec named; /* paths */
    int programs;
};

static bool is_new(struct berth_strvec *list, const char *path)
{
    if (berth_strvec_has(list, path))
        return false;
    berth_strvec_push(list, path);
    return true;
}

typedef void use_entry(struct search *search, const char *name, const char *path);

/* Calls USE for each entry of the directory REAL, at most MOST times. */
static void read_directory(struct search *search, const char *real, int most,
                           use_entry *use)
{
    DIR *stream = opendir(real);
    struct dirent *entry;

    if (!stream)
        return;
    while (most-- > 0 && (entry = readdir(stream))) {
        BERTH_FREE char *file = NULL;

        if (*entry->d_name == '.')
            continue;
        if (asprintf(&file, "%s/%s", real, entry->d_name) < 0)
            search->seen.failed = true;
        else
            use(search, entry->d_name, file);
    }
    closedir(stream);
}

/* The same for the directory PATH, unless it was read before. */
static void each(struct search *search, const char *path, use_entry *use)
{
    BERTH_FREE char *real = berth_resolve(path);

    if (real && is_new(&search->seen, real))
        read_directory(search, real, ENTRIES_MAX, use);
}

static void use_library(struct search *search, const char *name, const char *path)
{
    if (berth_inventory_is_named(name))
        berth_scan_present(search->scan, NULL, path);
}

/* In site-packages, NAME.libs has the libraries of a wheel. */
static void use_package(struct search *search, const char *name, const char *path)
{
    if (berth_text_ends(name, ".libs"))
        each(search, path, use_library);
}

static void use_in_lib(struct search *search, const char *name, const char *path)
{
    BERTH_FREE char *packages = NULL;

    use_library(search, name, path);
    if (!berth_text_starts(name, "python3"))
        return;
    if (asprintf(&packages, "%s/site-packages", path) < 0)
        search->seen.failed = true;
    else
        each(search, packages, use_package);
}

static void add_prefix(struct search *search, const char *prefix)
{
    static const char *const names[] = {"lib", "lib64"};

    for (int i = 0; i < 2; i++) {
        BERTH_FREE char *path = NULL;

        if (asprintf(&path, "%s/%s", prefix, names[i]) < 0)
            search->seen.failed = true;
        else
            each(search, path, use_in_lib);
    }
}

/* Adds the prefix of the program or library FILE: /p of /p/bin/x. */
static void add_prefix_of(struct search *search, const char *file)
{
    const char *slash = strrchr(file, '/');
    BERTH_FREE char *prefix = NULL;

    if (!slash)
        return;
    if (asprintf(&prefix, "%.*s/..", (int)(slash - file), file) < 0)
        search->seen.failed = true;
    else
        add_prefix(search, prefix);
}

/* Adds the program PATH itself, and the libraries that its loader finds. */
static void add_program(struct search *search, const char *path)
{
    struct berth_scan scan;

    if (search->programs++ >= PROGRAMS_MAX ||
        berth_scan_program(search->scan->cache, path, search->beside->env, &scan,
                           NULL) < 0)
        return;
    for (size_t i = 0; i < scan.objects.count; i++)
        if (scan.objects.items[i].library.family != BERTH_FAMILY_NONE)
            berth_scan_present(search->scan, scan.objects.items[i].soname,
                               scan.objects.items[i].path);
    berth_scan_fini(&scan);
}

static void use_child(struct search *search, const char *name, const char *path)
{
    (void)name;
    add_prefix(search, path);
}

/* Adds a file or a directory that a word or a script names. */
static void add_path(struct search *search, const char *path)
{
    struct stat st;

    if (search->named.count >= PATHS_MAX || berth_text_starts(path, "/dev/") ||
        berth_text_starts(path, "/proc/") || berth_text_starts(path, "/sys/") ||
        !is_new(&search->named, path))
        return;
    if (stat(path, &st) < 0)
        return;
    if (S_ISDIR(st.st_mode)) {
        add_prefix(search, path);
        each(search, path, use_library);
        return;
    }
    if (!S_ISREG(st.st_mode))
        return;
    use_library(search, berth_text_base(path), path);
    add_prefix_of(search, path);
    if (berth_run_is_program(path))
        add_program(search, path);
}

/* Adds the absolute paths in TEXT, a command or a script; ~ is HOME. */
static void add_text(struct search *search, const char *text)
{
    static const char ends[] = " \t\n;&|()<>'\"=:,`{}";
    const char *home = berth_environ_value(search->beside->env, "HOME");

    while (*text) {
        size_t length = strcspn(text, ends);
        BERTH_FREE char *path = NULL;

        if (length > 1 && *text == '/')
            path = strndup(text, length);
        else if (length > 2 && home && berth_text_starts(text, "~/") &&
                 asprintf(&path, "%s%.*s", home, (int)length - 1, text + 1) < 0)
            path = NULL;
        if (path)
            add_path(search, path);
        text += length;
        text += strspn(text, ends);
    }
}

static void add_script(struct search *search, const char *path)
{
    BERTH_BUF struct berth_buf text = {0};

    if (berth_fd_read_path(path, SCRIPT_MAX, &text) == 0 && text.text &&
        !memchr(text.text, '\0', text.used))
        add_text(search, text.text);
}

/* Adds the paths in WORDS. The first operands of a program may be scripts, whose text
 * counts, too. */
static void add_words(struct search *search, char *const *words)
{
    for (int i = 0; words[i]; i++) {
        add_text(search, words[i]);
        if (i > 0 && i < 3 && *words[i] != '-' && search->scan->bits)
            add_script(search, words[i]);
    }
}

static void add_mounts(struct search *search, const struct berth_strvec *mounts)
{
    for (size_t i = 0; i < mounts->count; i++) {
        const char *from = strchr(mounts->items[i], ':');
        BERTH_FREE char *path = from ? strndup(from + 1, strcspn(from + 1, ":")) : NULL;

        if (!path)
            continue;
        add_path(search, path);
        read_directory(search, path, CHILDREN_MAX, use_child);
    }
}

int berth_beside_add(const struct berth_beside *beside, struct berth_scan *scan,
                     struct berth_err *err)
{
    static const char *const variables[] = {"VIRTUAL_ENV", "CONDA_PREFIX", "HOME"};
    struct search search = {.beside = beside, .scan = scan};
    bool failed;

    add_prefix_of(&search, beside->program);
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *prefix = berth_environ_value(beside->env, variables[i]);

        if (prefix && *prefix == '/')
            add_prefix(&search, prefix);
    }
    for (size_t i = 0; i < scan->scripts.count; i++)
        add_script(&search, scan->scripts.items[i]);
    add_words(&search, beside->command);
    add_mounts(&search, beside->mounts);
    failed = search.seen.failed || search.named.failed;
    berth_strvec_fini(&search.seen);
    berth_strvec_fini(&search.named);
    return failed ? berth_err_oom(err) : 0;
}

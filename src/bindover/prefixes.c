/* SPDX-License-Identifier: Apache-2.0 */
/* Finds MPI libraries that no loader names and no inventory of the image has. Reads
 * only some dozen directories, since a home directory may be on a slow file system. */

#include "bindover/prefixes.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/environ.h"
#include "base/fd.h"
#include "base/resolve.h"
#include "base/run.h"
#include "base/text.h"
#include "mpi/filenames.h"

enum {
    CHILDREN_MAX = 16,  /* of a mount */
    PATHS_MAX = 64,     /* that arguments and scripts name */
    PROGRAMS_MAX = 4,   /* that are scanned */
    SCRIPT_MAX = 65536, /* bytes of a script */
};

struct search {
    const struct berth_beside *beside;
    struct berth_scan *scan;
    struct berth_strvec *seen; /* prefixes, directories and other paths */
    int left;                  /* paths that arguments and scripts may still name */
    int programs;              /* that were scanned */
};

static bool is_new(struct search *search, const char *path)
{
    if (berth_strvec_has(search->seen, path))
        return false;
    berth_strvec_push(search->seen, path);
    return true;
}

static void add_library(struct search *search, const char *path)
{
    if (berth_mpi_is_file_name(berth_text_base(path)))
        berth_scan_present(search->scan, NULL, path);
}

/* Adds the libraries in the directories PLACES (glob(7)) of DIRECTORY, each "" or with
 * a slash at its end. */
static void add_places(struct search *search, const char *directory, const char *places)
{
    BERTH_FREE char *real = berth_resolve(directory);
    BERTH_FREE char *pattern = NULL;
    BERTH_FREE char *both = NULL;
    glob_t found = {0};

    if (!real)
        return;
    if (asprintf(&pattern, "%s{lib,mca_pmix_}*.so*", places) < 0)
        return;
    if (asprintf(&both, "%s/%s", real, pattern) < 0 || !is_new(search, both))
        return;

    if (berth_scan_glob(real, pattern, &found))
        for (size_t i = 0; i < found.gl_pathc; i++)
            add_library(search, found.gl_pathv[i]);
    globfree(&found);
}

/* Those of a prefix, also of Python's wheels. */
static void add_prefix(struct search *search, const char *prefix)
{
    add_places(search, prefix, "{lib,lib64}{,/python3*/site-packages/*.libs}/");
}

/* Adds the prefix of the program or library FILE: /p of /p/bin/x. */
static void add_prefix_of(struct search *search, const char *file)
{
    const char *slash = strrchr(file, '/');
    BERTH_FREE char *prefix = NULL;

    if (slash && asprintf(&prefix, "%.*s/..", (int)(slash - file), file) >= 0)
        add_prefix(search, prefix);
}

/* Adds the program PATH itself, and the libraries that its loader finds. */
static void add_program(struct search *search, const char *path)
{
    BERTH_SCAN struct berth_scan scan = {0};

    if (search->programs == PROGRAMS_MAX)
        return;
    search->programs++;
    if (berth_scan_program(search->scan->cache, path, search->beside->env, &scan,
                           NULL) < 0)
        return;
    for (size_t i = 0; i < scan.objects.count; i++) {
        const struct berth_mpi_object *object = &scan.objects.items[i];

        if (object->library.family != BERTH_FAMILY_NONE)
            berth_scan_present(search->scan, object->soname, object->path);
    }
}

/* Adds a file or a directory that an argument or a script names. */
static void add_path(struct search *search, const char *path)
{
    static const char *const kernels[] = {"/dev/", "/proc/", "/sys/", NULL};
    struct stat st;

    if (search->left == 0 || berth_text_starts_any(path, kernels))
        return;
    if (!is_new(search, path))
        return;
    search->left--;
    if (stat(path, &st) < 0)
        return;
    if (S_ISDIR(st.st_mode)) {
        add_prefix(search, path);
        add_places(search, path, "");
        return;
    }
    if (!S_ISREG(st.st_mode))
        return;
    add_library(search, path);
    add_prefix_of(search, path);
    if (berth_run_is_program(path))
        add_program(search, path);
}

/* The absolute path that the LENGTH letters at WORD are, which the caller frees; NULL:
 * they are none. */
static char *path_of(const struct search *search, const char *word, size_t length)
{
    const char *home = berth_environ_value(search->beside->env, "HOME");
    char *path;

    if (*word == '/' && length > 1)
        return strndup(word, length);
    if (!home || !berth_text_starts(word, "~/"))
        return NULL;
    if (asprintf(&path, "%s%.*s", home, (int)length - 1, word + 1) < 0)
        return NULL;
    return path;
}

/* Adds the absolute paths in TEXT, a command or a script; ~ is HOME. */
static void add_text(struct search *search, const char *text)
{
    static const char ends[] = " \t\n;&|()<>'\"=:,`{}";

    text += strspn(text, ends);
    while (*text) {
        size_t length = strcspn(text, ends);
        BERTH_FREE char *path = path_of(search, text, length);

        if (path)
            add_path(search, path);
        text += length;
        text += strspn(text, ends);
    }
}

static void add_script(struct search *search, const char *path)
{
    BERTH_BUF struct berth_buf text = {0};

    bool is_text;

    if (berth_fd_read_path(path, SCRIPT_MAX, &text) < 0 || !text.text)
        return;
    is_text = !memchr(text.text, '\0', text.used);
    if (is_text)
        add_text(search, text.text);
}

/* Adds the paths in ARGUMENTS. The first operands of a program may be scripts, whose
 * text counts, too. */
static void add_arguments(struct search *search, char *const *arguments)
{
    bool is_elf = search->scan->bits != 0;

    for (int i = 0; arguments[i]; i++) {
        bool is_operand = (i == 1 || i == 2) && *arguments[i] != '-';

        add_text(search, arguments[i]);
        if (is_operand && is_elf)
            add_script(search, arguments[i]);
    }
}

/* Adds what is below a mount, and in the prefixes in it. */
static void add_mount(struct search *search, const char *path)
{
    BERTH_CLOSEDIR DIR *stream = opendir(path);

    add_path(search, path);
    for (int i = 0; stream && i < CHILDREN_MAX; i++) {
        struct dirent *entry = readdir(stream);
        BERTH_FREE char *prefix = NULL;

        if (!entry)
            return;
        if (*entry->d_name == '.')
            continue;
        if (asprintf(&prefix, "%s/%s", path, entry->d_name) >= 0)
            add_prefix(search, prefix);
    }
}

static void add_mounts(struct search *search, const struct berth_strvec *mounts)
{
    for (size_t i = 0; i < mounts->count; i++) {
        const char *from = strchr(mounts->items[i], ':');
        BERTH_FREE char *path = NULL;

        if (!from)
            continue;
        from++;
        path = strndup(from, strcspn(from, ":"));
        if (path)
            add_mount(search, path);
        else
            search->seen->failed = true;
    }
}

int berth_prefixes_linked(struct berth_scan *scan, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec seen = {0};
    struct search search = {.scan = scan, .seen = &seen};
    size_t loaded = scan->objects.count;

    for (size_t i = 0; i < loaded; i++) {
        const struct berth_mpi_object *object = &scan->objects.items[i];
        BERTH_FREE char *directory =
            strndup(object->path, (size_t)(strrchr(object->path, '/') - object->path));

        if (object->role != BERTH_ROLE_LOADED ||
            object->library.family == BERTH_FAMILY_NONE)
            continue;
        add_places(&search, directory, "{,openmpi/}");
    }
    return berth_err_oom_if(seen.failed, err);
}

int berth_prefixes_add(const struct berth_beside *beside, struct berth_scan *scan,
                       struct berth_err *err)
{
    static const char *const variables[] = {"VIRTUAL_ENV", "CONDA_PREFIX", "HOME"};
    BERTH_STRVEC struct berth_strvec seen = {0};
    struct search search = {
        .beside = beside, .scan = scan, .seen = &seen, .left = PATHS_MAX};

    add_prefix_of(&search, beside->program);
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *prefix = berth_environ_value(beside->env, variables[i]);

        if (prefix && *prefix == '/')
            add_prefix(&search, prefix);
    }
    for (size_t i = 0; i < scan->scripts.count; i++)
        add_script(&search, scan->scripts.items[i]);
    add_arguments(&search, beside->command);
    add_mounts(&search, beside->mounts);
    return berth_err_oom_if(seen.failed, err);
}

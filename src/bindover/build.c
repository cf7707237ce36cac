/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a stage: copies and patches the gathered files, and writes the manifest. */

#include "bindover/build.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/filelimit.h"
#include "elf/facts.h"
#include "bindover/manifest.h"
#include "base/run.h"
#include "base/text.h"
#include "ipc/loadmark.h"
#include "container/stageroot.h"
#include "base/tree.h"

/* How many files one patchelf gets, and how many seconds it may take. */
enum { BATCH = 128, PATCH_SECONDS = 120, PATCH_SAYS = 1 << 20 };

extern char **environ;

/* Does the errno NUMBER say that no more can be written? */
static bool is_full(int number)
{
    return number == ENOSPC || number == EDQUOT || number == EFBIG;
}

/* Refuses for the errno NUMBER. Names the root, since files in it have a temporary
 * name. */
static int refuse_room(const struct berth_build *b, int number)
{
    BERTH_FREE char *root = strndup(b->path, strrchr(b->path, '/') - b->path);
    uint64_t need = 0;

    for (size_t i = 0; i < b->gathered->count; i++)
        need += (uint64_t)b->gathered->files[i].st.st_size;
    if (!root)
        return berth_err_oom(b->err);
    errno = number;
    if (!is_full(number))
        return berth_err_file(b->err, root, "written");
    return berth_err_set(
        b->err,
        "'%s': no room for a copy of the host's MPI (%s); make %llu MB "
        "free, or have the administrators run 'berth profiles "
        "--prepare' on this node",
        root, strerror(number), (unsigned long long)(need >> 20) + 1);
}

int berth_build_refuse_change(const char *source, struct berth_err *err)
{
    return berth_err_set(err,
                         "'%s': changed while it was copied; submit the step again "
                         "when the host's MPI is installed",
                         source);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    bool is_one_file = a->st_ino == b->st_ino && a->st_dev == b->st_dev;
    bool is_as_old = a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
                     a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;

    return is_one_file && is_as_old && a->st_size == b->st_size;
}

static int copy_file(const struct berth_build *b,
                     const struct berth_gathered_file *file)
{
    BERTH_CLOSE int from = open(file->source, O_RDONLY | O_CLOEXEC);
    bool is_program = file->st.st_mode & 0111;
    struct stat st;

    if (from < 0)
        return berth_err_file(b->err, file->source, "read");
    if (berth_tree_parents(b->dir, file->file) < 0 ||
        berth_tree_copy(from, b->dir, file->file, is_program ? 0755 : 0644) < 0)
        return refuse_room(b, errno);
    /* patchelf would say less of one that is half written. */
    if (fstat(from, &st) < 0 || !is_same(&st, &file->st))
        return berth_build_refuse_change(file->source, b->err);
    return 0;
}

/* Copies the files, and makes the links. */
static int copy_all(const struct berth_build *b)
{
    const struct berth_strvec *links = &b->gathered->links;

    for (size_t i = 0; i < b->gathered->count; i++) {
        if (berth_build_is_late(b->end))
            return berth_err_set(
                b->err,
                "'%.*s': the host's MPI was not copied there in time (%zu of %zu "
                "files); submit the step again" BERTH_STAGE_SLOW,
                (int)(strrchr(b->path, '/') - b->path), b->path, i, b->gathered->count);
        if (copy_file(b, &b->gathered->files[i]) < 0)
            return -1;
    }
    for (size_t i = 0; i < links->count; i += 2)
        if (berth_tree_parents(b->dir, links->items[i]) < 0 ||
            symlinkat(links->items[i + 1], b->dir, links->items[i]) < 0)
            return refuse_room(b, errno);
    return 0;
}

/* Writes all of the new file FD (-1: errno has the cause), and closes it, because some
 * file systems report only then that they are full. */
static int write_whole(const struct berth_build *b, int fd, const void *bytes,
                       size_t size)
{
    if (fd < 0)
        return refuse_room(b, errno);
    if (berth_fd_write(fd, bytes, size) < 0) {
        int number = errno;

        close(fd);
        return refuse_room(b, number);
    }
    if (close(fd) < 0)
        return refuse_room(b, errno);
    return 0;
}

/* The library that marks a process, under the name by which it is needed. */
static const struct berth_gathered_file mark_library = {
    .source = (char *)"bindover/libmark.c", .file = (char *)"lib/" BERTH_MARK_LIBRARY};

/* Its bytes, as part of the program, so that no installation lacks it. */
static const unsigned char mark_bytes[] = {
#include "bindover/mark-bytes.h" /* made by the Makefile */
};

static int write_mark_library(const struct berth_build *b)
{
    int fd;

    if (berth_tree_parents(b->dir, mark_library.file) < 0)
        return refuse_room(b, errno);
    fd = openat(b->dir, mark_library.file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                0644);
    return write_whole(b, fd, mark_bytes, sizeof(mark_bytes));
}

/* Runs ARGV: patchelf, its options, files. */
static int patch_batch(const struct berth_build *b, struct berth_strvec *argv)
{
    struct berth_run run = {.argv = (const char *const *)argv->items,
                            .env = (const char *const *)environ,
                            .seconds = PATCH_SECONDS,
                            .most = PATCH_SAYS};
    BERTH_RAN struct berth_ran ran = {0};

    if (argv->failed)
        return berth_err_oom(b->err);
    if (berth_run(&run, &ran, b->err) < 0)
        return -1;
    if (ran.status == 0)
        return 0;
    return berth_err_set(b->err, "'%s': could not change the copies in '%s': %s",
                         run.argv[0], b->path, berth_ran_last_line(&ran));
}

/* Gives all copies that a loader maps the search path of the stage. */
static int patch_paths(const struct berth_build *b, const char *patchelf)
{
    size_t next = 0;

    while (next < b->gathered->count) {
        BERTH_STRVEC struct berth_strvec argv = {0};
        size_t options;

        berth_strvec_push(&argv, patchelf);
        berth_strvec_push(&argv, "--force-rpath");
        berth_strvec_push(&argv, "--set-rpath");
        berth_strvec_pushf(&argv, "%s/lib", b->mounted);
        options = argv.count;
        for (; next < b->gathered->count && argv.count < options + BATCH; next++)
            if (b->gathered->files[next].patched)
                berth_strvec_pushf(&argv, "%s/%s", b->path,
                                   b->gathered->files[next].file);
        if (argv.count > options && patch_batch(b, &argv) < 0)
            return -1;
    }
    return 0;
}

/* Adds needed libraries to the libraries of MPI. Every program with MPI loads the C
 * library, so this needs the library that marks the process, and the libraries of its
 * install that have functions which programs expect in it.
 *
 * Each library of MPI needs itself by the SONAMEs that other systems give it, which are
 * links beside it. The loader uses a loaded library for a needed name only if that is
 * the library's SONAME, or a name by which it was requested before (glibc
 * elf/dl-load.c, _dl_map_object). When the loader follows these links, it finds the
 * same file, and the library has all the names from then on. */
static int patch_needs(const struct berth_build *b, const char *patchelf)
{
    static const char add[] = "--add-needed";

    for (size_t i = 0; i < b->gathered->count; i++) {
        const struct berth_gathered_file *it = &b->gathered->files[i];
        BERTH_STRVEC struct berth_strvec argv = {0};

        if (!it->patched || !it->mpi)
            continue;
        berth_strvec_push(&argv, patchelf);
        if (it->mpi->parts & BERTH_PART_C)
            berth_strvec_push_pair(&argv, add, BERTH_MARK_LIBRARY);
        for (size_t j = 0; j < it->needs.count; j++)
            berth_strvec_push_pair(&argv, add, it->needs.items[j]);
        if (argv.count == 1)
            continue;
        berth_strvec_pushf(&argv, "%s/%s", b->path, it->file);
        if (patch_batch(b, &argv) < 0)
            return -1;
    }
    return 0;
}

static int patch_all(const struct berth_build *b)
{
    BERTH_FREE char *patchelf = berth_run_find("patchelf", getenv("PATH"));

    if (!patchelf)
        return berth_err_set(
            b->err, "patchelf: not installed on this node, and copies of the host's "
                    "libraries need it; ask the administrators to install the "
                    "package patchelf");
    if (patch_needs(b, patchelf) < 0)
        return -1;
    return patch_paths(b, patchelf);
}

/* Adds a copy to the manifest. */
static int put_file(const struct berth_build *b, const struct berth_gathered_file *file,
                    struct berth_manifest *manifest)
{
    BERTH_CLOSE int fd = openat(b->dir, file->file, O_RDONLY | O_CLOEXEC);
    BERTH_ELF struct berth_elf elf = {0};
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return refuse_room(b, errno);
    if (berth_elf_read(fd, &berth_elf_no_symbols, &elf, b->err) < 0)
        return berth_err_at(b->err, "'%s'", file->source);
    berth_strvec_push_pair(&manifest->files, file->file, elf.soname ? elf.soname : "");
    berth_strvec_pushf(&manifest->files, "%lld", (long long)st.st_size);
    return 0;
}

/* Appends FILE of a stage at MOUNTED to RET without its ending, if it is in the
 * directory of SETTING and has that ending. */
static void add_each(const char *file, const struct berth_setting *setting,
                     const char *mounted, struct berth_strvec *ret)
{
    const char *end = strstr(file, setting->each);

    if (!end || !berth_text_starts(file, setting->path))
        return;
    if (file[strlen(setting->path)] == '/')
        berth_strvec_pushf(ret, "%s/%.*s", mounted, (int)(end - file), file);
}

/* Appends the files and links in the directory of SETTING, without their ending and
 * with colons between. */
static void join_each(const struct berth_gathered *gathered,
                      const struct berth_setting *setting, const char *mounted,
                      struct berth_buf *ret)
{
    BERTH_STRVEC struct berth_strvec files = {0};

    for (size_t i = 0; i < gathered->count; i++)
        add_each(gathered->files[i].file, setting, mounted, &files);
    for (size_t i = 0; i < gathered->links.count; i += 2)
        add_each(gathered->links.items[i], setting, mounted, &files);
    berth_strvec_join(&files, ":", ret);
}

static bool has_library(const struct berth_gathered *gathered, const char *library_name)
{
    for (size_t i = 0; i < gathered->count; i++)
        if (gathered->files[i].patched &&
            berth_profile_is(berth_text_base(gathered->files[i].file), library_name))
            return true;
    return false;
}

/* Appends VARIABLE, with MOUNTED for each $STAGE. */
static void push_expanded(const char *variable, const char *mounted,
                          struct berth_strvec *ret)
{
    static const char stage[] = "$STAGE";
    BERTH_BUF struct berth_buf text = {0};
    const char *at = strstr(variable, stage);

    while (at) {
        berth_buf_add(&text, variable, (size_t)(at - variable));
        berth_buf_puts(&text, mounted);
        variable = at + strlen(stage);
        at = strstr(variable, stage);
    }
    berth_buf_puts(&text, variable);
    if (text.failed)
        ret->failed = true;
    else
        berth_strvec_push(ret, text.text);
}

/* Appends NAME=VALUE for SETTING, if it has a value in a stage at MOUNTED. */
static void push_setting(const struct berth_gathered *gathered,
                         const struct berth_setting *setting, const char *mounted,
                         struct berth_strvec *ret)
{
    BERTH_BUF struct berth_buf value = {0};

    if (setting->each) {
        join_each(gathered, setting, mounted, &value);
    } else {
        berth_buf_puts(&value, mounted);
        berth_buf_part(&value, "/", setting->path, "");
    }
    if (value.failed)
        ret->failed = true;
    else if (value.text)
        berth_strvec_pushf(ret, "%s=%s", setting->variable, value.text);
}

/* Appends to RET the NAME=VALUE of each variable that the files GATHERED of STACK need
 * in a stage at MOUNTED in the container. */
static void list_variables(const struct berth_gathered *gathered,
                           const struct berth_stack *stack, const char *mounted,
                           struct berth_strvec *ret)
{
    if (stack->profile->root)
        berth_strvec_pushf(ret, "%s=%s", stack->profile->root, mounted);
    for (const struct berth_setting *it = berth_settings; it->library; it++)
        if (has_library(gathered, it->library))
            push_setting(gathered, it, mounted, ret);
    for (const char *const *it = stack->profile->environment; it && *it; it++)
        push_expanded(*it, mounted, ret);
}

static int fill_manifest(const struct berth_build *b, struct berth_manifest *manifest)
{
    manifest->profile = strdup(berth_profile_label(b->stack->profile));
    manifest->version = strdup(b->stack->version);
    manifest->from = strdup(b->stack->libraries[0].path);
    manifest->mounted = strdup(b->mounted);
    if (!manifest->profile || !manifest->version || !manifest->from ||
        !manifest->mounted)
        return berth_err_oom(b->err);
    for (size_t i = 0; i < b->gathered->count; i++)
        if (put_file(b, &b->gathered->files[i], manifest) < 0)
            return -1;
    if (put_file(b, &mark_library, manifest) < 0)
        return -1;
    for (size_t i = 0; i < b->gathered->count; i++)
        berth_manifest_add_source(&manifest->sources, b->gathered->files[i].source,
                                  &b->gathered->files[i].st);
    berth_strvec_append(&manifest->sources, &b->gathered->seen);
    berth_strvec_append(&manifest->links, &b->gathered->links);
    list_variables(b->gathered, b->stack, b->mounted, &manifest->set);
    return 0;
}

/* Writes the manifest, the last file: a directory without it is not a stage. */
static int write_manifest(const struct berth_build *b,
                          const struct berth_manifest *manifest)
{
    BERTH_BUF struct berth_buf text = {0};
    int fd;

    berth_manifest_write(manifest, &text);
    if (text.failed)
        return berth_err_oom(b->err);
    fd = openat(b->dir, "manifest", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    return write_whole(b, fd, text.text, text.used);
}

static int make(const struct berth_build *b)
{
    struct berth_manifest manifest = {0};
    int result;

    if (copy_all(b) < 0 || write_mark_library(b) < 0 || patch_all(b) < 0)
        return -1;
    result = fill_manifest(b, &manifest);
    if (result == 0)
        result = write_manifest(b, &manifest);
    berth_manifest_fini(&manifest);
    return result;
}

int berth_build(const struct berth_build *build)
{
    BERTH_FILELIMIT struct berth_filelimit limit = berth_filelimit_ignore();

    return make(build);
}

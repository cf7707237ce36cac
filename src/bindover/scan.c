/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what a program in an image would load, and which MPI libraries the image has.
 * Judges nothing. */

#include "bindover/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/resolve.h"
#include "base/text.h"
#include "mpi/names.h"
#include "bindover/inventory.h"
#include "bindover/loader.h"
#include "base/run.h"

/* Interpreters of interpreters: Linux follows five (fs/exec.c). */
enum { SCRIPTS_MAX = 5 };

int berth_scan_elf(struct berth_factcache *cache, const char *path,
                   struct berth_elf *ret_elf, struct berth_err *err)
{
    BERTH_BUF struct berth_buf key = {0};
    BERTH_BUF struct berth_buf bytes = {0};
    const char *fact;
    size_t count;

    if (!cache)
        return berth_elf_read_path(path, &berth_mpi_question, ret_elf, err);
    berth_buf_puts(&key, "file\n");
    berth_factcache_identify(path, &key);
    if (key.failed)
        return berth_err_oom(err);
    fact = berth_factcache_get(cache, key.text, &count);
    if (fact && berth_elf_get(fact, count, ret_elf) == 0)
        return 0;
    if (berth_elf_read_path(path, &berth_mpi_question, ret_elf, err) < 0)
        return -1;
    berth_elf_put(ret_elf, &bytes);
    berth_factcache_put(cache, key.text, &bytes);
    return 0;
}

int berth_scan_add(struct berth_factcache *cache, struct berth_mpi_objects *objects,
                   enum berth_mpi_role role, const char *soname, const char *path,
                   struct berth_err *err)
{
    BERTH_FREE char *real = berth_resolve(path);
    struct berth_elf elf;

    if (!real)
        return berth_err_file(err, path, "read");
    if (berth_scan_elf(cache, real, &elf, err) < 0)
        return -1;
    return berth_mpi_objects_add(objects, role, soname, real, &elf, err);
}

/* Finds the runner: the program, or the interpreter that finally runs it. */
static int read_runner(const char *program, struct berth_scan *scan,
                       struct berth_err *err)
{
    BERTH_FREE char *path = strdup(program);

    if (!path)
        return berth_err_oom(err);
    for (int i = 0; i < SCRIPTS_MAX; i++) {
        BERTH_ELF struct berth_elf elf = {0};
        char *interpreter;

        if (berth_scan_elf(scan->cache, path, &elf, err) < 0)
            return -1;
        interpreter = berth_steal(&elf.interpreter);
        scan->is_script = elf.kind == BERTH_ELF_SCRIPT;
        free(scan->machine);
        scan->machine = berth_steal(&elf.machine);
        scan->bits = elf.bits;
        if (!scan->is_script || !interpreter) {
            scan->loader = interpreter;
            scan->runner = berth_steal(&path);
            scan->is_script = i > 0;
            return 0;
        }
        berth_strvec_push(&scan->scripts, path);
        free(path);
        path = interpreter;
        if (!berth_run_is_program(path))
            return 0;
    }
    errno = ELOOP;
    return berth_err_file(err, program, "started");
}

static int read_closure(struct berth_scan *scan, char *const *env,
                        struct berth_err *err)
{
    if (!scan->loader)
        return 0;
    if (berth_loader_list(scan->cache, scan->loader, scan->runner, env, &scan->closure,
                          err) < 0)
        return -1;
    for (size_t i = 0; i < scan->closure.count; i++) {
        const struct berth_closure_item *item = &scan->closure.items[i];

        if (!item->path) /* missing, which is not an error here */
            continue;
        if (berth_scan_add(scan->cache, &scan->objects, BERTH_ROLE_LOADED, item->soname,
                           item->path, err) < 0)
            return -1;
    }
    return 0;
}

static bool is_musl(const struct berth_elf *elf)
{
    return berth_strvec_has_start(&elf->needed, "libc.musl-");
}

/* Is the loader of the runner musl's? */
static bool has_musl(const struct berth_scan *scan)
{
    return scan->loader && berth_text_starts(berth_text_base(scan->loader), "ld-musl");
}

/* Is ELF for the machine of the runner, as far as that is known of both? */
static bool is_of_machine(const struct berth_scan *scan, const struct berth_elf *elf)
{
    if (!elf->machine || !scan->machine)
        return true;
    return strcmp(elf->machine, scan->machine) == 0;
}

/* Can the runner, or a program that it starts, load the library? An image may also have
 * libraries for another machine, of 32 bits, or for another C library. Without a runner
 * they are listed, too. */
static bool is_loadable(const struct berth_scan *scan, const struct berth_elf *elf)
{
    if (!scan->runner)
        return true;
    return elf->bits == scan->bits && is_of_machine(scan, elf) &&
           (!is_musl(elf) || has_musl(scan));
}

/* A damaged file is ignored: it harms only a program that uses it. */
void berth_scan_present(struct berth_scan *scan, const char *soname, const char *path)
{
    BERTH_FREE char *real = berth_resolve(path);
    struct berth_elf elf;

    if (!real || berth_mpi_objects_at(&scan->objects, real))
        return;
    if (berth_scan_elf(scan->cache, real, &elf, NULL) < 0)
        return;
    if (is_loadable(scan, &elf))
        berth_mpi_objects_add(&scan->objects, BERTH_ROLE_PRESENT, soname, real, &elf,
                              NULL);
    else
        berth_elf_fini(&elf);
}

int berth_scan_image(struct berth_scan *scan, char *const *env, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec directories = {0};
    BERTH_STRVEC struct berth_strvec found = {0};

    berth_inventory_usual(berth_environ_value(env, "LD_LIBRARY_PATH"), &directories);
    if (directories.failed)
        return berth_err_oom(err);
    if (berth_inventory_read(&directories, &found, &scan->is_cut, err) < 0)
        return -1;
    for (size_t i = 0; i < found.count; i++)
        berth_scan_present(scan, NULL, found.items[i]);
    return 0;
}

static int read_program(const char *program, char *const *env, struct berth_scan *scan,
                        struct berth_err *err)
{
    if (read_runner(program, scan, err) < 0)
        return -1;
    if (!scan->runner)
        return 0;
    if (berth_scan_add(scan->cache, &scan->objects, BERTH_ROLE_PROGRAM, NULL, program,
                       err) < 0)
        return -1;
    return read_closure(scan, env, err);
}

int berth_scan_program(struct berth_factcache *cache, const char *program,
                       char *const *env, struct berth_scan *ret_scan,
                       struct berth_err *err)
{
    struct berth_scan scan = {.cache = cache};

    if (read_program(program, env, &scan, err) < 0) {
        berth_scan_fini(&scan);
        return -1;
    }
    *ret_scan = scan;
    return 0;
}

int berth_scan_names(struct berth_scan *scan, const char *const *names,
                     char *const *env, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec paths = {0};

    if (!scan->loader)
        return 0;
    if (berth_loader_find(scan->cache, scan->loader, scan->runner, names, env, &paths,
                          err) < 0)
        return -1;
    for (size_t i = 0; i < paths.count; i++)
        berth_scan_present(scan, berth_text_base(paths.items[i]), paths.items[i]);
    return 0;
}

void berth_scan_fini(struct berth_scan *scan)
{
    free(scan->runner);
    free(scan->loader);
    free(scan->machine);
    berth_strvec_fini(&scan->scripts);
    berth_closure_fini(&scan->closure);
    berth_mpi_objects_fini(&scan->objects);
    *scan = (struct berth_scan){0};
}

bool berth_scan_glob(const char *directory, const char *pattern, glob_t *ret)
{
    BERTH_BUF struct berth_buf text = {0};

    /* What is special in a pattern is a plain letter of the path. */
    for (; *directory; directory++) {
        if (strchr("\\*?[{", *directory))
            berth_buf_puts(&text, "\\");
        berth_buf_add(&text, directory, 1);
    }
    berth_buf_addf(&text, "/%s", pattern);
    if (text.failed)
        return false;
    return glob(text.text, GLOB_BRACE, NULL, ret) == 0;
}

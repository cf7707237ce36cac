/* SPDX-License-Identifier: Apache-2.0 */
/* Asks a dynamic linker which files it would map. */

#include "bindover/loader.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/hash.h"
#include "base/installed.h"
#include "base/resolve.h"
#include "base/text.h"
#include "elf/facts.h"
#include "base/run.h"

/* Bounds; an answer takes some milliseconds and has some kilobytes. */
enum { SECONDS = 20, MOST = 4 << 20 };

/* Is LOADER musl's, by its name? glibc's lists all that is missing only if a variable
 * asks for it, and musl's lists libraries only if an argument asks. */
static bool is_musl(const char *loader)
{
    return berth_text_starts(berth_text_base(loader), "ld-musl");
}

/* Variables of the loader that it gets: to list what a program maps when it runs, and
 * to find libraries. */
static const char *const as_it_runs[] = {
    "LD_LIBRARY_PATH=", "LD_PRELOAD=", "LD_AUDIT=", "LD_WARN=", "LD_BIND_NOW=", NULL};
static const char *const to_find[] = {"LD_LIBRARY_PATH=", NULL};

/* Copies ENV for LOADER, with the variable that makes glibc's list and not run the
 * file, and of the loader's other variables only NAMES. */
static void copy_env(const char *loader, char *const *env, const char *const *names,
                     struct berth_strvec *ret)
{
    if (!is_musl(loader))
        berth_strvec_push(ret, "LD_TRACE_LOADED_OBJECTS=1");
    for (; *env; env++)
        if (!berth_text_starts(*env, "LD_") || berth_text_starts_any(*env, names))
            berth_strvec_push(ret, *env);
}

/* Starts LOADER on FILE in ENV, and appends its output to RET. */
static int start(const char *loader, const char *file, const struct berth_strvec *env,
                 struct berth_buf *ret, struct berth_err *err)
{
    const char *const plain[] = {loader, file, NULL};
    const char *const list[] = {loader, "--list", file, NULL};
    struct berth_run run = {.argv = plain,
                            .env = (const char *const *)env->items,
                            .seconds = SECONDS,
                            .most = MOST};
    BERTH_RAN struct berth_ran ran = {0};

    if (env->failed)
        return berth_err_oom(err);
    if (is_musl(loader))
        run.argv = list;
    if (berth_run(&run, &ran, err) < 0)
        return -1;
    if (ran.out.failed || ran.err.failed)
        return berth_err_oom(err);

    if (ran.out.text)
        berth_buf_add(ret, ran.out.text, ran.out.used);
    berth_buf_puts(ret, "\n");
    if (ran.err.text)
        berth_buf_add(ret, ran.err.text, ran.err.used);
    if (ret->failed)
        return berth_err_oom(err);
    return 0;
}

/* Appends to KEY the path, which decides where a loader searches, and the identity of
 * the file. */
static void identify(const char *path, struct berth_buf *key)
{
    BERTH_FREE char *real = berth_resolve(path);

    berth_buf_puts(key, path);
    berth_buf_puts(key, "\n");
    berth_factcache_identify(real ? real : path, key);
}

/* Appends to KEY the VARIABLE of the loader, and the identities of the directories that
 * it searches. */
static void write_variable(const char *variable, struct berth_buf *key)
{
    static const char path[] = "LD_LIBRARY_PATH=";
    BERTH_FREE char *copy = NULL;
    char *next;

    berth_buf_addf(key, "%s\n", variable);
    if (!berth_text_starts(variable, path))
        return;
    copy = strdup(variable + strlen(path));
    if (!copy)
        key->failed = true;
    next = copy;
    while (next)
        identify(strsep(&next, ":"), key);
}

/* Writes the key of an answer: all on which it depends but the files that it names. */
static void write_key(const char *loader, const char *file,
                      const struct berth_strvec *env, struct berth_buf *key)
{
    berth_buf_puts(key, "loader\n");
    identify(loader, key);
    identify(file, key);
    identify("/etc/ld.so.cache", key);
    for (size_t i = 0; i < env->count; i++)
        if (berth_text_starts(env->items[i], "LD_"))
            write_variable(env->items[i], key);
}

/* A hash of the files that an answer names, and of their directories, in which files
 * could appear that the loader prefers. */
static uint64_t identify_answer(const struct berth_closure *closure)
{
    BERTH_STRVEC struct berth_strvec directories = {0};
    BERTH_BUF struct berth_buf text = {0};

    for (size_t i = 0; i < closure->count; i++) {
        const char *path = closure->items[i].path;
        BERTH_FREE char *directory = NULL;

        if (!path)
            continue;
        directory = strndup(path, (size_t)(berth_text_base(path) - path));
        if (directory && !berth_strvec_has(&directories, directory)) {
            berth_strvec_push(&directories, directory);
            identify(directory, &text);
        }
        identify(path, &text);
    }
    return berth_hash(BERTH_HASH_START, text.text, text.used);
}

/* Reads the answer under KEY. Returns whether it is stored and its files are unchanged.
 */
static bool recall(struct berth_factcache *cache, const char *key,
                   struct berth_closure *ret_closure)
{
    size_t count;
    const char *fact = berth_factcache_get(cache, key, &count);
    uint64_t number;

    if (!fact || count < sizeof(number))
        return false;
    if (berth_closure_parse(fact + sizeof(number), count - sizeof(number), ret_closure,
                            NULL) < 0)
        return false;
    memcpy(&number, fact, sizeof(number));
    if (number == identify_answer(ret_closure))
        return true;
    berth_closure_fini(ret_closure);
    return false;
}

static void remember(struct berth_factcache *cache, const char *key,
                     const struct berth_closure *closure, const struct berth_buf *text)
{
    BERTH_BUF struct berth_buf fact = {0};
    uint64_t number = identify_answer(closure);

    berth_buf_add(&fact, (const char *)&number, sizeof(number));
    berth_buf_add(&fact, text->text, text->used);
    berth_factcache_put(cache, key, &fact);
}

/* Can the answer be stored? Not one that is empty or lacks a library, since the library
 * may appear in a directory that the key does not name. */
static bool is_whole(const struct berth_closure *closure)
{
    for (size_t i = 0; i < closure->count; i++)
        if (!closure->items[i].path)
            return false;
    return closure->count > 0;
}

/* Asks LOADER about FILE in ENV, or the cache. */
static int ask(struct berth_factcache *cache, const char *loader, const char *file,
               const struct berth_strvec *env, struct berth_closure *ret_closure,
               struct berth_err *err)
{
    BERTH_BUF struct berth_buf key = {0};
    BERTH_BUF struct berth_buf text = {0};

    if (cache)
        write_key(loader, file, env, &key);
    if (key.failed)
        return berth_err_oom(err);
    if (cache && recall(cache, key.text, ret_closure))
        return 0;
    if (start(loader, file, env, &text, err) < 0)
        return -1;
    if (berth_closure_parse(text.text, text.used, ret_closure, err) < 0)
        return berth_err_at(err, "'%s'", file);
    if (cache && is_whole(ret_closure))
        remember(cache, key.text, ret_closure, &text);
    return 0;
}

int berth_loader_list(struct berth_factcache *cache, const char *loader,
                      const char *file, char *const *env,
                      struct berth_closure *ret_closure, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec copy = {0};
    struct berth_closure closure;

    copy_env(loader, env, as_it_runs, &copy);
    if (ask(cache, loader, file, &copy, &closure, err) < 0)
        return -1;
    if (closure.count == 0 && !closure.is_static) {
        const char *reason = "it says nothing";

        if (closure.said.count)
            reason = closure.said.items[0];
        berth_err_set(err, "'%s': %s cannot load it: %s; is it built for this machine?",
                      file, loader, reason);
        berth_closure_fini(&closure);
        return -1;
    }
    *ret_closure = closure;
    return 0;
}

int berth_loader_relocate(const char *loader, const char *file, char *const *env,
                          struct berth_closure *ret_closure, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec all = {0};

    berth_strvec_push(&all, "LD_WARN=yes");
    berth_strvec_push(&all, "LD_BIND_NOW=yes");
    for (; *env; env++)
        berth_strvec_push(&all, *env);
    if (all.failed)
        return berth_err_oom(err);
    return berth_loader_list(NULL, loader, file, all.items, ret_closure, err);
}

/* Is the directory of FILE one of LIST, which is separated by colons? */
static bool is_in_list(const char *file, const char *list)
{
    size_t length = (size_t)(strrchr(file, '/') - file);

    for (;;) {
        size_t entry = strcspn(list, ":");
        size_t slashes = entry;

        while (slashes > length && list[slashes - 1] == '/')
            slashes--;
        if (slashes == length && strncmp(list, file, length) == 0)
            return true;
        if (!list[entry])
            return false;
        list += entry + 1;
    }
}

/* Does a file of CLOSURE lack what only the loader of the same glibc has? */
static bool lacks_private(const struct berth_closure *closure)
{
    for (size_t i = 0; i < closure->undefined.count; i += 2)
        if (strstr(closure->undefined.items[i], "GLIBC_PRIVATE"))
            return true;
    return false;
}

int berth_loader_check_c_library(const char *loader, const char *file, char *const *env,
                                 const struct berth_closure *closure,
                                 struct berth_err *err)
{
    const struct berth_closure_item *item = berth_closure_find(closure, "libc.so.6");
    const char *list = berth_environ_value(env, "LD_LIBRARY_PATH");
    BERTH_CLOSURE struct berth_closure relocated = {0};

    if (!list || !item || !item->path)
        return 0;
    if (!strchr(item->path, '/') || !is_in_list(item->path, list))
        return 0;

    if (berth_loader_relocate(loader, file, env, &relocated, err) < 0)
        return -1;
    if (!lacks_private(&relocated))
        return 0;
    return berth_err_set(
        err,
        "LD_LIBRARY_PATH puts '%s' before the C library of the image, whose "
        "loader cannot use it; unset APPTAINERENV_LD_LIBRARY_PATH, or take "
        "that directory out of it",
        item->path);
}

int berth_loader_find(struct berth_factcache *cache, const char *loader,
                      const char *program, const char *const *names, char *const *env,
                      struct berth_strvec *ret, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec list = {0};
    BERTH_STRVEC struct berth_strvec copy = {0};
    BERTH_BUF struct berth_buf preload = {0};
    BERTH_CLOSURE struct berth_closure closure = {0};

    for (size_t i = 0; names[i]; i++)
        berth_strvec_push(&list, names[i]);
    berth_buf_puts(&preload, "LD_PRELOAD=");
    berth_strvec_join(&list, ":", &preload);
    if (preload.failed)
        return berth_err_oom(err);
    berth_strvec_push(&copy, preload.text);
    copy_env(loader, env, to_find, &copy);
    if (ask(cache, loader, program, &copy, &closure, err) < 0)
        return -1;
    for (size_t i = 0; i < closure.count; i++)
        if (closure.items[i].path && berth_text_is_any(closure.items[i].soname, names))
            berth_strvec_push(ret, closure.items[i].path);
    if (ret->failed)
        return berth_err_oom(err);
    return 0;
}

int berth_loader_self(char **ret_loader, char **ret_program, struct berth_err *err)
{
    const char *self = berth_installed_self();
    BERTH_FREE char *program = NULL;
    BERTH_ELF struct berth_elf elf = {0};

    if (!self)
        return berth_err_file(err, "/proc/self/exe", "read");
    program = strdup(self);
    if (!program)
        return berth_err_oom(err);
    if (berth_elf_read_path(program, &berth_elf_no_symbols, &elf, err) < 0)
        return -1;
    if (!elf.interpreter) {
        errno = ENOEXEC;
        return berth_err_file(err, program, "read");
    }
    *ret_loader = berth_steal(&elf.interpreter);
    *ret_program = berth_steal(&program);
    return 0;
}

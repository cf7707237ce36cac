/* SPDX-License-Identifier: Apache-2.0 */
/* Asks a dynamic linker which files it would map. */

#include "stage/loader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "elf/facts.h"
#include "base/run.h"

/* Bounds on what is a few milliseconds and some kilobytes. */
enum { SECONDS = 20, MOST = 4 << 20 };

/* By name: glibc tells all that is missing only when it is asked by the environment,
 * and musl only when it is asked by an argument. */
static bool is_musl(const char *loader)
{
    return berth_text_starts(berth_text_base(loader), "ld-musl");
}

/* Variables of the loader that decide which files it maps: of a program that is asked
 * about as it will run, and of one that is only to find libraries. */
static const char *const as_it_runs[] = {
    "LD_LIBRARY_PATH=", "LD_PRELOAD=", "LD_AUDIT=", NULL};
static const char *const to_find[] = {"LD_LIBRARY_PATH=", NULL};

/* ENV for LOADER: with what makes glibc's tell and not run, and without what would make
 * it do anything else. Of its own variables it gets NAMES. */
static void copy_env(const char *loader, char *const *env, const char *const *names,
                     struct berth_strvec *ret)
{
    if (!is_musl(loader))
        berth_strvec_push(ret, "LD_TRACE_LOADED_OBJECTS=1");
    for (; *env; env++)
        if (!berth_text_starts(*env, "LD_") || berth_text_starts_any(*env, names))
            berth_strvec_push(ret, *env);
}

/* Start LOADER on FILE in ENV, and read what it says. */
static int ask(const char *loader, const char *file, const struct berth_strvec *env,
               struct berth_closure *ret_closure, struct berth_err *err)
{
    const char *const plain[] = {loader, file, NULL};
    const char *const list[] = {loader, "--list", file, NULL};
    struct berth_run run = {.argv = is_musl(loader) ? list : plain,
                            .env = (const char *const *)env->items,
                            .seconds = SECONDS,
                            .most = MOST};
    struct berth_ran ran;
    int result;

    if (env->failed)
        return berth_err_oom(err);
    if (berth_run(&run, &ran, err) < 0)
        return -1;
    berth_buf_puts(&ran.out, "\n");
    berth_buf_add(&ran.out, ran.err.text ? ran.err.text : "", ran.err.used);
    result = ran.out.failed
                 ? berth_err_oom(err)
                 : berth_closure_parse(ran.out.text, ran.out.used, ret_closure, err);
    berth_ran_fini(&ran);
    return result < 0 ? berth_err_at(err, "'%s'", file) : 0;
}

int berth_loader_list(const char *loader, const char *file, char *const *env,
                      struct berth_closure *ret_closure, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec copy = {0};
    struct berth_closure closure;

    copy_env(loader, env, as_it_runs, &copy);
    if (ask(loader, file, &copy, &closure, err) < 0)
        return -1;
    if (closure.count == 0 && !closure.is_static) {
        berth_err_set(err, "'%s': %s cannot load it: %s; is it built for this machine?",
                      file, loader,
                      closure.said.count ? closure.said.items[0] : "it says nothing");
        berth_closure_fini(&closure);
        return -1;
    }
    *ret_closure = closure;
    return 0;
}

/* One of the names that were asked for, and not what those need? */
static bool is_asked(const char *soname, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(soname, *names) == 0)
            return true;
    return false;
}

int berth_loader_find(const char *loader, const char *program, const char *const *names,
                      char *const *env, struct berth_strvec *ret, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec copy = {0};
    BERTH_BUF struct berth_buf preload = {0};
    struct berth_closure closure;

    berth_buf_puts(&preload, "LD_PRELOAD=");
    for (size_t i = 0; names[i]; i++) {
        berth_buf_puts(&preload, i > 0 ? ":" : "");
        berth_buf_puts(&preload, names[i]);
    }
    if (preload.failed)
        return berth_err_oom(err);
    berth_strvec_push(&copy, preload.text);
    copy_env(loader, env, to_find, &copy);
    if (ask(loader, program, &copy, &closure, err) < 0)
        return -1;
    for (size_t i = 0; i < closure.count; i++)
        if (closure.items[i].path && is_asked(closure.items[i].soname, names))
            berth_strvec_push(ret, closure.items[i].path);
    berth_closure_fini(&closure);
    return ret->failed ? berth_err_oom(err) : 0;
}

static bool no_symbol(const char *name)
{
    (void)name;
    return false;
}

int berth_loader_self(char **ret_loader, char **ret_program, struct berth_err *err)
{
    static const struct berth_elf_question question = {.symbol = no_symbol};
    BERTH_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    BERTH_FREE char *program = realpath("/proc/self/exe", NULL);
    struct berth_elf elf;

    if (fd < 0 || !program)
        return berth_err_set(err, "'/proc/self/exe': %s; is /proc mounted?",
                             strerror(errno));
    if (berth_elf_read(fd, &question, &elf, err) < 0)
        return -1;
    if (!elf.interpreter) {
        berth_elf_fini(&elf);
        return berth_err_set(err, "'%s': has no loader", program);
    }
    *ret_loader = berth_steal(&elf.interpreter);
    *ret_program = berth_steal(&program);
    berth_elf_fini(&elf);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The loader of this host is asked about libraries that are compiled here. */

#include "bindover/loader.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "unit.h"

static char *loader, *program;

/* libtop.so.1 needs libbase.so.1, which a RUNPATH finds; libalone.so.1 needs one that
 * is nowhere. No test changes them. */
static void setup(void)
{
    struct berth_err err;
    BERTH_FREE char *gone = NULL;

    gone = unit_path(unit_dir, "libgone.so");
    ck_assert_int_eq(berth_loader_self(&loader, &program, &err), 0);
    unit_compile(unit_dir, "int base(void) { return 1; }",
                 "-shared -fPIC -Wl,-soname,libbase.so.1 -o libbase.so.1");
    unit_compile(unit_dir, "int base(void); int top(void) { return base(); }",
                 "-shared -fPIC -Wl,-soname,libtop.so.1 -Wl,--enable-new-dtags "
                 "-Wl,-rpath,'%s' -L. -l:libbase.so.1 -o libtop.so.1",
                 unit_dir);
    unit_compile(unit_dir, "int gone(void) { return 1; }",
                 "-shared -fPIC -Wl,-soname,libgone.so.1 -o libgone.so");
    unit_compile(unit_dir, "int gone(void); int alone(void) { return gone(); }",
                 "-shared -fPIC -Wl,-soname,libalone.so.1 -L. -l:libgone.so "
                 "-o libalone.so.1");
    ck_assert_int_eq(unlink(gone), 0);
}

static void teardown(void)
{
    free(loader);
    free(program);
}

static char *const bare[] = {(char *)"PATH=/usr/bin:/bin", NULL};

static const struct {
    const char *file;    /* NULL: this program */
    const char *preload; /* as it will be when the program runs; NULL: none */
    const char *soname;
    const char *found; /* NULL: it is missing, which is an answer */
} listed[] = {
    {"libtop.so.1", NULL, "libbase.so.1", "libbase.so.1"},
    {"libalone.so.1", NULL, "libgone.so.1", NULL},
    {NULL, "libbase.so.1", "libbase.so.1", "libbase.so.1"},
};

TEST_ROWS(what_a_file_needs_is_listed, listed)
{
    BERTH_FREE char *file =
        listed[_i].file ? unit_path(unit_dir, listed[_i].file) : strdup(program);
    BERTH_FREE char *found =
        listed[_i].found ? unit_path(unit_dir, listed[_i].found) : NULL;
    char preload[300];
    char *const env[] = {preload, NULL};
    const struct berth_closure_item *item;
    struct berth_closure closure;
    struct berth_err err;

    snprintf(preload, sizeof(preload), "LD_PRELOAD=%s/%s", unit_dir,
             listed[_i].preload);
    ck_assert_int_eq(berth_loader_list(NULL, loader, file,
                                       listed[_i].preload ? env : bare, &closure, &err),
                     0);
    item = berth_closure_find(&closure, listed[_i].soname);
    ck_assert_ptr_nonnull(item);
    ck_assert_pstr_eq(item->path, found);
    berth_closure_fini(&closure);
}

/* A program that would make a file, under variables that would let it run. */
TEST(nothing_runs)
{
    BERTH_FREE char *mark = unit_path(unit_dir, "mark");
    char source[300];
    BERTH_FREE char *path = unit_path(unit_dir, "program");
    char *const env[] = {
        (char *)"LD_TRACE_LOADED_OBJECTS=", (char *)"LD_PRELOAD=libno.so", NULL};
    struct berth_closure closure;
    struct berth_err err;

    snprintf(source, sizeof(source),
             "int creat(const char *, int); void _start(void) { creat(\"%s\", 0600); }",
             mark);
    unit_compile(unit_dir, source, "-lc -o program");
    ck_assert_int_eq(berth_loader_list(NULL, loader, path, env, &closure, &err), 0);
    ck_assert_ptr_nonnull(berth_closure_find(&closure, "libc.so.6"));
    ck_assert_int_eq(closure.said.count, 0);
    ck_assert_int_eq(access(mark, F_OK), -1);
    berth_closure_fini(&closure);
}

TEST(what_cannot_be_loaded_is_an_error)
{
    BERTH_FREE char *text = unit_path(unit_dir, "text");
    BERTH_FREE char *expected = NULL;
    struct berth_closure closure;
    struct berth_err err;

    unit_write(text,
               "this is no library, but long enough to be looked at by a loader\n", 64);
    ck_assert_int_eq(berth_loader_list(NULL, loader, text, bare, &closure, &err), -1);
    expected = unit_format("'%s': %s cannot load it: %s: error while loading shared "
                           "libraries: %s: invalid ELF header; is it built for this "
                           "machine?",
                           text, loader, text, text);
    ck_assert_str_eq(err.text, expected);
}

TEST(a_loader_that_is_not_there_is_named)
{
    struct berth_closure closure;
    struct berth_err err;

    ck_assert_int_eq(
        berth_loader_list(NULL, "/nowhere/ld.so", program, bare, &closure, &err), -1);
    ck_assert_str_eq(err.text,
                     "'/nowhere/ld.so': cannot be started: No such file or directory");
}

/* musl's loader lists libraries only for --list. */
TEST(musl_is_asked_otherwise)
{
    BERTH_FREE char *musl = unit_path(unit_dir, "ld-musl-x86_64.so.1");
    struct berth_closure closure;
    struct berth_err err;

    unit_script(musl, "[ \"$1\" = --list ] && printf '\\tlibc.so => /lib/m (0x1)\\n'");
    ck_assert_int_eq(berth_loader_list(NULL, musl, program, bare, &closure, &err), 0);
    ck_assert_int_eq(closure.count, 1);
    berth_closure_fini(&closure);
}

TEST(babble_is_no_list)
{
    BERTH_FREE char *babbler = unit_path(unit_dir, "ld-musl-babbler");
    BERTH_FREE char *expected = NULL;
    struct berth_closure closure;
    struct berth_err err;

    unit_script(babbler, "printf '\\tbabble\\n'");
    ck_assert_int_eq(berth_loader_list(NULL, babbler, program, bare, &closure, &err),
                     -1);
    expected = unit_format("'%s': expected a line of a loader, got 'babble'", program);
    ck_assert_str_eq(err.text, expected);
}

TEST(names_are_found_where_the_loader_looks)
{
    static const char *const names[] = {"libnot-there.so.1", "libtop.so.1", "libc.so.6",
                                        NULL};
    BERTH_STRVEC struct berth_strvec found = {0};
    BERTH_FREE char *search = NULL;
    BERTH_FREE char *top = unit_path(unit_dir, "libtop.so.1");
    struct berth_err err;

    search = unit_format("LD_LIBRARY_PATH=%s", unit_dir);
    ck_assert_int_eq(berth_loader_find(NULL, loader, program, names,
                                       (char *const[]){search, NULL}, &found, &err),
                     0);
    ck_assert_int_eq(found.count, 2);
    ck_assert_str_eq(found.items[0], top);
    ck_assert_ptr_nonnull(strstr(found.items[1], "/libc.so.6"));
    berth_strvec_fini(&found);
    ck_assert_int_eq(
        berth_loader_find(NULL, loader, program, names, bare, &found, &err), 0);
    ck_assert_int_eq(found.count, 1);
}

/* The number of starts of the loader that counts them. */
static int starts(void)
{
    BERTH_FREE char *path = unit_path(unit_dir, "count");
    struct stat st;

    return stat(path, &st) < 0 ? 0 : (int)st.st_size;
}

/* What the loader that counts says in the environment ENV, with the facts that are
 * stored. */
static void ask_with_cache(char *const *env)
{
    const struct berth_stage_root root = {
        .path = unit_dir, .owner = geteuid(), .forbidden = 0077};
    BERTH_FREE char *counter = unit_path(unit_dir, "ld-musl-counter");
    struct berth_factcache cache;
    struct berth_closure closure;
    struct berth_err err;

    berth_factcache_open(&root, "host", &cache);
    ck_assert_int_eq(berth_loader_list(&cache, counter, program, env, &closure, &err),
                     0);
    ck_assert_uint_eq(closure.count, 1);
    berth_closure_fini(&closure);
    berth_factcache_fini(&cache);
}

/* Changes after which the loader must be asked again. */
static const char *const changes[] = {
    "touch -d '1 hour ago' found/libx.so", /* the file */
    "cp found/libx.so found/liby.so",      /* what is beside it */
    "rm found/libx.so",
    "touch ld-musl-counter",
    "touch searched/libz.so", /* a directory of LD_LIBRARY_PATH */
};

/* A loader that counts how often it is started, and says LINE. The directory has
 * found/libx.so and searched/, which ENV names for it. */
static void make_counter(const char *line, struct berth_strvec *env)
{
    BERTH_FREE char *script = NULL;
    BERTH_FREE char *counter = unit_path(unit_dir, "ld-musl-counter");

    berth_strvec_pushf(env, "LD_LIBRARY_PATH=%s/searched", unit_dir);
    script = unit_format("printf x >>'%s/count'\n"
                         "cd '%s' && printf \"\\tlibx.so => %s\\n\"",
                         unit_dir, unit_dir, line);
    unit_run("cd '%s' && rm -rf count facts found searched && chmod "
             "700 . && mkdir found searched && echo x >found/libx.so",
             unit_dir);
    unit_script(counter, script);
}

TEST_ROWS(an_answer_is_known_until_something_changes, changes)
{
    BERTH_STRVEC struct berth_strvec env = {0};

    make_counter("$PWD/found/libx.so (0x1)", &env);
    ask_with_cache(env.items);
    ask_with_cache(env.items);
    ck_assert_int_eq(starts(), 1);
    unit_run("cd '%s' && sleep 0.02 && %s", unit_dir, changes[_i]);
    ask_with_cache(env.items);
    ck_assert_int_eq(starts(), 2);
    ask_with_cache(env.items);
    ck_assert_int_eq(starts(), 2);
    ask_with_cache(bare);
    ck_assert_int_eq(starts(), 3);
}

TEST(what_is_missing_is_looked_for_again)
{
    BERTH_STRVEC struct berth_strvec env = {0};

    make_counter("not found", &env);
    ask_with_cache(env.items);
    ask_with_cache(env.items);
    ck_assert_int_eq(starts(), 2);
}

static const struct {
    const char *path;  /* LD_LIBRARY_PATH */
    const char *warns; /* what the loader writes with LD_WARN */
    bool is_refused;
} c_libraries[] = {
    {"/x:/host/lib/:/y", "undefined symbol: f, version GLIBC_PRIVATE\\t(libc.so.6)",
     true},
    {"/host/lib", "undefined symbol: f, version GLIBC_PRIVATE\\t(libc.so.6)", true},
    {"/host/lib",
     "symbol f, version GLIBC_PRIVATE not defined in file libc.so.6 with link time "
     "reference\\t(libpthread.so.0)",
     true},
    {"/host/lib", "undefined symbol: f\\t(libmpi.so)", false},
    {"/host/lib64:/host", "undefined symbol: f, version GLIBC_PRIVATE\\t(libc.so.6)",
     false},
};

/* The script has musl's name, so that no LD_TRACE_LOADED_OBJECTS keeps it from running.
 */
TEST_ROWS(another_c_library_is_refused, c_libraries)
{
    BERTH_FREE char *path = unit_path(unit_dir, "ld-musl-c.so.1");
    BERTH_STRVEC struct berth_strvec env = {0};
    BERTH_BUF struct berth_buf script = {0};
    struct berth_closure closure;
    struct berth_err err;

    berth_buf_addf(&script,
                   "#!/bin/sh\nprintf '\\tlibc.so.6 => /host/lib/libc.so.6 (0x1)\\n'\n"
                   "[ -z \"$LD_WARN\" ] || printf '%s\\n'\n",
                   c_libraries[_i].warns);
    unit_write(path, script.text, script.used);
    ck_assert_int_eq(chmod(path, 0755), 0);
    berth_strvec_pushf(&env, "LD_LIBRARY_PATH=%s", c_libraries[_i].path);
    ck_assert_int_eq(berth_loader_list(NULL, path, program, env.items, &closure, &err),
                     0);
    ck_assert_int_eq(
        berth_loader_check_c_library(path, program, env.items, &closure, &err),
        c_libraries[_i].is_refused ? -1 : 0);
    if (c_libraries[_i].is_refused)
        ck_assert_str_eq(
            err.text, "LD_LIBRARY_PATH puts '/host/lib/libc.so.6' before the C "
                      "library of the image, whose loader cannot use it; unset "
                      "APPTAINERENV_LD_LIBRARY_PATH, or take that directory out of it");
    berth_closure_fini(&closure);
    ck_assert_int_eq(unlink(path), 0);
}

void unit_prepare(TCase *tests)
{
    unit_share_directory(tests);
    tcase_add_unchecked_fixture(tests, setup, teardown);
}

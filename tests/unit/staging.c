/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of stages have in common: libraries, a root, and what is in a stage.
 */

#include "staging.h"

#include "bindover/hoststacks.h"

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "install.h"
#include "unit.h"

char *directory;
char *host;
struct berth_stage_root root;
const struct berth_stack *stack;
static struct berth_stacks stacks;

/* The stacks that are found; tests use the first. */
static void find(const struct berth_profile *profiles, const struct berth_strvec *env)
{
    struct berth_err err;

    berth_stacks_fini(&stacks);
    ck_assert_msg(berth_stacks_find(NULL, profiles, 1 << BERTH_PROFILE_MPI, env->items,
                                    &stacks, &err) == 0,
                  "%s", err.text);
    ck_assert_int_gt(stacks.count, 0);
    stack = &stacks.items[0];
}

void staging_find_stack(const char *variable, const char *value,
                        const char *library_path)
{
    BERTH_STRVEC struct berth_strvec env = {0};

    berth_strvec_pushf(&env, "%s=%s", variable, value);
    berth_strvec_pushf(&env, "LD_LIBRARY_PATH=%s", library_path);
    find(berth_profiles, &env);
}

void staging_find_profile(const struct berth_profile *profiles,
                          const char *library_path)
{
    BERTH_STRVEC struct berth_strvec env = {0};

    berth_strvec_pushf(&env, "LD_LIBRARY_PATH=%s", library_path);
    find(profiles, &env);
}

void staging_setup(void)
{
    BERTH_FREE char *real = NULL;

    directory = unit_directory();
    real = realpath(directory, NULL);
    free(directory);
    directory = berth_steal(&real);
    host = unit_path(directory, "host/lib");
    root = (struct berth_stage_root){
        .path = unit_path(directory, "root"), .owner = geteuid(), .forbidden = 0077};
    root.mounted = root.path;
}

void staging_teardown(void)
{
    berth_stacks_fini(&stacks);
    unit_remove(directory);
    free(directory);
    free(host);
    free((char *)root.path);
}

/* An MPICH with UCX: libmpi.so.12 needs libucs.so.0, which opens ucx/. One module needs
 * a library that only LD_LIBRARY_PATH finds, one needs another module, one a library
 * that is nowhere. Compiled once, in TEMPLATE/lib. */
static char *template;

void staging_compile(void)
{
    BERTH_FREE char *lib = NULL;
    BERTH_FREE char *ucx = NULL;
    BERTH_FREE char *lost = NULL;
    BERTH_FREE char *link = NULL;

    template = unit_directory();
    lib = unit_path(template, "lib");
    ucx = unit_path(lib, "ucx");
    lost = unit_path(ucx, "liblost.so.1");
    link = unit_path(ucx, "libuct_one.so");
    install_plain(lib, "libucs.so.0", LIBC);
    install_plain(lib, "libdep.so.1", LIBC);
    install_plain(ucx, "liblost.so.1", LIBC);
    install_plain(ucx, "libuct_one.so.0", LIBC " -L.. -l:libdep.so.1");
    install_plain(ucx, "libuct_two.so.0",
                  "-Wl,--enable-new-dtags -Wl,-rpath,'$ORIGIN'" LIBC
                  " -L. -l:libuct_one.so.0");
    install_plain(ucx, "libuct_bad.so.0", LIBC " -L. -l:liblost.so.1");
    install_plain(ucx, "libucx_perftest_x.so.0", LIBC);
    ck_assert_int_eq(unlink(lost), 0);
    ck_assert_int_eq(symlink("libuct_one.so.0", link), 0);
    install_library(lib, "mpich", "libmpi.so.12",
                    "-Wl,--no-as-needed -L. -l:libucs.so.0 -lc");
    install_library(lib, "mpich", "libmpifort.so.12",
                    "-Wl,--no-as-needed -L. -l:libmpi.so.12 -lc");
}

void staging_remove(void)
{
    unit_remove(template);
    free(template);
}

void staging_install(void)
{
    BERTH_FREE char *prefix = unit_path(directory, "host");

    unit_run("cp -a '%s' '%s'", template, prefix);
    staging_find_stack("MPI_HOME", prefix, host);
}

/* TEXT with @ for each FROM in it. */
static void put(struct berth_buf *buf, const char *text, const char *from)
{
    const char *at = strstr(text, from);

    if (at)
        berth_buf_add(buf, text, (size_t)(at - text));
    berth_buf_puts(buf, at ? "@" : text);
    if (at)
        berth_buf_puts(buf, at + strlen(from));
}

/* The records of the manifest, without glibc and sizes. */
char *staging_tell(const struct berth_staged *staged)
{
    const struct berth_manifest *manifest = &staged->manifest;
    struct berth_buf buf = {0};

    for (size_t i = 0; i < manifest->files.count; i += BERTH_MANIFEST_FILE) {
        const char *file = manifest->files.items[i];

        if (strncmp(file, "glibc/", 6) == 0 ||
            strncmp(manifest->files.items[i + 1], "libgcc_s", 8) == 0)
            continue;
        berth_buf_puts(&buf, file);
        berth_buf_puts(&buf, "\n");
    }
    for (size_t i = 0; i < manifest->links.count; i += 2) {
        berth_buf_puts(&buf, manifest->links.items[i]);
        berth_buf_puts(&buf, " -> ");
        berth_buf_puts(&buf, manifest->links.items[i + 1]);
        berth_buf_puts(&buf, "\n");
    }
    for (size_t i = 0; i < manifest->set.count; i++) {
        put(&buf, manifest->set.items[i], staged->mounted);
        berth_buf_puts(&buf, "\n");
    }
    return buf.text;
}

/* The entries of the root. */
int staging_entries(const char *start)
{
    DIR *list = opendir(root.path);
    int count = 0;

    for (struct dirent *entry; list && (entry = readdir(list));)
        count += strncmp(entry->d_name, start, strlen(start)) == 0 &&
                 strncmp(entry->d_name, ".lock-", 6) != 0 &&
                 strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    if (list)
        closedir(list);
    return count;
}

struct berth_staged staging_make(void)
{
    struct berth_staged staged;
    struct berth_err err;

    ck_assert_msg(berth_stage_make(stack, &root, 0, &staged, &err) == 0, "%s",
                  err.text);
    return staged;
}

/* The sentence of a stage that cannot be made, with @ for the directory. */
char *staging_refusal(void)
{
    struct berth_buf buf = {0};
    struct berth_staged staged;
    struct berth_err err;

    ck_assert_int_eq(berth_stage_make(stack, &root, 0, &staged, &err), -1);
    put(&buf, err.text, directory);
    return buf.text;
}

int staging_find(struct berth_staged *ret_staged)
{
    struct berth_err err;
    int found = berth_stage_find(stack, &root, ret_staged, &err);

    ck_assert_msg(found >= 0, "%s", err.text);
    return found;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Relative paths as text. */

#include "request/path.h"

#include "unit.h"

static const struct {
    const char *text;
    const char *base;
    const char *path;
} good[] = {
    {"/a.sif", NULL, "/a.sif"},
    {"/a.sif", "/home/u", "/a.sif"},
    {"a.sif", "/home/u", "/home/u/a.sif"},
    {"./a.sif", "/home/u", "/home/u/a.sif"},
    {".//./a.sif", "/home/u", "/home/u/a.sif"},
    {"../a.sif", "/home/u", "/home/u/../a.sif"},
    {".hidden", "/home/u", "/home/u/.hidden"},
    {"a.sif", "/", "/a.sif"},
    {"a b\n", "/x y", "/x y/a b\n"},
    {"/", "/x", "/"},
};

TEST_ROWS(a_path_becomes_absolute, good)
{
    struct berth_err err;
    char *path = NULL;

    ck_assert_int_eq(berth_path_absolute(good[_i].text, good[_i].base, &path, &err), 0);
    ck_assert_str_eq(path, good[_i].path);
    free(path);
}

TEST(without_a_base_a_relative_path_is_refused)
{
    struct berth_err err;
    char *path = NULL;

    ck_assert_int_eq(berth_path_absolute("a.sif", NULL, &path, &err), -1);
    ck_assert_str_eq(err.text, "expected a path from /, got 'a.sif'");
    ck_assert_int_eq(berth_path_absolute("~/a.sif", "/w", &path, &err), -1);
    ck_assert_str_eq(
        err.text,
        "'~/a.sif': neither the shell nor Slurm expands '~' here; write the path "
        "from /, or on a command line $HOME/a.sif");
    ck_assert_int_eq(berth_path_absolute("$HOME/a.sif", NULL, &path, &err), -1);
    ck_assert_str_eq(err.text, "'$HOME/a.sif': neither the shell nor Slurm expands '$' "
                               "here; write the path from /");
    ck_assert_ptr_null(path);
}

static const struct {
    const char *text;
    const char *clean;
} unclean[] = {
    {"/", "/"},
    {"", "/"},
    {"/a/b", "/a/b"},
    {"//a///b/", "/a/b"},
    {"/a/./b/.", "/a/b"},
    {"/a/../b", "/b"},
    {"/../..", "/"},
    {"/a/b/../../..", "/"},
    {"/a/..b/", "/a/..b"},
    {"/.a/...", "/.a/..."},
};

TEST_ROWS(a_clean_path_has_no_steps, unclean)
{
    char *clean = berth_path_clean(unclean[_i].text);

    ck_assert_str_eq(clean, unclean[_i].clean);
    free(clean);
}

TEST(within_ends_at_a_slash)
{
    ck_assert(berth_path_is_within("/a", "/a"));
    ck_assert(berth_path_is_within("/a/b", "/a"));
    ck_assert(berth_path_is_within("/a", "/"));
    ck_assert(!berth_path_is_within("/ab", "/a"));
    ck_assert(!berth_path_is_within("/", "/a"));
}

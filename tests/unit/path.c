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
    ck_assert_str_eq(err.text, "'a.sif' is not absolute; expected a path from /");
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
    bool is_utf8;
} names[] = {
    {"", true},
    {"/plain \x01\x7f", true},
    {"/d\xc3\xa9j\xc3\xa0/\xe6\x97\xa5/\xf0\x9f\x8c\x8d", true},
    {"\xc2\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\xf4\x8f\xbf\xbf", true},
    {"/caf\xe9", false},
    {"\xff", false},
    {"\x80", false},
    {"\xc3", false},
    {"\xe6\x97", false},
    {"\xc0\x80", false},
    {"\xe0\x9f\xbf", false},
    {"\xf0\x8f\xbf\xbf", false},
    {"\xed\xa0\x80", false},
    {"\xf4\x90\x80\x80", false},
    {"\xf8\x88\x80\x80\x80", false},
};

TEST_ROWS(utf8_is_told_from_other_bytes, names)
{
    ck_assert(berth_path_is_utf8(names[_i].text) == names[_i].is_utf8);
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

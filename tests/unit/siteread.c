/* SPDX-License-Identifier: Apache-2.0 */
/* Which files are read as berth.yaml, by who can write them. */

#include "site/siteread.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "site/trusted.h"
#include "unit.h"

static void set_up(void)
{
    ck_assert_int_eq(chdir(unit_dir), 0);
    ck_assert_int_eq(chmod(unit_dir, 0755), 0);
    unit_write("f", "runtime: {start_timeout: 7}\n", 28);
    ck_assert_int_eq(chmod("f", 0644), 0);
    ck_assert_int_eq(mkdir("d", 0755), 0);
    ck_assert_int_eq(mkdir("open", 0755), 0);
    ck_assert_int_eq(chmod("open", 0775), 0);
    ck_assert_int_eq(mkdir("sticky", 0755), 0);
    ck_assert_int_eq(chmod("sticky", 01777), 0);
    unit_write("sticky/f", "", 0);
    unit_write("open/f", "", 0);
    ck_assert_int_eq(symlink("f", "link"), 0);
    ck_assert_int_eq(symlink("../f", "d/up"), 0);
    ck_assert_int_eq(symlink("open/f", "astray"), 0);
    ck_assert_int_eq(symlink("round", "round"), 0);
    ck_assert_int_eq(symlink("not-mounted/f", "dangling"), 0);
    ck_assert_int_eq(symlink("d", "directory"), 0);
    ck_assert_int_eq(symlink("not-mounted", "nowhere"), 0);
    ck_assert_int_eq(symlink("/etc/passwd/x", "through"), 0);
    ck_assert_int_eq(mkfifo("fifo", 0644), 0);
    unit_write("writable", "", 0);
    ck_assert_int_eq(chmod("writable", 0664), 0);
}

/* The sentence after the path when NAME is read; "": no fault. */
static char *read_name(const char *name, uid_t owner, struct berth_site *site)
{
    BERTH_BUF struct berth_buf path = {0};
    struct berth_err err = {0};
    char *found;

    berth_buf_puts(&path, unit_dir);
    berth_buf_puts(&path, "/");
    berth_buf_puts(&path, name);
    if (berth_site_read(path.text, owner, site, &err) == 0)
        return strdup("");
    found = strstr(err.text, path.text);
    ck_assert_ptr_eq(found, err.text);
    return strdup(err.text + path.used);
}

static const struct {
    const char *name;
    const char *fault; /* behind the path */
} files[] = {
    {"f", ""},
    {"./d/../f", ""},
    {"link", ""},
    {"d/up", ""},
    {"sticky/f", ""},
    {"open/f", ": 'open' can be written by others (mode 0775); chmod go-w"},
    {"astray", ": 'open' can be written by others (mode 0775); chmod go-w"},
    {"writable", ": 'writable' can be written by others (mode 0664); chmod go-w"},
    {"none", ": No such file or directory; it must be there, and readable "
             "by all users"},
    {"f/x", ": 'f' is not a directory"},
    {"through", ": 'passwd' is not a directory"},
    {"d", ": 'd' is not a file"},
    {"fifo", ": 'fifo' is not a file"},
    {"round", ": more than 40 links; name the file itself"},
};

TEST_ROWS(only_a_safe_file_is_read, files)
{
    BERTH_SITE struct berth_site site = {0};
    BERTH_FREE char *fault = read_name(files[_i].name, geteuid(), &site);

    ck_assert_str_eq(fault, files[_i].fault);
    ck_assert_uint_gt(site.runtime.start_timeout, 0);
}

TEST(the_file_is_what_was_read)
{
    BERTH_SITE struct berth_site site = {0};
    BERTH_FREE char *fault = read_name("f", geteuid(), &site);

    ck_assert_str_eq(fault, "");
    ck_assert_uint_eq(site.runtime.start_timeout, 7);
}

/* The defaults hold only if the file is missing. */
static const struct {
    const char *name;
    int missing;
} absent[] = {
    {"none", 1},     {"d/none", 1},    {"directory/none", 1}, {"none/none", 1},
    {"dangling", 0}, {"nowhere/f", 0}, {"open/none", 0},
};

TEST_ROWS(what_a_link_promises_is_not_missing, absent)
{
    BERTH_FREE char *path = unit_path(unit_dir, absent[_i].name);
    BERTH_BUF struct berth_buf buf = {0};
    struct berth_err err;
    int missing = -1;

    ck_assert_int_eq(berth_trusted_read(path, geteuid(), &missing, &buf, &err), -1);
    ck_assert_int_eq(missing, absent[_i].missing);
}

/* n/n/n..., and beside each n a link to it. */
TEST(each_link_counts_once)
{
    BERTH_SITE struct berth_site site = {0};
    BERTH_FREE char *fault = NULL;

    for (int i = 0; i < 6; i++) {
        ck_assert_int_eq(mkdir("n", 0755), 0);
        ck_assert_int_eq(symlink("n", "l"), 0);
        ck_assert_int_eq(chdir("n"), 0);
    }
    unit_write("f", "", 0);
    ck_assert_int_eq(chmod("f", 0644), 0);
    fault = read_name("l/l/l/l/l/l/f", geteuid(), &site);
    ck_assert_str_eq(fault, "");
}

/* The link in /proc of a file that was deleted leads to that file, and names another.
 */
TEST(only_the_file_that_was_checked_is_read)
{
    BERTH_CLOSE int fd = open("f", O_RDONLY);
    BERTH_FREE char *path = unit_format("/proc/self/fd/%d", fd);
    BERTH_BUF struct berth_buf buf = {0};
    struct berth_err err;

    ck_assert_int_eq(unlink("f"), 0);
    unit_write("f (deleted)", "", 0);
    ck_assert_int_eq(chmod("f (deleted)", 0644), 0);
    ck_assert_int_eq(berth_trusted_read(path, geteuid(), NULL, &buf, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, ": Stale file handle; "));
    ck_assert_uint_eq(buf.used, 0);
}

TEST(the_root_is_no_file)
{
    struct berth_site site;
    struct berth_err err;

    ck_assert_int_eq(berth_site_read("/", geteuid(), &site, &err), -1);
    ck_assert_str_eq(err.text, "/: '/' is not a file");
}

/* Needs a file that belongs to somebody else. */
TEST(a_file_of_another_user_is_refused)
{
    BERTH_SITE struct berth_site site = {0};
    BERTH_FREE char *fault = NULL;
    char expected[128];

    if (geteuid() == 0)
        ck_assert_int_eq(chown("f", 12345, 12345), 0);
    fault = read_name("f", 54321, &site);
    if (geteuid() == 0) {
        snprintf(expected, sizeof(expected),
                 ": 'f' belongs to user 12345, who could change it; expected root as "
                 "the owner");
        ck_assert_str_eq(fault, expected);
        free(fault);
        fault = read_name("f", 12345, &site);
        ck_assert_str_eq(fault, "");
    } else {
        ck_assert_ptr_nonnull(strstr(fault, "who could change it"));
    }
}

TEST(a_closed_directory_is_told)
{
    BERTH_SITE struct berth_site site = {0};
    BERTH_FREE char *fault = NULL;
    uid_t self = geteuid();

    ck_assert_int_eq(chmod("d", 0), 0);
    if (self == 0)
        ck_assert_int_eq(seteuid(12345), 0);
    fault = read_name("d/f", self, &site);
    ck_assert_int_eq(seteuid(self), 0);
    ck_assert_int_eq(chmod("d", 0755), 0);
    ck_assert_str_eq(
        fault, ": Permission denied; it must be there, and readable by all users");
}

TEST(an_unreadable_file_is_told)
{
    BERTH_SITE struct berth_site site = {0};
    BERTH_FREE char *fault = NULL;

    ck_assert_int_eq(chmod("f", 0), 0);
    if (geteuid() == 0) /* root can read everything */
        ck_assert_int_eq(seteuid(12345), 0);
    fault = read_name("f", 0, &site);
    if (geteuid() == 12345)
        ck_assert_int_eq(seteuid(0), 0);
    ck_assert_ptr_nonnull(strstr(
        fault, geteuid() == 0 ? "Permission "
                                "denied; it must be there, and readable by all users"
                              : "who could change it"));
}

TEST(all_faults_of_a_file_are_listed)
{
    BERTH_STRVEC struct berth_strvec faults = {0};
    BERTH_BUF struct berth_buf path = {0};
    BERTH_SITE struct berth_site site = {0};
    struct berth_err err;

    unit_write("two", "a: 1\nb: 2\n", 10);
    chmod("two", 0644);
    berth_buf_puts(&path, unit_dir);
    berth_buf_puts(&path, "/two");
    ck_assert_int_eq(berth_site_errors(path.text, geteuid(), &site, &faults, &err), 0);
    ck_assert_uint_eq(faults.count, 2);
}

TEST(the_owner_is_who_built_it)
{
    struct stat facts;

    ck_assert_int_eq(stat("/proc/self/exe", &facts), 0);
    ck_assert_uint_eq(berth_site_owner(), facts.st_uid);
}

void unit_prepare(TCase *tests)
{
    unit_in_directory(tests);
    tcase_add_checked_fixture(tests, set_up, NULL);
}

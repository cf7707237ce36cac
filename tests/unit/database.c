/* SPDX-License-Identifier: Apache-2.0 */
/* A user in the user database of an image. */

#include "container/database.h"

#include "base/cleanup.h"
#include "unit.h"

#define LINE "alice:x:2001:2001::/home/alice:/bin/bash\n"

static const struct {
    const char *text;
    const char *expected;
} users[] = {
    {"", LINE},
    {"root:x:0:0:root:/root:/bin/sh\n", "root:x:0:0:root:/root:/bin/sh\n" LINE},
    {"root:x:0:0:root:/root:/bin/sh", "root:x:0:0:root:/root:/bin/sh\n" LINE},
    {"a:x:1:1:::\nbob:x:2001:5::/b:/s\nc:x:3:3:::\n",
     "a:x:1:1:::\n" LINE "c:x:3:3:::\n"},
    {"a:x:1:1:::\nbob:x:2001:5::/b:/s", "a:x:1:1:::\n" LINE},
    {"bob:x:20010:5::/b:/s\n", "bob:x:20010:5::/b:/s\n" LINE},
    {"bob:2001:1:5::/b:/s\n", "bob:2001:1:5::/b:/s\n" LINE},
    {"\n#\nx:y\n::\n:::::::2001:\n", LINE}, /* nobody could be found in these */
};

static FILE *open_text(const char *text)
{
    FILE *file = tmpfile();

    ck_assert_int_ge(fputs(text, file), 0);
    rewind(file);
    return file;
}

static const struct {
    const char *make; /* a command that makes the file */
    bool is_open;
} images[] = {
    {"echo x:x:1:1::/:/bin/sh >passwd", true},
    {"truncate -s 15M passwd", true},
    {"truncate -s 16M passwd", false},
    {"ln -s /dev/zero passwd", false},
    {"mkfifo passwd", false},
    {"mkdir passwd", false},
    {"true", false},
};

TEST_ROWS(a_file_that_has_no_end_is_not_read, images)
{
    BERTH_FREE char *path = unit_path(unit_dir, "passwd");

    unit_run("cd '%s' && %s", unit_dir, images[_i].make);
    ck_assert((berth_database_open(path) != NULL) == images[_i].is_open);
}

TEST_ROWS(a_user_stands_once, users)
{
    static char name[] = "alice", x[] = "x", none[] = "", home[] = "/home/alice",
                shell[] = "/bin/bash";
    const struct passwd alice = {name, x, 2001, 2001, none, home, shell};
    BERTH_FREE char *text = NULL;
    size_t count;
    FILE *to = open_memstream(&text, &count);

    berth_database_put_user(open_text(users[_i].text), &alice, to);
    ck_assert_int_eq(fclose(to), 0);
    ck_assert_str_eq(text, users[_i].expected);
}

static const struct {
    const char *text;
    const char *expected;
} homes[] = {
    {"", NULL},
    {"root:x:0:0:root:/home/alice:/bin/bash\n", "/home/alice"},
    {"a:x:1:1::/a:/s\nroot:x:0:0::/h\n", "/h"},
    {"root:x:0:0:root::/bin/bash\n", NULL},
    {"root:x:0:0\na:b:c:d:e:/x:\n", NULL},
    {"root:x::0:root:/x:\n", NULL},
};

TEST_ROWS(a_home_is_found, homes)
{
    BERTH_FREE char *home = berth_database_home(open_text(homes[_i].text), 0);

    ck_assert_pstr_eq(home, homes[_i].expected);
}

void unit_prepare(TCase *tests)
{
    unit_in_directory(tests);
}

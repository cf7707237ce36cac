/* SPDX-License-Identifier: Apache-2.0 */
/* A user in the user database of an image. */

#include "step/database.h"

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
    {"\n#\nx:y\n::\n:::::::2001:\n", "\n#\nx:y\n::\n:::::::2001:\n" LINE},
    {"a:x:1:1\n:2001:x\n", "a:x:1:1\n:2001:x\n" LINE},
};

TEST_ROWS(a_user_stands_once, users)
{
    BERTH_BUF struct berth_buf buf = {0};

    berth_database_put_user(users[_i].text, 2001, LINE, &buf);
    ck_assert_str_eq(buf.text, users[_i].expected);
}

static const struct {
    const char *text;
    const char *expected;
} homes[] = {
    {"", "/else"},
    {"root:x:0:0:root:/home/alice:/bin/bash\n", "/home/alice"},
    {"a:x:1:1::/a:/s\nroot:x:0:0::/h\n", "/h"},
    {"root:x:0:0:root::/bin/bash\n", "/else"},
    {"root:x:0:0\na:b:c:d:e:/x:\n", "/else"},
    {"root:x::0:root:/x:\n", "/else"},
};

TEST_ROWS(a_home_is_found, homes)
{
    BERTH_BUF struct berth_buf buf = {0};

    berth_database_put_home(homes[_i].text, 0, "/else", &buf);
    ck_assert_str_eq(buf.text, homes[_i].expected);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Splits a list like the variable PATH. */

#include "base/searchpath.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"

#include "unit.h"

static const struct {
    const char *list, *files;
} lists[] = {
    {NULL, ""},
    {"/bin", "/bin/name "},
    {"/bin:/usr/bin", "/bin/name /usr/bin/name "},
    {"", "./name "},
    {":/bin", "./name /bin/name "},
    {"/bin::a", "/bin/name ./name a/name "},
    {"/bin:", "/bin/name ./name "},
};

TEST_ROWS(each_directory_of_a_list_has_its_turn, lists)
{
    struct berth_searchpath path = {.left = lists[_i].list};
    BERTH_BUF struct berth_buf files = {0};

    while (berth_searchpath_next(&path)) {
        BERTH_FREE char *file = berth_searchpath_file(&path, "name");

        ck_assert_ptr_nonnull(file);
        berth_buf_addf(&files, "%s ", file);
    }
    ck_assert_str_eq(berth_buf_text(&files), lists[_i].files);
}

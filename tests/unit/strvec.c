/* SPDX-License-Identifier: Apache-2.0 */
/* A list of owned strings. */

#include "base/strvec.h"

#include "base/cleanup.h"
#include "unit.h"

TEST(a_list_ends_in_null_like_argv)
{
    BERTH_STRVEC struct berth_strvec vec = {0};

    ck_assert_ptr_null(vec.items);
    for (size_t i = 0; i < 100; i++) {
        berth_strvec_pushf(&vec, "%zu-%s", i, "x");
        ck_assert_uint_eq(vec.count, i + 1);
        ck_assert_ptr_null(vec.items[i + 1]);
    }
    ck_assert_str_eq(vec.items[0], "0-x");
    ck_assert_str_eq(vec.items[99], "99-x");
    ck_assert(!vec.failed);
}

TEST(strings_are_copies)
{
    BERTH_STRVEC struct berth_strvec vec = {0};
    char text[] = "mine";

    berth_strvec_push(&vec, text);
    text[0] = 'x';
    ck_assert_str_eq(vec.items[0], "mine");
}

TEST(a_list_is_appended_whole)
{
    BERTH_STRVEC struct berth_strvec a = {0};
    BERTH_STRVEC struct berth_strvec b = {0};
    BERTH_FREE char *lines = NULL;

    berth_strvec_append(&a, &b);
    ck_assert_uint_eq(a.count, 0);
    berth_strvec_push(&a, "1");
    berth_strvec_push(&b, "2");
    berth_strvec_push(&b, "");
    berth_strvec_append(&a, &b);
    lines = unit_lines(&a);
    ck_assert_str_eq(lines, "1\n2\n\n");
}

TEST(only_pushed_strings_are_found)
{
    BERTH_STRVEC struct berth_strvec vec = {0};

    ck_assert(!berth_strvec_has(&vec, ""));
    berth_strvec_push(&vec, "x");
    berth_strvec_push(&vec, "long");
    ck_assert(berth_strvec_has(&vec, "long"));
    ck_assert(!berth_strvec_has(&vec, "lon"));
    ck_assert(!berth_strvec_has(&vec, "longer"));
}

TEST(a_freed_list_can_be_used_again)
{
    BERTH_STRVEC struct berth_strvec vec = {0};

    berth_strvec_push(&vec, "old");
    berth_strvec_fini(&vec);
    ck_assert_uint_eq(vec.count, 0);
    ck_assert_ptr_null(vec.items);
    berth_strvec_push(&vec, "new");
    ck_assert_str_eq(vec.items[0], "new");
}

TEST(a_stolen_pointer_leaves_null)
{
    char *value = strdup("treasure");
    char *taken = berth_steal(&value);

    ck_assert_ptr_null(value);
    ck_assert_str_eq(taken, "treasure");
    free(taken);
}

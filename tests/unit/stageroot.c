/* SPDX-License-Identifier: Apache-2.0 */
/* Where the directories of stages are. */

#include "container/stageroot.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "unit.h"

TEST(the_roots_are_where_they_are_documented)
{
    char path[BERTH_STAGE_USER_SIZE], expected[BERTH_STAGE_USER_SIZE];
    const struct berth_stage_root site = berth_stage_site();
    const struct berth_stage_root user = berth_stage_user(path);

    snprintf(expected, sizeof(expected), "/tmp/berth-%u", geteuid());
    ck_assert_str_eq(user.path, expected);
    ck_assert_str_eq(user.mounted, "/.berth/user");
    ck_assert_uint_eq(user.owner, geteuid());
    ck_assert_uint_eq(user.forbidden, 0077);
    ck_assert_str_eq(site.path, "/var/lib/berth/stage");
    ck_assert_str_eq(site.mounted, "/.berth/site");
    ck_assert_uint_eq(site.owner, 0);
    ck_assert_uint_eq(site.forbidden, 0022);
}

/* Anybody may make the first choice; nobody else one of the user's. */
TEST(a_root_that_is_taken_has_a_second)
{
    char path[BERTH_STAGE_USER_SIZE], again[BERTH_STAGE_USER_SIZE];
    char name[24];
    BERTH_FREE char *place = unit_directory();
    BERTH_FREE char *first = NULL;
    BERTH_FREE char *lost = NULL;
    struct stat st;

    snprintf(name, sizeof(name), "berth-%u", geteuid());
    first = unit_path(place, name);
    lost = unit_format("%s.aaaaaa", first);
    berth_stage_user_in(place, true, path);
    ck_assert_str_eq(path, first);
    unit_write(first, "", 0); /* not a directory, so not one of the user's */
    unit_write(lost, "", 0);
    berth_stage_user_in(place, true, path);
    ck_assert_int_eq(strncmp(path, first, strlen(first)), 0);
    ck_assert_str_ne(path, first);
    ck_assert_str_ne(path, lost);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0700);
    for (int i = 0; i < 2; i++) {
        berth_stage_user_in(place, i, again);
        ck_assert_str_eq(again, path);
    }
    ck_assert_int_eq(unlink(first), 0);
    berth_stage_user_in(place, true, again);
    ck_assert_str_eq(again, first);
    unit_remove(place);
}

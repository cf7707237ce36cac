/* SPDX-License-Identifier: Apache-2.0 */
/* A temporary container that does not start. */

#include "step/temporary.h"

#include <fcntl.h>
#include <unistd.h>

#include "unit.h"

static int inside(void *data, struct berth_buf *out, struct berth_err *err)
{
    (void)data, (void)out, (void)err;
    return 0;
}

/* berth-init is missing before berth is installed; else the runtime ends at once. */
START_TEST(a_start_that_fails_closes_only_its_own_descriptors)
{
    const struct berth_temporary_inspection inspection = {
        .runtime = "/bin/false", .image = "/", .seconds = 10, .inside = inside};
    BERTH_BUF struct berth_buf out = {0};
    struct berth_err err;

    ck_assert_int_eq(dup2(open("/dev/null", O_RDONLY), STDIN_FILENO), STDIN_FILENO);
    ck_assert_int_eq(berth_temporary_inspect(&inspection, &out, &err), -1);
    ck_assert_int_eq(fcntl(STDIN_FILENO, F_GETFD), 0);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("temporary");

    tcase_add_test(tests, a_start_that_fails_closes_only_its_own_descriptors);
    return unit_run("temporary", tests);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of --mpi-bind as bytes, and parsed again. */

#include "plan/binding.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

static struct berth_binding full(void)
{
    struct berth_binding binding = {.note = strdup("the host's MPICH 4.2.1"),
                                    .warning = strdup(""),
                                    .host = strdup("MPICH 4.2.1"),
                                    .alone = strdup("mpich-0"),
                                    .because = strdup("it does not speak pmix")};

    berth_strvec_push(&binding.set, "A=1\n2");
    berth_strvec_push(&binding.binds, "/tmp/stage/libmpi.so");
    berth_strvec_push(&binding.binds, "/usr/lib/libmpi.so");
    berth_strvec_push(&binding.facts, "program");
    berth_strvec_push(&binding.facts, "/opt/app");
    berth_strvec_push(&binding.changes, "A=0");
    return binding;
}

TEST(all_members_come_back)
{
    BERTH_BINDING struct berth_binding binding = full();
    BERTH_BINDING struct berth_binding back = {0};
    BERTH_BUF struct berth_buf bytes = {0};
    struct berth_err err;

    berth_binding_put(&binding, &bytes);
    ck_assert_int_eq(berth_binding_get(bytes.text, bytes.used, &back, &err), 0);
    unit_same(&back.set, &binding.set);
    unit_same(&back.binds, &binding.binds);
    unit_same(&back.facts, &binding.facts);
    unit_same(&back.changes, &binding.changes);
    ck_assert_str_eq(back.note, binding.note);
    ck_assert_str_eq(back.warning, "");
    ck_assert_str_eq(back.host, binding.host);
    ck_assert_str_eq(back.alone, binding.alone);
    ck_assert_str_eq(back.because, binding.because);
}

TEST(nothing_is_no_bytes)
{
    BERTH_BINDING struct berth_binding back = {.is_jobs = true};
    const struct berth_binding nothing = {0};
    BERTH_BUF struct berth_buf bytes = {0};
    struct berth_err err;

    berth_binding_put(&nothing, &bytes);
    ck_assert_uint_eq(bytes.used, 0);
    ck_assert_int_eq(berth_binding_get(NULL, 0, &back, &err), 0);
    ck_assert_ptr_null(back.note);
    ck_assert(!back.is_jobs);
}

TEST(two_count_as_one)
{
    BERTH_BINDING struct berth_binding binding = full();
    BERTH_BINDING struct berth_binding back = {0};
    BERTH_BUF struct berth_buf bytes = {0};
    struct berth_err err;

    berth_binding_put(&binding, &bytes);
    berth_binding_put(&binding, &bytes);
    ck_assert_int_eq(berth_binding_get(bytes.text, bytes.used, &back, &err), 0);
    ck_assert_uint_eq(back.set.count, 2);
    ck_assert_str_eq(back.note, binding.note);
}

static const struct {
    const char *text;
    const char *error;
} wrong[] = {
    {"set=A%3D1&x=2&", DAMAGED("x")},
    {"set=%3&", DAMAGED("set")},
    {"set=A%3D1&no&", DAMAGED("no")},
    {"set=A%3D1&&", DAMAGED("")},
};

TEST_ROWS(what_is_damaged_is_refused, wrong)
{
    struct berth_binding back;
    struct berth_err err;

    ck_assert_int_eq(
        berth_binding_get(wrong[_i].text, strlen(wrong[_i].text), &back, &err), -1);
    ck_assert_str_eq(err.text, wrong[_i].error);
}

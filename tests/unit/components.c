/* SPDX-License-Identifier: Apache-2.0 */
/* Which row of the table is whose. */

#include "request/components.h"

#include "request/wire.h"
#include "unit.h"

#define NOWHERE -1

static const struct {
    const char *table;
    struct berth_where where;
    const char *image; /* NULL: the row asks for nothing */
} found[] = {
    /* uniform: nobody needs to know */
    {"1;*:image=/a;.", {NOWHERE, NOWHERE}, "/a"},
    {"1;*:image=/a;.", {5, NOWHERE}, "/a"},
    {"1;*:image=/a;.", {NOWHERE, 5}, "/a"},
    /* by the het group of the job */
    {"1;0:image=/a;1:image=/b;.", {0, NOWHERE}, "/a"},
    {"1;0:image=/a;1:image=/b;.", {1, NOWHERE}, "/b"},
    {"1;1:image=/b;0:image=/a;.", {0, NOWHERE}, "/a"},
    {"1;0:image=/a;2:image=/c;.", {2, NOWHERE}, "/c"},
    {"1;0:image=/a;1:;2:image=/c;.", {1, NOWHERE}, NULL},
    {"1;127:image=/z;0:image=/a;.", {127, NOWHERE}, "/z"},
    /* by the position in the step, which counts the groups in their own order */
    {"1;0:image=/a;1:image=/b;.", {NOWHERE, 0}, "/a"},
    {"1;0:image=/a;1:image=/b;.", {NOWHERE, 1}, "/b"},
    {"1;1:image=/b;0:image=/a;.", {NOWHERE, 0}, "/a"},
    {"1;1:image=/b;0:image=/a;.", {NOWHERE, 1}, "/b"},
    {"1;0:image=/a;2:image=/c;.", {NOWHERE, 1}, "/c"},
    {"1;5:image=/f;3:image=/d;4:image=/e;.", {NOWHERE, 0}, "/d"},
    {"1;5:image=/f;3:image=/d;4:image=/e;.", {NOWHERE, 2}, "/f"},
};

static void read_table(const char *text, struct berth_table *table)
{
    struct berth_err err;

    ck_assert_int_eq(berth_wire_get_table(text, table, &err), 0);
}

START_TEST(a_component_finds_its_row)
{
    BERTH_TABLE struct berth_table table = {0};
    const struct berth_row *row = NULL;
    struct berth_err err = {""};

    read_table(found[_i].table, &table);
    ck_assert_msg(berth_table_find(&table, &found[_i].where, &row, &err) == 0, "%s",
                  err.text);
    ck_assert_pstr_eq(row->request.image, found[_i].image);
}
END_TEST

#define UNKNOWN                                                                        \
    "cannot tell which component this is, and the components differ; give them all "   \
    "the same --container options, or one srun each"
#define NOT_ANNOUNCED(number, count)                                                   \
    "this is component " number ", which srun did not announce (it announced " count   \
    "); use the plugin of one berth release on every host"

static const struct {
    const char *table;
    struct berth_where where;
    const char *error;
} lost[] = {
    {"1;?:image=/a;?:image=/b;.", {0, NOWHERE}, UNKNOWN},
    {"1;?:image=/a;?:image=/b;.", {NOWHERE, 1}, UNKNOWN},
    {"1;0:image=/a;?:image=/b;.", {0, NOWHERE}, UNKNOWN},
    {"1;?:image=/a;.", {0, NOWHERE}, UNKNOWN},
    {"1;*:image=/a;*:image=/b;.", {0, NOWHERE}, UNKNOWN},
    {"1;0:image=/a;1:image=/b;.", {2, NOWHERE}, NOT_ANNOUNCED("2", "2")},
    {"1;0:image=/a;1:image=/b;.", {NOWHERE, 2}, NOT_ANNOUNCED("2", "2")},
    {"1;0:image=/a;2:image=/b;.", {1, NOWHERE}, NOT_ANNOUNCED("1", "2")},
    {"1;0:image=/a;.", {3, NOWHERE}, NOT_ANNOUNCED("3", "1")},
};

START_TEST(a_row_is_never_guessed)
{
    BERTH_TABLE struct berth_table table = {0};
    const struct berth_row *row = NULL;
    struct berth_err err;

    read_table(lost[_i].table, &table);
    ck_assert_int_eq(berth_table_find(&table, &lost[_i].where, &row, &err), -1);
    ck_assert_str_eq(err.text, lost[_i].error);
    ck_assert_ptr_null(row);
}
END_TEST

START_TEST(who_is_nowhere_gets_no_row_of_many)
{
    BERTH_TABLE struct berth_table table = {0};
    struct berth_where nowhere = {NOWHERE, NOWHERE};
    const struct berth_row *row = NULL;
    struct berth_err err = {""};

    read_table("1;0:image=/a;1:image=/b;.", &table);
    ck_assert_int_eq(berth_table_find(&table, &nowhere, &row, &err), -1);
    ck_assert_ptr_null(row);
    ck_assert_str_ne(err.text, "");
}
END_TEST

static const struct {
    const char *table;
    bool uniform;
    bool contained;
} shapes[] = {
    {"1;*:;.", true, false},
    {"1;*:image=none;.", true, false},
    {"1;*:image=/a;.", true, true},
    {"1;0:image=/a;1:image=/a;.", true, true},
    {"1;0:image=/a;1:;.", false, true},
    {"1;0:;1:image=/a;.", false, true},
    {"1;0:;1:image=none;.", false, false},
    {"1;0:image=/a;1:image=/a&writable=;.", false, true},
};

START_TEST(a_table_knows_its_shape)
{
    BERTH_TABLE struct berth_table table = {0};

    read_table(shapes[_i].table, &table);
    ck_assert_int_eq(berth_table_uniform(&table), shapes[_i].uniform);
    ck_assert_int_eq(berth_table_contained(&table), shapes[_i].contained);
}
END_TEST

static const struct {
    const char *table;
    const char *explained; /* of each row: a letter of its form, - for none */
} accounts[] = {
    {"1;0:image=/a;1:;.", "--"},
    {"1;0:image=/a;1:image=/b&explain=json;.", "jj"},
    {"1;0:image=/a&explain=off;1:;2:image=/b&explain=text;.", "ttt"},
    {"1;0:image=/a&explain=json;1:image=/b&explain=text;.", "jt"},
    {"1;0:image=/a&explain=off;1:image=/b;.", "o-"},
};

START_TEST(an_account_is_of_the_whole_step)
{
    BERTH_TABLE struct berth_table table = {0};
    struct berth_err err;

    read_table(accounts[_i].table, &table);
    ck_assert_int_eq(berth_table_explain(&table, &err), 0);
    for (size_t i = 0; i < table.count; i++) {
        const char *form = table.rows[i].request.explain;

        ck_assert_int_eq(form ? *form : '-', accounts[_i].explained[i]);
    }
}
END_TEST

START_TEST(an_empty_table_holds_nothing)
{
    struct berth_table table = {0};

    ck_assert(berth_table_uniform(&table));
    ck_assert(!berth_table_contained(&table));
    berth_table_fini(&table);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("components");

    tcase_add_loop_test(tests, a_component_finds_its_row, 0, COUNT(found));
    tcase_add_loop_test(tests, a_row_is_never_guessed, 0, COUNT(lost));
    tcase_add_test(tests, who_is_nowhere_gets_no_row_of_many);
    tcase_add_loop_test(tests, a_table_knows_its_shape, 0, COUNT(shapes));
    tcase_add_loop_test(tests, an_account_is_of_the_whole_step, 0, COUNT(accounts));
    tcase_add_test(tests, an_empty_table_holds_nothing);
    return unit_run("components", tests);
}

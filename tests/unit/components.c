/* SPDX-License-Identifier: Apache-2.0 */
/* Which row of the table is whose. */

#include "request/components.h"

#include "base/cleanup.h"
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

TEST_ROWS(a_component_finds_its_row, found)
{
    BERTH_TABLE struct berth_table table = {0};
    const struct berth_row *row = NULL;
    struct berth_err err = {0};

    read_table(found[_i].table, &table);
    ck_assert_msg(berth_table_find(&table, &found[_i].where, 0, &row, &err) == 0, "%s",
                  err.text);
    ck_assert_pstr_eq(row->request.image, found[_i].image);
}

#define UNKNOWN                                                                        \
    "Slurm does not tell which component this is, and the components differ; give "    \
    "them all "                                                                        \
    "the same container options, or one srun each"
#define NOT_ANNOUNCED(number, count) DAMAGED("component " number " of " count)

static const struct {
    const char *table;
    struct berth_where where;
    const char *error;
} lost[] = {
    {"1;*:image=/a;*:image=/b;.", {0, NOWHERE}, UNKNOWN},
    {"1;0:image=/a;1:image=/b;.", {2, NOWHERE}, NOT_ANNOUNCED("2", "2")},
    {"1;0:image=/a;1:image=/b;.", {NOWHERE, 2}, NOT_ANNOUNCED("2", "2")},
    {"1;0:image=/a;2:image=/b;.", {1, NOWHERE}, NOT_ANNOUNCED("1", "2")},
    {"1;0:image=/a;.", {3, NOWHERE}, NOT_ANNOUNCED("3", "1")},
};

TEST_ROWS(a_row_is_never_guessed, lost)
{
    BERTH_TABLE struct berth_table table = {0};
    const struct berth_row *row = NULL;
    struct berth_err err;

    read_table(lost[_i].table, &table);
    ck_assert_int_eq(berth_table_find(&table, &lost[_i].where, 0, &row, &err), -1);
    ck_assert_str_eq(err.text, lost[_i].error);
    ck_assert_ptr_null(row);
}

static const struct {
    const char *table;
    unsigned int row;
    const char *ranks; /* with the container of the row; NULL: it has no ranks */
    unsigned int tasks;
} shares[] = {
    {"1;*:image=/a;.", 0, NULL, 9},
    {"1;0:image=/a;1:image=/a;.", 1, NULL, 9},
    {"1;/0-2:image=/a;/3:image=/b;/*:image=/a&env=A%3DB;.", 2, "0-2,*", 8},
    {"1;/0-2:image=/a;/3:image=/b;/*:image=/a&env=A%3DB;.", 1, "3", 1},
    {"1;/0-2:image=/a;/3:;/4,6:image=/a&workdir=/w;.", 0, "0-2,4,6", 5},
};

TEST_ROWS(a_container_knows_its_ranks, shares)
{
    BERTH_TABLE struct berth_table table = {0};
    BERTH_FREE char *ranks = NULL;
    unsigned int tasks = 0;
    struct berth_err err;

    read_table(shares[_i].table, &table);
    ck_assert_int_eq(berth_table_container_ranks(&table, &table.rows[shares[_i].row], 9,
                                                 &ranks, &tasks, &err),
                     0);
    ck_assert_uint_eq(tasks, shares[_i].tasks);
    if (shares[_i].ranks)
        ck_assert_str_eq(ranks, shares[_i].ranks);
    else
        ck_assert_ptr_null(ranks);
}

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

TEST_ROWS(a_table_knows_its_shape, shapes)
{
    BERTH_TABLE struct berth_table table = {0};

    read_table(shapes[_i].table, &table);
    ck_assert_int_eq(berth_table_is_uniform(&table), shapes[_i].uniform);
    ck_assert_int_eq(berth_table_find_container(&table) != NULL, shapes[_i].contained);
}

static const struct {
    const char *table;
    const char *explained; /* of each row: a letter of its form, - for none */
} accounts[] = {
    {"1;0:image=/a;1:;.", "--"},
    {"1;0:image=/a;1:image=/b&explain=json;.", "jj"},
    {"1;0:image=/a&explain=no;1:;2:image=/b&explain=text;.", "ttt"},
    {"1;0:image=/a&explain=json;1:image=/b&explain=text;.", "jt"},
    {"1;0:image=/a&explain=no;1:image=/b;.", "n-"},
};

TEST_ROWS(an_account_is_of_the_whole_step, accounts)
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

static const struct {
    const char *table;
    const char *speaks; /* a letter for each row */
} speakers[] = {
    {"1;*:image=/a&mpi-bind=auto;.", "y"},
    {"1;0:image=/a&mpi-bind=auto;1:image=/b&mpi-bind=auto;.", "yn"},
    {"1;1:image=/b&mpi-bind=auto;0:image=/a&mpi-bind=auto;.", "ny"},
    {"1;0:;1:image=/a&mpi-bind=auto;3:image=/b&mpi-bind=auto;.", "yyn"},
    {"1;0:image=/a&mpi-bind=hybrid;1:image=/b&mpi-bind=auto;.", "yy"},
    {"1;0:image=/a;1:image=/b;.", "yn"},
    {"1;0:image=none&mpi-bind=auto;1:image=/b&mpi-bind=auto;.", "yy"},
};

TEST_ROWS(the_first_component_in_a_container_speaks, speakers)
{
    BERTH_TABLE struct berth_table table = {0};

    read_table(speakers[_i].table, &table);
    ck_assert_uint_eq(table.count, strlen(speakers[_i].speaks));
    for (size_t i = 0; i < table.count; i++)
        ck_assert_int_eq(berth_table_reports(&table, &table.rows[i]),
                         speakers[_i].speaks[i] == 'y');
}

/* With --multi-prog: rows of ranks, and their containers. */
#define LINES                                                                          \
    "1;/2-3,8:image=/a;/0:;/1:image=/b;/4-5:image=/a&env=X%3D1&workdir=/w;"            \
    "/6:image=/a&writable=;/*:image=/b&mpi-bind=host;."

static const struct {
    unsigned int rank;
    size_t row;
    int container;
} ranked[] = {{0, 1, -1}, {1, 2, 1}, {2, 0, 0}, {3, 0, 0}, {8, 0, 0},
              {4, 3, 0},  {5, 3, 0}, {6, 4, 2}, {7, 5, 3}, {9, 5, 3}};

static const struct {
    const char *table;
    const char *lifetime; /* NULL: nobody says it */
} lifetimes[] = {
    {"1;*:image=/a;.", NULL},
    {"1;*:lifetime=job;.", NULL},
    {"1;*:image=/a&lifetime=step;.", "step"},
    {"1;0:image=/a&lifetime=job;1:image=/b&lifetime=step;.", "job"},
    {"1;0:image=/a;1:image=/b&lifetime=step;.", "step"},
    {"1;/0:image=/a&lifetime=step;/1:image=/a&lifetime=job;.", "job"},
    {"1;/0:image=/a;/1:lifetime=job;.", NULL},
};

TEST_ROWS(one_container_of_the_job_is_enough, lifetimes)
{
    BERTH_TABLE struct berth_table table = {0};

    read_table(lifetimes[_i].table, &table);
    ck_assert_pstr_eq(berth_table_lifetime(&table), lifetimes[_i].lifetime);
}

TEST_ROWS(a_rank_finds_its_row_and_container, ranked)
{
    const struct berth_where where = {NOWHERE, NOWHERE};
    BERTH_TABLE struct berth_table table = {0};
    const struct berth_row *row = NULL;
    struct berth_err err;

    read_table(LINES, &table);
    ck_assert(berth_table_is_multiprog(&table));
    ck_assert(berth_table_has_groups(&table));
    ck_assert_int_eq(berth_table_find(&table, &where, ranked[_i].rank, &row, &err), 0);
    ck_assert_uint_eq((size_t)(row - table.rows), ranked[_i].row);
    ck_assert_int_eq(row->container, ranked[_i].container);
    ck_assert_uint_eq(table.containers, 4);
}

/* Of ten tasks: how many have a row, its first, and the first of its container. */
static const struct {
    unsigned int tasks, first, container_first;
} measured[] = {{3, 2, 2}, {1, 0, 0}, {1, 1, 1}, {2, 4, 2}, {1, 6, 6}, {2, 7, 7}};

/* Rows that differ, and how many containers they need. */
static const struct {
    const char *table;
    unsigned int containers;
} shared[] = {
    {"1;/0:image=/a&workdir=/w;/1:image=/a&workdir=/v;.", 1},
    {"1;/0:image=/a&entrypoint=;/1:image=/a;.", 1},
    {"1;/0:image=/a&workdir=/w&mpi-bind=auto;/1:image=/a&workdir=/v&mpi-bind=auto;.",
     2},
    {"1;/0:image=/a&entrypoint=&mpi-bind=auto;/1:image=/a&mpi-bind=auto;.", 2},
    {"1;/0:image=/a&env=X%3D1&mpi-bind=auto;/1:image=/a&env=X%3D2&mpi-bind=auto;.", 1},
    {"1;/0:image=/a&env=PATH%3D/x&mpi-bind=auto;/1:image=/a&mpi-bind=auto;.", 2},
    {"1;/0:image=/a&env=LD_LIBRARY_PATH%3D/x&mpi-bind=auto;/1:image=/a&mpi-bind=auto;.",
     2},
    {"1;/0:image=/a&env=PATH%3D/x;/1:image=/a;.", 1},
    {"1;/0:image=/a&env=PATH%3D/x&env=A%3D1&mpi-bind=auto;"
     "/1:image=/a&env=B&env=PATH%3D/x&mpi-bind=auto;.",
     1},
};

TEST_ROWS(rows_share_what_they_can, shared)
{
    BERTH_TABLE struct berth_table table = {0};

    read_table(shared[_i].table, &table);
    ck_assert_uint_eq(table.containers, shared[_i].containers);
}

TEST_ROWS(a_row_knows_its_ranks, measured)
{
    BERTH_TABLE struct berth_table table = {0};
    const struct berth_row *row;

    read_table(LINES, &table);
    row = &table.rows[_i];
    ck_assert_uint_eq(berth_table_tasks(&table, row, 10), measured[_i].tasks);
    ck_assert_uint_eq(berth_table_first_rank(&table, row), measured[_i].first);
    ck_assert_uint_eq(berth_table_container_first_rank(&table, row),
                      measured[_i].container_first);
}

TEST(a_rank_without_a_line_has_no_row)
{
    const struct berth_where where = {NOWHERE, NOWHERE};
    BERTH_TABLE struct berth_table table = {0};
    const struct berth_row *row = NULL;
    struct berth_err err;

    read_table("1;/0-3:image=/a;.", &table);
    ck_assert_int_eq(berth_table_find(&table, &where, 4, &row, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "damaged (rank 4 of no line)"));
}

TEST(lines_that_ask_for_the_same_are_one_row)
{
    static const char *const ranks[] = {"0", "2-3", "5", "*"};
    BERTH_TABLE struct berth_table table = {0};
    struct berth_err err;

    for (size_t i = 0; i < COUNT(ranks); i++) {
        struct berth_request request = {.writable = i == 1 ? BERTH_YES : BERTH_UNSAID};

        ck_assert_int_eq(berth_table_add_line(&table, ranks[i], &request, &err), 0);
    }
    ck_assert_uint_eq(table.count, 3);
    ck_assert_str_eq(table.rows[0].ranks, "0,5");
    ck_assert_str_eq(table.rows[1].ranks, "2-3");
    ck_assert_str_eq(table.rows[2].ranks, "*");
    ck_assert_uint_eq(table.containers, 0);
}

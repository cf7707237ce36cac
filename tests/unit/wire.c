/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and tables as text: there and back byte for byte, and nothing malformed gets
 * in. */

#include "request/wire.h"

#include <ctype.h>

#include "base/cleanup.h"
#include "unit.h"

static void assert_round_trip(const struct berth_request *request)
{
    BERTH_REQUEST struct berth_request again = {0};
    BERTH_BUF struct berth_buf first = {0};
    BERTH_BUF struct berth_buf second = {0};
    struct berth_err err = {0};

    berth_buf_puts(&first, "");
    berth_buf_puts(&second, "");
    berth_wire_put_request(&first, request);
    for (const char *c = first.text; *c; c++)
        ck_assert_msg(isgraph((unsigned char)*c) && !strchr("'\"\\$`;", *c),
                      "byte %d is on the wire", *c);
    ck_assert_msg(berth_wire_get_request(first.text, &again, &err) == 0, "%s: %s",
                  first.text, err.text);
    ck_assert(berth_request_equal(request, &again));
    berth_wire_put_request(&second, &again);
    ck_assert_str_eq(first.text, second.text);
}

static const char *const values[] = {
    "x",
    "two\nlines\n",
    "a=b;c&d%e",
    "%",
    "%41",
    "1;0:image=/x",
    "gr\303\274\303\237e \342\202\254 \360\237\232\242",
    "not \377\376 UTF-8",
    " ",
    "\\",
    "\\\\",
    "a\\b\\",
    "'\"`$(x)${y}*?[]{}~!#<>|",
    "\t\r\v\f\033\177",
};

TEST_ROWS(a_value_survives_in_every_field, values)
{
    BERTH_REQUEST struct berth_request request = {0};
    BERTH_FREE char *image = NULL;
    char text[256];

    snprintf(text, sizeof(text), "/%s", values[_i]);
    image = strdup(text);
    request.image = berth_steal(&image);
    request.workdir = strdup(text);
    snprintf(text, sizeof(text), "NAME=%s", values[_i]);
    berth_strvec_push(&request.env, text);
    berth_strvec_push(&request.env, "NAME");
    request.home = BERTH_NO;
    request.world = BERTH_WORLD_OWN;
    request.writable = BERTH_YES;
    request.entrypoint = BERTH_YES;
    assert_round_trip(&request);
}

TEST(every_byte_survives)
{
    for (int c = 1; c < 256; c++) {
        BERTH_REQUEST struct berth_request request = {0};
        struct berth_err err;
        char image[] = {'/', (char)c, 'x', '\0'};
        char variable[] = {'A', '=', 'x', (char)c, 'y', '\0'};
        char mount[] = {'/', (char)c, ':', '/', 'd', '\0'};

        request.image = strdup(image);
        berth_strvec_push(&request.env, variable);
        if (c != ':' && c != ',')
            ck_assert_int_eq(
                berth_request_parse(&request, BERTH_OPTION_MOUNTS, mount, NULL, &err),
                0);
        berth_strvec_push(&request.args, "--env");
        if (c != ' ' && c != '\t' && c != '\n')
            berth_strvec_push(&request.args, variable);
        assert_round_trip(&request);
    }
}

TEST(every_comma_and_backslash_of_a_variable_survives)
{
    static const char letters[] = "\\,a";
    char variable[] = "A=....";

    for (int n = 0; n < 81; n++) {
        BERTH_REQUEST struct berth_request request = {0};

        for (int i = 0, rest = n; i < 4; i++, rest /= 3)
            variable[2 + i] = letters[rest % 3];
        berth_strvec_push(&request.env, variable);
        assert_round_trip(&request);
    }
}

TEST(nothing_asked_is_the_empty_text)
{
    BERTH_REQUEST struct berth_request request = {0};
    struct berth_err err;

    ck_assert_int_eq(berth_wire_get_request("", &request, &err), 0);
    ck_assert(!berth_request_has_options(&request));
    assert_round_trip(&request);
}

static const struct {
    const char *text;
    const char *error;
} malformed[] = {
    {"image", DAMAGED("image")},
    {"image=/a&", DAMAGED("")},
    {"&image=/a", DAMAGED("")},
    {"image=/a&&writable=", DAMAGED("")},
    {"image=/a&mou", DAMAGED("mou")},
    {"=x", DAMAGED("")},
    {"colour=red", DAMAGED("colour")},
    {"image=/a&world=flat", DAMAGED("flat")},
    {"Image=/a", DAMAGED("Image")},
    {"container-image=/a", DAMAGED("container-image")},
    {"a\nb=", DAMAGED("a\\nb")},
    {"image=/a&uri=file://a", DAMAGED("file://a")},
    {"uri=docker://a", DAMAGED("docker://a")},
    {"image=none&uri=docker://a", DAMAGED("docker://a")},
    {"image=docker://a&uri=docker://a", DAMAGED("docker://a")},
    {"image=/a&uri=docker://a&uri=docker://a", DAMAGED("docker://a")},
    {"image=/%", DAMAGED("image")},
    {"image=/%4", DAMAGED("image")},
    {"image=/%0", DAMAGED("image")},
    {"image=/%00", DAMAGED("image")},
    {"image=/%zz", DAMAGED("image")},
    {"image=/%4g", DAMAGED("image")},
    {"image=/%3a", DAMAGED("image")},
    {"image=/%%", DAMAGED("image")},
    {"image=", DAMAGED("container-image")},
    {"image=a.sif", DAMAGED("container-image")},
    {"image=/a&image=/b", DAMAGED("container-image")},
    {"mounts=/a:b:rw", DAMAGED("container-mounts")},
    {"workdir=w", DAMAGED("container-workdir")},
    {"env=1", DAMAGED("container-env")},
    {"mount-home=&no-mount-home=", DAMAGED("no-container-mount-home")},
};

TEST_ROWS(a_malformed_request_is_refused, malformed)
{
    struct berth_request request = {0};
    struct berth_err err;

    ck_assert_int_eq(berth_wire_get_request(malformed[_i].text, &request, &err), -1);
    ck_assert_str_eq(err.text, malformed[_i].error);
    ck_assert(!berth_request_has_options(&request));
}

static const struct {
    const char *text;
    const char *again; /* written out; NULL: the same */
} tables[] = {
    {"1;*:image=/a;.", NULL},
    {"1;*:image=/a&uri=docker://r/a%40x;.", NULL},
    {"1;0:image=/a;1:image=/b;.", NULL},
    {"1;0:image=/a;1:;2:image=/b;.", NULL},
    {"1;2:image=/a;0:image=/b;.", NULL},
    {"1;0:image=/a;127:image=/b;.", NULL},
    {"1;0:image=/a;1:image=/a;.", "1;*:image=/a;."},
    {"1;0:image=/a;.", "1;*:image=/a;."},
    {"1;0:;1:;.", "1;*:;."},
    {"1;*:;.", NULL},
    {"1;000:image=/a;01:image=/b;.", "1;0:image=/a;1:image=/b;."},
    {"1;*:mounts=/a:/b&mounts=%2Fc;.", "1;*:mounts=/a:/b:rw&mounts=/c:/c:rw;."},
    {"1;*:env=A%3D1%3B%26%25%0A;.", NULL},
};

TEST_ROWS(a_table_is_read_and_written, tables)
{
    BERTH_TABLE struct berth_table table = {0};
    BERTH_FREE char *text = NULL;
    struct berth_err err = {0};

    ck_assert_msg(berth_wire_get_table(tables[_i].text, &table, &err) == 0, "%s",
                  err.text);
    ck_assert_int_eq(berth_wire_put_table(&table, &text, &err), 0);
    ck_assert_str_eq(text, tables[_i].again ? tables[_i].again : tables[_i].text);
}

static const struct {
    const char *text;
    const char *error;
} bad_tables[] = {
    {"", DAMAGED("")},
    {";", DAMAGED(";")},
    {"2;*:image=/a", DAMAGED("2;*:image=/a")},
    {"11;*:image=/a", DAMAGED("11;*:image=/a")},
    {" 1;*:image=/a", DAMAGED(" 1;*:image=/a")},
    {"*:image=/a", DAMAGED("*:image=/a")},
    {"\177ELF\001\002", DAMAGED("\\x7fELF\\x01\\x02")},
    {"1", DAMAGED("1")},
    {"1;.", DAMAGED("1;.")},
    {"1;;.", DAMAGED("")},
    {"1;", DAMAGED("1;")},
    {"1.", DAMAGED("1.")},
    {"1;*:image=/a", DAMAGED("1;*:image=/a")},
    {"1;*:image=/a;", DAMAGED("1;*:image=/a;")},
    {"1;*:image=/a;.\n", DAMAGED("1;*:image=/a;.\\n")},
    {"1;image=/a;.", DAMAGED("image=/a")},
    {"1;0:image=/a;;.", DAMAGED("")},
    {"1;:image=/a;.", DAMAGED("component ")},
    {"1;128:image=/a;.", DAMAGED("component 128")},
    {"1;-1:image=/a;.", DAMAGED("component -1")},
    {"1;+1:image=/a;.", DAMAGED("component +1")},
    {"1; 1:image=/a;.", DAMAGED("component  1")},
    {"1;1x:image=/a;.", DAMAGED("component 1x")},
    {"1;**:image=/a;.", DAMAGED("component **")},
    {"1;99999999999999999999:image=/a;.", DAMAGED("component 99999999999999999999")},
    {"1;0:image=/a;0:image=/b;.", DAMAGED("component 0")},
    {"1;/0:image=/a;1:image=/b;.", DAMAGED("1")},
    {"1;*:image=/a;/1:image=/b;.", DAMAGED("/1")},
    {"1;/x:image=/a;.", DAMAGED("component /x")},
    {"1;0:image=/%;.", DAMAGED("image")},
    {"1;0:image=/a;1:ima;.", DAMAGED("ima")},
};

TEST_ROWS(a_malformed_table_is_refused, bad_tables)
{
    struct berth_table table = {0};
    struct berth_err err;

    ck_assert_int_eq(berth_wire_get_table(bad_tables[_i].text, &table, &err), -1);
    ck_assert_str_eq(err.text, bad_tables[_i].error);
    ck_assert_uint_eq(table.count, 0);
}

TEST(a_table_that_is_cut_short_is_refused)
{
    static const char whole[] =
        "1;0:image=/a%20b&mounts=/a:/b:ro&env=A%3D%0A;12:workdir=/w;13:args=-x;.";

    for (size_t length = 1; length < strlen(whole); length++) {
        BERTH_FREE char *cut = strndup(whole, length);
        struct berth_table table = {0};
        struct berth_err err;

        ck_assert_int_eq(berth_wire_get_table(cut, &table, &err), -1);
        ck_assert_ptr_nonnull(strstr(err.text, "internal data is damaged ("));
    }
}

static const size_t lengths[] = {BERTH_WIRE_MAX + 1, BERTH_WIRE_MAX * 2, 10 << 20};

TEST_ROWS(a_text_over_the_limit_is_refused, lengths)
{
    BERTH_FREE char *text = malloc(lengths[_i] + 1);
    struct berth_table table = {0};
    struct berth_err err;

    memset(text, 'a', lengths[_i]);
    memcpy(text, "1;*:image=/", 11);
    text[lengths[_i]] = '\0';
    ck_assert_int_eq(berth_wire_get_table(text, &table, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "internal data is damaged (1;*:"));
}

/* A table whose text is "1;*:image=/aaa...;.", of LENGTH bytes. */
static int put_of_length(size_t length, char **ret_text, struct berth_err *err)
{
    BERTH_TABLE struct berth_table table = {0};
    struct berth_request request = {0};
    size_t count = length - strlen("1;*:image=;.");

    request.image = malloc(count + 1);
    memset(request.image, 'a', count);
    request.image[0] = '/';
    request.image[count] = '\0';
    ck_assert_int_eq(berth_table_add(&table, 0, NULL, &request, err), 0);
    return berth_wire_put_table(&table, ret_text, err);
}

TEST(the_longest_table_goes_there_and_back)
{
    BERTH_TABLE struct berth_table table = {0};
    BERTH_FREE char *text = NULL;
    struct berth_err err;

    ck_assert_int_eq(put_of_length(BERTH_WIRE_MAX, &text, &err), 0);
    ck_assert_uint_eq(strlen(text), BERTH_WIRE_MAX);
    ck_assert_int_eq(berth_wire_get_table(text, &table, &err), 0);
}

TEST(a_longer_table_is_not_written)
{
    BERTH_FREE char *text = NULL;
    struct berth_err err;

    ck_assert_int_eq(put_of_length(BERTH_WIRE_MAX + 1, &text, &err), -1);
    ck_assert_str_eq(err.text,
                     "the container options take 65537 bytes; at most 65536 can be "
                     "sent to the nodes");
    ck_assert_ptr_null(text);
}

static const char *const carried[] = {
    "1;=:env=A%3D1;*:image=/a;.",
    "1;=:env=A%3D1&env=B%3D%0A%3B.,%5C;0:image=/a;=:;1:image=/b;.",
    "1;0:;=:env=UCX_TLS%3D;1:image=/a;.",
    "1;=:env=A%3D1;0:image=/a;1:image=/b;.",
    "1;=:env=A%3D1;0:image=/a;1:;2:image=/b;.",
    "1;=:env=A%3D1;0:image=/a;1:image=none;=:;2:image=/b;.",
    "1;=:env=A%3D1;/0:image=/a;/1:image=/b;.",
    "1;=:env=A%3D1&job=SLURM_JOB_ID%3D7;*:image=/a&mpi-bind=launch;.",
    "1;=:one-file=;0:image=/a;=:;1:image=/b;.",
};

TEST_ROWS(what_rows_carry_is_read_and_written, carried)
{
    BERTH_TABLE struct berth_table table = {0};
    BERTH_FREE char *text = NULL;
    struct berth_err err = {0};

    ck_assert_msg(berth_wire_get_table(carried[_i], &table, &err) == 0, "%s", err.text);
    ck_assert_int_eq(berth_wire_put_table(&table, &text, &err), 0);
    ck_assert_str_eq(text, carried[_i]);
}

TEST(a_row_on_the_host_carries_nothing)
{
    static const char sent[] = "1;0:;=:env=A%3D1;1:image=/a;2:image=none;3:image=/b;.";
    BERTH_TABLE struct berth_table table = {0};
    BERTH_FREE char *text = NULL;
    struct berth_err err;

    ck_assert_int_eq(berth_wire_get_table(sent, &table, &err), 0);
    berth_strvec_fini(&table.rows[2].restore);
    ck_assert_int_eq(berth_wire_put_table(&table, &text, &err), 0);
    ck_assert_str_eq(text, sent);
}

TEST_TIMES(a_list_that_lost_a_variable_is_not_sent, 2)
{
    BERTH_TABLE struct berth_table table = {0};
    BERTH_FREE char *text = NULL;
    struct berth_err err;

    ck_assert_int_eq(berth_wire_get_table("1;*:image=/a;.", &table, &err), 0);
    *(_i ? &table.rows[0].job.failed : &table.rows[0].restore.failed) = true;
    ck_assert_int_eq(berth_wire_put_table(&table, &text, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "Cannot allocate memory"));
}

TEST(rows_that_carry_other_variables_differ)
{
    BERTH_TABLE struct berth_table table = {0};
    struct berth_err err;

    ck_assert_int_eq(
        berth_wire_get_table("1;=:env=A%3D1;0:image=/a;1:image=/a;.", &table, &err), 0);
    ck_assert(berth_table_is_uniform(&table));
    table.rows[1].is_one_file = true;
    ck_assert(!berth_table_is_uniform(&table));
    table.rows[1].is_one_file = false;
    berth_strvec_push(&table.rows[1].restore, "B=2");
    ck_assert(!berth_table_is_uniform(&table));
}

static const struct {
    const char *text;
    const char *error;
} bad_carried[] = {
    {"1;=:env=A%3D1;.", DAMAGED("1;=:env=A%3D1;.")},
    {"1;=;*:image=/a;.", DAMAGED("=")},
    {"1;=:env=A;*:image=/a;.", DAMAGED("A")},
    {"1;=:env=A%3D1&job=NOEQUALS;*:image=/a;.", DAMAGED("NOEQUALS")},
    {"1;=:image=/a;*:image=/a;.", DAMAGED("image")},
    {"1;=:env=A%00;*:image=/a;.", DAMAGED("env")},
};

TEST(a_text_that_is_too_long_is_refused)
{
    BERTH_FREE char *zeros = unit_format("%0*d", 2 * BERTH_WIRE_MAX, 0);
    BERTH_FREE char *text = unit_format("1;=:env=A%%3D%s;*:;.", zeros);
    struct berth_table table = {0};

    ck_assert_int_eq(berth_wire_get_table(text, &table, NULL), -1);
    zeros[BERTH_WIRE_MAX] = '\0';
    free(text);
    text = unit_format("1;=:env=A%%3D%s;*:;.", zeros);
    ck_assert_int_eq(berth_wire_get_table(text, &table, NULL), 0);
    berth_table_fini(&table);
}

TEST_ROWS(what_rows_cannot_carry_is_refused, bad_carried)
{
    struct berth_table table = {0};
    struct berth_err err;

    ck_assert_int_eq(berth_wire_get_table(bad_carried[_i].text, &table, &err), -1);
    ck_assert_str_eq(err.text, bad_carried[_i].error);
    ck_assert_uint_eq(table.count, 0);
}

/* A row that carries a variable whose value has COUNT bytes, and a small one. */
static int put_environment_of(size_t count, char **ret_text, struct berth_err *err)
{
    BERTH_TABLE struct berth_table table = {0};
    struct berth_request request = {0};
    BERTH_FREE char *value = calloc(1, count + 1);

    memset(value, 'a', count);
    request.image = strdup("/a");
    ck_assert_int_eq(berth_table_add(&table, 0, NULL, &request, err), 0);
    berth_strvec_push(&table.rows[0].restore, "FI_A=1");
    berth_strvec_pushf(&table.rows[0].restore, "UCX_BIG=%s", value);
    return berth_wire_put_table(&table, ret_text, err);
}

TEST(the_longest_environment_goes_there_and_back)
{
    BERTH_TABLE struct berth_table table = {0};
    BERTH_FREE char *text = NULL;
    struct berth_err err;
    size_t frame = strlen(";=:env=FI_A%3D1&env=UCX_BIG%3D");

    ck_assert_int_eq(put_environment_of(BERTH_WIRE_MAX - frame, &text, &err), 0);
    ck_assert_uint_eq(strlen(text), BERTH_WIRE_MAX + strlen("1;*:image=/a;."));
    ck_assert_int_eq(berth_wire_get_table(text, &table, &err), 0);
    ck_assert_uint_eq(table.rows[0].restore.count, 2);
}

TEST(a_longer_environment_names_its_largest_variable)
{
    BERTH_FREE char *text = NULL;
    struct berth_err err;
    size_t frame = strlen(";=:env=FI_A%3D1&env=UCX_BIG%3D");

    ck_assert_int_eq(put_environment_of(BERTH_WIRE_MAX - frame + 1, &text, &err), -1);
    ck_assert_str_eq(
        err.text,
        "the environment that --export drops and MPI needs takes 65537 bytes; at most "
        "65536 can be sent to the nodes: unset UCX_BIG, the longest, or give srun "
        "--export=ALL");
    ck_assert_ptr_null(text);
}

TEST(the_largest_variable_may_be_one_of_the_job)
{
    BERTH_TABLE struct berth_table table = {0};
    BERTH_FREE char *zeros = unit_format("%0*d", BERTH_WIRE_MAX, 0);
    BERTH_FREE char *text = NULL;
    struct berth_err err;

    ck_assert_int_eq(
        berth_wire_get_table("1;=:env=FI_A%3D1;*:image=/a;.", &table, &err), 0);
    berth_strvec_pushf(&table.rows[0].job, "SLURM_JOB_NODELIST=%s", zeros);
    ck_assert_int_eq(berth_wire_put_table(&table, &text, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, ": unset SLURM_JOB_NODELIST, the longest"));
}

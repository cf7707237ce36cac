/* SPDX-License-Identifier: Apache-2.0 */
/* The record of a step. */

#include "plan/record.h"

#include "base/cleanup.h"
#include "unit.h"

static const char *const own[] = {"SLURM_JOB_USER=alice", "SLURM_JOB_ID=17",
                                  "SLURM_STEP_ID=2",      "SLURM_CLUSTER_NAME=big",
                                  "SLURM_MPI_TYPE=pmix",  NULL};

#define STEP .step = {.component = 1, .nodes = 2, .tasks = 8}

static struct berth_record usual(const struct berth_order *order,
                                 const struct berth_strvec *image)
{
    return (struct berth_record){
        .time = 1700000000,
        .environment = (char *const *)own,
        .user = "uid",
        .node = "n1",
        .order = order,
        .image = image,
        .runtime = "/usr/bin/apptainer",
        .runtime_version = "apptainer version 1.4.5",
        .note = "the host's MPICH 4.2.1",
    };
}

TEST(a_record_is_one_line_with_everything)
{
    const struct berth_order order = {
        STEP, .request = {.image = (char *)"/a \"b\".sif", .mpi = (char *)"auto"}};
    BERTH_STRVEC struct berth_strvec image = {0};
    BERTH_BUF struct berth_buf line = {0};
    struct berth_record record = usual(&order, &image);
    struct berth_err err;

    berth_strvec_push(&image, "kind");
    berth_strvec_push(&image, "SIF file");
    berth_strvec_push(&image, "bytes");
    berth_strvec_push(&image, "4096");
    ck_assert_int_eq(berth_record_write(&record, &line, &err), 0);
    ck_assert_str_eq(
        line.text,
        "{\"time\":\"2023-11-14T22:13:20Z\",\"cluster\":\"big\",\"user\":\"alice\","
        "\"job\":17,\"step\":2,\"component\":1,\"ranks\":null,\"node\":\"n1\","
        "\"nodes\":2,\"tasks\":8,"
        "\"image\":{\"path\":\"/a \\\"b\\\".sif\",\"kind\":\"SIF "
        "file\",\"bytes\":4096},"
        "\"runtime\":{\"path\":\"/usr/bin/apptainer\","
        "\"version\":\"apptainer version 1.4.5\"},"
        "\"mpi\":{\"mode\":\"auto\",\"type\":\"pmix\","
        "\"verdict\":\"the host's MPICH 4.2.1\"},"
        "\"shared\":true,\"apart\":null,\"berth\":\"" BERTH_VERSION "\"}\n");
}

TEST(what_was_witnessed_on_a_node_is_a_line)
{
    const struct berth_order order = {
        STEP, .container = {.ranks = (char *)"0-3,5", .all = 5},
        .request = {.image = (char *)"/a", .mpi = (char *)"host"}};
    const struct berth_record_witnessed witnessed = {
        .host = "MPICH 4.2.1", .ranks = 4, .loaded = 3, .other = 1};
    struct berth_record record = usual(&order, NULL);
    BERTH_BUF struct berth_buf line = {0};
    struct berth_err err;

    record.witnessed = &witnessed;
    ck_assert_int_eq(berth_record_write(&record, &line, &err), 0);
    ck_assert_str_eq(
        line.text,
        "{\"time\":\"2023-11-14T22:13:20Z\",\"cluster\":\"big\",\"user\":\"alice\","
        "\"job\":17,\"step\":2,\"component\":1,\"ranks\":\"0-3,5\",\"node\":\"n1\","
        "\"nodes\":2,\"tasks\":5,"
        "\"mpi\":{\"mode\":\"host\",\"type\":\"pmix\",\"witnessed\":{\"host\":\"MPICH "
        "4.2.1\",\"ranks\":4,\"loaded\":3,\"other\":1}},\"berth\":\"" BERTH_VERSION
        "\"}\n");
}

TEST(what_is_not_known_is_null)
{
    const struct berth_order order = {
        .request = {.image = (char *)"/a", .uri = (char *)"docker://a"}};
    struct berth_strvec image = {0};
    BERTH_BUF struct berth_buf line = {0};
    struct berth_record record = {.order = &order,
                                  .image = &image,
                                  .user = "bob",
                                  .separate = "the site says so"};
    struct berth_err err;

    ck_assert_int_eq(berth_record_write(&record, &line, &err), 0);
    ck_assert_str_eq(
        line.text,
        "{\"time\":\"1970-01-01T00:00:00Z\",\"cluster\":null,\"user\":\"bob\","
        "\"job\":null,\"step\":null,\"component\":0,\"ranks\":null,\"node\":null,"
        "\"nodes\":0,"
        "\"tasks\":0,\"image\":{\"path\":\"/a\",\"uri\":\"docker://a\"},"
        "\"runtime\":{\"path\":null,\"version\":null},"
        "\"mpi\":{\"mode\":\"off\",\"type\":null,\"verdict\":null},"
        "\"shared\":false,\"apart\":\"the site says so\",\"berth\":\"" BERTH_VERSION
        "\"}\n");
}

static const struct {
    const char *pattern;
    const char *path;
} patterns[] = {
    {"/var/log/berth/steps.jsonl", "/var/log/berth/steps.jsonl"},
    {"/log/%u/%j.json", "/log/alice/17.json"},
    {"/log/%%u-%x%", "/log/%u-%x%"},
};

TEST_ROWS(a_file_is_named_by_user_and_job, patterns)
{
    const struct berth_order order = {.record = (char *)patterns[_i].pattern};
    struct berth_record record = usual(&order, NULL);
    BERTH_FREE char *path = NULL;
    struct berth_err err;

    ck_assert_int_eq(berth_record_path(&record, &path, &err), 0);
    ck_assert_str_eq(path, patterns[_i].path);
}

TEST(a_name_leads_nowhere_else)
{
    static const char *const odd[] = {"SLURM_JOB_USER=../root", NULL};
    const struct berth_order order = {.record = (char *)"/log/%u/%j"};
    struct berth_record record = {.environment = (char *const *)odd, .order = &order};
    BERTH_FREE char *path = NULL;
    struct berth_err err;

    ck_assert_int_eq(berth_record_path(&record, &path, &err), 0);
    ck_assert_str_eq(path, "/log/.._root/none");
}

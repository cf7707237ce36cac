/* SPDX-License-Identifier: Apache-2.0 */
/* What explain prints, compared with tests/golden. */

#include "plan/explain.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "plan/explainjoin.h"
#include "request/wire.h"
#include "unit.h"

static const char *const command[] = {"./a b", "it's", "plain", "", NULL};

struct fixture {
    struct berth_order order;
    struct berth_launch launch;
    struct berth_binding binding;
    struct berth_explain explain;
};

static void setup(struct fixture *fixture, const char *request)
{
    struct berth_err err;

    *fixture = (struct fixture){.order = {.job = 1}};
    ck_assert_int_eq(berth_wire_get_request(request, &fixture->order.request, &err), 0);
    fixture->launch = (struct berth_launch){.order = &fixture->order,
                                            .request = &fixture->order.request,
                                            .command = (char *const *)command,
                                            .node = "n1"};
    fixture->explain = (struct berth_explain){.launch = &fixture->launch,
                                              .binding = &fixture->binding};
}

static void teardown(struct fixture *fixture)
{
    free(fixture->explain.runtime_version);
    free(fixture->explain.found);
    berth_strvec_fini(&fixture->explain.image);
    berth_strvec_fini(&fixture->explain.words);
    berth_binding_fini(&fixture->binding);
    berth_plan_fini(&fixture->explain.plan);
    berth_request_fini(&fixture->order.request);
}

static void add_fact(struct berth_binding *binding, const char *name, const char *value)
{
    berth_strvec_push(&binding->facts, name);
    berth_strvec_push(&binding->facts, value);
}

/* The host's MPI in an image of two families. */
static void add_mpi(struct berth_binding *binding)
{
    binding->host = strdup("MPICH 4.2.1");
    binding->note = strdup("the program wants MPICH, and the host's MPICH 4.2.1 "
                           "has all MPI symbols that it needs (3)");
    add_fact(binding, BERTH_FINDING_PROGRAM, "/opt/app");
    add_fact(binding, BERTH_FINDING_RUNNER, "/usr/bin/python3");
    add_fact(binding, BERTH_FINDING_LINKED, "MPICH");
    add_fact(binding, BERTH_FINDING_IMAGE_MPI, "MPICH 4.0.2");
    add_fact(binding, BERTH_FINDING_IMAGE_MPI, "Open MPI 4.1.4");
    add_fact(
        binding, BERTH_FINDING_WATCHED,
        "each rank while it runs, by the mark that the copies make, or what it has "
        "mapped");
    add_fact(binding, BERTH_FINDING_STACK, "MPICH 4.2.1");
    add_fact(binding, BERTH_FINDING_PROFILE, "mpich");
    add_fact(binding, BERTH_FINDING_FOUND, "the loader");
    add_fact(binding, BERTH_FINDING_STAGED, "/tmp/berth-1/mpich-0");
    add_fact(binding, BERTH_FINDING_CONFIG, "/etc/ucx/ucx.conf");
    add_fact(binding, BERTH_FINDING_GLIBC, "replaced");
    add_fact(binding, BERTH_FINDING_GLIBC_IMAGE, "GLIBC_2.36");
    add_fact(binding, BERTH_FINDING_GLIBC_HOST, "GLIBC_2.41");
    add_fact(binding, BERTH_FINDING_MANAGERS, "pmi2");
    add_fact(binding, BERTH_FINDING_LOADER, "/lib64/ld.so");
    add_fact(binding, BERTH_FINDING_TARGET, "/usr/bin/python3");
    add_fact(binding, BERTH_FINDING_LIBRARY,
             "libmpich.so.12\t/lib/libmpich.so.12\t/.berth/lib/libmpich.so.12");
    add_fact(binding, BERTH_FINDING_LIBRARY,
             "libucp.so.0\t/.berth/lib/libucp.so.0\t/.berth/lib/libucp.so.0");
    add_fact(binding, BERTH_FINDING_STACK, "Open MPI 5.0.7");
    add_fact(binding, BERTH_FINDING_PROFILE, "openmpi-5");
    add_fact(binding, BERTH_FINDING_LIBRARY, "libmpi.so.40\t/lib/libmpi.so.40");
}

static const char *const exported[] = {"GONE=1", "LINES=2", "SLURM_MPI_TYPE=pmi2",
                                       NULL};

static void add_all(struct fixture *fixture)
{
    struct berth_explain *explain = &fixture->explain;

    fixture->order.step.nodes = 2;
    fixture->order.step.tasks = 8;
    fixture->launch.runtime = "/usr/bin/apptainer";
    fixture->launch.gpu.flag = "--nv";
    fixture->launch.gpu.because = "there are GPUs for it";
    fixture->launch.environment = (char *const *)exported;
    explain->runtime_version = strdup("apptainer version 1.4.5");
    explain->found = strdup("/opt/app");
    explain->places[0] = (struct berth_explain_place){"home", "/home/u", 1, 1, "host"};
    explain->places[3] = (struct berth_explain_place){NULL, "/scratch", 1, 2, "absent"};
    explain->starts_in = (char *)"/workspace";
    berth_strvec_push(&explain->image, "kind");
    berth_strvec_push(&explain->image, "SIF file");
    berth_strvec_push(&explain->image, "bytes");
    berth_strvec_push(&explain->image, "445644800");
    berth_strvec_push(&explain->words, "/usr/bin/apptainer");
    berth_strvec_push(&explain->words, "type=bind,\"source=/a b\"");
    berth_plan_mount(&explain->plan, "/d", "/d", BERTH_MOUNT_RW, BERTH_FROM_USER,
                     "asked");
    berth_plan_mount(&explain->plan, "/s", "/s", BERTH_MOUNT_RO, BERTH_FROM_USER,
                     "asked");
    berth_plan_mount(&explain->plan, "/h/lib", "/i/lib", BERTH_MOUNT_RO, BERTH_FROM_MPI,
                     "the host's");
    add_mpi(&fixture->binding);
    berth_plan_variable(&explain->plan, "HOME", "/home/u", BERTH_FROM_CAPTURE,
                        "list: identity");
    berth_plan_variable(&explain->plan, "UTF8", "cafe", BERTH_FROM_CAPTURE,
                        "list: identity");
    berth_plan_variable(&explain->plan, "GONE", NULL, BERTH_FROM_IMAGE, "the image");
    berth_plan_variable(&explain->plan, "LINES", "two\nlines\tand \x1b[31mred\x7f",
                        BERTH_FROM_IMAGE, "the image");
    berth_plan_variable(&explain->plan, "UTF8", "caf\xc3\xa9 \xe2\x82\xac",
                        BERTH_FROM_USER, "--container-env");
    berth_plan_variable(&explain->plan, "LATIN1", "caf\xe9", BERTH_FROM_USER,
                        "--container-env");
    berth_plan_variable(&explain->plan, "C1", "a\xc2\x9bz", BERTH_FROM_USER,
                        "--container-env");
    berth_plan_variable(&explain->plan, "QUOTES", "a\"b\\c", BERTH_FROM_USER,
                        "--container-env");
}

static void assert_golden(const struct berth_explain *explain, const char *name)
{
    BERTH_BUF struct berth_buf text = {0};
    BERTH_FREE char *golden = unit_golden(name);
    struct berth_err err;

    ck_assert_int_eq(berth_explain_write(explain, &text, &err), 0);
    if (strcmp(name, "explain-full.json") == 0) { /* explain-least.json has the lines */
        unit_join(text.text);
        unit_join(golden);
    }
    ck_assert_msg(strcmp(text.text, golden) == 0, "%s: expected\n%s---- and got\n%s",
                  name, golden, text.text);
}

static const struct {
    const char *golden;
    const char *request;
    bool is_full;
    bool is_several;
    const char *separate;
} accounts[] = {
    {"explain-full.txt",
     "image=/a.sif&uri=docker://r/a&lifetime=job&mpi-bind=auto&explain=all&site="
     "container-lifetime&site=mpi-bind",
     true, false, NULL},
    {"explain-brief.txt",
     "image=/a.sif&uri=docker://r/a&lifetime=job&mpi-bind=auto&explain=text&site="
     "container-lifetime&site=mpi-bind",
     true, false, NULL},
    {"explain-full.json",
     "image=/a.sif&uri=docker://r/a&lifetime=job&mpi-bind=auto&explain=json&site="
     "container-lifetime&site=mpi-bind",
     true, false, NULL},
    {"explain-least.txt", "image=/a.sif&explain=text", false, false, NULL},
    {"explain-least.json", "image=/a.sif&explain=json", false, false, NULL},
    {"explain-apart.txt", "image=/a.sif&lifetime=job&mpi-bind=local&explain=text",
     false, true, "share=never"},
    {"explain-host.txt", "explain=text", false, true, NULL},
};

/* With --multi-prog. */
static const struct {
    const char *golden;
    const char *request;
    const char *ranks;
    const char *rank;
    unsigned int tasks;
} lines[] = {
    {"explain-ranks.txt", "image=/a.sif&explain=text", "0-2,7", "0", 4},
    {"explain-ranks.json", "explain=json", "*", "3", 2},
    {"explain-rank.txt", "explain=text", "12", "12", 1},
    {"explain-rest.txt", "explain=text", "*", "5", 0},
};

TEST_ROWS(an_account_of_a_line_names_its_ranks, lines)
{
    struct fixture fixture;

    setup(&fixture, lines[_i].request);
    fixture.explain.rank = lines[_i].rank;
    fixture.order.step = (struct berth_order_step){
        .nodes = 2, .tasks = lines[_i].tasks, .ranks = (char *)lines[_i].ranks};
    assert_golden(&fixture.explain, lines[_i].golden);
    teardown(&fixture);
}

TEST_ROWS(an_account_is_the_golden_text, accounts)
{
    struct fixture fixture;

    setup(&fixture, accounts[_i].request);
    if (accounts[_i].is_full)
        add_all(&fixture);
    if (accounts[_i].is_several)
        fixture.order.step =
            (struct berth_order_step){.component = 12, .is_several = true, .tasks = 1};
    if (accounts[_i].separate)
        fixture.explain.separate = accounts[_i].separate;
    assert_golden(&fixture.explain, accounts[_i].golden);
    teardown(&fixture);
}

static const struct {
    const char *request;
    const char *says;
} modes[] = {
    {"image=/a", "left alone (no --mpi-bind)"},
    {"image=/a&mpi-bind=hybrid",
     "the image's own MPI runs, over Slurm's process manager"},
    {"image=/a&mpi-bind=local-each",
     "the image's own mpirun, on the CPUs of its task, which sees nothing of Slurm"},
    {"image=/a&mpi-bind=launch",
     "the image's own mpirun, on the nodes of the job, which starts its ranks through "
     "the host's srun"},
    {"image=/a&mpi-bind=auto", "the command and the image have nothing to do with MPI"},
    {"", "as on the host"},
};

TEST_ROWS(a_mode_says_whose_mpi_runs, modes)
{
    BERTH_BUF struct berth_buf text = {0};
    struct fixture fixture;

    setup(&fixture, modes[_i].request);
    berth_explain_mpi(&fixture.explain, &text);
    ck_assert_str_eq(text.text, modes[_i].says);
    teardown(&fixture);
}

static const struct {
    const char *host, *image, *other;
    const char *says;
} answers[] = {
    {"MPICH 4.2.1", "MPICH 4.0.2", NULL, "the host's MPICH 4.2.1 (image: 4.0.2)"},
    {"Open MPI 5.0.7", "Open MPI 4.1.4", NULL,
     "the host's Open MPI 5.0.7 (image: 4.1.4)"},
    {"Cray MPICH 8.1", "MPICH 4.0.2", NULL,
     "the host's Cray MPICH 8.1 (image: MPICH 4.0.2)"},
    {"MPICH 4.2.1", "MPICH", NULL, "the host's MPICH 4.2.1 (image: MPICH)"},
    {"MPICH 4.2.1", "MPICH 4.0.2", "Open MPI 4.1.4",
     "the host's MPICH 4.2.1 (image: MPICH 4.0.2 and Open MPI 4.1.4)"},
    {"MPICH 4.2.1", NULL, NULL, "the host's MPICH 4.2.1"},
    {NULL, "MPICH 4.0.2", NULL, "the image's MPICH 4.0.2"},
    {NULL, NULL, NULL, ""},
};

TEST_ROWS(the_answer_names_an_mpi_once, answers)
{
    BERTH_BUF struct berth_buf text = {0};
    struct fixture fixture;

    setup(&fixture, "image=/a&mpi-bind=auto");
    if (answers[_i].host)
        fixture.binding.host = strdup(answers[_i].host);
    if (answers[_i].image)
        add_fact(&fixture.binding, BERTH_FINDING_IMAGE_MPI, answers[_i].image);
    if (answers[_i].other)
        add_fact(&fixture.binding, BERTH_FINDING_IMAGE_MPI, answers[_i].other);
    berth_explain_answer(&fixture.explain, &text);
    ck_assert_str_eq(berth_buf_text(&text), answers[_i].says);
    teardown(&fixture);
}

/* The account of FIXTURE has EXPECTED somewhere. */
static void assert_says(const struct fixture *fixture, const char *expected)
{
    BERTH_BUF struct berth_buf text = {0};
    struct berth_err err;

    ck_assert_int_eq(berth_explain_write(&fixture->explain, &text, &err), 0);
    ck_assert_msg(strstr(text.text, expected), "expected\n%s\nin\n%s", expected,
                  text.text);
}

TEST(what_may_go_wrong_is_below_the_answer)
{
    struct fixture fixture;

    setup(&fixture, "image=/a&explain=text");
    fixture.binding.warning = strdup("each of the 4 tasks would be rank 0 of 1");
    assert_says(&fixture, "\n  MPI: left alone (no --mpi-bind)\n"
                          "    warning: each of the 4 tasks would be rank 0 of 1\n"
                          "  image: ");
    teardown(&fixture);
}

TEST(the_answer_stands_out_on_a_terminal)
{
    struct fixture fixture;

    setup(&fixture, "image=/a&explain=text");
    fixture.order.step.has_color = true;
    assert_says(
        &fixture,
        "\n  MPI: \033[1mleft alone (no --mpi-bind)\033[0m\n  image: not known\n");
    teardown(&fixture);
}

TEST(the_files_of_one_library_are_one_row)
{
    static const char reason[] = "the host's file replaces the image's";
    struct fixture fixture;

    setup(&fixture, "image=/a&explain=all");
    for (int i = 0; i < 3; i++) {
        BERTH_FREE char *from = unit_format("/stage/lib/libmpi%d.so", i);
        BERTH_FREE char *to = unit_format("/usr/lib/libmpi%d.so.12", i);

        berth_plan_mount(&fixture.explain.plan, from, to, BERTH_MOUNT_RO,
                         BERTH_FROM_MPI, reason);
    }
    for (int i = 0; i < 20; i++) {
        BERTH_FREE char *from = unit_format("/stage/glibc/lib%d.so", i);
        BERTH_FREE char *to = unit_format("/usr/lib/lib%d.so.6", i);

        berth_plan_mount(&fixture.explain.plan, from, to, BERTH_MOUNT_RO,
                         BERTH_FROM_MPI, reason);
    }
    assert_says(
        &fixture,
        "  mpi: the host's file replaces the image's\n"
        "    /stage/lib/libmpi0.so -> /usr/lib/libmpi0.so.12 (ro)\n"
        "    /stage/lib/libmpi1.so -> /usr/lib/libmpi1.so.12 (ro)\n"
        "    /stage/lib/libmpi2.so -> /usr/lib/libmpi2.so.12 (ro)\n"
        "    /stage/glibc/* -> /usr/lib/* (ro): 20 files: lib0.so.6, lib1.so.6, "
        "lib2.so.6, lib3.so.6, lib4.so.6, lib5.so.6 and 14 more\n\n");
    teardown(&fixture);
}

TEST(what_could_not_be_looked_at_is_not_denied)
{
    BERTH_BUF struct berth_buf text = {0};
    struct fixture fixture;

    setup(&fixture, "image=/a&mpi-bind=auto");
    fixture.explain.separate = "the runtime is installed setuid";
    berth_explain_mpi(&fixture.explain, &text);
    ck_assert_str_eq(text.text, "the image's own MPI runs (hybrid): berth can neither "
                                "mount into nor inspect a container of this kind");
    teardown(&fixture);
}

TEST(a_change_is_of_the_runtime_or_of_the_image)
{
    BERTH_STRVEC struct berth_strvec changes = {0};
    struct fixture fixture;
    struct berth_explain *explain = &fixture.explain;

    setup(&fixture, "image=/a");
    berth_strvec_push(&changes, "B=3");
    berth_strvec_push(&changes, "APPTAINER_NAME=a");
    berth_strvec_push(&changes, "D=");
    berth_strvec_push(&changes, "C");
    berth_plan_set(&explain->plan, &changes, BERTH_FROM_IMAGE, "so");
    ck_assert_uint_eq(explain->plan.variables.count, 3);
    ck_assert_str_eq(explain->plan.variables.items[0].name, "B");
    ck_assert_str_eq(explain->plan.variables.items[0].value, "3");
    ck_assert_str_eq(explain->plan.variables.items[1].name, "D");
    ck_assert_str_eq(explain->plan.variables.items[1].value, "");
    ck_assert_str_eq(explain->plan.variables.items[2].name, "C");
    ck_assert_ptr_null(explain->plan.variables.items[2].value);
    berth_plan_set(&explain->plan, &changes, BERTH_FROM_RUNTIME, "so");
    ck_assert_uint_eq(explain->plan.variables.count, 4);
    ck_assert_str_eq(explain->plan.variables.items[3].name, "APPTAINER_NAME");
    berth_plan_set(&explain->plan, &changes, BERTH_FROM_BERTH, "so");
    ck_assert_uint_eq(explain->plan.variables.count, 8);
    teardown(&fixture);
}

static const struct {
    size_t plain;    /* bytes in front of */
    const char *end; /* this */
    size_t length;   /* of what is left, "..." included */
} cuts[] = {
    {800, "", 800},  {801, "", 800}, {799, "", 799}, {796, "\xc3\xa9zzzz", 799},
    {5000, "", 800},
};

TEST_ROWS(a_long_text_is_cut_between_characters, cuts)
{
    BERTH_FREE char *text = NULL;
    BERTH_JSON struct berth_json json = {.is_text = true, .longest = 800};
    const char *cut;
    char plain[5001];

    memset(plain, 'x', sizeof(plain) - 1);
    plain[cuts[_i].plain] = '\0';
    text = unit_format("%s%s", plain, cuts[_i].end);
    berth_json_linef(&json, "%s", text);
    json.text.text[json.text.used - 1] = '\0'; /* the end of the line */
    cut = json.text.text;
    ck_assert_uint_eq(strlen(cut), cuts[_i].length);
    if (strlen(text) > 800)
        ck_assert_str_eq(cut + strlen(cut) - 3, "...");
}

static const struct {
    const char *text;
    const char *joined;
} joins[] = {
    {"0: {}\n1: {}\n", "[\n  {},\n  {}\n]\n"},
    {"10: {}\n9: {\n9: }\n", "[\n  {\n  },\n  {}\n]\n"},
    {"1: {\n0: {\n1: 1}\n0: 0}\n", "[\n  {\n  0},\n  {\n  1}\n]\n"},
    {"0: {}", "[\n  {}\n]\n"},
    {"", ""},
    {"0: {}\n0 {}\n", "0: {}\n0 {}\n"},
    {"n1: {}\n", "n1: {}\n"},
    {"0: 1: {}\n", "0: 1: {}\n"},
};

TEST_ROWS(components_are_joined_by_their_numbers, joins)
{
    BERTH_BUF struct berth_buf text = {0};

    berth_explain_join(joins[_i].text, &text);
    ck_assert_str_eq(berth_buf_text(&text), joins[_i].joined);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What berth qualify makes of what nodes have said, and its page. */

#include <stdio.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "qualify/answers.h"
#include "qualify/checks.h"
#include "qualify/session.h"

#include "unit.h"

START_TEST(profiles_are_offers)
{
    struct berth_offer offers[BERTH_OFFERS];
    BERTH_BUF struct berth_buf text = {0};
    char many[2000] = "";

    ck_assert_uint_eq(
        berth_offers_read(
            "openmpi: Open MPI 5.0.7, of the family Open MPI, found by the loader\n"
            "  /lib/libmpi.so.40: C\n"
            "  profile: x, the site's\n"
            "  stage: none yet\n"
            "blas: libopenblas.so.0, libraries, found by the loader\n"
            "  profile: blas, the site's\n"
            "ucx: libucp.so.0.0.0, a fabric, found by the loader\n"
            "  /lib/libucp.so.0\n"
            "blas: libopenblas.so.0, libraries, found by the loader\n"
            "  profile: blas, the site's\n"
            "no MPI found on this host; load its module, or set MPI_HOME\n",
            offers),
        2);
    ck_assert_str_eq(offers[0].name, "openmpi");
    ck_assert_str_eq(offers[0].family, "Open MPI");
    ck_assert_str_eq(offers[1].name, "ucx");
    ck_assert_str_eq(offers[1].family, "");
    ck_assert(offers[0].is_named && !offers[1].is_named);
    ck_assert_int_eq(berth_offers_judge(offers, 2, &text), BERTH_CHECK_OK);
    ck_assert_str_eq(text.text, "openmpi (Open MPI 5.0.7), ucx (libucp.so.0.0.0)");
    berth_buf_puts(&text, "\n");
    ck_assert_int_eq(berth_offers_judge(&offers[1], 1, &text), BERTH_CHECK_NOTE);
    berth_buf_puts(&text, "\n");
    ck_assert_int_eq(berth_offers_judge(offers, 0, &text), BERTH_CHECK_NOTE);
    ck_assert_str_eq(
        strchr(text.text, '\n'),
        "\nucx (libucp.so.0.0.0); no MPI of the host; berth profiles there "
        "has the remedy\nno MPI of the host; berth profiles there has the "
        "remedy");
    for (int i = 0; i < BERTH_OFFERS + 3; i++)
        strcat(many, "x: y, a fabric, found by the loader\n");
    ck_assert_uint_eq(berth_offers_read(many, offers), BERTH_OFFERS);
    ck_assert(berth_offer_fits("MPICH", "MPICH Version: 4.2.1"));
    ck_assert(berth_offer_fits("Open MPI", "Open MPI v5.0.7"));
    ck_assert(!berth_offer_fits("Open MPI", "MPICH Version: 4.2.1"));
    ck_assert(!berth_offer_fits("MPICH", "Open MPI v5.0.7"));
}
END_TEST

static const struct {
    const char *file, *library, *settings;
} choices[] = {
    {"libfabric.so.1.27.0", "Open MPI v5.0.7",
     "OMPI_MCA_pml=cm,OMPI_MCA_mtl=ofi,OMPI_MCA_mtl_ofi_provider_exclude=shm"},
    {"libucp.so.0.0.0", "Open MPI v4.1.4",
     "OMPI_MCA_pml=ucx,OMPI_MCA_pml_ucx_tls=any,OMPI_MCA_pml_ucx_devices=any"},
    {"libnccl-net.so", "Open MPI v5.0.7", NULL},
    {"libfabric.so.1.27.0", "MPICH Version: 4.2.1", NULL},
    {"libfabric.so.1.27.0", "", NULL},
};

START_TEST(a_fabric_is_chosen_by_variables)
{
    struct berth_offer offer = {.name = "x"};
    const char *settings;

    snprintf(offer.version, sizeof(offer.version), "%s", choices[_i].file);
    settings = berth_offer_settings(&offer, choices[_i].library);
    ck_assert_str_eq(settings ? settings : "-",
                     choices[_i].settings ? choices[_i].settings : "-");
}
END_TEST

static void hear_nothing(const struct berth_check *check, void *told)
{
    (void)check;
    (void)told;
}

static const struct {
    bool has_profile;
    const char *setting; /* mpi.fabric */
    enum berth_check_result result;
    const char *text;
} fabrics[] = {
    {false, NULL, BERTH_CHECK_NOTE,
     "error: no endpoint; the site does not name this fabric, so this is a note"},
    {false, "auto", BERTH_CHECK_NOTE,
     "error: no endpoint; the site does not name this fabric, so this is a note"},
    {false, "ucx", BERTH_CHECK_FAIL, "error: no endpoint"},
    {true, NULL, BERTH_CHECK_FAIL, "error: no endpoint"},
};

/* srun is a script, under which all works but the fabric. */
START_TEST(only_a_fabric_that_the_site_names_must_work)
{
    BERTH_FREE char *srun = unit_path(unit_dir, "srun");
    const struct berth_qualify asked = {.seconds = 60, .tell = hear_nothing};
    struct berth_session session = {
        .asked = &asked,
        .terms = {.mpi = {.fabric = (char *)fabrics[_i].setting}},
        .offers = {{.name = "ucx",
                    .version = "libucp.so.0",
                    .is_named = fabrics[_i].has_profile}},
        .offer_count = 1};
    struct berth_working working;
    struct berth_err err;

    unit_script(srun, "case \"$*\" in *container-fabric=ucx*)\n"
                      "    echo 'error: no endpoint' >&2; exit 1;;\n"
                      "esac\n"
                      "echo berth-qualify library Open MPI v5.0.7\n"
                      "case \"$*\" in *speed) printf 'berth-qualify %s 1\\n' latency "
                      "bandwidth; exit;; esac\n"
                      "echo berth-qualify ring 2 1\n");
    session.site = (struct berth_trial_site){
        .srun = srun, .job = "1", .prefix = "", .nodes = &session.nodes};
    berth_strvec_push(&session.nodes, "n1");
    berth_strvec_push(&session.types, "pmix");
    ck_assert_int_eq(
        berth_stage_rings(&session, "a.sif", "/p", "Open MPI", &working, &err), 0);
    ck_assert_uint_eq(session.checks.count, 3);
    ck_assert_str_eq(session.checks.items[1].about,
                     "ring, a.sif, its own MPI on the host's ucx, pmix");
    ck_assert_int_eq(session.checks.items[1].result, fabrics[_i].result);
    ck_assert_str_eq(session.checks.items[1].text, fabrics[_i].text);
    ck_assert_str_eq(working.own.type, "pmix");
    /* The same where its ring has passed, and the longer messages do not. */
    working.fabrics[working.fabric_count++] =
        (struct berth_fabric){.found = working.own,
                              .name = "ucx",
                              .is_unnamed = fabrics[_i].result == BERTH_CHECK_NOTE};
    ck_assert_int_eq(berth_stage_speeds(&session, "a.sif", "/p", &working, &err), 0);
    ck_assert_uint_eq(session.checks.count, 5);
    ck_assert_int_eq(session.checks.items[3].result, fabrics[_i].result);
    ck_assert_ptr_nonnull(strstr(session.checks.items[3].text,
                                 "; the image's own on "
                                 "the host's ucx: error: no endpoint"));
    berth_checks_fini(&session.checks);
    berth_strvec_fini(&session.nodes);
    berth_strvec_fini(&session.types);
}
END_TEST

static const struct {
    const char *said;
    const char *types;
} types[] = {
    {"MPI plugin types are...\n\tnone\n\tpmix\n\tpmi2\n"
     "specific pmix plugin versions available: pmix_v5\n",
     "pmix\npmi2\n"},
    {"srun: MPI types are...\nsrun: none\nsrun: pmi2\n", "pmi2\n"},
    {"srun: error: no such thing\n", ""},
    {"MPI plugin types are...", ""},
};

START_TEST(the_types_of_srun_are_read)
{
    BERTH_STRVEC struct berth_strvec seen = {0};
    BERTH_FREE char *text = NULL;

    berth_types_read(types[_i].said, &seen);
    text = unit_lines(&seen);
    ck_assert_str_eq(text, types[_i].types);
}
END_TEST

START_TEST(a_version_of_pmix_is_a_type)
{
    static const char said[] =
        "MPI plugin types are...\n\tnone\n\tpmix\n"
        "specific pmix plugin versions available: pmix_v4,pmix_v5\n";

    ck_assert(berth_types_have_version(said, "pmix_v4"));
    ck_assert(berth_types_have_version(said, "pmix_v5"));
    ck_assert(!berth_types_have_version(said, "pmix_v"));
    ck_assert(!berth_types_have_version(said, "none"));
    ck_assert(!berth_types_have_version(said, ""));
    ck_assert(!berth_types_have_version("", "pmix_v4"));
}
END_TEST

static const struct {
    const char *brief;
    enum berth_check_result result;
    const char *text;
} briefs[] = {
    {"", BERTH_CHECK_FAIL, "berth doctor says nothing"},
    {"berth=0.1.0 plugin=24.11 slurm=24.11.5 runtime=a setuid=no mpi=m wrong=none\n",
     BERTH_CHECK_OK,
     "berth=0.1.0 slurm=24.11.5 plugin=24.11 runtime=a setuid=no mpi=m"},
    {"berth=0.1.0 wrong=berth's_programs,runtime\n", BERTH_CHECK_FAIL,
     "wrong: berth's_programs,runtime; berth doctor on that node has the remedy"},
    {"welcome to n1\nberth=0.1.0 setuid=no wrong=none\nbye\n", BERTH_CHECK_OK,
     "berth=0.1.0 setuid=no"},
    {"berth=0.1.0\n", BERTH_CHECK_FAIL,
     "wrong: ; berth doctor on that node has the remedy"},
};

START_TEST(a_node_is_judged_by_its_doctor)
{
    BERTH_BUF struct berth_buf text = {0};

    ck_assert_int_eq(berth_brief_judge(briefs[_i].brief, &text), briefs[_i].result);
    ck_assert_str_eq(text.text, briefs[_i].text);
}
END_TEST

static const struct {
    const char *first, *second;
    enum berth_check_result result;
    const char *text;
} pairs[] = {
    {"berth=1 slurm=2 config=3", "berth=1 slurm=2 config=3", BERTH_CHECK_OK,
     "2 nodes have the same berth, Slurm, settings, runtime and MPI"},
    {"berth=1 slurm=2", "berth=2 slurm=3", BERTH_CHECK_FAIL,
     "n1 has berth=1, and n2 berth=2; n1 has slurm=2, and n2 slurm=3"},
    {"", "", BERTH_CHECK_SKIP, "no node has told what it has"},
    {"", "berth=1", BERTH_CHECK_FAIL, "n1 has berth=?, and n2 berth=1"},
    {"berth=1 config=3", "berth=1", BERTH_CHECK_NOTE,
     "n1 has config=3, and n2 config=?"},
};

START_TEST(nodes_are_compared)
{
    BERTH_STRVEC struct berth_strvec nodes = {0}, lines = {0};
    BERTH_BUF struct berth_buf text = {0};

    berth_lines_read("n1\nscontrol: warning: n3\n\nn2\n", &nodes);
    ck_assert_uint_eq(nodes.count, 2);
    berth_strvec_push(&lines, pairs[_i].first);
    berth_strvec_push(&lines, pairs[_i].second);
    ck_assert_int_eq(berth_brief_compare(&nodes, &lines, &text), pairs[_i].result);
    ck_assert_str_eq(text.text, pairs[_i].text);
}
END_TEST

START_TEST(an_extern_step_is_a_flag)
{
    ck_assert(berth_config_has_extern("PrologFlags   = Alloc,Contain\n"));
    ck_assert(berth_config_has_extern("PrologFlags   = X11\n"));
    ck_assert(!berth_config_has_extern("PrologFlags   = Alloc\nx = contain\n"));
    ck_assert(!berth_config_has_extern("contain"));
}
END_TEST

START_TEST(what_works_with_one_type_is_no_failure)
{
    struct berth_checks checks = {0};
    BERTH_BUF struct berth_buf text = {0};
    BERTH_JSON struct berth_json json = {0};
    struct berth_err err;

    ck_assert_int_eq(
        berth_checks_add(&checks, BERTH_CHECK_FAIL, "a", "b\033[0m", "c", &err), 0);
    ck_assert_int_eq(berth_checks_add(&checks, BERTH_CHECK_FAIL, "d", "e", NULL, &err),
                     0);
    ck_assert_int_eq(berth_checks_add(&checks, BERTH_CHECK_FAIL, "h", "i", NULL, &err),
                     0);
    checks.items[2].stays = true;
    berth_checks_settle(&checks, 0);
    ck_assert_uint_eq(berth_checks_count(&checks, BERTH_CHECK_FAIL), 3);
    ck_assert_int_eq(berth_checks_add(&checks, BERTH_CHECK_OK, "f", "g", "k", &err), 0);
    berth_checks_settle(&checks, 1);
    for (size_t i = 0; i < checks.count; i++)
        berth_check_put(&checks.items[i], false, &text);
    berth_check_put(&checks.items[3], true, &text);
    berth_checks_sum(&checks, &text);
    ck_assert_str_eq(text.text, "fail  a: b\\x1b[0m\n      again: c\nnote  d: e\n"
                                "fail  h: i\nok    f: g\nok    f: g\n      again: k\n"
                                "4 checks: 1 ok, 1 note, 0 skipped, 2 failed");
    berth_json_object(&json, NULL);
    berth_checks_json(&checks, &json);
    berth_json_end(&json);
    ck_assert(strstr(json.text.text,
                     "{\"result\":\"note\",\"about\":\"d\",\"text\":\"e\","
                     "\"command\":null,\"network\":null,\"figures\":[]}"));
    berth_checks_fini(&checks);
}
END_TEST

START_TEST(figures_are_numbers_in_json)
{
    const struct berth_figures figures = {.unit = "us",
                                          .count = 3,
                                          .items = {{.way = "native", .value = 2},
                                                    {.way = "not measured"},
                                                    {.way = "own", .value = 3.0004}}};
    struct berth_checks checks = {0};
    BERTH_JSON struct berth_json json = {0};
    struct berth_err err;

    ck_assert_int_eq(berth_checks_add(&checks, BERTH_CHECK_OK, "a", "b", NULL, &err),
                     0);
    checks.items[0].figures = figures;
    snprintf(checks.items[0].network, sizeof(checks.items[0].network), "cxi");
    berth_json_object(&json, NULL);
    berth_checks_json(&checks, &json);
    checks.items[0].figures.items[0].value = 0;
    berth_checks_json(&checks, &json);
    berth_json_end(&json);
    ck_assert(strstr(json.text.text,
                     "\"network\":\"cxi\",\"figures\":[{\"way\":\"native\",\"value\":2."
                     "000,\"unit\":\"us\","
                     "\"ratio\":1.000},{\"way\":\"own\",\"value\":3.000,\"unit\":"
                     "\"us\",\"ratio\":1.500}]}"));
    ck_assert(strstr(json.text.text,
                     "\"figures\":[{\"way\":\"own\",\"value\":3.000,\"unit\":\"us\","
                     "\"ratio\":null}]}"));
    berth_checks_fini(&checks);
}
END_TEST

static const struct {
    enum berth_check_result first, second;
    const char *untried;
    bool has_one_node, is_qualified;
    const char *text;
} verdicts[] = {
    {BERTH_CHECK_OK, BERTH_CHECK_NOTE, NULL, false, true, "qualified"},
    {BERTH_CHECK_OK, BERTH_CHECK_SKIP, NULL, false, true, "qualified"},
    {BERTH_CHECK_OK, BERTH_CHECK_OK, NULL, true, true,
     "qualified on one node; nothing was tried between nodes"},
    {BERTH_CHECK_OK, BERTH_CHECK_SKIP, "MPI was not tried in a.sif: x", true, false,
     "not qualified: MPI was not tried in a.sif: x"},
    {BERTH_CHECK_FAIL, BERTH_CHECK_OK, NULL, false, false,
     "not qualified: 1 check failed"},
    {BERTH_CHECK_FAIL, BERTH_CHECK_FAIL, "MPI was not tried in a.sif: x", false, false,
     "not qualified: 2 checks failed"},
};

START_TEST(a_site_is_qualified_if_mpi_was_tried_and_nothing_failed)
{
    struct berth_checks checks = {.has_one_node = verdicts[_i].has_one_node};
    BERTH_BUF struct berth_buf text = {0};
    struct berth_err err;

    ck_assert_int_eq(
        berth_checks_add(&checks, verdicts[_i].first, "a", "b", NULL, &err), 0);
    ck_assert_int_eq(
        berth_checks_add(&checks, verdicts[_i].second, "c", "d", NULL, &err), 0);
    if (verdicts[_i].untried)
        berth_buf_puts(&checks.untried, verdicts[_i].untried);
    ck_assert(berth_checks_verdict(&checks, &text) == verdicts[_i].is_qualified);
    ck_assert_str_eq(text.text, verdicts[_i].text);
    berth_checks_fini(&checks);
}
END_TEST

static const struct {
    const char *said;
    bool is_named;
    unsigned int count;
} partitions[] = {
    {"", false, 0},
    {"debug* 1\n", false, 1},
    {"debug* 1\nlong 4\n", false, 1},
    {"debug* 1\ndebug* 2\n", false, 3},
    {"long 1\n", false, 0},
    {"long 1\n", true, 1},
    {"sinfo: error: 1\nlong one\n\nlong 1 2\nlong 1", true, 0},
};

START_TEST(a_partition_has_nodes_in_each_state)
{
    ck_assert_uint_eq(
        berth_partition_nodes(partitions[_i].said, partitions[_i].is_named),
        partitions[_i].count);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("qualify");

    unit_in_directory(tcase);
    tcase_add_test(tcase, profiles_are_offers);
    tcase_add_loop_test(tcase, only_a_fabric_that_the_site_names_must_work, 0,
                        COUNT(fabrics));
    tcase_add_loop_test(tcase, a_fabric_is_chosen_by_variables, 0, COUNT(choices));
    tcase_add_loop_test(tcase, the_types_of_srun_are_read, 0, COUNT(types));
    tcase_add_test(tcase, a_version_of_pmix_is_a_type);
    tcase_add_loop_test(tcase, a_node_is_judged_by_its_doctor, 0, COUNT(briefs));
    tcase_add_loop_test(tcase, nodes_are_compared, 0, COUNT(pairs));
    tcase_add_test(tcase, an_extern_step_is_a_flag);
    tcase_add_test(tcase, what_works_with_one_type_is_no_failure);
    tcase_add_test(tcase, figures_are_numbers_in_json);
    tcase_add_loop_test(tcase, a_site_is_qualified_if_mpi_was_tried_and_nothing_failed,
                        0, COUNT(verdicts));
    tcase_add_loop_test(tcase, a_partition_has_nodes_in_each_state, 0,
                        COUNT(partitions));
    return unit_run("qualify", tcase);
}

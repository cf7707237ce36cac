/* SPDX-License-Identifier: Apache-2.0 */
/* What berth qualify makes of what steps and nodes have said. */

#include <stdio.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "qualify/answers.h"
#include "qualify/checks.h"
#include "qualify/measured.h"
#include "qualify/qualify.h"
#include "qualify/trial.h"

#include "unit.h"

static const struct {
    const char *said;
    const char
        *seen; /* library, cma, ranks, nodes, rings, latency, bandwidth, devices */
} results[] = {
    {NULL, "||0 0 0 0.0 0.0 -"},
    {"", "||0 0 0 0.0 0.0 -"},
    {"berth-qualify library MPICH Version:      4.2.1\nberth-qualify cma yes\nnoise\n"
     "berth-qualify ring 4 2\n",
     "MPICH Version: 4.2.1|yes|4 2 1 0.0 0.0 -"},
    {"berth-qualify library Open MPI v4.1.4, package: Debian\n"
     "berth-qualify cma no Operation not permitted\n",
     "Open MPI v4.1.4|Operation not permitted|0 0 0 0.0 0.0 -"},
    {"berth-qualify ring 1 1\nberth-qualify ring 1 1\n", "||1 1 2 0.0 0.0 -"},
    {"berth-qualify latency 1.5\nberth-qualify bandwidth 12000.0\n",
     "||0 0 0 1.5 12000.0 -"},
    {"berth-qualify device /dev/cxi0\nberth-qualify device /dev/cxi1",
     "||0 0 0 0.0 0.0 /dev/cxi0 /dev/cxi1"},
};

START_TEST(a_program_says_what_it_measured)
{
    struct berth_measured seen;
    struct berth_err err;
    char text[512];

    ck_assert_int_eq(berth_measured_read(results[_i].said, &seen, &err), 0);
    snprintf(text, sizeof(text), "%s|%s|%d %d %d %.1f %.1f %s", seen.library, seen.cma,
             seen.ranks, seen.nodes, seen.rings, seen.latency, seen.bandwidth,
             seen.devices.text ? seen.devices.text : "-");
    ck_assert_str_eq(text, results[_i].seen);
    berth_measured_fini(&seen);
}
END_TEST

static const char *const strange[] = {
    "berth-qualify ",
    "berth-qualify ring",
    "berth-qualify ring 4",
    "berth-qualify ring 4 x",
    "berth-qualify ring 4 2 1",
    "berth-qualify ring 2 4",
    "berth-qualify ring 0 0",
    "berth-qualify cma maybe",
    "berth-qualify latency 0",
    "berth-qualify latency -1",
    "berth-qualify latency nan",
    "berth-qualify latency 1s",
    "berth-qualify bandwidth inf",
    "berth-qualify speed 1",
    "berth-qualify library ",
};

START_TEST(what_is_not_a_result_is_told)
{
    struct berth_measured seen;
    struct berth_err err;
    char wanted[128];

    ck_assert_int_eq(berth_measured_read(strange[_i], &seen, &err), -1);
    snprintf(wanted, sizeof(wanted), "the program says '%s', which is not a result",
             strange[_i]);
    ck_assert_str_eq(err.text, wanted);
    berth_measured_fini(&seen);
}
END_TEST

#define NOTE "berth: n1: note: image '/i': --mpi-bind=host: "

static const struct {
    const char *log;
    const char *seen; /* ranks/of host|between|within|provider|sentence|last */
} logs[] = {
    {NULL, "0/0 |||||"},
    {NOTE "2 of 2 ranks loaded the host's MPICH 4.2.1\n" NOTE
          "1 of 2 ranks loaded the host's MPICH 4.2.1; 1 use the network\n",
     "3/4 MPICH 4.2.1|||||"},
    {NOTE "none of 2 ranks was seen to load an MPI library\n", "0/0 |||||"},
    {"[1795519295.779946] [n1:205  :0]      ucp_worker.c:1903 UCX  INFO    "
     "ucp_context_0 "
     "inter-node cfg#2 tag(tcp/eth0)  rma_am(tcp/eth0)\n"
     "[1795519295.7] [n1:205  :0]  ucp_worker.c:1903 UCX  INFO    ucp_context_0 "
     "intra-node cfg#1 tag(sysv/memory cma/memory)  rma(sysv/memory)\n"
     "[1795519295.7] [n1:205  :0]  ucp_worker.c:1903 UCX  INFO    ucp_context_0 "
     "self cfg#0 tag(self/memory)\n",
     "0/0 |tcp/eth0|sysv/memory cma/memory|||"},
    {"libfabric:364:1795519368::core:core:fi_getinfo():1:<info> x\n"
     "libfabric:364:1795519368::cxi:ep_ctrl:cxip_ep():1:<info> x\n"
     "libfabric:364:1795519368::ofi_rxm:ep_ctrl:rxm():1:<info> x\n"
     "libfabric:364:1795519368::ofi_mrail:fabric:mrail():285<info> x\n"
     "libfabric:ep_ctrl:x\n",
     "0/0 |||cxi||"},
    {"berth: n1: warning: a\nberth: n1: b; c\nberth: n2: d\nsrun: error: n1: e\n"
     "srun: Terminating\nberth-qualify cma yes\n",
     "0/0 ||||berth: n1: b; c|srun: error: n1: e"},
    {"slurmstepd-n1: error: execve(): mpicc: No such file\nsrun: error: n1: exit code "
     "2\n"
     "slurmstepd-n1: error: *** STEP 1.0 CANCELLED\n",
     "0/0 |||||slurmstepd-n1: error: execve(): mpicc: No such file"},
    {"srun: error: a\nsrun: error: b\n", "0/0 |||||srun: error: b"},
};

START_TEST(a_log_tells_what_ran)
{
    struct berth_witnessed seen = {.ranks = 0};
    char text[3000];

    berth_witnessed_read(logs[_i].log, &seen);
    snprintf(text, sizeof(text), "%d/%d %s|%s|%s|%s|%s|%s", seen.ranks, seen.of,
             seen.host, seen.between, seen.within, seen.provider, seen.sentence,
             seen.last);
    ck_assert_str_eq(text, logs[_i].seen);
}
END_TEST

enum { EXIT = 256 }; /* of a status */

#define RING(ranks, nodes)                                                             \
    "berth-qualify library MPICH 4\nberth-qualify ring " #ranks " " #nodes "\n"

static const struct {
    const char *image, *bind, *fabric;
    int status;
    bool is_late;
    const char *out, *log;
    enum berth_check_result result;
    const char *text;
} rings[] = {
    {NULL, NULL, NULL, 0, false, RING(4, 2), NULL, BERTH_CHECK_OK,
     "MPICH 4; the network is not told"},
    {"i", "host", NULL, 0, false, RING(4, 2) "berth-qualify device /dev/cxi0\n",
     NOTE "4 of 4 ranks loaded the host's MPICH 4", BERTH_CHECK_OK,
     "MPICH 4; 4 of 4 ranks have the host's MPICH 4; open: /dev/cxi0"},
    {"i", "hybrid", "ucx", 0, false, RING(4, 2),
     NOTE "4 of 4 ranks loaded the host's ucx\n"
          "UCX  INFO x inter-node cfg tag(rc_mlx5/0)\n"
          "UCX  INFO x intra-node cfg tag(sysv)\n",
     BERTH_CHECK_OK,
     "MPICH 4; 4 of 4 ranks have the host's ucx; UCX between nodes: rc_mlx5/0; on a "
     "node: sysv"},
    {"i", "hybrid", NULL, 0, false, RING(4, 2),
     "libfabric:1:1::tcp:ep_ctrl:f():1<info> x\n", BERTH_CHECK_OK,
     "MPICH 4; libfabric: tcp"},
    {"i", "host", NULL, 0, false, RING(4, 2),
     NOTE "2 of 4 ranks loaded the host's MPICH 4", BERTH_CHECK_FAIL,
     "the ring passed, and 2 of 4 ranks are known to have loaded what the host has"},
    {"i", "hybrid", "ucx", 0, false, RING(4, 2), NULL, BERTH_CHECK_NOTE,
     "the ring passed, and 0 of 4 ranks are known to have loaded what the host has"},
    {NULL, NULL, NULL, 0, false, RING(1, 1) RING(1, 1), NULL, BERTH_CHECK_FAIL,
     "each of 4 ranks is alone: its MPI does not speak this type"},
    {NULL, NULL, NULL, 0, false, RING(4, 1), NULL, BERTH_CHECK_FAIL,
     "a ring of 4 ranks on 1 nodes, and not of 4 on 2"},
    {NULL, NULL, NULL, 0, false, "", NULL, BERTH_CHECK_FAIL,
     "a ring of 0 ranks on 0 nodes, and not of 4 on 2"},
    {NULL, NULL, NULL, 0, true, RING(4, 2), NULL, BERTH_CHECK_FAIL,
     "it hangs: not done after 7 seconds"},
    {"i", "host", NULL, EXIT, false, "",
     "berth: n1: image 'i': --mpi-bind=host: too old; x\nsrun: error: y",
     BERTH_CHECK_NOTE, "berth: n1: image 'i': --mpi-bind=host: too old; x"},
    {"i", "host", NULL, EXIT, false, "",
     "berth: n1: image 'i': --site-mpi-bind=host: too old; x", BERTH_CHECK_NOTE,
     "berth: n1: image 'i': --site-mpi-bind=host: too old; x"},
    {"i", "host", NULL, EXIT, false, "",
     "berth: n1: image 'i': --container-x: no; choose --mpi-bind=hybrid",
     BERTH_CHECK_FAIL,
     "berth: n1: image 'i': --container-x: no; choose --mpi-bind=hybrid"},
    {"i", "host", NULL, EXIT, false, "",
     "berth: n1: image 'i': --mpi-bind=host: rank 0 runs with 'x'", BERTH_CHECK_FAIL,
     "berth: n1: image 'i': --mpi-bind=host: rank 0 runs with 'x'"},
    {"i", "host", NULL, EXIT, false, "",
     "berth: n1: --mpi-bind=host: it speaks PMI and the step has --mpi=pmix",
     BERTH_CHECK_FAIL,
     "berth: n1: --mpi-bind=host: it speaks PMI and the step has --mpi=pmix"},
    {NULL, NULL, NULL, EXIT * 127, false, "", "x: no libmpi.so.12\n", BERTH_CHECK_SKIP,
     "x: no libmpi.so.12"},
    {NULL, NULL, NULL, EXIT, false, "",
     "p: libc.so.6: version `GLIBC_2.38' not found (required by p)\n", BERTH_CHECK_SKIP,
     "p: libc.so.6: version `GLIBC_2.38' not found (required by p)"},
    {"i", NULL, NULL, EXIT * 3, false, "", NULL, BERTH_CHECK_FAIL, "exit status 3"},
    {"i", NULL, NULL, 9, false, "", NULL, BERTH_CHECK_FAIL, "signal 9"},
};

START_TEST(a_ring_is_judged_by_what_ran)
{
    const struct berth_trial trial = {.image = rings[_i].image,
                                      .bind = rings[_i].bind,
                                      .fabric = rings[_i].fabric,
                                      .nodes = 2,
                                      .each = 2};
    struct berth_outcome outcome = {
        .status = rings[_i].status, .is_late = rings[_i].is_late, .seconds = 7};
    BERTH_BUF struct berth_buf text = {0};
    struct berth_err err;

    ck_assert_int_eq(berth_measured_read(rings[_i].out, &outcome.measured, &err), 0);
    berth_witnessed_read(rings[_i].log, &outcome.witnessed);
    ck_assert_int_eq(berth_trial_judge(&trial, &outcome, &text), rings[_i].result);
    ck_assert_str_eq(text.text, rings[_i].text);
    berth_measured_fini(&outcome.measured);
}
END_TEST

static const struct {
    struct berth_trial trial;
    const char *shell;
} steps[] = {
    {{.mpi = "none", .nodes = 1, .each = 1, .command = {"true"}},
     "srun -p p -A 'an account' --chdir=/ --nodelist=n1 --nodes=1 --ntasks=1 "
     "--ntasks-per-node=1 --mpi=none "
     "true"},
    {{.image = "/my image.sif",
      .bind = "host",
      .mpi = "pmi2",
      .nodes = 2,
      .each = 2,
      .is_verbose = true,
      .command = {"/d/it's", "ring"}},
     "srun -p p -A 'an account' --chdir=/ --nodelist=n1,n2 --nodes=2 --ntasks=4 "
     "--ntasks-per-node=2 "
     "--mpi=pmi2 -v --export=ALL,UCX_LOG_LEVEL=info,FI_LOG_LEVEL=info "
     "'--b-container-image=/my image.sif' --b-mpi-bind=host "
     "--b-container-mounts=/d:/d '/d/it'\\''s' ring"},
    {{.image = "i",
      .bind = "hybrid",
      .fabric = "ucx",
      .lifetime = "job",
      .mpi = "pmix",
      .nodes = 1,
      .each = 2,
      .command = {"p"}},
     "srun -p p -A 'an account' --chdir=/ --nodelist=n1 --nodes=1 --ntasks=2 "
     "--ntasks-per-node=2 --mpi=pmix "
     "--b-container-image=i --b-mpi-bind=hybrid --b-container-fabric=ucx "
     "--b-container-lifetime=job --b-container-mounts=/d:/d p"},
};

START_TEST(a_step_is_a_command_to_type)
{
    BERTH_STRVEC struct berth_strvec nodes = {0}, words = {0};
    BERTH_BUF struct berth_buf text = {0};
    const struct berth_trial_site site = {.srun = "/bin/srun",
                                          .job = "12",
                                          .prefix = "b-",
                                          .directory = "/d",
                                          .partition = "p",
                                          .account = "an account",
                                          .nodes = &nodes};

    berth_strvec_push(&nodes, "n1");
    berth_strvec_push(&nodes, "n2");
    berth_strvec_push(&nodes, "n3");
    berth_trial_words(&steps[_i].trial, &site, &words);
    ck_assert_str_eq(words.items[0], "/bin/srun");
    ck_assert(berth_strvec_has(&words, "--jobid=12"));
    ck_assert(berth_strvec_has(&words, "--overlap"));
    berth_trial_shell(&words, &site, &text);
    ck_assert_str_eq(text.text, steps[_i].shell);
}
END_TEST

static const struct {
    struct berth_speeds speeds;
    bool is_more_better;
    enum berth_check_result result;
    const char *text;
} speeds[] = {
    {{0, 0, 0}, false, BERTH_CHECK_SKIP, "nothing was measured"},
    {{2, 0, 0}, false, BERTH_CHECK_OK, "native 2.00 us"},
    {{2, 2.5, 8},
     false,
     BERTH_CHECK_OK,
     "native 2.00 us, the host's MPI in the image 2.50 us (1.25), the image's own 8.00 "
     "us "
     "(4.00)"},
    {{2, 3, 0},
     false,
     BERTH_CHECK_NOTE,
     "native 2.00 us, the host's MPI in the image 3.00 us (1.50)"},
    {{900, 600, 0},
     true,
     BERTH_CHECK_NOTE,
     "native 900 us, the host's MPI in the image 600 us (0.67)"},
    {{600, 900, 0},
     true,
     BERTH_CHECK_OK,
     "native 600 us, the host's MPI in the image 900 us (1.50)"},
    {{0, 1, 2},
     true,
     BERTH_CHECK_OK,
     "the host's MPI in the image 1.00 us, the image's own 2.00 us"},
};

START_TEST(speeds_are_compared_with_native)
{
    BERTH_BUF struct berth_buf text = {0};

    ck_assert_int_eq(
        berth_trial_compare(&speeds[_i].speeds, speeds[_i].is_more_better, "us", &text),
        speeds[_i].result);
    ck_assert_str_eq(text.text, speeds[_i].text);
}
END_TEST

START_TEST(a_median_is_in_the_middle)
{
    double three[] = {3, 1, 2}, four[] = {9, 1, 2, 4}, one[] = {5};

    ck_assert_double_eq(berth_trial_median(three, 3), 2);
    ck_assert_double_eq(berth_trial_median(four, 4), 3);
    ck_assert_double_eq(berth_trial_median(one, 1), 5);
}
END_TEST

START_TEST(profiles_are_offers)
{
    struct berth_offer offers[BERTH_OFFERS];
    char many[2000] = "";

    ck_assert_uint_eq(
        berth_offers_read(
            "openmpi: Open MPI 5.0.7, of the family Open MPI, found by the loader\n"
            "  /lib/libmpi.so.40: C\n"
            "  profile: x, the site's\n"
            "  stage: none yet\n"
            "ucx: libucp.so.0.0.0, a fabric, found by the loader\n"
            "  /lib/libucp.so.0\n"
            "no MPI found on this host; load its module, or set MPI_HOME\n",
            offers),
        2);
    ck_assert_str_eq(offers[0].name, "openmpi");
    ck_assert_str_eq(offers[0].family, "Open MPI");
    ck_assert_str_eq(offers[1].name, "ucx");
    ck_assert_str_eq(offers[1].family, "");
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
                     "\"command\":null}"));
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

    tcase_add_loop_test(tcase, a_program_says_what_it_measured, 0, COUNT(results));
    tcase_add_loop_test(tcase, what_is_not_a_result_is_told, 0, COUNT(strange));
    tcase_add_loop_test(tcase, a_log_tells_what_ran, 0, COUNT(logs));
    tcase_add_loop_test(tcase, a_ring_is_judged_by_what_ran, 0, COUNT(rings));
    tcase_add_loop_test(tcase, a_step_is_a_command_to_type, 0, COUNT(steps));
    tcase_add_loop_test(tcase, speeds_are_compared_with_native, 0, COUNT(speeds));
    tcase_add_test(tcase, a_median_is_in_the_middle);
    tcase_add_test(tcase, profiles_are_offers);
    tcase_add_loop_test(tcase, the_types_of_srun_are_read, 0, COUNT(types));
    tcase_add_test(tcase, a_version_of_pmix_is_a_type);
    tcase_add_loop_test(tcase, a_node_is_judged_by_its_doctor, 0, COUNT(briefs));
    tcase_add_loop_test(tcase, nodes_are_compared, 0, COUNT(pairs));
    tcase_add_test(tcase, an_extern_step_is_a_flag);
    tcase_add_test(tcase, what_works_with_one_type_is_no_failure);
    tcase_add_loop_test(tcase, a_site_is_qualified_if_mpi_was_tried_and_nothing_failed,
                        0, COUNT(verdicts));
    tcase_add_loop_test(tcase, a_partition_has_nodes_in_each_state, 0,
                        COUNT(partitions));
    return unit_run("qualify", tcase);
}

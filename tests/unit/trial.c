/* SPDX-License-Identifier: Apache-2.0 */
/* What berth qualify makes of what its steps have said. */

#include <stdio.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "qualify/measured.h"
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
    {"berth-qualify device /dev/cxi10\nberth-qualify device /dev/cxi1\n"
     "berth-qualify device /dev/cxi1\nberth-qualify device /dev/cxi10",
     "||0 0 0 0.0 0.0 /dev/cxi10 /dev/cxi1"},
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
    const char
        *seen; /* ranks/of host|between|within|provider or opened|sentence|other */
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
    {"[n1:4334] mca: bml: Using self btl for send to [[5,3],0] on node n1\n"
     "[n1.x:4334] mca: bml: Using vader btl for send to [[5,3],1] on node n1\n"
     "[n1:4334] mca: bml: Using tcp btl for send to [[5,3],2] on node n11\n",
     "0/0 |tcp|vader|||"},
    {"UCX  INFO inter-node cfg#2 tag(rc_mlx5/0)\n"
     "[n1:4334] mca: bml: Using tcp btl for send to [[5,3],2] on node n2\n",
     "0/0 |rc_mlx5/0||||"},
    {"libfabric:364:1795519368::core:core:fi_getinfo():1:<info> x\n"
     "libfabric:364:1795519368::cxi:ep_ctrl:cxip_ep():1:<info> x\n"
     "libfabric:364:1795519368::ofi_rxm:ep_ctrl:rxm():1:<info> x\n"
     "libfabric:364:1795519368::ofi_mrail:fabric:mrail():285<info> x\n"
     "libfabric:ep_ctrl:x\n",
     "0/0 |||cxi||"},
    {"libfabric:9:17::core:core:fi_fabric_():1383<info> Opened fabric: cxi\n",
     "0/0 |||cxi||"},
    {"libfabric:9:17::core:core:fi_fabric_():1383<info> Opened fabric: 10.1.0.0/16\n",
     "0/0 |||||"},
    {"libfabric:9:17::core:core:fi_fabric_():13<info> Opened fabric: 10.1.0.0/16\n"
     "libfabric:9:17::core:core:fi_fabric_():14<info> Using tcp provider 2.1, path:/l\n"
     "libfabric:9:17::core:core:fi_fabric_():14<info> Using ofi_rxm provider 2.1, "
     "path:/l\n",
     "0/0 |||tcp||"},
    {"berth: n1: warning: a\nberth: n1: b; c\nberth: n2: d\nsrun: error: n1: e\n"
     "srun: Terminating\nberth-qualify cma yes\n",
     "0/0 ||||berth: n1: b; c|srun: error: n1: e"},
    {"slurmstepd-n1: error: execve(): mpicc: No such file\nsrun: error: n1: exit code "
     "2\n"
     "slurmstepd-n1: error: *** STEP 1.0 CANCELLED\n",
     "0/0 |||||slurmstepd-n1: error: execve(): mpicc: No such file"},
    {"srun: error: a\nsrun: error: b\n", "0/0 |||||srun: error: a"},
    {"srun: error: a\na\nwelcome\nqualify.c:10:10: fatal error: mpi.h: No such "
     "file\nbye\nld: "
     "error\n",
     "0/0 |||||qualify.c:10:10: fatal error: mpi.h: No such file"},
    {"module: error: x\nslurmstepd-n1: error: execve(): mpicc: No such file\n",
     "0/0 |||||slurmstepd-n1: error: execve(): mpicc: No such file"},
    {"error: x\nslurmstepd-n1: error: Detected 1 oom-kill event(s) in StepId=1.0.\n",
     "0/0 |||||slurmstepd-n1: error: Detected 1 oom-kill event(s) in StepId=1.0."},
    {"a\nb\nsrun: error: c\n", "0/0 |||||b"},
    {"Abort(1) on node 0: Fatal error in internal_Init: Other MPI error, error stack:\n"
     "internal_Init(66): MPI_Init() failed\nMPIDI_OFI_init(1): No data available\n",
     "0/0 |||||MPIDI_OFI_init(1): No data available"},
    {"note\n-----\nNo components were opened in the pml framework.\n\n  Host: "
     "n1\n-----\n*** An error occurred in MPI_Init\n",
     "0/0 |||||No components were opened in the pml framework."},
    {"[1] [n1:2:0] ucp_context.c:1 UCX  ERROR no usable transports\nb\n",
     "0/0 |||||[1] [n1:2:0] ucp_context.c:1 UCX  ERROR no usable transports"},
};

START_TEST(a_log_tells_what_ran)
{
    struct berth_witnessed seen = {.ranks = 0};
    char text[3000];

    berth_witnessed_read(logs[_i].log, &seen);
    snprintf(text, sizeof(text), "%d/%d %s|%s|%s|%s|%s|%s", seen.ranks, seen.of,
             seen.host, seen.between, seen.within,
             *seen.provider ? seen.provider : seen.opened, seen.sentence, seen.other);
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
    {NULL, NULL, NULL, 0, false, RING(4, 2),
     "[n1:4] mca: bml: Using tcp btl for send to [[5,3],2] on node n2\n"
     "[n1:4] mca: bml: Using sm btl for send to [[5,3],1] on node n1\n",
     BERTH_CHECK_OK, "MPICH 4; Open MPI between nodes: tcp; on a node: sm"},
    {"i", "hybrid", NULL, 0, false, RING(4, 2),
     "libfabric:1:1::tcp:ep_ctrl:f():1<info> x\n", BERTH_CHECK_OK,
     "MPICH 4; libfabric: tcp"},
    {"i", "host", NULL, 0, false, RING(4, 2),
     NOTE "2 of 4 ranks loaded the host's MPICH 4", BERTH_CHECK_FAIL,
     "the ring passed, and 2 of 4 ranks are known to have loaded what the host has"},
    {"i", "hybrid", "ucx", 0, false, RING(4, 2), NULL, BERTH_CHECK_NOTE,
     "the ring passed, but not on the host's ucx: 0 of 4 ranks have loaded it, so the "
     "image's MPI chose another way"},
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
     "berth: n1: image 'i': --mpi-bind=host: '/tmp/x': cannot be written: No space",
     BERTH_CHECK_FAIL,
     "berth: n1: image 'i': --mpi-bind=host: '/tmp/x': cannot be written: No space"},
    {"i", "host", NULL, EXIT, false, "",
     "berth: n1: image 'i': --mpi-bind=host: '/x': not done after 30 seconds; y",
     BERTH_CHECK_FAIL,
     "berth: n1: image 'i': --mpi-bind=host: '/x': not done after 30 seconds; y"},
    {"i", "host", NULL, EXIT, false, "",
     "berth: n1: image 'i': --mpi-bind=host: rank 0 runs with 'x'", BERTH_CHECK_FAIL,
     "berth: n1: image 'i': --mpi-bind=host: rank 0 runs with 'x'"},
    {"i", "host", NULL, EXIT, false, "",
     "berth: n1: --mpi-bind=host: it speaks PMI and the step has --mpi=pmix",
     BERTH_CHECK_FAIL,
     "berth: n1: --mpi-bind=host: it speaks PMI and the step has --mpi=pmix"},
    {NULL, NULL, NULL, EXIT * 127, false, "",
     "x: error while loading shared libraries: libmpi.so.12: y\n", BERTH_CHECK_SKIP,
     "x: error while loading shared libraries: libmpi.so.12: y"},
    {NULL, NULL, NULL, EXIT * 127, false, "",
     "x: symbol lookup error: x: undefined symbol: MPI_Init\n", BERTH_CHECK_SKIP,
     "x: symbol lookup error: x: undefined symbol: MPI_Init"},
    {NULL, NULL, NULL, EXIT * 2, false, "",
     "slurmstepd-n1: error: execve(): /d/image-1: No such file or directory\n",
     BERTH_CHECK_SKIP,
     "slurmstepd-n1: error: execve(): /d/image-1: No such file or directory"},
    {NULL, NULL, NULL, EXIT * 127, false, "", "x: gcc: not found\n", BERTH_CHECK_FAIL,
     "x: gcc: not found"},
    {"i", NULL, NULL, EXIT * 127, false, "",
     "x: error while loading shared libraries: libmpi.so.12: y\n", BERTH_CHECK_FAIL,
     "x: error while loading shared libraries: libmpi.so.12: y"},
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
    const char *image, *bind;
    bool is_late;
    const char *log;
    bool stays;
} failures[] = {
    {NULL, NULL, false, "x\n", false},
    {NULL, NULL, true, "x\n", true},
    {"i", "hybrid", false, "x\n", false},
    {"i", "mpich", false, "x\n", true},
    {"i", "mpich", false,
     "berth: n1: --mpi-bind=mpich: it speaks PMI-2 and the step has --mpi=pmix, so x\n",
     false},
};

START_TEST(a_type_that_the_hosts_mpi_speaks_has_to_work)
{
    const struct berth_trial trial = {.image = failures[_i].image,
                                      .bind = failures[_i].bind};
    struct berth_outcome outcome = {.status = EXIT, .is_late = failures[_i].is_late};

    berth_witnessed_read(failures[_i].log, &outcome.witnessed);
    ck_assert(berth_trial_stays(&trial, &outcome) == failures[_i].stays);
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
     "--mpi=pmi2 -v "
     "--export=ALL,UCX_LOG_LEVEL=info,FI_LOG_LEVEL=info,OMPI_MCA_btl_base_verbose=1 "
     "'--b-container-image=/my image.sif' --b-mpi-bind=host "
     "--b-container-mounts=/d:/d '/d/it'\\''s' ring"},
    {{.image = "i",
      .bind = "hybrid",
      .fabric = "ucx",
      .lifetime = "job",
      .settings = "A=1,B=2",
      .mpi = "pmix",
      .nodes = 1,
      .each = 2,
      .command = {"p"}},
     "srun -p p -A 'an account' --chdir=/ --nodelist=n1 --nodes=1 --ntasks=2 "
     "--ntasks-per-node=2 --mpi=pmix --export=ALL,A=1,B=2 "
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

/* native, the host's MPI in the image, the image's own, its own on a fabric */
static const struct {
    double values[4];
    bool is_more_better;
    enum berth_check_result result;
    const char *text;
} speeds[] = {
    {{0}, false, BERTH_CHECK_SKIP, "nothing was measured"},
    {{2}, false, BERTH_CHECK_OK, "native 2.00 us"},
    {{2, 2.5, 8},
     false,
     BERTH_CHECK_OK,
     "native 2.00 us, host 2.50 us (1.25), own 8.00 us (4.00)"},
    {{2, 3},
     false,
     BERTH_CHECK_NOTE,
     "native 2.00 us, host 3.00 us (1.50); slower than native by more than a third: "
     "host"},
    {{2, 3, 9, 4},
     false,
     BERTH_CHECK_NOTE,
     "native 2.00 us, host 3.00 us (1.50), own 9.00 us (4.50), own on ucx 4.00 us "
     "(2.00); "
     "slower than native by more than a third: host, own on ucx"},
    {{900, 600},
     true,
     BERTH_CHECK_NOTE,
     "native 900 us, host 600 us (0.67); slower than native by more than a third: "
     "host"},
    {{600, 900}, true, BERTH_CHECK_OK, "native 600 us, host 900 us (1.50)"},
    {{0, 1, 2}, true, BERTH_CHECK_OK, "host 1.00 us, own 2.00 us"},
};

START_TEST(speeds_are_compared_with_native)
{
    struct berth_figures figures = {
        .unit = "us",
        .is_more_better = speeds[_i].is_more_better,
        .count = 4,
        .items = {{.way = "native"},
                  {.way = "host", .is_judged = true},
                  {.way = "own"},
                  {.way = "own on ucx", .is_judged = true}}};
    BERTH_BUF struct berth_buf text = {0};

    for (int i = 0; i < 4; i++)
        figures.items[i].value = speeds[_i].values[i];
    ck_assert_int_eq(berth_trial_compare(&figures, &text), speeds[_i].result);
    ck_assert_str_eq(text.text, speeds[_i].text);
}
END_TEST

START_TEST(what_a_container_adds_to_a_start_is_a_sum)
{
    const struct berth_figures figures = {
        .unit = "s",
        .is_sum = true,
        .count = 3,
        .items = {{"host", 0.5, false}, {"image", 0.75, false}, {"kept", 0.25, false}}};
    BERTH_BUF struct berth_buf text = {0};

    ck_assert_int_eq(berth_trial_compare(&figures, &text), BERTH_CHECK_OK);
    ck_assert_str_eq(text.text,
                     "host 0.50 s, image 0.75 s (+0.25), kept 0.25 s (-0.25)");
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
int main(void)
{
    TCase *tcase = tcase_create("trial");

    tcase_add_loop_test(tcase, a_program_says_what_it_measured, 0, COUNT(results));
    tcase_add_loop_test(tcase, what_is_not_a_result_is_told, 0, COUNT(strange));
    tcase_add_loop_test(tcase, a_log_tells_what_ran, 0, COUNT(logs));
    tcase_add_loop_test(tcase, a_ring_is_judged_by_what_ran, 0, COUNT(rings));
    tcase_add_loop_test(tcase, a_type_that_the_hosts_mpi_speaks_has_to_work, 0,
                        COUNT(failures));
    tcase_add_loop_test(tcase, a_step_is_a_command_to_type, 0, COUNT(steps));
    tcase_add_loop_test(tcase, speeds_are_compared_with_native, 0, COUNT(speeds));
    tcase_add_test(tcase, what_a_container_adds_to_a_start_is_a_sum);
    tcase_add_test(tcase, a_median_is_in_the_middle);
    return unit_run("trial", tcase);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The words that start the runtime, compared with tests/golden: one argument a line. */

#include "plan/launch.h"

#include "base/cleanup.h"
#include "request/wire.h"
#include "unit.h"

static const char *const environment[] = {
    "PATH=/usr/bin",   "HOMELY=no",  "LANG=C.UTF-8",
    "EMPTY=",          "PWD=/run 1", "PMIX_SERVER_TMPDIR=/spool/pmix.1.0",
    "PALS_SPOOL_DIR=", NULL};
#define INIT "/proc/self/fd/5"

static const char *const command[] = {"./app", "-n", "a b", "", "--", NULL};

/* A launch with all members that do not come from the request. */
static struct berth_launch usual(const struct berth_request *request)
{
    return (struct berth_launch){
        .runtime = "/usr/bin/apptainer",
        .home = "/home/u",
        .directory = "/scratch/run 1",
        .request = request,
        .environment = (char *const *)environment,
        .command = (char *const *)command,
    };
}

static const struct {
    const char *golden;
    const char *request;
} launches[] = {
    {"launch-plain.txt", "image=/a.sif"},
    {"launch-mounts.txt", "image=/a.sif&mounts=/d:/d:rw&mounts=/x%20%22y%22:/z:ro"
                          "&mounts=/e.sqsh:/e:sqsh"},
    {"launch-workdir.txt", "image=/a.sif&workdir=/in%20side"},
    {"launch-home.txt", "image=/a.sif&mount-home="},
    {"launch-no-home.txt", "image=/a.sif&no-mount-home="},
    {"launch-writable.txt", "image=/a.sif&writable="},
    {"launch-entrypoint.txt", "image=/a.sif&entrypoint="},
    {"launch-args.txt", "image=/a.sif&args=--nv&args=--bind&args=/q"},
    {"launch-mpi.txt", "image=/a.sif&mpi-bind=hybrid"},
    {"launch-plain.txt", "image=/a.sif&mpi-bind=off"},
    {"launch-plain.txt", "image=/a.sif&mpi-bind=local"},
    {"launch-plain.txt", "image=/a.sif&mpi-bind=local-each"},
    {"launch-all.txt",
     "image=/sand%20box&mounts=/d:/d:rw&workdir=/w&no-mount-home=&writable=&"
     "entrypoint=&env=A%3D1&args=--nv"},
};

static void assert_golden(const struct berth_launch *launch, const char *name)
{
    BERTH_STRVEC struct berth_strvec argv = {0};
    BERTH_FREE char *golden = unit_golden(name);
    BERTH_FREE char *lines = NULL;
    struct berth_err err;

    ck_assert_int_eq(berth_launch_own_argv(launch, &argv, &err), 0);
    lines = unit_lines(&argv);
    ck_assert_msg(strcmp(lines, golden) == 0, "%s: expected\n%s---- and got\n%s", name,
                  golden, lines);
}

TEST_ROWS(a_request_becomes_the_golden_words, launches)
{
    BERTH_REQUEST struct berth_request request = {0};
    struct berth_launch launch = usual(&request);
    struct berth_err err;

    ck_assert_int_eq(berth_wire_get_request(launches[_i].request, &request, &err), 0);
    assert_golden(&launch, launches[_i].golden);
}

TEST(what_is_not_known_is_left_out)
{
    BERTH_REQUEST struct berth_request request = {0};
    struct berth_launch launch = usual(&request);
    struct berth_err err;

    ck_assert_int_eq(berth_wire_get_request("image=/a.sif&mount-home=", &request, &err),
                     0);
    launch.home = NULL;
    assert_golden(&launch, "launch-plain.txt");
}

TEST(a_user_whom_the_node_does_not_know)
{
    BERTH_REQUEST struct berth_request request = {0};
    struct berth_launch launch = usual(&request);

    request.image = strdup("/a.sif");
    launch.unknown_user = true;
    assert_golden(&launch, "launch-stranger.txt");
}

TEST(a_holder_in_an_outer_user_namespace)
{
    BERTH_REQUEST struct berth_request request = {0};
    BERTH_STRVEC struct berth_strvec argv = {0};
    BERTH_FREE char *golden = unit_golden("launch-outer.txt");
    BERTH_FREE char *lines = NULL;
    struct berth_launch launch = usual(&request);
    struct berth_err err;

    ck_assert_int_eq(
        berth_wire_get_request("image=/a.sif&args=-u&args=--nv&args=--userns&args=-un",
                               &request, &err),
        0);
    launch.account_home = "/home/of u";
    launch.is_outer = true;
    ck_assert_int_eq(berth_launch_holder_argv(&launch, INIT, 4, 5, 6, &argv, &err), 0);
    lines = unit_lines(&argv);
    ck_assert_str_eq(lines, golden);
}

TEST(a_driver_is_a_flag)
{
    BERTH_REQUEST struct berth_request request = {0};
    struct berth_launch launch = usual(&request);

    request.image = strdup("/a.sif");
    launch.gpu.flag = "--rocm";
    request.gpu = strdup("hpe.com/cxi=all");
    assert_golden(&launch, "launch-gpu.txt");
}

TEST(variables_to_unset_come_before_those_to_set)
{
    BERTH_REQUEST struct berth_request request = {0};
    BERTH_STRVEC struct berth_strvec env = {0};
    BERTH_FREE char *lines = NULL;
    struct berth_terms terms = {0};
    struct berth_err err;

    ck_assert_int_eq(
        berth_wire_get_request("image=/a.sif&env=LANG&env=MISSING&env=EMPTY&env=HOME&"
                               "env=SET%3Da,b%0Ac",
                               &request, &err),
        0);
    berth_strvec_push(&terms.unset, "LD_PRELOAD");
    berth_launch_env(&request, &terms, (char *const *)environment, &env);
    lines = unit_lines(&env);
    ck_assert_str_eq(lines, "LD_PRELOAD\nLANG=C.UTF-8\nEMPTY=\nSET=a,b\nc\n");
    berth_terms_fini(&terms);
}

TEST(words_go_behind_those_that_are_there)
{
    BERTH_REQUEST struct berth_request request = {0};
    BERTH_STRVEC struct berth_strvec argv = {0};
    struct berth_launch launch = usual(&request);
    struct berth_err err;

    request.image = strdup("/a.sif");
    berth_strvec_push(&argv, "first");
    ck_assert_int_eq(berth_launch_own_argv(&launch, &argv, &err), 0);
    ck_assert_str_eq(argv.items[0], "first");
    ck_assert_str_eq(argv.items[1], "/usr/bin/apptainer");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The sentences about ranks that have loaded the host's MPI, another one, or none. */

#include "witness/witness.h"

#include <string.h>

#include "unit.h"

/* R: right, W: wrong, A: alone, -: unknown; D: right, with a device, T: right, with
 * TCP. One letter for each rank. */
static void ranks_of(const char *letters, struct berth_rank ranks[])
{
    static const enum berth_rank_state states[] = {
        ['R'] = BERTH_RANK_RIGHT, ['W'] = BERTH_RANK_WRONG, ['A'] = BERTH_RANK_ALONE,
        ['D'] = BERTH_RANK_RIGHT, ['T'] = BERTH_RANK_RIGHT, ['-'] = BERTH_RANK_UNKNOWN};
    static const enum berth_network networks[128] = {
        ['D'] = BERTH_NETWORK_DEVICE, ['T'] = BERTH_NETWORK_TCP};

    for (unsigned int i = 0; letters[i]; i++)
        ranks[i] = (struct berth_rank){.pid = 100 + (int)i,
                                       .number = 10 + i,
                                       .path = (char *)"/tmp/libodd.so",
                                       .name = (char *)"MPICH 4.0.2",
                                       .state = states[(unsigned char)letters[i]],
                                       .network = networks[(unsigned char)letters[i]]};
}

#define WRONG                                                                          \
    " runs with '/tmp/libodd.so' (MPICH 4.0.2) and not with the host's MPICH 4.2.1"
#define ALONE " runs alone: the host's Open MPI 5.0.7 speaks PMIx; use srun --mpi=pmix"
#define REMEDY                                                                         \
    "; have it load the image's MPI, over which the host's is mounted, or choose "     \
    "--mpi-bind=hybrid"

static const struct {
    const char *ranks;
    bool must;
    const char *said; /* NULL: nothing */
    bool end;
} judged[] = {
    {"RR", true, NULL, false},
    {"--", true, NULL, false},
    {"R-", true, NULL, false},
    {"W", true, "rank 10" WRONG REMEDY, true},
    {"-WW", true, "rank 11" WRONG REMEDY, true},
    {"-W", false, "rank 11" WRONG REMEDY, false},
    {"RW", false, "rank 11" WRONG ", as other ranks on this node do" REMEDY, true},
    {"RW", true, "rank 11" WRONG ", as other ranks on this node do" REMEDY, true},
    {"AA", true, "rank 10" ALONE, true},
    {"-A", false, "rank 11" ALONE, false},
    {"RA", false, "rank 11" ALONE, true},
};

START_TEST(a_rank_with_another_mpi_is_named)
{
    struct berth_rank ranks[8];
    const struct berth_witness witness = {
        .must = judged[_i].must,
        .tasks = (unsigned int)strlen(judged[_i].ranks),
        .binding.host = (char *)"MPICH 4.2.1",
        .binding.because = (char *)"the host's Open MPI "
                                   "5.0.7 speaks PMIx; use "
                                   "srun --mpi=pmix"};
    struct berth_err said;
    bool end = false;

    ranks_of(judged[_i].ranks, ranks);
    ck_assert_int_eq(berth_witness_judge(&witness, ranks, &said, &end),
                     judged[_i].said != NULL);
    if (judged[_i].said)
        ck_assert_str_eq(said.text, judged[_i].said);
    ck_assert_int_eq(end, judged[_i].end);
}
END_TEST

#define TCP                                                                            \
    "rank 11 uses TCP between nodes, and none of the devices that the site's profile " \
    "names (/dev/net0, /dev/net1*); UCX_LOG_LEVEL=info or FI_LOG_LEVEL=info tells why"

static void add_devices(struct berth_witness *witness)
{
    berth_strvec_push(&witness->binding.opens, "/dev/net0");
    berth_strvec_push(&witness->binding.opens, "/dev/net1*");
}

static const struct {
    const char *ranks;
    const char *said;
} counted[] = {
    {"DTT-", "3 of 4 ranks loaded the host's MPICH 4.2.1, and no MPI was seen in the "
             "others; with a device open (/dev/net0, /dev/net1*): 1, with TCP between "
             "nodes: 2"},
    {"RR", "2 of 2 ranks loaded the host's MPICH 4.2.1"},
    {"R--", "1 of 3 ranks loaded the host's MPICH 4.2.1, and no MPI was seen in the "
            "others"},
    {"--", "none of 2 ranks was seen to load an MPI library"},
};

START_TEST(ranks_are_counted)
{
    struct berth_rank ranks[8];
    struct berth_witness witness = {.tasks = (unsigned int)strlen(counted[_i].ranks),
                                    .binding.host = (char *)"MPICH 4.2.1"};
    struct berth_err said;

    if (strchr(counted[_i].ranks, 'D'))
        add_devices(&witness);
    ranks_of(counted[_i].ranks, ranks);
    berth_witness_count(&witness, ranks, &said);
    ck_assert_str_eq(said.text, counted[_i].said);
    berth_strvec_fini(&witness.binding.opens);
}
END_TEST

static const struct {
    const char *ranks;
    const char *fabric;
    const char *said; /* NULL: nothing */
    bool end;
} networks[] = {
    {"DD", "auto", NULL, false}, {"R-", "required", NULL, false},
    {"DT", "auto", TCP, false},  {"DT", "required", TCP, true},
    {"DT", "ucx", TCP, true},    {"DT", NULL, TCP, false},
};

START_TEST(a_rank_that_uses_tcp_is_named)
{
    struct berth_rank ranks[8];
    const struct berth_order order = {
        .request = {.image = (char *)"/a.sif", .fabric = (char *)networks[_i].fabric}};
    struct berth_witness witness = {.order = &order,
                                    .tasks = (unsigned int)strlen(networks[_i].ranks),
                                    .binding.fabric = (char *)"libnet.so.1 (net)"};
    struct berth_err said;
    bool end = false;

    add_devices(&witness);
    ranks_of(networks[_i].ranks, ranks);
    ck_assert_int_eq(berth_witness_judge(&witness, ranks, &said, &end),
                     networks[_i].said != NULL);
    if (networks[_i].said)
        ck_assert_str_eq(said.text, networks[_i].said);
    ck_assert_int_eq(end, networks[_i].end);
    berth_strvec_fini(&witness.binding.opens);
}
END_TEST

static const struct {
    const char *ranks;
    bool has_mpi, has_others, misses;
} missed[] = {
    {"--", true, true, true},
    {"R-", true, true, false},
    {"--", false, true, false}, /* no program with MPI */
    {"--", true, false, false}, /* in shared memory they need none */
};

START_TEST(an_mpi_that_chooses_another_network_is_told)
{
    struct berth_rank ranks[8];
    const struct berth_witness witness = {.tasks = 2,
                                          .binding.is_under_mpi = true,
                                          .has_others = missed[_i].has_others,
                                          .binding.fabric =
                                              (char *)"libnet.so.1 (net)"};
    struct berth_err said;

    ranks_of(missed[_i].ranks, ranks);
    ranks[1].has_mpi = missed[_i].has_mpi;
    ck_assert_int_eq(berth_witness_judge_fabric(&witness, ranks, &said),
                     missed[_i].misses);
    if (missed[_i].misses)
        ck_assert_str_eq(said.text,
                         "no rank of this node was seen to load the host's libnet.so.1 "
                         "(net), so their MPI may use another network; "
                         "OMPI_MCA_pml_base_verbose=10 or UCX_LOG_LEVEL=info tells "
                         "which");
}
END_TEST

START_TEST(ranks_above_a_fabric_are_counted)
{
    struct berth_rank ranks[8];
    const struct berth_witness witness = {
        .tasks = 3, .binding.fabric = (char *)"libnet.so.1 (net)"};
    struct berth_err said;

    ranks_of("RR-", ranks);
    berth_witness_count(&witness, ranks, &said);
    ck_assert_str_eq(said.text, "2 of 3 ranks loaded the host's libnet.so.1 (net)");
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("witness");

    tcase_add_loop_test(tests, a_rank_with_another_mpi_is_named, 0, COUNT(judged));
    tcase_add_loop_test(tests, ranks_are_counted, 0, COUNT(counted));
    tcase_add_loop_test(tests, a_rank_that_uses_tcp_is_named, 0, COUNT(networks));
    tcase_add_loop_test(tests, an_mpi_that_chooses_another_network_is_told, 0,
                        COUNT(missed));
    tcase_add_test(tests, ranks_above_a_fabric_are_counted);
    return unit_run("witness", tests);
}

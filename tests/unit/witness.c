/* SPDX-License-Identifier: Apache-2.0 */
/* The sentences about ranks that have loaded the host's MPI, another one, or none. */

#include "bindover/witness.h"

#include <string.h>

#include "unit.h"

/* R: right, W: wrong, A: alone, -: unknown; One letter for each rank. */
static void ranks_of(const char *letters, struct berth_rank ranks[])
{
    static const enum berth_rank_state states[] = {['R'] = BERTH_RANK_RIGHT,
                                                   ['W'] = BERTH_RANK_WRONG,
                                                   ['A'] = BERTH_RANK_ALONE,
                                                   ['B'] = BERTH_RANK_BOTH,
                                                   ['-'] = BERTH_RANK_UNKNOWN};

    for (unsigned int i = 0; letters[i]; i++)
        ranks[i] = (struct berth_rank){.pid = 100 + (int)i,
                                       .number = 10 + i,
                                       .path = (char *)"/tmp/libodd.so",
                                       .name = (char *)"MPICH 4.0.2",
                                       .state = states[(unsigned char)letters[i]]};
}

#define WRONG                                                                          \
    " runs with '/tmp/libodd.so' (MPICH 4.0.2) and not with the host's MPICH 4.2.1"
#define ALONE " runs alone: the host's Open MPI 5.0.7 uses PMIx; use srun --mpi=pmix"
#define BOTH                                                                           \
    " has loaded '/tmp/libodd.so' (MPICH 4.0.2) beside the host's MPICH 4.2.1, and "   \
    "either may run; see LD_PRELOAD, or choose --mpi-bind=hybrid"
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
    {"RB", true, "rank 11" BOTH, false},
    {"BW", true, "rank 11" WRONG ", as other ranks on this node do" REMEDY, true},
    {"BW", false, "rank 11" WRONG ", as other ranks on this node do" REMEDY, true},
    {"RA", false, "rank 11" ALONE, true},
};

TEST_ROWS(a_rank_with_another_mpi_is_named, judged)
{
    struct berth_rank ranks[8];
    const struct berth_witness witness = {
        .must = judged[_i].must,
        .tasks = (unsigned int)strlen(judged[_i].ranks),
        .binding.host = (char *)"MPICH 4.2.1",
        .binding.because = (char *)"the host's Open MPI "
                                   "5.0.7 uses PMIx; use "
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

static const struct {
    const char *ranks;
    const char *said;
} counted[] = {
    {"RR", "2 of 2 ranks loaded the host's MPICH 4.2.1"},
    {"R--", "1 of 3 ranks loaded the host's MPICH 4.2.1, and no MPI was seen in the "
            "others"},
    {"--", "no rank of this node was seen to load an MPI library"},
};

TEST_ROWS(ranks_are_counted, counted)
{
    struct berth_rank ranks[8];
    struct berth_witness witness = {.tasks = (unsigned int)strlen(counted[_i].ranks),
                                    .binding.host = (char *)"MPICH 4.2.1"};
    struct berth_err said;

    ranks_of(counted[_i].ranks, ranks);
    berth_witness_count(&witness, ranks, &said);
    ck_assert_str_eq(said.text, counted[_i].said);
}

TEST(ranks_above_a_fabric_are_counted)
{
    struct berth_rank ranks[8];
    const struct berth_witness witness = {
        .tasks = 3, .binding.fabric = (char *)"libnet.so.1 (net)"};
    struct berth_err said;

    ranks_of("RR-", ranks);
    berth_witness_count(&witness, ranks, &said);
    ck_assert_str_eq(said.text, "2 of 3 ranks loaded the host's libnet.so.1 (net)");
}

TEST(libraries_beside_an_mpi_are_counted)
{
    struct berth_rank ranks[8];
    const struct berth_witness witness = {.tasks = 2,
                                          .binding.host = (char *)"MPICH 4.2.1",
                                          .binding.fabric = (char *)"libblas.so.3"};
    struct berth_err said;

    ranks_of("RR", ranks);
    ranks[1].has_libraries = true;
    berth_witness_count(&witness, ranks, &said);
    ck_assert_str_eq(said.text, "2 of 2 ranks loaded the host's MPICH 4.2.1; 1 loaded "
                                "the host's libblas.so.3");
}

static const struct {
    enum berth_rank_state state;
    bool has_ended;
    const char *host;
    long long pause; /* since the last inspection */
    bool due;
} dues[] = {
    {BERTH_RANK_UNKNOWN, false, "MPICH", 0, true},
    {BERTH_RANK_UNKNOWN, false, NULL, 0, true},
    {BERTH_RANK_RIGHT, false, "MPICH", 999, false},
    {BERTH_RANK_RIGHT, false, "MPICH", 1000, true},
    {BERTH_RANK_RIGHT, true, "MPICH", 0, true},
    {BERTH_RANK_RIGHT, false, NULL, 1000, false},
    {BERTH_RANK_WRONG, false, "MPICH", 1000, false},
};

TEST_ROWS(a_right_rank_is_inspected_once_a_second, dues)
{
    const struct berth_witness witness = {.binding.host = (char *)dues[_i].host};
    const struct berth_rank rank = {
        .state = dues[_i].state, .has_ended = dues[_i].has_ended, .inspected = 5000};

    ck_assert_int_eq(berth_witness_is_due(&witness, &rank, 5000 + dues[_i].pause),
                     dues[_i].due);
}

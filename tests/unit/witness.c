/* SPDX-License-Identifier: Apache-2.0 */
/* The sentences about ranks that have loaded the host's MPI, another one, or none. */

#include "bindover/witness.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ipc/channel.h"
#include "unit.h"

/* One letter for each rank: its state. */
static void ranks_of(const char *letters, struct berth_rank ranks[])
{
    static const enum berth_rank_state states[] = {
        ['R'] = BERTH_RANK_RIGHT,  ['W'] = BERTH_RANK_WRONG,
        ['A'] = BERTH_RANK_ALONE,  ['B'] = BERTH_RANK_BOTH,
        ['S'] = BERTH_RANK_SECOND, ['N'] = BERTH_RANK_BESIDE,
        ['M'] = BERTH_RANK_MAYBE,  ['C'] = BERTH_RANK_COPY,
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
#define SECOND                                                                         \
    " runs with '/tmp/libodd.so' (MPICH 4.0.2), though another one has loaded the "    \
    "host's MPICH 4.2.1"
#define BESIDE                                                                         \
    " runs with '/tmp/libodd.so' (MPICH 4.0.2), which it has loaded beside the "       \
    "host's MPICH 4.2.1; see LD_PRELOAD, or choose --mpi-bind=hybrid"
#define MAYBE                                                                          \
    " has loaded '/tmp/libodd.so' (MPICH 4.0.2) and may run with it, though another "  \
    "one has loaded the host's MPICH 4.2.1"
#define COPY                                                                           \
    " runs with '/tmp/libodd.so', a copy of the host's MPICH 4.2.1, on the image's "   \
    "network libraries"
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
    {"RS", true, "a program of rank 11" SECOND REMEDY, true},
    {"RS", false, "a program of rank 11" SECOND REMEDY, false},
    {"SW", false, "rank 11" WRONG ", as other ranks on this node do" REMEDY, true},
    {"RN", true, "rank 11" BESIDE, true},
    {"RN", false, "rank 11" BESIDE, false},
    {"NW", false, "rank 11" WRONG REMEDY, false},
    {"RM", true, "a program of rank 11" MAYBE REMEDY, false},
    {"RC", true, "rank 11" COPY REMEDY, false},
    {"CB", true, "rank 11" BOTH, false},
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

TEST(an_mpi_that_is_loaded_and_not_used_is_not_counted)
{
    struct berth_rank ranks[8];
    struct berth_witness witness = {.tasks = 2, .binding.host = (char *)"MPICH 4.2.1"};
    struct berth_err said;

    ranks_of("--", ranks);
    ranks[1].idle_since = 1;
    berth_witness_count(&witness, ranks, &said);
    ck_assert_str_eq(said.text, "no rank of this node was seen to initialize MPI");
}

/* A step with an error of its own needs no warning, nor does one whose supervisor was
 * killed. */
static const struct {
    const char *ranks;
    unsigned int tasks; /* of the step */
    bool must;
    char byte; /* from the supervisor; 0: none */
    bool misses;
} ends[] = {
    {"--", 2, true, BERTH_CHANNEL_SUCCEEDED, true},
    {"--", 2, true, BERTH_CHANNEL_FAILED, false},
    {"--", 2, true, 0, false},
    {"R-", 2, true, BERTH_CHANNEL_SUCCEEDED, false},
    {"--", 2, false, BERTH_CHANNEL_SUCCEEDED, false},
    {"-", 1, true, BERTH_CHANNEL_SUCCEEDED, false},
};

TEST_ROWS(a_step_without_mpi_is_noticed_after_its_end, ends)
{
    struct berth_rank ranks[8];
    struct berth_order order = {
        .step = {.tasks = ends[_i].tasks, .prints_component = true}};
    const struct berth_witness witness = {.must = ends[_i].must,
                                          .tasks = (unsigned int)strlen(ends[_i].ranks),
                                          .order = &order,
                                          .binding.host = (char *)"MPICH 4.2.1"};
    int sockets[2];

    ranks_of(ends[_i].ranks, ranks);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets), 0);
    if (ends[_i].byte)
        ck_assert_int_eq(write(sockets[0], &ends[_i].byte, 1), 1);
    close(sockets[0]);
    ck_assert_int_eq(berth_witness_misses_mpi(&witness, ranks, sockets[1]),
                     ends[_i].misses);
    close(sockets[1]);
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

#define WORLDS                                                                         \
    " 'mpirun', whose ranks do not meet those of other tasks; leave the mpirun out, "  \
    "as srun starts the ranks, or use --mpi-bind=local for an mpirun in one task, "    \
    "--mpi-bind=local-each for one in every task"

static const struct {
    const char *ranks; /* 'm': it starts an mpirun */
    unsigned int first;
    unsigned int tasks; /* of the step */
    bool is_last;
    const char *said; /* NULL: nothing */
} started[] = {
    {"--", 0, 2, true, NULL},
    {"mm", 0, 2, false, "several tasks start" WORLDS},
    {"-m-m", 0, 4, false, "several tasks start" WORLDS},
    /* One may do it for all, and another one of this node may follow. */
    {"m-", 0, 4, true, NULL},
    {"-m", 2, 4, false, NULL},
    {"-m", 2, 4, true, "rank 3 starts" WORLDS},
    {"m", 1, 2, true, "rank 1 starts" WORLDS},
    /* The only task of its component. */
    {"m", 1, 1, true, NULL},
};

TEST_ROWS(an_mpirun_in_several_tasks_is_reported, started)
{
    const struct berth_order order = {.step.tasks = started[_i].tasks};
    const struct berth_witness witness = {
        .order = &order, .tasks = (unsigned int)strlen(started[_i].ranks)};
    struct berth_rank ranks[8] = {{0}};
    struct berth_err said;
    bool is_said;

    for (unsigned int i = 0; i < witness.tasks; i++) {
        ranks[i].number = started[_i].first + i;
        if (started[_i].ranks[i] == 'm')
            ranks[i].starter = (char *)"mpirun";
    }
    is_said = berth_witness_judge_starters(&witness, ranks, started[_i].is_last, &said);
    ck_assert_int_eq(is_said, started[_i].said != NULL);
    if (is_said)
        ck_assert_str_eq(said.text, started[_i].said);
}

static const struct {
    enum berth_rank_state state;
    bool has_initialized;
    bool has_ended;
    const char *host;
    long long pause; /* since the last inspection */
    bool due;
} dues[] = {
    {BERTH_RANK_UNKNOWN, false, false, "MPICH", 0, true},
    {BERTH_RANK_UNKNOWN, false, false, NULL, 0, true},
    {BERTH_RANK_RIGHT, false, false, "MPICH", 0, true},
    {BERTH_RANK_RIGHT, true, false, "MPICH", 999, false},
    {BERTH_RANK_RIGHT, true, false, "MPICH", 1000, true},
    {BERTH_RANK_RIGHT, true, true, "MPICH", 0, true},
    {BERTH_RANK_RIGHT, false, false, NULL, 1000, false},
    {BERTH_RANK_WRONG, false, false, "MPICH", 1000, false},
};

TEST_ROWS(a_rank_that_has_initialized_the_hosts_mpi_is_inspected_once_a_second, dues)
{
    const struct berth_witness witness = {.binding.host = (char *)dues[_i].host};
    const struct berth_rank rank = {.state = dues[_i].state,
                                    .has_initialized = dues[_i].has_initialized,
                                    .has_ended = dues[_i].has_ended,
                                    .inspected = 5000};

    ck_assert_int_eq(berth_witness_is_due(&witness, &rank, 5000 + dues[_i].pause),
                     dues[_i].due);
}

/* What a look shows, a letter each: '-' nothing, 'R' the mark of the host's MPI, 'A' an
 * MPI of the host that finds nobody; of the other MPI, 'o' the process has none of the
 * host's and has initialized this one, 'l' or has loaded it, 'b' it has both and has
 * initialized this one, 'e' or either may answer, 'c' it is a copy. '.': the rank has
 * ended. 10 ms pass from look to look. */
static const struct {
    const char *looks;
    enum berth_rank_state state;
} histories[] = {
    {"----.", BERTH_RANK_UNKNOWN},
    {"-RR.", BERTH_RANK_RIGHT},
    {"AAA", BERTH_RANK_ALONE},
    {"AR.", BERTH_RANK_RIGHT},
    /* It has 20 ms to load the host's, too. */
    {"oo", BERTH_RANK_UNKNOWN},
    {"ooo", BERTH_RANK_WRONG},
    {"lll", BERTH_RANK_WRONG},
    {"l.", BERTH_RANK_WRONG},
    {"o-----", BERTH_RANK_UNKNOWN},
    {"o-----.", BERTH_RANK_WRONG},
    /* Another process of the rank runs with another MPI, before or after. */
    {"RRo", BERTH_RANK_RIGHT},
    {"RRooo", BERTH_RANK_SECOND},
    {"RRo.", BERTH_RANK_SECOND},
    {"RRo-", BERTH_RANK_SECOND},
    {"o--R", BERTH_RANK_SECOND},
    {"RRlll", BERTH_RANK_MAYBE},
    {"RRl-", BERTH_RANK_RIGHT},
    {"l--RR.", BERTH_RANK_RIGHT},
    /* One process has both. */
    {"bbb", BERTH_RANK_BESIDE},
    {"Rbbb", BERTH_RANK_BESIDE},
    {"Reee", BERTH_RANK_BOTH},
    {"ReRR", BERTH_RANK_RIGHT},
    {"Re.", BERTH_RANK_BOTH},
    {"oeee", BERTH_RANK_BOTH},
    {"ccc", BERTH_RANK_COPY},
    {"Rccc", BERTH_RANK_RIGHT},
};

static enum berth_answer_of_other answer_of(char letter)
{
    switch (letter) {
    case 'o':
        return BERTH_OTHER_ALONE;
    case 'l':
        return BERTH_OTHER_LOADED;
    case 'b':
        return BERTH_OTHER_BESIDE;
    case 'e':
        return BERTH_OTHER_EITHER;
    case 'c':
        return BERTH_OTHER_COPY;
    default:
        return BERTH_OTHER_NONE;
    }
}

TEST_ROWS(a_rank_is_judged_by_all_its_processes, histories)
{
    const struct berth_witness witness = {.binding.host = (char *)"MPICH"};
    const struct berth_mapped_file odd = {.path = (char *)"/odd", .name = "MPICH"};
    struct berth_rank rank = {0};
    long long now = 1000;

    for (const char *look = histories[_i].looks; *look; look++) {
        struct berth_mapped_seen mapped = {.answer = answer_of(*look)};
        struct berth_rank_seen seen = {BERTH_RANK_UNKNOWN, &mapped};

        if (mapped.answer != BERTH_OTHER_NONE)
            mapped.other = &odd;
        if (*look == 'R' || *look == 'b' || *look == 'e')
            seen.state = BERTH_RANK_RIGHT;
        if (*look == 'A')
            seen.state = BERTH_RANK_ALONE;
        rank.has_ended = *look == '.';
        if (berth_witness_is_due(&witness, &rank, now))
            berth_witness_update(&witness, &rank, &seen, now);
        now += 10;
    }
    ck_assert_int_eq(rank.state, histories[_i].state);
    free(rank.path);
    free(rank.name);
}

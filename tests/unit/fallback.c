/* SPDX-License-Identifier: Apache-2.0 */
/* When --mpi-bind=auto may use the image's own MPI. */

#include "plan/fallback.h"

#include "unit.h"

static const struct {
    const char *mode;
    enum berth_world world;
    unsigned int nodes;
    enum berth_fallback of_node, of_image; /* by the place of the reason */
} rows[] = {
    {"auto", BERTH_WORLD_ALONE, 1, BERTH_FALLBACK_YES, BERTH_FALLBACK_YES},
    {"auto", BERTH_WORLD_ALONE, 2, BERTH_FALLBACK_NODES, BERTH_FALLBACK_YES},
    {"auto", BERTH_WORLD_OWN, 2, BERTH_FALLBACK_NODES, BERTH_FALLBACK_YES},
    {"auto", BERTH_WORLD_HOST, 1, BERTH_FALLBACK_OTHERS, BERTH_FALLBACK_OTHERS},
    {"auto", BERTH_WORLD_HOST, 2, BERTH_FALLBACK_OTHERS, BERTH_FALLBACK_OTHERS},
    {"host", BERTH_WORLD_ALONE, 1, BERTH_FALLBACK_NO, BERTH_FALLBACK_NO},
    {"mpich", BERTH_WORLD_ALONE, 2, BERTH_FALLBACK_NO, BERTH_FALLBACK_NO},
};

TEST_ROWS(a_node_does_not_choose_another_mpi, rows)
{
    struct berth_request request = {.mpi = (char *)rows[_i].mode,
                                    .world = rows[_i].world};
    unsigned int nodes = rows[_i].nodes;

    ck_assert_int_eq(berth_fallback_decide(&request, nodes, BERTH_REASON_NODE),
                     rows[_i].of_node);
    ck_assert_int_eq(berth_fallback_decide(&request, nodes, BERTH_REASON_IMAGE),
                     rows[_i].of_image);
    ck_assert_int_eq(berth_fallback_fabric(&request, nodes, BERTH_REASON_IMAGE),
                     BERTH_FALLBACK_YES);
    ck_assert_int_eq(berth_fallback_fabric(&request, nodes, BERTH_REASON_NODE),
                     nodes > 1 || request.world != BERTH_WORLD_ALONE
                         ? BERTH_FALLBACK_FABRICS
                         : BERTH_FALLBACK_YES);
}

static const struct {
    enum berth_fallback fallback;
    const char *sentence;
} refusals[] = {
    {BERTH_FALLBACK_NO, "no patchelf"},
    {BERTH_FALLBACK_OTHERS,
     "no patchelf; all ranks of one srun need the same MPI and the same --mpi; give "
     "all --mpi-bind=hybrid if the images have the same MPI, or else each image an "
     "srun of its own"},
    {BERTH_FALLBACK_NODES,
     "no patchelf; other nodes of this step may use the host's MPI, and all nodes must "
     "use the same: choose --mpi-bind=hybrid, which is the image's own on all of them, "
     "or have this node repaired (berth doctor says what it lacks)"},
    {BERTH_FALLBACK_FABRICS,
     "no patchelf; other nodes of this step may use the host's network libraries, and "
     "all nodes must use the same: choose --container-libs=none, which is the image's "
     "own on all of them, or have this node repaired (berth doctor says what it "
     "lacks)"},
};

TEST_ROWS(a_refusal_says_who_else_would_differ, refusals)
{
    struct berth_err because, err;

    berth_err_set(&because, "no patchelf");
    ck_assert_int_eq(berth_fallback_refuse(BERTH_FALLBACK_YES, &because, &err), 0);
    ck_assert_int_eq(berth_fallback_refuse(refusals[_i].fallback, &because, &err), -1);
    ck_assert_str_eq(err.text, refusals[_i].sentence);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* When --mpi-bind=auto may use the image's own MPI. */

#include "plan/fallback.h"

#include "unit.h"

#define OTHERS                                                                         \
    "no patchelf; all ranks of one srun need the same MPI and the same --mpi; give "   \
    "all --mpi-bind=hybrid if the images have the same MPI, or else each image an "    \
    "srun of its own"
#define NODES(what, choose)                                                            \
    "no patchelf; all nodes need the same " what ": choose " choose                    \
    ", the image's own, or have this node repaired"
#define MPI    NODES("MPI", "--mpi-bind=hybrid")
#define FABRIC NODES("network libraries", "--container-libs=none")

static const struct {
    const char *mode;
    enum berth_world world;
    unsigned int nodes;
    const char *of_node, *of_image,
        *of_fabric; /* sentences, by the place of the reason;
                       NULL: the image's own may run */
} rows[] = {
    {"auto", BERTH_WORLD_ALONE, 1, NULL, NULL, NULL},
    {"auto", BERTH_WORLD_ALONE, 2, MPI, NULL, FABRIC},
    {"auto", BERTH_WORLD_OWN, 2, MPI, NULL, FABRIC},
    {"auto", BERTH_WORLD_HOST, 1, OTHERS, OTHERS, FABRIC},
    {"auto", BERTH_WORLD_HOST, 2, OTHERS, OTHERS, FABRIC},
    {"host", BERTH_WORLD_ALONE, 1, "no patchelf", "no patchelf", NULL},
    {"mpich", BERTH_WORLD_ALONE, 2, "no patchelf", "no patchelf", FABRIC},
};

/* The longest reason of a node, as a user sees it. */
TEST(a_refusal_for_all_nodes_is_short)
{
    enum { LONGEST = 300 };
    struct berth_request request = {.mpi = (char *)"auto"};
    struct berth_err because, err = {0};

    berth_err_set(&because,
                  "berth: n2: image '/images/mpich.sif': --mpi-bind=auto: patchelf: "
                  "not installed on this node, and copies of the host's libraries "
                  "need it; ask the administrators to install the package patchelf");
    ck_assert_int_eq(berth_fallback_mpi(&request, 2, BERTH_REASON_NODE, &because, &err),
                     -1);
    ck_assert_uint_le(strlen(err.text), LONGEST);
}

static void assert_says(int result, struct berth_err *err, const char *sentence)
{
    ck_assert_int_eq(result, sentence ? -1 : 0);
    ck_assert_str_eq(err->text, sentence ? sentence : "");
    *err->text = '\0';
}

TEST_ROWS(a_node_does_not_choose_another_mpi, rows)
{
    struct berth_request request = {.mpi = (char *)rows[_i].mode,
                                    .world = rows[_i].world};
    unsigned int nodes = rows[_i].nodes;
    struct berth_err because, err = {0};

    berth_err_set(&because, "no patchelf");
    assert_says(berth_fallback_mpi(&request, nodes, BERTH_REASON_NODE, &because, &err),
                &err, rows[_i].of_node);
    assert_says(berth_fallback_mpi(&request, nodes, BERTH_REASON_IMAGE, &because, &err),
                &err, rows[_i].of_image);
    assert_says(
        berth_fallback_fabric(&request, nodes, BERTH_REASON_NODE, &because, &err), &err,
        rows[_i].of_fabric);
    assert_says(
        berth_fallback_fabric(&request, nodes, BERTH_REASON_IMAGE, &because, &err),
        &err, NULL);
}

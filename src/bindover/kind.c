/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of replacement, as a table. */

#include "bindover/kind.h"

static const struct berth_kind kinds[] = {
    [BERTH_PROFILE_MPI] =
        {
            .option = "--mpi-bind",
            .advice = "; choose --mpi-bind=hybrid",
            .proof = BERTH_PROOF_MARK,
            .by_family = true,
        },
    [BERTH_PROFILE_FABRIC] =
        {
            .option = "--container-libs",
            .advice = "",
            .purpose = "runs under the image's own MPI",
            .proof = BERTH_PROOF_FIRST,
            .is_network = true,
        },
    [BERTH_PROFILE_LIBRARIES] =
        {
            .option = "--container-libs",
            .advice = "",
            .purpose = "is in the place of the image's",
            .proof = BERTH_PROOF_ANY,
            .is_partial = true,
            .by_link = true,
            .by_command = true,
            .by_path = true,
            .may_need_mpi = true,
        },
};

const struct berth_kind *berth_kind_of(const struct berth_profile *profile)
{
    return &kinds[profile->kind];
}

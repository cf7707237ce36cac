/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Where the cause of a refusal of the host's MPI lies, which shows whether it applies
 * to the other nodes of the step. A cause that is not known counts as NODE. */
enum berth_reason {
    BERTH_REASON_NODE, /* this node: other nodes may have no fault */
    BERTH_REASON_HOST, /* the host's MPI: other nodes may have another release */
    BERTH_REASON_IMAGE /* the image, the program or the step: applies to all nodes */
};

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Where a reason against the host's MPI lies, and so whether it applies to the other
 * nodes of the step. Without other knowledge it is NODE. */
enum berth_reason {
    BERTH_REASON_NODE, /* this node: other nodes may be in order */
    BERTH_REASON_HOST, /* the host's MPI: other nodes may have another release */
    BERTH_REASON_IMAGE /* the image, the program or the step: applies to all nodes */
};

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Where the cause of a refusal of the host's libraries lies, which shows whether it
 * applies to the other nodes of the step. A cause that is not known counts as NODE. */
enum berth_reason {
    BERTH_REASON_NODE, /* this node, or the release of the host's libraries: other nodes
                          may have no fault, or another release */
    BERTH_REASON_IMAGE /* the image or the program: applies to all nodes */
};

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_MPI_REASON_H
#define BERTH_MPI_REASON_H

/* Where a reason against the host's MPI lies: does it hold on the other nodes of the
 * step too? What is not known to be elsewhere is the node's. */
enum berth_reason {
    BERTH_REASON_NODE, /* this node: others may have none */
    BERTH_REASON_HOST, /* the host's MPI: others may have another release of it */
    BERTH_REASON_IMAGE /* the image, the program or the step: it holds everywhere */
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

#include "base/strvec.h"

/* The network that a rank uses between nodes, by the files that its processes have open
 * (proc_pid_fd(5)). Libraries for a network card keep its device open: libcxi,
 * libibverbs, PSM2. Libraries that use TCP listen for other ranks, and have connections
 * to other hosts: UCX's transport tcp, libfabric's provider tcp, Open MPI's btl tcp. A
 * program that only connects to a server does not listen. */
enum berth_network {
    BERTH_NETWORK_UNKNOWN, /* neither was seen: the rank may have sent nothing yet */
    BERTH_NETWORK_DEVICE,  /* one of the devices is open */
    BERTH_NETWORK_TCP,     /* none is, and there are connections as TCP has them */
};

/* Returns what PID and its descendants use. DEVICES are patterns of paths (fnmatch(3))
 * in the root of the processes. A process that cannot be read counts as UNKNOWN. */
enum berth_network berth_network_inspect(pid_t pid, const struct berth_strvec *devices);

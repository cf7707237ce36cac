/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

#include "base/strvec.h"

/* The network that a rank uses between nodes, by the files that its processes have
 * open (proc_pid_fd(5)). Libraries that drive a network card keep its device open:
 * libcxi, libibverbs, PSM2. Those that use TCP listen, since other ranks call them, and
 * have connections to other hosts (UCX's transport tcp, libfabric's provider tcp, Open
 * MPI's btl tcp). A program's own connection to a server does not listen. */
enum berth_network {
    BERTH_NETWORK_UNKNOWN, /* neither was seen: the rank may have sent nothing yet */
    BERTH_NETWORK_DEVICE,  /* one of the devices is open */
    BERTH_NETWORK_TCP,     /* none is, and there are connections as TCP has them */
};

/* What do PID and its descendants use? DEVICES are paths (fnmatch(3)), as the processes
 * have them. A process that cannot be read uses nothing. */
enum berth_network berth_network_inspect(pid_t pid, const struct berth_strvec *devices);

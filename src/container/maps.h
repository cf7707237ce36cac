/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A part of a file in the memory of a process: a line of /proc/PID/maps
 * (proc_pid_maps(5)) that has a path. */
struct berth_mapping {
    uint64_t start;
    uint64_t end;
    char access[5];  /* "r-xp" */
    uint64_t offset; /* in the file */
    dev_t device;
    ino_t inode;
    const char *path; /* in the root of the process; " (deleted)" follows if it is */
};

/* Call FUNCTION with each part of a file that process PID has mapped, in the order of
 * their addresses, and with DATA, until FUNCTION returns false. A process that cannot
 * be read has mapped nothing. */
void berth_maps_each(pid_t pid, bool (*function)(const struct berth_mapping *, void *),
                     void *data);

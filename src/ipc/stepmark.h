/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* How the batch step of a job learns that a program of the job runs in an image: who
 * starts one sends an empty datagram to an abstract address (unix(7)) with the number
 * of the job. Any user of the node can bind that address or send to it, which only
 * loses a note. Nothing is read. */

/* Listen for marks of JOB. Returns a descriptor; -1: another process has the address.
 */
int berth_stepmark_open(uint32_t job);

/* Has a mark come to the descriptor FD? */
bool berth_stepmark_has(int fd);

/* Mark the job JOB, a number as in SLURM_JOB_ID; NULL: there is no job. */
void berth_stepmark_send(const char *job);

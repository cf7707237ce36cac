/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include "step/handover.h"

/* The messages on the socket of the job's server: a kind, and most have a handover
 * (step/handover.h) with words and an environment.
 *
 * A step asks:
 *     ASK     words: those of enum berth_job_word; environment: of the step
 * The server answers:
 *     JOIN    words: process id of the holder, how many strings of the environment are
 *             those with which the runtime was started; environment: these, and those
 *             of the holder
 *     ALONE   there is no container for it
 * The socket then stays open until the step, or the container, has ended. */
enum berth_job_kind {
    BERTH_JOB_ASK = 'A',
    BERTH_JOB_JOIN = 'J',
    BERTH_JOB_ALONE = 'N'
};

/* The words of a question, in their order. */
enum berth_job_word {
    BERTH_JOB_KEY,       /* job/key.h */
    BERTH_JOB_ORDER,     /* plan/order.h, for the container alone */
    BERTH_JOB_DIRECTORY, /* the working directory; "": gone */
    BERTH_JOB_IDENTITY,  /* of that, as in probe/opened.h */
    BERTH_JOB_OWN,       /* "own": only the container of this directory */
    BERTH_JOB_WORDS
};

/* SLURM_STEP_ID in the environment of the server of a job, as sacct(1) has it. */
#define BERTH_JOB_STEP "extern"

/* The address of the server of JOB, a job of user UID, on the node NODE, in the
 * abstract namespace (unix(7)); NODE is Slurm's name of the node (SLURMD_NODENAME), as
 * several nodes may be on one host. Anyone can bind such a name: who connects has to
 * look whose process answers. Returns 0, or -1 where NODE is empty or too long. */
int berth_job_address(uid_t uid, uint32_t job, const char *node,
                      struct sockaddr_un *ret, socklen_t *ret_length);

/* Was the other side of SOCKET opened by a process of user UID (SO_PEERCRED, unix(7))?
 * Of a listener that a process has connected to: who listened. */
bool berth_job_peer_is(int socket, uid_t uid);

/* FD goes with the kind; -1: none. Returns 0, or -1 with errno. */
int berth_job_send(int socket, int kind, int fd);

/* Reads the next message; *RET_FD is -1 where there is none. Returns the kind; 0: the
 * other side has ended; -1 with errno, where nothing has come yet, too. */
int berth_job_receive(int socket, int *ret_fd);

/* Reads and closes FD, which another process says to be a handover. Returns 0, or -1
 * where it is none, or a large one. */
int berth_job_read(int fd, struct berth_handover *ret);

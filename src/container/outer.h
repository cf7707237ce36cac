/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/deadline.h"
#include "base/err.h"

/* Two user namespaces for the containers of a step on a node, so that tasks in
 * different images may read each other's memory: the kernel allows that to processes in
 * the same user namespace (process_vm_readv(2), ptrace(2)). In the outer namespace the
 * user is root, so a runtime makes no user namespace of its own, only namespaces of
 * other kinds. In the inner namespace, a child of the outer one, the user has their own
 * number again: the tasks run there. A descriptor of the inner namespace gives both.
 * They end when no process has a descriptor of them, or is in them.
 */

/* State that the supervisors of a node share, in shared memory. It begins as zeros. */
struct berth_outer {
    _Atomic uint32_t state;
    _Atomic pid_t maker;  /* 0: nobody yet */
    int inner;            /* the descriptor in the maker */
    struct berth_err why; /* why there are none */
};

enum berth_outer_answer {
    BERTH_OUTER_THERE,
    BERTH_OUTER_NONE, /* no container of the node has them */
    BERTH_OUTER_LOST  /* the maker is gone, or DEADLINE is over */
};

/* Is the caller the maker? True for one caller, which must then call
 * berth_outer_make(). */
bool berth_outer_claim(struct berth_outer *outer);

/* Make the namespaces, which live at least as long as the calling process. REFUSAL: why
 * the step must have none; NULL: it may. */
void berth_outer_make(struct berth_outer *outer, const char *refusal);

/* Wait until the maker has decided. THERE: *RET_INNER is a descriptor of the inner
 * namespace, which is closed on exec. NONE: ERR says why. */
enum berth_outer_answer berth_outer_find(struct berth_outer *outer,
                                         struct berth_deadline *deadline,
                                         int *ret_inner, struct berth_err *err);

/* Put the calling process (one thread) into the outer namespace of INNER. Returns 0, or
 * -1 with errno. */
int berth_outer_enter(int inner);

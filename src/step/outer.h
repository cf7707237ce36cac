/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/deadline.h"
#include "base/err.h"

/* Two user namespaces for the containers of a step on a node, so that tasks in
 * different images may read each other's memory: the kernel lets them if they are in
 * the same one (process_vm_readv(2), ptrace(2)). In the outer one the user is root, so
 * a runtime makes no user namespace of its own, only other ones. In the inner one, a
 * child of it, the user has the own number again: there the tasks run. Whoever has a
 * descriptor of the inner one has both; they go when no process has one or is in them.
 */

/* Where those who start the containers of a node meet, in memory that they share. It
 * begins as zeros. */
struct berth_outer {
    _Atomic uint32_t state;
    _Atomic pid_t maker;  /* 0: nobody yet */
    int inner;            /* the descriptor in the maker */
    struct berth_err why; /* there are none */
};

enum berth_outer_answer {
    BERTH_OUTER_THERE,
    BERTH_OUTER_NONE, /* no container of the node gets them */
    BERTH_OUTER_LOST  /* who made them is gone, or DEADLINE is over */
};

/* Is the caller the one that makes them? True for one caller, which calls
 * berth_outer_make() then. */
bool berth_outer_claim(struct berth_outer *outer);

/* Make the namespaces, which are there as long as the calling process at least; none
 * where REFUSAL (NULL: nothing) speaks against them. */
void berth_outer_make(struct berth_outer *outer, const char *refusal);

/* Wait until they have been made. THERE: *RET_INNER is a descriptor of the inner one,
 * which is closed on exec. NONE: ERR says why. */
enum berth_outer_answer berth_outer_find(struct berth_outer *outer,
                                         struct berth_deadline *deadline,
                                         int *ret_inner, struct berth_err *err);

/* Put the calling process (one thread) into the outer one. Returns 0, or -1 with
 * errno. */
int berth_outer_enter(int inner);

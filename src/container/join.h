/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "container/namespaces.h"

/* The sentence for a container that has ended. */
#define BERTH_JOIN_DEAD                                                                \
    "the container ended before this task could join it (often: out of memory); "      \
    "submit the step again"

/* Put the calling process (one thread, no privilege) into the container of HOLDER: into
 * its namespaces and its root. The working directory is then the container's /. A
 * program that the process becomes or starts has no more rights than the container
 * gives its programs (capability bounding set, no_new_privs); a program that it starts
 * is in the process namespace, too. Until exec no other process can trace this one, or
 * open what it has open: not the container's, whose programs may be root there, and not
 * the user's (PR_SET_DUMPABLE, prctl(2)). Returns 0; -1 with a sentence in ERR: the
 * process may have entered some namespaces, and must end. */
int berth_join(struct berth_holder holder, struct berth_err *err);

/* The same, but as the owner of the container's mounts, who may mount there until exec.
 * If containers share an outer user namespace (container/outer.h), the process and its
 * programs are root in it. */
int berth_join_owner(struct berth_holder holder, struct berth_err *err);

/* Enter only the user namespace that owns the container's mounts, with all capabilities
 * in it, and all of the host in sight. Returns 0, or -1 with errno. */
int berth_join_owner_user(struct berth_holder holder);

/* Returns why the tasks of a step cannot join the container of HOLDER, or NULL. A task
 * may enter namespaces only through a user namespace that its user has made, so not
 * those of a setuid runtime; and a task cannot change its own process namespace
 * (setns(2)). */
const char *berth_join_why_not(pid_t holder);

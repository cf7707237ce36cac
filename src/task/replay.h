/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_TASK_REPLAY_H
#define BERTH_TASK_REPLAY_H

#include "elf/closure.h"
#include "probe/look.h"
#include "task/graft.h"
#include "task/inside.h"
#include "task/memo.h"

/* What is looked at in a container is told, and looked at again by a later step. */

/* Tell the other side of TALK the files that made PROGRAM what LOOK says, before
 * anything is mounted over them. Returns 0, or -1 with a sentence in ERR. */
int berth_replay_tell_look(int talk, const char *program, const struct berth_look *look,
                           struct berth_err *err);

/* Tell it those of OBJECTS, from the one at FROM on, that are only present. */
int berth_replay_tell_present(int talk, const struct berth_mpi_objects *objects,
                              size_t from, struct berth_err *err);

/* Tell it those of OBJECTS, from the one at FROM on, that are only present. */
int berth_replay_tell_present(int talk, const struct berth_mpi_objects *objects,
                              size_t from, struct berth_err *err);

/* Tell it what LOADER said of FILE in the end. */
int berth_replay_tell_list(int talk, const char *loader, const char *file,
                           const struct berth_closure *closure, struct berth_err *err);

/* Tell it what GRAFT has mounted and set, and what LOADER says then. */
int berth_replay_tell_graft(int talk, const char *loader,
                            const struct berth_graft *graft, struct berth_err *err);

/* Do those files decide alone? Not where mounts, whose files can change, are searched
 * for MPI libraries by name in the environment ENV. */
bool berth_replay_is_bound(char *const *env);

/* Do what MEMO says, in the container: nothing is judged, but each file has to be what
 * it was, and the loader has to say in the end what it said then. Variables of MEMO
 * become those of the process, without a copy. False: all mounts are undone. */
bool berth_replay_repeat(const struct berth_inside *inside,
                         const struct berth_memo *memo);

/* Enter the container, do that, and tell the other side what has been done, or
 * BERTH_TALK_AGAIN. The process is to end when this returns. */
void berth_replay_run(const struct berth_inside *inside, const struct berth_memo *memo);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_BIND_REPLAY_H
#define BERTH_BIND_REPLAY_H

#include "elf/closure.h"
#include "stage/look.h"
#include "bind/graft.h"
#include "bind/inside.h"
#include "step/memo.h"

/* Records what was read in a container, and repeats the mounts in a later step if
 * nothing has changed. */

/* Sends to the other side the files from which LOOK got its facts about PROGRAM, before
 * anything is mounted over them. If the program IS_LINKED with MPI nothing else counts.
 * Returns 0, or -1 with a sentence in ERR. */
int berth_replay_tell_look(const struct berth_inside *inside, const char *program,
                           const struct berth_look *look, bool is_linked,
                           struct berth_err *err);

/* Sends to CHANNEL those of OBJECTS, from index FROM on, whose role is PRESENT. */
int berth_replay_tell_present(int channel, const struct berth_mpi_objects *objects,
                              size_t from, struct berth_err *err);

/* Sends to CHANNEL the last answer of LOADER about FILE. */
int berth_replay_tell_list(int channel, const char *loader, const char *file,
                           const struct berth_closure *closure, struct berth_err *err);

/* Sends to CHANNEL what GRAFT has mounted and set, and LOADER's answer after that. */
int berth_replay_tell_graft(int channel, const char *loader,
                            const struct berth_graft *graft, struct berth_err *err);

/* Mounts the marks, and sends to CHANNEL what each rank will load: one of the COUNT
 * GRAFTS. ALONE (NULL: none) is one by which a rank finds no other rank, BECAUSE.
 * Without marks the mapped files of a rank tell what it has loaded. */
int berth_replay_tell_witness(int channel, const struct berth_graft *grafts, int count,
                              const struct berth_graft *alone, const char *because,
                              struct berth_err *err);

/* Do these files alone decide about the result? Not if the environment ENV makes the
 * loader search mounts, whose files can change, for MPI libraries. */
bool berth_replay_is_bound(char *const *env);

/* Repeats the mounts of MEMO in the container, without judging again: each file must be
 * unchanged, and the loader must give the same answer as before. Sets the variables of
 * MEMO in the process, without copying them. Returns false when something differs; then
 * all mounts are undone. */
bool berth_replay_repeat(const struct berth_inside *inside,
                         const struct berth_memo *memo);

/* Enters the container, repeats MEMO, and sends what has been done, or
 * BERTH_CHANNEL_AGAIN. The process is to end when this returns. */
void berth_replay_run(const struct berth_inside *inside, const struct berth_memo *memo);

#endif

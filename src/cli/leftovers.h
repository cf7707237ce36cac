/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* While `berth save` makes FILE, both of its files are in the directory FILE.XXXXXX
 * (mkdtemp(3)), which stays if it is killed. */

/* The file in the directory that is there from the begin, and locked. */
#define BERTH_LEFTOVERS_PART "squashfs"

/* Lock the descriptor PART of that file, as long as this process, or one that it
 * starts, has it open (flock(2)). */
void berth_leftovers_lock(int part);

/* Remove the directories of the user that killed processes have left for FILE. One that
 * is not locked, but younger than a minute, stays: it may be locked soon. */
void berth_leftovers_remove(const char *file);

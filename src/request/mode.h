/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* Whose MPI the tasks use, which users say with --mpi-bind and a site in berth.yaml. */

/* The words for it (base/choice.h), in the order of enum berth_mode. */
#define BERTH_MODE_WORDS "auto|host|NAME|hybrid|local|local-each|launch|off"

enum berth_mode {
    BERTH_MODE_AUTO,       /* host where that can be, else hybrid */
    BERTH_MODE_HOST,       /* the host's library in the image */
    BERTH_MODE_NAME,       /* the same, of the stack or profile of that name */
    BERTH_MODE_HYBRID,     /* the image's library, Slurm's PMI */
    BERTH_MODE_LOCAL,      /* the image's own mpirun, one task */
    BERTH_MODE_LOCAL_EACH, /* the same, in every task */
    BERTH_MODE_LAUNCH,     /* the image's own mpirun, one task, all nodes of the job */
    BERTH_MODE_OFF,        /* as if not asked */
};

/* Which mode WORD is; NULL is BERTH_MODE_OFF. */
enum berth_mode berth_mode_of(const char *word);

/* Can WORD be a mode, or the name of a stack or profile? Small letters, digits and -;
 * a - is not the first. */
bool berth_mode_is_word(const char *word);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* The modes of --mpi-bind: whose MPI the tasks use. Sites set a mode in berth.yaml. */

/* The words of the modes (base/choice.h), in the order of enum berth_mode. */
#define BERTH_MODE_WORDS "auto|host|NAME|hybrid|local|local-each|launch|off"

enum berth_mode {
    BERTH_MODE_AUTO,   /* host where the host's MPI can replace the image's, else hybrid
                        */
    BERTH_MODE_HOST,   /* the host's library in the image */
    BERTH_MODE_NAME,   /* the same, of the host's stack or profile NAME */
    BERTH_MODE_HYBRID, /* the image's library, Slurm's PMI */
    BERTH_MODE_LOCAL,  /* the image's own mpirun, one task */
    BERTH_MODE_LOCAL_EACH, /* the same, one in each task */
    BERTH_MODE_LAUNCH, /* the image's own mpirun in one task, on all nodes of the job */
    BERTH_MODE_OFF,    /* as without --mpi-bind */
};

/* The mode of WORD; NULL: BERTH_MODE_OFF; another word than those: BERTH_MODE_NAME. */
enum berth_mode berth_mode_of(const char *word);

/* Does WORD have the form of a mode and of a name: small letters, digits and dashes, of
 * which no dash is the first? */
bool berth_mode_is_word(const char *word);

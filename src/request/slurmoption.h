/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The table of Slurm's own options. request/arguments.h reads command lines by it. */

/* The programs that have an option, as bits. */
enum berth_slurm_program {
    BERTH_SRUN = 1,
    BERTH_SBATCH = 2,
    BERTH_SALLOC = 4,
};

enum berth_argument_need {
    BERTH_ARGUMENT_NONE,
    BERTH_ARGUMENT_REQUIRED, /* --NAME=VALUE, --NAME VALUE, -LVALUE or -L VALUE */
    BERTH_ARGUMENT_OPTIONAL, /* --NAME, --NAME=VALUE, -L or -LVALUE */
};

struct berth_slurm_option {
    const char *name; /* without the dashes */
    char letter;      /* of the short option; 0: it has none */
    enum berth_argument_need need;
    unsigned int programs; /* bits of enum berth_slurm_program */
    int since; /* the first release that has it: 2311 for 23.11; 2205, the oldest that
                  berth supports, also for older ones */
    int until; /* the first release that does not have it, or has another row for it;
                  INT_MAX: all have it */
};

/* Ended by a row without a name. */
extern const struct berth_slurm_option berth_slurm_options[];

/* The program that COMMAND, argv[0], starts. Another name is taken for srun. */
enum berth_slurm_program berth_slurm_program_of(const char *command);

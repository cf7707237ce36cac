/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/strvec.h"
#include "request/arguments.h"
#include "request/components.h"

/* The het group whose options srun has just read.
 *
 * srun reads each spec of `srun SPEC : SPEC` once for each het group that the spec
 * names
 * (`--het-group=0,2`; once if the spec names none). After each reading srun calls the
 * plugins, in the order of the command line and not of the groups
 * (initialize_and_process_args() in srun's opt.c). SPANK does not tell the group. So
 * berth reads the group from the same command line: getopt's `optind` is the end of the
 * options of the spec. */
struct berth_hetgroups {
    struct berth_strvec argv; /* srun's, owned */
    const char *prefix;       /* the site's, of our options; borrowed */
    size_t spec;      /* index in argv of the current spec's start: "srun" or ":" */
    size_t next_spec; /* the same of the next spec; argv.count: there is none */
    int specs;        /* how many srun has begun to read */
    int groups[BERTH_GROUP_MAX + 1]; /* of the current spec, ascending */
    int group_count;
    int group_at; /* index of the next group */
};

/* Splits the COUNT bytes of a /proc/PID/cmdline, after which a NUL follows, into
 * arguments. PREFIX is the site's prefix of our options, which STATE borrows. The
 * caller frees `argv` of STATE, whose `failed` tells that memory ran out. */
void berth_hetgroups_init(struct berth_hetgroups *state, const char *prefix,
                          const char *cmdline, size_t count);

/* The group of the reading that has just ended. OPTIND is getopt's, counted from the
 * start of the spec. BERTH_GROUP_UNKNOWN: the command line has another form than
 * expected. */
int berth_hetgroups_next(struct berth_hetgroups *state, int optind);

/* The options of the current spec, to be read. */
struct berth_arguments berth_hetgroups_options(const struct berth_hetgroups *state,
                                               int optind);

/* The options and commands of all specs. For the time before srun has read its options,
 * when `optind` does not yet say where they end. */
struct berth_arguments berth_hetgroups_all(const struct berth_hetgroups *state);

/* Do the options of the current spec have Slurm's --NAME? If so, *RET_VALUE (may be
 * NULL) is the last value, which STATE owns; NULL: it has none. */
bool berth_hetgroups_find_option(const struct berth_hetgroups *state, int optind,
                                 const char *name, const char **ret_value);

/* While srun or sbatch reads the options of a spec: is our option ID with VALUE (NULL,
 * "" or "(null)": without one), which has just been read, one of the command line? Else
 * it is of another list of arguments, the #SBATCH lines of a script. Yes if the command
 * line is not known. */
bool berth_hetgroups_is_typed(const struct berth_hetgroups *state, int optind,
                              enum berth_option_id id, const char *value);

/* The number of tasks in the options of the current spec (-n, --ntasks). 0: not given,
 * or not a number. */
unsigned long berth_hetgroups_tasks(const struct berth_hetgroups *state, int optind);

/* The index in `argv` of the current spec's command, after the options. *RET_END is the
 * index after its last argument. Both are equal if there is no
 * command. */
size_t berth_hetgroups_command(const struct berth_hetgroups *state, int optind,
                               size_t *ret_end);

/* Is this the first reading of the current spec? */
bool berth_hetgroups_is_first(const struct berth_hetgroups *state);

/* Has srun read its last group? */
bool berth_hetgroups_ended(const struct berth_hetgroups *state);

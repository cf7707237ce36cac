/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/strvec.h"
#include "request/components.h"

/* The het group whose options srun has just read.
 *
 * srun reads each spec of `srun SPEC : SPEC` once for every het group that the spec
 * names (`--het-group=0,2`; one if it names none) and calls the plugins after each
 * reading, in the order of the command line and not of the groups
 * (initialize_and_process_args() in srun's opt.c). SPANK does not tell the group, so it
 * is read from the same command line: getopt's `optind` tells where the options of the
 * spec end. */
struct berth_hetgroups {
    struct berth_strvec words; /* srun's argv, owned */
    size_t spec;               /* index of the current spec's word 0: "srun" or ":" */
    size_t next_spec;          /* the one after it; words.count: none */
    int specs;                 /* how many have been started */
    int groups[BERTH_GROUP_MAX + 1]; /* of the current spec, ascending */
    int group_count;
    int group_at; /* the next of them */
};

/* Split the COUNT bytes of a /proc/PID/cmdline into words. */
void berth_hetgroups_init(struct berth_hetgroups *state, const char *cmdline,
                          size_t count);

/* The group of the reading that has just ended; OPTIND is getopt's, counted from the
 * spec's own word 0. BERTH_GROUP_UNKNOWN when the command line cannot be understood. */
int berth_hetgroups_next(struct berth_hetgroups *state, int optind);

/* Is there an option --NAME (or a prefix of at least MINIMUM letters of it) in the
 * options of the current spec? *RET_VALUE (may be NULL): its last value, which the
 * state owns; NULL when it has none. */
bool berth_hetgroups_find_option(const struct berth_hetgroups *state, int optind,
                                 const char *name, size_t minimum,
                                 const char **ret_value);

/* The number of tasks in the options of the current spec (-n, --ntasks); 0: not there,
 * or not in a form that is understood here. */
unsigned long berth_hetgroups_tasks(const struct berth_hetgroups *state, int optind);

/* The index of the first word of the current spec's command in `words`, behind the
 * options, and of the word behind its last one, *RET_END. */
size_t berth_hetgroups_command(const struct berth_hetgroups *state, int optind,
                               size_t *ret_end);

/* Is this the first reading of the current spec? */
bool berth_hetgroups_is_first(const struct berth_hetgroups *state);

/* Has srun read its last group? */
bool berth_hetgroups_ended(const struct berth_hetgroups *state);

/* Does the command line have several specs? */
bool berth_hetgroups_has_several(const struct berth_hetgroups *state);

/* Does the command line have a word that starts with START, before or behind the
 * options? */
bool berth_hetgroups_has_word(const struct berth_hetgroups *state, const char *start);

/* Does a word of the command line hold TEXT? */
bool berth_hetgroups_has_text(const struct berth_hetgroups *state, const char *text);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <slurm/slurm.h>
#include <slurm/spank.h>

/* Stands in for Slurm, on one host and without daemons. Loads the real plugin and calls
 * it in Slurm's order, in processes with the names of Slurm's, because the plugin reads
 * the command line of its process:
 *
 *     fake-spank srun|sbatch|salloc WORDS...   becomes a process of that name
 *
 * srun starts a slurmstepd for each component, and slurmstepd starts a process for each
 * task, which prints in one line what it would execute:
 *
 *     GROUP OPTIONS: COMMAND       berth-task is before the command
 * (tests/spank/decode.h) GROUP host: COMMAND          nothing is
 *
 * Its variables (removed before the plugin is called):
 *
 *     FAKE_PLUGIN    the plugin's file
 *     FAKE_WORDS     its words in plugstack.conf, separated by spaces
 *     FAKE_OPTIONAL  if set: `optional` in plugstack.conf, else `required`
 *     FAKE_HEADER    sbatch: the options of the #SBATCH lines, `:` between components
 *     FAKE_SCRIPT    sbatch: the batch script, for sh -c; `-`: standard input
 *     FAKE_TABLE     slurmstepd: the value of SLURM_BERTH_STEP, instead of srun's
 *     FAKE_VERBOSE   if set: srun -v
 *     FAKE_QUIET     if set: srun -Q
 *     FAKE_FAIL      the call of the plugin that fails, or the item that is not told
 *     FAKE_STEP      srun: the step's number; default 0
 *     FAKE_TASKS     srun: tasks of each component; default 1
 *     FAKE_CONTAIN   if set: SlurmdParameters=contain_spank
 *     FAKE_RAW       if set: also print argv and the changes of the environment
 *     FAKE_SHOW      if set: srun prints the table that it published
 */

enum { FAKE_JOB = 100, FAKE_OPTIONS = 64, FAKE_GROUPS = 128 };

/* SPANK_OPTION_MAXLEN in Slurm. */
enum { FAKE_NAME_MAX = 75 };

struct fake_option {
    char *name;
    int has_arg;
    int val; /* the plugin's */
    spank_opt_cb_f callback;
    char *value; /* the last one, of whatever component: as in Slurm */
    bool found;
};

/* What the plugin can ask for, and what it has registered. */
extern struct fake {
    const char *program; /* srun, sbatch, salloc, slurmstepd */
    spank_context_t context;
    struct fake_option options[FAKE_OPTIONS];
    int option_count;
    uint32_t job;
    uint32_t step;
    int task;            /* -1: not in a task */
    uint32_t task_count; /* on this node */
    char **argv;         /* of the step */
    char **task_argv;    /* of the task: with --multi-prog, another */
    bool in_task_init;
} fake;

/* Load the plugin and read its words. Ends the process if it cannot. */
void fake_load(const char *program, spank_context_t context);

/* Call NAME in the plugin as Slurm does; returns its result, or 0 for an optional one.
 */
int fake_call(const char *name);

/* A value of an option arrived. Returns the callback's result. */
int fake_take(struct fake_option *option, const char *value, int remote);

/* The name of the variable that Slurm makes of an option, in a static buffer. */
const char *fake_variable(const struct fake_option *option);

/* Put what was found into the environment and the job's control environment. */
void fake_publish_options(void);

/* In sbatch and salloc: the job's control environment for the sruns inside. */
void fake_pass_on_job_environment(void);

/* Is NAME=VALUE a variable of this program, and not of the case? */
bool fake_own(const char *name);

/* MEMORY, which lives as long as the process and is no leak. */
void *fake_kept(void *memory);

/* A copy, kept. */
char **fake_copy_environment(void);

/* Do to the environment what --export=VALUE does. */
void fake_export(const char *value);

/* argv[0] is srun; argv[0] is sbatch or salloc; argv[0] is slurmstepd. */
int fake_srun(int argc, char **argv);
int fake_allocate(int argc, char **argv);
int fake_stepd(int argc, char **argv);

/* Print why the test cannot go on, and end the process. */
_Noreturn void fake_fault(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* The options of srun, sbatch and salloc that matter here, and after them those of the
 * plugin: the value of a plugin's option is FAKE_FIRST plus its index. */
enum {
    FAKE_HET_GROUP = 1000,
    FAKE_MULTI_PROG,
    FAKE_EXPORT,
    FAKE_OTHER,
    FAKE_FIRST = 2000
};

struct option;
struct option *fake_option_table(void);
extern const char fake_short_options[];

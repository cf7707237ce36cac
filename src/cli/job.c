/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the output of squeue, and makes the command line and environment of an srun. */

#include "cli/job.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"

/* ID is what users see: 12, 12+1, 12_3, or 12_[4-9] for tasks of an array that wait. */
static int get(const char *line, struct berth_jobs *ret, struct berth_err *err)
{
    struct berth_job job = {.offset = -1};
    char id[64];

    if (sscanf(line, "%u %63s %u %u %31s", &job.number, id, &job.user, &job.nodes,
               job.state) != 5)
        return berth_err_set(err, "squeue says '%s', which is not a job", line);
    job.id = job.number;
    sscanf(id, "%u+%d", &job.id, &job.offset);
    if (job.offset < 0)
        job.id = job.number;
    if (berth_grow(&ret->items, ret->count, &ret->room, sizeof(job)) < 0)
        return berth_err_oom(err);
    ret->items[ret->count++] = job;
    return 0;
}

int berth_jobs_get(const char *text, struct berth_jobs *ret, struct berth_err *err)
{
    for (; *text; text += strspn(text, "\n")) {
        size_t length = strcspn(text, "\n");
        char line[256];

        snprintf(line, sizeof(line), "%.*s", (int)length, text);
        if (get(line, ret, err) < 0)
            return -1;
        text += length;
    }
    return 0;
}

/* Does NAME mean JOB? squeue has selected JOB by NAME, but lists all components of a
 * het job. */
static bool is_meant(const struct berth_job *job, const char *name)
{
    const char *plus = strchr(name, '+');
    unsigned int number = (unsigned int)strtoul(name, NULL, 10);

    if (plus)
        return job->offset == atoi(plus + 1);
    return job->offset < 0 || job->id == number || job->number == number;
}

int berth_jobs_select(struct berth_jobs *jobs, const char *name, uid_t user,
                      struct berth_err *err)
{
    size_t count = 0;

    for (size_t i = 0; i < jobs->count; i++) {
        const struct berth_job *job = &jobs->items[i];

        if (!is_meant(job, name))
            continue;
        if (job->user != user)
            return berth_err_set(
                err, "job %s: not yours, or Slurm does not know it; see berth ps",
                name);
        if (strcmp(job->state, "RUNNING") != 0)
            return berth_err_set(err,
                                 "job %s: is %s; only a job that is RUNNING has "
                                 "containers",
                                 name, job->state);
        jobs->items[count++] = *job;
    }
    jobs->count = count;
    return count
               ? 0
               : berth_err_set(
                     err, "job %s: not yours, or Slurm does not know it; see berth ps",
                     name);
}

void berth_jobs_fini(struct berth_jobs *jobs)
{
    free(jobs->items);
    *jobs = (struct berth_jobs){0};
}

void berth_job_environment(char *const *own, struct berth_strvec *ret)
{
    static const char *const kept[] = {
        "SLURM_CONF=", "SLURM_JWT=", "SLURM_CLUSTERS=", NULL};
    static const char *const dropped[] = {"SLURM",   "_SLURM", "SRUN_",
                                          "SQUEUE_", "BERTH_", NULL};

    for (; *own; own++)
        if (berth_text_starts_any(*own, kept) || !berth_text_starts_any(*own, dropped))
            berth_strvec_push(ret, *own);
    berth_strvec_push(ret, "BERTH_CONTAINER_IMAGE=none");
}

void berth_job_srun(const char *srun, unsigned int job, int offset, const char *node,
                    unsigned int nodes, struct berth_strvec *ret)
{
    static const char *const words[] = {"--overlap", "--quiet",       "--mpi=none",
                                        "--chdir=/", "--export=TERM", NULL};

    berth_strvec_push(ret, srun);
    for (const char *const *word = words; *word; word++)
        berth_strvec_push(ret, *word);
    berth_strvec_pushf(ret, "--jobid=%u", job);
    if (offset >= 0)
        berth_strvec_pushf(ret, "--het-group=%d", offset);
    if (node)
        berth_strvec_pushf(ret, "--nodelist=%s", node);
    berth_strvec_pushf(ret, "--nodes=%u", nodes);
    berth_strvec_pushf(ret, "--ntasks=%u", nodes);
    berth_strvec_push(ret, "--ntasks-per-node=1");
}

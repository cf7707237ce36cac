/* SPDX-License-Identifier: Apache-2.0 */
/* Asks squeue for jobs and, by an srun in a job, its nodes for their containers. */

#include "cli/squeue.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/run.h"
#include "base/text.h"

#define NO_COMMAND "%s is not on the PATH; log in to a host where Slurm's commands are"

extern char **environ;

/* Read LINE, of BERTH_JOB_FORMAT. Its second part is what users see: 12, 12+1, 12_3, or
 * 12_[4-9] for tasks of an array that wait. */
static int get(const char *line, struct berth_jobs *ret, struct berth_err *err)
{
    struct berth_job job = {.offset = -1};
    char id[64];

    if (sscanf(line, "%u %63s %u %u %31s", &job.number, id, &job.user, &job.nodes,
               job.state) != 5)
        return berth_err_expected(err, "a job from squeue", line);
    if (sscanf(id, "%u+%d", &job.id, &job.offset) != 2) {
        job.id = job.number;
        job.offset = -1;
    }
    if (berth_append(ret, &job) < 0)
        return berth_err_oom(err);
    return 0;
}

int berth_jobs_get(char *text, struct berth_jobs *ret, struct berth_err *err)
{
    while (text) {
        const char *line = strsep(&text, "\n");

        if (*line && get(line, ret, err) < 0)
            return -1;
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

static int refuse_state(const struct berth_job *job, const char *name,
                        struct berth_err *err)
{
    berth_err_expected(err, "a job that is RUNNING", job->state);
    return berth_err_at(err, "job %s", name);
}

/* An error of the job NAME that does not tell whether there is one, of another user. */
static int refuse_job(const char *name, struct berth_err *err)
{
    return berth_err_set(
        err, "job %s: not yours, or Slurm does not know it; see berth ps", name);
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
            return refuse_job(name, err);
        if (strcmp(job->state, "RUNNING") != 0)
            return refuse_state(job, name, err);
        jobs->items[count] = *job;
        count++;
    }
    jobs->count = count;
    if (count == 0)
        return refuse_job(name, err);
    return 0;
}

void berth_jobs_fini(struct berth_jobs *jobs)
{
    free(jobs->items);
    *jobs = (struct berth_jobs){0};
}

void berth_job_environment(char *const *env, struct berth_strvec *ret)
{
    static const char *const kept[] = {
        "SLURM_CONF=", "SLURM_JWT=", "SLURM_CLUSTERS=", NULL};
    static const char *const dropped[] = {"SLURM",   "_SLURM", "SRUN_",
                                          "SQUEUE_", "BERTH_", NULL};

    for (; *env; env++) {
        bool is_kept = berth_text_starts_any(*env, kept);

        if (is_kept || !berth_text_starts_any(*env, dropped))
            berth_strvec_push(ret, *env);
    }
    berth_strvec_push(ret, "BERTH_CONTAINER_IMAGE=none");
}

void berth_job_srun(const char *srun, unsigned int job, int offset, const char *node,
                    unsigned int nodes, struct berth_strvec *ret)
{
    static const char *const options[] = {"--overlap", "--quiet",       "--mpi=none",
                                          "--chdir=/", "--export=TERM", NULL};

    berth_strvec_push(ret, srun);
    for (const char *const *option = options; *option; option++)
        berth_strvec_push(ret, *option);
    berth_strvec_pushf(ret, "--jobid=%u", job);
    if (offset >= 0)
        berth_strvec_pushf(ret, "--het-group=%d", offset);
    if (node)
        berth_strvec_pushf(ret, "--nodelist=%s", node);
    berth_strvec_pushf(ret, "--nodes=%u", nodes);
    berth_strvec_pushf(ret, "--ntasks=%u", nodes);
    berth_strvec_push(ret, "--ntasks-per-node=1");
}

/* Run the command ARGV in the environment of berth_job_environment(). The caller owns
 * *RET_OUT, its output; set also where the command fails, with -1 and its last line in
 * ERR. */
static int run(const struct berth_strvec *argv, struct berth_buf *ret_out,
               struct berth_err *err)
{
    enum { SECONDS = 60, MOST = 64 << 20 };
    BERTH_STRVEC struct berth_strvec env = {0};
    struct berth_run how = {
        .argv = (const char *const *)argv->items, .seconds = SECONDS, .most = MOST};
    BERTH_RAN struct berth_ran ran = {0};

    berth_job_environment(environ, &env);
    if (env.failed || argv->failed)
        return berth_err_oom(err);
    how.env = (const char *const *)env.items;
    if (berth_run(&how, &ran, err) < 0)
        return -1;
    *ret_out = berth_steal(&ran.out);
    if (ran.status != 0)
        return berth_err_set(err, "%s", berth_ran_last_line(&ran));
    return 0;
}

char *berth_ask_srun(void)
{
    return berth_run_find("srun", getenv("PATH"));
}

/* Get the caller's jobs that NAME means (berth_jobs_select()); NULL: all that run. */
static int ask_jobs(const char *name, struct berth_jobs *ret, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec argv = {0};
    BERTH_BUF struct berth_buf out = {0};
    BERTH_FREE char *squeue = berth_run_find("squeue", getenv("PATH"));

    if (!squeue)
        return berth_err_set(err, NO_COMMAND, "squeue");
    berth_strvec_push(&argv, squeue);
    berth_strvec_push(&argv, "--noheader");
    berth_strvec_push(&argv, "--format=" BERTH_JOB_FORMAT);
    if (name) {
        berth_strvec_push(&argv, "--states=all");
        berth_strvec_pushf(&argv, "--jobs=%s", name);
    } else {
        berth_strvec_push(&argv, "--states=RUNNING");
        berth_strvec_pushf(&argv, "--user=%u", getuid());
    }
    if (run(&argv, &out, err) < 0) {
        if (name)
            berth_err_at(err, "job %s", name);
        return -1;
    }
    if (out.text && berth_jobs_get(out.text, ret, err) < 0)
        return -1;
    if (!name)
        return 0;
    return berth_jobs_select(ret, name, getuid(), err);
}

/* Append what each node of JOB runs: the second part of berth ps (cli/ps.c). */
static void push_second_part(const struct berth_job *job, int rank,
                             struct berth_strvec *argv)
{
    berth_strvec_push(argv, BERTH_ASK_PROGRAM);
    berth_strvec_push(argv, "ps");
    berth_strvec_push(argv, BERTH_ASK_NODE);
    berth_strvec_pushf(argv, "%u", job->id);
    berth_strvec_pushf(argv, "%u", job->number);
    berth_strvec_pushf(argv, "%d", rank);
}

/* Append the containers of JOB on all of its nodes. A node that fails does not hide the
 * containers of others. */
static int ask_job(const struct berth_job *job, int rank, struct berth_containers *ret,
                   struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec argv = {0};
    BERTH_BUF struct berth_buf out = {0};
    BERTH_FREE char *srun = berth_ask_srun();
    struct berth_err other;
    size_t before = ret->count;
    int result;

    if (!srun)
        return berth_err_set(err, NO_COMMAND, "srun");
    berth_job_srun(srun, job->id, job->offset, NULL, job->nodes, &argv);
    push_second_part(job, rank, &argv);
    result = run(&argv, &out, err);
    if (result < 0)
        berth_err_at(err, "job %u", job->id);

    if (out.text && berth_containers_get(out.text, job->offset, ret, &other) < 0) {
        *err = other;
        result = -1;
    }
    /* of a het job, a step knows the number of its own component */
    for (size_t i = before; i < ret->count; i++)
        ret->items[i].job = job->id;
    return result;
}

int berth_ask_containers(const char *name, int rank, struct berth_containers *ret,
                         struct berth_err *err)
{
    BERTH_JOBS struct berth_jobs jobs = {0};
    int result = 0;

    if (ask_jobs(name, &jobs, err) < 0)
        return -1;
    for (size_t i = 0; i < jobs.count; i++)
        if (ask_job(&jobs.items[i], rank, ret, err) < 0)
            result = -1;
    berth_containers_sort(ret);
    return result;
}

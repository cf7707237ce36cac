/* SPDX-License-Identifier: Apache-2.0 */
/* Starts a batch script in an image, or finds out that a job has used no image. */

#include "spank/batch.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <slurm/slurm.h>

#include "base/cleanup.h"
#include "container/program.h"
#include "ipc/stepmark.h"
#include "request/bundle.h"
#include "request/defaults.h"
#include "request/request.h"
#include "request/script.h"
#include "site/rules.h"
#include "site/site.h"
#include "site/siteread.h"
#include "spank/taskfacts.h"
#include "spank/variable.h"

extern char **environ;

#define PROGRAM BERTH_LIBEXECDIR "/berth-oci"

/* Descriptors of slurmstepd, which the script does not inherit; -1: none. */
static struct {
    int marks; /* of ipc/stepmark.h */
    int host;  /* an eventfd: the script runs on the host, although the job has an
                  image */
} batch = {.marks = -1, .host = -1};

bool berth_batch_is(spank_t sp)
{
    uint32_t step;

    return spank_get_item(sp, S_JOB_STEPID, &step) == ESPANK_SUCCESS &&
           step == SLURM_BATCH_SCRIPT;
}

void berth_batch_open(spank_t sp)
{
    uint32_t job;

    if (!berth_variable_is_set(sp, BERTH_BATCH_VARIABLE) ||
        spank_get_item(sp, S_JOB_ID, &job) != ESPANK_SUCCESS)
        return;
    batch.marks = berth_stepmark_open(job);
    batch.host = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

bool berth_batch_keeps(spank_t sp)
{
    char lifetime[8] = "";

    spank_getenv(sp, BERTH_LIFETIME_VARIABLE, lifetime, sizeof(lifetime));
    return strcmp(lifetime, BERTH_LIFETIME_JOB) == 0;
}

/* Does the script of a job with REQUEST run in the image, by the user's word or by a
 * rule of SITE? */
static bool runs_in_image(const struct berth_site *site, spank_t sp,
                          const struct berth_request *request)
{
    BERTH_REQUEST struct berth_request merged = {0};
    char **environment = environ;
    struct berth_rules_job job;
    struct berth_err err;

    spank_get_item(sp, S_JOB_ENV, &environment);
    job = berth_rules_job_of(environment, -1);
    if (berth_rules_apply(site, &job, BERTH_RULE_DEFAULT, &merged, &err) < 0 ||
        berth_request_merge(&merged, request, &err) < 0 ||
        berth_rules_apply(site, &job, BERTH_RULE_FORCE, &merged, &err) < 0)
        return request->script == BERTH_YES;
    return merged.script == BERTH_YES;
}

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)

static bool prepend(spank_t sp, char **argv)
{
    const char *program[] = {PROGRAM};

    (void)argv;
    return spank_prepend_task_argv(sp, 1, program) == ESPANK_SUCCESS;
}

#else

/* Before 23.11 Slurm has no function for this: S_JOB_ARGV is the array that execve gets
 * (spank/remote.c). berth-oci finds the script in its variable. */
static bool prepend(spank_t sp, char **argv)
{
    (void)sp;
    argv[0] = strdup(PROGRAM);
    return argv[0];
}

#endif

/* `berth run`, which berth-oci becomes, reads the options of the job, and applies the
 * site's policy. */
static int start_in_image(spank_t sp, struct berth_err *err)
{
    int argc;
    char **argv = berth_taskfacts_argv(sp, &argc);

    if (argc < 1)
        return berth_err_set(err, BERTH_VARIABLE_UNANSWERED, "the batch script");
    if (access(PROGRAM, X_OK) < 0)
        return berth_program_missing(PROGRAM, err);
    if (spank_setenv(sp, BERTH_SCRIPT_VARIABLE, argv[0], 1) != ESPANK_SUCCESS ||
        !prepend(sp, argv))
        return berth_err_set(err, BERTH_VARIABLE_UNANSWERED, PROGRAM);
    return 0;
}

int berth_batch_task(spank_t sp, const struct berth_settings *settings,
                     struct berth_err *err)
{
    BERTH_FREE char *text = NULL;
    BERTH_REQUEST struct berth_request request = {0};
    BERTH_SITE struct berth_site site = berth_site_default();
    struct berth_err ignored; /* steps, and `berth run`, print it */

    if (!berth_variable_is_set(sp, BERTH_JOB_VARIABLE))
        return 0;
    if (berth_variable_get(sp, BERTH_JOB_VARIABLE, &text, err) < 0 ||
        berth_defaults_job(text, 0, &request, err) < 0)
        return -1;
    if (!berth_request_has_container(&request))
        return 0;
    if (settings)
        berth_site_read(settings->config, berth_site_owner(), &site, &ignored);
    if (runs_in_image(&site, sp, &request))
        return start_in_image(sp, err);
    if (berth_variable_is_set(sp, BERTH_BUNDLE_VARIABLE))
        spank_setenv(sp, BERTH_BUNDLE_HOST, "1", 1);
    if (batch.host >= 0)
        eventfd_write(batch.host, 1);
    return 0;
}

bool berth_batch_is_missed(void)
{
    eventfd_t count;
    bool ran_on_host;

    if (batch.marks < 0 || batch.host < 0)
        return false;
    ran_on_host = eventfd_read(batch.host, &count) == 0;
    return ran_on_host && !berth_stepmark_has(batch.marks);
}

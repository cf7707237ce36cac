/* SPDX-License-Identifier: Apache-2.0 */
/* berth run: runs a command in an image as a task of srun runs, without Slurm. berth
 * explain: prints what berth run would do, and why; runs nothing. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/host.h"
#include "cli/request.h"
#include "run/standalone.h"
#include "site/policy.h"
#include "site/rules.h"
#include "step/apply.h"
#include "step/become.h"

extern char **environ;

/* Become COMMAND on the host, for --container-image=none. */
static int run_on_host(char **command)
{
    struct berth_err err;
    int status = berth_become_on_host(command, &err);

    berth_err_at(&err, "run");
    berth_cli_fail(&err);
    return status;
}

/* What to run in an image, or to explain. Borrows everything. */
struct work {
    const struct berth_site *site;
    struct berth_request *request;
    char **command;
};

/* Print notes about options that a rule of the site replaces, or that have no effect.
 */
static void print_rules(const struct work *work, const struct berth_site_asker *asker)
{
    const struct berth_rules_job job = {asker->partition, asker->account};
    BERTH_STRVEC struct berth_strvec sentences = {0};

    if (!berth_standalone_is_first())
        return;
    if (berth_request_has_container(work->request))
        berth_rules_report(work->site, &job, work->request, &sentences);
    if (berth_request_has_job_lifetime(work->request))
        berth_strvec_push(&sentences,
                          "--container-lifetime=job: only steps of srun use a "
                          "container again; this one ends with its command");
    for (size_t i = 0; i < sentences.count; i++)
        fprintf(stderr, "berth: note: %s\n", sentences.items[i]);
}

/* Apply the site's policy and become berth-start. Returns only on failure: -1 with a
 * sentence in ERR. */
static int become(const struct work *work, struct berth_err *err)
{
    BERTH_REQUEST struct berth_request allowed = {0};
    BERTH_TERMS struct berth_terms terms = {0};
    const struct berth_site_asker asker = {
        .partition = getenv("SLURM_JOB_PARTITION"),
        .account = getenv("SLURM_JOB_ACCOUNT"),
        .environment = environ,
    };
    struct berth_standalone standalone = {.site = work->site,
                                          .asked = work->request,
                                          .request = &allowed,
                                          .terms = &terms};

    if (berth_policy_check_early(work->site, work->request, environ, err) < 0 ||
        berth_cli_fetch(work->request, work->site, err) < 0 ||
        berth_apply_site(work->site, &asker, work->request, &allowed, &terms, err) <
            0 ||
        berth_standalone_prepare(&standalone, err) < 0)
        return -1;
    print_rules(work, &asker);
    return berth_standalone_become(work->command, err);
}

/* Become berth-start, which runs or explains COMMAND in the image of REQUEST. Returns
 * only on failure: the status of the verb. */
static int run_in_image(struct berth_request *request, char **command)
{
    BERTH_SITE struct berth_site site = {0};
    const struct work work = {.site = &site, .request = request, .command = command};
    struct berth_err err;

    if (berth_site_read_here(environ, &site, &err) == 0)
        become(&work, &err);
    return berth_cli_fail(&err);
}

int berth_cli_run(int argc, char **argv)
{
    BERTH_REQUEST struct berth_request request = {0};
    char **command;
    int result = berth_cli_request(argc, argv, &request, &command);

    if (result != EXIT_SUCCESS)
        return result;
    if (!berth_request_has_container(&request))
        return run_on_host(command);
    return run_in_image(&request, command);
}

int berth_cli_explain(int argc, char **argv)
{
    BERTH_REQUEST struct berth_request request = {0};
    const char *form = NULL;
    struct berth_err err;
    char **command;
    int result;

    if (argc > 1 && strcmp(argv[1], "--json") == 0)
        form = BERTH_EXPLAIN_JSON;
    else if (argc > 1 && strcmp(argv[1], "--all") == 0)
        form = BERTH_EXPLAIN_EVERYTHING;
    if (form)
        argv[1] = argv[0];
    result = berth_cli_request(argc - !!form, argv + !!form, &request, &command);
    if (result != EXIT_SUCCESS)
        return result;
    if (!berth_request_has_container(&request)) {
        berth_err_set(&err, "explain: with --container-image=none the command runs on "
                            "this host, and berth does nothing; name an image");
        return berth_cli_misused(&err);
    }
    if (!form && !berth_request_is_explained(&request))
        form = BERTH_EXPLAIN_TEXT;
    if (form && berth_request_put(&request, BERTH_OPTION_EXPLAIN, form, &err) < 0)
        return berth_cli_fail(&err);
    return run_in_image(&request, command);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* berth run: runs a command in an image as a task of srun runs, without the plugin.
 * berth explain: prints what berth run would do, and why; runs nothing. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/host.h"
#include "cli/request.h"
#include "run/meeting.h"
#include "run/standalone.h"
#include "site/policy.h"
#include "site/rules.h"
#include "step/apply.h"
#include "step/become.h"
#include "step/report.h"

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

/* Print what a rule of the site replaces, what has no effect, and, in a step, what only
 * the plugin can do. */
static void print_notes(const struct berth_standalone *standalone,
                        const struct berth_site_asker *asker)
{
    const struct berth_rules_job job = {asker->partition, asker->account};
    const struct berth_request *asked = standalone->asked;
    const struct berth_order_step *step = &standalone->order.step;
    BERTH_STRVEC struct berth_strvec sentences = {0};

    if (!standalone->is_first)
        return;
    berth_rules_report(standalone->site, &job, asked, &sentences);
    if (berth_request_has_job_lifetime(asked))
        berth_strvec_push(&sentences,
                          "--container-lifetime=job: only steps of srun use a "
                          "container again; this one ends with its command");
    if (step->nodes && !getenv("HOME"))
        berth_strvec_push(&sentences,
                          "--export=NONE has dropped the environment, and only the "
                          "plugin restores it; MPI may need FI_*, UCX_*, MPICH_*, "
                          "OMPI_MCA_*, I_MPI_* and OMP_*: write srun --export=ALL");
    if (step->is_several)
        berth_strvec_push(&sentences,
                          "only the plugin compares the components of this step; give "
                          "--mpi-bind to all of them, or to none");
    for (size_t i = 0; i < sentences.count; i++)
        fprintf(stderr, "berth: note: %s\n", sentences.items[i]);
}

/* Refuse to start a container in a container. */
static int check_host(struct berth_err *err)
{
    const char *image = getenv("APPTAINER_CONTAINER");

    if (!image)
        image = getenv("SINGULARITY_CONTAINER");
    if (!image || access("/.singularity.d", F_OK) < 0)
        return 0;
    return berth_err_set(err,
                         "run: this process is in the image '%s'; leave out "
                         "--container-image of srun, or `berth run`",
                         image);
}

/* Apply the site's policy and become berth-task. Returns only on failure: -1 with a
 * sentence in ERR. */
static int become(struct berth_standalone *standalone, struct berth_request *request,
                  struct berth_err *err)
{
    BERTH_REQUEST struct berth_request allowed = {0};
    BERTH_TERMS struct berth_terms terms = {0};
    const struct berth_site *site = standalone->site;
    const struct berth_site_asker asker = {
        .partition = getenv("SLURM_JOB_PARTITION"),
        .account = getenv("SLURM_JOB_ACCOUNT"),
        .environment = environ,
    };

    if (check_host(err) < 0 ||
        berth_policy_check_early(site, request, environ, err) < 0 ||
        berth_cli_fetch(request, site, err) < 0 ||
        berth_apply_site(site, &asker, request, &allowed, &terms, err) < 0)
        return -1;
    standalone->request = &allowed;
    standalone->terms = &terms;
    if (berth_standalone_prepare(standalone, err) < 0)
        return -1;
    print_notes(standalone, &asker);
    return berth_standalone_become(standalone, err);
}

/* Become berth-task, which runs or explains COMMAND in the image of REQUEST. Returns
 * only on failure: the status of the verb. One task of the container prints why. */
static int run_in_image(struct berth_request *request, char **command)
{
    BERTH_SITE struct berth_site site = {0};
    struct berth_standalone standalone = {
        .site = &site, .asked = request, .command = command};
    struct berth_err err, why;
    bool is_read = berth_site_read_here(environ, &site, &err) == 0;

    if (berth_standalone_meet(&standalone, &why) < 0)
        return berth_cli_fail(&why);
    if (is_read)
        become(&standalone, request, &err);
    return berth_report_claim(standalone.order.report) ? berth_cli_fail(&err)
                                                       : BERTH_CLI_FAILED;
}

/* Read the request and the command. Prints what is wrong with ARGV; in a step, one of
 * the tasks with these words does. Returns as berth_cli_request(). */
static int read_words(int argc, char **argv, struct berth_request *ret,
                      char ***ret_command)
{
    struct berth_err err, other;
    int result = berth_cli_request(argc, argv, ret, ret_command, &err);
    const struct berth_site site = berth_site_default();
    const struct berth_request nothing = {0};
    struct berth_standalone standalone = {
        .site = &site, .asked = &nothing, .command = argv};

    if (result != BERTH_CLI_MISUSED)
        return result;
    if (berth_meeting_is_step() && berth_standalone_meet(&standalone, &other) == 0 &&
        !berth_report_claim(standalone.order.report))
        return result;
    return berth_cli_misused(&err);
}

int berth_cli_run(int argc, char **argv)
{
    BERTH_REQUEST struct berth_request request = {0};
    char **command;
    int result = read_words(argc, argv, &request, &command);

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
    result = read_words(argc - !!form, argv + !!form, &request, &command);
    if (result != EXIT_SUCCESS)
        return result;
    if (!form && !berth_request_is_explained(&request))
        form = BERTH_EXPLAIN_TEXT;
    if (form && berth_request_put(&request, BERTH_OPTION_EXPLAIN, form, &err) < 0)
        return berth_cli_fail(&err);
    return run_in_image(&request, command);
}

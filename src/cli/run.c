/* SPDX-License-Identifier: Apache-2.0 */
/* berth run: runs a command in an image as a task of srun runs, without Slurm. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/fetch.h"
#include "cli/line.h"
#include "cli/request.h"
#include "policy/policy.h"
#include "policy/rules.h"
#include "probe/apply.h"
#include "diagnose/sitefind.h"
#include "step/become.h"
#include "task/standalone.h"

extern char **environ;

/* Become COMMAND on the host, for --container-image=none. */
static int run_on_host(char **command)
{
    struct berth_err err;
    int number;

    execvp(command[0], command);
    number = errno;
    berth_err_set(&err, "run: command '%s': %s; check the name, or give its path",
                  command[0], strerror(number));
    berth_cli_fail(&err);
    return number == ENOENT ? BERTH_NOT_FOUND : BERTH_NOT_EXECUTABLE;
}

/* What to run in an image, or to explain. Borrows everything. */
struct work {
    const struct berth_site *site;
    struct berth_request *request;
    char **command;
    struct berth_cli_line *line; /* of a --multi-prog file; NULL: none */
};

/* Does this process print the notes for all with the same request? */
static bool prints(const struct work *work)
{
    return work->line ? work->line->step.is_first : berth_standalone_is_first();
}

/* Print notes about options that a rule of the site replaces, or that have no effect.
 */
static void print_rules(const struct work *work, const struct berth_site_asker *asker)
{
    const struct berth_rules_job job = {asker->partition, asker->account};
    BERTH_STRVEC struct berth_strvec sentences = {0};

    if (berth_request_has_container(work->request) && prints(work))
        berth_rules_report(work->site, &job, work->request, &sentences);
    if (berth_request_has_job_lifetime(work->request) && prints(work))
        berth_strvec_push(&sentences,
                          "--container-lifetime=job: only steps of srun use a "
                          "container again; this one ends with its command");
    for (size_t i = 0; i < sentences.count; i++)
        fprintf(stderr, "berth: note: %s\n", sentences.items[i]);
}

/* Set the part of this process in the step. */
static int set_step(const struct work *work, struct berth_standalone *standalone,
                    struct berth_err *err)
{
    if (!work->line) {
        standalone->step.prints_component = standalone->step.prints_step = prints(work);
        return 0;
    }
    if (berth_cli_line_programs(work->line, standalone->request, err) < 0)
        return -1;
    standalone->step = work->line->step;
    standalone->programs = work->line->programs;
    return 0;
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
        set_step(work, &standalone, err) < 0 ||
        berth_standalone_prepare(&standalone, err) < 0)
        return -1;
    print_rules(work, &asker);
    return berth_standalone_become(work->command, err);
}

int berth_cli_run_in_image(struct berth_request *request, char **command,
                           struct berth_err *err)
{
    BERTH_SITE struct berth_site site = {0};
    const struct work work = {.site = &site, .request = request, .command = command};

    if (berth_site_read_here(environ, &site, err) < 0)
        return -1;
    return become(&work, err);
}

/* Run the line of this rank in a --multi-prog file. WORDS begin with the file. */
static int run_line(const struct berth_request *defaults, char **words)
{
    BERTH_SITE struct berth_site site = {0};
    BERTH_CLI_LINE struct berth_cli_line line = {0};
    struct berth_err err;

    if (berth_site_read_here(environ, &site, &err) == 0 &&
        berth_cli_line_read(words, defaults, &site, &line, &err) == 0) {
        struct berth_request *request = &line.row->request;
        const struct work work = {&site, request, line.command.items, &line};

        if (!berth_request_has_container(request) &&
            !berth_request_is_explained(request))
            return run_on_host(line.command.items);
        become(&work, &err);
    }
    return berth_cli_fail(&err);
}

int berth_cli_run(int argc, char **argv)
{
    BERTH_REQUEST struct berth_request request = {0};
    struct berth_cli_flag lines = {.name = "multi-prog", .is_of_lines = true};
    struct berth_err err;
    char **command;
    int result = berth_cli_request(argc, argv, &lines, &request, &command);

    if (result != EXIT_SUCCESS)
        return result;
    if (lines.is_given)
        return run_line(&request, command);
    if (!berth_request_has_container(&request))
        return run_on_host(command);
    berth_cli_run_in_image(&request, command, &err);
    return berth_cli_fail(&err);
}

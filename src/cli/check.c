/* SPDX-License-Identifier: Apache-2.0 */
/* berth check: prints all errors of a berth.yaml; a step would stop at the first. */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/installed.h"
#include "cli/cli.h"
#include "site/policy.h"
#include "site/site.h"
#include "request/path.h"
#include "site/profilesread.h"
#include "cli/host.h"
#include "site/siteread.h"

extern char **environ;

/* Print a note about two settings of which each is right alone. */
static void note_lifetime(const struct berth_site *site)
{
    const bool may_last_job = berth_policy_may_last_job(site, NULL);
    const bool is_shared = site->runtime.share != BERTH_SHARE_NO;

    if (may_last_job && !is_shared)
        fprintf(stderr,
                "%s: note: container-lifetime: job has no effect with share: no\n",
                berth_site_place(site, "rules", ""));
}

/* Compare digits as numbers, so that line 4 is before line 12. */
static int compare_lines(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

/* Append all errors of the file PATH, and of the profiles that it names, to ERRORS. */
static int check(const char *path, struct berth_strvec *errors, struct berth_err *err)
{
    BERTH_SITE struct berth_site site = berth_site_default();
    BERTH_TERMS struct berth_terms terms = {0};
    BERTH_PROFILE_SET struct berth_profile_set set = {0};

    if (berth_site_errors(path, berth_site_owner(), &site, errors, err) < 0)
        return -1;
    if (berth_terms_of(&site, &terms, err) < 0)
        return -1;
    if (berth_profiles_errors(&terms, berth_site_owner(), &set, errors, err) < 0)
        return -1;
    note_lifetime(&site);
    return berth_err_oom_if(errors->failed, err);
}

/* Set the path of the file to check: NAME, or without one that of this host, which is
 * NULL if the host has the default one. */
static int find_file(const char *name, struct berth_settings *settings,
                     struct berth_err *err)
{
    const struct berth_host host = {.root = "", .env = environ};
    BERTH_FREE char *directory = NULL;

    if (!name)
        return berth_site_settings(&host, settings, err);
    directory = getcwd(NULL, 0);
    return berth_path_absolute(name, directory, &settings->config, err);
}

static void print_errors(const struct berth_strvec *errors)
{
    qsort(errors->items, errors->count, sizeof(*errors->items), compare_lines);
    for (size_t i = 0; i < errors->count; i++)
        fprintf(stderr, "%s\n", errors->items[i]);
}

/* Print that CONFIG (NULL: the default file) has no error. */
static void print_success(const char *config)
{
    const char *default_file = berth_installed(BERTH_SITE_FILE);

    if (config)
        printf("%s: no error found\n", config);
    else if (access(default_file, F_OK) == 0)
        printf("%s: no error found\n", default_file);
    else /* a site that needs no settings has no file */
        printf("%s: there is none, and the defaults hold\n", default_file);
}

int berth_cli_check(int argc, char **argv)
{
    BERTH_STRVEC struct berth_strvec errors = {0};
    BERTH_SETTINGS struct berth_settings settings = {0};
    struct berth_err err;

    if (argc > 2 || (argc == 2 && *argv[1] == '-'))
        return BERTH_CLI_USAGE;
    if (find_file(argv[1], &settings, &err) < 0)
        return berth_cli_fail(&err);
    if (check(settings.config, &errors, &err) < 0)
        return berth_cli_fail(&err);

    if (errors.count) {
        print_errors(&errors);
        return BERTH_CLI_FAILED;
    }
    print_success(settings.config);
    return EXIT_SUCCESS;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* berth check: all faults of a berth.yaml, before a step finds the first. */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "site/site.h"
#include "request/path.h"
#include "policy/policy.h"
#include "probe/profilesread.h"
#include "diagnose/sitefind.h"
#include "probe/siteread.h"

extern char **environ;

static int check(const char *path, struct berth_strvec *faults, struct berth_err *err)
{
    BERTH_SITE struct berth_site site = berth_site_default();
    BERTH_TERMS struct berth_terms terms = {0};
    BERTH_PROFILE_SET struct berth_profile_set set = {0};
    struct berth_err why;

    if (berth_site_faults(path, berth_site_owner(), &site, faults, err) < 0 ||
        berth_terms_of(&site, &terms, err) < 0 ||
        berth_profiles_faults(&terms, berth_site_owner(), &set, faults, err) < 0)
        return -1;
    if (faults->count == 0 && berth_policy_check(&site, &why) < 0)
        berth_strvec_push(faults, why.text);
    return faults->failed ? berth_err_oom(err) : 0;
}

int berth_cli_check(int argc, char **argv)
{
    BERTH_STRVEC struct berth_strvec faults = {0};
    BERTH_FREE char *directory = getcwd(NULL, 0);
    BERTH_FREE char *path = NULL;
    struct berth_err err;

    if (argc > 2 || (argc == 2 && *argv[1] == '-'))
        return BERTH_CLI_USAGE;
    if ((argc == 2 ? berth_path_absolute(argv[1], directory, &path, &err)
                   : berth_site_find(environ, &path, &err)) < 0 ||
        check(path, &faults, &err) < 0)
        return berth_cli_fail(&err);
    for (size_t i = 0; i < faults.count; i++)
        fprintf(stderr, "%s\n", faults.items[i]);
    if (faults.count)
        return BERTH_CLI_FAILED;
    if (!path && access(BERTH_SITE_FILE, F_OK) < 0)
        printf(BERTH_SITE_FILE ": there is none, and the defaults hold\n");
    else
        printf("%s: no fault found\n", path ? path : BERTH_SITE_FILE);
    return EXIT_SUCCESS;
}

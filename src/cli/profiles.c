/* SPDX-License-Identifier: Apache-2.0 */
/* berth profiles: lists the MPI stacks, fabrics and libraries of this host, and stages
 * them. */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/json.h"
#include "cli/cli.h"
#include "site/rules.h"
#include "bindover/offered.h"
#include "cli/host.h"
#include "bindover/stage.h"

extern char **environ;

static void put_library(const struct berth_stack_library *library, bool is_mpi,
                        struct berth_json *json)
{
    BERTH_STRVEC struct berth_strvec names = {0};
    BERTH_BUF struct berth_buf parts = {0};
    BERTH_BUF struct berth_buf line = {0};

    if (library->family == BERTH_FAMILY_ABI)
        berth_strvec_push(&names, berth_mpi_family_name(BERTH_FAMILY_ABI));
    berth_mpi_part_names(library->parts, &names);
    berth_strvec_join(&names, ", ", &parts);
    berth_buf_puts(&line, library->path);
    if (is_mpi)
        berth_buf_addf(&line, ": %s", berth_buf_text(&parts));
    berth_json_linef(json, "  %s", berth_buf_text(&line));
    if (parts.failed || line.failed)
        json->text.failed = true;
}

static void put_stage(const struct berth_stack *stack, struct berth_json *json)
{
    char path[BERTH_STAGE_USER_SIZE];
    const struct berth_stage_root roots[] = {berth_stage_site(),
                                             berth_stage_user(path)};
    struct berth_staged staged;

    for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
        if (berth_stage_find(stack, &roots[i], &staged, NULL) <= 0)
            continue;
        berth_json_linef(json, "  stage: %s", staged.path);
        berth_staged_fini(&staged);
        return;
    }
    berth_json_linef(json, "  stage: none yet");
}

/* Write STACK; in text with its files and its stage. */
static void put_stack(const struct berth_stack *stack, struct berth_json *json)
{
    static const struct {
        const char *key, *text;
    } kinds[] = {
        [BERTH_PROFILE_MPI] = {"mpi", "an MPI"},
        [BERTH_PROFILE_FABRIC] = {"fabric", "a fabric"},
        [BERTH_PROFILE_LIBRARIES] = {"libraries", "libraries"},
    };
    const struct berth_profile *profile = stack->profile;
    bool is_mpi = profile->kind == BERTH_PROFILE_MPI;
    const char *family = NULL;
    const char *sites_profile = NULL;

    if (is_mpi)
        family = berth_mpi_family_name(profile->family);
    if (profile->label)
        sites_profile = profile->name;

    berth_json_object(json, NULL);
    if (is_mpi)
        berth_json_linef(json, "%s: %s, of the family %s, found by %s", profile->stack,
                         stack->version, family, stack->origin);
    else
        berth_json_linef(json, "%s: %s, %s, found by %s", profile->stack,
                         stack->version, kinds[profile->kind].text, stack->origin);
    berth_json_string(json, "name", profile->stack);
    berth_json_string(json, "kind", kinds[profile->kind].key);
    berth_json_string(json, "family", family);
    berth_json_string(json, "version", stack->version);
    berth_json_string(json, "found_by", stack->origin);
    berth_json_string(json, "profile", sites_profile);
    berth_json_end(json);
    for (size_t i = 0; json->is_text && i < stack->count; i++)
        put_library(&stack->libraries[i], is_mpi, json);
    if (sites_profile)
        berth_json_linef(json, "  profile: %s, the site's", sites_profile);
    if (json->is_text)
        put_stage(stack, json);
}

/* Print STACKS; LIBS is the site's --container-libs. */
static int print(const struct berth_stacks *stacks, const char *libs, bool is_json)
{
    BERTH_JSON struct berth_json json = {.pretty = true, .is_text = !is_json};

    berth_json_object(&json, NULL);
    berth_json_string(&json, "libs", libs);
    berth_json_array(&json, "stacks");
    if (stacks->count == 0 || stacks->items[0].profile->kind != BERTH_PROFILE_MPI)
        berth_json_linef(&json, "no MPI found on this host; load its module, or set "
                                "MPI_HOME");
    for (size_t i = 0; i < stacks->count; i++)
        put_stack(&stacks->items[i], &json);
    berth_json_end(&json);
    berth_json_end(&json);
    if (json.text.failed)
        return berth_cli_fail_oom();
    fputs(json.text.text, stdout);
    if (is_json)
        fputs("\n", stdout);
    return EXIT_SUCCESS;
}

/* Make a stage of STACK for all users, unless there is one. */
static int prepare_one(const struct berth_stack *stack,
                       const struct berth_stage_root *site, struct berth_err *err)
{
    struct berth_staged staged;
    int found = berth_stage_find(stack, site, &staged, err);

    if (found < 0)
        return -1;
    if (found == 0 && berth_stage_make(stack, site, 0, &staged, err) < 0)
        return -1;
    berth_staged_fini(&staged);
    return 0;
}

static int prepare(const struct berth_stacks *stacks)
{
    const struct berth_stage_root site = berth_stage_site();
    struct berth_err err;
    int result = EXIT_SUCCESS;

    umask(022);
    for (size_t i = 0; i < stacks->count; i++)
        if (prepare_one(&stacks->items[i], &site, &err) < 0)
            result = berth_cli_fail(&err);
    return result;
}

/* What is done with what the host has. */
enum task { LIST, LIST_JSON, PREPARE };

static int list(enum task task)
{
    BERTH_SITE struct berth_site site = berth_site_default();
    BERTH_TERMS struct berth_terms terms = {0};
    struct berth_offered offered;
    struct berth_err err;
    const char *libs;
    int prepared = EXIT_SUCCESS;
    int printed;

    if (task == PREPARE && geteuid() != 0) {
        berth_err_set(&err, "profiles --prepare: writes for all users; run it as root");
        return berth_cli_fail(&err);
    }
    if (berth_site_read_here(environ, &site, &err) < 0 ||
        berth_terms_of(&site, &terms, &err) < 0 ||
        berth_offered_read(&terms, BERTH_KINDS_ALL, environ, &offered, &err) < 0)
        return berth_cli_fail(&err);
    if (task == PREPARE)
        prepared = prepare(&offered.stacks);
    libs = berth_rules_default(&site, BERTH_OPTION_LIBS);
    printed = print(&offered.stacks, libs, task == LIST_JSON);
    berth_offered_fini(&offered);
    if (prepared != EXIT_SUCCESS)
        return prepared;
    return printed;
}

int berth_cli_profiles(int argc, char **argv)
{
    if (argc == 1)
        return list(LIST);
    if (argc == 2 && strcmp(argv[1], "--json") == 0)
        return list(LIST_JSON);
    if (argc == 2 && strcmp(argv[1], "--prepare") == 0)
        return list(PREPARE);
    return BERTH_CLI_USAGE;
}

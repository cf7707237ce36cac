/* SPDX-License-Identifier: Apache-2.0 */
/* berth profiles: lists the MPI stacks, fabrics and libraries of this host, and stages
 * them. */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/cli.h"
#include "site/rules.h"
#include "bindover/stack.h"
#include "cli/sitefind.h"
#include "bindover/stage.h"

extern char **environ;

static void print_parts(const struct berth_stack_library *library)
{
    BERTH_STRVEC struct berth_strvec names = {0};

    if (library->family == BERTH_FAMILY_ABI)
        berth_strvec_push(&names, berth_mpi_family_name(BERTH_FAMILY_ABI));
    berth_mpi_part_names(library->parts, &names);
    for (size_t i = 0; i < names.count; i++)
        printf("%s%s", i ? ", " : "", names.items[i]);
}

static void print_stage(const struct berth_stack *stack)
{
    char path[BERTH_STAGE_USER_SIZE];
    const struct berth_stage_root roots[] = {berth_stage_site(),
                                             berth_stage_user(path)};
    struct berth_staged staged;

    for (int i = 0; i < 2; i++)
        if (berth_stage_find(stack, &roots[i], &staged, NULL) > 0) {
            printf("  stage: %s\n", staged.path);
            berth_staged_fini(&staged);
            return;
        }
    printf("  stage: none yet\n");
}

static void print_stack(const struct berth_stack *stack)
{
    bool is_mpi = stack->profile->kind == BERTH_PROFILE_MPI;

    printf("%s: %s, %s%s, found by %s\n", stack->profile->stack, stack->version,
           is_mpi ? "of the family " : "",
           is_mpi ? berth_mpi_family_name(stack->profile->family)
           : stack->profile->kind == BERTH_PROFILE_LIBRARIES ? "libraries"
                                                             : "a fabric",
           stack->origin);
    for (size_t i = 0; i < stack->count; i++) {
        printf("  %s%s", stack->libraries[i].path, is_mpi ? ": " : "");
        print_parts(&stack->libraries[i]);
        printf("\n");
    }
    if (stack->profile->label)
        printf("  profile: %s, the site's\n", stack->profile->name);
    print_stage(stack);
}

static const char *word_of(enum berth_profile_kind kind)
{
    return kind == BERTH_PROFILE_MPI      ? "mpi"
           : kind == BERTH_PROFILE_FABRIC ? "fabric"
                                          : "libraries";
}

static void put_stacks(const struct berth_stacks *stacks, struct berth_json *json)
{
    for (size_t i = 0; i < stacks->count; i++) {
        const struct berth_stack *stack = &stacks->items[i];
        const struct berth_profile *profile = stack->profile;

        berth_json_object(json, NULL);
        berth_json_string(json, "name", profile->stack);
        berth_json_string(json, "kind", word_of(profile->kind));
        berth_json_string(json, "family",
                          profile->kind == BERTH_PROFILE_MPI
                              ? berth_mpi_family_name(profile->family)
                              : NULL);
        berth_json_string(json, "version", stack->version);
        berth_json_string(json, "found_by", stack->origin);
        berth_json_string(json, "profile", profile->label ? profile->name : NULL);
        berth_json_end(json);
    }
}

static int print_json(const struct berth_offered *offered, const char *fabric)
{
    BERTH_JSON struct berth_json json = {.pretty = true};

    berth_json_object(&json, NULL);
    berth_json_string(&json, "libs", fabric);
    berth_json_array(&json, "stacks");
    put_stacks(&offered->stacks, &json);
    berth_json_end(&json);
    berth_json_end(&json);
    if (json.text.failed)
        return berth_cli_fail_oom();
    printf("%s\n", json.text.text);
    return EXIT_SUCCESS;
}

static int prepare(const struct berth_stacks *stacks)
{
    const struct berth_stage_root site = berth_stage_site();
    struct berth_staged staged;
    struct berth_err err;
    int result = EXIT_SUCCESS;

    umask(022);
    for (size_t i = 0; i < stacks->count; i++) {
        int found = berth_stage_find(&stacks->items[i], &site, &staged, &err);

        if (found == 0)
            found = berth_stage_make(&stacks->items[i], &site, 0, &staged, &err) < 0
                        ? -1
                        : 1;
        if (found < 0)
            result = berth_cli_fail(&err);
        else
            berth_staged_fini(&staged);
    }
    return result;
}

/* What is done with what the host has. */
enum task { LIST, LIST_JSON, PREPARE };

/* Print the stacks, after staging them if IS_PREPARED. Returns the exit status. */
static int print_all(const struct berth_stacks *stacks, bool is_prepared)
{
    int result = is_prepared ? prepare(stacks) : EXIT_SUCCESS;

    if (stacks->count == 0 || stacks->items[0].profile->kind != BERTH_PROFILE_MPI)
        printf("no MPI found on this host; load its module, or set MPI_HOME\n");
    for (size_t i = 0; i < stacks->count; i++)
        print_stack(&stacks->items[i]);
    return result;
}

static int list(enum task task)
{
    BERTH_SITE struct berth_site site = berth_site_default();
    BERTH_TERMS struct berth_terms terms = {0};
    struct berth_offered offered;
    struct berth_err err;
    int result;

    if (task == PREPARE && geteuid() != 0) {
        berth_err_set(&err, "profiles --prepare: writes for all users; run it as root");
        return berth_cli_fail(&err);
    }
    if (berth_site_read_here(environ, &site, &err) < 0 ||
        berth_terms_of(&site, &terms, &err) < 0 ||
        berth_offered_read(&terms, BERTH_KINDS_ALL, environ, &offered, &err) < 0)
        return berth_cli_fail(&err);
    result = task == LIST_JSON
                 ? print_json(&offered, berth_rules_default(&site, BERTH_OPTION_LIBS))
                 : print_all(&offered.stacks, task == PREPARE);
    berth_offered_fini(&offered);
    return result;
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

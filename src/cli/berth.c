/* SPDX-License-Identifier: Apache-2.0 */
/* The berth command: what berth knows of this host, without Slurm. Reads the command
 * line, calls the core, prints. */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe/stack.h"
#include "task/stage.h"

extern char **environ;

/* Exit statuses (berth(1)). */
enum { FAILED = 1, WRONG_USE = 2 };

static const char usage[] =
    "usage: berth profiles [--prepare]   the MPI stacks of this host; with --prepare,\n"
    "                                    as root, make them ready for all users\n"
    "       berth --help | --version\n"
    "See berth(1).\n";

static int fail(const struct berth_err *err)
{
    fprintf(stderr, "berth: %s\n", err->text);
    return FAILED;
}

static void print_parts(const struct berth_stack_library *library)
{
    const char *comma = "";

    if (library->family == BERTH_MPI_ABI) {
        printf("%s", berth_mpi_family_name(BERTH_MPI_ABI));
        comma = ", ";
    }
    for (unsigned int part = 1; part < 1U << BERTH_MPI_PARTS; part <<= 1)
        if (library->parts & part) {
            printf("%s%s", comma, berth_mpi_part_name((enum berth_mpi_part)part));
            comma = ", ";
        }
}

/* Where the stage of STACK is; NULL when there is none. The caller frees it. */
static char *find_stage(const struct berth_stack *stack)
{
    char path[BERTH_STAGE_USER_SIZE];
    const struct berth_stage_root roots[] = {berth_stage_site(),
                                             berth_stage_user(path)};
    struct berth_staged staged;

    for (int i = 0; i < 2; i++)
        if (berth_stage_find(stack, &roots[i], &staged, NULL) > 0) {
            char *found = strdup(staged.path);

            berth_staged_fini(&staged);
            return found;
        }
    return NULL;
}

static void print_stack(const struct berth_stack *stack)
{
    char *stage = find_stage(stack);

    printf("%s: %s, of the family %s, found by %s\n", stack->profile->stack,
           stack->version, berth_mpi_family_name(stack->profile->family),
           stack->origin);
    for (size_t i = 0; i < stack->count; i++) {
        printf("  %s: ", stack->libraries[i].path);
        print_parts(&stack->libraries[i]);
        printf("\n");
    }
    printf("  stage: %s\n", stage ? stage : "none yet");
    free(stage);
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
            found =
                berth_stage_make(&stacks->items[i], &site, &staged, &err) < 0 ? -1 : 1;
        if (found < 0)
            result = fail(&err);
        else
            berth_staged_fini(&staged);
    }
    return result;
}

static int profiles(bool is_prepared)
{
    struct berth_stacks stacks;
    struct berth_err err;
    int result = EXIT_SUCCESS;

    if (is_prepared && geteuid() != 0) {
        berth_err_set(&err, "profiles --prepare: writes for all users; run it as root");
        return fail(&err);
    }
    if (berth_stacks_find(environ, &stacks, &err) < 0)
        return fail(&err);
    if (is_prepared)
        result = prepare(&stacks);
    for (size_t i = 0; i < stacks.count; i++)
        print_stack(&stacks.items[i]);
    if (stacks.count == 0)
        printf("no MPI found on this host; load its module, or set MPI_HOME\n");
    berth_stacks_fini(&stacks);
    return result;
}

int main(int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "";
    int result;

    if (argc == 2 && strcmp(verb, "--version") == 0) {
        printf("berth %s\n", BERTH_VERSION);
        result = EXIT_SUCCESS;
    } else if (argc == 2 && strcmp(verb, "--help") == 0) {
        fputs(usage, stdout);
        result = EXIT_SUCCESS;
    } else if (argc == 2 && strcmp(verb, "profiles") == 0) {
        result = profiles(false);
    } else if (argc == 3 && strcmp(verb, "profiles") == 0 &&
               strcmp(argv[2], "--prepare") == 0) {
        result = profiles(true);
    } else {
        fputs(usage, stderr);
        return WRONG_USE;
    }
    if (fflush(stdout) != 0 && result == EXIT_SUCCESS) {
        perror("berth: standard output");
        result = FAILED;
    }
    return result;
}

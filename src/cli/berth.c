/* SPDX-License-Identifier: Apache-2.0 */
/* The command berth: finds the verb, prints help, errors, and what completion reads. */

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/choice.h"
#include "base/fd.h"
#include "base/installed.h"
#include "base/strvec.h"
#include "cli/cli.h"
#include "cli/request.h"
#include "base/suggest.h"
#include "base/text.h"
#include "request/option.h"
#include "request/uri.h"

/* berth qualify: become the script of that name, which gets the path of berth first. */
static int qualify(int argc, char **argv)
{
    BERTH_STRVEC struct berth_strvec words = {0};
    struct berth_err err;

    berth_strvec_push(&words, "python3");
    berth_strvec_push(&words, "-I"); /* no modules of the user's */
    berth_strvec_push(&words, berth_installed(BERTH_DATADIR "/qualify"));
    berth_strvec_push(&words, berth_installed(BERTH_BINDIR "/berth"));
    for (int i = 1; i < argc; i++)
        berth_strvec_push(&words, argv[i]);
    if (words.failed)
        return berth_cli_fail_oom();
    execvp(words.items[0], words.items);
    berth_err_set(&err, "qualify: python3: %s; install Python 3.6 or later",
                  strerror(errno));
    return berth_cli_fail(&err);
}

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *usage; /* behind `berth NAME` */
    const char *help;
} verbs[] = {
    {"check", berth_cli_check, "[FILE]",
     "all errors of FILE, or of this host's berth.yaml"},
    {"doctor", berth_cli_doctor, "[--json]",
     "is this host fit for berth, and what would make it so?"},
    {"enter", berth_cli_enter,
     "JOBID[.STEPID] [-w NODE] [--component N] [--rank N] [--container ID] [COMMAND "
     "[ARG...]]",
     "a shell, or COMMAND, in the container of a step that runs, as one of its tasks, "
     "or in one that the job keeps; ID: see berth ps"},
    {"explain", berth_cli_explain, "[--all | --json] [OPTION...] [--] COMMAND [ARG...]",
     "what berth run would do on this host, and why; runs nothing; --json: for "
     "programs, see berth(1)"},
    {"images", berth_cli_images,
     "[--unused DAYS] [--keep GIB] [--remove] [--json] [NAME...]",
     "the images of the site's store and of your cache; NAME: only these (URI, digest "
     "or path); --unused: only those that were not used for DAYS; --keep: only those "
     "beyond the GIB used last; --remove: remove these from your cache"},
    {"inspect", berth_cli_inspect, "[--json] FILE|IMAGE [PROGRAM]",
     "which MPI is in it, and how it is linked; of a program in an image also what "
     "--mpi-bind would make of it"},
    {"profiles", berth_cli_profiles, "[--json | --prepare]",
     "the MPI stacks of this host; with --prepare, as root, make them ready for all "
     "users"},
    {"ps", berth_cli_ps, "[--json] [-u USER] [JOBID]",
     "the containers of your running jobs on their nodes; where there is no srun, of "
     "this node"},
    {"pull", berth_cli_pull, "[--again] [--store] [--verbose] URI",
     "pull an image from a registry into the cache, and print its path; with --again "
     "also when it is there; with --store into the store of all users; --verbose: what "
     "the runtime says"},
    {"qualify", qualify,
     "[--image IMAGE]... [-w NODES | -N N] [--partition P] [--account A] [--mpi "
     "TYPE]... "
     "[--directory DIR] [--seconds N] [--quick] [--verbose] [--json]",
     "do Slurm, MPI, images and the network of two nodes fit together? Runs steps"},
    {"run", berth_cli_run, "[OPTION...] [--] COMMAND [ARG...]",
     "a command in an image, with the options of srun, without the plugin"},
    {"save", berth_cli_enter,
     "JOBID[.STEPID] [-w NODE] [--component N] [--rank N] [--container ID] [--force] "
     "FILE",
     "a new image FILE from the container of a job, with what was written to it; ID: "
     "see berth ps"},
};

enum { VERBS = sizeof(verbs) / sizeof(verbs[0]) };

static void print_usage(FILE *stream)
{
    fprintf(stream, "usage: berth VERB ...\n");
    for (int i = 0; i < VERBS; i++)
        fprintf(stream, "  berth %s %s\n      %s\n", verbs[i].name, verbs[i].usage,
                verbs[i].help);
    fprintf(stream,
            "  berth --help | --version\nSee berth VERB --help and berth(1).\n");
}

static void print_help(int verb)
{
    printf("usage: berth %s %s\n      %s\n", verbs[verb].name, verbs[verb].usage,
           verbs[verb].help);
    if (!strstr(verbs[verb].usage, "OPTION"))
        return;
    berth_cli_print_options();
    printf("Each option can be given by a variable; see berth(1).\n");
}

static int run_verb(int verb, int argc, char **argv)
{
    bool asks = argc == 2 && strcmp(argv[1], "--help") == 0;
    int result = asks ? BERTH_CLI_HELP : verbs[verb].run(argc, argv);

    if (result == BERTH_CLI_HELP) {
        print_help(verb);
        return EXIT_SUCCESS;
    }
    if (result != BERTH_CLI_USAGE)
        return result;
    fprintf(stderr, "usage: berth %s %s\n", verbs[verb].name, verbs[verb].usage);
    return BERTH_CLI_MISUSED;
}

static int refuse_verb(const char *name, struct berth_err *err)
{
    const char *names[VERBS + 1] = {NULL};

    for (int i = 0; i < VERBS; i++)
        names[i] = verbs[i].name;
    return berth_suggest(name, "a verb", names, err);
}

static void print_choices(const char *argument)
{
    BERTH_STRVEC struct berth_strvec words = {0};

    berth_choice_split(argument, &words);
    for (size_t i = 0; i < words.count; i++)
        printf("%s%s", i ? " " : "", words.items[i]);
}

/* Print the VALUES of an option: FILE if a value may be the name of a file, and words
 * with which a value may begin; - if neither is known. */
static void print_values(const char *argument)
{
    static const char *const paths[] = {"PATH", "SRC", "DIR", NULL};

    if (argument && strchr(argument, '|') &&
        islower((unsigned char)argument[strspn(argument, "[")]))
        print_choices(argument);
    else
        printf(argument && berth_text_starts_any(argument, paths) ? "FILE" : "-");
    for (const char *const *scheme = berth_uri_schemes;
         argument && strstr(argument, "URI") && *scheme; scheme++)
        printf(" %s://", *scheme);
}

/* Print the options of the verb itself, which are in its usage. */
static void list_own(const char *verb, const char *usage, const char *help)
{
    for (const char *at = usage; (at = strstr(at, "--")); at += 2) {
        int length = (int)strspn(at + 2, "abcdefghijklmnopqrstuvwxyz-");

        if (length > 0)
            printf("%s\t--%.*s\t-\t%s\n", verb, length, at + 2, help);
    }
}

/* Print VERB and its options for the completion of shells (share/): lines of VERB,
 * OPTION, VALUES and HELP with tabs between. HELP is NULL for a command that is not a
 * verb of berth: srun. */
static void list(const char *verb, const char *usage, const char *help)
{
    if (help)
        printf("%s\t-\t-\t%s\n", verb, help);
    list_own(verb, usage, help);
    for (int i = 0; strstr(usage, "OPTION") && i < BERTH_OPTION_COUNT; i++) {
        const struct berth_option *option = &berth_options[i];
        bool needs = option->argument && !berth_option_is_optional(option);

        printf("%s\t--%s%s\t", verb, option->name, needs ? "=" : "");
        print_values(option->argument);
        printf("\t%s\n", option->help);
    }
}

static int run(int argc, char **argv)
{
    struct berth_err err;

    if (argc < 2) {
        print_usage(stderr);
        return BERTH_CLI_MISUSED;
    }
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (int i = 0; i < VERBS; i++)
            list(verbs[i].name, verbs[i].usage, verbs[i].help);
        list("srun", "OPTION", NULL);
        return EXIT_SUCCESS;
    }
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("berth %s\n", BERTH_VERSION);
        return EXIT_SUCCESS;
    }
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        print_usage(stdout);
        return EXIT_SUCCESS;
    }
    for (int i = 0; i < VERBS; i++)
        if (strcmp(argv[1], verbs[i].name) == 0)
            return run_verb(i, argc - 1, argv + 1);
    refuse_verb(argv[1], &err);
    return berth_cli_misused(&err);
}

/* Returns true, after an error message, if standard output could not be written. */
static bool has_lost_output(void)
{
    bool is_lost = ferror(stdout);

    if (fclose(stdout) == 0) {
        if (!is_lost)
            return false;
        errno = EIO; /* the number of the first error is lost */
    }
    perror("berth: standard output");
    return true;
}

int main(int argc, char **argv)
{
    int result;

    berth_fd_reserve();
    result = run(argc, argv);
    if (has_lost_output() && result == EXIT_SUCCESS)
        result = BERTH_CLI_FAILED;
    return result;
}

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
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/installed.h"
#include "base/strvec.h"
#include "cli/cli.h"
#include "cli/request.h"
#include "container/program.h"
#include "base/suggest.h"
#include "base/text.h"
#include "request/option.h"
#include "request/uri.h"

/* berth qualify: become the script of that name, which gets the path of berth first. */
static int qualify(int argc, char **argv)
{
    BERTH_STRVEC struct berth_strvec python = {0};
    struct berth_err err;

    berth_strvec_push(&python, "python3");
    berth_strvec_push(&python, "-I"); /* no modules of the user's */
    berth_strvec_push(&python, berth_installed(BERTH_DATADIR "/qualify"));
    berth_strvec_push(&python, berth_installed(BERTH_BINDIR "/berth"));
    for (int i = 1; i < argc; i++)
        berth_strvec_push(&python, argv[i]);
    if (python.failed)
        return berth_cli_fail_oom();

    execvp(python.items[0], python.items);
    berth_err_set(&err, "qualify: python3: %s; install Python 3.6 or later",
                  strerror(errno));
    return berth_cli_fail(&err);
}

/* A verb: a row for usage, help, errors of the command line, and completion. */
struct verb {
    const char *name;
    int (*run)(int argc, char **argv); /* cli/cli.h */
    const char *usage;                 /* after `berth NAME` */
    const char *help;
    const char *options;     /* those of the verb alone, with commas between them */
    bool has_options;        /* also those of request/option.h */
    bool enters;             /* a container: see berth_program_protect() */
    const char *examples[2]; /* after `berth NAME `; "": without arguments */
};

static const struct verb verbs[] = {
    {.name = "check",
     .run = berth_cli_check,
     .usage = "[FILE]",
     .help = "all errors of FILE, or of this host's berth.yaml",
     .options = "",
     .examples = {"", "/tmp/berth.yaml"}},
    {.name = "doctor",
     .run = berth_cli_doctor,
     .usage = "[--json] [--color=auto|always|never]",
     .help = "is this host fit for berth, and what would make it so?",
     .options = "--json,--color",
     .examples = {"", "--json"}},
    {.name = "enter",
     .enters = true,
     .run = berth_cli_enter,
     .usage =
         "JOBID[.STEPID] [-w NODE] [--component N] [--rank N] [--container ID|NAME] "
         "[COMMAND "
         "[ARG...]]",
     .help = "a shell, or COMMAND, in the container of a step that runs, as one of its "
             "tasks, "
             "or in one that the job keeps; ID: see berth ps",
     .options = "--component,--rank,--container",
     .examples = {"4711", "4711.0 -w n2 ps ax"}},
    {.name = "explain",
     .enters = true,
     .run = berth_cli_explain,
     .usage = "[--all | --json] [--color=auto|always|never] [OPTION...] [--] COMMAND "
              "[ARG...]",
     .help = "what berth run would do on this host, and why; runs nothing; --json: for "
             "programs, see berth(1)",
     .options = "--all,--json,--color",
     .has_options = true,
     .examples = {"--container-image=atm.sif --mpi-bind ./atm",
                  "--json --container-image=atm.sif ./atm"}},
    {.name = "images",
     .run = berth_cli_images,
     .usage = "[--unused DAYS] [--keep GIB] [--remove] [--json] [NAME...]",
     .help = "the images of the site's store and of your cache; NAME: only these (URI, "
             "digest "
             "or path); --unused: only those that were not used for DAYS; --keep: only "
             "those "
             "beyond the GIB used last; --remove: remove these from your cache",
     .options = "--unused,--keep,--remove,--json",
     .examples = {"", "--remove --unused 90"}},
    {.name = "inspect",
     .enters = true,
     .run = berth_cli_inspect,
     .usage = "[--json] FILE|IMAGE [PROGRAM]",
     .help =
         "which MPI is in it, and how it is linked; of a program in an image also what "
         "--mpi-bind would make of it",
     .options = "--json",
     .examples = {"atm.sif", "atm.sif /opt/atm/bin/atm"}},
    {.name = "profiles",
     .run = berth_cli_profiles,
     .usage = "[--json | --prepare]",
     .help = "the MPI stacks of this host; with --prepare, as root, make them ready "
             "for all "
             "users",
     .options = "--json,--prepare",
     .examples = {"", "--json"}},
    {.name = "ps",
     .run = berth_cli_ps,
     .usage = "[--json] [-u USER] [JOBID]",
     .help = "the containers of your running jobs on their nodes; where there is no "
             "srun, of "
             "this node",
     .options = "--json",
     .examples = {"", "4711"}},
    {.name = "pull",
     .run = berth_cli_pull,
     .usage = "[--again] [--store] [--verbose] URI",
     .help = "pull an image from a registry into the cache, and print its path; with "
             "--again "
             "also when it is there; with --store into the store of all users; "
             "--verbose: what "
             "the runtime says",
     .options = "--again,--store,--verbose",
     .examples = {"docker://ubuntu:24.04", "--again oras://ghcr.io/climate/atm:7"}},
    {.name = "qualify",
     .run = qualify,
     .usage =
         "[--image IMAGE]... [-w NODES | -N N] [--partition P] [--account A] [--mpi "
         "TYPE]... "
         "[--directory DIR] [--seconds N] [--quick] [--verbose] [--json]",
     .help =
         "do Slurm, MPI, images and the network of two nodes fit together? Runs steps",
     .options = "--image,--partition,--account,--mpi,--directory,--seconds,--quick,"
                "--verbose,--json",
     .examples = {"--image mpich.sif", "-w n[1-2] --quick"}},
    {.name = "run",
     .enters = true,
     .run = berth_cli_run,
     .usage = "[OPTION...] [--] COMMAND [ARG...]",
     .help = "a command in an image, with the options of srun, without the plugin",
     .options = "",
     .has_options = true,
     .examples = {"--container-image=atm.sif cat /etc/os-release",
                  "--container-image=atm.sif --container-mounts=/scratch ./atm"}},
    {.name = "save",
     .enters = true,
     .run = berth_cli_save,
     .usage =
         "JOBID[.STEPID] [-w NODE] [--component N] [--rank N] [--container ID|NAME] "
         "[--force] "
         "FILE",
     .help = "a new image FILE from the container of a job, with what was written to "
             "it; ID: "
             "see berth ps",
     .options = "--component,--rank,--container,--force",
     .examples = {"4711 new.sif", "4711.2 -w n1 --force new.sif"}},
};

enum { VERBS = sizeof(verbs) / sizeof(verbs[0]) };

static void print_usage(FILE *stream)
{
    fprintf(stream, "usage: berth VERB ...\n");
    for (int i = 0; i < VERBS; i++)
        fprintf(stream, "  berth %s %s\n      %s\n", verbs[i].name, verbs[i].usage,
                verbs[i].help);
    fprintf(stream,
            "  berth help [VERB] | --version\nSee berth help VERB and berth(1).\n");
}

static void print_example(const struct verb *verb, const char *arguments)
{
    printf("  berth %s", verb->name);
    if (*arguments)
        printf(" %s", arguments);
    printf("\n");
}

static void print_help(const struct verb *verb)
{
    printf("usage: berth %s %s\n      %s\n", verb->name, verb->usage, verb->help);
    if (verb->has_options) {
        berth_cli_print_options();
        printf("Each option can be given by a variable; see berth(1).\n");
    }
    printf("examples:\n");
    for (size_t i = 0; i < sizeof(verb->examples) / sizeof(verb->examples[0]); i++)
        print_example(verb, verb->examples[i]);
}

/* Write into ERR that VERB does not have OPTION, and the one of KNOWN that is nearest.
 */
static void refuse_option(const struct verb *verb, const char *option,
                          const struct berth_strvec *known, struct berth_err *err)
{
    const size_t most = strlen(option) / 3;
    const char *nearest =
        berth_suggest_nearest(option, (const char *const *)known->items, most);
    const char *meant = NULL;

    if (nearest)
        meant = nearest + strlen("--");
    berth_suggest_option(option, meant, "those of the usage below", err);
    berth_err_at(err, "%s", verb->name);
}

/* If ARGV, which the verb refuses, has a long option that VERB does not have, write
 * that into ERR. */
static bool has_unknown_option(const struct verb *verb, char **argv,
                               struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec known = {0};

    berth_strvec_split(&known, verb->options);
    berth_strvec_push(&known, "--help");
    if (known.failed || verb->has_options)
        return false;
    for (; *argv && strcmp(*argv, "--") != 0; argv++) {
        BERTH_FREE char *name = strndup(*argv, strcspn(*argv, "="));

        if (!name)
            return false;
        if (berth_text_starts(name, "--") && !berth_strvec_has(&known, name)) {
            refuse_option(verb, name, &known, err);
            return true;
        }
    }
    return false;
}

static int refuse_usage(const struct verb *verb, char **argv)
{
    struct berth_err err;

    if (has_unknown_option(verb, argv, &err))
        berth_cli_misused(&err);
    fprintf(stderr, "usage: berth %s %s\n", verb->name, verb->usage);
    return BERTH_CLI_MISUSED;
}

static bool is_help_option(const char *argument)
{
    return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

static int run_verb(const struct verb *verb, int argc, char **argv)
{
    int result = BERTH_CLI_HELP;

    if (argc != 2 || !is_help_option(argv[1]))
        result = verb->run(argc, argv);
    if (result == BERTH_CLI_HELP) {
        print_help(verb);
        return EXIT_SUCCESS;
    }
    if (result == BERTH_CLI_USAGE)
        return refuse_usage(verb, argv + 1);
    return result;
}

static const struct verb *find_verb(const char *name)
{
    for (int i = 0; i < VERBS; i++)
        if (strcmp(name, verbs[i].name) == 0)
            return &verbs[i];
    return NULL;
}

static int refuse_verb(const char *name, struct berth_err *err)
{
    const char *names[VERBS + 1] = {NULL};

    for (int i = 0; i < VERBS; i++)
        names[i] = verbs[i].name;
    return berth_suggest(name, "a verb", names, err);
}

/* Print the words of ARGUMENT, a list of choices. */
static void print_choices(const char *argument)
{
    BERTH_STRVEC struct berth_strvec words = {0};
    BERTH_BUF struct berth_buf text = {0};

    berth_choice_split(argument, &words);
    berth_strvec_join(&words, " ", &text);
    printf("%s", berth_buf_text(&text));
}

/* Is ARGUMENT a list of words to choose from (base/choice.h), in brackets if the option
 * may stand without a value? Words in capitals are names for what the user writes. */
static bool is_choice(const char *argument)
{
    const char *first = argument + strspn(argument, "[");

    return strchr(argument, '|') && islower((unsigned char)*first);
}

/* Print the VALUES of an option with ARGUMENT: FILE if a value may be the name of a
 * file, and words with which a value may begin; - if neither is known. */
static void print_values(const char *argument)
{
    static const char *const paths[] = {"PATH", "SRC", "DIR", NULL};

    if (is_choice(argument))
        print_choices(argument);
    else if (berth_text_starts_any(argument, paths))
        printf("FILE");
    else
        printf("-");

    if (!strstr(argument, "URI"))
        return;
    for (const char *const *scheme = berth_uri_schemes; *scheme; scheme++)
        printf(" %s://", *scheme);
}

/* Print the options of VERB alone. */
static void list_verb_options(const struct verb *verb)
{
    BERTH_STRVEC struct berth_strvec options = {0};

    berth_strvec_split(&options, verb->options);
    for (size_t i = 0; i < options.count; i++)
        if (*options.items[i])
            printf("%s\t%s\t-\t%s\n", verb->name, options.items[i], verb->help);
}

/* Print OPTION as one of the command NAME. It ends in = if it needs a value. */
static void list_option(const char *name, const struct berth_option *option)
{
    printf("%s\t--%s", name, option->name);
    if (option->argument && !berth_option_is_optional(option))
        printf("=");
    printf("\t");
    print_values(berth_text_or(option->argument, ""));
    printf("\t%s\n", option->help);
}

/* Print the options of request/option.h, as those of the command NAME. */
static void list_options(const char *name)
{
    for (int i = 0; i < BERTH_OPTION_COUNT; i++)
        list_option(name, &berth_options[i]);
}

/* Print the verbs and their options, and those of srun, for the completion of shells
 * (share/): lines of VERB, OPTION, VALUES and HELP with tabs between. */
static void list(void)
{
    for (int i = 0; i < VERBS; i++) {
        printf("%s\t-\t-\t%s\n", verbs[i].name, verbs[i].help);
        list_verb_options(&verbs[i]);
        if (verbs[i].has_options)
            list_options(verbs[i].name);
    }
    list_options("srun");
}

/* berth help [VERB] */
static int help(const char *name)
{
    const struct verb *verb;
    struct berth_err err;

    if (!name) {
        print_usage(stdout);
        return EXIT_SUCCESS;
    }
    verb = find_verb(name);
    if (!verb) {
        refuse_verb(name, &err);
        return berth_cli_misused(&err);
    }
    print_help(verb);
    return EXIT_SUCCESS;
}

/* Do what ARGUMENT, the only one, asks for, without a verb. Returns whether it is such
 * an option. */
static bool run_option(const char *argument)
{
    if (strcmp(argument, "--list") == 0)
        list();
    else if (strcmp(argument, "--version") == 0)
        printf("berth %s\n", BERTH_VERSION);
    else if (is_help_option(argument))
        help(NULL);
    else
        return false;
    return true;
}

static int run(int argc, char **argv)
{
    const struct verb *verb;
    struct berth_err err;

    if (argc < 2) {
        print_usage(stderr);
        return BERTH_CLI_MISUSED;
    }
    if (argc == 2 && run_option(argv[1]))
        return EXIT_SUCCESS;
    if (argc <= 3 && strcmp(argv[1], "help") == 0)
        return help(argv[2]);

    verb = find_verb(argv[1]);
    if (!verb) {
        refuse_verb(argv[1], &err);
        return berth_cli_misused(&err);
    }
    if (verb->enters && berth_program_protect(argv, &err) < 0)
        return berth_cli_fail(&err);
    return run_verb(verb, argc - 1, argv + 1);
}

/* Returns true, after an error message, if standard output could not be written. */
static bool has_lost_output(void)
{
    bool is_lost_before = ferror(stdout);
    bool is_lost_now = fclose(stdout) != 0;

    if (!is_lost_before && !is_lost_now)
        return false;
    if (!is_lost_now)
        errno = EIO; /* the number of the first error is lost */
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

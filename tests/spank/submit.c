/* SPDX-License-Identifier: Apache-2.0 */
/* srun, sbatch and salloc up to the launch, as initialize_and_process_args() and
 * init_srun() do it in srun, and main() of sbatch. */

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "decode.h"
#include "fake.h"

extern char **environ;

const char fake_short_options[] = "+hHlQvke:n:N:J:o:p:w:";

static const struct option native_options[] = {
    {"container", required_argument, NULL, FAKE_OTHER},
    {"error", required_argument, NULL, FAKE_OTHER},
    {"export", required_argument, NULL, FAKE_EXPORT},
    {"help", no_argument, NULL, FAKE_OTHER},
    {"het-group", required_argument, NULL, FAKE_HET_GROUP},
    {"hint", required_argument, NULL, FAKE_OTHER},
    {"hold", no_argument, NULL, FAKE_OTHER},
    {"job-name", required_argument, NULL, FAKE_OTHER},
    {"label", no_argument, NULL, FAKE_OTHER},
    {"mpi", required_argument, NULL, FAKE_OTHER},
    {"multi-prog", no_argument, NULL, FAKE_MULTI_PROG},
    {"nodelist", required_argument, NULL, FAKE_OTHER},
    {"nodes", required_argument, NULL, FAKE_OTHER},
    {"no-kill", optional_argument, NULL, FAKE_OTHER},
    {"no-shell", no_argument, NULL, FAKE_OTHER},
    {"ntasks", required_argument, NULL, FAKE_OTHER},
    {"output", required_argument, NULL, FAKE_OTHER},
    {"pack-group", required_argument, NULL, FAKE_HET_GROUP},
    {"partition", required_argument, NULL, FAKE_OTHER},
    {"wrap", required_argument, NULL, FAKE_OTHER},
};

enum { NATIVE_COUNT = sizeof(native_options) / sizeof(native_options[0]) };

/* A component of the launch. */
struct component {
    int group;
    bool set;
    bool multi_prog;
    const char *export; /* the value of --export; NULL: not given */
    bool kill_on_bad_exit;
    char **argv; /* ended by NULL */
};

static struct component components[FAKE_GROUPS];

struct option *fake_option_table(void)
{
    struct option *table =
        calloc((size_t)(NATIVE_COUNT + fake.option_count + 1), sizeof(*table));

    memcpy(table, native_options, sizeof(native_options));
    for (int i = 0; i < fake.option_count; i++)
        table[NATIVE_COUNT + i] = (struct option){
            .name = fake.options[i].name,
            .has_arg = fake.options[i].has_arg,
            .val = FAKE_FIRST + i,
        };
    return table;
}

/* "0", "0,2", "[0-2,4]": the bits of SET. */
static void read_groups(const char *text, bool set[FAKE_GROUPS])
{
    text += *text == '[';
    while (*text && *text != ']') {
        char *end;
        long first = strtol(text, &end, 10);
        long last = *end == '-' ? strtol(end + 1, &end, 10) : first;

        if (end == text || first < 0 || last >= FAKE_GROUPS) {
            slurm_error("Invalid --het-group value: %s", text);
            exit(1);
        }
        while (first <= last)
            set[first++] = true;
        text = *end == ',' ? end + 1 : end;
    }
}

/* As _get_het_group(), which does not report the groups to plugins. */
static void find_groups(int argc, char **argv, int number, bool set[FAKE_GROUPS])
{
    struct option *table = fake_option_table();
    const char *value = NULL;
    int c;

    optind = 0;
    opterr = 0;
    while ((c = getopt_long(argc, argv, fake_short_options, table, NULL)) != -1)
        if (c == FAKE_HET_GROUP)
            value = optarg;
    free(table);
    if (value)
        read_groups(value, set);
    else
        set[number] = true;
}

/* spank_process_env_options() */
static void read_environment(void)
{
    for (int i = 0; i < fake.option_count; i++) {
        char name[300];
        const char *value;

        snprintf(name, sizeof(name), "SLURM_SPANK_%s", fake_variable(&fake.options[i]));
        value = getenv(name);
        if (value && fake_take(&fake.options[i], value, 0) != 0) {
            slurm_error("Invalid argument (%s) for environment variable: %s", value,
                        name);
            exit(1);
        }
    }
}

/* _set_options(): COMPONENT may be NULL. */
static void read_options(int argc, char **argv, struct component *component)
{
    struct option *table = fake_option_table();
    int c;

    optind = 0;
    opterr = 1;
    while ((c = getopt_long(argc, argv, fake_short_options, table, NULL)) != -1) {
        if (c == '?')
            exit(1);
        if (component && c == FAKE_MULTI_PROG)
            component->multi_prog = true;
        if (component && c == FAKE_EXPORT)
            component->export = optarg;
        if (c < FAKE_FIRST)
            continue;
        if (fake_take(&fake.options[c - FAKE_FIRST], optarg, 0) != 0) {
            slurm_error("Invalid --%s argument: %s", fake.options[c - FAKE_FIRST].name,
                        optarg);
            exit(1);
        }
    }
    free(table);
}

static void end_component(void)
{
    fake_publish_options();
    if (fake_call("slurm_spank_init_post_opt") < 0) {
        slurm_error("Plugin stack post-option processing failed.");
        exit(1);
    }
}

/* The words from optind to the end of the spec. */
static char **copy_command(int argc, char **argv)
{
    char **words = fake_kept(calloc((size_t)argc + 1, sizeof(*words)));
    int count = 0;

    for (int i = optind; i < argc && strcmp(argv[i], ":") != 0; i++)
        words[count++] = argv[i];
    return words;
}

/* initialize_and_process_args(): once for each group that the spec names. Returns the
 * offset of the next spec; 0: this was the last one. */
static int read_spec(int argc, char **argv, int number)
{
    const char *export = getenv("SRUN_EXPORT_ENV");
    const char *kill = getenv("SLURM_KILL_BAD_EXIT");
    bool set[FAKE_GROUPS] = {false};
    int next;

    find_groups(argc, argv, number, set);
    for (int group = 0; group < FAKE_GROUPS; group++) {
        struct component *component = &components[group];

        if (!set[group])
            continue;
        component->group = group;
        component->set = true;
        component->kill_on_bad_exit = kill && strcmp(kill, "1") == 0;
        component->export = export ? export : getenv("SLURM_EXPORT_ENV");
        read_environment();
        read_options(argc, argv, component);
        component->argv = copy_command(argc, argv);
        end_component();
    }
    for (next = optind; next < argc && strcmp(argv[next], ":") != 0; next++)
        ;
    return next < argc ? next : 0;
}

/* As _copy_args(): a component without a command gets that of the next one. */
static void share_commands(void)
{
    char **command = NULL;

    for (int group = FAKE_GROUPS - 1; group >= 0; group--) {
        if (!components[group].set)
            continue;
        if (!*components[group].argv && command)
            components[group].argv = command;
        command = components[group].argv;
    }
}

static char *read_whole(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = fake_kept(calloc(1, 65536));

    if (!file)
        fake_fault("%s cannot be read", path);
    if (fread(text, 1, 65535, file) == 0)
        fake_fault("%s is empty", path);
    fclose(file);
    return text;
}

/* _load_multi(): argv[1] is the configuration's text from here on. */
static void load_multi_prog(struct component *component)
{
    char **words;

    if (!component->multi_prog)
        return;
    words = fake_kept(calloc(3, sizeof(*words)));
    words[0] = component->argv[0];
    words[1] = read_whole(words[0]);
    component->argv = words;
}

static int count_components(void)
{
    int count = 0;

    for (int group = 0; group < FAKE_GROUPS; group++)
        count += components[group].set;
    return count;
}

static int first_group(void)
{
    int group = 0;

    while (!components[group].set)
        group++;
    return group;
}

/* Set the variables with the jobs of a het job; their names differ if srun made the
 * job. */
static void name_jobs(const char *format)
{
    for (int group = 0; group < FAKE_GROUPS; group++) {
        char name[64];
        char value[16];

        if (!components[group].set)
            continue;
        snprintf(name, sizeof(name), format, group);
        snprintf(value, sizeof(value), "%d", FAKE_JOB + group);
        setenv(name, value, 1);
    }
}

/* FAKE_MADE: the partitions, with commas, of the components of the het job that srun
 * makes. srun keeps what the environment has. */
static void name_partitions(void)
{
    char *names = getenv("FAKE_MADE") ? strdup(getenv("FAKE_MADE")) : NULL;
    char *next = names;
    char *partition;

    for (int group = 0; (partition = strsep(&next, ",")); group++) {
        char name[64];

        snprintf(name, sizeof(name), "SLURM_JOB_PARTITION_PACK_GROUP_%d", group);
        setenv(name, partition, 0);
    }
    free(names);
}

/* Which kind of step is this: het job (components have jobs), or one job, and then with
 * or without components? */
static bool prepare_job(void)
{
    bool het_job = getenv("SLURM_HET_SIZE") != NULL;

    if (!getenv("SLURM_JOB_ID") && count_components() > 1) {
        het_job = true;
        name_jobs("SLURM_JOB_ID_PACK_GROUP_%d");
        name_partitions();
    }
    setenv("SLURM_JOB_ID", getenv("FAKE_JOB") ?: "100", 1);
    setenv("SLURMD_NODENAME", "n1", 1);
    return het_job;
}

/* Become the slurmstepd of COMPONENT: its place, the sticky options, the command. */
static void become_stepd(const struct component *component, bool het_job, int position)
{
    const char *step = getenv("FAKE_STEP");
    const char *words[256];
    int count = 0;
    char numbers[3][16];

    snprintf(numbers[0], sizeof(numbers[0]), "%d", component->group);
    snprintf(numbers[1], sizeof(numbers[1]), "%d",
             FAKE_JOB + (het_job ? component->group : 0));
    snprintf(numbers[2], sizeof(numbers[2]), "%d", position);
    words[count++] = "slurmstepd";
    words[count++] = numbers[0];
    words[count++] = numbers[1];
    words[count++] = step ? step : "0";
    words[count++] = numbers[2];
    words[count++] = component->multi_prog ? "multi-prog" : "-";
    for (int i = 0; i < fake.option_count; i++)
        if (fake.options[i].found) {
            words[count++] = fake.options[i].name;
            words[count++] = fake.options[i].value ? fake.options[i].value : "";
        }
    words[count++] = "--";
    for (char **word = component->argv; *word && count < 255; word++)
        words[count++] = *word;
    words[count] = NULL;
    if (component->export)
        fake_export(component->export);
    execv("/proc/self/exe", (char *const *)words);
    fake_fault("exec failed");
}

static int launch(const struct component *component, bool het_job, int position)
{
    int status;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0)
        become_stepd(component, het_job, position);
    if (waitpid(child, &status, 0) < 0)
        fake_fault("wait failed");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static void print_published(void)
{
    const char *table = getenv("SLURM_BERTH_STEP");
    char *text = table ? decode_table(table) : strdup("nothing");

    printf("published %s", text);
    if (components[first_group()].kill_on_bad_exit)
        printf(", kill on bad exit");
    printf("\n");
    free(text);
}

int fake_srun(int argc, char **argv)
{
    /* of the tasks, which srun writes for them; they do not run then */
    const char *prints = getenv("FAKE_PRINTS");
    bool het_job;
    int worst = 0;
    int position = 0;
    int number = 0;
    int next;

    if (getenv("SLURM_KILL_BAD_EXIT"))
        setenv("FAKE_KILL", "the user's", 1);
    fake_load("srun", S_CTX_LOCAL);
    if (fake_call("slurm_spank_init") < 0) {
        slurm_error("Plug-in initialization failed");
        return 1;
    }
    while ((next = read_spec(argc, argv, number++)) > 0) {
        argc -= next;
        argv += next;
    }
    share_commands();
    if (getenv("FAKE_SHOW"))
        print_published();
    het_job = prepare_job();
    for (int group = 0; group < FAKE_GROUPS; group++)
        if (components[group].set)
            load_multi_prog(&components[group]);
    for (int group = FAKE_GROUPS - 1; group >= 0; group--)
        if (components[group].set)
            fake.argv = components[group].argv;
    if (fake_call("slurm_spank_local_user_init") < 0)
        return 1;
    for (int group = 0; group < FAKE_GROUPS && !prints; group++) {
        bool het_step = !het_job && count_components() > 1;
        int status;

        if (!components[group].set)
            continue;
        status = launch(&components[group], het_job, het_step ? position++ : -1);
        worst = status > worst ? status : worst;
    }
    if (prints)
        printf("%s\n", prints);
    fake_call("slurm_spank_exit");
    return worst;
}

/* The #SBATCH lines of component NUMBER, from FAKE_HEADER. */
static void read_header(int number)
{
    const char *header = getenv("FAKE_HEADER");
    char *copy = strdup(header ? header : "");
    char *words[64] = {(char *)"sbatch"};
    char *save = NULL;
    int count = 1;

    for (char *word = strtok_r(copy, " ", &save); word && count < 63;
         word = strtok_r(NULL, " ", &save)) {
        if (strcmp(word, ":") == 0)
            number--;
        else if (number == 0)
            words[count++] = word;
    }
    read_options(count, words, NULL);
    free(copy);
}

static int header_components(void)
{
    const char *header = getenv("FAKE_HEADER");
    int count = 1;

    for (; header && *header; header++)
        count += *header == ':';
    return count;
}

/* What sbatch submits. It reads its script before the first component. */
static char *script;

static void read_script(void)
{
    script = getenv("FAKE_SCRIPT");
    if (script && strcmp(script, "-") == 0)
        script = read_whole("/dev/stdin");
}

/* Run what was submitted: sbatch in a batch step, salloc here. */
static int run_job(char **argv, struct component *batch)
{
    static char *shell[] = {(char *)"sh", (char *)"-c", NULL, NULL};

    if (fake.context == S_CTX_ALLOCATOR && strcmp(fake.program, "salloc") == 0) {
        fflush(stdout);
        execvp(*argv, argv);
        fake_fault("%s cannot be executed", *argv);
    }
    shell[2] = script;
    batch->argv = shell[2] ? shell : argv;
    setenv("FAKE_STEP", "4294967291", 1);
    setenv("SLURMD_NODENAME", "n1", 1);
    if (batch->export && strcmp(batch->export, "ALL") != 0)
        setenv("SLURM_EXPORT_ENV", batch->export, 1);
    return launch(batch, false, -1);
}

int fake_allocate(int argc, char **argv)
{
    struct component batch = {0};
    char **first = NULL;
    int number = 0;
    int next = 0;

    fake_load(strcmp(argv[0], "salloc") == 0 ? "salloc" : "sbatch", S_CTX_ALLOCATOR);
    if (fake_call("slurm_spank_init") < 0) {
        slurm_error("Failed to initialize plugin stack");
        return 1;
    }
    read_script();
    do {
        argc -= next;
        argv += next;
        read_header(number);
        read_environment();
        read_options(argc, argv, number == 0 ? &batch : NULL);
        next = optind;
        end_component();
        fake_pass_on_job_environment();
        components[number++].set = true;
        if (number == 1)
            first = fake_copy_environment();
    } while ((next < argc && strcmp(argv[next], ":") == 0) ||
             number < header_components());
    if (strcmp(fake.program, "sbatch") == 0)
        environ = first; /* see spank/resubmit.h */
    setenv("SLURM_JOB_ID", getenv("FAKE_JOB") ?: "100", 1);
    if (number > 1) {
        char size[16];

        snprintf(size, sizeof(size), "%d", number);
        setenv("SLURM_HET_SIZE", size, 1);
        name_jobs("SLURM_JOB_ID_HET_GROUP_%d");
    }
    return run_job(argv + optind, &batch);
}

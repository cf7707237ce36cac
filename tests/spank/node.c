/* SPDX-License-Identifier: Apache-2.0 */
/* slurmstepd and the tasks of one component on one node. */

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "decode.h"
#include "fake.h"

#define TASK_PROGRAM BERTH_LIBEXECDIR "/berth-task"
#define ORDER        "BERTH_TASK_ORDER"

extern char **environ;

/* The words that srun starts a slurmstepd with. */
struct place {
    const char *group;
    int position;
    bool multi_prog;
};

static char spool[64];

/* As _domain_socket_create(): the plugin reads this name. */
static void listen_for_slurm(const struct place *place)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    int length;

    snprintf(spool, sizeof(spool), "/tmp/fake-spank-XXXXXX");
    if (!mkdtemp(spool))
        fake_fault("no directory for a socket");
    length = snprintf(address.sun_path, sizeof(address.sun_path), "%s/n1_%u.%u", spool,
                      fake.job, fake.step);
    if (place->position >= 0)
        snprintf(address.sun_path + length, sizeof(address.sun_path) - (size_t)length,
                 ".%d", place->position);
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 1) < 0)
        fake_fault("no socket at %s", address.sun_path);
    unlink(address.sun_path);
    rmdir(spool);
}

/* Options as they come: with the launch message, and on old releases a second time from
 * the environment, from which they are then cleared. */
static char **receive_options(char **words)
{
    for (; *words && strcmp(*words, "--") != 0; words += 2)
        for (int i = 0; i < fake.option_count; i++)
            if (strcmp(fake.options[i].name, words[0]) == 0 &&
                fake_take(&fake.options[i], words[1], 1) != 0)
                slurm_error("spank: failed to process option %s", words[0]);
    for (int i = 0; i < fake.option_count; i++) {
        const char *name = fake_variable(&fake.options[i]);
        const char *value = getenv(name);
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(24, 5, 0)
        bool again = !fake.options[i].found;
#else
        bool again = true;
#endif

        if (value && again && fake_take(&fake.options[i], value, 1) != 0)
            slurm_error("spank: failed to process option %s", name);
        unsetenv(name);
    }
    return words + 1;
}

/* Is RANK in RANKS: "*", or numbers and ranges with commas? */
static bool is_in(const char *ranks, int rank)
{
    if (strcmp(ranks, "*") == 0)
        return true;
    while (*ranks) {
        char *end;
        long low = strtol(ranks, &end, 10);
        long high = *end == '-' ? strtol(end + 1, &end, 10) : low;

        if (rank >= low && rank <= high)
            return true;
        ranks = *end ? end + 1 : end;
    }
    return false;
}

/* The words of the line of a --multi-prog configuration that is for RANK. */
static char **program_of(const char *text, int rank)
{
    char **words = fake_kept(calloc(64, sizeof(*words)));
    char *copy = strdup(text);
    char *save = NULL;
    char *rest = NULL;
    char *line = strtok_r(copy, "\n", &save);
    int count = 0;

    while (line && (*line == '#' || !is_in(strtok_r(line, " ", &rest), rank)))
        line = strtok_r(NULL, "\n", &save);
    if (!line)
        fake_fault("no program in the configuration");
    while (count < 63 && (words[count] = strtok_r(NULL, " ", &rest)))
        count++;
    return words;
}

char **fake_copy_environment(void)
{
    size_t count = 0;
    char **copy;

    while (environ[count])
        count++;
    copy = fake_kept(calloc(count + 1, sizeof(*copy)));
    for (size_t i = 0; i < count; i++)
        copy[i] = fake_kept(strdup(environ[i]));
    return copy;
}

static bool contains(char **entries, const char *entry)
{
    for (; *entries; entries++)
        if (strcmp(*entries, entry) == 0)
            return true;
    return false;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Print ENTRY of the environment; what the plugin has sent, by the names of options. */
static void print_entry(char sign, const char *entry)
{
    static const char table[] = "SLURM_BERTH_STEP=";
    static const char order[] = ORDER "=";
    char *text = NULL;

    if (strncmp(entry, table, strlen(table)) == 0) {
        text = decode_table(entry + strlen(table));
        printf("%c table %s\n", sign, text);
    } else if (strncmp(entry, order, strlen(order)) == 0) {
        text = decode_order(entry + strlen(order));
        printf("%c order %s\n", sign, text);
    } else {
        printf("%c %s\n", sign, entry);
    }
    free(text);
}

static void print_raw(char **before)
{
    char **after = fake_copy_environment();
    size_t count = 0;

    printf("argv:");
    for (char **word = fake.task_argv; *word; word++)
        printf(" %s", *word);
    printf("\n");
    while (after[count])
        count++;
    qsort(after, count, sizeof(*after), compare);
    for (char **entry = before; *entry; entry++)
        if (!contains(after, *entry))
            print_entry('-', *entry);
    for (char **entry = after; *entry; entry++)
        if (!contains(before, *entry))
            print_entry('+', *entry);
}

/* Check that berth-task inherits a descriptor that the tasks share. */
static void check_descriptor(int fd)
{
    if (fcntl(fd, F_GETFD) != 0)
        printf("FAULT: a descriptor is not open, or not inherited: %d\n", fd);
}

/* Check what must hold in each task, with and without berth-task. */
static void check_task(bool wrapped)
{
    const char *order = getenv(ORDER);

    if (getenv("SLURM_BERTH_STEP"))
        printf("FAULT: SLURM_BERTH_STEP reaches the application\n");
    if (getenv("SLURM_BERTH_CONTAINERS"))
        printf("FAULT: SLURM_BERTH_CONTAINERS reaches the application\n");
    if (getenv("SLURM_BERTH_LIFETIME"))
        printf("FAULT: SLURM_BERTH_LIFETIME reaches the application\n");
    if (getenv("SLURM_BERTH_SITE"))
        printf("FAULT: SLURM_BERTH_SITE reaches the application\n");
    if (getenv("SLURM_KILL_BAD_EXIT") && !getenv("FAKE_KILL"))
        printf("FAULT: SLURM_KILL_BAD_EXIT reaches the application\n");
    if (wrapped != (order != NULL))
        printf("FAULT: berth-task and its order do not come together\n");
    if (wrapped && order)
        decode_descriptors(order, check_descriptor);
}

static void print_task(const struct place *place)
{
    char **command = fake.task_argv;
    bool wrapped = strcmp(*command, TASK_PROGRAM) == 0;
    const char *order = getenv(ORDER);

    check_task(wrapped);
    if (wrapped && order) {
        char *request = decode_request(order);
        char *argv0 = decode_argv0(order);

        printf("%s %s:", place->group, request);
        if (argv0)
            printf(" %s", argv0);
        free(request);
        free(argv0);
        command++;
    } else {
        printf("%s host:", place->group);
    }
    for (; *command; command++)
        printf(" %s", *command);
    printf("\n");
}

static int run_task(const struct place *place, int task)
{
    char **before;

    fake.task = task;
    fake.task_argv = place->multi_prog ? program_of(fake.argv[1], task) : fake.argv;
    before = fake_copy_environment();
    fake.in_task_init = true;
    if (fake_call("slurm_spank_task_init") < 0) {
        slurm_error("Failed to invoke spank plugin stack");
        return 1;
    }
    fake.in_task_init = false;
    if (getenv("FAKE_SCRIPT") && fake.step == 0xfffffffb) {
        unsetenv("FAKE_SCRIPT");
        unsetenv("FAKE_STEP");
        unsetenv("FAKE_HEADER");
        execvp(*fake.task_argv, fake.task_argv);
        fake_fault("%s cannot be executed", *fake.task_argv);
    }
    print_task(place);
    if (getenv("FAKE_RAW"))
        print_raw(before);
    return 0;
}

/* clone() makes it the status of the child. _exit() would let ASan look for the child's
 * stack, and say that it is not where the process has one. */
static int call_in_child(void *name)
{
    return fake_call(name) < 0;
}

/* With contain_spank, as Slurm does it: in a child that shares memory and not
 * descriptors. */
static int call_contained(const char *name)
{
    enum { STACK = 1 << 20 };
    static char stack[STACK];
    int status = 0;
    pid_t child;

    if (!getenv("FAKE_CONTAIN"))
        return fake_call(name);
    child = clone(call_in_child, stack + STACK, CLONE_VM | SIGCHLD, (void *)name);
    if (waitpid(child, &status, 0) < 0 || !WIFEXITED(status))
        fake_fault("%s died", name);
    return -WEXITSTATUS(status);
}

static int run_tasks(const struct place *place)
{
    const char *number = getenv("FAKE_TASKS");
    int count = number && fake.step < 0xfffffff0 ? atoi(number) : 1;
    int worst = 0;

    fake.task_count = (uint32_t)count;
    for (int task = 0; task < count; task++) {
        int status = 0;
        pid_t child;

        fflush(stdout);
        child = fork();
        if (child == 0)
            exit(run_task(place, task));
        fake.task = task;
        if (call_contained("slurm_spank_task_post_fork") < 0)
            fake_fault("task_post_fork failed on the node, which drains it");
        if (waitpid(child, &status, 0) < 0 || !WIFEXITED(status))
            fake_fault("task %d died", task);
        call_contained("slurm_spank_task_exit");
        fake.task = -1;
        worst = WEXITSTATUS(status) > worst ? WEXITSTATUS(status) : worst;
    }
    return worst;
}

int fake_stepd(int argc, char **argv)
{
    const char *table = getenv("FAKE_TABLE");
    struct place place;
    int status;

    if (argc < 7)
        fake_fault("slurmstepd without words");
    place.group = argv[1];
    fake.job = (uint32_t)strtoul(argv[2], NULL, 10);
    fake.step = (uint32_t)strtoul(argv[3], NULL, 10);
    place.position = atoi(argv[4]);
    place.multi_prog = strcmp(argv[5], "multi-prog") == 0;
    if (table)
        setenv("SLURM_BERTH_STEP", table, 1);
    if (getenv("FAKE_SITE"))
        setenv("SLURM_BERTH_SITE", getenv("FAKE_SITE"), 1);
    fake_load("slurmstepd", S_CTX_REMOTE);
    listen_for_slurm(&place);
    if (fake_call("slurm_spank_init") < 0)
        fake_fault("init failed on the node, which drains it");
    fake.argv = receive_options(argv + 6);
    if (fake_call("slurm_spank_init_post_opt") < 0)
        fake_fault("init_post_opt failed on the node, which drains it");
    if (call_contained("slurm_spank_user_init") < 0)
        fake_fault("user_init failed on the node, which drains it");
    status = run_tasks(&place);
    fake_call("slurm_spank_exit");
    return status;
}

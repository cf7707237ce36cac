/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of Slurm that the plugin calls, as far as it uses them. */

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fake.h"

extern char **environ;

/* The job's control environment of sbatch and salloc, NAME=VALUE each. */
static struct {
    char *items[FAKE_OPTIONS];
    int count;
} job_environment;

spank_context_t spank_context(void)
{
    return fake.context;
}

/* Does FAKE_FAIL name CALL? */
static bool fails(const char *call)
{
    const char *name = getenv("FAKE_FAIL");

    return name && strcmp(name, call) == 0;
}

/* The plugin checks that berth-task and berth-oci are installed; in these tests they
 * are not. */
int access(const char *path, int mode)
{
    const char *name = strrchr(path, '/');

    if (!name || (strcmp(name, "/berth-task") != 0 && strcmp(name, "/berth-oci") != 0))
        return faccessat(AT_FDCWD, path, mode, 0);
    errno = ENOENT;
    return fails("access") ? -1 : 0;
}

int memfd_create(const char *name, unsigned int flags)
{
    if (!fails("memfd_create"))
        return (int)syscall(SYS_memfd_create, name, flags);
    errno = EMFILE;
    return -1;
}

static void say(const char *middle, const char *format, va_list args)
{
    char text[4096];

    vsnprintf(text, sizeof(text), format, args);
    fflush(stdout);
    fprintf(stderr, "%s: %s%s\n", fake.program, middle, text);
}

void slurm_error(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say("error: ", format, args);
    va_end(args);
}

int slurm_load_ctl_conf(time_t update_time, slurm_conf_t **ret)
{
    static slurm_conf_t conf;

    (void)update_time;
    conf.mpi_default = getenv("FAKE_MPI_DEFAULT");
    conf.prolog_flags = getenv("FAKE_CONTAIN") ? PROLOG_FLAG_CONTAIN : 0;
    *ret = &conf;
    return SLURM_SUCCESS;
}

void slurm_free_ctl_conf(slurm_conf_t *conf)
{
    (void)conf;
}

/* FAKE_PARTITIONS: the partitions of the components of het job 100, with commas. */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
int(slurm_load_job)(job_info_msg_t **ret, slurm_step_id_t id, uint16_t flags)
#else
int slurm_load_job(job_info_msg_t **ret, uint32_t id, uint16_t flags)
#endif
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
    uint32_t job = id.job_id;
#else
    uint32_t job = id;
#endif
    static slurm_job_info_t components[FAKE_GROUPS];
    static job_info_msg_t answer = {.job_array = components};
    static char *names; /* of the partitions, which the answer borrows */
    const char *partitions = getenv("FAKE_PARTITIONS");
    char *next;
    char *partition;

    (void)flags;
    free(names);
    names = partitions ? strdup(partitions) : NULL;
    next = names;
    answer.record_count = 0;
    while ((partition = strsep(&next, ","))) {
        slurm_job_info_t *component = &components[answer.record_count];

        component->het_job_id = job;
        component->het_job_offset = answer.record_count;
        component->job_id = job + answer.record_count++;
        component->partition = partition;
    }
    *ret = &answer;
    return partitions ? SLURM_SUCCESS : SLURM_ERROR;
}

void slurm_free_job_info_msg(job_info_msg_t *answer)
{
    (void)answer;
}

char *slurm_strerror(int number)
{
    return strerror(number);
}

void slurm_info(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (fake.context != S_CTX_REMOTE && !getenv("FAKE_QUIET"))
        say("", format, args);
    va_end(args);
}

void slurm_verbose(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (getenv("FAKE_VERBOSE"))
        say("", format, args);
    va_end(args);
}

void slurm_spank_log(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

spank_err_t spank_option_register(spank_t spank, struct spank_option *option)
{
    struct fake_option *new = &fake.options[fake.option_count];

    (void)spank;
    if (!option->name || strlen(option->name) > FAKE_NAME_MAX || !option->usage)
        return ESPANK_BAD_ARG;
    if (fake.option_count == FAKE_OPTIONS)
        fake_fault("too many options");
    for (int i = 0; i < fake.option_count; i++)
        if (strcmp(fake.options[i].name, option->name) == 0)
            return ESPANK_BAD_ARG;
    *new = (struct fake_option){
        .name = strdup(option->name),
        .has_arg = option->has_arg,
        .val = option->val,
        .callback = option->cb,
    };
    fake.option_count++;
    return ESPANK_SUCCESS;
}

static bool remote(void)
{
    return fake.context == S_CTX_REMOTE;
}

spank_err_t spank_getenv(spank_t spank, const char *name, char *buf, int size)
{
    const char *value = getenv(name);

    (void)spank;
    if (!remote())
        return ESPANK_NOT_REMOTE;
    if (size < 0)
        return ESPANK_BAD_ARG;
    if (!value)
        return ESPANK_ENV_NOEXIST;
    return snprintf(buf, (size_t)size, "%s", value) >= size ? ESPANK_NOSPACE
                                                            : ESPANK_SUCCESS;
}

spank_err_t spank_setenv(spank_t spank, const char *name, const char *value,
                         int overwrite)
{
    (void)spank;
    if (!remote())
        return ESPANK_NOT_REMOTE;
    if (!name || !value || fails("spank_setenv"))
        return ESPANK_BAD_ARG;
    if (getenv(name) && !overwrite)
        return ESPANK_ENV_EXISTS;
    return setenv(name, value, 1) < 0 ? ESPANK_ERROR : ESPANK_SUCCESS;
}

spank_err_t spank_unsetenv(spank_t spank, const char *name)
{
    (void)spank;
    if (!remote())
        return ESPANK_NOT_REMOTE;
    if (!name)
        return ESPANK_BAD_ARG;
    return unsetenv(name) < 0 ? ESPANK_ERROR : ESPANK_SUCCESS;
}

static int count_words(char **words)
{
    int count = 0;

    while (words && words[count])
        count++;
    return count;
}

spank_err_t spank_get_item(spank_t spank, spank_item_t item, ...)
{
    spank_err_t result = ESPANK_SUCCESS;
    va_list args;

    (void)spank;
    va_start(args, item);
    if (item == S_JOB_ID) {
        *va_arg(args, uint32_t *) =
            getenv("FAKE_JOB") ? (uint32_t)atoi(getenv("FAKE_JOB")) : fake.job;
    } else if (item == S_JOB_STEPID) {
        *va_arg(args, uint32_t *) = fake.step;
    } else if (item == S_JOB_NODEID) {
        *va_arg(args, uint32_t *) = 0;
    } else if (item == S_JOB_ENV) {
        *va_arg(args, char ***) = environ;
    } else if (item == S_JOB_NNODES) {
        const char *nodes = getenv("FAKE_NODES");

        *va_arg(args, uint32_t *) = nodes ? (uint32_t)atoi(nodes) : 1;
    } else if (item == S_JOB_LOCAL_TASK_COUNT) {
        *va_arg(args, uint32_t *) = fake.task_count;
    } else if (item == S_JOB_TOTAL_TASK_COUNT) {
        *va_arg(args, uint32_t *) = fake.task_count;
        result = fails("S_JOB_TOTAL_TASK_COUNT") ? ESPANK_ERROR : ESPANK_SUCCESS;
    } else if (item == S_TASK_EXIT_STATUS) {
        const char *status = getenv("FAKE_STATUS");

        *va_arg(args, int *) = status ? atoi(status) << 8 : 0; /* of wait(2) */
    } else if (item == S_TASK_ID) {
        *va_arg(args, int *) = fake.task;
        result = fake.task < 0 ? ESPANK_NOT_TASK : ESPANK_SUCCESS;
    } else if (item == S_TASK_GLOBAL_ID) {
        *va_arg(args, uint32_t *) = (uint32_t)fake.task;
        result = fake.task < 0 ? ESPANK_NOT_TASK : ESPANK_SUCCESS;
    } else if (item == S_JOB_LOCAL_TO_GLOBAL_ID || item == S_JOB_GLOBAL_TO_LOCAL_ID) {
        uint32_t task = va_arg(args, uint32_t); /* all are on this node */

        *va_arg(args, uint32_t *) = task;
        result = task < fake.task_count ? ESPANK_SUCCESS : ESPANK_NOEXIST;
    } else if (item == S_JOB_ARGV) {
        *va_arg(args, int *) = count_words(fake.argv);
        *va_arg(args, char ***) = fake.argv;
        result = fails("S_JOB_ARGV") ? ESPANK_ERROR : ESPANK_SUCCESS;
    } else {
        fake_fault("the plugin asks for item %d, which the test does not have",
                   (int)item);
    }
    va_end(args);
    return result;
}

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)

spank_err_t spank_prepend_task_argv(spank_t spank, int argc, const char *argv[])
{
    int count = count_words(fake.task_argv);
    char **words = fake_kept(calloc((size_t)(argc + count) + 1, sizeof(*words)));

    (void)spank;
    if (!fake.in_task_init || fails("spank_prepend_task_argv"))
        return ESPANK_NOT_TASK;
    for (int i = 0; i < argc; i++)
        words[i] = fake_kept(strdup(argv[i]));
    for (int i = 0; i < count; i++)
        words[argc + i] = fake.task_argv[i];
    fake.task_argv = words;
    return ESPANK_SUCCESS;
}

#endif

static int find_job_variable(const char *name)
{
    size_t length = strlen(name);

    for (int i = 0; i < job_environment.count; i++)
        if (strncmp(job_environment.items[i], name, length) == 0 &&
            job_environment.items[i][length] == '=')
            return i;
    return -1;
}

spank_err_t spank_job_control_unsetenv(spank_t spank, const char *name)
{
    int at = find_job_variable(name);

    (void)spank;
    if (remote())
        return ESPANK_NOT_LOCAL;
    if (at >= 0) {
        free(job_environment.items[at]);
        job_environment.items[at] = job_environment.items[--job_environment.count];
    }
    return ESPANK_SUCCESS;
}

const char *fake_variable(const struct fake_option *option)
{
    static char name[256];
    size_t start;

    snprintf(name, sizeof(name), "_SLURM_SPANK_OPTION_berth_");
    start = strlen(name);
    snprintf(name + start, sizeof(name) - start, "%s", option->name);
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c))
            *c = '_';
    return name;
}

int fake_take(struct fake_option *option, const char *value, int is_remote)
{
    int result = option->callback(option->val, value, is_remote);

    if (result != 0)
        return result;
    if (option->has_arg) {
        free(option->value);
        option->value = value ? strdup(value) : NULL;
    }
    option->found = true;
    return 0;
}

void fake_publish_options(void)
{
    for (int i = 0; i < fake.option_count; i++) {
        struct fake_option *option = &fake.options[i];
        const char *name = fake_variable(option);
        int at = find_job_variable(name);

        if (!option->found)
            continue;
        setenv(name, option->value ? option->value : "", 1);
        if (at < 0)
            at = job_environment.count++;
        else
            free(job_environment.items[at]);
        /* Slurm formats NULL here, for which the C library prints "(null)". */
        if (asprintf(&job_environment.items[at], "%s=%s", name,
                     option->value ? option->value : "(null)") < 0)
            fake_fault("out of memory");
    }
}

void fake_pass_on_job_environment(void)
{
    for (int i = 0; i < job_environment.count; i++) {
        char *name = NULL;
        char *equals;

        if (asprintf(&name, "SLURM_SPANK_%s", job_environment.items[i]) < 0)
            fake_fault("out of memory");
        equals = strchr(name, '=');
        *equals = '\0';
        setenv(name, equals + 1, 1);
        free(name);
    }
}

bool fake_own(const char *name)
{
    return strncmp(name, "FAKE_", 5) == 0 || strncmp(name, "PATH=", 5) == 0 ||
           strncmp(name, "ASAN_", 5) == 0 || strncmp(name, "UBSAN_", 6) == 0 ||
           strncmp(name, "LSAN_", 5) == 0;
}

static bool survives_none(const char *entry)
{
    if (fake_own(entry) || strncmp(entry, "SLURM", 5) == 0)
        return true;
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)
    return strncmp(entry, "_SLURM_SPANK_OPTION_", 20) == 0;
#else
    return false;
#endif
}

static void drop_environment(void)
{
    char **to = environ;

    for (char **from = environ; *from; from++)
        if (survives_none(*from))
            *to++ = *from;
    *to = NULL;
}

void fake_export(const char *value)
{
    char *copy = strdup(value);
    char *named[FAKE_OPTIONS];
    bool all = false;
    int count = 0;
    char *save = NULL;

    for (char *word = strtok_r(copy, ",", &save); word && strcmp(word, "NONE") != 0;
         word = strtok_r(NULL, ",", &save)) {
        const char *own = strchr(word, '=') ? NULL : getenv(word);

        all |= strcmp(word, "ALL") == 0;
        if (own && asprintf(&named[count++], "%s=%s", word, own) < 0)
            fake_fault("out of memory");
        if (strchr(word, '='))
            named[count++] = word;
    }
    if (!all)
        drop_environment();
    for (int i = 0; i < count; i++) {
        *strchr(named[i], '=') = '\0';
        setenv(named[i], named[i] + strlen(named[i]) + 1, !all);
    }
}

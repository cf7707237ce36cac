/* SPDX-License-Identifier: Apache-2.0 */
/* The request of one component: parses, merges, compares and checks its options by the
 * table of options. Reads nothing of the node. */

#include "request/request.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/choice.h"
#include "base/cleanup.h"
#include "base/environ.h"
#include "base/text.h"
#include "request/mount.h"
#include "request/option.h"
#include "request/uri.h"

static void *field_of(const struct berth_request *request,
                      const struct berth_option *option)
{
    return (char *)request + option->field;
}

const char *berth_request_value(const struct berth_request *request,
                                enum berth_option_id id, size_t at)
{
    const struct berth_option *option = &berth_options[id];
    const void *field = field_of(request, option);
    const struct berth_strvec *list = field;
    const enum berth_choice *choice = field;

    if (option->kind == BERTH_KIND_LIST && at < list->count)
        return list->items[at];
    if (option->kind == BERTH_KIND_LIST || at > 0)
        return NULL;
    if (option->kind == BERTH_KIND_TEXT)
        return *(char *const *)field;
    if (*choice == option->says)
        return "";
    return NULL;
}

/* Replaces *RET by a copy of TEXT. */
static int replace(char **ret, const char *text, struct berth_err *err)
{
    char *copy = strdup(text);

    if (!copy)
        return berth_err_oom(err);
    free(*ret);
    *ret = copy;
    return 0;
}

int berth_request_put(struct berth_request *request, enum berth_option_id id,
                      const char *value, struct berth_err *err)
{
    const struct berth_option *option = &berth_options[id];
    void *field = field_of(request, option);
    struct berth_strvec *list = field;

    if (option->kind == BERTH_KIND_TEXT)
        return replace(field, value, err);
    if (option->kind == BERTH_KIND_LIST) {
        if (id == BERTH_OPTION_MOUNTS)
            berth_mount_add(value, list);
        else
            berth_strvec_push(list, value);
        return berth_err_oom_if(list->failed, err);
    }
    *(enum berth_choice *)field = option->says;
    return 0;
}

/* The first of --container-args must be a flag: a word without a dash can only be the
 * value of the flag before it. */
static int check_first_flag(const char *word, struct berth_err *err)
{
    bool is_letter = word[0] != '\0' && word[1] == '\0';
    const char *lacking = "--";

    if (*word == '-')
        return 0;
    if (*word == '/')
        lacking = "--bind ";
    else if (is_letter)
        lacking = "-";
    return berth_err_set(err, "'%s' is not a flag; did you mean '%s%s'?", word, lacking,
                         word);
}

/* Checks VALUE of a text, which may be OLD already (NULL: it is not set). */
static int check_text(const char *old, const char *value, struct berth_err *err)
{
    if (!old || strcmp(old, value) == 0)
        return 0;
    return berth_err_set(err, "given twice, '%s' and '%s'; expected one value", old,
                         value);
}

/* Checks OPTION, a switch, which may be OLD already. */
static int check_switch(const struct berth_option *option, enum berth_choice old,
                        struct berth_err *err)
{
    if (old == BERTH_UNSAID || old == option->says)
        return 0;
    return berth_err_set(
        err, "given together with its opposite; expected one of --%s and --%s",
        berth_option_switch(option->field, BERTH_YES)->name,
        berth_option_switch(option->field, BERTH_NO)->name);
}

/* Checks VALUE against the values that REQUEST already has of OPTION. */
static int check_repeat(const struct berth_request *request,
                        const struct berth_option *option, const char *value,
                        struct berth_err *err)
{
    const void *field = field_of(request, option);

    if (option == &berth_options[BERTH_OPTION_MOUNTS])
        return berth_mount_check_place(&request->mounts, value, err);
    if (option == &berth_options[BERTH_OPTION_ARGS] && request->args.count == 0)
        return check_first_flag(value, err);
    if (option->kind == BERTH_KIND_TEXT)
        return check_text(*(char *const *)field, value, err);
    if (option->kind == BERTH_KIND_SWITCH)
        return check_switch(option, *(const enum berth_choice *)field, err);
    return 0;
}

/* Appends to RET what VALUE is for OPTION, in full form. Slurm forwards an option
 * without its optional value as "(null)". */
static int read_values(const struct berth_option *option, const char *value,
                       const char *base, struct berth_strvec *ret,
                       struct berth_err *err)
{
    const bool is_optional = berth_option_is_optional(option);
    struct berth_written written = {option, berth_text_given(value), base};

    if (is_optional && value && strcmp(value, "(null)") == 0)
        written.value = NULL;
    if (!option->argument) {
        berth_strvec_push(ret, "");
        return berth_err_oom_if(ret->failed, err);
    }
    if (!written.value && !is_optional)
        return berth_err_set(err, "the value is empty; give one, or leave the option "
                                  "out");
    if (option->parse(&written, ret, err) < 0)
        return -1;
    return berth_err_oom_if(ret->failed, err);
}

int berth_request_parse(struct berth_request *request, enum berth_option_id id,
                        const char *value, const char *base, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec values = {0};

    if (id >= BERTH_OPTION_COUNT)
        return berth_err_damaged(err, "option %d", (int)id);
    if (read_values(&berth_options[id], value, base, &values, err) < 0)
        return -1;
    for (size_t i = 0; i < values.count; i++)
        if (check_repeat(request, &berth_options[id], values.items[i], err) < 0 ||
            berth_request_put(request, id, values.items[i], err) < 0)
            return -1;
    if (id == BERTH_OPTION_MOUNTS)
        berth_mount_list_ignored(value, &request->ignored);
    if (request->ignored.failed)
        return berth_err_oom(err);
    if (id == BERTH_OPTION_IMAGE && berth_uri_is(request->image))
        return replace(&request->uri, request->image, err);
    return 0;
}

bool berth_request_says(const struct berth_request *request, enum berth_option_id id)
{
    const size_t field = berth_options[id].field;

    for (int other = 0; other < BERTH_OPTION_COUNT; other++)
        if (berth_options[other].field == field &&
            berth_request_value(request, (enum berth_option_id)other, 0))
            return true;
    return false;
}

int berth_request_put_uri(struct berth_request *request, const char *uri,
                          struct berth_err *err)
{
    if (replace(&request->uri, uri, err) < 0)
        return -1;
    return replace(&request->image, uri, err);
}

static bool same_text(const char *a, const char *b)
{
    if (!a || !b)
        return a == b;
    return strcmp(a, b) == 0;
}

bool berth_request_has_container(const struct berth_request *request)
{
    if (!request->image)
        return request->container_name != NULL;
    return strcmp(request->image, BERTH_NO_IMAGE) != 0;
}

bool berth_request_has_job_lifetime(const struct berth_request *request)
{
    return berth_request_has_container(request) &&
           (request->container_name ||
            same_text(request->lifetime, BERTH_LIFETIME_JOB));
}

bool berth_request_needs_pull(const struct berth_request *request)
{
    return request->uri && same_text(request->image, request->uri);
}

/* Does REQUEST have an option besides the image? */
static bool has_more_options(const struct berth_request *request)
{
    for (int id = 0; id < BERTH_OPTION_COUNT; id++)
        if (id != BERTH_OPTION_IMAGE && berth_request_value(request, id, 0))
            return true;
    return false;
}

void berth_request_note_ignored(const struct berth_request *request,
                                struct berth_strvec *ret)
{
    BERTH_BUF struct berth_buf flags = {0};

    if (request->ignored.count == 0)
        return;
    berth_strvec_join(&request->ignored, ", ", &flags);
    if (!flags.failed)
        berth_strvec_pushf(ret,
                           "--container-mounts: %s: flags of enroot for what is done "
                           "anyway; leave them out",
                           flags.text);
}

const char *berth_request_mode(const struct berth_request *request)
{
    return berth_text_or(request->mpi, "off");
}

bool berth_request_mpi_is(const struct berth_request *request, enum berth_mode mode)
{
    return berth_mode_of(request->mpi) == mode;
}

/* Short options of the runtime whose value is the rest of the word. */
#define VALUED_LETTERS "BHSWo="

static bool is_no(const char *value)
{
    static const char *const words[] = {"",   "0",  "f",  "F",   "false", "False",
                                        "no", "No", "NO", "off", "FALSE", NULL};

    return berth_text_is_any(value, words);
}

/* Has WORD, short options of the runtime, one of LETTERS, before one whose value is the
 * rest of WORD? */
static bool has_letter(const char *word, const char *letters)
{
    const char *group;
    size_t found;

    if (word[0] != '-' || word[1] == '-')
        return false;
    group = word + 1;
    found = strcspn(group, letters);
    return found < strcspn(group, VALUED_LETTERS) && group[found] != '\0';
}

/* Does WORD switch on one of NAMES: --NAME, or --NAME=VALUE with a VALUE that is not
 * no?
 */
static bool has_name(const char *word, const char *const *names)
{
    size_t length = strcspn(word, "=");

    if (word[length] == '=' && is_no(word + length + 1))
        return false;
    for (; *names; names++)
        if (strlen(*names) == length && strncmp(word, *names, length) == 0)
            return true;
    return false;
}

/* Do the flags of the request switch on one of NAMES, or a short option of LETTERS,
 * also in a word of several, -ec? */
static bool has_flag(const struct berth_request *request, const char *letters,
                     const char *const *names)
{
    for (size_t i = 0; i < request->args.count; i++) {
        const char *word = request->args.items[i];

        if (has_letter(word, letters) || has_name(word, names))
            return true;
    }
    return false;
}

bool berth_request_has_namespaces(const struct berth_request *request)
{
    static const char *const names[] = {"--fakeroot", "--pid", "--containall", NULL};

    if (request->root == BERTH_YES || request->unshare.count > 0)
        return true;
    /* the job keeps such a container, in namespaces that last longer than the step's */
    if (request->container_name)
        return true;
    return has_flag(request, "fpC", names);
}

bool berth_request_is_closed(const struct berth_request *request,
                             char *const *environment)
{
    static const char *const names[] = {"--contain", "--containall", NULL};
    static const char *const variables[] = {"APPTAINER_CONTAIN", "APPTAINER_CONTAINALL",
                                            "SINGULARITY_CONTAIN",
                                            "SINGULARITY_CONTAINALL", NULL};

    for (const char *const *it = variables; *it; it++) {
        const char *value = berth_environ_value(environment, *it);

        if (value && !is_no(value))
            return true;
    }
    return has_flag(request, "cC", names);
}

bool berth_request_is_separate(const struct berth_request *request,
                               char *const *environment)
{
    return berth_request_has_namespaces(request) ||
           berth_request_is_closed(request, environment);
}

/* The value of the flag NAME at ARGS[AT], behind an equals sign or in the next word;
 * NULL: another flag is there. */
static const char *flag_value(const struct berth_strvec *args, size_t at,
                              const char *name)
{
    const char *word = args->items[at];
    const char *rest;

    if (!berth_text_starts(word, name))
        return NULL;
    rest = word + strlen(name);
    if (*rest == '=')
        return rest + 1;
    if (*rest == '\0')
        return args->items[at + 1];
    return NULL;
}

bool berth_request_leaves_dev_out(const struct berth_request *request,
                                  char *const *environment)
{
    static const char *const variables[] = {"APPTAINER_NO_MOUNT",
                                            "SINGULARITY_NO_MOUNT", NULL};
    const struct berth_strvec *args = &request->args;

    for (size_t i = 0; i < args->count; i++)
        if (berth_text_lists(flag_value(args, i, "--no-mount"), "dev"))
            return true;
    for (const char *const *it = variables; *it; it++)
        if (berth_text_lists(berth_environ_value(environment, *it), "dev"))
            return true;
    return false;
}

bool berth_request_mpi_declined(const struct berth_request *request)
{
    return request->mpi && berth_request_mpi_is(request, BERTH_MODE_OFF);
}

bool berth_request_starts_mpirun(const struct berth_request *request)
{
    return berth_request_mpi_is(request, BERTH_MODE_LOCAL) ||
           berth_request_mpi_is(request, BERTH_MODE_LOCAL_EACH) ||
           berth_request_mpi_is(request, BERTH_MODE_LAUNCH);
}

bool berth_request_mpi_chosen(const struct berth_request *request)
{
    return !berth_request_mpi_is(request, BERTH_MODE_OFF) &&
           !berth_request_starts_mpirun(request);
}

bool berth_request_mpi_may_host(const struct berth_request *request)
{
    if (!berth_request_mpi_chosen(request) ||
        berth_request_mpi_is(request, BERTH_MODE_HYBRID))
        return false;
    if (berth_request_mpi_is(request, BERTH_MODE_AUTO))
        return request->world != BERTH_WORLD_OWN;
    return true;
}

bool berth_request_mpi_must_host(const struct berth_request *request)
{
    if (!berth_request_mpi_may_host(request))
        return false;
    if (berth_request_mpi_is(request, BERTH_MODE_AUTO))
        return request->world == BERTH_WORLD_HOST;
    return true;
}

bool berth_request_has_libs(const struct berth_request *request)
{
    return berth_request_has_container(request) && request->libs &&
           strcmp(request->libs, BERTH_NONE) != 0;
}

bool berth_request_lists_library(const struct berth_request *request, const char *name)
{
    return berth_request_has_libs(request) && berth_text_lists(request->libs, name);
}

bool berth_request_has_auto_libs(const struct berth_request *request)
{
    return berth_request_lists_library(request, BERTH_LIBS_AUTO);
}

bool berth_request_names_libs(const struct berth_request *request)
{
    return berth_request_has_libs(request) &&
           strcmp(request->libs, BERTH_LIBS_AUTO) != 0;
}

void berth_request_list_devices(const struct berth_request *request,
                                struct berth_strvec *ret)
{
    BERTH_STRVEC struct berth_strvec words = {0};

    berth_strvec_split(&words, berth_text_or(request->gpu, ""));
    for (size_t i = 0; i < words.count; i++)
        if (strchr(words.items[i], '='))
            berth_strvec_push(ret, words.items[i]);
    ret->failed |= words.failed;
}

bool berth_request_looks_inside(const struct berth_request *request)
{
    return berth_request_mpi_chosen(request) || berth_request_names_libs(request);
}

static bool is_for_libs(const struct berth_request *request)
{
    return berth_request_has_libs(request) &&
           (!berth_request_mpi_chosen(request) ||
            berth_request_mpi_is(request, BERTH_MODE_HYBRID));
}

const char *berth_request_cause(const struct berth_request *request)
{
    if (is_for_libs(request))
        return "--container-libs";
    return "--mpi-bind";
}

const char *berth_request_cause_value(const struct berth_request *request)
{
    if (is_for_libs(request))
        return request->libs;
    return berth_request_mode(request);
}

bool berth_request_may_stage(const struct berth_request *request)
{
    return berth_request_mpi_may_host(request) ||
           (berth_request_has_libs(request) && berth_request_looks_inside(request));
}

const char *const berth_libs_networks[] = {BERTH_LIBS_AUTO, "ucx",  "libfabric",
                                           "nccl",          "rccl", NULL};

bool berth_libs_need_mpi(const char *libs)
{
    for (const char *const *it = berth_libs_networks; *it; it++)
        if (berth_text_lists(libs, *it))
            return true;
    return false;
}

int berth_request_complete(struct berth_request *request, struct berth_err *err)
{
    bool needs_mpi = !request->mpi && berth_libs_need_mpi(request->libs);

    if (needs_mpi && berth_request_put(request, BERTH_OPTION_MPI, "hybrid", err) < 0)
        return -1;
    if (request->container_name && request->writable == BERTH_UNSAID)
        request->writable = BERTH_YES;
    return 0;
}

bool berth_request_is_explained(const struct berth_request *request)
{
    return request->explain && strcmp(request->explain, BERTH_EXPLAIN_NO) != 0;
}

bool berth_request_has_options(const struct berth_request *request)
{
    return request->image || has_more_options(request);
}

/* Do A and B have the same values of the option ID? */
static bool same_option(const struct berth_request *a, const struct berth_request *b,
                        enum berth_option_id id)
{
    const char *one, *other;
    size_t i = 0;

    do {
        one = berth_request_value(a, id, i);
        other = berth_request_value(b, id, i);
        if (!same_text(one, other))
            return false;
        i++;
    } while (one);
    return true;
}

/* Does the option apply to a task, and not to its container? */
static bool is_task_option(enum berth_option_id id)
{
    switch (id) {
    case BERTH_OPTION_WORKDIR:
    case BERTH_OPTION_ENV:
    case BERTH_OPTION_ENTRYPOINT:
    case BERTH_OPTION_NO_ENTRYPOINT:
    case BERTH_OPTION_SCRIPT:
    case BERTH_OPTION_NO_SCRIPT:
    case BERTH_OPTION_EXPLAIN:
        return true;
    default:
        return false;
    }
}

/* Does the option apply to a step, or say which container it uses? */
static bool is_step_option(enum berth_option_id id)
{
    switch (id) {
    case BERTH_OPTION_IMAGE:
    case BERTH_OPTION_LIFETIME:
    case BERTH_OPTION_NAME:
    case BERTH_OPTION_SAVE:
    case BERTH_OPTION_MPI:
    case BERTH_OPTION_LIBS:
        return true;
    default:
        return false;
    }
}

bool berth_request_is_from_start(enum berth_option_id id)
{
    return !is_task_option(id) && !is_step_option(id);
}

static bool same(const struct berth_request *a, const struct berth_request *b,
                 bool all_options)
{
    for (int id = 0; id < BERTH_OPTION_COUNT; id++) {
        if (!all_options && is_task_option((enum berth_option_id)id))
            continue;
        if (!same_option(a, b, (enum berth_option_id)id))
            return false;
    }
    return same_text(a->uri, b->uri) && a->world == b->world;
}

bool berth_request_equal(const struct berth_request *a, const struct berth_request *b)
{
    return same(a, b, true);
}

/* Does ITEM, NAME or NAME=VALUE, set where programs or libraries are found? */
static bool is_search(const char *item)
{
    return berth_text_starts(item, "LD_") || berth_text_starts(item, "PATH=") ||
           strcmp(item, "PATH") == 0;
}

/* The next such item, from *AT on, which is moved past it; NULL: there is none. */
static const char *next_search(const struct berth_strvec *items, size_t *at)
{
    while (*at < items->count) {
        const char *item = items->items[*at];

        ++*at;
        if (is_search(item))
            return item;
    }
    return NULL;
}

/* Does a name of a program mean the same file with A and with B? */
static bool find_same_programs(const struct berth_request *a,
                               const struct berth_request *b)
{
    size_t i = 0, k = 0;
    const char *item;

    if (!same_option(a, b, BERTH_OPTION_WORKDIR) || a->entrypoint != b->entrypoint)
        return false;
    do {
        item = next_search(&a->env, &i);
        if (!same_text(item, next_search(&b->env, &k)))
            return false;
    } while (item);
    return true;
}

bool berth_request_same_container(const struct berth_request *a,
                                  const struct berth_request *b)
{
    if (!same(a, b, false))
        return false;
    return !berth_request_looks_inside(a) || find_same_programs(a, b);
}

/* Copies the values of option ID of FROM. */
static int merge_option(struct berth_request *request, const struct berth_request *from,
                        enum berth_option_id id, struct berth_err *err)
{
    const char *value = berth_request_value(from, id, 0);

    for (size_t i = 1; value; i++) {
        if (berth_request_put(request, id, value, err) < 0)
            return -1;
        value = berth_request_value(from, id, i);
    }
    return 0;
}

int berth_request_merge(struct berth_request *request, const struct berth_request *over,
                        struct berth_err *err)
{
    if (over->image) {
        if (!berth_request_has_container(over))
            berth_request_fini(request);
        free(berth_steal(&request->uri));
    }
    if (over->uri && replace(&request->uri, over->uri, err) < 0)
        return -1;
    if (over->world)
        request->world = over->world;
    berth_strvec_append(&request->ignored, &over->ignored);
    if (request->ignored.failed)
        return berth_err_oom(err);
    for (int id = 0; id < BERTH_OPTION_COUNT; id++)
        if (merge_option(request, over, (enum berth_option_id)id, err) < 0)
            return -1;
    return 0;
}

bool berth_request_only_explains(const struct berth_request *request)
{
    struct berth_request rest = *request; /* borrows */

    rest.explain = NULL;
    return !berth_request_has_container(request) &&
           berth_request_is_explained(request) && !has_more_options(&rest);
}

int berth_request_check(const struct berth_request *request, struct berth_err *err)
{
    enum berth_option_id id = BERTH_OPTION_MOUNTS;

    if (request->container_name && same_text(request->lifetime, BERTH_LIFETIME_STEP))
        return berth_err_set(err, "--container-lifetime=step: a container with a name "
                                  "lasts as long as its job; leave one of these out");
    if (berth_request_has_container(request) || !has_more_options(request))
        return 0;
    if (request->image)
        return berth_err_set(err, "--container-image=none: the other container options "
                                  "mean nothing on the host; leave them out");
    while (id < BERTH_OPTION_COUNT - 1 && !berth_request_value(request, id, 0))
        id++;
    return berth_err_set(err, "--%s: it needs an image; add --container-image=IMAGE",
                         berth_options[id].name);
}

void berth_request_fini(struct berth_request *request)
{
    for (int id = 0; id < BERTH_OPTION_COUNT; id++) {
        void *field = field_of(request, &berth_options[id]);

        if (berth_options[id].kind == BERTH_KIND_TEXT)
            free(*(char **)field);
        else if (berth_options[id].kind == BERTH_KIND_LIST)
            berth_strvec_fini(field);
    }
    free(request->uri);
    berth_strvec_fini(&request->site);
    berth_strvec_fini(&request->ignored);
    *request = (struct berth_request){0};
}

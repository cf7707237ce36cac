/* SPDX-License-Identifier: Apache-2.0 */
/* The table of options, and the parsers of their values. A test compares the table with
 * spank_berth(8). */

#include "request/option.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/choice.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "request/mode.h"
#include "request/values.h"
#include "request/mount.h"
#include "request/path.h"
#include "request/registry.h"
#include "request/uri.h"

static int parse_image(const struct berth_written *written, struct berth_strvec *ret,
                       struct berth_err *err)
{
    BERTH_FREE char *path = NULL;

    if (berth_uri_is(written->value)) {
        path = berth_registry_plain(written->value);
        if (!path)
            return berth_err_oom(err);
        if (berth_uri_check(path, err) < 0)
            return -1;
    } else if (strcmp(written->value, BERTH_NO_IMAGE) != 0) {
        if (berth_path_absolute(written->value, written->base, &path, err) < 0)
            return -1;
    }
    berth_strvec_push(ret, path ? path : written->value);
    return 0;
}

static int parse_mounts(const struct berth_written *written, struct berth_strvec *ret,
                        struct berth_err *err)
{
    return berth_mount_parse_list(written->value, written->base, ret, err);
}

static int parse_workdir(const struct berth_written *written, struct berth_strvec *ret,
                         struct berth_err *err)
{
    if (*written->value != '/')
        return berth_err_set(err,
                             "'%s' is not absolute; expected a directory in the "
                             "image, from /",
                             written->value);
    berth_strvec_push(ret, written->value);
    return 0;
}

/* Copies the first item of a comma list to COPY; `\,` in the list is a comma of the
 * item. Returns the length of the item in TEXT. */
static size_t cut_item(const char *text, char *copy)
{
    size_t at = 0;

    for (; text[at] && text[at] != ','; at++) {
        if (text[at] == '\\' && text[at + 1] == ',')
            at++;
        *copy++ = text[at];
    }
    *copy = '\0';
    return at;
}

static int parse_env(const struct berth_written *written, struct berth_strvec *ret,
                     struct berth_err *err)
{
    const char *next = written->value;
    BERTH_FREE char *item = malloc(strlen(next) + 1);

    if (!item)
        return berth_err_oom(err);
    for (;; next++) {
        next += cut_item(next, item);
        if ((strchr(item, '=') ? berth_value_assignment(item, NULL)
                               : berth_value_variable(item, NULL)) < 0)
            return berth_err_set(err,
                                 "'%s' is not a variable; expected NAME or NAME=VALUE, "
                                 "with letters, digits and _ in NAME%s",
                                 item,
                                 strchr(written->value, ',')
                                     ? " (a comma in a value is \\, in quotes: "
                                       "'A=1\\,2')"
                                     : "");
        berth_strvec_push(ret, item);
        if (*next == '\0')
            return 0;
    }
}

/* Refuses a word of --container-args that would do nothing: the runtime does not remove
 * quotes, and tasks change to their own directory after the runtime has changed to its
 * own. */
static int check_flag(const char *word, struct berth_err *err)
{
    size_t length = strcspn(word, "=");

    if (*word == '"' || *word == '\'')
        return berth_err_set(err,
                             "'%s': there is no quoting here, words are split at "
                             "blanks; give a variable with --container-env, a mount "
                             "with --container-mounts",
                             word);
    if (length == strlen("--pwd") &&
        (berth_text_starts(word, "--pwd") || berth_text_starts(word, "--cwd")))
        return berth_err_set(
            err, "%s has no effect on tasks; use --container-workdir=DIR", word);
    return 0;
}

static int parse_args(const struct berth_written *written, struct berth_strvec *ret,
                      struct berth_err *err)
{
    BERTH_FREE char *copy = strdup(written->value);
    char *next = copy;
    char *word;

    if (!copy)
        return berth_err_oom(err);
    while ((word = strsep(&next, " \t\n"))) {
        if (check_flag(word, err) < 0)
            return -1;
        if (*word)
            berth_strvec_push(ret, word);
    }
    return 0;
}

/* Bytes of a name: messages repeat it. */
enum { LONGEST_NAME = 63 };

/* Is WORD one of the words of OPTION, or a name where the option takes one? */
static bool is_word(const struct berth_option *option, const char *word)
{
    return berth_choice_find(option->argument, word) >= 0 ||
           (strstr(option->argument, "NAME") && strlen(word) <= LONGEST_NAME &&
            berth_mode_is_word(word));
}

static int parse_word(const struct berth_written *written, struct berth_strvec *ret,
                      struct berth_err *err)
{
    const struct berth_option *option = written->option;
    const char *name = strstr(option->argument, "NAME");
    BERTH_BUF struct berth_buf words = {0};

    if (is_word(option, written->value)) {
        berth_strvec_push(ret, written->value);
        return 0;
    }
    berth_choice_list(option->argument, name ? "the name of a profile" : NULL, &words);
    if (words.failed)
        return berth_err_oom(err);
    return berth_err_set(err, "'%s' is not a %s; expected %s", written->value,
                         option->noun, words.text);
}

static int parse_devices(const struct berth_written *written, struct berth_strvec *ret,
                         struct berth_err *err)
{
    BERTH_FREE char *copy = strdup(written->value);
    char *next = copy;
    const char *name;

    if (!copy)
        return berth_err_oom(err);
    while ((name = strsep(&next, ","))) {
        if (berth_value_device(name, err) < 0)
            return -1;
        berth_strvec_push(ret, name);
    }
    return 0;
}

static int parse_mode(const struct berth_written *written, struct berth_strvec *ret,
                      struct berth_err *err)
{
    const char *word = written->value ? written->value : "auto";

    return parse_word(&(struct berth_written){written->option, word, NULL}, ret, err);
}

/* Parses names of profiles, or `off` alone. */
static int parse_libraries(const struct berth_written *written,
                           struct berth_strvec *ret, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec words = {0};
    BERTH_FREE char *copy = strdup(written->value);
    char *next = copy;
    char *word;

    if (!copy)
        return berth_err_oom(err);
    while ((word = strsep(&next, ",")))
        if (parse_word(&(struct berth_written){written->option, word, NULL}, &words,
                       err) < 0)
            return -1;
    if (words.failed)
        return berth_err_oom(err);
    if (words.count > 1 && berth_strvec_has(&words, BERTH_LIBRARIES_OFF))
        return berth_err_set(err, "'%s': off goes with no other name; leave one out",
                             written->value);
    berth_strvec_push(ret, written->value);
    return 0;
}

/* The variable of the option may also be `yes` or `no`, like that of a switch. */
static int parse_explain(const struct berth_written *written, struct berth_strvec *ret,
                         struct berth_err *err)
{
    const char *word = written->value;

    if (!word || strcmp(word, "yes") == 0)
        word = BERTH_EXPLAIN_TEXT;
    else if (strcmp(word, "no") == 0)
        word = BERTH_EXPLAIN_OFF;
    return parse_word(&(struct berth_written){written->option, word, NULL}, ret, err);
}

#define FIELD(member)       offsetof(struct berth_request, member)
#define TEXT(member)        BERTH_KIND_TEXT, FIELD(member), 0
#define LIST(member)        BERTH_KIND_LIST, FIELD(member), 0
#define SWITCH(member, say) BERTH_KIND_SWITCH, FIELD(member), say, NULL

const struct berth_option berth_options[BERTH_OPTION_COUNT] = {
    [BERTH_OPTION_IMAGE] = {"container-image", "PATH|URI|none",
                            "run every task in this image: a SIF file, a directory, "
                            "docker://, oras:// or library://; none: on the host "
                            "(Slurm's own --container is for OCI bundles)",
                            TEXT(image), parse_image, "IMAGE"},
    [BERTH_OPTION_MOUNTS] = {"container-mounts", "SRC[:DST[:ro|rw|sqsh]][,...]",
                             "host paths, separated by commas; sqsh: the files in a "
                             "squashfs file; repeats accumulate",
                             LIST(mounts), parse_mounts, "LIST"},
    [BERTH_OPTION_WORKDIR] = {"container-workdir", "DIR",
                              "working directory of the tasks, in the image; default: "
                              "that of srun",
                              TEXT(workdir), parse_workdir, "DIR"},
    [BERTH_OPTION_MOUNT_HOME] = {"container-mount-home", NULL,
                                 "mount the home directory; default: as the runtime "
                                 "does without a flag",
                                 SWITCH(home, BERTH_YES)},
    [BERTH_OPTION_NO_MOUNT_HOME] = {"no-container-mount-home", NULL,
                                    "do not mount the home directory",
                                    SWITCH(home, BERTH_NO)},
    [BERTH_OPTION_WRITABLE] = {"container-writable", NULL,
                               "let tasks write to the image's root, and throw away "
                               "what they write; default: they cannot write there",
                               SWITCH(writable, BERTH_YES)},
    [BERTH_OPTION_READONLY] = {"container-readonly", NULL,
                               "the opposite, and the default",
                               SWITCH(writable, BERTH_NO)},
    [BERTH_OPTION_ENTRYPOINT] = {"container-entrypoint", NULL,
                                 "run the command through the image's runscript; "
                                 "default: without it",
                                 SWITCH(entrypoint, BERTH_YES)},
    [BERTH_OPTION_NO_ENTRYPOINT] = {"no-container-entrypoint", NULL,
                                    "do not, which is the default",
                                    SWITCH(entrypoint, BERTH_NO)},
    [BERTH_OPTION_ENV] = {"container-env", "NAME[=VALUE][,...]",
                          "variables to pass or to set, NAME[=VALUE] with commas, over "
                          "the image's own; repeats accumulate",
                          LIST(env), parse_env, "LIST"},
    [BERTH_OPTION_ARGS] = {"container-args", "FLAGS",
                           "flags for the container runtime, separated by spaces; "
                           "repeats accumulate",
                           LIST(args), parse_args, "FLAGS"},
    [BERTH_OPTION_GPU] = {"container-gpu",
                          BERTH_GPU_AUTO "|" BERTH_GPU_NVIDIA "|" BERTH_GPU_ROCM
                                         "|" BERTH_GPU_OFF,
                          "let tasks use the host's GPU driver: auto (default), where "
                          "the step has GPUs; nvidia, rocm or off",
                          TEXT(gpu), parse_word, "KIND", "kind of GPU"},
    [BERTH_OPTION_DEVICE] = {"container-device", "VENDOR/CLASS=NAME[,...]",
                             "devices of the node by their CDI names, with commas: "
                             "nvidia.com/gpu=all; repeats accumulate",
                             LIST(devices), parse_devices, "LIST"},
    [BERTH_OPTION_LIFETIME] = {"container-lifetime",
                               BERTH_LIFETIME_STEP "|" BERTH_LIFETIME_JOB,
                               "a container ends with its step (step, default), or "
                               "with its job, whose later steps use it (job)",
                               TEXT(lifetime), parse_word, "OF", "lifetime"},
    [BERTH_OPTION_MPI] = {"mpi-bind", "[" BERTH_MODE_WORDS "]",
                          "whose MPI the tasks use: the host's (host, or NAME of one), "
                          "the image's (hybrid, local, local-each, launch), or the "
                          "one that fits (auto, also without a value); default: off",
                          TEXT(mpi), parse_mode, "MODE", "mode"},
    [BERTH_OPTION_FABRIC] = {"container-fabric",
                             BERTH_FABRIC_AUTO "|" BERTH_FABRIC_REQUIRED
                                               "|NAME|" BERTH_FABRIC_OFF,
                             "the host's network libraries under the image's own MPI: "
                             "those that fit (auto, or required: else the step does "
                             "not run), or NAME of a profile; default: off, the "
                             "image's own",
                             TEXT(fabric), parse_word, "NAME", "fabric"},
    [BERTH_OPTION_LIBRARIES] = {"container-libraries", "NAME|" BERTH_LIBRARIES_OFF,
                                "the host's libraries (BLAS, FFTW, ...) in the place "
                                "of the image's: N is names of profiles, with commas; "
                                "default: off",
                                TEXT(libraries), parse_libraries, "N",
                                "name of libraries"},
    [BERTH_OPTION_EXPLAIN] = {"container-explain",
                              "[" BERTH_EXPLAIN_TEXT "|" BERTH_EXPLAIN_JSON
                              "|" BERTH_EXPLAIN_OFF "]",
                              "print what would be done in each component and why, "
                              "as text (also without a value) or json, and run "
                              "nothing; default: off",
                              TEXT(explain), parse_explain, "HOW", "form"},
};

enum berth_option_id berth_option_find(const char *name)
{
    int id = 0;

    while (id < BERTH_OPTION_COUNT && strcmp(berth_options[id].name, name) != 0)
        id++;
    return (enum berth_option_id)id;
}

const struct berth_option *berth_option_switch(size_t field, enum berth_choice says)
{
    const struct berth_option *option = berth_options;

    while (option->kind != BERTH_KIND_SWITCH || option->field != field ||
           option->says != says)
        option++;
    return option;
}

bool berth_option_is_optional(const struct berth_option *option)
{
    return option->argument && option->argument[0] == '[';
}

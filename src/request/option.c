/* SPDX-License-Identifier: Apache-2.0 */
/* The table of options, and the parsers of their values. A test compares the table with
 * spank_berth(8). */

#include "request/option.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/choice.h"
#include "base/cleanup.h"
#include "base/suggest.h"
#include "base/text.h"
#include "request/values.h"
#include "request/missing.h"
#include "request/mount.h"
#include "request/named.h"
#include "request/path.h"
#include "request/uri.h"

/* Appends the URI VALUE, which may have a # of enroot. */
static int push_uri(const char *value, struct berth_strvec *ret, struct berth_err *err)
{
    BERTH_FREE char *uri = berth_registry_plain(value);

    if (!uri)
        return berth_err_oom(err);
    if (berth_uri_check(uri, err) < 0)
        return -1;
    berth_strvec_push(ret, uri);
    return 0;
}

static int parse_image(const struct berth_written *written, struct berth_strvec *ret,
                       struct berth_err *err)
{
    BERTH_BUF struct berth_buf uri = {0};
    BERTH_FREE char *path = NULL;

    if (berth_missing_names_image(written->value, written->base, &uri)) {
        if (uri.failed)
            return berth_err_oom(err);
        berth_strvec_push(ret, uri.text);
        return 0;
    }
    if (berth_uri_is(written->value))
        return push_uri(written->value, ret, err);
    if (strcmp(written->value, BERTH_NO_IMAGE) == 0) {
        berth_strvec_push(ret, written->value);
        return 0;
    }
    if (berth_path_absolute(written->value, written->base, &path, err) < 0)
        return -1;
    berth_strvec_push(ret, path);
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
        return berth_err_expected(err, "a directory in the image, from /",
                                  written->value);
    berth_strvec_push(ret, written->value);
    return 0;
}

/* Copies the first item of a comma list to COPY; `\,` in the list is a comma of the
 * item. Returns the length of the item in TEXT. */
static size_t cut_item(const char *text, char *copy)
{
    size_t at = 0;
    size_t used = 0;

    while (text[at] != '\0' && text[at] != ',') {
        if (text[at] == '\\' && text[at + 1] == ',')
            at++;
        copy[used] = text[at];
        used++;
        at++;
    }
    copy[used] = '\0';
    return at;
}

static int check_variable(const char *item, struct berth_err *err)
{
    if (strchr(item, '='))
        return berth_value_assignment(item, err);
    return berth_value_variable(item, err);
}

/* Refuses ITEM of the list LIST: a comma in a value may have cut it. */
static int refuse_variable(const char *item, const char *list, struct berth_err *err)
{
    const char *hint = "";

    if (strchr(list, ','))
        hint = " (a comma in a value is \\, in quotes: 'A=1\\,2')";
    return berth_err_set(err,
                         "'%s' is not a variable; expected NAME or NAME=VALUE, with "
                         "letters, digits and _ in NAME%s",
                         item, hint);
}

static int parse_env(const struct berth_written *written, struct berth_strvec *ret,
                     struct berth_err *err)
{
    const char *next = written->value;
    BERTH_FREE char *item = malloc(strlen(next) + 1);
    struct berth_err why;
    bool is_last;

    if (!item)
        return berth_err_oom(err);
    do {
        next += cut_item(next, item);
        is_last = *next == '\0';
        next++; /* the comma */
        if (check_variable(item, &why) < 0) {
            if (why.code == BERTH_ERR_MEMORY)
                return berth_err_oom(err);
            return refuse_variable(item, written->value, err);
        }
        berth_strvec_push(ret, item);
    } while (!is_last);
    return 0;
}

/* Refuses a word of --container-args that would do nothing: the runtime does not remove
 * quotes, and tasks change to their own directory after the runtime has changed to its
 * own. */
static int check_flag(const char *word, struct berth_err *err)
{
    size_t length = strcspn(word, "=");

    if (*word == '"' || *word == '\'')
        return berth_err_set(err,
                             "'%s': there is no quoting here, flags are split at "
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

    if (!copy)
        return berth_err_oom(err);
    while (next) {
        const char *word = strsep(&next, " \t\n");

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
           (option->name_of && option->takes(word));
}

static bool is_name(const char *word)
{
    return strlen(word) <= LONGEST_NAME && berth_mode_is_word(word);
}

static int parse_word(const struct berth_written *written, struct berth_strvec *ret,
                      struct berth_err *err)
{
    const struct berth_option *option = written->option;
    BERTH_BUF struct berth_buf words = {0};

    if (is_word(option, written->value)) {
        berth_strvec_push(ret, written->value);
        return 0;
    }
    berth_choice_list(option->argument, option->name_of, &words);
    if (words.failed)
        return berth_err_oom(err);
    return berth_suggest_expected(written->value, option->noun, words.text, err);
}

/* Parses words and names with commas between them: one word at most, and `none` alone.
 */
static int parse_words(const struct berth_written *written, struct berth_strvec *ret,
                       struct berth_err *err)
{
    const char *argument = written->option->argument;
    BERTH_STRVEC struct berth_strvec words = {0};
    const char *said = NULL;

    berth_strvec_split(&words, written->value);
    for (size_t i = 0; i < words.count; i++) {
        const char *word = words.items[i];
        bool is_said = berth_choice_find(argument, word) >= 0;
        bool is_second = is_said && said;
        bool is_none = strcmp(word, BERTH_NONE) == 0;
        BERTH_STRVEC struct berth_strvec alone = {0};

        if (parse_word(&(struct berth_written){written->option, word, NULL}, &alone,
                       err) < 0)
            return -1;
        if (is_second || (is_none && words.count > 1))
            return berth_err_set(err,
                                 "'%s': '%s' goes with no other of these; leave "
                                 "one out",
                                 written->value, word);
        if (is_said)
            said = word;
    }
    berth_strvec_push(ret, written->value);
    return berth_err_oom_if(words.failed, err);
}

/* Parses names of namespaces with commas between them. */
static int parse_unshare(const struct berth_written *written, struct berth_strvec *ret,
                         struct berth_err *err)
{
    static const char *const known[] = {"net", "ipc", "uts", NULL};
    BERTH_STRVEC struct berth_strvec words = {0};

    berth_strvec_split(&words, written->value);
    for (size_t i = 0; i < words.count; i++) {
        const char *word = words.items[i];

        if (!berth_text_is_any(word, known))
            return berth_err_set(err,
                                 "unknown namespace '%s'; expected net, ipc or uts, "
                                 "with commas between them",
                                 word);
        if (!berth_strvec_has(ret, word))
            berth_strvec_push(ret, word);
    }
    return berth_err_oom_if(words.failed, err);
}

static int parse_save(const struct berth_written *written, struct berth_strvec *ret,
                      struct berth_err *err)
{
    BERTH_FREE char *path = NULL;
    const bool is_sif = berth_text_ends(written->value, ".sif");
    const bool is_squashfs = berth_text_ends(written->value, ".sqsh");

    if (!is_sif && !is_squashfs)
        return berth_err_set(err,
                             "'%s': an image is a SIF file or a squashfs file; give a "
                             "name that ends in .sif or .sqsh",
                             written->value);
    if (berth_path_absolute(written->value, written->base, &path, err) < 0)
        return -1;
    berth_strvec_push(ret, path);
    return 0;
}

/* NAME or NAME:FLAG, in full form without the flag `auto`. */
static int parse_name(const struct berth_written *written, struct berth_strvec *ret,
                      struct berth_err *err)
{
    if (berth_named_check(written->value, err) < 0)
        return -1;
    if (berth_text_ends(written->value, ":" BERTH_NAMED_AUTO))
        berth_strvec_pushf(ret, "%.*s", (int)strcspn(written->value, ":"),
                           written->value);
    else
        berth_strvec_push(ret, written->value);
    return 0;
}

static int parse_mode(const struct berth_written *written, struct berth_strvec *ret,
                      struct berth_err *err)
{
    const char *word = berth_text_or(written->value, "auto");

    return parse_word(&(struct berth_written){written->option, word, NULL}, ret, err);
}

/* The variable of the option may also be `yes`, like that of a switch. */
static int parse_explain(const struct berth_written *written, struct berth_strvec *ret,
                         struct berth_err *err)
{
    const char *word = written->value;

    if (!word || strcmp(word, "yes") == 0)
        word = BERTH_EXPLAIN_TEXT;
    return parse_word(&(struct berth_written){written->option, word, NULL}, ret, err);
}

#define NAME_OF_PROFILE "the name of a profile"

#define FIELD(member)       offsetof(struct berth_request, member)
#define TEXT(member)        BERTH_KIND_TEXT, FIELD(member), 0
#define LIST(member)        BERTH_KIND_LIST, FIELD(member), 0
#define SWITCH(member, say) BERTH_KIND_SWITCH, FIELD(member), say, NULL

#define OTHER(other, value, sentence)                                                  \
    {                                                                                  \
        other, value, "berth does not have it", .instead = sentence                    \
    }

const struct berth_option berth_options[BERTH_OPTIONS_ALL] = {
    [BERTH_OPTION_IMAGE] = {"container-image", "PATH|URI|none",
                            "run the tasks in this image; none: on the host",
                            TEXT(image), parse_image},
    [BERTH_OPTION_MOUNTS] = {"container-mounts", "SRC[:DST[:ro|rw|sqsh]][,...]",
                             "mount paths of the host; repeats accumulate",
                             LIST(mounts), parse_mounts},
    [BERTH_OPTION_WORKDIR] = {"container-workdir", "DIR",
                              "working directory of the tasks in the image",
                              TEXT(workdir), parse_workdir},
    [BERTH_OPTION_MOUNT_HOME] = {"container-mount-home", NULL,
                                 "mount the home directory", SWITCH(home, BERTH_YES)},
    [BERTH_OPTION_NO_MOUNT_HOME] = {"no-container-mount-home", NULL,
                                    "do not mount the home directory",
                                    SWITCH(home, BERTH_NO)},
    [BERTH_OPTION_WRITABLE] = {"container-writable", NULL,
                               "let tasks write to the image, and discard that",
                               SWITCH(writable, BERTH_YES)},
    [BERTH_OPTION_READONLY] = {"container-readonly", NULL,
                               "do not let tasks write to the image (default)",
                               SWITCH(writable, BERTH_NO)},
    [BERTH_OPTION_REMAP_ROOT] = {"container-remap-root", NULL,
                                 "be root in the container, to install packages",
                                 SWITCH(root, BERTH_YES)},
    [BERTH_OPTION_NO_REMAP_ROOT] = {"no-container-remap-root", NULL,
                                    "be yourself in the container (default)",
                                    SWITCH(root, BERTH_NO)},
    [BERTH_OPTION_ENTRYPOINT] = {"container-entrypoint", NULL,
                                 "run the command by the image's runscript",
                                 SWITCH(entrypoint, BERTH_YES)},
    [BERTH_OPTION_NO_ENTRYPOINT] = {"no-container-entrypoint", NULL,
                                    "run the command itself (default)",
                                    SWITCH(entrypoint, BERTH_NO)},
    [BERTH_OPTION_SCRIPT] = {"container-script", NULL,
                             "sbatch: run the script itself in the image",
                             SWITCH(script, BERTH_YES)},
    [BERTH_OPTION_NO_SCRIPT] = {"no-container-script", NULL,
                                "sbatch: run the script on the host (default)",
                                SWITCH(script, BERTH_NO)},
    [BERTH_OPTION_ENV] = {"container-env", "NAME[=VALUE][,...]",
                          "pass or set variables; repeats accumulate", LIST(env),
                          parse_env},
    [BERTH_OPTION_ARGS] = {"container-args", "FLAGS",
                           "flags for the runtime; repeats accumulate", LIST(args),
                           parse_args},
    [BERTH_OPTION_GPU] = {"container-gpu",
                          BERTH_GPU_AUTO "|" BERTH_GPU_NVIDIA "|" BERTH_GPU_ROCM
                                         "|" BERTH_NONE "|VENDOR/CLASS=NAME,...",
                          "the GPU driver of the host, or devices (CDI)", TEXT(gpu),
                          parse_words, "a kind of GPU",
                          "the name of a device like nvidia.com/gpu=all",
                          berth_value_is_device},
    [BERTH_OPTION_LIFETIME] = {"container-lifetime",
                               BERTH_LIFETIME_STEP "|" BERTH_LIFETIME_JOB,
                               "keep a container for later steps of the job",
                               TEXT(lifetime), parse_word, "a lifetime"},
    [BERTH_OPTION_UNSHARE] = {"container-unshare", "net|ipc|uts[,...]",
                              "give the container namespaces of its own", LIST(unshare),
                              parse_unshare},
    [BERTH_OPTION_NAME] = {"container-name", "NAME[:create|exec|no_exec]",
                           "keep the container for the job, by this name",
                           TEXT(container_name), parse_name},
    [BERTH_OPTION_SAVE] = {"container-save", "FILE",
                           "make an image of the container at its end", TEXT(save),
                           parse_save},
    [BERTH_OPTION_MPI] = {"mpi-bind", "[" BERTH_MODE_WORDS "]",
                          "choose whose MPI library runs; it pins nothing", TEXT(mpi),
                          parse_mode, "a mode", NAME_OF_PROFILE, is_name},
    [BERTH_OPTION_LIBS] = {"container-libs", BERTH_LIBS_AUTO "|NAME,...|" BERTH_NONE,
                           "use libraries of the host (network, NCCL, BLAS)",
                           TEXT(libs), parse_words, "a name of libraries",
                           NAME_OF_PROFILE, is_name},
    [BERTH_OPTION_EXPLAIN] = {"container-explain",
                              "[" BERTH_EXPLAIN_TEXT "|" BERTH_EXPLAIN_EVERYTHING
                              "|" BERTH_EXPLAIN_JSON "|" BERTH_EXPLAIN_NO "]",
                              "print what would be done and why, run nothing",
                              TEXT(explain), parse_explain, "a form"},
    [BERTH_OPTION_COUNT] = OTHER("container-entrypoint-log", NULL, NULL),
    OTHER("container-fabric", "NAME", "it is now --container-libs; write it so"),
    OTHER("container-libraries", "NAME", "it is now --container-libs; write it so"),
    OTHER("container-device", "NAME", "it is now --container-gpu; write it so"),
};

enum berth_option_id berth_option_find(const char *name)
{
    int id = 0;

    while (id < BERTH_OPTION_COUNT && strcmp(berth_options[id].name, name) != 0)
        id++;
    return (enum berth_option_id)id;
}

const char *berth_option_near(const char *name, size_t most)
{
    const char *names[BERTH_OPTION_COUNT + 1] = {NULL};

    for (int id = 0; id < BERTH_OPTION_COUNT; id++)
        names[id] = berth_options[id].name;
    /* --image is what --container-image is called elsewhere: too far for letters. */
    for (int id = 0; id < BERTH_OPTION_COUNT; id++)
        if (berth_text_starts(names[id], "container-") &&
            strcmp(names[id] + strlen("container-"), name) == 0)
            return names[id];
    return berth_suggest_nearest(name, names, most);
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

int berth_option_has_arg(const struct berth_option *option)
{
    if (!option->argument)
        return no_argument;
    if (berth_option_is_optional(option))
        return optional_argument;
    return required_argument;
}

static bool starts_option(const char *text)
{
    return berth_text_starts(text, "--container-") ||
           berth_text_starts(text, "--no-container-") ||
           berth_text_starts(text, "--mpi-bind");
}

void berth_spell_options(const char *prefix, struct berth_err *err)
{
    BERTH_BUF struct berth_buf text = {0};

    if (*prefix == '\0')
        return;
    for (const char *c = err->text; *c; c++) {
        if (starts_option(c)) {
            berth_buf_addf(&text, "--%s", prefix);
            c += strlen("--");
        }
        berth_buf_add(&text, c, 1);
    }
    if (!text.failed && text.used)
        berth_err_set(err, "%s", text.text);
}

int berth_pyxis_check(const struct berth_option *option, struct berth_err *err)
{
    if (!option->instead)
        return 0;
    return berth_err_set(err, "--%s: %s", option->name, option->instead);
}

int berth_pyxis_check_name(const char *name, struct berth_err *err)
{
    for (int i = BERTH_OPTION_COUNT; i < BERTH_OPTIONS_ALL; i++)
        if (strcmp(name, berth_options[i].name) == 0)
            return berth_pyxis_check(&berth_options[i], err);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the files that a command line names, warns of, or refuses, what is a mistake,
 * and pulls images from registries: on the host where the command is typed, in the
 * user's own process, once, with a network, and without using an allocation. */

#include "spank/commandline.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <slurm/spank.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/text.h"
#include "image/pull.h"
#include "request/mount.h"
#include "request/option.h"
#include "site/policy.h"
#include "spank/container.h"
#include "image/allowed.h"
#include "image/image.h"
#include "container/runtime.h"
#include "image/store.h"
#include "request/missing.h"

extern char **environ;

/* Bytes of a script; sbatch refuses a longer one (max_script_size in slurm.conf). */
enum { LONGEST_SCRIPT = 4 << 20 };

void berth_commandline_warn(const char *prefix, struct berth_err *sentence)
{
    berth_spell_options(prefix, sentence);
    fprintf(stderr, "%s: berth: warning: %s\n", program_invocation_short_name,
            sentence->text);
}

/* Refuse an image as Slurm's own --container. */
static int check_bundle(const struct berth_typed *typed, const char *bundle,
                        struct berth_err *err)
{
    if (typed->is_contained || !berth_text_given(bundle))
        return 0;
    if (!berth_container_is_image(bundle))
        return 0;
    return berth_err_set(
        err,
        "--container=%s (or its variable) is Slurm's own option, for OCI "
        "bundles, and does not start an image; write %s --container-image=%s",
        bundle, typed->caller, bundle);
}

int berth_commandline_step(const struct berth_typed *typed, const char *bundle,
                           struct berth_err *err)
{
    struct berth_err sentence;

    if (!berth_hetgroups_is_first(typed->line))
        return 0;
    if (berth_mistake_colon(typed, err) || check_bundle(typed, bundle, err) < 0)
        return -1;
    if (berth_mistake_misplaced(typed, &sentence))
        berth_commandline_warn(typed->prefix, &sentence);
    return 0;
}

/* Read standard input from its beginning, if it is a file. */
static int read_input(struct berth_buf *ret)
{
    struct stat status;

    if (fstat(STDIN_FILENO, &status) < 0 || !S_ISREG(status.st_mode))
        return -1;
    return berth_fd_read_path("/proc/self/fd/0", LONGEST_SCRIPT, ret);
}

/* Read the text of what the job runs, and its NAME for messages. Returns 0, or -1 if
 * that cannot be known. */
static int read_script(const struct berth_typed *typed, char name[64],
                       struct berth_buf *ret)
{
    size_t end;
    size_t first = berth_hetgroups_command(typed->line, typed->optind, &end);
    const char *value = NULL;

    if (first < typed->line->argv.count && first == end)
        return -1; /* it belongs to another component */
    if (first < end) {
        snprintf(name, 64, "'%.60s'", typed->line->argv.items[first]);
        return berth_fd_read_path(typed->line->argv.items[first], LONGEST_SCRIPT, ret);
    }
    if (berth_hetgroups_find_option(typed->line, typed->optind, "wrap", &value) &&
        value) {
        snprintf(name, 64, "%s", "the command of --wrap");
        berth_buf_puts(ret, value);
        return 0;
    }
    snprintf(name, 64, "%s", "the script");
    return read_input(ret);
}

int berth_commandline_script(const struct berth_typed *typed, struct berth_buf *ret)
{
    char name[64];

    return read_script(typed, name, ret);
}

static bool is_comment(const char *line)
{
    return line[strspn(line, " \t")] == '#';
}

/* May C be part of a name? */
static bool is_of_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Is srun, a command, or a variable in any case, at AT in the line that starts at
 * BEGIN?
 */
static bool is_srun(const char *begin, const char *at)
{
    static const char name[] = "srun";
    const bool is_begun = at == begin || !is_of_name(at[-1]);

    return is_begun && strncasecmp(at, name, strlen(name)) == 0 &&
           !is_of_name(at[strlen(name)]);
}

/* Does a line that is not a comment start a step, or `berth run`? */
static bool starts_step(const char *text)
{
    static const char run[] = "berth run";

    for (; *text; text = berth_text_next_line(text)) {
        const char *end = strchrnul(text, '\n');

        if (is_comment(text))
            continue;
        for (const char *c = text; c < end; c++)
            if (is_srun(text, c) || berth_text_starts(c, run))
                return true;
    }
    return false;
}

/* Warns of the script TEXT, in messages NAME, of a job with an image: the script has no
 * srun. Scripts that the script calls are not read. */
static bool lacks_srun(const char *name, const char *text, struct berth_err *ret)
{
    if (starts_step(text))
        return false;
    berth_err_set(ret,
                  "%s runs on the host and has no srun, so nothing runs in the image; "
                  "write srun before each program, or give --container-script to run "
                  "the script in the image",
                  name);
    return true;
}

/* May the script TEXT pass its arguments on, by "$@" or "$1", or by a name with "arg"
 * in another language? Then an option after the name of the script may be for a srun in
 * the script. */
static bool passes_arguments(const char *text)
{
    for (const char *c = strchr(text, '$'); c; c = strchr(c + 1, '$')) {
        const char *name = c + strlen("$");

        if (*name == '{')
            name++;
        if (*name && strchr("@*123456789", *name))
            return true;
    }
    return strcasestr(text, "arg");
}

bool berth_commandline_is_run(const struct berth_typed *typed)
{
    size_t end;
    size_t first = berth_hetgroups_command(typed->line, typed->optind, &end);
    char *const *command = typed->line->argv.items + first;

    if (first + 1 >= end)
        return false;
    return strcmp(berth_text_base(command[0]), "berth") == 0 &&
           strcmp(command[1], "run") == 0;
}

/* Is an option for nothing after the script, or has the script no srun? If so, *RET is
 * the warning. What the script says decides both; unread, it is taken to be right. */
static bool is_script_wrong(const struct berth_typed *typed, struct berth_err *ret)
{
    BERTH_BUF struct berth_buf script = {0};
    char name[64];
    bool is_misplaced = berth_mistake_misplaced(typed, ret);
    bool is_sbatch = strcmp(typed->caller, "sbatch") == 0;
    bool needs_srun = is_sbatch && typed->is_contained && typed->is_named;

    if (!is_misplaced && !needs_srun)
        return false;
    if (read_script(typed, name, &script) < 0 || script.used == 0)
        return false;
    if (is_misplaced)
        return !passes_arguments(script.text);
    return lacks_srun(name, script.text, ret);
}

int berth_commandline_job(const struct berth_typed *typed, const char *bundle,
                          struct berth_err *err)
{
    struct berth_err sentence;

    if (is_script_wrong(typed, &sentence))
        berth_commandline_warn(typed->prefix, &sentence);
    return check_bundle(typed, bundle, err);
}

static int refuse_missing(bool in_registry, struct berth_err *err)
{
    struct berth_err inner = *err;
    const char *stop = ";";

    if (in_registry || spank_context() != S_CTX_ALLOCATOR)
        return -1;
    if (berth_text_ends(inner.text, "?")) /* "did you mean ...?" */
        stop = "";
    return berth_err_set(err,
                         "%s%s if a job has yet to make it, give the option to srun "
                         "in the script",
                         inner.text, stop);
}

/* Does SITE refuse the missing IMAGE already here? Not if it may set another one. */
static bool is_refused(const struct berth_site *site, const char *image,
                       bool in_registry)
{
    enum berth_site_missing rule = site->images.missing;

    if (berth_policy_may_set_image(site))
        return false;
    if (rule == BERTH_MISSING_AUTO)
        return in_registry || berth_missing_everywhere(image);
    return rule == BERTH_MISSING_REFUSE;
}

/* The image is not on this host; ERR has the sentence. Refuse or warn. */
static int check_missing(const struct berth_site *site, const char *prefix,
                         const char *image, struct berth_err *err)
{
    bool in_registry = berth_missing_in_registry(image);

    if (is_refused(site, image, in_registry))
        return refuse_missing(in_registry, err);
    berth_commandline_warn(prefix, err);
    return 0;
}

/* Does srun leave a missing image to the nodes, which check it at once in a job? Not a
 * word that may be an image in a registry. */
static bool is_left_to_nodes(const char *image)
{
    const bool is_in_job = spank_context() == S_CTX_LOCAL && getenv("SLURM_JOB_ID");

    if (!is_in_job || berth_missing_in_registry(image))
        return false;
    if (access(image, F_OK) == 0)
        return false;
    return errno == ENOENT || errno == ENOTDIR;
}

/* A directory of an image that its programs need. */
struct place {
    const char *path;
    bool is_warned; /* that a mount hides it */
};

/* The place that a mount on DESTINATION hides; NULL: it hides none. */
static struct place *find_hidden(const char *destination)
{
    static struct place places[] = {{.path = "/bin"},  {.path = "/etc"},
                                    {.path = "/lib"},  {.path = "/lib64"},
                                    {.path = "/sbin"}, {.path = "/usr"}};

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        if (strcmp(destination, places[i].path) == 0)
            return &places[i];
    return NULL;
}

/* In srun: warn of mounts that hide what programs of the image need, of each place
 * once. */
static void warn_of_mounts(const char *prefix, const struct berth_request *request)
{
    struct berth_err sentence;

    if (spank_context() != S_CTX_LOCAL)
        return;
    for (size_t i = 0; i < request->mounts.count; i++) {
        BERTH_MOUNT struct berth_mount mount = {0};
        struct place *place;

        if (berth_mount_parse(request->mounts.items[i], NULL, &mount, NULL) < 0)
            continue;
        if (mount.mode == BERTH_MOUNT_UMOUNT)
            continue;
        place = find_hidden(mount.destination);
        if (!place || place->is_warned)
            continue;
        place->is_warned = true;
        berth_err_set(&sentence,
                      "--container-mounts=%s:%s hides the image's %s; mount it at "
                      "another place, such as /host%s",
                      mount.source, mount.destination, mount.destination,
                      mount.destination);
        berth_commandline_warn(prefix, &sentence);
    }
}

int berth_commandline_image(const struct berth_site *site, const char *prefix,
                            const struct berth_request *request, struct berth_err *err)
{
    struct berth_image image;

    warn_of_mounts(prefix, request);
    if (request->save && berth_image_check_unsaved(request->save, err) < 0)
        return -1;
    if (!request->image || request->uri || is_left_to_nodes(request->image))
        return 0;
    if (berth_image_probe(request->image, &image, err) < 0) {
        if (image.is_missing)
            return check_missing(site, prefix, request->image, err);
        return -1;
    }
    if (berth_policy_may_set_image(site))
        return 0;
    return berth_allowed_here(site, request->image, err);
}

static void say(const char *sentence)
{
    slurm_info("berth: %s", sentence);
}

/* Show a line of the runtime with -v; whether srun has that is not known here. */
static bool show(const char *line)
{
    slurm_verbose("berth: %s", line);
    return false;
}

/* Leave the pull to a later srun? Prints a note if so. */
static bool leaves_to_srun(const struct berth_site *site, const char *uri)
{
    BERTH_FREE char *runtime = NULL, *file = NULL;
    const char *path = getenv("PATH");

    if (spank_context() != S_CTX_ALLOCATOR)
        return false;
    if (berth_store_find(site, uri, NULL, &file, NULL) == 0 && file)
        return false;
    if (berth_runtime_find(site->runtime.path, path, &runtime, NULL) == 0)
        return false;
    slurm_info(
        "berth: note: image '%s': no container runtime on this host; the first srun of "
        "the job pulls it",
        uri);
    return true;
}

int berth_commandline_pull(const struct berth_site *site, struct berth_request *request,
                           struct berth_err *err)
{
    struct berth_pull how = {
        .site = site, .env = environ, .terminal = -1, .say = say, .detail = show};

    if (!request->uri || leaves_to_srun(site, request->uri))
        return 0;
    if (isatty(STDERR_FILENO))
        how.terminal = STDERR_FILENO;
    return berth_pull_request(&how, request, err);
}

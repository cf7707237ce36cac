/* SPDX-License-Identifier: Apache-2.0 */
/* Has the container runtime make an image from a registry: its command line and
 * environment, what it says, and why it failed. */

#include "image/convert.h"

#include <fcntl.h>
#include <fts.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/environ.h"
#include "base/fd.h"
#include "base/longrun.h"
#include "base/progress.h"
#include "base/strvec.h"
#include "base/text.h"
#include "base/tree.h"
#include "container/runtime.h"
#include "image/compression.h"

/* Where the runtime unpacks layers: a directory of this pull, so that it can be removed
 * whatever the runtime leaves. */
struct temporary {
    char *path; /* NULL: there is none, and the runtime looks for a place itself */
};

static void remove_temporary(struct temporary *temporary)
{
    if (temporary->path)
        berth_tree_remove(AT_FDCWD, temporary->path);
    free(temporary->path);
}

#define TEMPORARY __attribute__((cleanup(remove_temporary)))

static const char *const temporary_names[] = {"APPTAINER_TMPDIR", "SINGULARITY_TMPDIR",
                                              "TMPDIR", NULL};

/* The directory for temporary files that ENV names first. */
static const char *find_temporary_place(char *const *env)
{
    for (int i = 0; temporary_names[i]; i++) {
        const char *place = berth_environ_value(env, temporary_names[i]);

        if (place && *place)
            return place;
    }
    return "/tmp";
}

static void make_temporary(char *const *env, struct temporary *ret)
{
    const char *place = find_temporary_place(env);

    if (asprintf(&ret->path, "%s/berth-pull-XXXXXX", place) < 0)
        ret->path = NULL;
    if (ret->path && !mkdtemp(ret->path)) {
        free(ret->path);
        ret->path = NULL;
    }
}

/* Variables of the runtime: where it keeps layers, and where it unpacks them. */
static const char *const layer_variables[] = {
    "APPTAINER_CACHEDIR=", "SINGULARITY_CACHEDIR=", NULL};
static const char *const temporary_variables[] = {
    "APPTAINER_TMPDIR=", "SINGULARITY_TMPDIR=", NULL};

/* Is VARIABLE an option of `build`, with which it would not make a whole SIF file as
 * the user? `pull` has none of them. */
static bool changes_build(const char *variable)
{
    static const char *const starts[] = {"APPTAINER_", "SINGULARITY_", NULL};
    static const char *const options[] = {
        "SANDBOX=",  "SECTION=", "JSON=",       "UPDATE=", "FAKEROOT=",
        "FIXPERMS=", "USERNS=",  "NO_CLEANUP=", NULL};

    for (int i = 0; starts[i]; i++)
        if (berth_text_starts(variable, starts[i]) &&
            berth_text_starts_any(variable + strlen(starts[i]), options))
            return true;
    return false;
}

/* What of the user's environment the runtime is not to see. */
struct filter {
    bool drops_layers;    /* where the user keeps layers */
    bool drops_none;      /* that the user keeps none */
    bool drops_temporary; /* the user's directory for temporary files */
};

static bool is_dropped(const char *variable, const struct filter *filter)
{
    static const char *const none[] = {
        "APPTAINER_DISABLE_CACHE=", "SINGULARITY_DISABLE_CACHE=", NULL};

    /* SingularityCE refuses it together with --no-oci. */
    if (berth_text_starts(variable, "SINGULARITY_OCI="))
        return true;
    if (changes_build(variable))
        return true;
    if (filter->drops_layers && berth_text_starts_any(variable, layer_variables))
        return true;
    if (filter->drops_none && berth_text_starts_any(variable, none))
        return true;
    return filter->drops_temporary &&
           berth_text_starts_any(variable, temporary_variables);
}

static bool has_layers(char *const *env)
{
    return berth_environ_value(env, "APPTAINER_CACHEDIR") ||
           berth_environ_value(env, "SINGULARITY_CACHEDIR");
}

/* Append the user's environment for the runtime to RET. Unless the user sets a
 * directory for layers, keep them in the cache until the image is there: the next pull
 * continues with them if this one is killed, and none stay. For the store they are
 * always kept there: they tell the digest. */
static int make_environment(const struct berth_pull *pull,
                            const struct berth_cache *cache, const char *temporary,
                            struct berth_strvec *ret, struct berth_err *err)
{
    bool keeps_layers = pull->to_store || !has_layers(pull->env);
    const struct filter filter = {
        .drops_layers = keeps_layers,
        .drops_none = pull->to_store,
        .drops_temporary = temporary != NULL,
    };

    for (char *const *it = pull->env; it && *it; it++)
        if (!is_dropped(*it, &filter))
            berth_strvec_push(ret, *it);
    for (int i = 0; keeps_layers && layer_variables[i]; i++)
        berth_strvec_pushf(ret, "%s%s/layers", layer_variables[i], cache->path);
    for (int i = 0; temporary && temporary_variables[i]; i++)
        berth_strvec_pushf(ret, "%s%s", temporary_variables[i], temporary);
    return berth_err_oom_if(ret->failed, err);
}

/* May `pull` of the runtime whose --version prints VERSION make an OCI-SIF file?
 * SingularityCE and SingularityPRO have --no-oci since version 4. */
static bool may_make_oci(const char *version)
{
    enum { FIRST_WITH_OCI = 4 };
    const char *number;

    if (!version || !berth_text_starts(version, "singularity"))
        return false;
    number = strpbrk(version, "0123456789");
    return !number || atoi(number) >= FIRST_WITH_OCI;
}

/* Does the LINE of a runtime have one of the texts in ANY, which NULL ends? */
static bool has_any(const char *line, const char *const *any)
{
    for (; *any; any++)
        if (strcasestr(line, *any))
            return true;
    return false;
}

/* The runtime has given up with LINE ("": none). If a file system is full, drop the
 * layers, too. */
static int explain(const struct berth_pull *pull, const struct berth_cache *cache,
                   const char *runtime, const char *line, struct berth_err *err)
{
    static const char *const full[] = {"no space left on device", "quota exceeded",
                                       NULL};
    static const char *const refused[] = {"unauthorized", "authentication required",
                                          "access to the resource is denied", NULL};
    const char *said = berth_text_or(berth_text_given(line), "it said nothing");
    const char *remedy = "try it by hand";

    if (has_any(line, full))
        berth_cache_drop(cache, BERTH_CACHE_KEEP_NOTHING);
    else
        berth_cache_drop(cache, BERTH_CACHE_KEEP_LAYERS);
    if (has_any(line, refused))
        remedy = "log in to the registry, and try it by hand";
    return berth_err_set(err, "image '%s': %s did not pull it: %s; %s: %s pull %s",
                         pull->uri, runtime, said, remedy, runtime, pull->uri);
}

/* The runtime at work. */
struct work {
    const struct berth_pull *pull;
    const struct berth_cache *cache;
    const char *temporary; /* NULL: not known */
    struct berth_progress progress;
    const char *phase;
    int64_t measured;        /* when the size in `detail` was found */
    char detail[64];         /* of the line of progress */
    struct berth_buf said;   /* what the runtime has said, unless it was shown */
    struct berth_buf reason; /* the line in which it gave up, else its last one */
    bool has_given_up;
};

/* What the runtime does after it has said a line with TEXT. */
static const struct {
    const char *text;
    const char *phase;
} phases[] = {
    {"Extracting OCI image", "unpacking"},
    {"Creating SIF file", "compressing"},
};

/* Hand LINE on to who wants to show it. Returns true if it is shown. */
static bool is_shown(struct work *work, const char *line)
{
    if (!work->pull->detail)
        return false;
    berth_progress_clear(&work->progress);
    return work->pull->detail(line);
}

static void set_phase(struct work *work, const char *line)
{
    for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++)
        if (strstr(line, phases[i].text))
            work->phase = phases[i].phase;
}

/* Show LINE, or keep it for when the runtime fails. */
static void keep_line(struct work *work, const char *line)
{
    enum { MOST = 1 << 16 };

    if (!is_shown(work, line) && work->said.used < MOST)
        berth_buf_addf(&work->said, "%s\n", line);
}

static void set_reason(struct work *work, const char *text)
{
    berth_buf_fini(&work->reason);
    berth_buf_puts(&work->reason, text);
}

static void read_line(void *data, const char *line)
{
    static const char fatal[] = "FATAL:";
    struct work *work = data;
    const char *text = line + strspn(line, " ");

    if (!*text)
        return;
    set_phase(work, text);
    if (berth_text_starts(text, fatal)) {
        work->has_given_up = true;
        text += strlen(fatal);
        set_reason(work, text + strspn(text, " "));
        return;
    }
    keep_line(work, line);
    if (!work->has_given_up)
        set_reason(work, text);
}

/* The bytes of the files in PATH and DEPTH levels below it. */
static long long measure(char *path, int depth)
{
    char *roots[] = {path, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    const FTSENT *entry;
    long long bytes = 0;

    if (!tree)
        return 0;
    for (entry = fts_read(tree); entry; entry = fts_read(tree)) {
        if (entry->fts_info == FTS_F)
            bytes += entry->fts_statp->st_size;
        if (entry->fts_info == FTS_D && entry->fts_level > depth)
            fts_set(tree, (FTSENT *)entry, FTS_SKIP);
    }
    fts_close(tree);
    return bytes;
}

/* The bytes of DIRECTORY of the cache. */
static long long measure_cache(const struct work *work, const char *directory)
{
    enum { BLOBS = 5 };
    BERTH_FREE char *path = NULL;

    if (asprintf(&path, "%s/%s", work->cache->path, directory) < 0)
        return 0;
    return measure(path, BLOBS);
}

/* The bytes that are written so far: of the layers, or of the image, which a runtime
 * may write first to its temporary directory. Below that are the unpacked files. */
static long long measure_phase(const struct work *work)
{
    enum { IMAGE = 2 };
    BERTH_FREE char *temporary = NULL;
    long long bytes;

    if (!work->phase)
        return measure_cache(work, "layers");
    bytes = measure_cache(work, "part");
    if (work->temporary)
        temporary = strdup(work->temporary);
    if (temporary)
        bytes += measure(temporary, IMAGE);
    return bytes;
}

/* Write the phase, and how much of it is done, into the line of progress. */
static void describe_phase(struct work *work)
{
    const char *phase = berth_text_or(work->phase, "fetching");
    long long megabytes = measure_phase(work) / 1000000;

    if (megabytes > 0)
        snprintf(work->detail, sizeof(work->detail), "%s, %lld MB", phase, megabytes);
    else
        snprintf(work->detail, sizeof(work->detail), "%s", phase);
}

static void show(void *data)
{
    enum { EVERY = 500 };
    struct work *work = data;
    int64_t now = berth_clock();

    if (work->progress.terminal < 0)
        return;
    if (now - work->measured >= EVERY) {
        describe_phase(work);
        work->measured = now;
    }
    berth_progress_show(&work->progress, work->detail);
}

static void free_work(struct work *work)
{
    berth_buf_fini(&work->said);
    berth_buf_fini(&work->reason);
}

#define WORK __attribute__((cleanup(free_work)))

/* Does the user ask for an image of another machine? Only `pull` knows these. */
static bool is_for_other(char *const *env)
{
    static const char *const names[] = {"APPTAINER_PULL_ARCH", "SINGULARITY_PULL_ARCH",
                                        "APPTAINER_PULL_ARCH_VARIANT",
                                        "SINGULARITY_PULL_ARCH_VARIANT", NULL};

    for (int i = 0; names[i]; i++)
        if (berth_environ_value(env, names[i]))
            return true;
    return false;
}

static void push_build(const char *runtime, const char *chosen, char *const *env,
                       struct berth_strvec *ret)
{
    BERTH_STRVEC struct berth_strvec arguments = {0};
    BERTH_BUF struct berth_buf text = {0};

    berth_strvec_push(ret, runtime);
    berth_strvec_push(ret, "build");
    if (berth_environ_value(env, "APPTAINER_MKSQUASHFS_ARGS"))
        return; /* the user's own; the option would win */
    berth_compression_arguments(chosen, &arguments);
    berth_strvec_join(&arguments, " ", &text);
    if (text.failed)
        ret->failed = true;
    else
        berth_strvec_pushf(ret, "--mksquashfs-args=%s", text.text);
}

static void push_pull(const char *runtime, struct berth_strvec *ret)
{
    BERTH_FREE char *version = berth_runtime_version(runtime);

    berth_strvec_push(ret, runtime);
    berth_strvec_push(ret, "pull");
    if (may_make_oci(version)) /* it would not run in a step */
        berth_strvec_push(ret, "--no-oci");
}

/* The command line. An image of Docker's kind, which is to be compressed, is built: of
 * a pull nobody can say how. What other registries have are SIF files. */
static int make_argv(const struct berth_pull *pull, const char *runtime,
                     const char *file, struct berth_strvec *ret, struct berth_err *err)
{
    const char *chosen = NULL;
    struct berth_err note = {.text = ""};

    if (berth_text_starts(pull->uri, "docker://") && !is_for_other(pull->env)) {
        BERTH_FREE char *mksquashfs = berth_compression_program(runtime);

        /* Who ends the trial does not want the pull. */
        if (berth_compression_choose(pull->site, runtime, mksquashfs, &chosen, &note) <
            0)
            return berth_err_set(err, "image '%s': the pull was ended", pull->uri);
    }
    if (*note.text)
        pull->say(note.text);
    if (chosen)
        push_build(runtime, chosen, pull->env, ret);
    else
        push_pull(runtime, ret);
    berth_strvec_push(ret, file);
    berth_strvec_push(ret, pull->uri);
    return berth_err_oom_if(ret->failed, err);
}

/* The runtime has ended with STATUS, which is not 0. */
static int refuse(struct work *work, const char *runtime, int status,
                  struct berth_err *err)
{
    const struct berth_pull *pull = work->pull;
    const char *reason = berth_buf_text(&work->reason);

    berth_progress_clear(&work->progress);
    if (work->progress.terminal >= 0 && work->said.used > 0)
        berth_fd_write(work->progress.terminal, work->said.text, work->said.used);
    if (WIFSIGNALED(status))
        return berth_err_set(err,
                             "image '%s': the pull was ended by signal %d (%s); pull "
                             "it again, it continues where it stopped",
                             pull->uri, WTERMSIG(status), strsignal(WTERMSIG(status)));
    return explain(pull, work->cache, runtime, reason, err);
}

int berth_convert(const struct berth_pull *pull, const struct berth_cache *cache,
                  const char *runtime, const char *file, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec argv = {0}, env = {0};
    TEMPORARY struct temporary temporary = {NULL};
    WORK struct work work = {.pull = pull, .cache = cache};
    BERTH_FREE char *part = NULL;
    int status = 0;

    if (asprintf(&part, "%s/part", cache->path) < 0) {
        part = NULL;
        return berth_err_oom(err);
    }
    make_temporary(pull->env, &temporary);
    work.temporary = temporary.path;
    if (make_environment(pull, cache, temporary.path, &env, err) < 0 ||
        make_argv(pull, runtime, file, &argv, err) < 0)
        return -1;

    const char *const scraps[] = {part, temporary.path, NULL};
    const struct berth_longrun run = {
        .argv = (const char *const *)argv.items,
        .env = (const char *const *)env.items,
        .scraps = scraps,
        .line = read_line,
        .tick = show,
        .data = &work,
    };

    berth_progress_begin(&work.progress, pull->terminal, pull->say,
                         "pulling image '%s'", pull->uri);
    if (berth_longrun(&run, &status, err) < 0)
        return -1;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return refuse(&work, runtime, status, err);
    berth_progress_end(&work.progress, "pulled '%s' (%lld MB)", pull->uri,
                       berth_text_megabytes(measure(part, 1)));
    return 0;
}

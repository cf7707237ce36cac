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

static void make_temporary(char *const *env, struct temporary *ret)
{
    const char *place = NULL;

    for (int i = 0; temporary_names[i] && !(place && *place); i++)
        place = berth_environ_value(env, temporary_names[i]);
    if (asprintf(&ret->path, "%s/berth-pull-XXXXXX", place && *place ? place : "/tmp") <
        0)
        ret->path = NULL;
    if (ret->path && !mkdtemp(ret->path)) {
        free(ret->path);
        ret->path = NULL;
    }
}

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

/* Append the user's environment for the runtime to RET. Unless the user sets a
 * directory for layers, keep them in the cache until the image is there: the next pull
 * continues with them if this one is killed, and none stay. For the store
 * they are always kept there: they tell the digest. SingularityCE refuses
 * SINGULARITY_OCI together with --no-oci. */
static int make_environment(const struct berth_pull *pull,
                            const struct berth_cache *cache, const char *temporary,
                            struct berth_strvec *ret, struct berth_err *err)
{
    static const char *const layers[] = {
        "APPTAINER_CACHEDIR=", "SINGULARITY_CACHEDIR=", NULL};
    static const char *const none[] = {
        "APPTAINER_DISABLE_CACHE=", "SINGULARITY_DISABLE_CACHE=", NULL};
    static const char *const places[] = {
        "APPTAINER_TMPDIR=", "SINGULARITY_TMPDIR=", NULL};
    bool are_ours =
        pull->to_store || (!berth_environ_value(pull->env, "APPTAINER_CACHEDIR") &&
                           !berth_environ_value(pull->env, "SINGULARITY_CACHEDIR"));

    for (char *const *it = pull->env; it && *it; it++) {
        bool is_dropped = berth_text_starts(*it, "SINGULARITY_OCI=") ||
                          changes_build(*it) ||
                          (are_ours && berth_text_starts_any(*it, layers)) ||
                          (pull->to_store && berth_text_starts_any(*it, none)) ||
                          (temporary && berth_text_starts_any(*it, places));

        if (!is_dropped)
            berth_strvec_push(ret, *it);
    }
    for (int i = 0; are_ours && layers[i]; i++)
        berth_strvec_pushf(ret, "%s%s/layers", layers[i], cache->path);
    for (int i = 0; temporary && places[i]; i++)
        berth_strvec_pushf(ret, "%s%s", places[i], temporary);
    return ret->failed ? berth_err_oom(err) : 0;
}

/* May `pull` of the runtime whose --version prints VERSION make an OCI-SIF file?
 * SingularityCE and SingularityPRO have --no-oci since version 4. */
static bool may_make_oci(const char *version)
{
    enum { FIRST_WITH_OCI = 4 };
    const char *number = version ? strpbrk(version, "0123456789") : NULL;

    return version && berth_text_starts(version, "singularity") &&
           !(number && atoi(number) < FIRST_WITH_OCI);
}

/* Does the line LINE of a runtime have one of the texts in ANY, which NULL ends? */
static bool has_any(const char *line, const char *const *any)
{
    while (*any && !strcasestr(line, *any))
        any++;
    return *any;
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

    berth_cache_drop(cache, has_any(line, full) ? BERTH_CACHE_KEEP_NOTHING
                                                : BERTH_CACHE_KEEP_LAYERS);
    return berth_err_set(err,
                         "image '%s': %s did not pull it: %s; %stry it by hand: %s "
                         "pull %s",
                         pull->uri, runtime, *line ? line : "it said nothing",
                         has_any(line, refused) ? "log in to the registry, and " : "",
                         runtime, pull->uri);
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

static void read_line(void *data, const char *line)
{
    static const char fatal[] = "FATAL:";
    enum { MOST = 1 << 16 };
    struct work *work = data;
    const char *text = line + strspn(line, " ");

    if (!*text)
        return;
    for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++)
        if (strstr(text, phases[i].text))
            work->phase = phases[i].phase;
    if (berth_text_starts(text, fatal)) {
        work->has_given_up = true;
        text += strlen(fatal);
        text += strspn(text, " ");
    } else {
        if (!is_shown(work, line) && work->said.used < MOST)
            berth_buf_addf(&work->said, "%s\n", line);
        if (work->has_given_up)
            return;
    }
    berth_buf_fini(&work->reason);
    berth_buf_puts(&work->reason, text);
}

/* The bytes of the files in PATH and DEPTH levels below it. */
static long long measure(char *path, int depth)
{
    char *roots[] = {path, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    long long bytes = 0;

    for (FTSENT *entry; tree && (entry = fts_read(tree));) {
        if (entry->fts_info == FTS_F)
            bytes += entry->fts_statp->st_size;
        if (entry->fts_info == FTS_D && entry->fts_level > depth)
            fts_set(tree, entry, FTS_SKIP);
    }
    if (tree)
        fts_close(tree);
    return bytes;
}

/* The bytes that are written so far: of the layers, or of the image, which a runtime
 * may write first to its temporary directory. Below that are the unpacked files. */
static long long measure_phase(const struct work *work)
{
    enum { BLOBS = 5, BESIDE = 2 };
    bool is_fetching = work->phase == NULL;
    BERTH_FREE char *path = NULL, *beside = NULL;
    long long bytes;

    if (asprintf(&path, "%s/%s", work->cache->path, is_fetching ? "layers" : "part") <
        0)
        path = NULL;
    if (!is_fetching && work->temporary)
        beside = strdup(work->temporary);
    bytes = path ? measure(path, BLOBS) : 0;
    return beside ? bytes + measure(beside, BESIDE) : bytes;
}

static void show(void *data)
{
    enum { EVERY = 500 };
    struct work *work = data;
    int64_t now = berth_clock();

    if (work->progress.terminal < 0)
        return;
    if (now - work->measured >= EVERY) {
        long long bytes = measure_phase(work);

        snprintf(work->detail, sizeof(work->detail), "%s",
                 work->phase ? work->phase : "fetching");
        if (bytes >= 1000000)
            snprintf(work->detail, sizeof(work->detail), "%s, %lld MB",
                     work->phase ? work->phase : "fetching", bytes / 1000000);
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
    BERTH_STRVEC struct berth_strvec words = {0};
    BERTH_BUF struct berth_buf text = {0};

    berth_strvec_push(ret, runtime);
    berth_strvec_push(ret, "build");
    if (berth_environ_value(env, "APPTAINER_MKSQUASHFS_ARGS"))
        return; /* the user's own; the option would win */
    berth_compression_words(chosen, &words);
    berth_strvec_join(&words, " ", &text);
    berth_strvec_pushf(ret, "--mksquashfs-args=%s", text.text ? text.text : "");
    ret->failed |= text.failed;
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
                     const char *temporary, const char *file, struct berth_strvec *ret,
                     struct berth_err *err)
{
    const char *chosen = NULL;
    struct berth_err note = {.text = ""};

    if (berth_text_starts(pull->uri, "docker://") && !is_for_other(pull->env)) {
        BERTH_FREE char *mksquashfs = berth_compression_program(runtime);

        /* Who ends the trial does not want the pull. */
        if (berth_compression_choose(pull->site, runtime, mksquashfs, temporary,
                                     &chosen, &note) < 0)
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
    return ret->failed ? berth_err_oom(err) : 0;
}

/* The runtime has ended with STATUS, which is not 0. */
static int refuse(struct work *work, const char *runtime, int status,
                  struct berth_err *err)
{
    const struct berth_pull *pull = work->pull;

    berth_progress_clear(&work->progress);
    if (work->progress.terminal >= 0 && work->said.used)
        berth_fd_write(work->progress.terminal, work->said.text, work->said.used);
    if (WIFSIGNALED(status))
        return berth_err_set(err,
                             "image '%s': the pull was ended by signal %d (%s); pull "
                             "it again, it continues where it stopped",
                             pull->uri, WTERMSIG(status), strsignal(WTERMSIG(status)));
    return explain(pull, work->cache, runtime,
                   work->reason.used ? work->reason.text : "", err);
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
        make_argv(pull, runtime, temporary.path, file, &argv, err) < 0)
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
                       (measure(part, 1) + 500000) / 1000000);
    return 0;
}

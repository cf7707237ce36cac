/* SPDX-License-Identifier: Apache-2.0 */
/* Pulls an image from a registry, once for all hosts that have the cache. */

#include "pull/pull.h"

#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/strvec.h"
#include "base/text.h"
#include "site/origin.h"
#include "request/uri.h"
#include "step/image.h"
#include "step/runtime.h"
#include "pull/cache.h"
#include "pull/listen.h"
#include "pull/runtime.h"

#define PART "image.sif"

/* The directory of the user's cache. The caller frees it. */
static int find_directory(const struct berth_pull *pull, char **ret,
                          struct berth_err *err)
{
    const char *home = berth_environ_value(pull->env, "HOME");
    const struct passwd *user = home ? NULL : getpwuid(geteuid());

    return berth_uri_cache(pull->site->images.cache, pull->env,
                           user ? user->pw_dir : home, ret, err);
}

/* Append the user's environment for the runtime to RET. Unless the user sets a
 * directory for layers, keep them in the cache until the image is there: the next pull
 * continues with them if this one is killed, and none stay. SingularityCE refuses
 * SINGULARITY_OCI together with --no-oci. */
static int make_environment(const struct berth_pull *pull,
                            const struct berth_cache *cache, struct berth_strvec *ret,
                            struct berth_err *err)
{
    for (char *const *it = pull->env; it && *it; it++)
        if (!berth_text_starts(*it, "SINGULARITY_OCI="))
            berth_strvec_push(ret, *it);
    if (!berth_environ_value(pull->env, "APPTAINER_CACHEDIR") &&
        !berth_environ_value(pull->env, "SINGULARITY_CACHEDIR")) {
        berth_strvec_pushf(ret, "APPTAINER_CACHEDIR=%s/layers", cache->path);
        berth_strvec_pushf(ret, "SINGULARITY_CACHEDIR=%s/layers", cache->path);
    }
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

/* Have RUNTIME pull the image into FILE. No OCI-SIF file: it does not run in a step. */
static int run(const struct berth_pull *pull, const struct berth_cache *cache,
               const char *runtime, const char *file, struct berth_err *err)
{
    BERTH_FREE char *version = berth_runtime_version(runtime);
    const char *const plain[] = {runtime, "pull", file, pull->uri, NULL};
    const char *const no_oci[] = {runtime, "pull", "--no-oci", file, pull->uri, NULL};
    BERTH_STRVEC struct berth_strvec env = {0};
    struct berth_listen listen = {.terminal = pull->terminal};
    int status;

    if (make_environment(pull, cache, &env, err) < 0)
        return -1;
    pull->on_pull(pull->uri);
    if (berth_pull_run(may_make_oci(version) ? no_oci : plain,
                       (const char *const *)env.items, &listen, &status, err) < 0)
        return -1;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    if (WIFSIGNALED(status))
        return berth_err_set(err,
                             "image '%s': the pull was ended by signal %d (%s); pull "
                             "it again, it continues where it stopped",
                             pull->uri, WTERMSIG(status), strsignal(WTERMSIG(status)));
    return explain(pull, cache, runtime, berth_listen_reason(&listen), err);
}

/* Holding the lock: pull the image, check it, and add it to the cache. */
static int fetch(const struct berth_pull *pull, const struct berth_cache *cache,
                 const char *runtime, char **ret_file, struct berth_err *err)
{
    BERTH_FREE char *file = NULL;
    struct berth_image image;

    if (berth_cache_begin(cache, err) < 0)
        return -1;
    if (asprintf(&file, "%s/part/" PART, cache->path) < 0)
        return berth_err_oom(err);
    if (run(pull, cache, runtime, file, err) < 0)
        return -1;
    if (berth_image_probe(file, &image, NULL, err) < 0) {
        berth_cache_drop(cache, BERTH_CACHE_KEEP_NOTHING);
        return berth_err_at(err, "image '%s': what was pulled", pull->uri);
    }
    return berth_cache_end(cache, PART, ret_file, err);
}

/* Lock the cache. The wait for another pull may be long, so let signals end it. */
static int lock(const struct berth_pull *pull, struct berth_cache *cache,
                struct berth_err *err)
{
    sigset_t before;
    int result;

    berth_pull_unblock_signals(&before);
    result = berth_cache_lock(cache, pull->on_wait, pull->uri, err);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return result;
}

/* Find the image in the cache, unless PULL is to pull it again. */
static int find_cached(const struct berth_pull *pull, const char *directory,
                       const char *name, char **ret_file, struct berth_err *err)
{
    *ret_file = NULL;
    return pull->again ? 0 : berth_cache_find(directory, name, ret_file, err);
}

int berth_pull(const struct berth_pull *pull, char **ret_file, struct berth_err *err)
{
    BERTH_CACHE struct berth_cache cache = BERTH_CACHE_NONE;
    BERTH_FREE char *runtime = NULL, *directory = NULL, *name = NULL;

    if (berth_origin_check(pull->site, pull->uri, err) < 0 ||
        berth_uri_name(pull->uri, &name, err) < 0 ||
        find_directory(pull, &directory, err) < 0 ||
        find_cached(pull, directory, name, ret_file, err) < 0)
        return -1;
    if (*ret_file)
        return 0;
    if (berth_runtime_find(pull->site->runtime.path,
                           berth_environ_value(pull->env, "PATH"), &runtime, err) < 0)
        return berth_err_at(err, "image '%s'", pull->uri);
    if (berth_cache_open(directory, name, &cache, err) < 0 ||
        lock(pull, &cache, err) < 0 ||
        find_cached(pull, directory, name, ret_file, err) < 0)
        return -1;
    return *ret_file ? 0 : fetch(pull, &cache, runtime, ret_file, err);
}

int berth_pull_request(const struct berth_pull *how, struct berth_request *request,
                       struct berth_err *err)
{
    struct berth_pull pull = *how;
    BERTH_FREE char *file = NULL;

    if (!request->uri ||
        (!berth_request_needs_pull(request) && access(request->image, F_OK) == 0))
        return 0;
    pull.uri = request->uri;
    if (berth_pull(&pull, &file, err) < 0)
        return -1;
    return berth_request_put(request, BERTH_OPTION_IMAGE, file, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Pulls an image from a registry, once for all hosts that have the cache. */

#include "image/pull.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/err.h"
#include "base/fd.h"
#include "image/cache.h"
#include "image/convert.h"
#include "image/lookup.h"
#include "request/uri.h"
#include "site/policy.h"
#include "image/image.h"
#include "container/runtime.h"
#include "image/store.h"

/* Unblock the signals that end a process, except those that our process handles or
 * ignores: srun blocks them until it has a thread that handles them. The caller sets
 * the mask back to *RET_BEFORE. */
static void unblock_signals(sigset_t *ret_before)
{
    static const int numbers[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    struct sigaction action;
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler == SIG_DFL)
            sigaddset(&set, numbers[i]);
    sigprocmask(SIG_UNBLOCK, &set, ret_before);
}

#define PART "image.sif"

int berth_pull_directory(const struct berth_pull *pull, char **ret,
                         struct berth_err *err)
{
    if (!pull->to_store)
        return berth_lookup_cache(pull->site, pull->env, ret, err);
    if (berth_store_check(pull->site, err) < 0)
        return -1;
    *ret = strdup(pull->site->images.store);
    return berth_err_oom_if(!*ret, err);
}

/* The digest of the image that has just been pulled: that of its manifest, which the
 * runtime keeps with the layers of an OCI image. Returns false if there is none. */
static bool find_digest(const struct berth_cache *cache, char ret[BERTH_URI_DIGEST])
{
    enum { LONGEST = 1 << 20 };
    BERTH_BUF struct berth_buf text = {0};
    BERTH_FREE char *manifests = NULL;

    if (asprintf(&manifests, "%s/" BERTH_CACHE_MANIFESTS, cache->path) < 0) {
        manifests = NULL;
        return false;
    }
    return berth_fd_read_path(manifests, LONGEST, &text) == 0 && text.text &&
           berth_uri_digest(text.text, ret);
}

/* Check FILE, which has just been pulled, and add it to DIRECTORY. */
static int keep(const struct berth_pull *pull, const struct berth_cache *cache,
                const char *directory, const char *file, char **ret_file,
                struct berth_err *err)
{
    char of_manifest[BERTH_URI_DIGEST], of_file[BERTH_URI_DIGEST];
    const char *digest = of_file;
    struct berth_image image;

    if (berth_image_probe(file, &image, err) < 0)
        return berth_err_at(err, "image '%s': what was pulled", pull->uri);
    if (berth_store_hash(file, of_file, err) < 0)
        return -1;
    if (find_digest(cache, of_manifest))
        digest = of_manifest;
    return berth_store_add(directory, pull->uri, digest, image.machine, file, of_file,
                           ret_file, err);
}

/* Holding the lock: pull the image, check it, and add it to DIRECTORY. */
static int fetch(const struct berth_pull *pull, const struct berth_cache *cache,
                 const char *directory, const char *runtime, char **ret_file,
                 struct berth_err *err)
{
    BERTH_FREE char *file = NULL;
    int result;

    if (berth_cache_begin(cache, err) < 0)
        return -1;
    if (asprintf(&file, "%s/part/" PART, cache->path) < 0)
        return berth_err_oom(err);
    if (berth_convert(pull, cache, runtime, file, err) < 0)
        return -1;
    result = keep(pull, cache, directory, file, ret_file, err);
    berth_cache_drop(cache, BERTH_CACHE_KEEP_NOTHING);
    return result;
}

/* Find the image for this machine in the store or the cache, else one for another
 * machine, whose tasks it may be for; a pull into the store looks there alone. Finds
 * nothing if PULL is to pull it again. */
static int find(const struct berth_pull *pull, char **ret_file, struct berth_err *err)
{
    BERTH_FREE char *store = NULL;
    const char *machine = NULL;
    struct utsname host;

    *ret_file = NULL;
    if (pull->again)
        return 0;
    if (uname(&host) == 0)
        machine = host.machine;
    if (pull->to_store) {
        if (berth_pull_directory(pull, &store, err) < 0)
            return -1;
        return berth_cache_find(store, pull->uri, machine, ret_file, err);
    }
    if (berth_lookup(pull->site, pull->env, pull->uri, machine, ret_file, err) < 0)
        return -1;
    if (*ret_file)
        return 0;
    return berth_lookup(pull->site, pull->env, pull->uri, NULL, ret_file, err);
}

/* Pull the image into DIRECTORY, unless another pull of NAME has, while this one waited
 * for it. */
static int pull_locked(const struct berth_pull *pull, const char *directory,
                       const char *name, const char *runtime, char **ret_file,
                       struct berth_err *err)
{
    BERTH_CACHE struct berth_cache cache = BERTH_CACHE_NONE;

    if (berth_cache_open(directory, name, &cache, err) < 0 ||
        berth_cache_lock(&cache, pull->terminal, pull->say, pull->uri, err) < 0)
        return -1;
    if (find(pull, ret_file, err) < 0)
        return -1;
    if (*ret_file)
        return 0;
    return fetch(pull, &cache, directory, runtime, ret_file, err);
}

int berth_pull_image(const struct berth_pull *pull, char **ret_file,
                     struct berth_err *err)
{
    BERTH_FREE char *runtime = NULL, *directory = NULL, *name = NULL;
    const char *path = berth_environ_value(pull->env, "PATH");
    sigset_t before;
    int result;

    if (berth_policy_check_uri(pull->site, pull->uri, err) < 0 ||
        berth_uri_name(pull->uri, &name, err) < 0 || find(pull, ret_file, err) < 0)
        return -1;
    if (*ret_file)
        return 0;

    if (berth_pull_directory(pull, &directory, err) < 0)
        return -1;
    if (berth_runtime_find(pull->site->runtime.path, path, &runtime, err) < 0)
        return berth_err_at(err, "image '%s'", pull->uri);
    unblock_signals(&before);
    result = pull_locked(pull, directory, name, runtime, ret_file, err);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return result;
}

int berth_pull_request(const struct berth_pull *how, struct berth_request *request,
                       struct berth_err *err)
{
    struct berth_pull pull = *how;
    BERTH_FREE char *file = NULL;
    struct berth_err note;
    bool was_pulled;

    if (!request->uri)
        return 0;
    was_pulled = !berth_request_needs_pull(request);
    if (was_pulled && access(request->image, F_OK) == 0)
        return 0;

    pull.uri = request->uri;
    if (berth_pull_image(&pull, &file, err) < 0)
        return -1;
    if (was_pulled && strcmp(request->image, file) != 0) {
        berth_err_set(&note,
                      "image '%s': the file that the job was submitted with is gone; "
                      "this step runs '%s'",
                      request->uri, file);
        pull.say(note.text);
    }
    return berth_request_put(request, BERTH_OPTION_IMAGE, file, err);
}

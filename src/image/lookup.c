/* SPDX-License-Identifier: Apache-2.0 */
/* Finds an image from a registry that is already here. Pulls nothing. */

#include "image/lookup.h"

#include <pwd.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "image/cache.h"
#include "image/store.h"
#include "request/missing.h"
#include "request/uri.h"

int berth_lookup_cache(const struct berth_site *site, char *const *env, char **ret,
                       struct berth_err *err)
{
    const char *home = berth_environ_value(env, "HOME");

    if (!home) {
        const struct passwd *user = getpwuid(geteuid());

        if (user)
            home = user->pw_dir;
    }
    return berth_uri_cache(site->images.cache, env, home, ret, err);
}

int berth_lookup(const struct berth_site *site, char *const *env, const char *uri,
                 const char *machine, char **ret_file, struct berth_err *err)
{
    BERTH_FREE char *cache = NULL;

    if (berth_store_find(site, uri, machine, ret_file, err) < 0)
        return -1;
    if (*ret_file)
        return 0;
    if (berth_lookup_cache(site, env, &cache, err) < 0)
        return -1;
    return berth_cache_find(cache, uri, machine, ret_file, err);
}

/* Is the image of REQUEST a name, that the site lets users pull from a registry? A step
 * may have the name of a container, and no image. */
static bool is_name(const struct berth_site *site, const struct berth_request *request)
{
    if (site->images.bare != BERTH_BARE_PULL)
        return false;
    if (!request->image || request->uri || !berth_request_has_container(request))
        return false;
    return access(request->image, F_OK) < 0;
}

int berth_lookup_word(const struct berth_site *site, struct berth_request *request,
                      struct berth_err *err)
{
    BERTH_BUF struct berth_buf uri = {0};

    if (!is_name(site, request) || !berth_missing_is_word(request->image, &uri))
        return 0;
    if (uri.failed)
        return berth_err_oom(err);
    return berth_request_put_uri(request, uri.text, err);
}

int berth_lookup_fit(const struct berth_site *site, char *const *env,
                     struct berth_request *request, struct berth_err *err)
{
    BERTH_FREE char *directory = NULL, *file = NULL;
    char machine[BERTH_STORE_MACHINE], digest[BERTH_URI_DIGEST];
    struct utsname host;
    struct berth_err note;

    if (!berth_store_split(request, &directory, machine, digest) || uname(&host) < 0 ||
        strcmp(machine, host.machine) == 0)
        return 0;
    if (berth_store_look(directory, request->uri, host.machine, &file, err) < 0)
        return -1;
    /* The image that does not fit is refused in a better sentence than a cache that
     * this node cannot read. */
    if (!file && berth_lookup(site, env, request->uri, host.machine, &file, &note) < 0)
        return 0;
    if (!file)
        return 0;
    return berth_request_put(request, BERTH_OPTION_IMAGE, file, err);
}

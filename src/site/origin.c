/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which URIs of images a site allows. Asks no registry. */

#include "site/origin.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"

/* Is there a user before the host, which then looks like the host (RFC 3986, 3.2.1)? */
static bool has_user(const char *uri)
{
    const char *host = strstr(uri, "://");

    host = host ? host + 3 : uri;
    return memchr(host, '@', strcspn(host, "/?#")) != NULL;
}

/* A registry may resolve `..`, also as %2e. */
static bool has_step_up(const char *uri)
{
    return strstr(uri, "/..") || strchr(uri, '%') || strchr(uri, '\\');
}

static bool starts(const char *uri, const char *beginning)
{
    size_t length = strlen(beginning);

    if (length == 0 || strncmp(uri, beginning, length) != 0)
        return false;
    return strchr("/:", beginning[length - 1]) || uri[length] == '\0' ||
           strchr("/:@", uri[length]);
}

static bool is_allowed(const struct berth_strvec *beginnings, const char *uri)
{
    for (size_t i = 0; i < beginnings->count; i++)
        if (starts(uri, beginnings->items[i]) && !has_step_up(uri) &&
            (!has_user(uri) || has_user(beginnings->items[i])))
            return true;
    return false;
}

int berth_origin_check(const struct berth_site *site, const char *uri,
                       struct berth_err *err)
{
    const struct berth_strvec *uris = &site->images.uris;
    BERTH_BUF struct berth_buf text = {0};

    if (!site->images.has_uris && site->images.roots.count == 0)
        return 0;
    if (is_allowed(uris, uri))
        return 0;
    berth_strvec_join(uris, ", ", &text);
    if (text.failed)
        return berth_err_oom(err);
    berth_err_set(
        err, "image '%s': this site does not allow images from there; it allows %s",
        uri, text.used ? text.text : "files only");
    return berth_site_cite(site, site->images.has_uris ? "images.uris" : "images.roots",
                           "", err);
}

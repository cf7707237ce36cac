/* SPDX-License-Identifier: Apache-2.0 */
/* Recognizes names of images in registries by their form. Asks no registry. */

#include "request/registry.h"

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "request/uri.h"

bool berth_registry_is_file(const char *name)
{
    static const char *const ends[] = {".sif", ".simg", ".img",    ".sqsh", ".squashfs",
                                       ".tar", ".tgz",  ".tar.gz", ".def",  NULL};

    for (const char *const *end = ends; *end; end++)
        if (berth_text_ends(name, *end))
            return true;
    return false;
}

/* Two letters are the domain of a country, unless NAME has one dot only: then NAME is
 * rather a file. */
static bool is_top_domain(const char *end, bool has_more_dots)
{
    static const char *const common[] = {"io", "com", "org", "net", "edu", "gov", NULL};

    return berth_text_is_any(end, common) ||
           (has_more_dots && strlen(end) == 2 && isalpha((unsigned char)end[0]) &&
            isalpha((unsigned char)end[1]));
}

bool berth_registry_is_host(const char *name)
{
    const char *dot = strrchr(name, '.');

    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '-' && *c != '.')
            return false;
    return dot && dot != name && !berth_registry_is_file(name) &&
           is_top_domain(dot + 1, strchr(name, '.') != dot);
}

/* Does NAME begin with a registry and a slash? */
static bool has_host(const char *name)
{
    size_t length = strcspn(name, "/");
    BERTH_FREE char *host = name[length] ? strndup(name, length) : NULL;

    return host && (strchr(host, ':') || berth_registry_is_host(host));
}

char *berth_registry_plain(const char *uri)
{
    char *plain = strdup(uri);
    char *mark =
        plain && berth_text_starts(uri, "docker://") ? strchr(plain, '#') : NULL;

    if (mark)
        *mark = '/';
    return plain;
}

bool berth_registry_meant(const char *name, struct berth_buf *ret)
{
    return (strchr(name, '#') || strchr(berth_text_base(name), ':') ||
            has_host(name)) &&
           berth_registry_possible(name, ret);
}

bool berth_registry_possible(const char *name, struct berth_buf *ret)
{
    BERTH_BUF struct berth_buf typed = {0};
    BERTH_FREE char *uri = NULL;

    if (berth_text_starts(name, "docker:")) { /* the user left the slashes out */
        name += strlen("docker:");
        name += strspn(name, "/");
    }
    if (*name == '.' || *name == '/' || berth_registry_is_file(name))
        return false;
    berth_buf_addf(&typed, "docker://%s", name);
    uri = typed.failed ? NULL : berth_registry_plain(typed.text);
    if (!uri || berth_uri_check(uri, NULL) < 0)
        return false;
    berth_buf_puts(ret, uri);
    return true;
}

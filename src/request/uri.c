/* SPDX-License-Identifier: Apache-2.0 */
/* URIs of images: checks them, names their directories in a cache, and recognizes by
 * its form the name of an image without a scheme. Asks no registry. */

#include "request/uri.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/text.h"

const char *const berth_uri_schemes[] = {"docker", "oras", "library", NULL};

/* In bytes: NAME_MAX of every file system of today, and what image/store.h adds to a
 * name for its link in the index. */
enum { LONGEST = 255, LINK_MORE = 8 };

/* TEXT after "://"; NULL: TEXT is not a URI. A path has no "://" before its first
 * slash. */
static const char *rest_of(const char *text)
{
    const char *colon = strstr(text, "://");

    if (!colon || colon == text || memchr(text, '/', (size_t)(colon - text)))
        return NULL;
    return colon + strlen("://");
}

bool berth_uri_is(const char *text)
{
    return rest_of(text) != NULL;
}

static bool is_known(const char *uri)
{
    for (const char *const *scheme = berth_uri_schemes; *scheme; scheme++)
        if (berth_text_starts(uri, *scheme) &&
            berth_text_starts(uri + strlen(*scheme), "://"))
            return true;
    return false;
}

/* What Apptainer builds images from, and cannot run by name on every node: the docker
 * daemon or an archive of one host (apptainer-build(1)). */
static const char *const build_sources[] = {
    "docker-daemon:", "docker-archive:", "oci:", "oci-archive:", NULL};

bool berth_uri_is_build_source(const char *text)
{
    return berth_text_starts_any(text, build_sources);
}

static int refuse_scheme(const char *uri, struct berth_err *err)
{
    const char *rest = rest_of(uri);
    const char *tag = ":latest";

    if (strchr(rest, ':'))
        tag = ""; /* it has one */
    if (berth_uri_is_build_source(uri))
        return berth_err_set(err, "'%s': cannot be pulled; " BERTH_URI_BUILD, uri, uri);
    if (berth_text_starts(uri, "dockerd://"))
        return berth_err_set(err,
                             "'%s': the docker daemon of a host has this image, and "
                             "the nodes do not; make an image of it first: apptainer "
                             "build image.sif docker-daemon:%s%s",
                             uri, rest, tag);
    if (berth_text_starts(uri, "file://"))
        return berth_err_set(err, "'%s': cannot be pulled; write the path alone, %s",
                             uri, rest);
    if (berth_text_starts(uri, "instance://"))
        return berth_err_set(err,
                             "'%s': an instance is not an image; `berth enter JOBID` "
                             "enters the container of a step, and "
                             "--container-lifetime=job keeps one for later steps",
                             uri);
    return berth_err_set(err,
                         "'%s': cannot be pulled; write docker://, oras:// or "
                         "library:// in place of %.*s, or the path of a file or "
                         "directory",
                         uri, (int)(rest - uri), uri);
}

static int refuse_name(const char *name, struct berth_err *err)
{
    BERTH_BUF struct berth_buf meant = {0};

    if (!berth_registry_possible(name, &meant))
        berth_buf_puts(&meant,
                       "docker://, oras:// or library:// before it, or the path "
                       "of a file or directory");
    return berth_err_set(err, "'%s': cannot be pulled; write %s", name, meant.text);
}

/* Where the host begins in REST, which is a URI without its scheme: after USER@ or
 * USER:PASSWORD@, if there is one. A name without a slash may have an @ for its digest.
 */
static const char *host_of(const char *rest)
{
    const char *slash = strchr(rest, '/');
    const char *at = NULL;

    if (slash)
        at = memrchr(rest, '@', (size_t)(slash - rest));
    if (!at)
        return rest;
    return at + 1;
}

/* Has TEXT the characters of a name, and at least one? */
static bool is_name(const char *text)
{
    for (const char *c = text; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("._-:/@,~[]", *c))
            return false;
    return *text != '\0';
}

int berth_uri_check(const char *uri, struct berth_err *err)
{
    const char *rest = rest_of(uri);
    const char *host;

    if (!rest)
        return refuse_name(uri, err);
    if (!is_known(uri))
        return refuse_scheme(uri, err);
    rest += strspn(rest, "/");
    if (berth_registry_is_host(rest) && berth_text_starts(uri, "docker://"))
        return berth_err_set(err,
                             "'%s': names a registry and no image; expected "
                             "%s/NAME:TAG " BERTH_REGISTRY_CUT,
                             uri, uri);
    /* Before the characters: NGC's user is $oauthtoken. */
    host = host_of(rest);
    if (host != rest)
        return berth_err_set(err,
                             "a user or password in a URI is seen by all; leave it out "
                             "and log in first: apptainer (or singularity) registry "
                             "login %.*s://%.*s",
                             (int)strcspn(uri, ":"), uri, (int)strcspn(host, "/"),
                             host);
    if (!is_name(rest))
        return berth_err_expected(err, "HOST/NAME:TAG after the scheme", uri);
    return 0;
}

/* Append C; if it is in FROM, the character at the same place in TO. */
static void add_translated(struct berth_buf *text, char c, const char *from,
                           const char *to)
{
    const char *at = strchr(from, c);

    if (at)
        c = to[at - from];
    berth_buf_add(text, &c, 1);
}

int berth_uri_name(const char *uri, char **ret_name, struct berth_err *err)
{
    BERTH_BUF struct berth_buf name = {0};
    const char *rest;

    if (berth_uri_check(uri, err) < 0)
        return -1;
    rest = rest_of(uri);
    berth_buf_add(&name, uri, strcspn(uri, ":"));
    berth_buf_puts(&name, "+");
    for (const char *c = rest + strspn(rest, "/"); *c; c++)
        add_translated(&name, *c, "/:", "+=");
    if (!strpbrk(berth_text_base(rest), ":@")) /* a tag or a digest */
        berth_buf_puts(&name, "=latest");
    if (name.failed)
        return berth_err_oom(err);
    if (name.used > LONGEST - LINK_MORE)
        return berth_err_set(err,
                             "'%s': longer than a file name can be; pull it by hand, "
                             "and give the file",
                             uri);
    *ret_name = berth_steal(&name.text);
    return 0;
}

char *berth_uri_of_name(const char *name)
{
    BERTH_BUF struct berth_buf uri = {0};
    size_t scheme = strcspn(name, "+");

    berth_buf_add(&uri, name, scheme);
    berth_buf_puts(&uri, "://");
    if (name[scheme])
        scheme++;
    for (const char *c = name + scheme; *c; c++)
        add_translated(&uri, *c, "+=", "/:");
    if (uri.failed)
        return NULL;
    return berth_steal(&uri.text);
}

/* Reads the digest that follows a separator at TEXT: 64 digits, and no more. */
static bool read_digest(const char *text, char ret[BERTH_URI_DIGEST])
{
    size_t length;

    if (*text == '\0')
        return false;
    text++;
    length = strspn(text, "0123456789abcdef");
    if (length != BERTH_URI_DIGEST - 1 || isxdigit((unsigned char)text[length]))
        return false;
    memcpy(ret, text, length);
    ret[length] = '\0';
    return true;
}

bool berth_uri_digest(const char *text, char ret[BERTH_URI_DIGEST])
{
    const char *at = strstr(text, "sha256");

    while (at) {
        at += strlen("sha256");
        if (read_digest(at, ret))
            return true;
        at = strstr(at, "sha256");
    }
    return false;
}

/* Appends the VALUE (NULL: none) of the variable NAME. */
static int add_value(struct berth_buf *path, const char *name, const char *value,
                     struct berth_err *err)
{
    if (!value || !*value)
        return berth_err_set(err,
                             "%s is not set; set it, or ask the administrators where "
                             "images may be kept",
                             name);
    berth_buf_puts(path, value);
    return 0;
}

/* Appends the value of the variable whose `$` is at TEXT. Returns the bytes of its name
 * with the `$` and braces, or -1. */
static int add_variable(struct berth_buf *path, const char *text, char *const *env,
                        struct berth_err *err)
{
    BERTH_FREE char *name = NULL;
    const bool is_braced = text[1] == '{';
    const char *start = text + strlen("$");
    const char *end;

    if (is_braced)
        start++;
    end = start;
    while (isalnum((unsigned char)*end) || *end == '_')
        end++;
    if (end == start || (is_braced && *end != '}'))
        return berth_err_expected(err, "$NAME or ${NAME}", text);

    name = strndup(start, (size_t)(end - start));
    if (!name)
        return berth_err_oom(err);
    if (add_value(path, name, berth_environ_value(env, name), err) < 0)
        return -1;
    if (is_braced)
        end++;
    return (int)(end - text);
}

static int expand(const char *text, char *const *env, const char *home,
                  struct berth_buf *path, struct berth_err *err)
{
    if (text[0] == '~' && (text[1] == '/' || text[1] == '\0')) {
        if (add_value(path, "HOME", home, err) < 0)
            return -1;
        text++;
    }
    while (*text) {
        int used = 1;

        if (*text == '$')
            used = add_variable(path, text, env, err);
        else
            berth_buf_add(path, text, 1);
        if (used < 0)
            return -1;
        text += used;
    }
    return 0;
}

static int expand_default(char *const *env, const char *home, struct berth_buf *path,
                          struct berth_err *err)
{
    const char *directory = berth_environ_value(env, "XDG_CACHE_HOME");

    /* "If set to a relative path, ignore it" (XDG Base Directory Specification) */
    if (directory && *directory == '/') {
        berth_buf_addf(path, "%s/berth", directory);
        return 0;
    }
    if (add_value(path, "HOME", home, err) < 0)
        return -1;
    berth_buf_puts(path, "/.cache/berth");
    return 0;
}

int berth_uri_cache(const char *configured, char *const *env, const char *home,
                    char **ret_path, struct berth_err *err)
{
    BERTH_BUF struct berth_buf path = {0};
    int result;

    if (configured)
        result = expand(configured, env, home, &path, err);
    else
        result = expand_default(env, home, &path, err);
    if (result < 0)
        return berth_err_at(err, "images.cache");
    if (path.failed)
        return berth_err_oom(err);

    if (*berth_buf_text(&path) != '/') {
        berth_err_expected(err, "a path from /, ~ or $NAME", berth_buf_text(&path));
        return berth_err_at(err, "images.cache");
    }
    *ret_path = berth_steal(&path.text);
    return 0;
}

bool berth_registry_is_file(const char *name)
{
    static const char *const patterns[] = {"*.sif",      "*.simg", "*.img", "*.sqsh",
                                           "*.squashfs", "*.tar",  "*.tgz", "*.tar.gz",
                                           "*.def",      NULL};

    return berth_text_matches_any(name, patterns);
}

/* Two letters are the domain of a country, unless NAME has one dot only: then NAME is
 * rather a file. */
static bool is_top_domain(const char *end, bool has_more_dots)
{
    static const char *const common[] = {"io", "com", "org", "net", "edu", "gov", NULL};

    if (berth_text_is_any(end, common))
        return true;
    if (!has_more_dots || strlen(end) != 2)
        return false;
    return isalpha((unsigned char)end[0]) && isalpha((unsigned char)end[1]);
}

bool berth_registry_is_host(const char *name)
{
    const char *dot = strrchr(name, '.');
    bool has_more_dots = strchr(name, '.') != dot;

    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '-' && *c != '.')
            return false;
    if (!dot || dot == name || berth_registry_is_file(name))
        return false;
    return is_top_domain(dot + 1, has_more_dots);
}

/* Does NAME begin with a registry and a slash? */
static bool has_host(const char *name)
{
    size_t length = strcspn(name, "/");
    BERTH_FREE char *host = strndup(name, length);

    if (name[length] != '/' || !host)
        return false;
    return strchr(host, ':') || berth_registry_is_host(host);
}

/* Is the part of URI before MARK a name that Docker takes for an organisation, because
 * it has neither a dot nor a port? */
static bool is_short_host(const char *uri, const char *mark)
{
    const char *host = host_of(rest_of(uri));
    const size_t length = (size_t)(mark - host);

    if (memchr(host, '.', length) || memchr(host, ':', length))
        return false;
    return memchr(host, '/', length) == NULL;
}

char *berth_registry_plain(const char *uri)
{
    const char *mark = NULL;
    const char *port = "";
    char *plain = NULL;

    if (berth_text_starts(uri, "docker://"))
        mark = strchr(uri, '#');
    if (!mark)
        return strdup(uri);
    if (is_short_host(uri, mark))
        port = ":443";
    if (asprintf(&plain, "%.*s%s/%s", (int)(mark - uri), uri, port, mark + 1) < 0)
        return NULL;
    return plain;
}

bool berth_registry_meant(const char *name, struct berth_buf *ret)
{
    bool has_tag = strchr(berth_text_base(name), ':');
    bool has_mark = strchr(name, '#'); /* of enroot, after the registry */

    if (!has_tag && !has_mark && !has_host(name))
        return false;
    return !berth_uri_is_build_source(name) && berth_registry_possible(name, ret);
}

/* Is TEXT, which follows `docker:`, a tag of the image that is named docker, and not
 * the name of another image? */
static bool is_tag_of_docker(const char *text)
{
    static const char *const tags[] = {"latest", "cli", "dind", "git", NULL};
    BERTH_FREE char *tag = strndup(text, strcspn(text, "-"));

    if (strpbrk(text, ":/"))
        return false;
    return isdigit((unsigned char)*text) || (tag && berth_text_is_any(tag, tags));
}

/* NAME without the `docker:` of a user who left the slashes out. */
static const char *skip_scheme(const char *name)
{
    static const char scheme[] = "docker:";
    const char *rest;

    if (!berth_text_starts(name, scheme))
        return name;
    rest = name + strlen(scheme);
    if (is_tag_of_docker(rest))
        return name;
    return rest + strspn(rest, "/");
}

bool berth_registry_names(const char *name, struct berth_buf *ret)
{
    return !berth_uri_is(name) && skip_scheme(name) == name &&
           berth_registry_meant(name, ret);
}

bool berth_registry_possible(const char *name, struct berth_buf *ret)
{
    BERTH_FREE char *uri = NULL;
    BERTH_FREE char *plain = NULL;

    name = skip_scheme(name);
    if (*name == '.' || *name == '/' || berth_registry_is_file(name))
        return false;
    if (asprintf(&uri, "docker://%s", name) < 0)
        return false;
    plain = berth_registry_plain(uri);
    free(berth_steal(&uri));
    /* A user before the host belongs to the login, not to the name of the image. */
    if (!plain || asprintf(&uri, "docker://%s", host_of(rest_of(plain))) < 0)
        return false;
    if (berth_uri_check(uri, NULL) < 0)
        return false;
    berth_buf_puts(ret, uri);
    return true;
}

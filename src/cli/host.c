/* SPDX-License-Identifier: Apache-2.0 */
/* Reads files of a host and asks its programs; finds the configuration of its Slurm as
 * Slurm's commands do. */

#include "cli/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/environ.h"
#include "base/fd.h"
#include "base/grow.h"
#include "base/run.h"
#include "base/text.h"
#include "request/path.h"
#include "site/keys.h"
#include "site/siteread.h"
#include "site/slurmconf.h"

/* Of a text: bytes; of a program that is asked: its time; of a plugstack.conf: files
 * that include each other. */
enum { TEXT_MAX = 4 << 20, SECONDS = 10, DEPTH_MAX = 8 };

char *berth_host_place(const struct berth_host *host, const char *path)
{
    char *place = NULL;

    if (asprintf(&place, "%s%s", host->root, path) < 0)
        return NULL;
    return place;
}

bool berth_host_glob(const struct berth_host *host, const char *pattern, glob_t *ret)
{
    BERTH_FREE char *place = berth_host_place(host, pattern);

    return place && glob(place, 0, NULL, ret) == 0;
}

bool berth_host_has(const struct berth_host *host, const char *pattern)
{
    glob_t found;
    bool any = berth_host_glob(host, pattern, &found);

    if (any)
        globfree(&found);
    return any;
}

char *berth_host_text(const struct berth_host *host, const char *path)
{
    BERTH_FREE char *place = berth_host_place(host, path);
    BERTH_BUF struct berth_buf text = {0};

    if (!place || berth_fd_read_path(place, TEXT_MAX, &text) < 0)
        return NULL;
    berth_buf_puts(&text, ""); /* of an empty file, too */
    if (text.failed)
        return NULL;
    return berth_steal(&text.text);
}

char *berth_host_find(const struct berth_host *host, const char *name)
{
    BERTH_FREE char *place = NULL;

    if (!*host->root)
        return berth_run_find(name, berth_environ_value(host->env, "PATH"));
    if (asprintf(&place, "%s/usr/bin/%s", host->root, name) < 0)
        return NULL;
    if (!berth_run_is_program(place))
        return NULL;
    return berth_steal(&place);
}

char *berth_host_ask(const struct berth_host *host, const char *const *argv)
{
    struct berth_run run = {.argv = argv,
                            .env = (const char *const *)host->env,
                            .seconds = SECONDS,
                            .most = TEXT_MAX};
    BERTH_RAN struct berth_ran ran = {0};

    if (berth_run(&run, &ran, NULL) < 0)
        return NULL;
    berth_buf_puts(&ran.out, berth_buf_text(&ran.err));
    if (ran.status != 0 || ran.out.failed)
        return NULL;
    return berth_steal(&ran.out.text);
}

char *berth_host_version(const struct berth_host *host, const char *path)
{
    const char *const argv[] = {path, "--version", NULL};
    BERTH_FREE char *said = berth_host_ask(host, argv);

    if (!said)
        return NULL;
    said[strcspn(said, "\n")] = '\0'; /* the first line */
    if (!*said)
        return NULL;
    return berth_steal(&said);
}

/* Append the text of the file NAME, which PATH includes. Blanks or a comment may follow
 * the name. */
static void add_included(const struct berth_host *host, const char *path, char *name,
                         struct berth_buf *ret)
{
    BERTH_FREE char *file = NULL;
    BERTH_FREE char *text = NULL;

    name += strspn(name, " \t");
    name[strcspn(name, " \t\r#")] = '\0';
    file = berth_path_beside(path, name);
    if (file)
        text = berth_host_text(host, file);
    if (text)
        berth_buf_puts(ret, text);
}

/* Returns the text of slurm.conf, with the text of each file in place of its `include`.
 */
static char *read_conf(const struct berth_host *host, const char *path)
{
    static const char include[] = "include ";
    BERTH_FREE char *text = berth_host_text(host, path);
    BERTH_BUF struct berth_buf all = {0};
    char *next = text;

    if (!text)
        return NULL;
    while (next) {
        char *line = strsep(&next, "\n");

        if (strncasecmp(line, include, strlen(include)) == 0)
            add_included(host, path, line + strlen(include), &all);
        else
            berth_buf_puts(&all, line);
        berth_buf_puts(&all, "\n");
    }
    if (all.failed)
        return NULL;
    return berth_steal(&all.text);
}

static void find_conf(const struct berth_host *host, struct berth_host_conf *ret)
{
    BERTH_STRVEC struct berth_strvec places = {0};

    berth_slurmconf_places(berth_environ_value(host->env, "SLURM_CONF"), &places);
    for (size_t i = 0; i < places.count; i++) {
        ret->text = read_conf(host, places.items[i]);
        if (!ret->text)
            continue;
        ret->path = berth_steal(&places.items[i]);
        return;
    }
}

/* Returns where plugstack.conf is: as slurm.conf says, or beside it. */
static char *find_plugstack(const struct berth_host_conf *conf)
{
    const char *beside = berth_text_or(conf->path, BERTH_SYSCONFDIR "/");
    char *path = NULL;

    if (conf->text)
        path = berth_keys_value(conf->text, "PlugStackConfig");
    if (!path)
        path = berth_path_beside(beside, "plugstack.conf");
    return path;
}

void berth_host_conf(const struct berth_host *host, struct berth_host_conf *ret)
{
    *ret = (struct berth_host_conf){0};
    find_conf(host, ret);
    ret->plugstack = find_plugstack(ret);
}

void berth_host_conf_fini(struct berth_host_conf *conf)
{
    free(conf->path);
    free(conf->text);
    free(conf->plugstack);
}

/* Append the lines of one file of plugstack.conf, and of those that it includes.
 * Returns false if it cannot be read. */
static bool read_stack(const struct berth_host *host, const char *path, int depth,
                       struct berth_plugstack *ret);

static void read_included(const struct berth_host *host, const char *file,
                          const char *pattern, int depth, struct berth_plugstack *ret)
{
    BERTH_FREE char *full = berth_path_beside(file, pattern);
    size_t skip = strlen(host->root);
    glob_t found;

    if (!full || depth == 0 || !berth_host_glob(host, full, &found))
        return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        read_stack(host, found.gl_pathv[i] + skip, depth - 1, ret);
    globfree(&found);
}

static bool read_stack(const struct berth_host *host, const char *path, int depth,
                       struct berth_plugstack *ret)
{
    BERTH_FREE char *text = berth_host_text(host, path);
    struct berth_plugstack lines = {0};
    bool is_read = text && berth_plugstack_read(path, text, &lines) == 0;

    for (size_t i = 0; i < lines.count; i++) {
        struct berth_plugstack_line *line = &lines.items[i];

        if (line->kind == BERTH_PLUGSTACK_INCLUDE)
            read_included(host, path, line->path, depth, ret);
        else if (berth_append(ret, line) < 0)
            is_read = false;
    }
    berth_plugstack_fini(&lines);
    return is_read;
}

bool berth_host_plugstack(const struct berth_host *host, const char *path,
                          struct berth_plugstack *ret)
{
    return read_stack(host, path, DEPTH_MAX, ret);
}

int berth_host_settings(const struct berth_plugstack *stack, struct berth_settings *ret,
                        struct berth_err *err)
{
    int result = 0;

    *ret = (struct berth_settings){0};
    for (size_t i = 0; i < stack->count; i++) {
        const struct berth_strvec *arguments = &stack->items[i].words;

        if (!stack->items[i].is_berth)
            continue;
        berth_settings_fini(ret);
        result = berth_settings_read((int)arguments->count, arguments->items, ret, err);
    }
    return result;
}

int berth_site_settings(const struct berth_host *host, struct berth_settings *ret,
                        struct berth_err *err)
{
    struct berth_plugstack stack = {0};
    struct berth_host_conf conf;
    int result;

    berth_host_conf(host, &conf);
    if (conf.plugstack)
        berth_host_plugstack(host, conf.plugstack, &stack);
    result = berth_host_settings(&stack, ret, err);
    berth_plugstack_fini(&stack);
    berth_host_conf_fini(&conf);
    return result;
}

int berth_site_read_here(char *const *env, struct berth_site *ret,
                         struct berth_err *err)
{
    const struct berth_host host = {.root = "", .env = env};
    BERTH_SETTINGS struct berth_settings settings;

    if (berth_site_settings(&host, &settings, err) < 0)
        return -1;
    return berth_site_read(settings.config, berth_site_owner(), ret, err);
}

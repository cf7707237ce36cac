/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and reads the configuration of this host's Slurm as Slurm's commands do. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "site/keys.h"
#include "cli/host.h"

enum { DEPTH_MAX = 8 };

char *berth_host_beside(const char *file, const char *name)
{
    const char *slash = strrchr(file, '/');
    char *path = NULL;

    if (*name == '/' || !slash)
        return strdup(name);
    return asprintf(&path, "%.*s/%s", (int)(slash - file), file, name) < 0 ? NULL
                                                                           : path;
}

/* Returns the text of slurm.conf, with the text of each file in place of its `include`.
 */
static char *read_conf(const struct berth_host *host, const char *path)
{
    BERTH_FREE char *text = berth_host_text(host, path);
    BERTH_BUF struct berth_buf all = {0};
    char *next = text;
    char *line;

    if (!text)
        return NULL;
    while ((line = strsep(&next, "\n"))) {
        if (strncasecmp(line, "include ", 8) == 0) {
            char *name = line + 8 + strspn(line + 8, " \t");
            BERTH_FREE char *file = NULL;
            BERTH_FREE char *more = NULL;

            name[strcspn(name, " \t\r#")] = '\0';
            file = berth_host_beside(path, name);
            more = file ? berth_host_text(host, file) : NULL;
            berth_buf_puts(&all, more ? more : "");
        } else
            berth_buf_puts(&all, line);
        berth_buf_puts(&all, "\n");
    }
    return all.failed ? NULL : berth_steal(&all.text);
}

/* Find slurm.conf in SLURM_CONF or a usual place, also where slurmd keeps the copy that
 * it gets from slurmctld ("configless"). */
static void find_conf(const struct berth_host *host, struct berth_host_conf *ret)
{
    const char *const paths[] = {
        berth_environ_value(host->env, "SLURM_CONF"),
        BERTH_SYSCONFDIR "/slurm.conf",
        "/etc/slurm/slurm.conf",
        "/run/slurm/conf/slurm.conf",
        "/var/spool/slurmd/conf-cache/slurm.conf",
    };

    for (size_t i = 0; !ret->text && i < sizeof(paths) / sizeof(paths[0]); i++) {
        ret->text = paths[i] ? read_conf(host, paths[i]) : NULL;
        ret->path = ret->text ? strdup(paths[i]) : NULL;
    }
}

void berth_host_conf(const struct berth_host *host, struct berth_host_conf *ret)
{
    *ret = (struct berth_host_conf){0};
    find_conf(host, ret);
    if (ret->text)
        ret->plugstack = berth_keys_value(ret->text, "PlugStackConfig");
    if (!ret->plugstack)
        ret->plugstack = berth_host_beside(ret->path ? ret->path : BERTH_SYSCONFDIR "/",
                                           "plugstack.conf");
}

void berth_host_conf_fini(struct berth_host_conf *conf)
{
    free(conf->path);
    free(conf->text);
    free(conf->plugstack);
}

static bool read_stack(const struct berth_host *host, const char *path,
                       const struct berth_host_listener *to, int depth);

static void read_included(const struct berth_host *host, const char *file,
                          const char *pattern, const struct berth_host_listener *to,
                          int depth)
{
    BERTH_FREE char *full = berth_host_beside(file, pattern);
    size_t skip = strlen(host->root);
    glob_t found;

    if (!full || depth == 0 || !berth_host_glob(host, full, &found))
        return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        read_stack(host, found.gl_pathv[i] + skip, to, depth - 1);
    globfree(&found);
}

/* Read one file of plugstack.conf. Returns false if it cannot be read. */
static bool read_stack(const struct berth_host *host, const char *path,
                       const struct berth_host_listener *to, int depth)
{
    BERTH_FREE char *text = berth_host_text(host, path);
    struct berth_plugstack stack;

    if (!text || berth_plugstack_read(text, &stack, NULL) < 0)
        return false;
    if (to->file)
        to->file(to->data, text);
    for (size_t i = 0; i < stack.count; i++)
        if (stack.items[i].kind == BERTH_PLUGSTACK_INCLUDE)
            read_included(host, path, stack.items[i].path, to, depth);
        else
            to->line(to->data, path, &stack.items[i]);
    berth_plugstack_fini(&stack);
    return true;
}

bool berth_host_plugstack(const struct berth_host *host, const char *path,
                          const struct berth_host_listener *to)
{
    return read_stack(host, path, to, DEPTH_MAX);
}

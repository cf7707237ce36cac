/* SPDX-License-Identifier: Apache-2.0 */
/* The site's file, where Slurm does not tell which it is. */

#include "diagnose/sitefind.h"

#include <string.h>

#include "base/cleanup.h"
#include "site/settings.h"
#include "diagnose/host.h"
#include "probe/siteread.h"

/* What berth's line says; the last one, as in the plugin. */
struct said {
    struct berth_settings settings;
    int result;
    struct berth_err *err;
};

static void take_line(void *told, const char *file,
                      const struct berth_plugstack_line *line)
{
    struct said *said = told;

    (void)file;
    if (!line->is_berth)
        return;
    berth_settings_fini(&said->settings);
    said->result = berth_settings_read((int)line->words.count, line->words.items,
                                       &said->settings, said->err);
}

/* In each case the caller owns what SAID has. */
static int find(char *const *env, struct said *said)
{
    const struct berth_host host = {.root = "", .env = env};
    const struct berth_host_listener to = {.line = take_line, .told = said};
    struct berth_host_conf conf;

    berth_host_conf(&host, &conf);
    if (conf.plugstack)
        berth_host_plugstack(&host, conf.plugstack, &to);
    berth_host_conf_fini(&conf);
    return said->result;
}

int berth_site_find(char *const *env, char **ret_path, struct berth_err *err)
{
    struct said said = {.err = err};

    if (find(env, &said) == 0)
        *ret_path = berth_steal(&said.settings.config);
    berth_settings_fini(&said.settings);
    return said.result;
}

int berth_site_prefix(char *const *env, char **ret_prefix, struct berth_err *err)
{
    struct said said = {.err = err};
    const char *prefix;

    if (find(env, &said) == 0) {
        prefix = said.settings.option_prefix;
        *ret_prefix = strdup(prefix ? prefix : "");
        if (!*ret_prefix)
            said.result = berth_err_oom(err);
    }
    berth_settings_fini(&said.settings);
    return said.result;
}

int berth_site_read_here(char *const *env, struct berth_site *ret,
                         struct berth_err *err)
{
    BERTH_FREE char *path = NULL;

    if (berth_site_find(env, &path, err) < 0)
        return -1;
    return berth_site_read(path, berth_site_owner(), ret, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Finds berth.yaml for the command berth, which gets no settings from Slurm. */

#include "cli/sitefind.h"

#include "site/siteread.h"

/* What the last line of berth says; the plugin obeys that one, too. */
struct last {
    struct berth_settings *settings;
    int result;
    struct berth_err *err;
};

static void read_line(void *data, const char *file,
                      const struct berth_plugstack_line *line)
{
    struct last *last = data;

    (void)file;
    if (!line->is_berth)
        return;
    berth_settings_fini(last->settings);
    last->result = berth_settings_read((int)line->words.count, line->words.items,
                                       last->settings, last->err);
}

int berth_site_settings(const struct berth_host *host, struct berth_settings *ret,
                        struct berth_err *err)
{
    struct last last = {.settings = ret, .err = err};
    const struct berth_host_listener to = {.line = read_line, .data = &last};
    struct berth_host_conf conf;

    *ret = (struct berth_settings){0};
    berth_host_conf(host, &conf);
    if (conf.plugstack)
        berth_host_plugstack(host, conf.plugstack, &to);
    berth_host_conf_fini(&conf);
    return last.result;
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

/* SPDX-License-Identifier: Apache-2.0 */
/* The default settings of a site, and the places of settings in berth.yaml. Knows
 * neither YAML nor Slurm. */

#include "site/site.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

/* Seconds: a start from a busy parallel file system is slow, from a hung one it never
 * ends. */
enum { START_TIMEOUT = 60 };

struct berth_site berth_site_default(void)
{
    return (struct berth_site){.runtime.start_timeout = START_TIMEOUT};
}

void berth_site_fini(struct berth_site *site)
{
    free(site->runtime.path);
    berth_strvec_fini(&site->runtime.args);
    berth_strvec_fini(&site->runtime.allowed);
    berth_strvec_fini(&site->images.roots);
    berth_strvec_fini(&site->images.uris);
    berth_strvec_fini(&site->images.owners);
    berth_strvec_fini(&site->images.signatures);
    free(site->images.cache);
    free(site->images.compression);
    free(site->images.store);
    free(site->images.store_owner);
    berth_strvec_fini(&site->mounts.forced);
    berth_strvec_fini(&site->mounts.defaults);
    berth_strvec_fini(&site->mounts.forbidden);
    berth_strvec_fini(&site->environment.capture);
    berth_strvec_fini(&site->environment.deny);
    berth_strvec_fini(&site->environment.unset);
    berth_strvec_fini(&site->environment.pytorch);
    berth_strvec_fini(&site->mpi.order);
    for (size_t i = 0; i < site->rule_count; i++) {
        free(site->rules[i].partition);
        free(site->rules[i].account);
        berth_request_fini(&site->rules[i].set[BERTH_RULE_DEFAULT]);
        berth_request_fini(&site->rules[i].set[BERTH_RULE_FORCE]);
    }
    free(site->rules);
    free(site->provenance.file);
    free(site->oci.runtime);
    free(site->profiles_dir);
    free(site->writable_dir);
    free(site->file);
    berth_strvec_fini(&site->places);
    *site = (struct berth_site){0};
}

void berth_site_note(struct berth_site *site, const char *key, const char *item,
                     const char *file, unsigned int line)
{
    berth_strvec_push(&site->places, key);
    berth_strvec_push(&site->places, item);
    berth_strvec_pushf(&site->places, "%s:%u", file, line);
}

const char *berth_site_place(const struct berth_site *site, const char *key,
                             const char *item)
{
    const struct berth_strvec *places = &site->places;
    const char *found = NULL;

    for (size_t i = 0; i + 2 < places->count; i += 3) {
        if (strcmp(places->items[i], key) != 0)
            continue;
        if (strcmp(places->items[i + 1], item) == 0)
            return places->items[i + 2];
        if (*places->items[i + 1] == '\0')
            found = places->items[i + 2];
    }
    return found;
}

int berth_site_refuse(const struct berth_site *site, const char *kind, const char *what,
                      const struct berth_strvec *allowed, const char *key,
                      struct berth_err *err)
{
    BERTH_BUF struct berth_buf text = {0};

    if (allowed->count == 0)
        berth_buf_puts(&text, "none");
    berth_strvec_join(allowed, ", ", &text);
    if (text.failed)
        return berth_err_oom(err);
    berth_err_set(err, "%s '%s': this site does not allow it; it allows %s", kind, what,
                  text.text);
    return berth_site_cite(site, key, "", err);
}

int berth_site_cite(const struct berth_site *site, const char *key, const char *item,
                    struct berth_err *err)
{
    const char *place = berth_site_place(site, key, item);
    struct berth_err said;

    if (!err || !place)
        return -1;
    said = *err;
    return berth_err_set(err, "%s (%s)", said.text, place);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The default settings of a site, and the places of settings in berth.yaml. Knows
 * neither YAML nor Slurm. */

#include "site/site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    berth_strvec_fini(&site->mounts.forced);
    berth_strvec_fini(&site->mounts.defaults);
    berth_strvec_fini(&site->mounts.forbidden);
    berth_strvec_fini(&site->environment.capture);
    berth_strvec_fini(&site->environment.deny);
    berth_strvec_fini(&site->environment.unset);
    berth_strvec_fini(&site->mpi.order);
    for (size_t i = 0; i < site->rule_count; i++) {
        free(site->rules[i].partition);
        free(site->rules[i].account);
        for (int kind = 0; kind < BERTH_RULE_KINDS; kind++)
            berth_strvec_fini(&site->rules[i].options[kind]);
    }
    free(site->rules);
    free(site->provenance.file);
    free(site->profiles_dir);
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

/* Bytes of NUMBER.OPTION, the item of an option in a rule. */
enum { RULE_ITEM_SIZE = 128 };

static void name_rule(size_t number, const char *option, char ret[RULE_ITEM_SIZE])
{
    snprintf(ret, RULE_ITEM_SIZE, "%zu.%s", number, option);
}

void berth_site_note_rule(struct berth_site *site, size_t number, const char *option,
                          const char *file, unsigned int line)
{
    char item[RULE_ITEM_SIZE];

    name_rule(number, option, item);
    berth_site_note(site, "rules", item, file, line);
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

const char *berth_site_where(const struct berth_site *site, const char *key,
                             const char *item)
{
    const char *place = berth_site_place(site, key, item);

    return place ? place : "berth.yaml";
}

const char *berth_site_where_rule(const struct berth_site *site, size_t number,
                                  const char *option)
{
    char item[RULE_ITEM_SIZE];

    name_rule(number, option, item);
    return berth_site_where(site, "rules", item);
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

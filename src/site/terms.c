/* SPDX-License-Identifier: Apache-2.0 */
/* The terms of a site, and their way from the plugin to berth-task. */

#include "site/terms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "request/mode.h"
#include "request/option.h"

static const char glibc[] = "keep-glibc";
static const char image[] = "image";
static const char profiles[] = "profiles";
static const char place[] = "signers-place";

/* The lists, by the keys that they have in text. */
static struct berth_strvec *list_of(struct berth_terms *terms, const char *key)
{
    if (strcmp(key, "unset") == 0)
        return &terms->unset;
    if (strcmp(key, "signer") == 0)
        return &terms->signers;
    if (strcmp(key, "mode") == 0)
        return &terms->modes;
    return strcmp(key, "order") == 0 ? &terms->order : NULL;
}

/* MODE, which SITE says at ITEM of KEY, where messages call it WHAT. */
static void push_mode(const struct berth_site *site, const char *key, const char *item,
                      const char *what, const char *mode, struct berth_strvec *ret)
{
    if (!*mode || berth_mode_of(mode) != BERTH_MODE_NAME)
        return;
    berth_strvec_push(ret, mode);
    berth_strvec_pushf(ret, "%s: %s", berth_site_where(site, key, item), what);
}

static void push_rules(const struct berth_site *site, struct berth_strvec *ret)
{
    const char *option = berth_options[BERTH_OPTION_MPI].name;

    for (size_t i = 0; i < site->rule_count; i++) {
        const struct berth_strvec *options = &site->rules[i].options;
        char number[24];
        char what[64];

        snprintf(number, sizeof(number), "%zu", i + 1);
        snprintf(what, sizeof(what), "rule %s: %s", number, option);
        for (size_t j = 0; j + 1 < options->count; j += 2)
            if (strcmp(options->items[j], option) == 0)
                push_mode(site, "rules", number, what, options->items[j + 1], ret);
    }
}

static void push_modes(const struct berth_site *site, struct berth_strvec *ret)
{
    static const char partitions[] = "mpi.partitions";
    static const char standard[] = "mpi.default";
    const struct berth_strvec *pairs = &site->mpi.partitions;

    if (site->mpi.mode)
        push_mode(site, standard, "", standard, site->mpi.mode, ret);
    for (size_t i = 0; i + 1 < pairs->count; i += 2)
        push_mode(site, partitions, pairs->items[i], partitions, pairs->items[i + 1],
                  ret);
    push_rules(site, ret);
}

static void push_order(const struct berth_site *site, struct berth_strvec *ret)
{
    static const char order[] = "mpi.order";

    for (size_t i = 0; i < site->mpi.order.count; i++) {
        const char *name = site->mpi.order.items[i];

        berth_strvec_push(ret, name);
        berth_strvec_pushf(ret, "%s: %s", berth_site_where(site, order, name), order);
    }
}

int berth_terms_of(const struct berth_site *site, struct berth_terms *ret,
                   struct berth_err *err)
{
    const char *asked = berth_site_place(site, "images.signatures", "");
    const char *kept = site->mpi.glibc == BERTH_GLIBC_REFUSE
                           ? berth_site_where(site, "mpi.glibc", "")
                           : NULL;

    *ret = (struct berth_terms){0};
    ret->keep_glibc = kept ? strdup(kept) : NULL;
    ret->signers_place = asked ? strdup(asked) : NULL;
    ret->profiles = site->profiles_dir ? strdup(site->profiles_dir) : NULL;
    berth_strvec_append(&ret->unset, &site->environment.unset);
    berth_strvec_append(&ret->signers, &site->images.signatures);
    push_order(site, &ret->order);
    push_modes(site, &ret->modes);
    if (ret->unset.failed || ret->signers.failed || ret->order.failed ||
        ret->modes.failed || (site->profiles_dir && !ret->profiles) ||
        (kept && !ret->keep_glibc) || (asked && !ret->signers_place)) {
        berth_terms_fini(ret);
        return berth_err_oom(err);
    }
    return 0;
}

/* A tab in VALUE would end the term. */
static void put(struct berth_buf *buf, const char *key, const char *value)
{
    berth_buf_puts(buf, buf->used ? "\t" : "");
    berth_buf_puts(buf, key);
    berth_buf_puts(buf, ":");
    for (; *value; value++)
        if (!strchr("\t\n", *value))
            berth_buf_add(buf, value, 1);
}

static void put_list(struct berth_buf *buf, const char *key,
                     const struct berth_strvec *list)
{
    for (size_t i = 0; i < list->count; i++)
        put(buf, key, list->items[i]);
}

void berth_terms_put(const struct berth_terms *terms, struct berth_buf *buf)
{
    put_list(buf, "unset", &terms->unset);
    put_list(buf, "signer", &terms->signers);
    put_list(buf, "order", &terms->order);
    put_list(buf, "mode", &terms->modes);
    if (terms->keep_glibc)
        put(buf, glibc, terms->keep_glibc);
    if (terms->image)
        put(buf, image, terms->image);
    if (terms->profiles)
        put(buf, profiles, terms->profiles);
    if (terms->signers_place)
        put(buf, place, terms->signers_place);
    berth_buf_puts(buf, "");
}

static int take(struct berth_terms *terms, const char *key, const char *value,
                struct berth_err *err)
{
    struct berth_strvec *list = list_of(terms, key);
    char **text;

    if (list) {
        berth_strvec_push(list, value);
        return list->failed ? berth_err_oom(err) : 0;
    }
    if (strcmp(key, glibc) == 0)
        text = &terms->keep_glibc;
    else if (strcmp(key, image) == 0)
        text = &terms->image;
    else if (strcmp(key, profiles) == 0)
        text = &terms->profiles;
    else if (strcmp(key, place) == 0)
        text = &terms->signers_place;
    else
        return berth_err_set(err, "'%s' is not a term of a site", key);
    free(*text);
    *text = strdup(value);
    return *text ? 0 : berth_err_oom(err);
}

int berth_terms_get(const char *text, struct berth_terms *ret, struct berth_err *err)
{
    BERTH_TERMS struct berth_terms terms = {0};
    BERTH_FREE char *copy = strdup(text);
    char *next = copy;
    char *word;

    if (!copy)
        return berth_err_oom(err);
    while (*text && (word = strsep(&next, "\t"))) {
        char *colon = strchr(word, ':');

        if (!colon)
            return berth_err_set(err, "'%s' is not a term of a site", word);
        *colon = '\0';
        if (take(&terms, word, colon + 1, err) < 0)
            return -1;
    }
    *ret = terms;
    terms = (struct berth_terms){0};
    return 0;
}

void berth_terms_fini(struct berth_terms *terms)
{
    berth_strvec_fini(&terms->unset);
    berth_strvec_fini(&terms->signers);
    berth_strvec_fini(&terms->order);
    berth_strvec_fini(&terms->modes);
    free(terms->keep_glibc);
    free(terms->image);
    free(terms->profiles);
    free(terms->signers_place);
    *terms = (struct berth_terms){0};
}

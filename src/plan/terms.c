/* SPDX-License-Identifier: Apache-2.0 */
/* The terms of a site, and their way from the plugin to berth-task. */

#include "plan/terms.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static const char glibc[] = "keep-glibc";
static const char image[] = "image";
static const char profiles[] = "profiles";
static const char place[] = "signers-place";

/* Where SITE says ITEM of KEY, for a fault of it. */
static const char *place_of(const struct berth_site *site, const char *key,
                            const char *item)
{
    const char *found = berth_site_place(site, key, item);

    return found ? found : "berth.yaml";
}

/* The lists, by the keys that they have in text. */
static struct berth_strvec *list_of(struct berth_terms *terms, const char *key)
{
    if (strcmp(key, "unset") == 0)
        return &terms->unset;
    if (strcmp(key, "signer") == 0)
        return &terms->signers;
    return strcmp(key, "order") == 0 ? &terms->order : NULL;
}

int berth_terms_of(const struct berth_site *site, struct berth_terms *ret,
                   struct berth_err *err)
{
    const char *asked = berth_site_place(site, "images.signatures", "");
    const char *kept =
        site->mpi.glibc == BERTH_GLIBC_REFUSE ? place_of(site, "mpi.glibc", "") : NULL;

    *ret = (struct berth_terms){0};
    ret->keep_glibc = kept ? strdup(kept) : NULL;
    ret->signers_place = asked ? strdup(asked) : NULL;
    ret->profiles = site->profiles_dir ? strdup(site->profiles_dir) : NULL;
    berth_strvec_append(&ret->unset, &site->environment.unset);
    berth_strvec_append(&ret->signers, &site->images.signatures);
    for (size_t i = 0; i < site->mpi.order.count; i++) {
        const char *name = site->mpi.order.items[i];

        berth_strvec_push(&ret->order, name);
        berth_strvec_push(&ret->order, place_of(site, "mpi.order", name));
    }
    if (ret->unset.failed || ret->signers.failed || ret->order.failed ||
        (site->profiles_dir && !ret->profiles) || (kept && !ret->keep_glibc) ||
        (asked && !ret->signers_place)) {
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
        return berth_err_set(err, "'%s' is no term of a site", key);
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
            return berth_err_set(err, "'%s' is no term of a site", word);
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
    free(terms->keep_glibc);
    free(terms->image);
    free(terms->profiles);
    free(terms->signers_place);
    *terms = (struct berth_terms){0};
}

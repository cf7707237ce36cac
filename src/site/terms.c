/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the terms of a site, with the places of its settings for messages. */

#include "site/terms.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "request/option.h"

#define MEMBER(member) offsetof(struct berth_terms, member)

const char *const berth_terms_pytorch[] = {
    "MASTER_ADDR", "MASTER_PORT",     "WORLD_SIZE", "RANK",
    "LOCAL_RANK",  "OMP_NUM_THREADS", NULL};

const struct berth_field berth_terms_fields[] = {
    {"unset", BERTH_FIELD_LIST, MEMBER(unset)},
    {"pytorch", BERTH_FIELD_LIST, MEMBER(pytorch)},
    {"signer", BERTH_FIELD_LIST, MEMBER(signers)},
    {"order", BERTH_FIELD_LIST, MEMBER(order)},
    {"mode", BERTH_FIELD_LIST, MEMBER(modes)},
    {"forbidden", BERTH_FIELD_LIST, MEMBER(forbidden)},
    {"forced", BERTH_FIELD_LIST, MEMBER(forced)},
    {"keep-glibc", BERTH_FIELD_TEXT, MEMBER(keep_glibc)},
    {"inside", BERTH_FIELD_TEXT, MEMBER(inside)},
    {"image", BERTH_FIELD_TEXT, MEMBER(image)},
    {"writable", BERTH_FIELD_TEXT, MEMBER(writable)},
    {"profiles", BERTH_FIELD_TEXT, MEMBER(profiles)},
    {"signers-place", BERTH_FIELD_TEXT, MEMBER(signers_place)},
    {"root", BERTH_FIELD_LIST, MEMBER(roots)},
    {"owner", BERTH_FIELD_LIST, MEMBER(owners)},
    {"image-place", BERTH_FIELD_LIST, MEMBER(image_places)},
    {"has-uris", BERTH_FIELD_FLAG, MEMBER(has_uris)},
    {"uri", BERTH_FIELD_LIST, MEMBER(uris)},
    {0},
};

/* Pushes the stack that rule I sets as --mpi-bind by KIND, and its place. */
static void push_rule(const struct berth_site *site, size_t i,
                      enum berth_rule_kind kind, struct berth_strvec *ret)
{
    const struct berth_site_rule *rule = &site->rules[i];
    const char *mpi = rule->set[kind].mpi;

    if (berth_mode_of(mpi) != BERTH_MODE_NAME)
        return;
    berth_strvec_push(ret, mpi);
    berth_strvec_pushf(ret, "%s:%u: rule %zu: %s", site->file,
                       rule->lines[kind][BERTH_OPTION_MPI], i + 1,
                       berth_options[BERTH_OPTION_MPI].name);
}

static void push_rules(const struct berth_site *site, struct berth_strvec *ret)
{
    for (size_t i = 0; i < site->rule_count; i++) {
        push_rule(site, i, BERTH_RULE_DEFAULT, ret);
        push_rule(site, i, BERTH_RULE_FORCE, ret);
    }
}

static void push_order(const struct berth_site *site, struct berth_strvec *ret)
{
    static const char order[] = "mpi.order";

    for (size_t i = 0; i < site->mpi.order.count; i++) {
        const char *name = site->mpi.order.items[i];

        berth_strvec_push(ret, name);
        berth_strvec_pushf(ret, "%s: %s", berth_site_place(site, order, name), order);
    }
}

/* A copy of TEXT, which may be NULL; sets *FAILED when out of memory. */
static char *copy(const char *text, bool *failed)
{
    char *copied;

    if (!text)
        return NULL;
    copied = strdup(text);
    if (!copied)
        *failed = true;
    return copied;
}

/* Is a list of TERMS not whole, because memory ran out? */
static bool has_failed(const struct berth_terms *terms)
{
    const struct berth_strvec *lists[] = {
        &terms->unset, &terms->pytorch,   &terms->signers, &terms->order,
        &terms->modes, &terms->forbidden, &terms->forced};

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        if (lists[i]->failed)
            return true;
    return false;
}

int berth_terms_of(const struct berth_site *site, struct berth_terms *ret,
                   struct berth_err *err)
{
    static const char *const inside[] = {[BERTH_INSIDE_SRUN] = NULL,
                                         [BERTH_INSIDE_ALL] = "all",
                                         [BERTH_INSIDE_NONE] = "none"};
    const char *glibc = NULL;
    bool failed = false;

    if (site->mpi.glibc == BERTH_GLIBC_REFUSE)
        glibc = berth_site_place(site, "mpi.glibc", "");
    *ret = (struct berth_terms){
        .inside = copy(inside[site->inside], &failed),
        .keep_glibc = copy(glibc, &failed),
        .signers_place = copy(berth_site_place(site, "images.signatures", ""), &failed),
        .writable = copy(site->writable_dir, &failed),
        .profiles = copy(site->profiles_dir, &failed),
    };
    berth_strvec_append(&ret->unset, &site->environment.unset);
    berth_strvec_append(&ret->pytorch, &site->environment.pytorch);
    berth_strvec_append(&ret->signers, &site->images.signatures);
    berth_strvec_append(&ret->forbidden, &site->mounts.forbidden);
    berth_strvec_append(&ret->forced, &site->mounts.forced);
    push_order(site, &ret->order);
    push_rules(site, &ret->modes);
    if (failed || has_failed(ret)) {
        berth_terms_fini(ret);
        return berth_err_oom(err);
    }
    return 0;
}

static void push_place(const struct berth_site *site, const char *key,
                       struct berth_strvec *ret)
{
    const char *place = berth_site_place(site, key, "");

    if (!place)
        return;
    berth_strvec_push(ret, key);
    berth_strvec_push(ret, "");
    berth_strvec_push(ret, place);
}

int berth_terms_add_images(const struct berth_site *site, struct berth_terms *terms,
                           struct berth_err *err)
{
    terms->has_uris = site->images.has_uris;
    berth_strvec_append(&terms->uris, &site->images.uris);
    berth_strvec_append(&terms->roots, &site->images.roots);
    berth_strvec_append(&terms->owners, &site->images.owners);
    push_place(site, "images.roots", &terms->image_places);
    push_place(site, "images.owners", &terms->image_places);
    push_place(site, "images.uris", &terms->image_places);
    if (terms->uris.failed || terms->roots.failed || terms->owners.failed ||
        terms->image_places.failed)
        return berth_err_oom(err);
    return 0;
}

void berth_terms_fini(struct berth_terms *terms)
{
    berth_fields_free(berth_terms_fields, terms);
    *terms = (struct berth_terms){0};
}

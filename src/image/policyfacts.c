/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the facts by which a site decides about a request, and applies its policy. */

#include "image/policyfacts.h"

#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "site/mountrules.h"
#include "site/policy.h"
#include "image/allowed.h"
#include "image/lookup.h"

static const char *home_of(char *const *environment)
{
    const char *home = berth_environ_value(environment, "HOME");
    const struct passwd *user;

    if (home)
        return home;
    user = getpwuid(getuid());
    if (!user)
        return NULL;
    return user->pw_dir;
}

/* Returns SITE with its rules about the place and the owner of REQUEST's image, which
 * borrows. An image from a registry is in the user's own directory: if the site has
 * rules for URIs, only they decide. */
static struct berth_site rules_for(const struct berth_site *site,
                                   const struct berth_request *request)
{
    struct berth_site rules = *site;

    if (request->uri && site->images.has_uris) {
        rules.images.roots = (struct berth_strvec){0};
        rules.images.owners = (struct berth_strvec){0};
    }
    return rules;
}

/* Choose the image for this machine, check it, and replace its path by the real one. */
static int apply_to_image(const struct berth_site *site, char *const *environment,
                          struct berth_request *request, struct berth_terms *terms,
                          struct berth_err *err)
{
    struct berth_site rules;
    char *path;

    /* that of a container with a name is known on the node only */
    if (!request->image && request->container_name)
        return berth_terms_add_images(site, terms, err);
    if (!request->image)
        return 0;
    if (berth_lookup_fit(site, environment, request, err) < 0)
        return -1;
    if (!berth_request_has_container(request))
        return 0;

    rules = rules_for(site, request);
    if (!berth_allowed_is_restricted(&rules))
        return 0;
    if (berth_allowed_image(&rules, request->image, &path, &terms->image, err) < 0)
        return -1;
    free(request->image);
    request->image = path;
    return 0;
}

int berth_apply_site_to_found(struct berth_terms *terms, struct berth_request *request,
                              struct berth_err *err)
{
    const struct berth_site site = {
        .images.has_uris = terms->has_uris,
        .images.uris = terms->uris,
        .images.roots = terms->roots,
        .images.owners = terms->owners,
        .places = terms->image_places,
    }; /* borrows */
    char *path;

    if (request->uri && terms->has_uris)
        return berth_policy_check_uri(&site, request->uri, err);
    if (!berth_allowed_is_restricted(&site))
        return 0;
    free(terms->image);
    terms->image = NULL;
    if (berth_allowed_image(&site, request->image, &path, &terms->image, err) < 0)
        return -1;
    free(request->image);
    request->image = path;
    return 0;
}

static int apply(const struct berth_site *site, struct berth_policy_facts *facts,
                 const struct berth_mountrules_task *task,
                 const struct berth_request *request, struct berth_request *ret,
                 struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec mounts = {0};
    BERTH_STRVEC struct berth_strvec sources = {0};
    BERTH_STRVEC struct berth_strvec present = {0};
    bool is_restricted = site->mounts.forbidden.count || site->mounts.forced.count;

    /* without rules about mounts, no source has to be found */
    if (is_restricted) {
        if (berth_mountrules_list(request, task, &mounts, &facts->named, err) < 0)
            return -1;
        if (berth_allowed_sources(&mounts, &sources, err) < 0)
            return -1;
    }
    if (berth_allowed_present(&site->mounts.defaults, &present, err) < 0)
        return -1;
    facts->mounts = &mounts;
    facts->sources = &sources;
    facts->present = &present;
    return berth_policy_apply(site, facts, request, ret, err);
}

int berth_apply_site(const struct berth_site *site,
                     const struct berth_site_asker *asker,
                     const struct berth_request *request, struct berth_request *ret,
                     struct berth_terms *ret_terms, struct berth_err *err)
{
    BERTH_REQUEST struct berth_request allowed = {0};
    BERTH_TERMS struct berth_terms terms = {0};
    BERTH_FREE char *directory = getcwd(NULL, 0);
    struct berth_policy_facts facts = {.job = asker->job,
                                       .environment = asker->environment};
    const struct berth_mountrules_task task = {.environment = asker->environment,
                                               .home = home_of(asker->environment),
                                               .directory = directory};

    if (apply(site, &facts, &task, request, &allowed, err) < 0)
        return -1;
    if (berth_terms_of(site, &terms, err) < 0)
        return -1;
    if (apply_to_image(site, asker->environment, &allowed, &terms, err) < 0)
        return -1;
    *ret = berth_steal(&allowed);
    *ret_terms = berth_steal(&terms);
    return 0;
}

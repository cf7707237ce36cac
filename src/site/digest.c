/* SPDX-License-Identifier: Apache-2.0 */
/* Makes and compares digests of what a site decides about MPI. */

#include "site/digest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/text.h"
#include "request/option.h"
#include "site/profilesread.h"
#include "site/rules.h"
#include "site/terms.h"

/* The options that decide which MPI, or which of its libraries, a step runs with. */
static const enum berth_option_id deciding[] = {
    BERTH_OPTION_IMAGE,
    BERTH_OPTION_MPI,
    BERTH_OPTION_LIBS,
};

/* In the place of a digest of profiles. */
#define NONE "none"

enum { DECIDING = sizeof(deciding) / sizeof(deciding[0]) };

/* Appends a line for each value that RULE sets as a default, or forces (KIND). */
static void put_values(const struct berth_site_rule *rule, enum berth_rule_kind kind,
                       struct berth_buf *buf)
{
    const char *partition = rule->partition ? rule->partition : "";
    const char *account = rule->account ? rule->account : "";

    for (int i = 0; i < DECIDING; i++) {
        const char *value = berth_request_value(&rule->set[kind], deciding[i], 0);

        if (value)
            berth_buf_addf(buf, "rule %d %s=%s partition=%s account=%s\n", kind,
                           berth_options[deciding[i]].name, value, partition, account);
    }
}

/* Appends a line for each profile of the site. Those with an error do not count; a step
 * that may use them ends with that error. */
static int put_profiles(const struct berth_site *site, uid_t owner,
                        struct berth_buf *buf, struct berth_err *err)
{
    BERTH_TERMS struct berth_terms terms = {0};
    BERTH_PROFILE_SET struct berth_profile_set set = {0};
    BERTH_STRVEC struct berth_strvec errors = {0};

    if (berth_terms_of(site, &terms, err) < 0 ||
        berth_profiles_errors(&terms, owner, &set, &errors, err) < 0)
        return -1;
    for (size_t i = 0; i < set.count; i++)
        if (set.items[i].label)
            berth_buf_addf(buf, "profile %s\n", set.items[i].label);
    return 0;
}

/* Appends the digest of TEXT to RET. */
static void put_hash(const struct berth_buf *text, struct berth_buf *ret)
{
    uint64_t hash = berth_hash(BERTH_HASH_START, text->text, text->used);

    berth_buf_addf(ret, "%016llx", (unsigned long long)hash);
}

int berth_digest_of(const struct berth_site *site, uid_t owner,
                    char ret[BERTH_DIGEST_SIZE], struct berth_err *err)
{
    BERTH_BUF struct berth_buf rules = {0};
    BERTH_BUF struct berth_buf profiles = {0};
    BERTH_BUF struct berth_buf digest = {0};

    for (size_t i = 0; i < site->rule_count; i++) {
        put_values(&site->rules[i], BERTH_RULE_DEFAULT, &rules);
        put_values(&site->rules[i], BERTH_RULE_FORCE, &rules);
    }
    for (size_t i = 0; i < site->mpi.order.count; i++)
        berth_buf_addf(&rules, "order %s\n", site->mpi.order.items[i]);
    berth_buf_addf(&rules, "glibc %d\n", site->mpi.glibc);
    if (put_profiles(site, owner, &profiles, err) < 0)
        return -1;
    if (rules.failed || profiles.failed)
        return berth_err_oom(err);
    put_hash(&rules, &digest);
    berth_buf_puts(&digest, ".");
    if (profiles.used)
        put_hash(&profiles, &digest);
    else
        berth_buf_puts(&digest, NONE);
    if (digest.failed)
        return berth_err_oom(err);
    snprintf(ret, BERTH_DIGEST_SIZE, "%s", digest.text);
    return 0;
}

static bool is_host(const char *text)
{
    for (const char *c = text; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-._", *c))
            return false;
    return *text;
}

/* Is the first part of both texts, up to the first END, the same? */
static bool is_same_part(const char *one, const char *other, const char *end)
{
    size_t length = strcspn(one, end);

    return strcspn(other, end) == length && strncmp(one, other, length) == 0;
}

int berth_digest_check(const char *own, const char *sent, struct berth_err *err)
{
    /* RULES.PROFILES HOST */
    const char *profiles = strchr(sent, '.');
    const char *host = strchr(sent, ' ');
    bool is_same;

    if (!profiles || !host || host < profiles || !is_host(host + 1))
        return berth_err_damaged(err, "%s", sent);
    is_same = is_same_part(own, sent, ".");

    /* A login host without profiles leaves them to the nodes. */
    if (!berth_text_starts(profiles + 1, NONE " "))
        is_same = is_same && is_same_part(strchr(own, '.'), profiles, " ");
    if (is_same)
        return 0;
    return berth_err_set(
        err,
        "berth.yaml of this node, or profiles.d, decides otherwise about MPI than that "
        "of %s, and all nodes of a step must decide alike; have the same files on all "
        "hosts (mpi.compare in berth.yaml)",
        host + 1);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Which URIs a list of beginnings lets through. */

#include "site/policy.h"

#include <stdbool.h>

#include "unit.h"

static const struct {
    const char *beginning;
    const char *uri;
    bool is_allowed;
} rows[] = {
    {"docker://h", "docker://h/a:1", true},
    {"docker://h", "docker://h:5000/a", true},
    {"docker://h", "docker://h", true},
    {"docker://h", "docker://h.evil/a", false},
    {"docker://h", "docker://host/a", false},
    {"docker://h", "docker://h@evil/a", false},
    {"docker://h", "docker://h:x@evil/a", false},
    {"docker://h", "DOCKER://h/a", false},
    {"docker://h", "oras://h/a", false},
    {"docker://h/", "docker://h/a", true},
    {"docker://h/a", "docker://h/a@sha256:0", true},
    {"docker://h/a", "docker://h/a/b", true},
    {"docker://h/a", "docker://h/ab", false},
    {"docker://h/a", "docker://h/a/../b", false},
    {"docker://h/a", "docker://h/a/%2e%2e/b", false},
    {"docker://h/a", "docker://h/a\\..\\b", false},
    {"docker:", "docker://any/a", true},
    {"", "docker://any/a", false},
};

TEST_ROWS(a_beginning_ends_where_a_name_ends, rows)
{
    BERTH_SITE struct berth_site site = berth_site_default();
    struct berth_err err;

    berth_strvec_push(&site.images.uris, rows[_i].beginning);
    site.images.has_uris = true;
    ck_assert_int_eq(berth_policy_check_uri(&site, rows[_i].uri, &err),
                     rows[_i].is_allowed ? 0 : -1);
}

TEST(a_refusal_names_what_is_allowed)
{
    BERTH_SITE struct berth_site site = berth_site_default();
    struct berth_err err;

    ck_assert_int_eq(berth_policy_check_uri(&site, "docker://h/a", &err), 0);
    site.images.has_uris = true;
    ck_assert_int_eq(berth_policy_check_uri(&site, "docker://h/a", &err), -1);
    ck_assert_str_eq(err.text, "image 'docker://h/a': this site does not allow it; it "
                               "allows none");
    berth_strvec_push(&site.images.uris, "docker://x");
    berth_strvec_push(&site.images.uris, "oras://y");
    ck_assert_int_eq(berth_policy_check_uri(&site, "docker://h/a", &err), -1);
    ck_assert_str_eq(err.text, "image 'docker://h/a': this site does not allow it; it "
                               "allows docker://x, oras://y");
}

TEST(directories_without_uris_are_all_there_is)
{
    BERTH_SITE struct berth_site site = berth_site_default();
    struct berth_err err;

    berth_strvec_push(&site.images.roots, "/images");
    ck_assert_int_eq(berth_policy_check_uri(&site, "docker://h/a", &err), -1);
}

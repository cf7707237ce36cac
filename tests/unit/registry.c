/* SPDX-License-Identifier: Apache-2.0 */
/* Which names look like images in registries, and what they become. */

#include "request/uri.h"

#include "base/cleanup.h"
#include "unit.h"

/* Does ASK make URI of NAME? NULL: it is no such name. */
static void becomes(bool (*ask)(const char *, struct berth_buf *), const char *name,
                    const char *expected)
{
    BERTH_BUF struct berth_buf uri = {0};

    ck_assert_int_eq(ask(name, &uri), expected != NULL);
    if (expected)
        ck_assert_str_eq(uri.text, expected);
    else
        ck_assert_uint_eq(uri.used, 0);
}

static const struct {
    const char *name;
    const char *uri; /* NULL: no such name */
} names[] = {
    {"ubuntu:22.04", "docker://ubuntu:22.04"},
    {"nvcr.io#nvidia/pytorch:24.01", "docker://nvcr.io/nvidia/pytorch:24.01"},
    {"nvcr.io#nvidia/pytorch", "docker://nvcr.io/nvidia/pytorch"},
    {"site#nvidia/pytorch:24.01", "docker://site:443/nvidia/pytorch:24.01"},
    {"nvcr.io/nvidia/pytorch", "docker://nvcr.io/nvidia/pytorch"},
    {"registry.site.ch/a/b", "docker://registry.site.ch/a/b"},
    {"localhost:5000/app", "docker://localhost:5000/app"},
    {"climate/atm:1", "docker://climate/atm:1"},
    {"docker:ubuntu", "docker://ubuntu"},
    {"docker:/ubuntu:22.04", "docker://ubuntu:22.04"},
    {"docker:", NULL},
    {"docker:/", NULL},
    {"docker:atm.sif", NULL},
    {"atm.sif", NULL},
    {"atm.sfi", NULL},
    {"images/atm.sif", NULL},
    {"x.io/atm.sif", NULL},
    {"images.v2/atm", NULL},
    {"a.tar.gz", NULL},
    {"ubuntu", NULL},
    {"nvcr.io", NULL},
    {"what is:this", NULL},
    {"me@nvcr.io#a:1", "docker://nvcr.io/a:1"},
    {"", NULL},
};

TEST_ROWS(a_name_of_a_registry_becomes_a_uri, names)
{
    becomes(berth_registry_meant, names[_i].name, names[_i].uri);
}

static const struct {
    const char *name;
    const char *uri; /* NULL: no such name */
} possible[] = {
    {"ubuntu", "docker://ubuntu"},
    {"ubuntu:22.04", "docker://ubuntu:22.04"},
    {"climate/atm", "docker://climate/atm"},
    {"atm.sif", NULL},
    {"./atm", NULL},
    {"/atm", NULL},
    {"what is this", NULL},
    {"nvcr.io", NULL},
    {"", NULL},
};

TEST_ROWS(any_name_may_be_in_a_registry, possible)
{
    becomes(berth_registry_possible, possible[_i].name, possible[_i].uri);
}

static const struct {
    const char *name;
    bool is_host;
} hosts[] = {
    {"nvcr.io", true},
    {"registry.gitlab.com", true},
    {"registry.hpc.ch", true},
    {"atm.sif", false},
    {"a.tar.gz", false},
    {"run.py", false},
    {"ubuntu", false},
    {"nvcr.io/a", false},
    {".io", false},
    {"imgs.old.1", false},
    {"a.b.c1", false},
    {"", false},
};

TEST_ROWS(a_bare_registry_is_told_from_files, hosts)
{
    ck_assert_int_eq(berth_registry_is_host(hosts[_i].name), hosts[_i].is_host);
}

static const struct {
    const char *uri;
    const char *plain;
} uris[] = {
    {"docker://nvcr.io#nvidia/a:1", "docker://nvcr.io/nvidia/a:1"},
    {"docker://nvcr.io/nvidia/a:1", "docker://nvcr.io/nvidia/a:1"},
    {"docker://a#b#c", "docker://a:443/b#c"},
    {"docker://site:5000#b", "docker://site:5000/b"},
    {"docker://me@site#b:1", "docker://me@site:443/b:1"},
    {"oras://a#b", "oras://a#b"},
    {"a#b", "a#b"},
};

TEST_ROWS(the_mark_of_enroot_is_a_slash, uris)
{
    BERTH_FREE char *plain = berth_registry_plain(uris[_i].uri);

    ck_assert_str_eq(plain, uris[_i].plain);
}

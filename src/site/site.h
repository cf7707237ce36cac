/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/strvec.h"
#include "request/capture.h"
#include "request/request.h"

/* The settings file, unless plugstack.conf has config=PATH. */
#define BERTH_SITE_FILE BERTH_SYSCONFDIR "/berth.yaml"

enum berth_site_share { BERTH_SHARE_AUTO, BERTH_SHARE_NO };
enum berth_site_inside { BERTH_INSIDE_SRUN, BERTH_INSIDE_ALL, BERTH_INSIDE_NONE };
enum berth_site_raw { BERTH_RAW_ANY, BERTH_RAW_NONE, BERTH_RAW_LIST };
enum berth_site_missing {
    BERTH_MISSING_AUTO,
    BERTH_MISSING_REFUSE,
    BERTH_MISSING_WARN
};
enum berth_site_bare { BERTH_BARE_REFUSE, BERTH_BARE_PULL };
enum berth_site_compare { BERTH_COMPARE_YES, BERTH_COMPARE_NO };
enum berth_site_glibc { BERTH_GLIBC_REPLACE, BERTH_GLIBC_REFUSE };

/* What a rule does with its options. */
enum berth_rule_kind { BERTH_RULE_DEFAULT, BERTH_RULE_FORCE, BERTH_RULE_FORBID };

/* A rule of the site, for the jobs of a partition and account. */
struct berth_site_rule {
    char *partition;             /* NULL: any */
    char *account;               /* NULL: any */
    struct berth_request set[2]; /* of BERTH_RULE_DEFAULT and BERTH_RULE_FORCE */
    unsigned int lines[3][BERTH_OPTION_COUNT]; /* of each option in the file, for each
                                                  kind; 0: it is not there */
};

/* The settings of a site, berth.yaml(5), with a struct for each section. A list that is
 * not set is empty; where an empty list means something else, a flag tells that the
 * list is set. A value struct: start with berth_site_default(), end with
 * berth_site_fini(). */
struct berth_site {
    struct {
        char *path;               /* NULL: berth looks for the runtime on the node */
        struct berth_strvec args; /* flags for each start of the runtime */
        enum berth_site_share share;
        unsigned int start_timeout;  /* seconds */
        enum berth_site_raw raw;     /* --container-args */
        struct berth_strvec allowed; /* of BERTH_RAW_LIST: patterns (fnmatch(3)) */
    } runtime;
    struct {
        struct berth_strvec roots; /* directories; empty: any */
        struct berth_strvec uris;  /* beginnings of URIs */
        bool has_uris;             /* `uris` is set; an empty list then allows no URI */
        struct berth_strvec owners; /* names of users; empty: any */
        struct berth_strvec
            signatures;    /* fingerprints of keys; empty: images need no signature */
        char *cache;       /* of pulled images, with ~ and $NAME; NULL: the default */
        char *store;       /* of images that all users read; NULL: none */
        char *store_owner; /* who may write it besides root: a name or a number; NULL:
                              nobody */
        char *compression; /* of new images: zstd, zstd:LEVEL, ...; NULL: zstd where
                              that can be */
        enum berth_site_missing
            missing;               /* an image that is missing on the host of srun */
        enum berth_site_bare bare; /* a word like `ubuntu`, which is not a file */
    } images;
    struct {
        struct berth_strvec forced;    /* SRC[:DST[:ro|rw|sqsh]], in every container */
        struct berth_strvec defaults;  /* the same, if SRC exists and the user mounts
                                          nothing at DST */
        struct berth_strvec forbidden; /* paths: no mount of a user may have one of
                                          them, or a path below or above, as source or
                                          destination */
    } mounts;
    struct {
        struct berth_strvec capture; /* patterns */
        struct berth_strvec deny;    /* patterns */
        struct berth_strvec unset;   /* NAME, in none */
        struct berth_strvec pytorch; /* as in struct berth_terms */
    } environment;
    struct {
        struct berth_strvec order;       /* names of stacks, the preferred first */
        enum berth_site_glibc glibc;     /* if the image's is too old */
        enum berth_site_compare compare; /* the digests of hosts (site/digest.h) */
    } mpi;
    struct berth_site_rule *rules;
    size_t rule_count;
    struct {
        char *file; /* gets a line of JSON for each step; %u user, %j job; NULL: none */
    } provenance;
    struct {
        char *runtime; /* that starts OCI bundles, a program; NULL: there is none */
    } oci;
    enum berth_site_inside inside; /* the commands of Slurm in a container */
    char *writable_dir;            /* for what tasks write to an image; NULL: $TMPDIR */
    char *profiles_dir;            /* of *.yaml; NULL: there is none */
    char *file;                    /* that has the settings, for messages */
    struct berth_strvec places;    /* of the settings: key, item, FILE:LINE, ... */
};

/* A site without a settings file: everything is allowed. */
struct berth_site berth_site_default(void);

/* Frees all settings; SITE is then zero. */
void berth_site_fini(struct berth_site *site);

/* Notes that ITEM of the list KEY ("": KEY itself) is in LINE of FILE. The caller
 * checks the `failed` of `places`. */
void berth_site_note(struct berth_site *site, const char *key, const char *item,
                     const char *file, unsigned int line);

/* FILE:LINE of ITEM of KEY, else of KEY, which SITE owns; NULL: neither is noted. */
const char *berth_site_place(const struct berth_site *site, const char *key,
                             const char *item);

/* The site's additions to the lists of variables that --export does not drop; borrows
 * from SITE. */
static inline struct berth_capture_rules
berth_site_capture(const struct berth_site *site)
{
    return (struct berth_capture_rules){&site->environment.capture,
                                        &site->environment.deny};
}

/* Why each task has its own container, by the settings of SITE; NULL: SITE does not
 * demand that. */
static inline const char *berth_site_why_separate(const struct berth_site *site)
{
    return site->runtime.share == BERTH_SHARE_NO ? "the site says share: no" : NULL;
}

/* The sentence for WHAT, an image or another KIND, which is none of ALLOWED, the list
 * of KEY. Always returns -1. */
int berth_site_refuse(const struct berth_site *site, const char *kind, const char *what,
                      const struct berth_strvec *allowed, const char *key,
                      struct berth_err *err);

/* Appends the place of ITEM of KEY, if it is noted, to the sentence in ERR (may be
 * NULL). Always returns -1. */
int berth_site_cite(const struct berth_site *site, const char *key, const char *item,
                    struct berth_err *err);

#define BERTH_SITE __attribute__((cleanup(berth_site_fini)))

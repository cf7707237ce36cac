/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/strvec.h"

/* The settings file, unless plugstack.conf says config=PATH. */
#define BERTH_SITE_FILE BERTH_SYSCONFDIR "/berth.yaml"

enum berth_site_share { BERTH_SHARE_AUTO, BERTH_SHARE_NEVER };
enum berth_site_lifetime { BERTH_LASTS_STEP, BERTH_LASTS_JOB };
enum berth_site_inside { BERTH_INSIDE_SRUN, BERTH_INSIDE_ALL, BERTH_INSIDE_DENY };
enum berth_site_raw { BERTH_RAW_ALLOW, BERTH_RAW_DENY, BERTH_RAW_LIST };
enum berth_site_digest { BERTH_DIGEST_NONE, BERTH_DIGEST_SHA256 };
enum berth_site_missing {
    BERTH_MISSING_AUTO,
    BERTH_MISSING_REFUSE,
    BERTH_MISSING_WARN
};
enum berth_site_glibc { BERTH_GLIBC_REPLACE, BERTH_GLIBC_REFUSE };

/* An option that the site sets for some jobs, over what the user says. */
struct berth_site_rule {
    char *partition; /* NULL: any */
    char *account;   /* NULL: any */
    struct berth_strvec
        options; /* name without -- and prefix, value, ...; "": without value */
};

/* What the site says in berth.yaml (berth.yaml(5)); a section for each part of it.
 * Lists that were not said are empty; where an empty list would mean something else
 * than "not said", a flag tells. A value struct: start with berth_site_default(), end
 * with berth_site_fini(). */
struct berth_site {
    struct {
        char *path;               /* NULL: found on the node */
        struct berth_strvec args; /* words for every start of it */
        enum berth_site_share share;
        enum berth_site_lifetime lifetime; /* where the user says nothing */
        unsigned int start_timeout;        /* seconds */
        enum berth_site_raw raw;           /* --container-args */
        struct berth_strvec allowed; /* of BERTH_RAW_LIST: patterns (fnmatch(3)) */
    } runtime;
    struct {
        struct berth_strvec roots;      /* directories; empty: any */
        struct berth_strvec uris;       /* beginnings of URIs */
        bool has_uris;                  /* an empty list allows none */
        struct berth_strvec owners;     /* names of users; empty: any */
        struct berth_strvec signatures; /* fingerprints of keys; empty: not asked for */
        char *cache; /* of pulled images, ~ and $NAME unexpanded; NULL: the default */
        enum berth_site_missing missing; /* on the host where srun is typed */
    } images;
    struct {
        struct berth_strvec forced;    /* SRC:DST:ro|rw, in every container */
        struct berth_strvec defaults;  /* the same, where SRC exists and the user mounts
                                          nothing at DST */
        struct berth_strvec forbidden; /* paths: neither they nor what is below them is
                                          a source or destination of a user's mount */
    } mounts;
    struct {
        struct berth_strvec capture; /* patterns */
        struct berth_strvec deny;    /* patterns */
        struct berth_strvec set;     /* NAME=VALUE in every container */
        struct berth_strvec unset;   /* NAME, in none */
    } environment;
    struct {
        char *mode;                     /* --mpi-bind where the user says nothing; NULL:
                                           off */
        struct berth_strvec order;      /* names of stacks, the preferred first */
        struct berth_strvec partitions; /* name of a partition, mode, ... */
        enum berth_site_glibc glibc;    /* where the image's is too old */
        char *fabric;                   /* --container-fabric where the user says
                                           nothing; NULL: off */
    } mpi;
    struct berth_site_rule *rules;
    size_t rule_count;
    struct {
        char *file; /* a line of JSON for each step; %u user, %j job; NULL: none */
        enum berth_site_digest digest; /* of the image, in that line */
        bool comment;                  /* into the job's record */
    } provenance;
    enum berth_site_inside inside; /* which commands of Slurm a container has */
    char *profiles_dir;            /* of *.yaml; NULL: there is none */
    struct berth_strvec places;    /* where it says so: key, item, FILE:LINE, ... */
};

/* The defaults without a file: everything is allowed. */
struct berth_site berth_site_default(void);

void berth_site_fini(struct berth_site *site);

/* The site says ITEM of the list KEY ("": KEY itself) in LINE of FILE. */
void berth_site_note(struct berth_site *site, const char *key, const char *item,
                     const char *file, unsigned int line);

/* The same of OPTION in rule NUMBER, from 1. */
void berth_site_note_rule(struct berth_site *site, size_t number, const char *option,
                          const char *file, unsigned int line);

/* FILE:LINE of ITEM of KEY, or of KEY if ITEM is not known; NULL: neither is in the
 * file. */
const char *berth_site_place(const struct berth_site *site, const char *key,
                             const char *item);

/* The same, for a message about a fault: never NULL. */
const char *berth_site_where(const struct berth_site *site, const char *key,
                             const char *item);

/* The same of OPTION in rule NUMBER. */
const char *berth_site_where_rule(const struct berth_site *site, size_t number,
                                  const char *option);

/* Why the site lets each task have a container of its own; NULL: it does not. */
static inline const char *berth_site_why_apart(const struct berth_site *site)
{
    return site->runtime.share == BERTH_SHARE_NEVER ? "the site says share: never"
                                                    : NULL;
}

/* Add that place to the sentence in ERR (may be NULL). Returns -1. */
int berth_site_cite(const struct berth_site *site, const char *key, const char *item,
                    struct berth_err *err);

#define BERTH_SITE __attribute__((cleanup(berth_site_fini)))

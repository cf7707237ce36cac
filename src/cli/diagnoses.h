/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/strvec.h"
#include "cli/host.h"
#include "site/plugstack.h"
#include "site/site.h"
#include "site/terms.h"

/* What berth doctor says of a host: a diagnosis for each thing. */

enum berth_diagnosis_level {
    BERTH_DIAGNOSIS_OK,
    BERTH_DIAGNOSIS_NOTE,
    BERTH_DIAGNOSIS_WRONG
};

struct berth_diagnosis {
    enum berth_diagnosis_level level;
    const char *about;  /* the thing: "/dev/fuse" */
    char *text;         /* a sentence, owned */
    const char *remedy; /* what to do; NULL: nothing */
};

/* An examination of a host. A text that is not known is NULL. */
struct berth_doctor {
    struct berth_host host;
    const char *release; /* of the command berth that runs */

    /* What several checks read. */
    struct berth_host_conf conf; /* slurm.conf */
    bool has_plugstack;
    struct berth_plugstack stack;   /* plugstack.conf, with what it includes */
    struct berth_settings settings; /* of berth's line */
    struct berth_site site;         /* berth.yaml */
    struct berth_terms terms;
    bool has_site;
    char *site_error; /* a sentence */
    struct {
        char *path;
        char *missing;   /* why there is no runtime: a sentence */
        char *version;   /* "apptainer version 1.4.5" */
        char *libexec;   /* where the programs of the runtime are */
        char *conf;      /* its configuration */
        char *binds;     /* "user bind control" in it */
        bool has_setuid; /* its starter has that bit */
        bool is_setuid;  /* it works with the rights of root, and not with a user
                            namespace */
    } runtime;

    /* What should be the same on all nodes. */
    char plugin[16];            /* the release of Slurm that berth.so is for: "24.11";
                                   "": not known */
    char *slurm;                /* "slurm 24.11.5" */
    char digest[17];            /* of the lines of plugstack.conf and its includes, of
                                   berth.yaml and profiles */
    struct berth_strvec stacks; /* "MPICH 4.2.1 (mpich)" */

    struct berth_diagnosis *items;
    size_t count, room;
    bool failed; /* out of memory */
};

/* Examine the host of DOCTOR, whose first two members are set and whose others are 0:
 * read the files, start the runtime, srun, scontrol and berth's programs for their
 * versions, each for ten seconds at most, and a child that tries to make a user
 * namespace. Out of memory sets `failed`. Returns 0, or -1 with a sentence in ERR. In
 * each case the caller owns what DOCTOR has (berth_doctor_fini). */
int berth_doctor_examine(struct berth_doctor *doctor, struct berth_err *err);

/* The parts of berth_doctor_examine(). Read slurm.conf, plugstack.conf and berth.yaml;
 * read how the runtime is installed; check the host; check these files and Slurm. */
void berth_doctor_read_site(struct berth_doctor *doctor);
void berth_doctor_read_runtime(struct berth_doctor *doctor);
int berth_doctor_check_host(struct berth_doctor *doctor, struct berth_err *err);
void berth_doctor_check_slurm(struct berth_doctor *doctor);

/* Append a diagnosis whose text is the result of FORMAT, with control characters
 * escaped. ABOUT and REMEDY (NULL: none) must outlive DOCTOR. */
void berth_doctor_add(struct berth_doctor *doctor, enum berth_diagnosis_level level,
                      const char *about, const char *remedy, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* For the checks: append a diagnosis to the `doctor` of the function. */
#define AT(level, about, remedy, ...)                                                  \
    berth_doctor_add(doctor, level, about, remedy, __VA_ARGS__)
#define OK(about, ...)            AT(BERTH_DIAGNOSIS_OK, about, NULL, __VA_ARGS__)
#define NOTE(about, remedy, ...)  AT(BERTH_DIAGNOSIS_NOTE, about, remedy, __VA_ARGS__)
#define WRONG(about, remedy, ...) AT(BERTH_DIAGNOSIS_WRONG, about, remedy, __VA_ARGS__)

/* Returns "ok", "note" or "wrong". */
const char *berth_diagnosis_word(enum berth_diagnosis_level level);

/* Returns the number of diagnoses of LEVEL. */
size_t berth_doctor_count(const struct berth_doctor *doctor,
                          enum berth_diagnosis_level level);

/* Append to RET how many diagnoses of each level there are: "18 checked, 1 note,
 * nothing wrong". */
void berth_doctor_sum(const struct berth_doctor *doctor, struct berth_buf *ret);

/* Append the facts that should be the same on all nodes, what berth's line in
 * plugstack.conf sets, and all diagnoses, as a JSON object. What is not known is null.
 */
void berth_doctor_json(const struct berth_doctor *doctor, struct berth_buf *ret);

void berth_doctor_fini(struct berth_doctor *doctor);

#define BERTH_DOCTOR __attribute__((cleanup(berth_doctor_fini)))

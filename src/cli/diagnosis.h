/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

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

struct berth_diagnoses {
    struct berth_diagnosis *items;
    size_t count, room;
    bool failed; /* out of memory */
};

/* Append a diagnosis whose text is the result of FORMAT, with control characters
 * escaped. ABOUT and REMEDY (NULL: none) must outlive the list. Out of memory sets
 * `failed`. Start DIAGNOSES with `= {0}`. */
void berth_diagnoses_add(struct berth_diagnoses *diagnoses,
                         enum berth_diagnosis_level level, const char *about,
                         const char *remedy, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Returns "ok", "note" or "wrong". */
const char *berth_diagnosis_word(enum berth_diagnosis_level level);

/* Returns the number of diagnoses that are WRONG. */
size_t berth_diagnoses_wrong(const struct berth_diagnoses *diagnoses);

/* Append to RET how many diagnoses of each level there are: "18 checked, 1 note,
 * nothing wrong". */
void berth_diagnoses_sum(const struct berth_diagnoses *diagnoses,
                         struct berth_buf *ret);

void berth_diagnoses_fini(struct berth_diagnoses *diagnoses);

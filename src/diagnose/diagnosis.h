/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* The diagnosis of a host, a sentence for each thing. */

enum berth_diagnosis_level {
    BERTH_DIAGNOSIS_OK,
    BERTH_DIAGNOSIS_NOTE,
    BERTH_DIAGNOSIS_WRONG
};

struct berth_diagnosis {
    enum berth_diagnosis_level level;
    const char *about;
    char *text;
    const char *remedy; /* NULL: nothing is to be done */
};

struct berth_diagnoses {
    struct berth_diagnosis *items;
    size_t count, room;
    bool failed; /* out of memory */
};

/* Append a diagnosis; ABOUT and REMEDY must outlive the list. Control characters of the
 * text are escaped. Start DIAGNOSES with `= {0}`. */
void berth_diagnoses_add(struct berth_diagnoses *diagnoses,
                         enum berth_diagnosis_level level, const char *about,
                         const char *remedy, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* "ok", "note", "wrong" */
const char *berth_diagnosis_word(enum berth_diagnosis_level level);

/* The number of diagnoses that are WRONG. */
size_t berth_diagnoses_wrong(const struct berth_diagnoses *diagnoses);

/* Append to RET how many there are of each level: "18 looked at, 1 note, nothing
 * wrong". */
void berth_diagnoses_sum(const struct berth_diagnoses *diagnoses,
                         struct berth_buf *ret);

void berth_diagnoses_fini(struct berth_diagnoses *diagnoses);

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_PLAN_FINDINGS_H
#define BERTH_PLAN_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>

/* What was found about a host, a sentence for each thing. */

enum berth_finding_level { BERTH_FINDING_OK, BERTH_FINDING_NOTE, BERTH_FINDING_WRONG };

struct berth_finding {
    enum berth_finding_level level;
    const char *about;
    char *text;
    const char *remedy; /* NULL: nothing is to be done */
};

struct berth_findings {
    struct berth_finding *items;
    size_t count, room;
    bool failed; /* out of memory */
};

/* Append a finding; ABOUT and REMEDY must outlive the list. Control characters of the
 * text are escaped. Start FINDINGS with `= {0}`. */
void berth_findings_add(struct berth_findings *findings, enum berth_finding_level level,
                        const char *about, const char *remedy, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* "ok", "note", "wrong" */
const char *berth_finding_word(enum berth_finding_level level);

/* How many say that something is wrong. */
size_t berth_findings_wrong(const struct berth_findings *findings);

void berth_findings_fini(struct berth_findings *findings);

#endif

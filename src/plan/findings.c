/* SPDX-License-Identifier: Apache-2.0 */
/* A list of findings. */

#include "plan/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/grow.h"

void berth_findings_add(struct berth_findings *findings, enum berth_finding_level level,
                        const char *about, const char *remedy, const char *format, ...)
{
    struct berth_finding *item;
    struct berth_err text;
    char raw[BERTH_ERR_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(raw, sizeof(raw), format, args);
    va_end(args);
    berth_err_set(&text, "%s", raw);
    if (berth_grow(&findings->items, findings->count, &findings->room, sizeof(*item)) <
        0) {
        findings->failed = true;
        return;
    }
    item = &findings->items[findings->count];
    *item = (struct berth_finding){level, about, strdup(text.text), remedy};
    if (item->text)
        findings->count++;
    else
        findings->failed = true;
}

const char *berth_finding_word(enum berth_finding_level level)
{
    static const char *const words[] = {"ok", "note", "wrong"};

    return words[level];
}

size_t berth_findings_wrong(const struct berth_findings *findings)
{
    size_t count = 0;

    for (size_t i = 0; i < findings->count; i++)
        count += findings->items[i].level == BERTH_FINDING_WRONG;
    return count;
}

void berth_findings_fini(struct berth_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        free(findings->items[i].text);
    free(findings->items);
    *findings = (struct berth_findings){0};
}

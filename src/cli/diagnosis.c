/* SPDX-License-Identifier: Apache-2.0 */
/* A growing list of diagnoses, and their sum. */

#include "cli/diagnosis.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/grow.h"

void berth_diagnoses_add(struct berth_diagnoses *diagnoses,
                         enum berth_diagnosis_level level, const char *about,
                         const char *remedy, const char *format, ...)
{
    struct berth_diagnosis *item;
    struct berth_err text;
    char raw[BERTH_ERR_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(raw, sizeof(raw), format, args);
    va_end(args);
    berth_err_set(&text, "%s", raw);
    if (berth_grow(&diagnoses->items, diagnoses->count, &diagnoses->room,
                   sizeof(*item)) < 0) {
        diagnoses->failed = true;
        return;
    }
    item = &diagnoses->items[diagnoses->count];
    *item = (struct berth_diagnosis){level, about, strdup(text.text), remedy};
    if (item->text)
        diagnoses->count++;
    else
        diagnoses->failed = true;
}

const char *berth_diagnosis_word(enum berth_diagnosis_level level)
{
    static const char *const words[] = {"ok", "note", "wrong"};

    return words[level];
}

static size_t count(const struct berth_diagnoses *diagnoses,
                    enum berth_diagnosis_level level)
{
    size_t found = 0;

    for (size_t i = 0; i < diagnoses->count; i++)
        found += diagnoses->items[i].level == level;
    return found;
}

size_t berth_diagnoses_wrong(const struct berth_diagnoses *diagnoses)
{
    return count(diagnoses, BERTH_DIAGNOSIS_WRONG);
}

void berth_diagnoses_sum(const struct berth_diagnoses *diagnoses, struct berth_buf *ret)
{
    size_t notes = count(diagnoses, BERTH_DIAGNOSIS_NOTE);
    size_t wrong = berth_diagnoses_wrong(diagnoses);

    berth_buf_addf(ret, "%zu checked, ", diagnoses->count);
    if (notes)
        berth_buf_addf(ret, "%zu note%s, ", notes, notes == 1 ? "" : "s");
    if (wrong)
        berth_buf_addf(ret, "%zu wrong", wrong);
    else
        berth_buf_puts(ret, "nothing wrong");
}

void berth_diagnoses_fini(struct berth_diagnoses *diagnoses)
{
    for (size_t i = 0; i < diagnoses->count; i++)
        free(diagnoses->items[i].text);
    free(diagnoses->items);
    *diagnoses = (struct berth_diagnoses){0};
}

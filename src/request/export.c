/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the value of --export as Slurm does. */

#include "request/export.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

/* Bytes up to the comma that ends the first word, or to the end. */
static size_t word_length(const char *text)
{
    bool single = false;
    bool twice = false;
    size_t at = 0;

    for (; text[at]; at++) {
        if (text[at] == '\'')
            single = !single;
        else if (text[at] == '"')
            twice = !twice;
        else if (text[at] == ',' && !single && !twice)
            break;
    }
    return at;
}

/* A word that begins and ends with the same quote loses both. */
static char *copy_word(const char *word, size_t length)
{
    if (length >= 2 && (*word == '\'' || *word == '"') && word[length - 1] == *word)
        return strndup(word + 1, length - 2);
    return strndup(word, length);
}

int berth_export_read(const char *value, struct berth_export *ret,
                      struct berth_err *err)
{
    BERTH_EXPORT struct berth_export export = {.all = !value};
    bool ended = false;

    while (value && *value) {
        size_t length = word_length(value);
        BERTH_FREE char *word = copy_word(value, length);

        if (!word)
            return berth_err_oom(err);
        ended |= strcasecmp(word, "NONE") == 0;
        export.all |= !ended && strcasecmp(word, "ALL") == 0;
        if (strchr(word, '='))
            berth_strvec_push(&export.assigned, word);
        value += length + (value[length] == ',');
    }
    if (export.assigned.failed)
        return berth_err_oom(err);
    *ret = berth_steal(&export);
    return 0;
}

void berth_export_fini(struct berth_export *export)
{
    berth_strvec_fini(&export->assigned);
    *export = (struct berth_export){0};
}

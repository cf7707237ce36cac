/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the site's prefix into the options that messages name. */

#include "request/spell.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"

static bool starts_option(const char *text)
{
    return berth_text_starts(text, "--container-") ||
           berth_text_starts(text, "--no-container-") ||
           berth_text_starts(text, "--mpi-bind");
}

void berth_spell_options(const char *prefix, struct berth_err *err)
{
    BERTH_BUF struct berth_buf text = {0};

    if (*prefix == '\0')
        return;
    for (const char *c = err->text; *c; c++) {
        if (starts_option(c)) {
            berth_buf_addf(&text, "--%s", prefix);
            c += strlen("--");
        }
        berth_buf_add(&text, c, 1);
    }
    if (!text.failed && text.used)
        berth_err_set(err, "%s", text.text);
}

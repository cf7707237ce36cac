/* SPDX-License-Identifier: Apache-2.0 */
/* Writes for --container-explain which of several values of an option counts. */

#include "request/source.h"

#include "base/buf.h"
#include "request/option.h"

enum { SOURCES = 3 };

static const char *const names[SOURCES] = {
    "the command line of srun",
    "its environment",
    "the job (sbatch, salloc)",
};

static void put_value(struct berth_buf *text, const char *value, int source)
{
    berth_buf_addf(text, "'%s' of %s", value, names[source]);
}

/* Appends the sentence of OPTION. The first of VALUES that is not NULL counts. */
static void add_sentence(const char *option, const char *const values[SOURCES],
                         struct berth_strvec *ret)
{
    BERTH_BUF struct berth_buf text = {0};
    int first = 0;

    while (first < SOURCES && !values[first])
        first++;
    if (first == SOURCES)
        return;
    put_value(&text, values[first], first);
    for (int i = first + 1; i < SOURCES; i++) {
        if (!values[i])
            continue;
        berth_buf_puts(&text, ", over ");
        put_value(&text, values[i], i);
        first = i;
    }
    if (first > 0)
        berth_strvec_pushf(ret, "--%s: %s", option, text.text ? text.text : "");
    ret->failed |= text.failed;
}

void berth_source_list(const struct berth_request *own,
                       const struct berth_request *environment,
                       const struct berth_request *job, struct berth_strvec *ret)
{
    const struct berth_request *const requests[SOURCES] = {own, environment, job};

    for (int id = 0; id < BERTH_OPTION_COUNT; id++) {
        const char *values[SOURCES];

        if (berth_options[id].kind != BERTH_KIND_TEXT || id == BERTH_OPTION_EXPLAIN)
            continue;
        for (int k = 0; k < SOURCES; k++)
            values[k] = berth_request_value(requests[k], id, 0);
        add_sentence(berth_options[id].name, values, ret);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Which of several values of an option counts, in words. */

#include "plan/source.h"

#include <stddef.h>
#include <string.h>

#include "base/buf.h"
#include "plan/option.h"

enum { SOURCES = 3 };

static const char *const names[SOURCES] = {
    "the command line of srun",
    "its environment",
    "the job (sbatch, salloc)",
};

static const struct {
    enum berth_option_id id;
    size_t field;
} scalars[] = {
    {BERTH_OPTION_IMAGE, offsetof(struct berth_request, image)},
    {BERTH_OPTION_WORKDIR, offsetof(struct berth_request, workdir)},
    {BERTH_OPTION_GPU, offsetof(struct berth_request, gpu)},
    {BERTH_OPTION_MPI, offsetof(struct berth_request, mpi)},
};

static void put_value(struct berth_buf *text, const char *value, int source)
{
    berth_buf_puts(text, "'");
    berth_buf_puts(text, value);
    berth_buf_puts(text, "' of ");
    berth_buf_puts(text, names[source]);
}

/* VALUES, the first of which counts; NULL: not said there. */
static void tell(const char *option, const char *const values[SOURCES],
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

void berth_source_tell(const struct berth_request *own,
                       const struct berth_request *environment,
                       const struct berth_request *job, struct berth_strvec *ret)
{
    const struct berth_request *const requests[SOURCES] = {own, environment, job};

    for (size_t i = 0; i < sizeof(scalars) / sizeof(scalars[0]); i++) {
        const char *values[SOURCES];

        for (int k = 0; k < SOURCES; k++)
            values[k] = *(char *const *)((const char *)requests[k] + scalars[i].field);
        tell(berth_options[scalars[i].id].name, values, ret);
    }
}

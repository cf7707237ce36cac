/* SPDX-License-Identifier: Apache-2.0 */
/* What berth would do for a component, as data, and in the form that was asked for. */

#include "plan/explain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/explainwrite.h"
#include "plan/finding.h"
#include "request/option.h"

/* Bytes of the longest text; a longer one is cut. Slurm prints a line of up to 1024
 * bytes as a whole; longer lines of components would mix. */
enum { LONGEST = 800 };

const char *berth_explain_next_fact(const struct berth_explain *explain,
                                    const char *name, size_t *at)
{
    const struct berth_strvec *facts = &explain->binding.facts;

    while (*at + 1 < facts->count) {
        *at += 2;
        if (strcmp(facts->items[*at - 2], name) == 0)
            return facts->items[*at - 1];
    }
    return NULL;
}

const char *berth_explain_fact(const struct berth_explain *explain, const char *name)
{
    size_t at = 0;

    return berth_explain_next_fact(explain, name, &at);
}

const char *berth_explain_source(const struct berth_explain *explain,
                                 enum berth_option_id id)
{
    if (!berth_request_value(explain->request, id, 0))
        return NULL;
    return berth_strvec_has(&explain->request->site, berth_options[id].name)
               ? BERTH_FROM_SITE
               : BERTH_FROM_USER;
}

void berth_explain_mpi(const struct berth_explain *explain, struct berth_buf *ret)
{
    const struct berth_request *request = explain->request;

    if (!berth_request_has_container(request))
        berth_buf_puts(ret, "as on the host");
    else if (berth_request_mpi_is(request, BERTH_MODE_OFF))
        berth_buf_puts(ret, "left alone (no --mpi-bind)");
    else if (berth_request_mpi_is(request, BERTH_MODE_LAUNCH))
        berth_buf_puts(ret, "the image's own mpirun, on the nodes of the job, which "
                            "starts its ranks through the host's srun");
    else if (berth_request_starts_mpirun(request))
        berth_buf_puts(ret, "the image's own mpirun, on the CPUs of its task, which "
                            "sees nothing of Slurm");
    else if (explain->binding.note)
        berth_buf_puts(ret, explain->binding.note);
    else if (berth_request_mpi_is(request, BERTH_MODE_HYBRID))
        berth_buf_puts(ret, "the image's own MPI runs, over Slurm's process manager");
    else if (explain->apart && !berth_explain_fact(explain, BERTH_FINDING_PROGRAM))
        berth_buf_puts(
            ret, "the image's own MPI runs (hybrid): berth can neither mount into "
                 "nor inspect a container of this kind");
    else
        berth_buf_puts(ret, "the command and the image have nothing to do with MPI");
    if (explain->binding.warning)
        berth_buf_addf(ret, "; warning: %s", explain->binding.warning);
}

/* Append LINES to RET, each with the number of the component, or the rank, as a prefix
 * if the step has several. */
static void add_lines(const struct berth_explain *explain,
                      const struct berth_buf *lines, struct berth_buf *ret)
{
    const struct berth_order_step *step = &explain->step;
    const char *line = lines->text;
    char number[16] = "";

    if (step->ranks && explain->rank)
        snprintf(number, sizeof(number), "%.10s: ", explain->rank);
    else if (step->is_several)
        snprintf(number, sizeof(number), "%d: ", step->component);
    while (line && *line) {
        size_t length = strcspn(line, "\n") + 1;

        berth_buf_puts(ret, number);
        berth_buf_add(ret, line, length);
        line += length;
    }
}

int berth_explain_write(const struct berth_explain *explain, struct berth_buf *ret,
                        struct berth_err *err)
{
    const char *form = explain->request->explain;
    bool is_json = strcmp(form, BERTH_EXPLAIN_JSON) == 0;
    BERTH_JSON struct berth_json out = {
        .pretty = true, .is_text = !is_json, .longest = LONGEST};

    if (!is_json)
        berth_explain_brief(explain, &out);
    if (is_json || strcmp(form, BERTH_EXPLAIN_EVERYTHING) == 0)
        berth_explain_details(explain, &out);
    berth_buf_puts(&out.text, is_json ? "\n" : "");
    if (out.text.failed || explain->plan.failed)
        return berth_err_oom(err);
    add_lines(explain, &out.text, ret);
    return ret->failed ? berth_err_oom(err) : 0;
}

void berth_explain_fini(struct berth_explain *explain)
{
    free(explain->runtime_version);
    free(explain->found);
    berth_strvec_fini(&explain->image);
    berth_strvec_fini(&explain->words);
    berth_binding_fini(&explain->binding);
    berth_plan_fini(&explain->plan);
    *explain = (struct berth_explain){0};
}

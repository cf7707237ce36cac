/* SPDX-License-Identifier: Apache-2.0 */
/* What the short and the detailed form of explain both say: who set an option, how long
 * the container lives, whose MPI runs and why. */

#include "plan/explain.h"

#include <string.h>

#include "base/text.h"
#include "request/option.h"

void berth_explain_facts(const struct berth_explain *explain, const char *name,
                         struct berth_strvec *ret)
{
    const struct berth_strvec *facts = &explain->binding->facts;

    for (size_t i = 0; i + 1 < facts->count; i += 2)
        if (strcmp(facts->items[i], name) == 0)
            berth_strvec_push(ret, facts->items[i + 1]);
}

void berth_explain_names(const struct berth_strvec *names, struct berth_buf *ret)
{
    enum { SHOWN = 6 };
    struct berth_strvec shown = *names;

    /* "and 1 more" would be as long as the name */
    if (names->count > SHOWN + 1)
        shown.count = SHOWN;
    berth_strvec_join(&shown, ", ", ret);
    if (shown.count < names->count)
        berth_buf_addf(ret, " and %zu more", names->count - shown.count);
}

const char *berth_explain_source(const struct berth_explain *explain,
                                 enum berth_option_id id)
{
    const struct berth_request *request = explain->launch->request;

    if (!berth_request_value(request, id, 0))
        return NULL;
    if (berth_strvec_has(&request->site, berth_options[id].name))
        return BERTH_FROM_SITE;
    return BERTH_FROM_USER;
}

const char *berth_explain_why_step(const struct berth_explain *explain)
{
    const char *why = berth_order_why_step(explain->launch->order, explain->separate);

    if (why)
        return why;
    return berth_text_given(explain->no_server.text);
}

const char *berth_explain_lifetime(const struct berth_explain *explain)
{
    if (!berth_request_has_job_lifetime(explain->launch->request))
        return BERTH_LIFETIME_STEP;
    if (berth_explain_why_step(explain))
        return BERTH_LIFETIME_STEP;
    return BERTH_LIFETIME_JOB;
}

/* Can berth neither mount into the container of a task, nor has it looked into it? */
static bool is_out_of_reach(const struct berth_explain *explain)
{
    const struct berth_strvec *facts = &explain->binding->facts;

    return explain->separate && !berth_strvec_pair(facts, BERTH_FINDING_PROGRAM);
}

/* Returns the release in NAME ("MPICH 4.0.2"), if OTHER is another release of the same
 * MPI; NULL: it is not. */
static const char *release_beside(const char *name, const char *other)
{
    const char *blank = strrchr(name, ' ');

    if (!blank || strncmp(name, other, (size_t)(blank + 1 - name)) != 0)
        return NULL;
    return blank + 1;
}

/* Returns the number in VERSION, "GLIBC_2.36". */
static const char *glibc_number(const char *version)
{
    return berth_text_or(berth_text_after(version, '_'), version);
}

/* Append the C library that comes with the host's MPI, if it does. */
static void say_glibc(const struct berth_strvec *facts, struct berth_buf *ret)
{
    const char *kept = berth_strvec_pair(facts, BERTH_FINDING_GLIBC);
    const char *host = berth_strvec_pair(facts, BERTH_FINDING_GLIBC_HOST);
    const char *image = berth_strvec_pair(facts, BERTH_FINDING_GLIBC_IMAGE);

    if (!kept || strcmp(kept, BERTH_GLIBC_REPLACED) != 0 || !host || !image)
        return;
    berth_buf_addf(ret, ", with the host's glibc %s (image: %s)", glibc_number(host),
                   glibc_number(image));
}

void berth_explain_answer(const struct berth_explain *explain, struct berth_buf *ret)
{
    const char *host = explain->binding->host;
    BERTH_STRVEC struct berth_strvec names = {0};
    BERTH_BUF struct berth_buf image = {0};
    const char *shown;

    berth_explain_facts(explain, BERTH_FINDING_IMAGE_MPI, &names);
    berth_strvec_join(&names, " and ", &image);
    ret->failed |= image.failed;
    shown = image.text;
    if (!host) {
        berth_buf_part(ret, "the image's ", shown, "");
        return;
    }

    berth_buf_addf(ret, "the host's %s", host);
    if (names.count == 1)
        shown = berth_text_or(release_beside(names.items[0], host), shown);
    berth_buf_part(ret, " (image: ", shown, ")");
    say_glibc(&explain->binding->facts, ret);
}

void berth_explain_reason(const struct berth_explain *explain, struct berth_buf *ret)
{
    const struct berth_request *request = explain->launch->request;

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
    else if (explain->binding->note)
        berth_buf_puts(ret, explain->binding->note);
    else if (berth_request_mpi_is(request, BERTH_MODE_HYBRID))
        berth_buf_puts(ret, "the image's own MPI runs, over Slurm's process manager");
    else if (is_out_of_reach(explain))
        berth_buf_puts(
            ret, "the image's own MPI runs (hybrid): berth can neither mount into "
                 "nor inspect a container of this kind");
    else
        berth_buf_puts(ret, "the command and the image have nothing to do with MPI");
}

void berth_explain_mpi(const struct berth_explain *explain, struct berth_buf *ret)
{
    berth_explain_reason(explain, ret);
    if (explain->binding->warning)
        berth_buf_addf(ret, "; warning: %s", explain->binding->warning);
}

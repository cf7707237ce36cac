/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the account of a launch as data. */

#include "plan/explain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/grow.h"
#include "base/text.h"
#include "plan/finding.h"

void berth_explain_add_mount(struct berth_explain *explain, const char *source,
                             const char *destination, enum berth_mount_mode mode,
                             const char *from, const char *why)
{
    struct berth_explain_mount mount = {.mode = mode,
                                        .from = from,
                                        .why = why,
                                        .source = strdup(source),
                                        .destination = strdup(destination)};

    if (!mount.source || !mount.destination ||
        berth_grow(&explain->mounts, explain->mount_count, &explain->mount_room,
                   sizeof(mount)) < 0) {
        free(mount.source);
        free(mount.destination);
        explain->failed = true;
        return;
    }
    explain->mounts[explain->mount_count++] = mount;
}

void berth_explain_add_variable(struct berth_explain *explain, const char *name,
                                const char *value, const char *from, const char *why)
{
    struct berth_explain_variable variable = {.name = strdup(name),
                                              .value = value ? strdup(value) : NULL,
                                              .from = from,
                                              .why = strdup(why)};

    if (!variable.name || (value && !variable.value) || !variable.why ||
        berth_grow(&explain->variables, explain->variable_count,
                   &explain->variable_room, sizeof(variable)) < 0) {
        free(variable.name);
        free(variable.value);
        free(variable.why);
        explain->failed = true;
        return;
    }
    explain->variables[explain->variable_count++] = variable;
}

/* Append ITEM, NAME=VALUE. */
static void add_item(struct berth_explain *explain, const char *item, const char *from,
                     const char *why)
{
    const char *equals = strchr(item, '=');
    BERTH_FREE char *name = equals ? strndup(item, (size_t)(equals - item)) : NULL;

    if (name)
        berth_explain_add_variable(explain, name, equals + 1, from, why);
    else
        explain->failed |= equals != NULL;
}

void berth_explain_add_set(struct berth_explain *explain,
                           const struct berth_strvec *list, const char *from,
                           const char *why)
{
    for (size_t i = 0; i < list->count; i++)
        add_item(explain, list->items[i], from, why);
}

/* Do Apptainer and Singularity set ITEM (NAME=VALUE) in each image? */
static bool is_of_runtime(const char *item)
{
    static const char *const items[] = {
        "APPTAINER_", "SINGULARITY_", "PROMPT_COMMAND=PS1=",
        "PS1=",       "USER_PATH=",   "LD_LIBRARY_PATH=/.singularity.d/libs",
        NULL,
    };

    return berth_text_starts_any(item, items);
}

static bool is_in(const char *item, enum berth_explain_part part)
{
    return part == BERTH_EXPLAIN_ALL ||
           is_of_runtime(item) == (part == BERTH_EXPLAIN_RUNTIME);
}

void berth_explain_add_change(struct berth_explain *explain, char *const *before,
                              char *const *after, enum berth_explain_part part,
                              const char *from, const char *why)
{
    for (char *const *item = after; item && *item; item++) {
        const char *was = berth_environ_value(before, *item);
        const char *is = strchr(*item, '=');

        if (is && is_in(*item, part) && (!was || strcmp(was, is + 1) != 0))
            add_item(explain, *item, from, why);
    }
    for (char *const *item = before; item && *item; item++) {
        BERTH_FREE char *name = strndup(*item, strcspn(*item, "="));

        if (name && strchr(*item, '=') && is_in(*item, part) &&
            !berth_environ_value(after, *item))
            berth_explain_add_variable(explain, name, NULL, from, why);
    }
}

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

int berth_explain_write(const struct berth_explain *explain, struct berth_buf *ret,
                        struct berth_err *err)
{
    if (strcmp(explain->request->explain, BERTH_EXPLAIN_JSON) == 0)
        berth_explain_json(explain, ret);
    else
        berth_explain_text(explain, ret);
    return ret->failed || explain->failed ? berth_err_oom(err) : 0;
}

void berth_explain_fini(struct berth_explain *explain)
{
    for (size_t i = 0; i < explain->mount_count; i++) {
        free(explain->mounts[i].source);
        free(explain->mounts[i].destination);
    }
    for (size_t i = 0; i < explain->variable_count; i++) {
        free(explain->variables[i].name);
        free(explain->variables[i].value);
        free(explain->variables[i].why);
    }
    free(explain->mounts);
    free(explain->variables);
    free(explain->runtime_version);
    free(explain->apart);
    berth_strvec_fini(&explain->image);
    berth_strvec_fini(&explain->words);
    berth_binding_fini(&explain->binding);
    *explain = (struct berth_explain){0};
}

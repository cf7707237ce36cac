/* SPDX-License-Identifier: Apache-2.0 */
/* Writes an order as text, with a part for each of its structures, and parses it. */

#include "plan/order.h"

#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/fields.h"
#include "base/text.h"
#include "request/wire.h"

#define MEMBER(member) offsetof(struct berth_order, member)

static const struct berth_field step_fields[] = {
    {"component", BERTH_FIELD_NUMBER, MEMBER(step.component)},
    {"several", BERTH_FIELD_FLAG, MEMBER(step.is_several)},
    {"nodes", BERTH_FIELD_NUMBER, MEMBER(step.nodes)},
    {"tasks", BERTH_FIELD_NUMBER, MEMBER(step.tasks)},
    {"prints-component", BERTH_FIELD_FLAG, MEMBER(step.prints_component)},
    {"prints-step", BERTH_FIELD_FLAG, MEMBER(step.prints_step)},
    {"ranks", BERTH_FIELD_TEXT, MEMBER(step.ranks)},
    {"first", BERTH_FIELD_FLAG, MEMBER(step.is_first)},
    {"one-file", BERTH_FIELD_FLAG, MEMBER(step.is_one_file)},
    {"color", BERTH_FIELD_FLAG, MEMBER(step.has_color)},
    {"restored", BERTH_FIELD_LIST, MEMBER(restored)},
    {"program", BERTH_FIELD_LIST, MEMBER(programs)},
    {"allocation", BERTH_FIELD_LIST, MEMBER(allocation)},
    {0},
};

static const struct berth_field task_fields[] = {
    {"prefix", BERTH_FIELD_TEXT, MEMBER(prefix)},
    {"runtime", BERTH_FIELD_TEXT, MEMBER(runtime)},
    {"record", BERTH_FIELD_TEXT, MEMBER(record)},
    {"argv0", BERTH_FIELD_TEXT, MEMBER(argv0)},
    {"script", BERTH_FIELD_TEXT, MEMBER(script)},
    {"container", BERTH_FIELD_NUMBER, MEMBER(container.number)},
    {"container-tasks", BERTH_FIELD_NUMBER, MEMBER(container.tasks)},
    {"other-containers", BERTH_FIELD_NUMBER, MEMBER(container.others)},
    {"container-locals", BERTH_FIELD_TEXT, MEMBER(container.locals)},
    {"container-ranks", BERTH_FIELD_TEXT, MEMBER(container.ranks)},
    {"container-all", BERTH_FIELD_NUMBER, MEMBER(container.all)},
    {"host-tasks", BERTH_FIELD_NUMBER, MEMBER(container.hosts)},
    {"own-spaces", BERTH_FIELD_FLAG, MEMBER(container.has_spaces)},
    {"job", BERTH_FIELD_NUMBER, MEMBER(job)},
    {"report-fd", BERTH_FIELD_DESCRIPTOR, MEMBER(report)},
    {"memory-fd", BERTH_FIELD_DESCRIPTOR, MEMBER(memory)},
    {"tasks-fd", BERTH_FIELD_DESCRIPTOR, MEMBER(tasks)},
    {"ended-fd", BERTH_FIELD_DESCRIPTOR, MEMBER(ended)},
    {0},
};

static const struct berth_field mpi_fields[] = {
    {"holder", BERTH_FIELD_NUMBER, MEMBER(mpi.holder)},
    {"mounts", BERTH_FIELD_NUMBER, MEMBER(mpi.mounts)},
    {"seconds", BERTH_FIELD_NUMBER, MEMBER(mpi.seconds)},
    {"stderr-fd", BERTH_FIELD_DESCRIPTOR, MEMBER(mpi.task_stderr)},
    {"directory", BERTH_FIELD_TEXT, MEMBER(mpi.directory)},
    {"image-directory", BERTH_FIELD_TEXT, MEMBER(mpi.image_directory)},
    {"prefers-image", BERTH_FIELD_FLAG, MEMBER(mpi.prefers_image)},
    {0},
};

/* A request has no table of fields: its fields are options (request/wire.h). */
static const struct {
    const char *label;
    const struct berth_field *fields;
    size_t offset; /* of the structure */
} parts[] = {
    {"request", NULL, MEMBER(request)},
    {"asked", NULL, MEMBER(asked)},
    {"terms", berth_terms_fields, MEMBER(terms)},
    {"step", step_fields, 0},
    {"task", task_fields, 0},
    {"mpi", mpi_fields, 0},
};

enum { PARTS = sizeof(parts) / sizeof(parts[0]) };

/* Append a part, unless all of its fields are empty. */
static void put_part(struct berth_buf *buf, size_t part,
                     const struct berth_order *order)
{
    const void *it = (const char *)order + parts[part].offset;
    size_t before = buf->used;
    size_t start;

    berth_parts_label(buf, parts[part].label);
    start = buf->used;
    if (parts[part].fields)
        berth_fields_put(buf, parts[part].fields, it);
    else
        berth_wire_put_request(buf, it);
    if (buf->used == start)
        buf->used = before;
}

int berth_order_put(const struct berth_order *order, struct berth_buf *buf,
                    struct berth_err *err)
{
    size_t start = buf->used;

    berth_buf_puts(buf, BERTH_PARTS_FORM);
    for (size_t i = 0; i < PARTS; i++)
        put_part(buf, i, order);
    berth_buf_puts(buf, BERTH_PARTS_END);
    if (buf->failed)
        return berth_err_oom(err);
    if (buf->used - start > BERTH_ORDER_MAX)
        return berth_wire_refuse(buf->used - start, BERTH_ORDER_MAX, err);
    return 0;
}

static int get_part(const char *label, char *fields, struct berth_order *order,
                    struct berth_err *err)
{
    for (size_t i = 0; i < PARTS && fields; i++) {
        void *it = (char *)order + parts[i].offset;

        if (strcmp(parts[i].label, label) != 0)
            continue;
        if (parts[i].fields)
            return berth_fields_get(fields, parts[i].fields, it, err);
        berth_request_fini(it);
        return berth_wire_get_request(fields, it, err);
    }
    return berth_err_damaged(err, "%s", label);
}

int berth_order_get(const char *text, struct berth_order *ret, struct berth_err *err)
{
    BERTH_ORDER struct berth_order order = BERTH_ORDER_EMPTY;
    BERTH_FREE char *copy = NULL;
    char *next, *label, *fields;

    if (berth_parts_open(text, BERTH_ORDER_MAX, &copy, &next, err) < 0)
        return -1;
    label = berth_parts_next(&next, &fields);
    while (label) {
        if (get_part(label, fields, &order, err) < 0)
            return -1;
        label = berth_parts_next(&next, &fields);
    }
    *ret = berth_steal(&order);
    return 0;
}

void berth_order_fini(struct berth_order *order)
{
    berth_request_fini(&order->request);
    berth_request_fini(&order->asked);
    berth_terms_fini(&order->terms);
    berth_fields_free(step_fields, order);
    berth_fields_free(task_fields, order);
    berth_fields_free(mpi_fields, order);
    *order = (struct berth_order){0};
}

bool berth_order_het_step(const struct berth_order_step *step, char *const *task)
{
    return step->is_several && !berth_environ_value(task, "SLURM_HET_SIZE");
}

const char *berth_order_why_step(const struct berth_order *order, const char *separate)
{
    if (!berth_request_has_job_lifetime(&order->request))
        return NULL;
    if (!order->job)
        return "this is not a step of srun";
    if (separate)
        return "each task has a container of its own";
    /* a container with a name is a container of the job in any case */
    if (order->container.others && !order->request.container_name)
        return "the step has several containers on this node";
    return NULL;
}

const char *berth_order_inside(const struct berth_order *order, const char **ret_why)
{
    const char *word = berth_text_or(order->terms.inside, "srun");
    const char *why = NULL;

    if (!order->step.nodes)
        why = "berth run does not know the nodes of the job";
    else if (order->is_closed)
        why = "--contain or --containall closes the container";
    else if (strcmp(word, "none") == 0)
        why = "the site denies it (inside: none)";
    if (ret_why)
        *ret_why = why;
    if (why)
        return NULL;
    return word;
}

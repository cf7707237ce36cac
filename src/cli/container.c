/* SPDX-License-Identifier: Apache-2.0 */
/* Containers that run: writes and reads them as lines of text, and chooses the one that
 * a user means. */

#include "cli/container.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fields.h"
#include "base/grow.h"
#include "base/text.h"

#define LABEL "berth-container:"

/* Bytes of the name in a line of 1024: an escape makes three of each. */
enum { IMAGE_MAX = 250 };

#define MEMBER(member) offsetof(struct berth_container, member)

static const struct berth_field fields[] = {
    {"node", BERTH_FIELD_TEXT, MEMBER(node)},
    {"job", BERTH_FIELD_NUMBER, MEMBER(job)},
    {"step", BERTH_FIELD_DESCRIPTOR, MEMBER(step)},
    {"component", BERTH_FIELD_DESCRIPTOR, MEMBER(component)},
    {"rank", BERTH_FIELD_DESCRIPTOR, MEMBER(rank)},
    {"tasks", BERTH_FIELD_NUMBER, MEMBER(tasks)},
    {"since", BERTH_FIELD_NUMBER, MEMBER(since)},
    {"memory", BERTH_FIELD_DESCRIPTOR, MEMBER(memory)},
    {"cpu", BERTH_FIELD_DESCRIPTOR, MEMBER(cpu)},
    {"holder", BERTH_FIELD_NUMBER, MEMBER(holder)},
    {"image", BERTH_FIELD_TEXT, MEMBER(image)},
    {0},
};

void berth_container_put(const struct berth_container *container, struct berth_buf *buf)
{
    struct berth_container shown = *container;
    size_t length = strlen(container->image);
    BERTH_FREE char *end = NULL;

    if (length > IMAGE_MAX &&
        asprintf(&end, "...%s", container->image + length - IMAGE_MAX) > 0)
        shown.image = end;
    berth_buf_puts(buf, LABEL);
    berth_fields_put(buf, fields, &shown);
    berth_buf_puts(buf, "\n");
}

static int get(char *line, int offset, struct berth_containers *ret,
               struct berth_err *err)
{
    struct berth_container item = {.step = -1,
                                   .component = -1,
                                   .rank = -1,
                                   .memory = -1,
                                   .cpu = -1,
                                   .offset = offset};
    int result = berth_fields_get(line, fields, &item, err);

    if (result == 0 && (!item.node || !item.image || item.holder <= 0))
        result = berth_err_damaged(err, "%s", LABEL);
    if (result == 0 && berth_append(ret, &item) < 0)
        result = berth_err_oom(err);
    berth_container_fini(&item);
    return result;
}

int berth_containers_get(char *text, int offset, struct berth_containers *ret,
                         struct berth_err *err)
{
    char *line;

    while ((line = strsep(&text, "\n")))
        if (berth_text_starts(line, LABEL) &&
            get(line + strlen(LABEL), offset, ret, err) < 0)
            return -1;
    return 0;
}

static int compare(const void *one, const void *two)
{
    const struct berth_container *a = one;
    const struct berth_container *b = two;
    int nodes = strverscmp(a->node, b->node);

    if (a->job != b->job)
        return a->job < b->job ? -1 : 1;
    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    return nodes ? nodes : (a->rank > b->rank) - (a->rank < b->rank);
}

void berth_containers_sort(struct berth_containers *containers)
{
    if (containers->count)
        qsort(containers->items, containers->count, sizeof(*containers->items),
              compare);
}

int berth_selector_number(const char *text, char **ret_end)
{
    long number = strtol(text, ret_end, 10);

    return *text < '0' || *text > '9' || number > INT_MAX ? -1 : (int)number;
}

static int refuse_name(const char *text, struct berth_err *err)
{
    return berth_err_expected(err, "JOBID or JOBID.STEPID", text);
}

int berth_selector_read(char *text, struct berth_selector *ret, struct berth_err *err)
{
    char *step = strchr(text, '.');
    char *end = NULL;

    if (*text < '1' || *text > '9' || text[strspn(text, "0123456789_+.")] != '\0')
        return refuse_name(text, err);
    ret->job = text;
    if (!step)
        return 0;
    ret->step = berth_selector_number(step + 1, &end);
    if (ret->step >= 0 && *end == '+' &&
        (ret->component = berth_selector_number(end + 1, &end)) < 0)
        return refuse_name(text, err);
    if (ret->step < 0 || *end)
        return refuse_name(text, err);
    *step = '\0';
    return 0;
}

static bool matches(const struct berth_container *item,
                    const struct berth_selector *selector)
{
    return (item->tasks || selector->may_be_idle) &&
           (selector->step < 0 || item->step == selector->step) &&
           (!selector->node || strcmp(item->node, selector->node) == 0) &&
           (selector->component < 0 || item->component == selector->component ||
            (selector->component == 0 && item->component < 0));
}

/* Returns the last of CONTAINERS that SELECTOR matches, or NULL. */
static const struct berth_container *find(const struct berth_containers *containers,
                                          const struct berth_selector *selector)
{
    for (size_t i = containers->count; i > 0; i--)
        if (matches(&containers->items[i - 1], selector))
            return &containers->items[i - 1];
    return NULL;
}

const struct berth_container *
berth_containers_choose(const struct berth_containers *containers,
                        const struct berth_selector *selector, struct berth_err *err)
{
    struct berth_selector known = *selector;
    const struct berth_container *newest = find(containers, selector);
    const struct berth_container *first = NULL;

    if (!newest) {
        berth_err_set(err, "job %s: no such container; see berth ps %s", selector->job,
                      selector->job);
        return NULL;
    }
    known.step = newest->step;
    for (size_t i = 0; i < containers->count; i++) {
        const struct berth_container *item = &containers->items[i];

        if (!matches(item, &known))
            continue;
        if (!first)
            first = item;
        if (item->component != first->component ||
            strcmp(item->image, first->image) != 0) {
            berth_err_set(err,
                          "job %s: step %d has several containers; choose one by "
                          "--component or --rank, see berth ps %s",
                          selector->job, first->step, selector->job);
            return NULL;
        }
    }
    return first;
}

void berth_container_fini(struct berth_container *container)
{
    berth_fields_free(fields, container);
    *container = (struct berth_container){0};
}

void berth_containers_fini(struct berth_containers *containers)
{
    for (size_t i = 0; i < containers->count; i++)
        berth_container_fini(&containers->items[i]);
    free(containers->items);
    *containers = (struct berth_containers){0};
}

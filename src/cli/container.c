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
#include "base/strvec.h"
#include "base/text.h"

#define LABEL "berth-container:"

/* Bytes of the name in a line of 1024: an escape makes three of each. And of a line. */
enum { IMAGE_MAX = 250, LINE_MAX_BYTES = 1000 };

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
    {"options", BERTH_FIELD_TEXT, MEMBER(options)},
    {"image", BERTH_FIELD_TEXT, MEMBER(image)},
    {0},
};

static void put_line(const struct berth_container *container, struct berth_buf *buf)
{
    berth_buf_puts(buf, LABEL);
    berth_fields_put(buf, fields, container);
    berth_buf_puts(buf, "\n");
}

void berth_container_put(const struct berth_container *container, struct berth_buf *buf)
{
    struct berth_container shown = *container;
    size_t length = strlen(container->image);
    BERTH_FREE char *end = NULL;
    BERTH_FREE char *cut = container->options ? strdup(container->options) : NULL;
    size_t start = buf->used;

    if (length > IMAGE_MAX &&
        asprintf(&end, "...%s", container->image + length - IMAGE_MAX) > 0)
        shown.image = end;
    shown.options = cut;
    put_line(&shown, buf);
    while (!buf->failed && buf->used - start > LINE_MAX_BYTES && cut && *cut) {
        buf->used = start;
        cut[strlen(cut) / 2] = '\0';
        put_line(&shown, buf);
    }
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
    if (result == 0 && !item.options) {
        item.options = strdup("");
        result = item.options ? 0 : berth_err_oom(err);
    }
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

/* Does the job keep ITEM by NAME? Its options begin with the name (plan/launch.h). */
static bool has_name(const struct berth_container *item, const char *name)
{
    static const char option[] = "--container-name=";
    const char *value;
    size_t length;

    if (!berth_text_starts(item->options, option))
        return false;
    value = item->options + strlen(option);
    length = strcspn(value, " ");
    return length == strlen(name) && strncmp(value, name, length) == 0;
}

static bool matches(const struct berth_container *item,
                    const struct berth_selector *selector)
{
    bool is_only = selector->component == 0 && item->component < 0;

    if (selector->step >= 0 && item->step != selector->step)
        return false;
    if (selector->node && strcmp(item->node, selector->node) != 0)
        return false;
    if (selector->holder >= 0 && item->holder != selector->holder)
        return false;
    if (selector->name && !has_name(item, selector->name))
        return false;
    if (selector->component < 0)
        return true;
    return item->component == selector->component || is_only;
}

/* Returns the last of CONTAINERS that SELECTOR matches, rather one in which a task
 * runs; NULL: there is none. */
static const struct berth_container *find(const struct berth_containers *containers,
                                          const struct berth_selector *selector)
{
    const struct berth_container *kept = NULL;

    for (size_t i = containers->count; i > 0; i--) {
        const struct berth_container *item = &containers->items[i - 1];

        if (!matches(item, selector))
            continue;
        if (item->tasks)
            return item;
        kept = kept ? kept : item;
    }
    return kept;
}

/* Write the nodes of CONTAINERS that SELECTOR matches, with commas. */
static void list_nodes(const struct berth_containers *containers,
                       const struct berth_selector *selector, struct berth_buf *ret)
{
    BERTH_STRVEC struct berth_strvec nodes = {0};

    for (size_t i = 0; i < containers->count; i++) {
        const char *node = containers->items[i].node;

        if (!matches(&containers->items[i], selector) || berth_strvec_has(&nodes, node))
            continue;
        berth_buf_addf(ret, "%s%s", ret->used ? ", " : "", node);
        berth_strvec_push(&nodes, node);
    }
}

/* SELECTOR matches none of CONTAINERS, which are all of the job that have its rank: say
 * what it should have been. */
static void refuse_none(const struct berth_containers *containers,
                        const struct berth_selector *selector, struct berth_err *err)
{
    struct berth_selector anywhere = *selector;
    BERTH_BUF struct berth_buf nodes = {0};
    const char *job = selector->job;

    anywhere.node = NULL;
    list_nodes(containers, &anywhere, &nodes);
    if (containers->count == 0 && selector->rank < 0)
        berth_err_set(err, "job %s: no step of it runs in an image", job);
    else if (containers->count == 0)
        berth_err_set(err,
                      "job %s: no task of rank %d runs in an image; choose by "
                      "--container, see berth ps %s",
                      job, selector->rank, job);
    else if (nodes.used)
        berth_err_set(err, "job %s: no such container on '%s'; expected -w %s", job,
                      selector->node, nodes.text);
    else if (selector->step >= 0 && selector->component < 0 && selector->holder < 0)
        berth_err_set(err, "job %s: step %d does not run in an image; see berth ps %s",
                      job, selector->step, job);
    else
        berth_err_set(err, "job %s: no such container; see berth ps %s", job, job);
}

/* Are the two on one node? */
static bool is_beside(const struct berth_container *one,
                      const struct berth_container *other)
{
    return strcmp(one->node, other->node) == 0;
}

/* Would a user who means ONE be wrong with OTHER, of the same step? On several nodes a
 * step has one container for each, which was made alike. What the job keeps is shared
 * by steps if it can be: two on a node differ, even where their options do not. */
static bool differs(const struct berth_container *one,
                    const struct berth_container *other)
{
    if (one->component != other->component || strcmp(one->image, other->image) != 0 ||
        strcmp(one->options, other->options) != 0)
        return true;
    return one->step < 0 && one->holder != other->holder && is_beside(one, other);
}

/* Does SELECTOR mean a container on one node, and not the like ones of a step? Process
 * ids of two nodes may be the same. */
static bool needs_node(const struct berth_selector *selector)
{
    return selector->is_to_save || selector->holder >= 0;
}

const struct berth_container *
berth_containers_choose(const struct berth_containers *containers,
                        const struct berth_selector *selector,
                        struct berth_containers *ret_several, struct berth_err *err)
{
    const struct berth_container *newest = find(containers, selector);
    const struct berth_container *first = NULL;
    bool is_clear = true;

    if (!newest) {
        refuse_none(containers, selector, err);
        return NULL;
    }
    for (size_t i = 0; i < containers->count; i++) {
        const struct berth_container *item = &containers->items[i];
        struct berth_container borrowed;
        bool is_of_step =
            item->step == newest->step && (item->tasks > 0) == (newest->tasks > 0);

        if (!matches(item, selector) || !is_of_step)
            continue;
        first = first ? first : item;
        if (differs(first, item) || (needs_node(selector) && !is_beside(first, item)))
            is_clear = false;
        borrowed = *item;
        if (berth_append(ret_several, &borrowed) < 0) {
            berth_err_oom(err);
            return NULL;
        }
    }
    if (is_clear)
        return first;
    if (newest->tasks && newest->step >= 0)
        berth_err_set(err,
                      "job %s: step %d has several containers; choose one by -w, "
                      "--container, --component or --rank",
                      selector->job, newest->step);
    else
        berth_err_set(err,
                      "job %s: it has several containers; choose one by -w or "
                      "--container",
                      selector->job);
    return NULL;
}

int berth_container_refuse_ended(struct berth_err *err)
{
    return berth_err_set(err, "the container has ended; see berth ps");
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

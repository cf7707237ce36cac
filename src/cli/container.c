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

/* Slurm cuts lines of a task at 1024 bytes. Of these the name of an image gets so many,
 * each of which may be escaped by three, and the whole line so many. */
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

/* Returns IMAGE without its start, which is the less telling part, if it is too long
 * for a line. The caller frees it; NULL: out of memory. */
static char *shorten(const char *image)
{
    const size_t length = strlen(image);
    char *end;

    if (length <= IMAGE_MAX)
        return strdup(image);
    if (asprintf(&end, "...%s", image + length - IMAGE_MAX) < 0)
        return NULL;
    return end;
}

void berth_container_put(const struct berth_container *container, struct berth_buf *buf)
{
    struct berth_container shown = *container;
    BERTH_FREE char *image = shorten(container->image);
    BERTH_FREE char *options = strdup(berth_text_or(container->options, ""));
    const size_t start = buf->used;

    if (!image || !options) {
        buf->failed = true;
        return;
    }
    shown.image = image;
    shown.options = options;
    put_line(&shown, buf);

    /* how long the options are in the line is known when they are in it */
    while (!buf->failed && buf->used - start > LINE_MAX_BYTES && *options) {
        options[strlen(options) / 2] = '\0';
        buf->used = start;
        put_line(&shown, buf);
    }
}

/* Check what LINE had, and add what an older release of berth does not write. */
static int complete(struct berth_container *item, struct berth_err *err)
{
    if (!item->node || !item->image || item->holder <= 0)
        return berth_err_damaged(err, "%s", LABEL);
    if (!item->options)
        item->options = strdup("");
    return berth_err_oom_if(!item->options, err);
}

/* Read LINE, without its label, into ITEM. */
static int read_item(char *line, struct berth_container *item, struct berth_err *err)
{
    if (berth_fields_get(line, fields, item, err) < 0)
        return -1;
    return complete(item, err);
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
    int result = read_item(line, &item, err);

    if (result == 0 && berth_append(ret, &item) < 0)
        result = berth_err_oom(err);
    berth_container_fini(&item);
    return result;
}

int berth_containers_get(char *text, int offset, struct berth_containers *ret,
                         struct berth_err *err)
{
    while (text) {
        char *line = strsep(&text, "\n");

        if (!berth_text_starts(line, LABEL))
            continue;
        if (get(line + strlen(LABEL), offset, ret, err) < 0)
            return -1;
    }
    return 0;
}

/* Returns which of two numbers is larger, for qsort(3). */
static int compare_numbers(long long a, long long b)
{
    if (a < b)
        return -1;
    return a > b;
}

/* By job, step, node and rank. */
static int compare(const void *one, const void *two)
{
    const struct berth_container *a = one;
    const struct berth_container *b = two;
    int order = compare_numbers(a->job, b->job);

    if (order == 0)
        order = compare_numbers(a->step, b->step);
    if (order == 0)
        order = strverscmp(a->node, b->node);
    if (order == 0)
        order = compare_numbers(a->rank, b->rank);
    return order;
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
    bool is_number = *text >= '0' && *text <= '9';

    if (!is_number || number > INT_MAX)
        return -1;
    return (int)number;
}

static int refuse_name(const char *text, struct berth_err *err)
{
    return berth_err_expected(err, "JOBID or JOBID.STEPID", text);
}

/* Read STEPID[+COMPONENT] in TEXT. Returns false if it is something else. */
static bool read_step(const char *text, struct berth_selector *ret)
{
    char *end;

    ret->step = berth_selector_number(text, &end);
    if (ret->step < 0)
        return false;
    if (*end == '+') {
        ret->component = berth_selector_number(end + 1, &end);
        if (ret->component < 0)
            return false;
    }
    return *end == '\0';
}

int berth_selector_read(char *text, struct berth_selector *ret, struct berth_err *err)
{
    char *point = strchr(text, '.');
    bool is_job = *text >= '1' && *text <= '9';

    if (!is_job || text[strspn(text, "0123456789_+.")] != '\0')
        return refuse_name(text, err);
    if (point) {
        if (!read_step(point + 1, ret))
            return refuse_name(text, err);
        *point = '\0';
    }
    ret->job = text;
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

/* Is ITEM the component that SELECTOR means? A step with one component has number 0. */
static bool is_component(const struct berth_container *item,
                         const struct berth_selector *selector)
{
    int component = item->component < 0 ? 0 : item->component;

    return selector->component < 0 || selector->component == component;
}

static bool matches(const struct berth_container *item,
                    const struct berth_selector *selector)
{
    if (selector->step >= 0 && item->step != selector->step)
        return false;
    if (selector->node && strcmp(item->node, selector->node) != 0)
        return false;
    if (selector->holder >= 0 && item->holder != selector->holder)
        return false;
    if (selector->name && !has_name(item, selector->name))
        return false;
    return is_component(item, selector);
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
        if (!kept)
            kept = item;
    }
    return kept;
}

/* List the nodes of CONTAINERS that SELECTOR matches. */
static void list_nodes(const struct berth_containers *containers,
                       const struct berth_selector *selector, struct berth_strvec *ret)
{
    for (size_t i = 0; i < containers->count; i++)
        if (matches(&containers->items[i], selector))
            berth_strvec_push_once(ret, containers->items[i].node);
}

/* No container matches on the node of SELECTOR, but on NODES. */
static void refuse_node(const struct berth_selector *selector,
                        const struct berth_strvec *nodes, struct berth_err *err)
{
    BERTH_BUF struct berth_buf list = {0};

    berth_strvec_join(nodes, ", ", &list);
    berth_err_set(err, "job %s: no such container on '%s'; expected -w %s",
                  selector->job, selector->node, berth_buf_text(&list));
}

/* Does SELECTOR name only a step? */
static bool is_step_alone(const struct berth_selector *selector)
{
    return selector->step >= 0 && selector->component < 0 && selector->holder < 0;
}

/* SELECTOR matches none of CONTAINERS, which are all of the job that have its rank: say
 * what it should have been. */
static void refuse_none(const struct berth_containers *containers,
                        const struct berth_selector *selector, struct berth_err *err)
{
    struct berth_selector anywhere = *selector;
    BERTH_STRVEC struct berth_strvec nodes = {0};
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
    else if (nodes.count)
        refuse_node(selector, &nodes, err);
    else if (is_step_alone(selector))
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

/* Was ONE made as OTHER, of the same step? */
static bool is_alike(const struct berth_container *one,
                     const struct berth_container *other)
{
    return one->component == other->component &&
           strcmp(one->image, other->image) == 0 &&
           strcmp(one->options, other->options) == 0;
}

/* Would a user who means ONE be wrong with OTHER, of the same step? On several nodes a
 * step has one container for each, which was made alike. What the job keeps is shared
 * by steps if it can be: two on a node differ, even where their options do not. */
static bool differs(const struct berth_container *one,
                    const struct berth_container *other)
{
    bool is_kept = one->step < 0;

    if (!is_alike(one, other))
        return true;
    return is_kept && one->holder != other->holder && is_beside(one, other);
}

/* Does SELECTOR mean a container on one node, and not the like ones of a step? Process
 * ids of two nodes may be the same. */
static bool needs_node(const struct berth_selector *selector)
{
    return selector->is_to_save || selector->holder >= 0;
}

/* Is ITEM of the step of NEWEST? A step has containers with tasks; the job, as a step
 * of its own, those that it keeps. */
static bool is_of_step(const struct berth_container *item,
                       const struct berth_container *newest)
{
    bool has_tasks = item->tasks > 0;
    bool newest_has_tasks = newest->tasks > 0;

    return item->step == newest->step && has_tasks == newest_has_tasks;
}

/* Append to RET those of CONTAINERS that SELECTOR matches and that are of the step of
 * NEWEST. RET borrows their texts. */
static int list_step(const struct berth_containers *containers,
                     const struct berth_selector *selector,
                     const struct berth_container *newest, struct berth_containers *ret,
                     struct berth_err *err)
{
    for (size_t i = 0; i < containers->count; i++) {
        struct berth_container item = containers->items[i];

        if (!matches(&item, selector) || !is_of_step(&item, newest))
            continue;
        if (berth_append(ret, &item) < 0)
            return berth_err_oom(err);
    }
    return 0;
}

/* Is it clear which of SEVERAL, not none, SELECTOR means: are all like the first? */
static bool is_clear(const struct berth_containers *several,
                     const struct berth_selector *selector)
{
    const struct berth_container *first = &several->items[0];

    for (size_t i = 1; i < several->count; i++) {
        const struct berth_container *item = &several->items[i];

        if (differs(first, item))
            return false;
        if (needs_node(selector) && !is_beside(first, item))
            return false;
    }
    return true;
}

/* SELECTOR matches several containers that differ, one of which is NEWEST. */
static void refuse_several(const struct berth_selector *selector,
                           const struct berth_container *newest, struct berth_err *err)
{
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
}

const struct berth_container *
berth_containers_choose(const struct berth_containers *containers,
                        const struct berth_selector *selector,
                        struct berth_containers *ret_several, struct berth_err *err)
{
    const struct berth_container *newest = find(containers, selector);

    if (!newest) {
        refuse_none(containers, selector, err);
        return NULL;
    }
    if (list_step(containers, selector, newest, ret_several, err) < 0)
        return NULL;
    if (!is_clear(ret_several, selector)) {
        refuse_several(selector, newest, err);
        return NULL;
    }
    return &ret_several->items[0];
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

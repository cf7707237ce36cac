/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the mounts and variables of a container, with their sources and reasons. */

#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/text.h"
#include "request/path.h"

static void fini_item(struct berth_plan_item *item)
{
    free(item->name);
    free(item->value);
    free(item->flags);
    free(item->why);
}

/* Append ITEM, and copies of its texts. */
static void add(struct berth_plan *plan, struct berth_plan_list *list,
                struct berth_plan_item item, const char *name, const char *value,
                const char *why)
{
    const char *flags = item.flags;
    bool has_all;

    item.flags = NULL;
    item.name = strdup(name);
    item.why = strdup(why);
    has_all = item.name && item.why;
    if (value) {
        item.value = strdup(value);
        has_all = has_all && item.value;
    }
    if (flags) {
        item.flags = strdup(flags);
        has_all = has_all && item.flags;
    }
    if (!has_all || berth_append(list, &item) < 0)
        plan->failed = true;
    fini_item(&item); /* empty, if the list has it */
}

/* Remove the mount on PLACE, a clean path. */
static void remove_mount(struct berth_plan_list *mounts, const char *place)
{
    size_t kept = 0;

    for (size_t i = 0; i < mounts->count; i++) {
        if (strcmp(mounts->items[i].destination, place) == 0) {
            fini_item(&mounts->items[i]);
            continue;
        }
        mounts->items[kept] = mounts->items[i];
        kept++;
    }
    mounts->count = kept;
}

/* Move the last mount before the first that is on a place in its directory. */
static void sort_last(struct berth_plan_list *mounts)
{
    const size_t last = mounts->count - 1;
    const struct berth_plan_item item = mounts->items[last];
    size_t at = 0;

    while (at < last &&
           !berth_path_is_within(mounts->items[at].destination, item.destination))
        at++;
    memmove(&mounts->items[at + 1], &mounts->items[at],
            (last - at) * sizeof(mounts->items[0]));
    mounts->items[at] = item;
}

/* The same as berth_plan_mount() with MOUNT. */
static void plan_mount(struct berth_plan *plan, const struct berth_mount *mount,
                       const char *from, const char *why)
{
    const struct berth_plan_item item = {
        .mode = mount->mode, .flags = mount->flags, .from = from};
    BERTH_FREE char *place = berth_path_clean(mount->destination);

    plan->failed |= !place;
    if (!place)
        return;
    remove_mount(&plan->mounts, place);
    add(plan, &plan->mounts, item, mount->source, place, why);
    if (!plan->failed)
        sort_last(&plan->mounts);
}

void berth_plan_mount(struct berth_plan *plan, const char *source,
                      const char *destination, enum berth_mount_mode mode,
                      const char *from, const char *why)
{
    const struct berth_mount mount = {
        .source = (char *)source, .destination = (char *)destination, .mode = mode};

    plan_mount(plan, &mount, from, why);
}

void berth_plan_variable(struct berth_plan *plan, const char *name, const char *value,
                         const char *from, const char *why)
{
    const struct berth_plan_item item = {.from = from};

    add(plan, &plan->variables, item, name, value, why);
}

int berth_plan_mounts(struct berth_plan *plan, const struct berth_strvec *list,
                      const char *from, const char *why, struct berth_err *err)
{
    for (size_t i = 0; i < list->count; i++) {
        BERTH_MOUNT struct berth_mount mount = {0};

        if (berth_mount_parse(list->items[i], NULL, &mount, err) < 0)
            return -1;
        plan_mount(plan, &mount, from, why);
    }
    return 0;
}

/* Do Apptainer and Singularity set ITEM in each image? */
static bool is_of_runtime(const char *item)
{
    static const char *const items[] = {
        "APPTAINER_", "SINGULARITY_", "PROMPT_COMMAND=PS1=",
        "PS1=",       "USER_PATH=",   "LD_LIBRARY_PATH=/.singularity.d/libs",
        NULL,
    };

    return berth_text_starts_any(item, items);
}

/* Is ITEM a variable of the source FROM, if the runtime or the image may have set it?
 */
static bool is_of(const char *item, const char *from)
{
    if (strcmp(from, BERTH_FROM_RUNTIME) == 0)
        return is_of_runtime(item);
    if (strcmp(from, BERTH_FROM_IMAGE) == 0)
        return !is_of_runtime(item);
    return true;
}

void berth_plan_set(struct berth_plan *plan, const struct berth_strvec *list,
                    const char *from, const char *why)
{
    for (size_t i = 0; i < list->count; i++) {
        const char *item = list->items[i];
        BERTH_FREE char *name = strndup(item, strcspn(item, "="));

        plan->failed |= !name;
        if (name && is_of(item, from))
            berth_plan_variable(plan, name, berth_text_after(item, '='), from, why);
    }
    plan->failed |= list->failed;
}

static void fini_list(struct berth_plan_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        fini_item(&list->items[i]);
    free(list->items);
}

void berth_plan_fini(struct berth_plan *plan)
{
    fini_list(&plan->mounts);
    fini_list(&plan->variables);
    *plan = (struct berth_plan){0};
}

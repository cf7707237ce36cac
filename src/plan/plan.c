/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the mounts and variables of a container, with their sources and reasons. */

#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/grow.h"
#include "base/text.h"

void berth_plan_mount(struct berth_plan *plan, const char *source,
                      const char *destination, enum berth_mount_mode mode,
                      const char *from, const char *why)
{
    struct berth_plan_mount mount = {.source = strdup(source),
                                     .destination = strdup(destination),
                                     .mode = mode,
                                     .from = from,
                                     .why = strdup(why)};

    if (!mount.source || !mount.destination || !mount.why ||
        berth_grow(&plan->mounts, plan->mount_count, &plan->mount_room, sizeof(mount)) <
            0) {
        free(mount.source);
        free(mount.destination);
        free(mount.why);
        plan->failed = true;
        return;
    }
    plan->mounts[plan->mount_count++] = mount;
}

void berth_plan_variable(struct berth_plan *plan, const char *name, const char *value,
                         const char *from, const char *why)
{
    struct berth_plan_variable variable = {.name = strdup(name),
                                           .value = value ? strdup(value) : NULL,
                                           .from = from,
                                           .why = strdup(why)};

    if (!variable.name || (value && !variable.value) || !variable.why ||
        berth_grow(&plan->variables, plan->variable_count, &plan->variable_room,
                   sizeof(variable)) < 0) {
        free(variable.name);
        free(variable.value);
        free(variable.why);
        plan->failed = true;
        return;
    }
    plan->variables[plan->variable_count++] = variable;
}

int berth_plan_mounts(struct berth_plan *plan, const struct berth_strvec *list,
                      const char *from, const char *why, struct berth_err *err)
{
    for (size_t i = 0; list && i < list->count; i++) {
        BERTH_MOUNT struct berth_mount mount = {0};

        if (berth_mount_parse(list->items[i], NULL, &mount, err) < 0)
            return -1;
        berth_plan_mount(plan, mount.source, mount.destination, mount.mode, from, why);
    }
    return 0;
}

/* Append ITEM, NAME=VALUE. */
static void add_item(struct berth_plan *plan, const char *item, const char *from,
                     const char *why)
{
    const char *equals = strchr(item, '=');
    BERTH_FREE char *name = equals ? strndup(item, (size_t)(equals - item)) : NULL;

    if (name)
        berth_plan_variable(plan, name, equals + 1, from, why);
    else
        plan->failed |= equals != NULL;
}

void berth_plan_set(struct berth_plan *plan, const struct berth_strvec *list,
                    const char *from, const char *why)
{
    for (size_t i = 0; i < list->count; i++)
        add_item(plan, list->items[i], from, why);
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

static bool is_in(const char *item, enum berth_plan_part part)
{
    return part == BERTH_PLAN_ALL ||
           is_of_runtime(item) == (part == BERTH_PLAN_RUNTIME);
}

void berth_plan_change(struct berth_plan *plan, char *const *before, char *const *after,
                       enum berth_plan_part part, const char *from, const char *why)
{
    for (char *const *item = after; item && *item; item++) {
        const char *was = berth_environ_value(before, *item);
        const char *is = strchr(*item, '=');

        if (is && is_in(*item, part) && (!was || strcmp(was, is + 1) != 0))
            add_item(plan, *item, from, why);
    }
    for (char *const *item = before; item && *item; item++) {
        BERTH_FREE char *name = strndup(*item, strcspn(*item, "="));

        if (name && strchr(*item, '=') && is_in(*item, part) &&
            !berth_environ_value(after, *item))
            berth_plan_variable(plan, name, NULL, from, why);
    }
}

void berth_plan_fini(struct berth_plan *plan)
{
    for (size_t i = 0; i < plan->mount_count; i++) {
        free(plan->mounts[i].source);
        free(plan->mounts[i].destination);
        free(plan->mounts[i].why);
    }
    for (size_t i = 0; i < plan->variable_count; i++) {
        free(plan->variables[i].name);
        free(plan->variables[i].value);
        free(plan->variables[i].why);
    }
    free(plan->mounts);
    free(plan->variables);
    *plan = (struct berth_plan){0};
}

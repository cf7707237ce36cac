/* SPDX-License-Identifier: Apache-2.0 */
/* The stages that berth-mpi makes for the process in the container, and what that
 * answers about them. */

#include "bindover/parent.h"

#include <stdio.h>
#include <string.h>

#include "step/channel.h"

int berth_parent_get_stage(const struct berth_inside *inside, size_t at,
                           struct berth_replacement *replacement, struct berth_err *err)
{
    struct berth_channel_message answer;
    char number[24];
    char *newline;

    snprintf(number, sizeof(number), "%zu", at);
    if (berth_channel_send(inside->channel, BERTH_CHANNEL_STAGE, number, err) < 0 ||
        berth_channel_receive(inside->channel, NULL, &answer, err) < 0)
        return -1;
    newline = strchr(answer.text, '\n');
    if (answer.kind != BERTH_CHANNEL_STAGED || !newline)
        return berth_err_set(err, "%s", answer.text);
    *newline = '\0';
    return berth_replacement_open(inside->host_cache, newline + 1, answer.text,
                                  replacement, err);
}

void berth_parent_put(const struct berth_replacement *replacement,
                      struct berth_binding *binding)
{
    static const char *const options[] = {
        [BERTH_PROFILE_MPI] = "--mpi-bind",
        [BERTH_PROFILE_FABRIC] = "--container-libs",
        [BERTH_PROFILE_LIBRARIES] = "--container-libs",
    };
    const char *option = options[replacement->stack->profile->kind];

    berth_strvec_append(&binding->set, &replacement->set);
    for (size_t i = 0; i < replacement->binds.count; i += 2) {
        berth_strvec_pushf(&binding->binds, "%s%s", replacement->host,
                           replacement->binds.items[i] + strlen(replacement->mounted));
        berth_strvec_push(&binding->binds, replacement->binds.items[i + 1]);
        berth_strvec_push(&binding->binds, option);
    }
}

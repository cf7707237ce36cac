/* SPDX-License-Identifier: Apache-2.0 */
/* Says what a start that takes long is doing. */

#include "run/slowstart.h"

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "base/progress.h"

/* In milliseconds. A terminal is told early. Elsewhere the lines stay, in files that
 * somebody reads later, so that a node that is just busy says nothing. */
enum { LONG_ON_TERMINAL = 2000, LONG_ELSEWHERE = 5000, EVERY = 500 };

static void say(const char *sentence)
{
    dprintf(STDERR_FILENO, "berth: %s\n", sentence);
}

static const char *phase_of(const struct berth_rendezvous *rendezvous)
{
    static const char *const phases[] = {
        [BERTH_PHASE_RUNTIME] = "the container runtime starts it",
        [BERTH_PHASE_JOB] = "waiting for the container that the job keeps",
        [BERTH_PHASE_LIBRARIES] = "reading it, and copying the host's libraries, which "
                                  "later steps use",
    };

    return phases[rendezvous->page->phase % BERTH_PHASES];
}

static bool is_ready(const struct berth_rendezvous *rendezvous)
{
    uint32_t state = rendezvous->page->state;

    return state == BERTH_RENDEZVOUS_READY || state == BERTH_RENDEZVOUS_SEPARATE;
}

void berth_slowstart_watch(const struct berth_task *task,
                           const struct berth_rendezvous *rendezvous)
{
    const struct berth_order_step *step = &task->order.step;
    const char *image = berth_request_name(&task->order.request);
    const char *node = task->launch.node;
    const bool has_terminal = isatty(STDERR_FILENO);
    const int64_t patience = has_terminal ? LONG_ON_TERMINAL : LONG_ELSEWHERE;
    struct berth_progress progress;

    if (!step->prints_component || step->is_one_file)
        return;
    if (!berth_rendezvous_goes_on(rendezvous, patience))
        return;

    berth_progress_begin(&progress, has_terminal ? STDERR_FILENO : -1, say,
                         "%s: note: image '%s': %s", node, image, phase_of(rendezvous));
    progress.began -= patience;
    while (berth_rendezvous_goes_on(rendezvous, EVERY))
        berth_progress_show(&progress, "");
    if (is_ready(rendezvous))
        berth_progress_end(&progress, "%s: note: image '%s': it was ready", node,
                           image);
    else
        berth_progress_clear(&progress); /* an error follows */
}

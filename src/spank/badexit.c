/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether the tasks of a step wait for each other, by the words that srun was
 * started with. */

#include "spank/badexit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "request/components.h"
#include "request/defaults.h"
#include "site/policy.h"
#include "request/request.h"
#include "spank/lines.h"
#include "spank/names.h"

/* Does the command line have an option of ours that starts with START? */
static bool is_typed(const struct berth_badexit *badexit, const char *start)
{
    char option[160];

    snprintf(option, sizeof(option), "--%s%s", badexit->prefix, start);
    return berth_hetgroups_has_word(badexit->line, option);
}

/* The value of option ID in the environment; NULL: it has none. */
static char *read_default(enum berth_option_id id)
{
    char name[BERTH_DEFAULTS_NAME];
    char *value;

    berth_defaults_name(id, name);
    value = getenv(name);
    return value && *value ? value : NULL;
}

bool berth_badexit_has_image(const struct berth_badexit *badexit)
{
    char image[BERTH_DEFAULTS_NAME];

    berth_defaults_name(BERTH_OPTION_IMAGE, image);
    return getenv(BERTH_JOB_VARIABLE) || getenv(image) ||
           is_typed(badexit, "container-i") ||
           berth_hetgroups_has_text(badexit->line, image);
}

static enum berth_choice choice_of(bool is_chosen)
{
    return is_chosen ? BERTH_YES : BERTH_NO;
}

/* Without --mpi-bind, a network of --container-libs implies --mpi-bind=hybrid. */
static enum berth_choice choice_in(const struct berth_request *request)
{
    if (request->mpi)
        return choice_of(berth_request_mpi_chosen(request));
    return berth_libs_need_mpi(request->libs) ? BERTH_YES : BERTH_UNSAID;
}

/* Do --mpi-bind and --container-libs make one MPI_COMM_WORLD of the tasks? The
 * command line wins over the environment, and that over the default of the job. */
static enum berth_choice asks_for_mpi(const struct berth_badexit *badexit)
{
    BERTH_REQUEST struct berth_request job = {0};
    const struct berth_request own = {.mpi = read_default(BERTH_OPTION_MPI),
                                      .libs = read_default(BERTH_OPTION_LIBS)};

    if (is_typed(badexit, "mpi-b"))
        return choice_of(!is_typed(badexit, "mpi-bind=off") &&
                         !is_typed(badexit, "mpi-bind=local"));
    for (const char *const *it = berth_libs_networks; *it; it++) {
        char option[64];

        snprintf(option, sizeof(option), "container-libs=%s", *it);
        if (is_typed(badexit, option))
            return BERTH_YES;
    }
    if (choice_in(&own))
        return choice_in(&own);
    if (berth_defaults_job(getenv(BERTH_JOB_VARIABLE), &job, NULL) < 0)
        return BERTH_UNSAID;
    return choice_in(&job);
}

/* Does a --multi-prog file name an image or a mode of --mpi-bind? */
static bool has_lines(const struct berth_badexit *badexit)
{
    return berth_lines_mention(badexit->line, "container-image") ||
           berth_lines_mention(badexit->line, "mpi-bind");
}

bool berth_badexit_wanted(const struct berth_badexit *badexit,
                          const struct berth_site *site)
{
    enum berth_choice asked = asks_for_mpi(badexit);

    if (berth_hetgroups_has_several(badexit->line))
        return berth_badexit_has_image(badexit);
    return has_lines(badexit) || asked == BERTH_YES ||
           (site && berth_policy_may_join_ranks(site, asked));
}

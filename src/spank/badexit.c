/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the ranks of a step wait for each other, as far as srun can tell. */

#include "spank/badexit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "request/components.h"
#include "commandline/defaults.h"
#include "request/request.h"
#include "spank/lines.h"
#include "spank/names.h"

/* Does the command line have the option that starts with START? */
static bool is_typed(const struct berth_badexit *badexit, const char *start)
{
    char option[160];

    snprintf(option, sizeof(option), "--%s%s", badexit->prefix, start);
    return berth_hetgroups_has_word(badexit->line, option);
}

/* What the environment says of an option; NULL: nothing. */
static char *default_of(enum berth_option_id id)
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

/* A fabric means --mpi-bind=hybrid where nothing is said of that. */
static bool has_ranks(const struct berth_request *request)
{
    return request->mpi
               ? berth_request_mpi_chosen(request)
               : request->fabric && strcmp(request->fabric, BERTH_FABRIC_OFF) != 0;
}

/* Are the tasks one MPI_COMM_WORLD, as far as --mpi-bind and --container-fabric tell?
 */
static bool has_mpi(const struct berth_badexit *badexit)
{
    BERTH_REQUEST struct berth_request job = {0};
    const struct berth_request own = {.mpi = default_of(BERTH_OPTION_MPI),
                                      .fabric = default_of(BERTH_OPTION_FABRIC)};

    if (is_typed(badexit, "mpi-b"))
        return !is_typed(badexit, "mpi-bind=off") &&
               !is_typed(badexit, "mpi-bind=local");
    if (is_typed(badexit, "container-f"))
        return !is_typed(badexit, "container-fabric=off");
    if (own.mpi || own.fabric)
        return has_ranks(&own);
    return berth_defaults_job(getenv(BERTH_JOB_VARIABLE), &job, NULL) == 0 &&
           has_ranks(&job);
}

/* Are there several programs in images? */
static bool has_lines(const struct berth_badexit *badexit)
{
    return berth_lines_mention(badexit->line, "container-image") ||
           berth_lines_mention(badexit->line, "mpi-bind");
}

bool berth_badexit_wanted(const struct berth_badexit *badexit)
{
    return berth_hetgroups_has_several(badexit->line)
               ? berth_badexit_has_image(badexit)
               : has_lines(badexit) || has_mpi(badexit);
}

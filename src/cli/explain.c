/* SPDX-License-Identifier: Apache-2.0 */
/* berth explain: what berth run would do, and why, and nothing of it. */

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/request.h"

static const char *const flags[] = {"help", "json", NULL};

enum { HELP = 1 << 0, JSON = 1 << 1 };

/* As JSON where that is asked for in one way or the other. */
static int set_form(struct berth_request *request, bool is_json, struct berth_err *err)
{
    if (!is_json && berth_request_explained(request))
        return 0;
    free(request->explain);
    request->explain = strdup(is_json ? BERTH_EXPLAIN_JSON : BERTH_EXPLAIN_TEXT);
    return request->explain ? 0 : berth_err_oom(err);
}

int berth_cli_explain(int argc, char **argv)
{
    BERTH_REQUEST struct berth_request request = {0};
    unsigned int given;
    struct berth_err err;
    int first = berth_cli_request(argc, argv, flags, &given, &request, &err);

    if (first < 0)
        return berth_cli_misused(&err);
    if (given & HELP)
        return BERTH_CLI_HELP;
    if (berth_request_check(&request, &err) < 0)
        return berth_cli_misused(&err);
    if (!berth_request_contained(&request)) {
        berth_err_set(&err, "explain: no image; give --container-image, or set "
                            "BERTH_CONTAINER_IMAGE");
        return berth_cli_misused(&err);
    }
    if (first == argc && !request.entrypoint)
        return BERTH_CLI_USAGE;
    if (set_form(&request, given & JSON, &err) == 0)
        berth_cli_run_in_image(&request, argv + first, &err);
    return berth_cli_fail(&err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* berth explain: prints what berth run would do, and why; runs nothing. */

#include <stdlib.h>

#include "cli/cli.h"
#include "cli/request.h"

int berth_cli_explain(int argc, char **argv)
{
    BERTH_REQUEST struct berth_request request = {0};
    const char *form = NULL;
    struct berth_err err;
    struct berth_cli_flag flags[] = {{.name = "json"}, {.name = "all"}, {0}};
    char **command;
    int result = berth_cli_request(argc, argv, flags, &request, &command);

    if (result != EXIT_SUCCESS)
        return result;
    if (!berth_request_has_container(&request)) {
        berth_err_set(&err, "explain: with --container-image=none the command runs on "
                            "this host, and berth does nothing; name an image");
        return berth_cli_misused(&err);
    }
    if (flags[0].is_given || flags[1].is_given || !berth_request_is_explained(&request))
        form = flags[0].is_given   ? BERTH_EXPLAIN_JSON
               : flags[1].is_given ? BERTH_EXPLAIN_EVERYTHING
                                   : BERTH_EXPLAIN_TEXT;
    if (!form || berth_request_put(&request, BERTH_OPTION_EXPLAIN, form, &err) == 0)
        berth_cli_run_in_image(&request, command, &err);
    return berth_cli_fail(&err);
}

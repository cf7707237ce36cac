/* SPDX-License-Identifier: Apache-2.0 */
/* berth explain: prints what berth run would do, and why; runs nothing. */

#include <stdlib.h>

#include "cli/cli.h"
#include "cli/request.h"

/* Ask for the account as JSON if --json is given; else as text, unless REQUEST has
 * --container-explain=json. */
static int set_form(struct berth_request *request, bool is_json, struct berth_err *err)
{
    if (!is_json && berth_request_is_explained(request))
        return 0;
    return berth_request_put(request, BERTH_OPTION_EXPLAIN,
                             is_json ? BERTH_EXPLAIN_JSON : BERTH_EXPLAIN_TEXT, err);
}

int berth_cli_explain(int argc, char **argv)
{
    BERTH_REQUEST struct berth_request request = {0};
    struct berth_err err;
    struct berth_cli_flag json = {.name = "json"};
    char **command;
    int result = berth_cli_request(argc, argv, &json, &request, &command);

    if (result != EXIT_SUCCESS)
        return result;
    if (!berth_request_has_container(&request)) {
        berth_err_set(&err, "explain: with --container-image=none the command runs on "
                            "this host, and berth does nothing; name an image");
        return berth_cli_misused(&err);
    }
    if (set_form(&request, json.is_given, &err) == 0)
        berth_cli_run_in_image(&request, command, &err);
    return berth_cli_fail(&err);
}

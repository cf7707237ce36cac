/* SPDX-License-Identifier: Apache-2.0 */
/* berth qualify: becomes the script of that name, which gets the path of berth first.
 */

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/strvec.h"
#include "cli/cli.h"

int berth_cli_qualify(int argc, char **argv)
{
    BERTH_STRVEC struct berth_strvec words = {0};
    struct berth_err err;

    berth_strvec_push(&words, "python3");
    berth_strvec_push(&words, "-I"); /* no modules of the user's */
    berth_strvec_push(&words, BERTH_DATADIR "/qualify");
    berth_strvec_push(&words, BERTH_BINDIR "/berth");
    for (int i = 1; i < argc; i++)
        berth_strvec_push(&words, argv[i]);
    if (words.failed)
        return berth_cli_fail_oom();
    execvp(words.items[0], words.items);
    berth_err_set(&err, "qualify: python3: %s; install Python 3.6 or later",
                  strerror(errno));
    return berth_cli_fail(&err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Takes berth-mpi's child into the container, and finds the program that runs there. */

#include "bindover/enter.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/run.h"
#include "base/strvec.h"
#include "bindover/command.h"
#include "plan/launch.h"
#include "step/become.h"
#include "step/join.h"

int berth_enter(const struct berth_inside *told, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec asked = {0};
    struct berth_become become = {.workdir = told->request->workdir,
                                  .stay = told->directory};

    if (berth_join_owner(told->holder, err) < 0)
        return -1;
    berth_launch_env(told->request, told->terms, told->task, &asked);
    for (size_t i = 0; i < asked.count; i++)
        putenv(berth_steal(&asked.items[i]));
    if (asked.failed)
        return berth_err_oom(err);
    berth_become_chdir(&become,
                       NULL); /* the task reports a directory that is missing */
    return 0;
}

static char *find(const char *name)
{
    BERTH_FREE char *found = berth_become_find(name);

    return found && berth_run_is_program(found) ? berth_steal(&found) : NULL;
}

char *berth_enter_find(char *const *command)
{
    BERTH_FREE char *found = find(command[0]);
    BERTH_FREE char *name = found ? berth_command_program(command) : NULL;
    char *program = name ? find(name) : NULL;

    return program ? program : berth_steal(&found);
}

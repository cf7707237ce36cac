/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes start ranks. */

#include "container/starters.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

static void setup(void)
{
    /* `read` waits, as standard input has no end; a program below is `cat`. */
    unit_run("cd '%s' && printf '#!/bin/sh\\ncat; :\\n' >mpirun && "
             "cp mpirun mpiring && printf '#!/bin/sh\\nread line\\n' >mpiexec && "
             "printf '#!/bin/sh\\n./mpiexec; :\\n' >mpirun_rsh && chmod +x mpi*",
             unit_dir);
}

static const struct {
    const char *script;
    const char *starter; /* NULL: none */
} cases[] = {
    {"exec ./mpirun", "mpirun"},
    {"./mpirun; :", "mpirun"},
    {"sh -c './mpirun; :'; :", "mpirun"},
    {"./mpiring; :", NULL},
    /* As `mpirun --version`, which starts nothing; also below a script. */
    {"./mpiexec; :", NULL},
    {"./mpirun_rsh; :", NULL},
};

TEST_ROWS(an_mpirun_that_has_started_something_is_found_below, cases)
{
    pid_t pid = unit_start_script(unit_dir, cases[_i].script);
    struct berth_process starter = {.name = ""};
    bool is_found = false;

    for (int i = 0; i < (cases[_i].starter ? 500 : 10) && !is_found; i++) {
        is_found = berth_starters_find(pid, &starter);
        poll(NULL, 0, 10);
    }
    kill(-pid, SIGKILL);
    waitpid(pid, NULL, 0);
    ck_assert_int_eq(is_found, cases[_i].starter != NULL);
    if (cases[_i].starter)
        ck_assert_str_eq(starter.name, cases[_i].starter);
}

void unit_prepare(TCase *tests)
{
    unit_share_directory(tests);
    tcase_add_unchecked_fixture(tests, setup, NULL);
}

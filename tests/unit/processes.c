/* SPDX-License-Identifier: Apache-2.0 */
/* The children of processes, and a variable of a process, or of the first process below
 * it that has one. */

#include "container/processes.h"

#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

#define WAIT "read line" /* the shell stays there, as standard input has no end */

/* The first command clears the environment, as a runtime may. A lone command, which the
 * shell would not fork for, has another behind it. */
static const struct {
    const char *script;
    bool is_found;
    unsigned int number;
} cases[] = {
    {"export BERTH_TEST=7; exec sh -c '" WAIT "'", true, 7},
    {"exec env -i sh -c 'BERTH_TEST=8 sh -c \"" WAIT "\"; :'", true, 8},
    {"exec env -i sh -c 'sh -c \"BERTH_TEST=9 sh -c \\\"" WAIT "\\\"; :\"; :'", true,
     9},
    {"exec env -i sh -c 'BERTH_TESTED=1 sh -c \"" WAIT "\"; :'", false, 0},
};

TEST_ROWS(a_variable_is_found_below, cases)
{
    pid_t pid = unit_start_script(".", cases[_i].script);
    unsigned int number = 0;
    bool is_found = false;

    for (int i = 0; i < (cases[_i].is_found ? 500 : 10) && !is_found; i++) {
        is_found = berth_process_variable(pid, "BERTH_TEST", &number);
        poll(NULL, 0, 10);
    }
    ck_assert_int_eq(is_found, cases[_i].is_found);
    ck_assert_uint_eq(number, cases[_i].number);
    kill(-pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

static bool is_child(const struct berth_process *process, void *pid)
{
    return process->pid == *(const pid_t *)pid && process->parent == getpid();
}

TEST(children_are_found)
{
    pid_t pid = unit_start_script(".", WAIT);

    ck_assert_int_eq(berth_process_each_child(getpid(), is_child, &pid), 1);
    kill(-pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    ck_assert_int_eq(berth_process_each_child(getpid(), is_child, &pid), 0);
}

TEST(the_umask_of_a_process_is_read)
{
    enum { NOBODY = 0 };
    const mode_t before = umask(027);

    ck_assert_int_eq(berth_process_umask(getpid()), 027);
    umask(before);
    ck_assert_int_eq(berth_process_umask(NOBODY), -1);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The programs that command lines finally start. */

#include "bindover/inside.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "unit.h"

static const struct {
    const char *words[8];
    const char *program; /* NULL: the words do not show it */
} rows[] = {
    {{"app"}, NULL},
    {{"/usr/bin/app", "-c", "x"}, NULL},
    {{"env", "app"}, "app"},
    {{"/usr/bin/env", "-u", "A", "B=/c", "C=", "app", "D=e"}, "app"},
    {{"env", "LD_LIBRARY_PATH=/x", "app"}, NULL},
    {{"env", "PATH=/x", "app"}, NULL},
    {{"env", "-i", "app"}, NULL},
    {{"env"}, NULL},
    {{"time", "-f", "%e", "app"}, "app"},
    {{"nice", "-n", "5", "app", "-n"}, "app"},
    {{"nice", "app"}, "app"},
    {{"taskset", "-c", "0-3", "/opt/app", "x"}, "/opt/app"},
    {{"numactl", "-N", "0", "--localalloc", "app"}, "app"},
    {{"timeout", "-k", "5", "60", "app"}, "app"},
    {{"timeout", "60"}, NULL},
    {{"stdbuf", "-oL", "app"}, "app"},
    {{"nohup", "setsid", "nice", "app"}, "app"},
    {{"/lib64/ld-linux-x86-64.so.2", "/opt/app"}, "/opt/app"},
    {{"/lib64/ld-linux-x86-64.so.2", "--library-path", "/x", "/opt/app"}, NULL},
    {{"sh", "-c", "/opt/app a b"}, "/opt/app"},
    {{"bash", "-ec", "exec /opt/app 'a; b' \"c d\""}, "/opt/app"},
    {{"bash", "-c", "mpirun -n 2 m"}, "mpirun"},
    {{"sh", "-c", "cd /run && A=b app; "}, "app"},
    {{"sh", "-c", "cd /run && ./app"}, NULL},
    {{"sh", "-c", "cd /run; /opt/app"}, "/opt/app"},
    {{"sh", "-c", "echo 'one; mpirun x'; app"}, "app"},
    {{"sh", "-c", "one; two"}, NULL},
    {{"sh", "-c", "one | two"}, NULL},
    {{"sh", "-c", "one & two"}, NULL},
    {{"sh", "-c", "true"}, NULL},
    {{"sh", "-c", "$app"}, NULL},
    {{"sh", "-c", "app $SLURM_PROCID ~/x *.nc"}, "app"},
    {{"sh", "-c", "app \"$(hostname)\""}, NULL},
    {{"sh", "-c", "app `hostname`"}, NULL},
    {{"sh", "-c", "app >out 2>&1 </dev/null"}, "app"},
    {{"sh", "-c", "(app)"}, NULL},
    {{"sh", "-c", "for i in 1 2; do app; done"}, NULL},
    {{"sh", "-c", "export LD_LIBRARY_PATH=/x; app"}, NULL},
    {{"sh", "-c", "LD_PRELOAD=/x app"}, NULL},
    {{"sh", "-c", "app 'x"}, NULL},
    {{"sh", "-c"}, NULL},
    {{"sh", "run.sh"}, NULL},
    {{"bash", "-lc", "/opt/app"}, "/opt/app"},
    {{"bash", "-lc", "app"}, NULL},
    {{"bash", "-l", "-c", "app"}, NULL},
    {{"sh", "-c", "time env A=b nice app"}, "app"},
    {{"python3", "x.py"}, NULL},
};

TEST_ROWS(a_command_comes_to_a_program, rows)
{
    BERTH_FREE char *program = berth_command_program((char *const *)rows[_i].words);

    ck_assert_msg(rows[_i].program ? program && !strcmp(program, rows[_i].program)
                                   : !program,
                  "%s %s: %s", rows[_i].words[0], rows[_i].words[2], program);
}

/* A command with too many programs in front of others is not followed. */
TEST(nobody_is_followed_for_ever)
{
    static char *const words[] = {(char *)"nohup", (char *)"nohup", (char *)"nohup",
                                  (char *)"nohup", (char *)"nohup", (char *)"nohup",
                                  (char *)"nohup", (char *)"nohup", (char *)"nohup",
                                  (char *)"nohup", (char *)"app",   NULL};

    ck_assert_ptr_null(berth_command_program(words));
}

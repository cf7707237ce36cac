/* SPDX-License-Identifier: Apache-2.0 */
/* The words of commands that may be programs. */

#include "bindover/inside.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "bindover/scan.h"
#include "unit.h"

static const struct {
    const char *command[8];
    const char *words; /* after the first, with blanks between */
    bool lead;         /* to another program */
} rows[] = {
    {{"app"}, NULL, false},
    {{"/usr/bin/app", "-c", "x"}, "-c x", false},
    {{"env"}, NULL, true},
    {{"env", "app"}, "app", true},
    {{"/usr/bin/env", "-u", "A", "B=/c", "C=", "app", "D=e"},
     "-u A B=/c C= app D=e",
     true},
    {{"env", "LD_LIBRARY_PATH=/x", "app"}, "LD_LIBRARY_PATH=/x app", false},
    {{"env", "PATH=/x", "app"}, "PATH=/x app", false},
    {{"env", "MPIEXEC=mpirun", "app"}, "MPIEXEC=mpirun app", true},
    {{"env", "-i", "app"}, "-i app", false},
    {{"taskset", "-c", "0-3", "/opt/app", "x"}, "-c 0-3 /opt/app x", true},
    {{"/lib64/ld-linux-x86-64.so.2", "/opt/app"}, "/opt/app", true},
    {{"/lib64/ld-linux-x86-64.so.2", "--library-path", "/x", "/opt/app"},
     "--library-path /x /opt/app",
     false},
    {{"bash", "-ec", "exec /opt/app 'a; b' \"c d\""},
     "-ec exec /opt/app a b c d",
     true},
    {{"sh", "-c", "cd /run && ./app"}, "-c cd /run ./app", false},
    {{"sh", "-c", "one; two | three & four"}, "-c one two three four", true},
    {{"sh", "-c", "app `hostname` \"$(id)\" >out 2>&1"},
     "-c app hostname $ id out 2 1",
     true},
    {{"sh", "-c", "(for i in 1 2; do app; done)"}, "-c for i in 1 2 do app done", true},
    {{"sh", "-c", "export LD_PRELOAD=/x; app"}, "-c export LD_PRELOAD=/x app", false},
    {{"sh", "-c", ". /etc/profile; app"}, "-c . /etc/profile app", false},
    {{"python3", "x.py", "app"}, "x.py app", false},
};

TEST_ROWS(a_command_has_words, rows)
{
    char *const *command = (char *const *)rows[_i].command;
    BERTH_STRVEC struct berth_strvec words = {0};
    BERTH_BUF struct berth_buf text = {0};

    berth_words_of(command, &words);
    berth_strvec_join(&words, " ", &text);
    if (rows[_i].words)
        ck_assert_str_eq(text.text, rows[_i].words);
    else
        ck_assert_uint_eq(words.count, 0);
    ck_assert(berth_words_lead(command, &words) == rows[_i].lead);
}

/* A long script is not read to its end. */
TEST(only_the_first_words_count)
{
    char *many[100] = {(char *)"sh"};
    BERTH_STRVEC struct berth_strvec words = {0};

    for (int i = 1; i < 99; i++)
        many[i] = (char *)"x";
    berth_words_of(many, &words);
    ck_assert_uint_eq(words.count, 64);
}

/* A directory has the name that it has. */
TEST(a_directory_is_no_pattern)
{
    static const char *const names[] = {"a[b]", "a*", "a?", "a{b,c}", "a\\b", "plain"};

    for (int i = 0; i < COUNT(names); i++) {
        BERTH_FREE char *directory = unit_path(unit_dir, names[i]);
        BERTH_FREE char *path = unit_path(directory, "lib.so");
        glob_t found = {0};

        ck_assert_int_eq(mkdir(directory, 0755), 0);
        unit_write(path, "", 0);
        ck_assert(berth_scan_glob(directory, "/{lib,x}*.so", &found));
        ck_assert_uint_eq(found.gl_pathc, 1);
        ck_assert_str_eq(found.gl_pathv[0], path);
        globfree(&found);
    }
}

void unit_prepare(TCase *tests)
{
    unit_in_directory(tests);
}

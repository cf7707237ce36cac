/* SPDX-License-Identifier: Apache-2.0 */
/* The words of commands that may be programs, and the program that is meant. */

#include "bindover/bindover.h"
#include "bindover/commandwords.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "unit.h"

static const struct {
    const char *command[8];
    const char *words; /* after the first, with blanks between */
    bool lead;         /* to another program, the last word */
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
    {{"env", "-v", "-i", "app"}, "-v -i app", false},
    {{"numactl", "-i", "all", "./app"}, "-i all ./app", true},
    {{"stdbuf", "-i", "0", "./app"}, "-i 0 ./app", true},
    {{"env", "./app", "-i", "x"}, "./app -i x", true},
    {{"taskset", "-c", "0-3", "/opt/app", "x"}, "-c 0-3 /opt/app x", true},
    {{"/lib64/ld-linux-x86-64.so.2", "/opt/app"}, "/opt/app", true},
    {{"/lib64/ld-linux-x86-64.so.2", "--library-path", "/x", "/opt/app"},
     "--library-path /x /opt/app",
     false},
    {{"bash", "-ec", "exec /opt/app 'a; b' \"c d\""},
     "-ec exec /opt/app a b c d",
     true},
    {{"sh", "-c", "cd /run && ./app"}, "-c cd /run ; ; ./app", false},
    {{"sh", "-c", "one; two | three & four"}, "-c one ; two ; three ; four", true},
    {{"sh", "-c", "echo 'one; mpirun x'; app"}, "-c echo one mpirun x ; app", true},
    {{"sh", "-c", "app `hostname` \"$(id)\" >out 2>&1"},
     "-c app ; hostname ; $ id out 2 ; 1",
     true},
    {{"sh", "-c", "(for i in 1 2; do app; done)"},
     "-c ; for i in 1 2 ; do app ; done",
     true},
    {{"sh", "-c", "export LD_PRELOAD=/x; app"}, "-c export LD_PRELOAD=/x ; app", false},
    {{"sh", "-c", ". /etc/profile; app"}, "-c . /etc/profile ; app", false},
    {{"bash", "-lc", "app"}, "-lc app", false},
    {{"bash", "-l", "-c", "app"}, "-l -c app", false},
    {{"timeout", "60", "bash", "--login", "-c", "app"},
     "60 bash --login -c app",
     false},
    {{"bash", "-lc", "/opt/app"}, "-lc /opt/app", true},
    {{"sh", "-c", "exec bash -lc app"}, "-c exec bash -lc app", false},
    {{"bash", "-c", "ls", "-l", "app"}, "-c ls -l app", true},
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
    ck_assert(berth_words_lead(command, &words,
                               words.count ? words.items[words.count - 1] : "") ==
              rows[_i].lead);
}

/* A long script is not read to its end, in one argument or in many. */
TEST(only_the_first_words_count)
{
    char *many[100] = {(char *)"sh"};
    BERTH_STRVEC struct berth_strvec words = {0};
    BERTH_STRVEC struct berth_strvec parts = {0};
    BERTH_BUF struct berth_buf text = {0};

    for (int i = 1; i < 99; i++)
        many[i] = (char *)"x";
    berth_words_of(many, &words);
    ck_assert_uint_eq(words.count, 64);
    for (int i = 0; i < 99; i++)
        berth_buf_puts(&text, "x ");
    berth_words_of((char *const[]){(char *)"sh", text.text, NULL}, &parts);
    ck_assert_uint_eq(parts.count, 64);
}

static char *programs;

static void make_programs(void)
{
    static const char *const scripts[] = {"app", "mpirun"};
    static const char *const statics[] = {"tini", "static"};

    programs = unit_directory();
    for (int i = 0; i < 2; i++) {
        BERTH_FREE char *script = unit_path(programs, scripts[i]);

        unit_script(script, "exit 0");
        unit_compile(programs, "void _start(void) {}", "-static -o %s", statics[i]);
    }
}

static void remove_programs(void)
{
    unit_remove(programs);
    free(programs);
}

/* @ is the directory with scripts, and with programs that are linked statically. */
static const struct {
    const char *command[6];
    const char *program;
} meant[] = {
    {{"@/app", "@/mpirun"}, "@/app"},
    {{"/bin/sh", "-c", "@/app 'one; @/mpirun x'; exec @/app"}, "/bin/sh"},
    {{"/bin/sh", "-c", "@/app @/mpirun; @/app"}, "/bin/sh"},
    {{"/bin/sh", "-c", "@/app && exec @/mpirun x"}, "@/mpirun"},
    {{"/bin/sh", "-c", "A=b nice @/mpirun @/app"}, "@/mpirun"},
    {{"/usr/bin/timeout", "60", "@/app", "--with", "@/mpirun"}, "/usr/bin/timeout"},
    {{"/usr/bin/timeout", "60", "@/mpirun", "@/app"}, "@/mpirun"},
    {{"@/tini", "--", "@/app", "@/static"}, "@/app"},
    {{"@/tini", "@/static", "@/app"}, "@/app"},
    {{"@/tini", "@/static"}, "@/tini"},
    {{"/bin/sh", "-c", "@/static; @/app"}, "/bin/sh"},
    {{"/bin/sh", "-c", "@/static; true"}, "/bin/sh"},
    {{"/bin/sh", "-c", "A=b @/static"}, "@/static"},
};

TEST_ROWS(a_command_means_a_program, meant)
{
    const struct berth_request request = {.mpi = (char *)"host"};
    const struct berth_decide inside = {.request = &request};
    BERTH_STRVEC struct berth_strvec command = {0};
    BERTH_FREE char *expected = unit_fill(meant[_i].program, programs);
    struct berth_program program = {0};
    struct berth_err err;
    pid_t child;

    for (int i = 0; meant[_i].command[i]; i++) {
        BERTH_FREE char *word = unit_fill(meant[_i].command[i], programs);

        berth_strvec_push(&command, word);
    }
    /* What is read ends with its process. */
    child = fork();
    if (child == 0)
        _exit(berth_decide_find(&inside, command.items, &program, &err) < 0 ||
              strcmp(program.path, expected) != 0);
    ck_assert_int_eq(unit_ended(child), 0);
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
        ck_assert(berth_scan_glob(directory, "{lib,x}*.so", &found));
        ck_assert_uint_eq(found.gl_pathc, 1);
        ck_assert_str_eq(found.gl_pathv[0], path);
        globfree(&found);
    }
}

void unit_prepare(TCase *tests)
{
    unit_in_directory(tests);
    tcase_add_unchecked_fixture(tests, make_programs, remove_programs);
}

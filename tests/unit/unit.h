/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/strvec.h"

/* What every unit test program needs: main(), tests that it finds, and ways to compare.
 */

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* The sentences of berth_err_damaged() and of berth_err_spent(). */
#define DAMAGED(part)                                                                  \
    "internal data is damaged (" part "); have one release of berth on all hosts, "    \
    "and set no variable of berth by hand"
#define SPENT(why)                                                                     \
    "this node has no memory, process or descriptor left (" why "); try again, and "   \
    "report the node if it stays so"
#define LIMITED(why, option)                                                           \
    "a limit of this process is too low for berth (" why "); raise it: ulimit " option

/* The head of a test, which runs once; for each row of a table, with _i as its index;
 * for each _i below TIMES. A test adds itself, so that none is forgotten. */
#define TEST(name)            TEST_TIMES(name, 1)
#define TEST_ROWS(name, rows) TEST_TIMES(name, COUNT(rows))
#define TEST_TIMES(name, times)                                                        \
    static void name##_body(int _i);                                                   \
    START_TEST(name)                                                                   \
    {                                                                                  \
        name##_body(_i);                                                               \
    }                                                                                  \
    END_TEST                                                                           \
    __attribute__((constructor)) static void name##_add(void)                          \
    {                                                                                  \
        tcase_add_loop_test(unit_tests(), name, 0, times);                             \
    }                                                                                  \
    static void name##_body(__attribute__((unused)) int _i)

/* The tests of the program. */
TCase *unit_tests(void);

/* For a program to define: what the tests need before they run, such as fixtures. */
void unit_prepare(TCase *tests);

/* The strings of VEC, each followed by a newline. The caller frees the text. */
char *unit_lines(const struct berth_strvec *vec);

/* Both lists have the same strings in the same order. */
void unit_same(const struct berth_strvec *a, const struct berth_strvec *b);

/* The text of tests/golden/NAME, without comment lines (#). The caller frees it. */
char *unit_golden(const char *name);

/* Join the lines of TEXT, without the blanks at their starts: two texts of JSON are the
 * same, however their lines are cut. */
void unit_join(char *text);

/* A new directory, which unit_remove() removes with all that is in it. The caller frees
 * the path. */
char *unit_directory(void);
void unit_remove(const char *path);

/* Make a new directory, `unit_dir`, for each of TESTS, and remove it after the test.
 * Call this before the fixtures of the program are added, which may use the directory.
 */
void unit_in_directory(TCase *tests);
extern char *unit_dir;

/* The same, but one directory for all tests of the program. */
void unit_share_directory(TCase *tests);

/* DIRECTORY/NAME. The caller frees it. */
char *unit_path(const char *directory, const char *name);

/* What printf would print. The caller frees it. */
char *unit_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The command for a shell succeeds. */
void unit_run(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* TEXT with DIRECTORY for each @. The caller frees it. */
char *unit_fill(const char *text, const char *directory);

/* Start a process that does ACT with DATA, and then waits to be killed. Returns when it
 * waits. */
pid_t unit_process(void (*act)(const char *data), const char *data);

/* Start SCRIPT for sh in DIRECTORY, in a process group of its own: kill(-pid) ends it.
 * What reads its standard input waits as long as this process lives. */
pid_t unit_start_script(const char *directory, const char *script);

/* Wait for CHILD. Returns its status, as a shell has it: 128 and the number of a
 * signal. */
int unit_ended(pid_t child);

/* As status of a process: this kernel does not let it do what the test wants to see. */
enum { UNIT_CANNOT = 77 };

/* Move this process into a mount namespace of its own. False: it may not have one. */
bool unit_may_mount(void);

/* From now on, interrupt what waits in this process, every few milliseconds: a loop
 * that looks at the clock now and then does so at once. */
void unit_interrupt(void);

/* Make a file PATH with the COUNT bytes. */
void unit_write(const char *path, const void *bytes, size_t count);

/* Make a file DIRECTORY/NAME with MODE that has TEXT. */
void unit_file(const char *directory, const char *name, mode_t mode, const char *text);

/* Make an executable file PATH that does what TEXT says, for sh. */
void unit_script(const char *path, const char *text);

/* Compile SOURCE (C) in DIRECTORY with $CC and the words of FORMAT, which end in
 * `-o NAME`. Without a C library, so that it is quick and the result is all ours. */
void unit_compile(const char *directory, const char *source, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* SPDX-License-Identifier: Apache-2.0 */
/* What the unit test programs share. */

#include "unit.h"

#include <errno.h>
#include <ftw.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/hash.h"

/* Some compile, and a machine may be busy. */
enum { TEST_SECONDS = 120 };

TCase *unit_tests(void)
{
    static TCase *tests;

    if (!tests)
        tests = tcase_create(program_invocation_short_name);
    return tests;
}

__attribute__((weak)) void unit_prepare(TCase *tests)
{
    (void)tests;
}

/* Where unit_compile() keeps what it has compiled, for the next test that has the same
 * source: beside the programs, where make check runs them. Elsewhere with each test. */
static const char *objects = ".";

/* Weak: a program may have a main() of its own. */
__attribute__((weak)) int main(void)
{
    TCase *tests = unit_tests();
    Suite *suite = suite_create(program_invocation_short_name);
    SRunner *runner;
    int failed;

    /* By itself, check ends a test whose message is longer than 4 KiB without it. */
    check_set_max_msg_size(1 << 16);
    if (mkdir("tests/unit/objects", 0755) == 0 || errno == EEXIST)
        objects = realpath("tests/unit/objects", NULL);
    unit_prepare(tests);
    tcase_set_timeout(tests, TEST_SECONDS);
    suite_add_tcase(suite, tests);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

char *unit_lines(const struct berth_strvec *vec)
{
    struct berth_buf buf = {0};

    berth_buf_puts(&buf, "");
    for (size_t i = 0; i < vec->count; i++) {
        berth_buf_puts(&buf, vec->items[i]);
        berth_buf_puts(&buf, "\n");
    }
    ck_assert(!buf.failed);
    return buf.text;
}

void unit_same(const struct berth_strvec *a, const struct berth_strvec *b)
{
    BERTH_FREE char *lines = unit_lines(a);
    BERTH_FREE char *others = unit_lines(b);

    ck_assert_uint_eq(a->count, b->count);
    ck_assert_str_eq(lines, others);
}

char *unit_golden(const char *name)
{
    const char *source = getenv("srcdir");
    struct berth_buf buf = {0};
    char path[512];
    char line[4096];
    FILE *file;

    snprintf(path, sizeof(path), "%s/tests/golden/%s", source ? source : ".", name);
    file = fopen(path, "r");
    ck_assert_msg(file != NULL, "%s cannot be read", path);
    berth_buf_puts(&buf, "");
    while (fgets(line, sizeof(line), file))
        if (*line != '#')
            berth_buf_puts(&buf, line);
    fclose(file);
    return buf.text;
}

void unit_join(char *text)
{
    char *to = text;

    while (*text) {
        if (*text == '\n')
            text += 1 + strspn(text + 1, " ");
        else
            *to++ = *text++;
    }
    *to = '\0';
}

char *unit_directory(void)
{
    const char *parent = getenv("TMPDIR");
    char path[512];

    snprintf(path, sizeof(path), "%s/berth-unit-XXXXXX", parent ? parent : "/tmp");
    ck_assert_msg(mkdtemp(path) != NULL, "%s cannot be made", path);
    return strdup(path);
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *at)
{
    (void)st;
    (void)flag;
    (void)at;
    return remove(path);
}

void unit_remove(const char *path)
{
    ck_assert_int_eq(nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

char *unit_dir;

static void make_directory(void)
{
    unit_dir = unit_directory();
}

static void remove_directory(void)
{
    ck_assert_int_eq(chdir("/"), 0);
    unit_remove(unit_dir);
    free(unit_dir);
}

void unit_in_directory(TCase *tests)
{
    tcase_add_checked_fixture(tests, make_directory, remove_directory);
}

void unit_share_directory(TCase *tests)
{
    tcase_add_unchecked_fixture(tests, make_directory, remove_directory);
}

static char *format_list(const char *format, va_list args)
{
    char *text = NULL;

    ck_assert_int_ge(vasprintf(&text, format, args), 0);
    return text;
}

char *unit_format(const char *format, ...)
{
    va_list args;
    char *text;

    va_start(args, format);
    text = format_list(format, args);
    va_end(args);
    return text;
}

void unit_run(const char *format, ...)
{
    BERTH_FREE char *command = NULL;
    va_list args;

    va_start(args, format);
    command = format_list(format, args);
    va_end(args);
    ck_assert_msg(system(command) == 0, "failed: %s", command);
}

char *unit_path(const char *directory, const char *name)
{
    return unit_format("%s/%s", directory, name);
}

char *unit_fill(const char *text, const char *directory)
{
    struct berth_buf buf = {0};

    for (; *text; text++)
        if (*text == '@')
            berth_buf_puts(&buf, directory);
        else
            berth_buf_add(&buf, text, 1);
    berth_buf_puts(&buf, "");
    ck_assert(!buf.failed);
    return buf.text;
}

pid_t unit_process(void (*act)(const char *data), const char *data)
{
    int ends[2];
    char byte;
    pid_t child;

    ck_assert_int_eq(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        act(data);
        if (write(ends[1], "", 1) == 1)
            for (;;)
                pause();
        _exit(EXIT_FAILURE);
    }
    close(ends[1]);
    ck_assert_int_eq(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    return child;
}

pid_t unit_start_script(const char *directory, const char *script)
{
    int ends[2];
    pid_t pid;

    ck_assert_int_eq(pipe(ends), 0);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        setpgid(0, 0);
        dup2(ends[0], STDIN_FILENO);
        if (chdir(directory) == 0)
            execl("/bin/sh", "sh", "-c", script, (char *)NULL);
        _exit(127);
    }
    setpgid(pid, pid);
    close(ends[0]);
    return pid; /* the other end stays open */
}

int unit_ended(pid_t child)
{
    int status;

    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool unit_may_mount(void)
{
    if (unshare(CLONE_NEWNS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return false;
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static void ignore(int number)
{
    (void)number;
}

void unit_interrupt(void)
{
    const struct timeval moment = {.tv_usec = 5000};

    signal(SIGALRM, ignore);
    setitimer(ITIMER_REAL, &(struct itimerval){moment, moment}, NULL);
}

void unit_write(const char *path, const void *bytes, size_t count)
{
    FILE *file = fopen(path, "w");

    ck_assert_msg(file != NULL, "%s cannot be made", path);
    ck_assert(count == 0 || fwrite(bytes, count, 1, file) == 1);
    ck_assert_int_eq(fclose(file), 0);
}

void unit_file(const char *directory, const char *name, mode_t mode, const char *text)
{
    BERTH_FREE char *path = unit_path(directory, name);

    unit_write(path, text, strlen(text));
    ck_assert_int_eq(chmod(path, mode), 0);
}

void unit_script(const char *path, const char *text)
{
    BERTH_FREE char *script = unit_format("#!/bin/sh\n%s\n", text);

    unit_write(path, script, strlen(script));
    ck_assert_int_eq(chmod(path, 0755), 0);
}

void unit_compile(const char *directory, const char *source, const char *format, ...)
{
    const char *compiler = getenv("CC") ? getenv("CC") : "cc";
    BERTH_FREE char *path = unit_path(directory, "source.c");
    BERTH_FREE char *words = NULL;
    BERTH_FREE char *copy = NULL;
    BERTH_BUF struct berth_buf flags = {0}; /* those that are not the linker's */
    char *rest;
    uint64_t hash;
    va_list args;

    unit_write(path, source, strlen(source));
    va_start(args, format);
    words = format_list(format, args);
    va_end(args);
    rest = copy = unit_format("%s", words);
    for (const char *it; (it = strsep(&rest, " "));)
        if (*it == '-' && it[1] && strchr("fmDO", it[1]))
            berth_buf_addf(&flags, " %s", it);
    berth_buf_puts(&flags, "");
    hash = berth_hash(BERTH_HASH_START, source, strlen(source) + 1);
    hash = berth_hash(hash, compiler, strlen(compiler) + 1);
    hash = berth_hash(hash, flags.text, flags.used);
    unit_run("cd '%1$s' && object='%2$s/%3$jx.o' && { test -e \"$object\" ||"
             " { %4$s -pipe -c -fno-builtin -w source.c%5$s"
             " -o \"$object.$$\" && mv \"$object.$$\" \"$object\"; } } &&"
             " %4$s -nostdlib -w \"$object\" %6$s",
             directory, objects, (uintmax_t)hash, compiler, flags.text, words);
}

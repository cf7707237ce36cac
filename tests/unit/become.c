/* SPDX-License-Identifier: Apache-2.0 */
/* A command in an image whose / has nothing: the image is to blame, not the command.
 * And the directory of an image of enroot. */

#include "container/become.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "container/runscript.h"
#include "unit.h"

/* In a child: / is an empty directory. Returns the status; what is wrong goes to END.
 */
static int start(char *name, int end)
{
    char *command[] = {name, NULL};
    const struct berth_become become = {.command = command};
    struct berth_err err = {0};
    int status;

    if (!unit_may_mount() || chroot(unit_dir) < 0 || chdir("/") < 0)
        return UNIT_CANNOT;
    status = berth_become_command(&become, &err);
    return write(end, &err, sizeof(err)) == sizeof(err) ? status : EXIT_FAILURE;
}

static char *const names[] = {(char *)"sh", (char *)"/bin/sh", (char *)"a b"};

TEST_ROWS(an_image_without_files_is_damaged, names)
{
    struct berth_err err = {0};
    int ends[2];
    pid_t child;
    int status;

    ck_assert_int_eq(pipe(ends), 0);
    child = fork();
    if (child == 0)
        _exit(start(names[_i], ends[1]));
    close(ends[1]);
    if (read(ends[0], &err, sizeof(err)) < 0)
        err = (struct berth_err){0};
    status = unit_ended(child);
    close(ends[0]);
    if (status == UNIT_CANNOT)
        return;
    ck_assert_int_eq(status, 127);
    ck_assert_str_eq(err.text,
                     "the image is damaged: its '/' cannot be listed (it is empty); "
                     "copy, pull or build it again");
}

/* What enroot writes before and after the lines that change the directory. */
#define RC(lines)                                                                      \
    "# enroot-provenance: docker://x\n\nmkdir -p \"/w\" 2> /dev/null\n" lines          \
    "\nif [ $# -gt 0 ]; then\n    exec \"$@\"\nfi\n"

static const struct {
    const char *rc;
    const char *directory; /* NULL: none */
} files[] = {
    {RC("cd \"/work space\" && unset OLDPWD || exit 1\n"), "/work space"},
    {RC("cd \"/w\" || exit 1\n"), "/w"},
    {RC("cd \"/\" && unset OLDPWD || exit 1\n"), "/"},
    {RC("    cd \"/in/a/function\" || exit 1\n"), NULL},
    {RC("cd \"relative\" || exit 1\n"), NULL},
    {RC("cd /w\n"), NULL},
    {RC("cd \"/w\"; ls\n"), NULL},
    {RC(""), NULL},
    {"", NULL},
};

TEST_ROWS(an_rc_of_enroot_names_its_directory, files)
{
    BERTH_FREE char *path = unit_path(unit_dir, "rc");
    BERTH_FREE char *directory = NULL;

    unit_write(path, files[_i].rc, strlen(files[_i].rc));
    directory = berth_runscript_directory(path);
    if (files[_i].directory)
        ck_assert_pstr_eq(directory, files[_i].directory);
    else
        ck_assert_ptr_null(directory);
}

TEST(an_image_without_an_rc_has_no_directory)
{
    ck_assert_ptr_null(berth_runscript_directory("/nowhere/rc"));
}

void unit_prepare(TCase *tests)
{
    unit_in_directory(tests);
}

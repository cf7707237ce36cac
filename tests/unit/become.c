/* SPDX-License-Identifier: Apache-2.0 */
/* A command in an image whose / has nothing: the image is to blame, not the command. */

#include "container/become.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

void unit_prepare(TCase *tests)
{
    unit_in_directory(tests);
}

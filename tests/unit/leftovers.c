/* SPDX-License-Identifier: Apache-2.0 */
/* What a killed `berth save` has left goes with the next one. */

#include "cli/leftovers.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "unit.h"

static const struct {
    const char *name;
    const char *make; /* what a shell does with the directory $0 */
    bool is_left;     /* and so goes */
} rows[] = {
    {"a.sif.AbC123", "true", true},
    {"a.sif.AbC123", "touch $0/sif", true},
    {"a.sif.AbC123", "rm $0/squashfs", false}, /* somebody else's */
    {"a.sif.AbC123", "rm $0/squashfs; ln -s /dev/null $0/squashfs", false},
    {"a.sif.AbC123", "rm $0/squashfs; mkfifo $0/squashfs; chmod 500 $0", false},
    {"a.sif.AbC123", "chmod 755 $0", false},
    {"a.sif.AbC123", "mv $0 $0.x; ln -s $0.x $0", false},
    {"a.sif.AbC12", "true", false},
    {"a.sif.AbC_23", "true", false},
    {"a.sif-AbC123", "true", false},
    {"b.sif.AbC123", "true", false},
};

/* The directory seems to be old: the clock of the program is fast. */
time_t time(time_t *ret)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    now.tv_sec += 61;
    if (ret)
        *ret = now.tv_sec;
    return now.tv_sec;
}

static void make(const char *path, const char *command)
{
    unit_run("mkdir -m 700 '%s' && touch '%s/squashfs' && sh -c '%s' '%s'", path, path,
             command, path);
}

TEST_ROWS(only_what_is_left_is_removed, rows)
{
    BERTH_FREE char *directory = unit_directory();
    BERTH_FREE char *file = unit_path(directory, "a.sif");
    BERTH_FREE char *path = unit_path(directory, rows[_i].name);

    make(path, rows[_i].make);
    berth_leftovers_remove(file);
    ck_assert_int_eq(access(path, F_OK) < 0, rows[_i].is_left);
    unit_remove(directory);
}

TEST(what_somebody_works_in_stays)
{
    BERTH_FREE char *directory = unit_directory();
    BERTH_FREE char *file = unit_path(directory, "a.sif");
    BERTH_FREE char *path = unit_path(directory, "a.sif.AbC123");
    BERTH_FREE char *part = unit_path(path, BERTH_LEFTOVERS_PART);
    int fd;

    make(path, "true");
    fd = open(part, O_RDWR | O_CLOEXEC);
    berth_leftovers_lock(fd);
    berth_leftovers_remove(file);
    ck_assert_int_eq(access(part, F_OK), 0);
    close(fd);
    berth_leftovers_remove(file);
    ck_assert_int_eq(access(path, F_OK), -1);
    unit_remove(directory);
}

TEST(a_file_in_no_directory_is_nothing)
{
    berth_leftovers_remove("/none/a.sif");
}

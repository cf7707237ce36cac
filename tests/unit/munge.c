/* SPDX-License-Identifier: Apache-2.0 */
/* Whether PMIx of an image can connect to Slurm's server as root. */

#include "container/munge.h"

#include "base/cleanup.h"

#include "unit.h"

#define MODES "PMIX_SECURITY_MODE="

static const struct {
    const char *modes;     /* of the task */
    const char *libraries; /* in the loader's cache */
    const char *why;       /* where munge is here */
    bool is_wanted;
} rows[] = {
    {MODES "munge,native", "libmpi.so.40 libmunge.so.2 libpmix.so.2", NULL, true},
    {MODES "native,munge", "libmunge.so.2", NULL, false},
    {MODES "munge", "libmpi.so.40", "the image lacks libmunge.so.2", true},
    {MODES "munge", "libpmix.so.2", "the image lacks libmunge.so.2", true},
    {MODES "native", "libmpi.so.40 libmunge.so.2",
     "Slurm's PMIx takes no credential of munge here", true},
    {"PMIX_RANK=0", "libc.so.6", "Slurm's PMIx takes no credential of munge here",
     false},
};

TEST_ROWS(what_root_needs, rows)
{
    char *const task[] = {(char *)rows[_i].modes, NULL};
    BERTH_FREE char *directory = unit_directory();
    BERTH_FREE char *path = unit_path(directory, "cache");
    const char *why;

    unit_write(path, rows[_i].libraries, strlen(rows[_i].libraries));
    why = berth_munge_why_not(task, path);
    if (!berth_munge_is_here() && (!rows[_i].why || strstr(rows[_i].why, "image")))
        ck_assert_str_eq(why, "the container has no munge");
    else
        ck_assert_pstr_eq(why, rows[_i].why);
    ck_assert(berth_munge_is_wanted(path) == rows[_i].is_wanted);
    ck_assert(!berth_munge_is_wanted("/nowhere/cache"));
}

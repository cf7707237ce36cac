/* SPDX-License-Identifier: Apache-2.0 */
/* The directories of a node that a container has without being asked. */

#include "run/places.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "unit.h"

/* What PMIX_SERVER_TMPDIR names, beside what Slurm says about the step. */
static const struct {
    const char *type; /* SLURM_MPI_TYPE */
    const char *name; /* in a directory of this test, where "pmix.7.file" is a file */
    bool is_closed;
    bool is_mounted;
} directories[] = {
    {"pmix", "pmix.7.0", false, true},
    {"pmix_v4", "pmix.7.0", false, true},
    {"pmix", "link", false, true}, /* to that directory */
    {"pmix", "pmix.7.0", true, false},
    {"pmi2", "pmix.7.0", false, false},
    {NULL, "pmix.7.0", false, false},
    {"pmix", "secret", false, false},
    {"pmix", "pmix.7.secret", false, false}, /* a link to that */
    {"pmix", "pmix.7.file", false, false},
    {"pmix", "pmix.7.1", false, false}, /* which is not there */
};

static void make_all(const char *top)
{
    ck_assert_int_eq(chdir(top), 0);
    ck_assert_int_eq(mkdir("pmix.7.0", 0700), 0);
    ck_assert_int_eq(mkdir("secret", 0700), 0);
    ck_assert_int_eq(symlink("pmix.7.0", "link"), 0);
    ck_assert_int_eq(symlink("secret", "pmix.7.secret"), 0);
    close(open("pmix.7.file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

static void remove_all(const char *top)
{
    rmdir("pmix.7.0");
    rmdir("secret");
    unlink("link");
    unlink("pmix.7.secret");
    unlink("pmix.7.file");
    ck_assert_int_eq(rmdir(top), 0);
}

TEST_ROWS(only_the_directory_of_slurms_pmix_is_mounted, directories)
{
    char top[] = "/tmp/berth-places.XXXXXX";
    char variable[128], type[64], mount[256];
    char *environment[] = {variable, directories[_i].type ? type : NULL, NULL};
    BERTH_REQUEST struct berth_request request = {0};
    struct berth_order order = BERTH_ORDER_EMPTY;
    struct berth_launch launch = {
        .request = &request, .order = &order, .environment = environment};
    struct berth_err err;

    ck_assert_ptr_nonnull(mkdtemp(top));
    make_all(top);
    snprintf(variable, sizeof(variable), "PMIX_SERVER_TMPDIR=%s/%s", top,
             directories[_i].name);
    snprintf(type, sizeof(type), "SLURM_MPI_TYPE=%s",
             directories[_i].type ? directories[_i].type : "");
    snprintf(mount, sizeof(mount), "%s/pmix.7.0:%s/pmix.7.0:rw", top, top);
    order.is_closed = directories[_i].is_closed;

    ck_assert_int_eq(berth_places_find(&launch, &err), 0);
    if (directories[_i].is_mounted)
        ck_assert_str_eq(launch.places.items[0], mount);
    else
        ck_assert_uint_eq(launch.places.count, 0);
    berth_strvec_fini(&launch.places);
    remove_all(top);
}

static bool is_managers(const char *directory)
{
    bool has_failed = false;
    bool is_place = berth_launch_is_manager_place(directory, &has_failed);

    ck_assert(!has_failed);
    return is_place;
}

TEST(a_process_manager_has_directories_of_its_own)
{
    ck_assert(is_managers("/var/spool/slurmd/pmix.1.0/"));
    ck_assert(is_managers("/spool/mpi_cray_shasta/1.0"));
    ck_assert(!is_managers("/spool/mpi_cray_shasta"));
    ck_assert(!is_managers("/spool/xmpi_cray_shasta/1.0"));
    ck_assert(!is_managers("/spool/pmix.1.0/.."));
    ck_assert(!is_managers("/etc"));
}

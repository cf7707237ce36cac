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
    const char *mode; /* of --mpi-bind */
    const char *lifetime;
    bool is_closed;
    const char *mount; /* SRC:DST in that directory; NULL: none */
} directories[] = {
    {"pmix", "pmix.7.0", .mount = "/pmix.7.0:/pmix.7.0"},
    {"pmix_v4", "pmix.7.0", .mount = "/pmix.7.0:/pmix.7.0"},
    {"pmix", "link", .mount = "/pmix.7.0:/link"}, /* to that directory */
    {"pmix", "pmix.7.0", .is_closed = true},
    {"pmi2", "pmix.7.0", .mount = NULL},
    {NULL, "pmix.7.0", .mount = NULL},
    {"pmix", "secret", .mount = NULL},
    {"pmix", "pmix.7.secret", .mount = NULL}, /* a link to that */
    {"pmix", "pmix.7.file", .mount = NULL},
    {"pmix", "pmix.7.1", .mount = NULL}, /* which is not there */
    {"pmix", "pmix.7.0", .lifetime = "job"},
    {"pmix", "forbidden/pmix.7.0", .mount = NULL},
    /* With --mpi-bind */
    {NULL, "pmix.7.0/", .mode = "hybrid", .mount = "/pmix.7.0:/pmix.7.0"},
    {NULL, "pmix.7.0", .mode = "hybrid", .is_closed = true,
     .mount = "/pmix.7.0:/pmix.7.0"},
    {NULL, "link", .mode = "host", .mount = "/pmix.7.0:/link"},
    {NULL, "secret", .mode = "hybrid"},
    {NULL, "pmix.7.secret", .mode = "hybrid"},
    {NULL, "pmix.7.1", .mode = "hybrid"},
    /* A link to a forbidden directory of that name. */
    {NULL, "pmix.7.forbidden", .mode = "hybrid"},
    {NULL, "forbidden/pmix.7.0", .mode = "hybrid"},
    {NULL, "pmix.7.0", .mode = "off"},
    /* A container that the job keeps has those of all steps. */
    {NULL, "spool/pmix.7.0/", .mode = "hybrid", .lifetime = "job",
     .mount = "/spool:/spool"},
    {NULL, "spool/pmix.7.0", .mode = "hybrid", .lifetime = "job", .is_closed = true,
     .mount = "/spool:/spool"},
    /* A link to that. */
    {NULL, "way/pmix.7.0", .mode = "hybrid", .lifetime = "job", .mount = "/spool:/way"},
    {NULL, "link", .mode = "hybrid", .lifetime = "job"},
    {NULL, "forbidden/pmix.7.0", .mode = "hybrid", .lifetime = "job"},
    {NULL, "pmix.7.forbidden", .mode = "hybrid", .lifetime = "job"},
    /* What is forbidden is beside it. */
    {NULL, "pmix.7.0", .mode = "hybrid", .lifetime = "job"},
};

static const char *const made[] = {"pmix.7.0",       "secret",    "spool",
                                   "spool/pmix.7.0", "forbidden", "forbidden/pmix.7.0"};

static const struct {
    const char *name;
    const char *end;
} links[] = {{"link", "pmix.7.0"},
             {"pmix.7.secret", "secret"},
             {"pmix.7.forbidden", "forbidden/pmix.7.0"},
             {"way", "spool"}};

static void make_all(const char *top)
{
    ck_assert_int_eq(chdir(top), 0);
    for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++)
        ck_assert_int_eq(mkdir(made[i], 0700), 0);
    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
        ck_assert_int_eq(symlink(links[i].end, links[i].name), 0);
    close(open("pmix.7.file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

static void remove_all(const char *top)
{
    for (size_t i = sizeof(made) / sizeof(made[0]); i > 0; i--)
        rmdir(made[i - 1]);
    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
        unlink(links[i].name);
    unlink("pmix.7.file");
    ck_assert_int_eq(rmdir(top), 0);
}

/* The mount of directory ROW of those, below TOP. */
static void expect(const char *top, int row, char *ret, size_t size)
{
    const char *mount = directories[row].mount;
    int length = (int)strcspn(mount, ":");

    snprintf(ret, size, "%s%.*s:%s%s:rw", top, length, mount, top, mount + length + 1);
}

TEST_ROWS(only_the_directory_of_slurms_pmix_is_mounted, directories)
{
    char top[] = "/tmp/berth-places.XXXXXX";
    char variable[128], type[64], mount[256], forbidden[64];
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
    snprintf(forbidden, sizeof(forbidden), "%s/forbidden", top);
    berth_strvec_push(&order.terms.forbidden, forbidden);
    order.is_closed = directories[_i].is_closed;
    request.image = strdup("/a.sif");
    if (directories[_i].mode)
        request.mpi = strdup(directories[_i].mode);
    if (directories[_i].lifetime)
        request.lifetime = strdup(directories[_i].lifetime);

    ck_assert_int_eq(berth_places_find(&launch, &err), 0);
    if (directories[_i].mount) {
        expect(top, _i, mount, sizeof(mount));
        ck_assert_str_eq(launch.places.items[0], mount);
    } else {
        ck_assert_uint_eq(launch.places.count, 0);
    }
    berth_strvec_fini(&launch.places);
    berth_strvec_fini(&order.terms.forbidden);
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

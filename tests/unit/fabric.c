/* SPDX-License-Identifier: Apache-2.0 */
/* What the profiles of the host's MPI want mounted, and what they do not go with. */

#include "site/fabric.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "run/binder.h"
#include "unit.h"

static const char *const binds_x[] = {"/etc/x.conf", "/opt/x:/site/x:ro", NULL};
static const char *const binds_y[] = {"/opt/y:/site/x", "/etc/x.conf", "/run/y", NULL};
static const char *const devices_x[] = {"/dev/x*", NULL};
static const char *const devices_y[] = {"/dev/x*", "/dev/y", NULL};
static const char *const variables[] = {"SET", "FI_PROVIDER=tcp*", NULL};
static const char *const libraries[] = {"libold*.so.*", NULL};

static const struct berth_profile profiles[] = {
    {.name = "x", .stack = "x", .binds = binds_x, .devices = devices_x},
    {.name = "y-fast", .stack = "y", .binds = binds_y, .devices = devices_y},
    {.name = "z",
     .stack = "z",
     .conflicts.variables = variables,
     .conflicts.libraries = libraries},
    {0},
};

#define OF_X "/etc/x.conf:/etc/x.conf:rw\n/opt/x:/site/x:ro\n"
#define OF_Y "/opt/y:/site/x:rw\n/etc/x.conf:/etc/x.conf:rw\n/run/y:/run/y:rw\n"

static const struct {
    const char *mode;
    const char *binds;
    const char *devices;
} modes[] = {
    {"x", OF_X, "/dev/x*\n"},
    {"y", OF_Y, "/dev/x*\n/dev/y\n"},
    {"y-fast", OF_Y, "/dev/x*\n/dev/y\n"},
    {"z", "", ""},
    {"host", OF_X "/run/y:/run/y:rw\n", "/dev/x*\n/dev/y\n"},
    {"auto", OF_X "/run/y:/run/y:rw\n", "/dev/x*\n/dev/y\n"},
    {"hybrid", "", ""},
    {"off", "", ""},
};

static void assert_lines(const struct berth_strvec *list, const char *expected)
{
    BERTH_FREE char *lines = list->count ? unit_lines(list) : strdup("");

    ck_assert_str_eq(lines, expected);
}

TEST_ROWS(a_mode_means_profiles, modes)
{
    const struct berth_request request = {.mpi = (char *)modes[_i].mode};
    BERTH_STRVEC struct berth_strvec binds = {0};
    BERTH_STRVEC struct berth_strvec devices = {0};
    struct berth_err err;

    ck_assert_int_eq(berth_fabric_list(profiles, &request, &binds, &devices, &err), 0);
    assert_lines(&binds, modes[_i].binds);
    assert_lines(&devices, modes[_i].devices);
}

static const struct berth_profile networks[] = {
    {.kind = BERTH_PROFILE_FABRIC, .name = "net", .stack = "net", .devices = devices_x},
    {0},
};

static const struct {
    const char *fabric;
    const char *devices;
} wishes[] = {{"auto", "/dev/x*\n"}, {"blas,net", "/dev/x*\n"}, {"ucx", ""}};

TEST_ROWS(a_fabric_means_profiles, wishes)
{
    const struct berth_request request = {.image = (char *)"/a.sif",
                                          .mpi = (char *)"hybrid",
                                          .libs = (char *)wishes[_i].fabric};
    BERTH_STRVEC struct berth_strvec none = {0};
    BERTH_STRVEC struct berth_strvec devices = {0};
    struct berth_err err;

    ck_assert_int_eq(berth_fabric_list(networks, &request, &none, &devices, &err), 0);
    assert_lines(&devices, wishes[_i].devices);
}

TEST(a_bind_that_is_none_is_named)
{
    static const char *const wrong[] = {"/a:/b:ro:/c", NULL};
    const struct berth_profile one[] = {{.name = "x", .stack = "x", .binds = wrong},
                                        {0}};
    const struct berth_request request = {.mpi = (char *)"x"};
    BERTH_STRVEC struct berth_strvec binds = {0};
    BERTH_STRVEC struct berth_strvec devices = {0};
    struct berth_err err;

    ck_assert_int_eq(berth_fabric_list(one, &request, &binds, &devices, &err), -1);
    ck_assert_ptr_eq(strstr(err.text, "profile 'x': binds: expected SRC"), err.text);
}

static const struct {
    const char *env[3];
    const char *library;
    enum berth_mpi_answer answer;
    const char *why; /* NULL: it goes */
} meetings[] = {
    {{NULL}, "libc.so.6", BERTH_VERDICT_YES, NULL},
    {{"SETTLED=1", "FI_PROVIDER=cxi"}, "libgold.so.1", BERTH_VERDICT_YES, NULL},
    {{"A=1", "SET="},
     "libc.so.6",
     BERTH_VERDICT_YES,
     "the host's MPICH 4 does not go with 'SET' (profile 'z'); unset or unload it, or "
     "choose --mpi-bind=hybrid"},
    {{"FI_PROVIDER=tcp;ofi_rxm"},
     "libc.so.6",
     BERTH_VERDICT_YES,
     "the host's MPICH 4 does not go with 'FI_PROVIDER=tcp*' (profile 'z'); unset or "
     "unload it, or choose --mpi-bind=hybrid"},
    {{NULL},
     "libolder.so.3",
     BERTH_VERDICT_YES,
     "the host's MPICH 4 does not go with 'libolder.so.3' (profile 'z'); unset or "
     "unload it, or choose --mpi-bind=hybrid"},
    {{NULL},
     "libc.so.6",
     BERTH_VERDICT_YES_WITH_HOST_GLIBC,
     "it is older, which this site does not allow (/b.yaml:7); build the image on a "
     "newer "
     "distribution, or choose --mpi-bind=hybrid"},
};

TEST_ROWS(what_does_not_go_together_is_named, meetings)
{
    struct berth_closure_item item = {.soname = (char *)meetings[_i].library};
    const struct berth_closure closure = {.items = &item, .count = 1};
    const struct berth_mpi_verdict verdict = {.answer = meetings[_i].answer,
                                              .because = {"it is older"}};
    const struct berth_fabric fabric = {
        .profile = &profiles[2],
        .version = "MPICH 4",
        .verdict = &verdict,
        .closure = &closure,
        .env = (char *const *)meetings[_i].env,
        .keep_glibc = "/b.yaml:7",
    };
    struct berth_err err = {0};
    int result = berth_fabric_check(&fabric, &err);

    ck_assert_str_eq(err.text, meetings[_i].why ? meetings[_i].why : "");
    ck_assert_int_eq(result, meetings[_i].why ? -1 : 0);
}

/* A tree as Slingshot's and InfiniBand's drivers make it: the shipped profiles take
 * from it what is theirs. */
TEST(the_devices_of_a_fabric_are_found)
{
    static const char *const names[] = {"cxi0", "cxi1", "ss0", "xpmem", "kgni0", "a:b"};
    const struct berth_request request = {.mpi = (char *)"cray-mpich-slingshot"};
    BERTH_FREE char *directory = unit_directory();
    BERTH_STRVEC struct berth_strvec binds = {0};
    BERTH_STRVEC struct berth_strvec devices = {0};
    BERTH_STRVEC struct berth_strvec patterns = {0};
    BERTH_STRVEC struct berth_strvec mounts = {0};
    struct berth_err err;
    char expected[1024] = "";
    size_t used = 0;

    for (size_t i = 0; i < COUNT(names); i++) {
        BERTH_FREE char *path = NULL;

        path = unit_path(directory, names[i]);
        unit_write(path, "", 0);
        if (i < 4)
            used += (size_t)snprintf(expected + used, sizeof(expected) - used,
                                     "%s:%s:rw\n", path, path);
    }
    ck_assert_int_eq(
        berth_fabric_list(berth_profiles, &request, &binds, &devices, &err), 0);
    for (size_t i = 0; i < devices.count; i++)
        berth_strvec_pushf(&patterns, "%s%s", directory,
                           devices.items[i] + strlen("/dev"));
    berth_strvec_pushf(&patterns, "%s/a*", directory); /* a colon cannot be written */
    ck_assert_int_eq(berth_binder_devices(&patterns, &mounts, &err), 0);
    assert_lines(&mounts, expected);
    assert_lines(&binds, "/run/cxi:/run/cxi:rw\n/etc/hosts:/etc/hosts:rw\n"
                         "/run/munge:/run/munge:rw\n"
                         "/etc/libfabric.conf:/etc/libfabric.conf:ro\n"
                         "/etc/psm3.conf:/etc/psm3.conf:ro\n");
    unit_remove(directory);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Which MPI of the host is chosen for a program. */

#include "bindover/bindover.h"

#include <stdio.h>

#include "unit.h"

#define MPICH   (1u << BERTH_FAMILY_MPICH)
#define OPENMPI (1u << BERTH_FAMILY_OPENMPI)
#define ABI     (1u << BERTH_FAMILY_ABI)

static const struct berth_profile profiles[] = {
    {.stack = "mpich", .name = "mpich", .family = BERTH_FAMILY_MPICH},
    {.stack = "openmpi", .name = "openmpi-5", .family = BERTH_FAMILY_OPENMPI},
    {.stack = "mpich", .name = "mpich-abi", .family = BERTH_FAMILY_MPICH},
    {.stack = "site",
     .name = "site",
     .family = BERTH_FAMILY_MPICH,
     .prefix = "/srv/mpich"},
};
static struct berth_stack_library abi = {.family = BERTH_FAMILY_ABI};
static struct berth_stack both[] = {
    {.profile = &profiles[0], .version = (char *)"MPICH 4.2.1"},
    {.profile = &profiles[1], .version = (char *)"Open MPI 5.0.7"},
    {.profile = &profiles[2],
     .version = (char *)"MPICH 5.0.2",
     .libraries = &abi,
     .count = 1},
    {.profile = &profiles[3]}, /* not on this node */
};

static const struct {
    const char *mode;
    enum berth_mpi_family program;
    unsigned int image; /* families of which the image has libraries */
    size_t stacks;      /* how many of BOTH */
    int count;
    struct {
        enum berth_mpi_family family;
        size_t stack;
    } matches[3];
    const char *error;
} rows[] = {
    /* One that this node lacks counts if it comes first, and not if another does. */
    {"host", BERTH_FAMILY_MPICH, MPICH, 4, 1, {{BERTH_FAMILY_MPICH, 0}}, NULL},
    {"site",
     BERTH_FAMILY_MPICH,
     MPICH,
     4,
     -1,
     {{0}},
     "profile 'site': this node has no such library in '/srv/mpich'; have it mounted "
     "here, or name a profile that all nodes have"},
    {"host", BERTH_FAMILY_MPICH, MPICH, 2, 1, {{BERTH_FAMILY_MPICH, 0}}, NULL},
    {"auto",
     BERTH_FAMILY_OPENMPI,
     MPICH | OPENMPI,
     2,
     1,
     {{BERTH_FAMILY_OPENMPI, 1}},
     NULL},
    {"openmpi", BERTH_FAMILY_OPENMPI, 0, 2, 1, {{BERTH_FAMILY_OPENMPI, 1}}, NULL},
    {"openmpi-5", BERTH_FAMILY_OPENMPI, 0, 2, 1, {{BERTH_FAMILY_OPENMPI, 1}}, NULL},
    {"mpich-abi", BERTH_FAMILY_MPICH, MPICH, 3, 1, {{BERTH_FAMILY_MPICH, 2}}, NULL},
    {"host", BERTH_FAMILY_ABI, ABI | MPICH, 3, 1, {{BERTH_FAMILY_ABI, 2}}, NULL},
    {"host", BERTH_FAMILY_NONE, 0, 2, 0, {{0}}, NULL},
    {"host", BERTH_FAMILY_NONE, MPICH, 2, 1, {{BERTH_FAMILY_MPICH, 0}}, NULL},
    {"host",
     BERTH_FAMILY_NONE,
     MPICH | OPENMPI,
     2,
     2,
     {{BERTH_FAMILY_MPICH, 0}, {BERTH_FAMILY_OPENMPI, 1}},
     NULL},
    {"host", BERTH_FAMILY_NONE, MPICH | OPENMPI, 1, 1, {{BERTH_FAMILY_MPICH, 0}}, NULL},
    {"openmpi",
     BERTH_FAMILY_NONE,
     MPICH | OPENMPI,
     2,
     1,
     {{BERTH_FAMILY_OPENMPI, 1}},
     NULL},
    {"host",
     BERTH_FAMILY_OPENMPI,
     OPENMPI,
     1,
     -1,
     {{0}},
     "the program wants Open MPI, and the MPI of this host is MPICH 4.2.1 (mpich); "
     "take "
     "the image's own with --mpi-bind=hybrid, or load a module that brings Open MPI"},
    {"auto",
     BERTH_FAMILY_NONE,
     OPENMPI,
     0,
     -1,
     {{0}},
     "the program wants Open MPI, and the MPI of this host is none; take the image's "
     "own with --mpi-bind=hybrid, or load a module that brings Open MPI"},
    {"mpich",
     BERTH_FAMILY_OPENMPI,
     OPENMPI,
     2,
     -1,
     {{0}},
     "the program wants Open MPI, and --mpi-bind=mpich is MPICH 4.2.1; write "
     "--mpi-bind=host"},
    {"mpich",
     BERTH_FAMILY_OPENMPI,
     OPENMPI,
     1,
     -1,
     {{0}},
     "the program wants Open MPI, and --mpi-bind=mpich is MPICH 4.2.1; write "
     "--mpi-bind=hybrid"},
    {"intel",
     BERTH_FAMILY_NONE,
     0,
     2,
     -1,
     {{0}},
     "this host has no MPI called 'intel'; it has MPICH 4.2.1 (mpich), Open MPI 5.0.7 "
     "(openmpi); expected one of them, or auto, host, hybrid, local, local-each, "
     "launch or off"},
    {"hots",
     BERTH_FAMILY_NONE,
     0,
     2,
     -1,
     {{0}},
     "this host has no MPI called 'hots' (did you mean 'host'?); it has MPICH 4.2.1 "
     "(mpich), Open MPI 5.0.7 (openmpi); expected one of them, or auto, host, hybrid, "
     "local, local-each, launch or off"},
    {"mpihc",
     BERTH_FAMILY_NONE,
     0,
     2,
     -1,
     {{0}},
     "this host has no MPI called 'mpihc' (did you mean 'mpich'?); it has MPICH 4.2.1 "
     "(mpich), Open MPI 5.0.7 (openmpi); expected one of them, or auto, host, hybrid, "
     "local, local-each, launch or off"},
};

static void add_library(struct berth_mpi_objects *image, enum berth_mpi_family family)
{
    struct berth_elf elf = {.kind = BERTH_ELF_LIBRARY};
    struct berth_err err;
    char path[32];

    snprintf(path, sizeof(path), "/lib/libmpi-%d.so", (int)family);
    ck_assert_int_eq(
        berth_mpi_objects_add(image, BERTH_ROLE_PRESENT, NULL, path, &elf, &err), 0);
    image->items[image->count - 1].library =
        (struct berth_mpi_library){.family = family, .parts = BERTH_PART_C};
}

TEST_ROWS(a_family_gets_what_the_host_offers, rows)
{
    struct berth_mpi_program program = {.family = rows[_i].program};
    const struct berth_stacks stacks = {both, rows[_i].stacks};
    struct berth_mpi_objects image = {0};
    struct berth_match matches[BERTH_MATCHES_MAX];
    struct berth_err err = {""};
    enum berth_reason reason = BERTH_REASON_IMAGE;
    int count;

    for (int family = BERTH_FAMILY_MPICH; family <= BERTH_FAMILY_ABI; family++)
        if (rows[_i].image >> family & 1)
            add_library(&image, (enum berth_mpi_family)family);
    count = berth_match_find(rows[_i].mode, &program, &image, &stacks, matches, &reason,
                             &err);
    /* Another node may offer more. */
    ck_assert_int_eq(reason, BERTH_REASON_NODE);
    ck_assert_str_eq(err.text, rows[_i].error ? rows[_i].error : "");
    ck_assert_int_eq(count, rows[_i].count);
    for (int i = 0; i < count; i++) {
        ck_assert_int_eq(matches[i].family, rows[_i].matches[i].family);
        ck_assert_ptr_eq(matches[i].stack, &both[rows[_i].matches[i].stack]);
    }
    berth_mpi_objects_fini(&image);
}

TEST(marks_of_two_families_are_named)
{
    struct berth_mpi_program program = {.family = BERTH_FAMILY_UNKNOWN};
    const struct berth_stacks stacks = {both, 2};
    struct berth_mpi_objects image = {0};
    struct berth_match matches[BERTH_MATCHES_MAX];
    enum berth_reason reason;
    struct berth_err err;

    berth_strvec_push(&program.families, "MPICH");
    berth_strvec_push(&program.families, "Open MPI");
    ck_assert_int_eq(
        berth_match_find("host", &program, &image, &stacks, matches, &reason, &err),
        -1);
    ck_assert_int_eq(reason, BERTH_REASON_IMAGE);
    ck_assert_ptr_nonnull(strstr(err.text, "(marks of: MPICH and Open MPI); build it"));
    berth_strvec_fini(&program.families);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Which MPI of the host is chosen for a program. */

#include "bindover/match.h"

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
    enum berth_mpi_family families[2]; /* that are replaced, */
    size_t chosen[2];                  /* and by which of BOTH */
} rows[] = {
    /* One that this node lacks counts if it comes first, and not if another does. */
    {"host", BERTH_FAMILY_MPICH, MPICH, 4, 1, {BERTH_FAMILY_MPICH}, {0}},
    {"host", BERTH_FAMILY_MPICH, MPICH, 2, 1, {BERTH_FAMILY_MPICH}, {0}},
    {"auto", BERTH_FAMILY_OPENMPI, MPICH | OPENMPI, 2, 1, {BERTH_FAMILY_OPENMPI}, {1}},
    {"openmpi", BERTH_FAMILY_OPENMPI, 0, 2, 1, {BERTH_FAMILY_OPENMPI}, {1}},
    {"openmpi-5", BERTH_FAMILY_OPENMPI, 0, 2, 1, {BERTH_FAMILY_OPENMPI}, {1}},
    {"mpich-abi", BERTH_FAMILY_MPICH, MPICH, 3, 1, {BERTH_FAMILY_MPICH}, {2}},
    {"host", BERTH_FAMILY_ABI, ABI | MPICH, 3, 1, {BERTH_FAMILY_ABI}, {2}},
    {"host", BERTH_FAMILY_NONE, 0, 2, 0, {0}, {0}},
    {"host", BERTH_FAMILY_NONE, MPICH, 2, 1, {BERTH_FAMILY_MPICH}, {0}},
    {"host",
     BERTH_FAMILY_NONE,
     MPICH | OPENMPI,
     2,
     2,
     {BERTH_FAMILY_MPICH, BERTH_FAMILY_OPENMPI},
     {0, 1}},
    {"host", BERTH_FAMILY_NONE, MPICH | OPENMPI, 1, 1, {BERTH_FAMILY_MPICH}, {0}},
    {"openmpi", BERTH_FAMILY_NONE, MPICH | OPENMPI, 2, 1, {BERTH_FAMILY_OPENMPI}, {1}},
};

#define WANTS(what) "the program wants Open MPI, and " what
#define NO_MPI(name)                                                                   \
    "this host has no MPI called " name                                                \
    "; it has MPICH 4.2.1 (mpich), Open MPI 5.0.7 (openmpi); expected one of them, "   \
    "or auto, host, hybrid, local, local-each, launch or off"

static const struct {
    const char *mode;
    enum berth_mpi_family program;
    unsigned int image;
    size_t stacks;
    const char *error;
} refused[] = {
    {"site", BERTH_FAMILY_MPICH, MPICH, 4,
     "profile 'site': this node has no such library in '/srv/mpich'; have it mounted "
     "here, or name a profile that all nodes have"},
    {"host", BERTH_FAMILY_OPENMPI, OPENMPI, 1,
     WANTS("the MPI of this host is MPICH 4.2.1 (mpich); take the image's own with "
           "--mpi-bind=hybrid, or load a module that brings Open MPI")},
    {"auto", BERTH_FAMILY_NONE, OPENMPI, 0,
     WANTS("the MPI of this host is none; take the image's own with --mpi-bind=hybrid, "
           "or load a module that brings Open MPI")},
    {"mpich", BERTH_FAMILY_OPENMPI, OPENMPI, 2,
     WANTS("--mpi-bind=mpich is MPICH 4.2.1; write --mpi-bind=host")},
    {"mpich", BERTH_FAMILY_OPENMPI, OPENMPI, 1,
     WANTS("--mpi-bind=mpich is MPICH 4.2.1; write --mpi-bind=hybrid")},
    {"intel", BERTH_FAMILY_NONE, 0, 2, NO_MPI("'intel'")},
    {"hots", BERTH_FAMILY_NONE, 0, 2, NO_MPI("'hots' (did you mean 'host'?)")},
    {"mpihc", BERTH_FAMILY_NONE, 0, 2, NO_MPI("'mpihc' (did you mean 'mpich'?)")},
};

static struct berth_match matches[BERTH_MATCHES_MAX];
static struct berth_err err;

static void add_library(struct berth_mpi_objects *image, enum berth_mpi_family family)
{
    struct berth_elf elf = {.kind = BERTH_ELF_LIBRARY};
    char path[32];

    snprintf(path, sizeof(path), "/lib/libmpi-%d.so", (int)family);
    ck_assert_int_eq(
        berth_mpi_objects_add(image, BERTH_ROLE_PRESENT, NULL, path, &elf, &err), 0);
    image->items[image->count - 1].library =
        (struct berth_mpi_library){.family = family, .parts = BERTH_PART_C};
}

/* As berth_match_find(), for a program of FAMILY in an image that has FAMILIES. */
static int find(const char *mode, enum berth_mpi_family family, unsigned int families,
                size_t count)
{
    const struct berth_mpi_program program = {.family = family};
    const struct berth_stacks stacks = {both, count, 0};
    struct berth_mpi_objects image = {0};
    enum berth_reason reason = BERTH_REASON_IMAGE;
    int found;

    for (int it = BERTH_FAMILY_MPICH; it <= BERTH_FAMILY_ABI; it++)
        if (families >> it & 1)
            add_library(&image, (enum berth_mpi_family)it);
    found = berth_match_find(mode, &program, &image, &stacks, matches, &reason, &err);
    ck_assert_int_eq(reason, BERTH_REASON_NODE); /* another one may offer more */
    berth_mpi_objects_fini(&image);
    return found;
}

TEST_ROWS(a_family_gets_what_the_host_offers, rows)
{
    int count = find(rows[_i].mode, rows[_i].program, rows[_i].image, rows[_i].stacks);

    ck_assert_str_eq(err.text, "");
    ck_assert_int_eq(count, rows[_i].count);
    for (int i = 0; i < count; i++) {
        ck_assert_int_eq(matches[i].family, rows[_i].families[i]);
        ck_assert_ptr_eq(matches[i].stack, &both[rows[_i].chosen[i]]);
    }
}

TEST_ROWS(what_the_host_does_not_offer_is_named, refused)
{
    ck_assert_int_eq(find(refused[_i].mode, refused[_i].program, refused[_i].image,
                          refused[_i].stacks),
                     -1);
    ck_assert_str_eq(err.text, refused[_i].error);
}

TEST(marks_of_two_families_are_named)
{
    struct berth_mpi_program program = {.family = BERTH_FAMILY_UNKNOWN};
    const struct berth_stacks stacks = {both, 2, 0};
    struct berth_mpi_objects image = {0};
    enum berth_reason reason;

    berth_strvec_push(&program.families, "MPICH");
    berth_strvec_push(&program.families, "Open MPI");
    ck_assert_int_eq(
        berth_match_find("host", &program, &image, &stacks, matches, &reason, &err),
        -1);
    ck_assert_int_eq(reason, BERTH_REASON_IMAGE);
    ck_assert_ptr_nonnull(strstr(err.text, "(marks of: MPICH and Open MPI); build it"));
    berth_strvec_fini(&program.families);
}

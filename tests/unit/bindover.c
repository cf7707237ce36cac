/* SPDX-License-Identifier: Apache-2.0 */
/* Which library of the host replaces which library of the image. */

#include "bindover/replacement.h"

#include "base/cleanup.h"
#include "unit.h"

enum {
    C = BERTH_PART_C,
    FORTRAN = BERTH_PART_FORTRAN,
    F08 = BERTH_PART_F08,
    CXX = BERTH_PART_CXX
};

struct library {
    const char *path; /* NULL: the end */
    enum berth_mpi_family family;
    unsigned int parts;
};

static const struct {
    struct library image[6];
    struct library staged[6];
    enum berth_mpi_family family;
    const char *binds; /* STAGED IMAGE lines */
} rows[] = {
    {{{NULL}}, {{"/s/libmpi", BERTH_FAMILY_MPICH, C}, {NULL}}, BERTH_FAMILY_MPICH, ""},
    {{{"/i/libmpich", BERTH_FAMILY_MPICH, C},
      {"/i/libmpichfort", BERTH_FAMILY_MPICH, FORTRAN | F08},
      {"/i/libmpichcxx", BERTH_FAMILY_MPICH, CXX},
      {"/opt/libmpich", BERTH_FAMILY_MPICH, C},
      {"/i/openmpi", BERTH_FAMILY_OPENMPI, C},
      {NULL}},
     {{"/s/libmpi", BERTH_FAMILY_MPICH, C},
      {"/s/libmpifort", BERTH_FAMILY_MPICH, FORTRAN | F08},
      {"/s/libmpi_abi", BERTH_FAMILY_ABI, C},
      {NULL}},
     BERTH_FAMILY_MPICH,
     "/s/libmpi\n/i/libmpich\n/s/libmpifort\n/i/libmpichfort\n/s/libmpi\n/opt/"
     "libmpich\n"},
    {{{"/i/libmpi", BERTH_FAMILY_MPICH, C | FORTRAN}, {NULL}},
     {{"/s/libmpi", BERTH_FAMILY_MPICH, C}, {NULL}},
     BERTH_FAMILY_MPICH,
     ""},
    {{{"/i/libmpi", BERTH_FAMILY_MPICH, C}, {NULL}},
     {{"/s/all", BERTH_FAMILY_MPICH, C | FORTRAN | F08},
      {"/s/libmpi", BERTH_FAMILY_MPICH, C},
      {NULL}},
     BERTH_FAMILY_MPICH,
     "/s/libmpi\n/i/libmpi\n"},
    {{{"/i/libmpi_abi", BERTH_FAMILY_ABI, C},
      {"/i/libmpi", BERTH_FAMILY_MPICH, C},
      {NULL}},
     {{"/s/libmpi_abi", BERTH_FAMILY_ABI, C},
      {"/s/libmpi", BERTH_FAMILY_MPICH, C},
      {NULL}},
     BERTH_FAMILY_ABI,
     "/s/libmpi_abi\n/i/libmpi_abi\n"},
};

static void add_all(struct berth_mpi_objects *objects, const struct library *library)
{
    for (; library->path; library++) {
        struct berth_elf elf = {.kind = BERTH_ELF_LIBRARY};
        struct berth_err err;

        ck_assert_int_eq(berth_mpi_objects_add(objects, BERTH_ROLE_PRESENT, NULL,
                                               library->path, &elf, &err),
                         0);
        objects->items[objects->count - 1].library = (struct berth_mpi_library){
            .family = library->family, .parts = library->parts};
    }
}

TEST_ROWS(a_library_goes_over_its_twin, rows)
{
    struct berth_mpi_objects image = {0};
    struct berth_mpi_objects staged = {0};
    BERTH_STRVEC struct berth_strvec binds = {0};
    BERTH_FREE char *lines = NULL;
    struct berth_err err;

    add_all(&image, rows[_i].image);
    add_all(&staged, rows[_i].staged);
    ck_assert_int_eq(
        berth_replacement_pair(&image, &staged, rows[_i].family, &binds, &err), 0);
    lines = unit_lines(&binds);
    ck_assert_str_eq(lines, rows[_i].binds);
    berth_mpi_objects_fini(&image);
    berth_mpi_objects_fini(&staged);
}

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "mpi/family.h"

/* How a program uses a file. */
enum berth_mpi_role {
    BERTH_ROLE_PROGRAM, /* the command itself; at most one, and only of an image */
    BERTH_ROLE_LOADED,  /* the loader loads it when the program starts */
    BERTH_ROLE_PRESENT, /* it is in the image, and may be loaded later */
};

struct berth_mpi_object {
    enum berth_mpi_role role;
    char *soname; /* the name under which others need it; NULL for a program */
    char *path;
    struct berth_elf elf;
    struct berth_mpi_library library; /* the MPI that it is, or has inside */
};

/* The files of one side, an image or a host. Start with `= {0}`. */
struct berth_mpi_objects {
    struct berth_mpi_object *items;
    size_t count;
    size_t room;
};

/* Appends a file with the facts *ELF (of berth_mpi_question). The list takes these
 * over, also if this fails, and *ELF is then empty. PATH should have no links, since
 * the name of the file shows the release. SONAME may be NULL: then it is the file's
 * own, or else the end of PATH. A path that is added twice stays once, with the
 * stronger role. Returns 0, or -1 out of memory. */
int berth_mpi_objects_add(struct berth_mpi_objects *objects, enum berth_mpi_role role,
                          const char *soname, const char *path, struct berth_elf *elf,
                          struct berth_err *err);

/* The file at PATH; NULL: there is none. */
struct berth_mpi_object *berth_mpi_objects_at(const struct berth_mpi_objects *objects,
                                              const char *path);

/* The file that others need as SONAME, or whose own SONAME it is; NULL: there is none.
 * The role that comes first in enum berth_mpi_role wins. */
const struct berth_mpi_object *
berth_mpi_objects_find(const struct berth_mpi_objects *objects, const char *soname);

/* The C library of FAMILY; NULL: there is none. */
const struct berth_mpi_object *
berth_mpi_objects_mpi(const struct berth_mpi_objects *objects,
                      enum berth_mpi_family family);

/* Does the program load an MPI when it starts? */
bool berth_mpi_objects_load(const struct berth_mpi_objects *objects);

/* All parts of FAMILY that the files offer, as bits. */
unsigned int berth_mpi_objects_parts(const struct berth_mpi_objects *objects,
                                     enum berth_mpi_family family);

/* Marks in SEEN, which has a flag for each of OBJECTS, OBJECT and all that it needs, as
 * far as THROUGH (NULL: always) is true for the objects on the way. */
void berth_mpi_objects_reach(const struct berth_mpi_objects *objects,
                             const struct berth_mpi_object *object,
                             bool (*through)(const struct berth_mpi_object *object),
                             bool *seen);

void berth_mpi_objects_fini(struct berth_mpi_objects *objects);

/* Writes the name of the MPI of FAMILY among OBJECTS, for people, to NAME (SIZE bytes):
 * "MPICH 4.2.3", "Intel MPI". Returns NAME. */
const char *berth_mpi_describe(const struct berth_mpi_objects *objects,
                               enum berth_mpi_family family, char *name, size_t size);

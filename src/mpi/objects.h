/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "mpi/family.h"

/* How a file takes part. */
enum berth_mpi_role {
    BERTH_ROLE_PROGRAM, /* the command itself, at most one; of an image only */
    BERTH_ROLE_LOADED,  /* the loader loads it when the program starts */
    BERTH_ROLE_PRESENT, /* it is there, and may be loaded later */
};

struct berth_mpi_object {
    enum berth_mpi_role role;
    char *soname; /* the name under which others need it; NULL for a program */
    char *path;
    struct berth_elf elf;
    struct berth_mpi_library library; /* the part of an MPI that it is */
};

/* The files of one side, an image or a host. Start with `= {0}`. */
struct berth_mpi_objects {
    struct berth_mpi_object *items;
    size_t count;
    size_t room;
};

/* Appends a file with the facts *ELF (of berth_mpi_question). The list owns these from
 * now on, also if this fails; *ELF is then empty. PATH is without links, if possible,
 * since the name of the file tells releases. SONAME may be NULL: then it is the file's
 * own, or else the end of PATH. A path that is added twice is kept once, with the
 * stronger role. Returns 0, or -1 out of memory. */
int berth_mpi_objects_add(struct berth_mpi_objects *objects, enum berth_mpi_role role,
                          const char *soname, const char *path, struct berth_elf *elf,
                          struct berth_err *err);

/* The file that is needed by, or calls itself, SONAME; NULL when there is none. A
 * loaded one goes before one that is only there. */
const struct berth_mpi_object *
berth_mpi_objects_find(const struct berth_mpi_objects *objects, const char *soname);

/* The C library of FAMILY; NULL when there is none. */
const struct berth_mpi_object *
berth_mpi_objects_mpi(const struct berth_mpi_objects *objects,
                      enum berth_mpi_family family);

/* The symbol NAME that some file defines, the first; NULL when none does. */
const struct berth_elf_symbol *
berth_mpi_objects_symbol(const struct berth_mpi_objects *objects, const char *name);

/* All parts of FAMILY that the files give. */
unsigned int berth_mpi_objects_parts(const struct berth_mpi_objects *objects,
                                     enum berth_mpi_family family);

/* Marks OBJECT, and all that it needs, in SEEN, which has a flag for each of OBJECTS.
 * Only objects for which THROUGH is true (NULL: all) are marked and followed further.
 */
void berth_mpi_objects_reach(const struct berth_mpi_objects *objects,
                             const struct berth_mpi_object *object,
                             bool (*through)(const struct berth_mpi_object *object),
                             bool *seen);

void berth_mpi_objects_fini(struct berth_mpi_objects *objects);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/strvec.h"
#include "elf/closure.h"
#include "mpi/family.h"

/* Knowledge about MPI stacks and fabrics, as tables. A stack is the libraries of one
 * install of either, with all that they need or open. Lists of texts end in NULL. */

/* What a library opens by itself while it runs, so that no loader lists it. */
struct berth_opener {
    const char *library;       /* its SONAME without version: libucs.so */
    const char *const *places; /* directories, from that of the library; the first that
                                  has a match counts */
    const char *pattern;       /* of the files in there (fnmatch(3)) */
    const char *const *skip;   /* files to leave out (fnmatch(3)); NULL: none */
    const char *into;          /* the directory in the stage */
    bool is_first; /* it looks there before it looks where its variable says */
};

/* A variable that must be set for the staged library and no other, so only after it
 * was verified that this is what runs. */
struct berth_setting {
    const char *library;  /* when the stage has it: SONAME without version */
    const char *variable; /* NAME */
    const char *path;     /* its value, from the top of the stage; "" is the top */
    const char *each;     /* not NULL: the files of PATH that end so, without that end,
                             joined by colons */
};

/* Files that are read and not linked: copied as they are. */
struct berth_data {
    const char *const *places; /* from the directory of the C library, or absolute;
                                  absolute ones count for a library under /usr */
    const char *into;          /* a directory or file in the stage */
};

/* A file that a library beside MPI reads when it starts; its place depends on the
 * library's. */
struct berth_config {
    const char *library; /* its SONAME without version */
    struct berth_data data;
};

/* What a profile is for. */
enum berth_profile_kind {
    BERTH_PROFILE_MPI,    /* the host's MPI in place of the image's */
    BERTH_PROFILE_FABRIC, /* the host's network libraries under the image's own MPI */
    BERTH_PROFILE_LIBRARIES, /* other libraries of the host in the place of the image's
                              */
};

struct berth_profile {
    enum berth_profile_kind kind;
    const char *name;  /* of the table: cray-mpich-slingshot */
    const char *label; /* name:HASH of one that a site has written; NULL: ours */
    const char *stack; /* as users say it: cray-mpich */
    enum berth_mpi_family family; /* of an MPI */
    const char *const *adds;      /* of no MPI: SONAMEs that an image need not have,
                                     since a program finds those of a fabric by a
                                     variable of `environment`, and others by
                                     LD_LIBRARY_PATH; NULL: none */
    const char *const *replaces;  /* of no MPI: the SONAMEs that the host's libraries
                                     replace, of LIBRARIES as far as the host has
                                     them; NULL: none */
    const char *prefix;        /* the top of the install, where a site names it; NULL */
    const char *vendor;        /* as mpi/family.h says it; NULL: any */
    const char *const *needs;  /* one of these SONAMEs (fnmatch(3)) is in the closure;
                                  NULL: whatever is */
    const char *const *names;  /* SONAMEs that some library of the stack opens */
    const char *const *nearby; /* where to look for them, from the C library; of
                                  LIBRARIES where `replaces` and `adds` are looked for
                                  first, from the directory that the loader finds */
    const struct berth_data *plugins; /* directories, of which every library is opened;
                                         ends in {0} */
    const struct berth_data *data;    /* ends in {0} */
    const char *root;               /* the variable that names the top of the install */
    const char *const *environment; /* NAME=VALUE, in which $STAGE is the stage */
    const char *const *binds; /* SRC[:DST[:ro|rw|sqsh]], to mount where SRC is there */
    const char *const *devices; /* of /dev (glob(7)), the same */
    struct {
        const char *const *variables; /* NAME, or NAME=VALUE (fnmatch(3)) */
        const char *const
            *libraries; /* SONAMEs (fnmatch(3)) of the program's closure */
    } conflicts;        /* what must not be present beside the stack */
};

/* The first of PROFILES (it ends as berth_profiles does) that fits the C library
 * LIBRARY, whose closure is CLOSURE; NULL: none. One with a prefix is for the install
 * there alone, and fits no other. */
const struct berth_profile *berth_profile_match(const struct berth_profile *profiles,
                                                const struct berth_mpi_library *library,
                                                const struct berth_closure *closure);

/* Is NAME that of the profile, or of its stack? */
bool berth_profile_is_called(const struct berth_profile *profile, const char *name);

/* Is SONAME one of the libraries that the profile needs, or is one of these in the
 * closure? Yes where it needs none. */
bool berth_profile_is_needed(const struct berth_profile *profile, const char *soname);
bool berth_profile_has_needed(const struct berth_profile *profile,
                              const struct berth_closure *closure);

/* A label that differs for every profile, also from an earlier one of the same name. */
const char *berth_profile_label(const struct berth_profile *profile);

/* All profiles, openers, settings and configurations; each ends in one whose first
 * member is NULL. */
extern const struct berth_profile berth_profiles[];
extern const struct berth_opener berth_openers[];
extern const struct berth_setting berth_settings[];
extern const struct berth_config berth_configs[];

/* Is SONAME that of LIBRARY (libucs.so.0 of libucs.so)? */
bool berth_profile_is(const char *soname, const char *library);

/* Append the names under which programs may want the library of MPI SONAME: itself, the
 * same without version, and what distributions call it. */
void berth_profile_aliases(const char *soname, struct berth_strvec *names);

/* Does SONAME belong to glibc, the loader included? All of glibc comes from one build,
 * or none of it. */
bool berth_profile_is_glibc(const char *soname);

/* The SONAMEs of glibc, ended by NULL; not all exist everywhere. */
extern const char *const berth_profile_glibc[];

/* Is SONAME a library that programs made by GCC need? */
bool berth_profile_is_gcc(const char *soname);

/* Does a fabric replace SONAME, so that a process needs all its users to be judged? */
bool berth_profile_is_fabric(const char *soname);

/* Does SONAME belong to a kernel driver's libraries, which the container runtime mounts
 * (--nv)? */
bool berth_profile_is_driver(const char *soname);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "bindover/bindover.h"

/* An image with a program, and the stage of the host's libraries for it, of which one
 * test program sees what lies over what. Where the test may not have a mount namespace,
 * only what is refused before the mounts is seen. */

#define NET   "libberth-net.so.1"
#define OTHER "libberth-other.so.1"
#define UCS   "libucs.so.0" /* which opens plugins */

extern struct sides {
    char *directory; /* with image/, stage/lib/ and the program, app */
    int ends[2];     /* of the channel; the test answers at the first for the host */
    struct berth_program program;
    struct berth_programs programs; /* that one, and the binding */
    struct berth_err err;
} sides;

void sides_set_up(void);
void sides_tear_down(void);

/* Make NAME in the directory. */
void sides_make_directory(const char *name);

/* Compile the library SONAME in PLACE (image, stage/lib), with these functions, one
 * letter each. */
void sides_compile(const char *place, const char *soname, const char *functions);

/* Compile the program, which needs the functions of the image's library SONAME, and
 * scan it. */
void sides_compile_program(const char *soname, const char *functions);

/* Compile a program that is linked statically, and scan it. */
void sides_compile_static(void);

/* Scan the program NAME of the directory. */
void sides_scan(const char *name);

/* Make the stage one of the library SONAME, and send it as the host's answer. */
void sides_write_manifest(const char *soname);

/* The image has NET with the functions IMAGE, the stage with STAGED (NULL: there is
 * none yet), and the program needs NEEDED of them. */
void sides_have(const char *image, const char *staged, const char *needed);

/* Use the host's fabrics or libraries (KIND) of INSIDE for the program. Returns as
 * berth_hostlibs_use(), with `err`. */
int sides_use(const struct berth_decide *inside, enum berth_profile_kind kind);

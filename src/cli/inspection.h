/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"
#include "elf/closure.h"
#include "mpi/objects.h"
#include "mpi/program.h"

/* Whether one MPI of the host fits a program. Borrows its texts. */
struct berth_inspect_offer {
    const char *stack;   /* NAME of --mpi-bind=NAME */
    const char *version; /* "MPICH 4.2.1" */
    const char *answer;  /* yes, no, ... */
    const char *because; /* a sentence */
};

/* What was found in a file or an image. Borrows everything. */
struct berth_inspection {
    const char *image;   /* NULL: none */
    const char *machine; /* of the image; NULL: not known */
    bool is_sandbox;
    const char *file;                        /* NULL: the image as a whole */
    const struct berth_mpi_objects *objects; /* the file, what its loader loads, and
                                                the MPI and C libraries around it */
    const struct berth_closure *closure;     /* NULL: no loader was run */
    const struct berth_mpi_program *wants;   /* NULL: of the image as a whole */
    const char *runner;                      /* of a script; NULL: the file itself */
    bool is_privileged;                      /* setuid or setgid */
    const char
        *mode; /* default of --mpi-bind at this site; NULL: no program in an image */
    const struct berth_inspect_offer *offers;
    size_t offer_count;
};

/* Write one value to JSON: an object (berth(1)), or a line for each thing. */
void berth_inspect_write(const struct berth_inspection *seen, struct berth_json *json);

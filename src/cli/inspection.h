/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"
#include "bindover/stack.h"
#include "elf/closure.h"
#include "image/image.h"
#include "mpi/objects.h"
#include "mpi/program.h"
#include "mpi/verdict.h"

/* What was found in a file or an image. Borrows everything. */
struct berth_inspection {
    const char *image;                       /* NULL: none */
    const char *machine;                     /* of the image; NULL: not known */
    enum berth_image_kind kind;              /* of the image */
    const char *file;                        /* NULL: the image as a whole */
    const struct berth_mpi_objects *objects; /* the file, what its loader loads, and
                                                the MPI and C libraries around it */
    const struct berth_closure *closure;     /* NULL: no loader was run */
    const struct berth_mpi_program *wants;   /* NULL: of the image as a whole */
    const char *runner;                      /* of a script; NULL: the file itself */
    bool is_privileged;                      /* setuid or setgid */
    const char *mode; /* default of --mpi-bind; NULL: not a program in an image */
    const struct berth_stack *stacks;         /* MPIs of the host, and for each */
    const struct berth_mpi_verdict *verdicts; /* whether it fits the program */
    size_t verdict_count;
};

/* Write one value to JSON: an object (berth(1)), or a line for each thing. */
void berth_inspect_write(const struct berth_inspection *seen, struct berth_json *json);

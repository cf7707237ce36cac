/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/json.h"
#include "elf/closure.h"
#include "mpi/objects.h"
#include "mpi/program.h"

/* Whether one MPI of the host fits a program. Borrows its texts. */
struct berth_inspect_offer {
    const char *stack;   /* as users say it */
    const char *version; /* for people */
    const char *answer;  /* yes, no, ... */
    const char *because; /* a sentence */
};

/* What was seen of a file or an image. Borrows everything. */
struct berth_inspection {
    const char *image;   /* NULL: none */
    const char *machine; /* of the image; NULL: not told */
    bool is_sandbox;
    const char *file;                        /* NULL: the image as a whole */
    const struct berth_mpi_objects *objects; /* the file, what its loader loads, and
                                                the MPI and C libraries around it */
    const struct berth_closure *closure;     /* NULL: no loader was asked */
    const struct berth_mpi_program *wants;   /* NULL: of the image as a whole */
    const char *runner;                      /* of a script; NULL: the file itself */
    bool is_privileged;                      /* setuid or setgid */
    const char *mode; /* of --mpi-bind where it is not said; NULL: nothing is offered */
    const struct berth_inspect_offer *offers;
    size_t offer_count;
};

/* For people: a line for each thing. */
void berth_inspect_text(const struct berth_inspection *seen, struct berth_buf *out);

/* One JSON object (berth(1)). */
void berth_inspect_json(const struct berth_inspection *seen, struct berth_json *json);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

/* What a step of berth qualify has said. Its program (share/berth/qualify.c) prints, on
 * standard output,
 *
 *     berth-qualify library TEXT        of MPI_Get_library_version, its first line
 *     berth-qualify device PATH         of a network card that rank 0 has open
 *     berth-qualify cma yes             rank 0 reads the memory of another rank
 *     berth-qualify cma no TEXT         and why it cannot
 *     berth-qualify ring RANKS NODES    all ranks have passed a number on
 *     berth-qualify latency NUMBER      microseconds, one way, 8 bytes
 *     berth-qualify bandwidth NUMBER    MB/s, 4 MiB
 *
 * in any order, and ranks that find no other rank each print all of it. Other lines are
 * the program's environment, and do not count. */
struct berth_measured {
    char library[128];         /* "": not said */
    char cma[64];              /* "yes", why not, or "": there was no second rank */
    int ranks, nodes;          /* 0: no ring */
    int rings;                 /* how many said so; more than 1: each rank was alone */
    double latency, bandwidth; /* 0: not measured */
    struct berth_buf devices;  /* each once, joined by blanks; no text: none */
};

/* Read OUT (NULL: nothing). The caller owns *RET in each case. -1: a line of ours is
 * not of this form. */
int berth_measured_read(const char *out, struct berth_measured *ret,
                        struct berth_err *err);

void berth_measured_fini(struct berth_measured *measured);

/* What all others of a step have said. UCX does so on standard output. */
struct berth_witnessed {
    int ranks; /* that have loaded what the host has for them, by the witness's note */
    int of;    /* of how many; 0: no note */
    char host[64];       /* what that is: "MPICH 4.2.1" */
    const char *speaker; /* who says the next two: "UCX", "Open MPI"; NULL: nobody */
    char between[64];    /* the transports between nodes; "": not said */
    char within[64];     /* the same on a node */
    char provider[32];   /* of libfabric, that has an endpoint; "": not said */
    char opened[32]; /* that libfabric has opened, maybe among others; "": not said */
    char sentence[1024]; /* the first of berth's own that is an error; "": none */
    char other[1024];    /* the line of other programs that tells most; "": none */
    int weight;          /* of that line */
    bool after_rule;     /* the line before was of dashes */
};

/* Read LOG (NULL: nothing). *RET starts as {0}, and gets what LOG adds to it. */
void berth_witnessed_read(const char *log, struct berth_witnessed *ret);

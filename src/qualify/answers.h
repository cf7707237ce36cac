/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/strvec.h"
#include "qualify/checks.h"

/* What programs on a node have answered to berth qualify, as data. */

/* A stack of `berth profiles`. */
struct berth_offer {
    char name[64];    /* for --mpi-bind or --container-fabric */
    char family[32];  /* "MPICH", "Open MPI"; "": a fabric */
    char version[64]; /* "MPICH 4.2.1"; of a fabric its file: "libfabric.so.1.27.0" */
    bool is_named;    /* by a profile that the site has written */
};

enum { BERTH_OFFERS = 16 };

/* The stacks and fabrics in TEXT, what `berth profiles` prints; at most BERTH_OFFERS.
 * Returns how many there are. */
size_t berth_offers_read(const char *text, struct berth_offer ret[BERTH_OFFERS]);

/* Append the COUNT stacks and fabrics. A node without an MPI is a note. */
enum berth_check_result berth_offers_judge(const struct berth_offer *offers,
                                           size_t count, struct berth_buf *ret);

/* Does TEXT of MPI_Get_library_version name a library of FAMILY? */
bool berth_offer_fits(const char *family, const char *text);

/* The variables, as --export takes them, with which the MPI that says TEXT of itself
 * tries the fabric OFFER; NULL: it does so without. */
const char *berth_offer_settings(const struct berth_offer *offer, const char *text);

/* Append the types of `srun --mpi=list`, which says TEXT, without none. */
void berth_types_read(const char *text, struct berth_strvec *ret);

/* Is TYPE a version of PMIx that `srun --mpi=list`, which says TEXT, has beside its
 * types?
 */
bool berth_types_have_version(const char *text, const char *type);

/* Append the names in TEXT, one a line, as `scontrol show hostnames` prints them. A
 * line of several words is a warning of Slurm's. */
void berth_lines_read(const char *text, struct berth_strvec *ret);

/* How many nodes has the partition of which `sinfo --noheader --format='%P %D'` says
 * TEXT, a line for each state: the default one, or, with IS_NAMED, all in TEXT? 0:
 * none.
 */
unsigned int berth_partition_nodes(const char *text, bool is_named);

/* The value of NAME in BRIEF, the line of `berth doctor --brief`, which may stand among
 * lines of a TaskProlog; "" when it is not there. The result is in VALUE (SIZE bytes).
 */
const char *berth_brief_value(const char *brief, const char *name, char *value,
                              size_t size);

/* Judge one node by its BRIEF: what it has is appended to RET. */
enum berth_check_result berth_brief_judge(const char *brief, struct berth_buf *ret);

/* Are the nodes of one release each? BRIEFS has a line for each of NODES; "": none. */
enum berth_check_result berth_brief_compare(const struct berth_strvec *nodes,
                                            const struct berth_strvec *briefs,
                                            struct berth_buf *ret);

/* Does slurm.conf, of which `scontrol show config` says TEXT, give each job an extern
 * step (PrologFlags=Contain, which X11 brings with it)? */
bool berth_config_has_extern(const char *text);

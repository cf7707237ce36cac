/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/strvec.h"
#include "site/cdi.h"

/* The runtime adds this directory to LD_LIBRARY_PATH in each container. */
#define BERTH_CDI_LIBRARIES "/.singularity.d/libs"

/* The specifications of a host. Start with `= {0}`, end with berth_cdi_fini(). */
struct berth_cdi {
    struct berth_cdi_spec *specs; /* those of /etc/cdi, then those of /var/run/cdi */
    size_t count, room;
    size_t late;                /* the index of the first of /var/run/cdi */
    struct berth_strvec faults; /* a sentence for each file that cannot be used */
};

/* Read the files *.json and *.yaml of /etc/cdi and /var/run/cdi below ROOT (""); if
 * both have a device, /var/run/cdi wins (CDI, SPEC.md). A file that others than root
 * and OWNER can have written is a fault (probe/trusted.h). Returns 0, also with faults,
 * and the caller owns *RET; or -1 when out of memory. */
int berth_cdi_read(const char *root, uid_t owner, struct berth_cdi *ret,
                   struct berth_err *err);

/* Does CDI have a specification for devices of KIND? */
bool berth_cdi_has_kind(const struct berth_cdi *cdi, const char *kind);

/* Append to RET the name of each device of KIND, vendor.com/class=name, once; KIND
 * NULL: of all kinds. */
void berth_cdi_list(const struct berth_cdi *cdi, const char *kind,
                    struct berth_strvec *ret);

/* May a node be without a device? */
enum berth_cdi_need {
    BERTH_CDI_REQUIRED,    /* no: the step is refused */
    BERTH_CDI_WHERE_THERE, /* yes; `undone` lists faults of the specification */
};

/* Append to EDITS what the device NAME brings, without mounts whose source does not
 * exist. Returns 0, or -1 with a sentence in ERR. */
int berth_cdi_add(const struct berth_cdi *cdi, const char *name,
                  enum berth_cdi_need need, struct berth_cdi_edits *edits,
                  struct berth_err *err);

/* Replace the hooks that berth knows: mount the libraries of the folders also in
 * BERTH_CDI_LIBRARIES, by each name that they have on the host, and in the place of
 * each link what it leads to. To be called once, when EDITS have all devices. */
int berth_cdi_link(struct berth_cdi_edits *edits, struct berth_err *err);

void berth_cdi_fini(struct berth_cdi *cdi);

#define BERTH_CDI __attribute__((cleanup(berth_cdi_fini)))

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/strvec.h"
#include "site/syntax.h"

/* A specification of devices, of the Container Device Interface (CDI; SPEC.md of
 * cncf-tags/container-device-interface, 0.3 to 1.1): what a container needs for each
 * device of one kind. A value struct: start with `= {0}`, end with
 * berth_cdi_spec_fini(). */
struct berth_cdi_spec {
    char *file;       /* its name in messages */
    const char *kind; /* vendor.com/class; in ROOT */
    struct berth_node root;
};

/* What devices bring into a container. A value struct: start with `= {0}`, end with
 * berth_cdi_edits_fini(). */
struct berth_cdi_edits {
    struct berth_strvec devices; /* vendor.com/class=name, file, ... */
    struct berth_strvec mounts;  /* SRC:DST:ro|rw */
    struct berth_strvec set;     /* NAME=VALUE */
    struct berth_strvec whys;    /* a mount or a NAME=VALUE, its device, ... */
    struct berth_strvec folders; /* in the container: the loader searches them for
                                    the libraries that are mounted there */
    struct berth_strvec links;   /* TARGET::LINK, in the container */
    struct berth_strvec undone;  /* what these devices ask for and berth does not do */
};

/* Read the SIZE bytes of the specification FILE, in YAML or JSON. Returns 0, and the
 * caller owns *RET; or -1 with a sentence in ERR that starts with FILE. */
int berth_cdi_spec_read(const char *file, const char *bytes, size_t size,
                        struct berth_cdi_spec *ret, struct berth_err *err);

void berth_cdi_spec_fini(struct berth_cdi_spec *spec);

/* The device NAME of SPEC; NULL: it has none. */
const struct berth_node *berth_cdi_spec_find(const struct berth_cdi_spec *spec,
                                             const char *name);

/* Append the names of the devices of SPEC to RET. */
void berth_cdi_spec_names(const struct berth_cdi_spec *spec, struct berth_strvec *ret);

/* Append to EDITS what DEVICE of SPEC brings, behind what each device of SPEC brings if
 * it is the first of them, whether the host has it or not. Returns 0, or -1 with a
 * sentence in ERR. */
int berth_cdi_spec_edit(const struct berth_cdi_spec *spec,
                        const struct berth_node *device, struct berth_cdi_edits *edits,
                        struct berth_err *err);

/* Put TEXT into LIST, which is `mounts` or `set` of EDITS, in the place of one with the
 * same destination or variable, else at its end; and WHY into `whys`. */
void berth_cdi_edits_put(struct berth_cdi_edits *edits, struct berth_strvec *list,
                         const char *text, const char *why);

/* The device that the mount or the NAME=VALUE of TEXT is for, in words for people;
 * NULL: EDITS do not have TEXT. */
const char *berth_cdi_edits_why(const struct berth_cdi_edits *edits, const char *text);

/* Returns -1 with a sentence in ERR if memory ran out while EDITS were made, else 0. */
int berth_cdi_edits_check(const struct berth_cdi_edits *edits, struct berth_err *err);

void berth_cdi_edits_fini(struct berth_cdi_edits *edits);

#define BERTH_CDI_EDITS __attribute__((cleanup(berth_cdi_edits_fini)))

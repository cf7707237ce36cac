/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/strvec.h"
#include "diagnose/diagnosis.h"

/* A line of plugstack.conf that names a plugin. Borrows its texts. */
struct berth_doctor_plugin {
    const char *place;   /* FILE:LINE */
    const char *path;    /* of the plugin */
    const char *clash;   /* an option of berth that this other plugin has too; NULL */
    const char *release; /* the release of berth in it; NULL: not told */
    unsigned int slurm;  /* SLURM_VERSION_NUMBER of its build; 0: not told */
    bool is_berth;
    bool is_required;
    bool is_there;
};

/* One of berth's own programs. */
struct berth_doctor_program {
    const char *path;
    const char *release; /* NULL: it is not there, or does not say */
};

/* What is known of the host that doctor looks at. NULL, and -1 of a number, is "not
 * told". The texts live as long as the facts (berth_doctor_facts_fini). */
struct berth_doctor_facts {
    const char *release; /* of the berth that asks */
    struct {
        long max;      /* user.max_user_namespaces */
        long clone;    /* kernel.unprivileged_userns_clone, of Debian */
        long apparmor; /* kernel.apparmor_restrict_unprivileged_userns, of Ubuntu */
        const char *refused; /* why an ordinary user could make none just now */
        bool has_profile;    /* AppArmor knows the runtime */
    } userns;
    struct {
        const char *user; /* who asks; NULL: has no name, or is root */
        bool has_uids, has_gids;
    } subid;
    long fuse; /* permissions of /dev/fuse */
    struct {
        long count, in_use; /* /dev/loop0, /dev/loop1, ... */
        bool has_control;   /* /dev/loop-control: the kernel makes more */
    } loops;
    const char *squashfuse; /* path */
    const char *fusermount; /* path */
    struct {
        const char *path;
        const char *missing; /* a sentence, where there is none */
        bool is_configured;  /* berth.yaml names it */
        const char *version; /* "apptainer version 1.4.5" */
        const char *conf;    /* its configuration */
        const char *allow_setuid, *max_loop, *paths, *owners, *bind; /* its values */
        const char *by_loop; /* its line that has root mount SIF files by /dev/loop* */
        bool is_setuid;      /* has a starter with that bit */
    } runtime;
    const char *patchelf;
    const char *foreign_directory; /* a /tmp/berth-UID that another made, and whose:
                                      'PATH' of user N */
    struct berth_doctor_program programs[5];
    struct {
        const char *srun;    /* NULL: there is no Slurm here */
        const char *version; /* "slurm 24.11.5"; NULL: it is not told */
        const char *conf;    /* slurm.conf */
        const char *plugstack;
        bool has_plugstack;
        const char *types;     /* of srun --mpi=list, separated by blanks */
        const char *bad_line;  /* FILE:LINE of plugstack.conf that says nothing known */
        const char *prolog;    /* TaskProlog */
        bool has_prolog_lines; /* berth's are in it */
        bool has_extern;       /* PrologFlags: jobs have an extern step */
        const char *test_exec; /* LaunchParameters, if they have that word */
    } slurm;
    struct berth_doctor_plugin *plugins; /* in the order of the files */
    size_t plugin_count;
    const char *prefix; /* option_prefix= of berth's line; NULL: none */
    struct {
        const char *path;
        const char *fault;   /* a sentence */
        const char *profile; /* the same, of a profile of an MPI stack */
        bool is_there;
        bool wants_job; /* runtime.lifetime */
    } site;             /* berth.yaml */
    char digest[17];    /* of plugstack.conf with what it includes, and berth.yaml */
    const char *node;   /* its name */
    struct {
        bool is_mounted;
        long mode;
        long megabytes;
    } shm;
    long ptrace;                         /* kernel.yama.ptrace_scope */
    struct berth_strvec stacks;          /* "MPICH 4.2.1 (mpich)" */
    struct berth_strvec fabrics;         /* "libucp.so.0.0.0 (ucx)" */
    struct berth_strvec missing_devices; /* a profile, the devices that it names (opens)
                                    and this node does not have, ... */
    struct berth_strvec kept;            /* what the pointers point to */
};

/* What the facts mean for berth, one diagnosis about each thing. */
void berth_doctor_judge(const struct berth_doctor_facts *facts,
                        struct berth_diagnoses *diagnoses);

/* Its parts: of the host, and of its Slurm. */
void berth_doctor_judge_host(const struct berth_doctor_facts *facts,
                             struct berth_diagnoses *diagnoses);
void berth_doctor_judge_slurm(const struct berth_doctor_facts *facts,
                              struct berth_diagnoses *diagnoses);

/* The facts that are to be the same on all nodes, in a line without the node's name. */
void berth_doctor_brief(const struct berth_doctor_facts *facts,
                        const struct berth_diagnoses *diagnoses,
                        struct berth_buf *line);

/* A copy of TEXT that lives as long as the facts; NULL for NULL, and out of memory. */
const char *berth_doctor_keep(struct berth_doctor_facts *facts, const char *text);

void berth_doctor_facts_fini(struct berth_doctor_facts *facts);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/strvec.h"
#include "cli/diagnosis.h"

/* A line of plugstack.conf that names a plugin. The facts own its texts. */
struct berth_doctor_plugin {
    const char *place; /* FILE:LINE */
    const char *path;  /* of the plugin */
    const char
        *clash; /* an option of berth that this other plugin has, too; NULL: none */
    const char *release; /* of berth, in the plugin; NULL: not known */
    unsigned int slurm;  /* SLURM_VERSION_NUMBER of its build; 0: not known */
    bool is_berth;
    bool is_required;
    bool is_there;
};

/* One of berth's own programs. */
struct berth_doctor_program {
    const char *path;
    const char *release; /* as --version prints it; NULL: it is not there, or fails */
};

/* What berth doctor knows of a host. A text that is not known is NULL, a number -1. The
 * texts live as long as the facts (berth_doctor_facts_fini). */
struct berth_doctor_facts {
    const char *release; /* of the command berth that runs */
    struct {
        long max;      /* user.max_user_namespaces */
        long clone;    /* kernel.unprivileged_userns_clone, of Debian */
        long apparmor; /* kernel.apparmor_restrict_unprivileged_userns, of Ubuntu */
        const char *refused; /* why a trial as an ordinary user failed */
        bool has_profile;    /* AppArmor has a profile of the runtime */
    } userns;
    struct {
        const char *user; /* the caller; NULL: root, or without a name */
        bool has_uids, has_gids;
    } subid;
    long fuse; /* permissions of /dev/fuse */
    struct {
        long count, in_use; /* /dev/loop0, /dev/loop1, ... */
        bool has_control;   /* /dev/loop-control, by which more are made */
    } loops;
    const char *squashfuse; /* path */
    const char *fusermount; /* path */
    struct {
        const char *path;
        const char *missing; /* why there is no runtime: a sentence */
        bool is_configured;  /* berth.yaml names it */
        const char *version; /* "apptainer version 1.4.5" */
        const char *conf;    /* its configuration */
        const char *allow_setuid, *max_loop, *paths, *owners, *bind; /* its values */
        const char *by_loop; /* its line by which root mounts SIF files on /dev/loop* */
        bool is_setuid;      /* its starter has that bit */
    } runtime;
    const char *patchelf;
    const char *foreign_directory; /* a /tmp/berth-UID of another user, as a clause */
    struct berth_doctor_program programs[5];
    struct {
        const char *srun;    /* NULL: this host has no srun */
        const char *version; /* "slurm 24.11.5" */
        const char *conf;    /* slurm.conf */
        const char *plugstack;
        bool has_plugstack;
        const char *types;     /* of srun --mpi=list, separated by blanks */
        const char *bad_line;  /* FILE:LINE of plugstack.conf that Slurm cannot parse */
        const char *prolog;    /* TaskProlog */
        bool has_prolog_lines; /* it has those of berth */
        bool has_extern;       /* PrologFlags: jobs have an extern step */
        const char *test_exec; /* LaunchParameters, if it has that word */
    } slurm;
    struct berth_doctor_plugin *plugins; /* in the order of the files */
    size_t plugin_count;
    const char *prefix; /* option_prefix= of berth's line; NULL: none */
    struct {
        const char *path;
        const char *fault;   /* a sentence */
        const char *profile; /* the fault of an MPI profile: a sentence */
        bool is_there;
        bool wants_job; /* a rule: container-lifetime: job */
    } site;             /* berth.yaml */
    char digest[17];    /* of plugstack.conf, its includes, berth.yaml and profiles */
    struct {
        bool is_mounted;
        long mode;
        long megabytes;
    } shm;
    long ptrace;                   /* kernel.yama.ptrace_scope */
    struct berth_strvec stacks;    /* "MPICH 4.2.1 (mpich)" */
    struct berth_strvec fabrics;   /* "libucp.so.0.0.0 (ucx)" */
    struct berth_strvec libraries; /* "libblas.so.3 (openblas)" */
    struct berth_strvec kept;      /* the texts of all pointers */
};

/* Append what the facts mean for berth, a diagnosis about each thing. */
void berth_doctor_judge(const struct berth_doctor_facts *facts,
                        struct berth_diagnoses *diagnoses);

/* The parts of berth_doctor_judge(): the host, and its Slurm. */
void berth_doctor_judge_host(const struct berth_doctor_facts *facts,
                             struct berth_diagnoses *diagnoses);
void berth_doctor_judge_slurm(const struct berth_doctor_facts *facts,
                              struct berth_diagnoses *diagnoses);

/* Append one line with the facts that should be the same on all nodes, and the things
 * that are wrong. The line does not name the node, so that equal lines can be merged.
 */
void berth_doctor_brief(const struct berth_doctor_facts *facts,
                        const struct berth_diagnoses *diagnoses,
                        struct berth_buf *line);

/* Append the same facts, what berth's line in plugstack.conf sets, and all diagnoses,
 * as a JSON object. What is not known is null. */
void berth_doctor_json(const struct berth_doctor_facts *facts,
                       const struct berth_diagnoses *diagnoses, struct berth_buf *ret);

/* Returns a copy of TEXT that lives as long as the facts; NULL for NULL and out of
 * memory, which `kept` then says. */
const char *berth_doctor_keep(struct berth_doctor_facts *facts, const char *text);

void berth_doctor_facts_fini(struct berth_doctor_facts *facts);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <signal.h>
#include <stdbool.h>

#include "qualify/answers.h"
#include "qualify/checks.h"
#include "qualify/trial.h"
#include "site/settings.h"
#include "site/site.h"

/* What the user asks berth qualify for. Texts and lists are borrowed. */
struct berth_qualify {
    struct berth_strvec images;
    struct berth_strvec types;       /* of srun --mpi; none: all that srun has */
    const char *node_list;           /* as for srun -w; NULL: those of the job */
    const char *partition, *account; /* NULL: Slurm's default */
    const char *directory;           /* that all nodes and images may see */
    int seconds;                     /* that one step may take */
    bool is_quick;
    const volatile sig_atomic_t *stop; /* not 0: the user wants no more */
    void (*tell)(const struct berth_check *check, void *told); /* as rows are ready */
    void *told;
};

/* A run of it: what it knows, and has found out. */
struct berth_session {
    const struct berth_qualify *asked;
    struct berth_trial_site site;
    char *srun, *directory; /* which `site` borrows, as the next two */
    struct berth_settings settings;
    struct berth_site terms; /* of this host's berth.yaml */
    struct berth_strvec nodes;
    struct berth_strvec types;
    struct berth_offer offers[BERTH_OFFERS];
    size_t offer_count;
    bool has_extern;
    char *program;         /* built on the host; NULL: there is no compiler of MPI */
    const char *startable; /* the first image in which steps start; NULL: none */
    struct berth_checks checks;
    size_t told; /* checks that the user has seen */
};

/* Each stage appends checks; -1 with a sentence in ERR: nothing more can be done. */

/* Find the nodes, and Slurm's types; no checks. */
int berth_stage_slurm(struct berth_session *session, struct berth_err *err);

/* Judge the nodes, and find what they offer. */
int berth_stage_nodes(struct berth_session *session, struct berth_err *err);

/* Do the nodes on which steps run see the directory? If not, there is a check. */
int berth_stage_directory(struct berth_session *session, bool *ret_seen,
                          struct berth_err *err);

/* Pull IMAGE if it is in a registry, so that no step waits for that. *RET_HERE: steps
 * can use it; if not, there is a check. */
int berth_stage_pull(struct berth_session *session, const char *image, bool *ret_here,
                     struct berth_err *err);

/* Build the program natively; NULL in `program` when that is not possible. */
int berth_stage_native(struct berth_session *session, struct berth_err *err);

/* Build the program in IMAGE; `startable` becomes the first one in which that could be
 * tried. *RET_PROGRAM is NULL when the image has no compiler; else
 * the caller frees it, and LIBRARY (128 bytes) says what MPI it has. */
int berth_stage_build(struct berth_session *session, const char *image,
                      char **ret_program, char library[128], struct berth_err *err);

/* What was found out about one way to run the program. */
struct berth_found {
    char type[64];    /* of srun --mpi, the first that works; "": none does */
    char cma[64];     /* as in struct berth_measured */
    char network[64]; /* berth_trial_network() */
};

enum { BERTH_FABRICS = 4 };

/* The image's own MPI works on a fabric of the host. */
struct berth_fabric {
    struct berth_found found;
    const char *name;     /* of the fabric; borrowed */
    const char *settings; /* berth_offer_settings() */
    bool is_unnamed;      /* its failure is a note */
};

/* What of an image works. */
struct berth_working {
    struct berth_found native, host, own;
    char stack[64]; /* that works in the image */
    struct berth_fabric fabrics[BERTH_FABRICS];
    size_t fabric_count;
    const char *program; /* the native one; borrowed */
};

/* Rings of PROGRAM in IMAGE (NULL: on the host alone). */
int berth_stage_rings(struct berth_session *session, const char *image,
                      const char *program, const char *library,
                      struct berth_working *ret, struct berth_err *err);

/* Latency and bandwidth, by what WORKING says. */
int berth_stage_speeds(struct berth_session *session, const char *image,
                       const char *program, const struct berth_working *working,
                       struct berth_err *err);

/* How long steps take to start, on 1, 2, 4, ... and all nodes: on the host, and in
 * IMAGE (NULL: none). */
int berth_stage_starts(struct berth_session *session, const char *image,
                       struct berth_err *err);

/* Run the step of TRIAL. Returns 0 with *RET_OUTCOME, which the caller owns
 * (berth_measured_fini() of its `measured`), and the command for people appended to
 * RET_COMMAND. RET_OUT (may be NULL) gets what the step printed. -1 with a sentence in
 * ERR: the user wants no more, or srun cannot be started. */
int berth_session_run(struct berth_session *session, const struct berth_trial *trial,
                      struct berth_outcome *ret_outcome, struct berth_buf *ret_command,
                      struct berth_buf *ret_out, struct berth_err *err);

/* Returns the path of PROGRAM, a command of Slurm's, which the caller frees; NULL with
 * a sentence in ERR: this host has none. */
char *berth_session_find(const char *program, struct berth_err *err);

/* Run WORDS on this host for at most SECONDS; RET_OUT gets what they print. -1: also
 * when they fail. */
int berth_session_ask(struct berth_session *session, const char *const *words,
                      int seconds, struct berth_buf *ret_out, struct berth_err *err);

/* The name of IMAGE in rows; borrowed: what is behind its last slash, or all of it
 * where the user has named two images that end alike. */
const char *berth_session_name(const struct berth_session *session, const char *image);

/* MPI was not tried in IMAGE, and a site is not qualified without that. The first
 * reason is kept. */
void berth_session_untried(struct berth_session *session, const char *image,
                           const char *why);

/* Append a check; TEXT and COMMAND may be NULL. */
int berth_session_check(struct berth_session *session, enum berth_check_result result,
                        const char *about, const struct berth_buf *text,
                        const struct berth_buf *command, struct berth_err *err);

/* Show what has been appended to the user. */
void berth_session_tell(struct berth_session *session);

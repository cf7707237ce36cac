/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/strvec.h"
#include "qualify/checks.h"
#include "qualify/measured.h"

enum { BERTH_TRIAL_WORDS = 8 };

/* One step of berth qualify: what is to run, its srun, and what its end means. */
struct berth_trial {
    const char *image;    /* NULL: on the host */
    const char *bind;     /* of --mpi-bind: host, NAME, hybrid; NULL: not said */
    const char *fabric;   /* of --container-fabric; NULL: not said */
    const char *lifetime; /* of --container-lifetime; NULL: not said */
    const char *settings; /* NAME=VALUE,... for --export; NULL: none */
    const char *mpi;      /* of srun --mpi */
    unsigned int nodes;   /* the first ones of the site's */
    unsigned int each;    /* tasks on each node */
    bool is_verbose;      /* srun and the libraries of MPI are asked to tell more */
    const char *command[BERTH_TRIAL_WORDS]; /* unused ones are NULL */
};

/* Where all trials run. */
struct berth_trial_site {
    const char *srun;
    const char *job;                 /* its number */
    const char *prefix;              /* of the options of berth */
    const char *directory;           /* that images see; NULL: none */
    const char *partition, *account; /* that the user names; NULL: none */
    const struct berth_strvec *nodes;
};

/* Append the words of the srun. */
void berth_trial_words(const struct berth_trial *trial,
                       const struct berth_trial_site *site, struct berth_strvec *ret);

/* Append WORDS of berth_trial_words() as a shell takes them, to be typed outside of the
 * job: with the partition and the account of SITE in place of the job. */
void berth_trial_shell(const struct berth_strvec *words,
                       const struct berth_trial_site *site, struct berth_buf *ret);

/* What became of a step. */
struct berth_outcome {
    int status;   /* as waitpid(2) tells it */
    int64_t ms;   /* that it took */
    bool is_late; /* it was ended after its time */
    int seconds;  /* that time */
    struct berth_measured measured;
    struct berth_witnessed witnessed;
};

/* What the ring of TRIAL tells: the text is appended to RET. */
enum berth_check_result berth_trial_judge(const struct berth_trial *trial,
                                          const struct berth_outcome *outcome,
                                          struct berth_buf *ret);

/* The same for a step that says nothing of its own: ok is status 0. */
enum berth_check_result berth_trial_ended(const struct berth_outcome *outcome,
                                          struct berth_buf *ret);

/* Does a failure of TRIAL count though another type of srun --mpi works? The step
 * hangs, or runs the host's MPI, which berth refuses where it does not speak the type.
 */
bool berth_trial_stays(const struct berth_trial *trial,
                       const struct berth_outcome *outcome);

/* The middle one of COUNT (at least 1) values, which it sorts. */
double berth_trial_median(double *values, size_t count);

/* Append FIGURES to RET: "native 1.2 us, the host's MPI in the image 1.3 us (1.08)", of
 * a sum the difference. What is judged and slower than the first by more than a third
 * is a note, and is named. */
enum berth_check_result berth_trial_compare(const struct berth_figures *figures,
                                            struct berth_buf *ret);

/* The network that a step has used, by its libraries: transports of UCX or Open MPI,
 * libfabric's provider; "": they have said nothing. */
const char *berth_trial_network(const struct berth_witnessed *witnessed);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/strvec.h"
#include "request/mode.h"

enum berth_choice { BERTH_UNSAID, BERTH_YES, BERTH_NO };

/* What BERTH_MODE_AUTO may choose where several components are one MPI_COMM_WORLD: two
 * MPI libraries in it wait for each other in MPI_Init for ever. */
enum berth_world {
    BERTH_WORLD_ALONE, /* anything, because there is no other component */
    BERTH_WORLD_HOST,  /* the host's or nothing */
    BERTH_WORLD_OWN    /* the image's, because another component runs on its image's */
};

/* The options of one component. Paths are absolute. A value struct: start with `= {0}`,
 * end with berth_request_fini(). */
struct berth_request {
    char *image;                /* NULL: not said; BERTH_NO_IMAGE: on the host; a path,
                                   or a URI that has not been pulled yet */
    char *uri;                  /* where the image is from; NULL: it is a path */
    struct berth_strvec mounts; /* each SRC:DST:ro|rw, in the order given */
    char *workdir;              /* in the image; NULL: where the task is */
    enum berth_choice home;     /* is $HOME mounted; not said: the runtime's default */
    enum berth_choice writable; /* a throw-away overlay */
    enum berth_choice entrypoint; /* through the image's runscript */
    struct berth_strvec env;      /* each NAME (pass) or NAME=VALUE (set) */
    struct berth_strvec args;     /* flags for the runtime, one word each */
    char *gpu;                    /* whose GPUs: BERTH_GPU_...; NULL: unsaid */
    char *lifetime;         /* of the container: BERTH_LIFETIME_...; NULL: unsaid */
    char *mpi;              /* whose MPI: a word of request/mode.h; NULL: unsaid */
    char *fabric;           /* whose network libraries are under the image's MPI:
                               BERTH_FABRIC_..., or the name of a profile; NULL:
                               unsaid */
    enum berth_world world; /* what the other components allow; not an option */
    char *explain;          /* BERTH_EXPLAIN_...; NULL: unsaid */
};

/* The values of --container-explain. */
#define BERTH_EXPLAIN_TEXT "text" /* print the plan for people, run nothing */
#define BERTH_EXPLAIN_JSON "json" /* the same for programs */
#define BERTH_EXPLAIN_OFF  "off"  /* as if not asked */

/* The values of --container-gpu; not said is BERTH_GPU_AUTO. */
#define BERTH_GPU_AUTO   "auto" /* those that the step has */
#define BERTH_GPU_NVIDIA "nvidia"
#define BERTH_GPU_ROCM   "rocm"
#define BERTH_GPU_OFF    "off"

/* The values of --container-lifetime; not said is BERTH_LIFETIME_STEP. */
#define BERTH_LIFETIME_STEP "step" /* the container ends with its step */
#define BERTH_LIFETIME_JOB  "job"  /* later steps of the job use it, too */

/* The values of --container-fabric besides names; not said is BERTH_FABRIC_OFF. With
 * `auto` it is the host's, where that can stand for the image's. */
#define BERTH_FABRIC_AUTO     "auto"
#define BERTH_FABRIC_REQUIRED "required" /* as auto, or the step does not run */
#define BERTH_FABRIC_OFF      "off"      /* the image's own */

/* The value of --container-image that means: no container. */
#define BERTH_NO_IMAGE "none"

/* One for each option; the rows of the table in request/option.h. */
enum berth_option_id {
    BERTH_OPTION_IMAGE,
    BERTH_OPTION_MOUNTS,
    BERTH_OPTION_WORKDIR,
    BERTH_OPTION_MOUNT_HOME,
    BERTH_OPTION_NO_MOUNT_HOME,
    BERTH_OPTION_WRITABLE,
    BERTH_OPTION_READONLY,
    BERTH_OPTION_ENTRYPOINT,
    BERTH_OPTION_NO_ENTRYPOINT,
    BERTH_OPTION_ENV,
    BERTH_OPTION_ARGS,
    BERTH_OPTION_GPU,
    BERTH_OPTION_LIFETIME,
    BERTH_OPTION_MPI,
    BERTH_OPTION_FABRIC,
    BERTH_OPTION_EXPLAIN,
    BERTH_OPTION_COUNT
};

/* Take the option ID with VALUE as the user wrote it (NULL for an option without
 * argument; where the argument is optional, also "" and Slurm's "(null)"). BASE is the
 * directory of relative paths, NULL when there is none. Lists accumulate; a scalar that
 * is given again with another value is an error, with the same value it is not. Returns
 * 0, or -1 with a sentence in ERR that does not name the option. */
int berth_request_parse(struct berth_request *request, enum berth_option_id id,
                        const char *value, const char *base, struct berth_err *err);

/* What the request says of the option ID, in full form: the value AT, from 0; "" for an
 * option without a value. NULL: there are no more. */
const char *berth_request_value(const struct berth_request *request,
                                enum berth_option_id id, size_t at);

/* Let the request say VALUE, in full form, of the option ID: behind the other values of
 * a list, else in the place of what it says. */
int berth_request_put(struct berth_request *request, enum berth_option_id id,
                      const char *value, struct berth_err *err);

/* Does the request ask for a container? */
bool berth_request_has_container(const struct berth_request *request);

/* Does it ask for a container that stays until its job ends? */
bool berth_request_has_job_lifetime(const struct berth_request *request);

/* Does it ask for network libraries of the host under the image's own MPI? */
bool berth_request_has_fabric(const struct berth_request *request);

/* Does it name them? */
bool berth_request_names_fabric(const struct berth_request *request);

/* Is the step not to run without such libraries? So it is where it names them. */
bool berth_request_requires_fabric(const struct berth_request *request);

/* May copies of the host's libraries be mounted in the container, of its MPI or of a
 * fabric? */
bool berth_request_may_stage(const struct berth_request *request);

/* A request of which all is said: a fabric is for the image's own MPI, so it means
 * --mpi-bind=hybrid where nothing is said of that. Returns 0; -1 with a sentence in ERR
 * where a fabric is named beside another MPI. Nobody HAS_ASKED for one that only a
 * default names, which then counts for nothing. */
int berth_request_apply_fabric(struct berth_request *request, bool has_asked,
                               struct berth_err *err);

/* Is the image a URI that is not a file yet? */
bool berth_request_needs_pull(const struct berth_request *request);

/* The image as the user knows it, for messages. */
static inline const char *berth_request_name(const struct berth_request *request)
{
    return request->uri ? request->uri : request->image;
}

/* The value of --mpi-bind, also where it was not said. */
const char *berth_request_mode(const struct berth_request *request);

/* Is that its mode? */
bool berth_request_mpi_is(const struct berth_request *request, enum berth_mode mode);

/* Has the container, by its flags for the runtime, a user namespace in which the user
 * is root, or a namespace of processes? */
bool berth_request_has_namespaces(const struct berth_request *request);

/* Is it, by the same flags or by the variables that the runtime takes for them, to see
 * nothing of the host but what is mounted? */
bool berth_request_is_closed(const struct berth_request *request,
                             char *const *environment);

/* Has the user said off? */
bool berth_request_mpi_declined(const struct berth_request *request);

/* Does --mpi-bind choose an MPI library: is it neither off nor one with an mpirun? */
bool berth_request_mpi_chosen(const struct berth_request *request);

/* May, and must, the tasks use the host's library? AUTO goes by `world`. */
bool berth_request_mpi_may_host(const struct berth_request *request);
bool berth_request_mpi_must_host(const struct berth_request *request);

/* Does every task start an mpirun of its own (BERTH_MODE_LOCAL, BERTH_MODE_LOCAL_EACH
 * or BERTH_MODE_LAUNCH)? */
bool berth_request_starts_mpirun(const struct berth_request *request);

/* Is the plan to be printed and nothing to be run? */
bool berth_request_is_explained(const struct berth_request *request);

/* Was any option given? */
bool berth_request_has_options(const struct berth_request *request);

bool berth_request_equal(const struct berth_request *a, const struct berth_request *b);

/* Can tasks that ask for A and for B run in one container? */
bool berth_request_same_container(const struct berth_request *a,
                                  const struct berth_request *b);

/* Put OWN over REQUEST: its scalars win, its lists come behind. An image `none` in OWN
 * cancels all that REQUEST says. */
int berth_request_merge(struct berth_request *request, const struct berth_request *own,
                        struct berth_err *err);

/* Refuse what cannot mean anything: other options without an image, or with `none`. */
int berth_request_check(const struct berth_request *request, struct berth_err *err);

void berth_request_fini(struct berth_request *request);

#define BERTH_REQUEST __attribute__((cleanup(berth_request_fini)))

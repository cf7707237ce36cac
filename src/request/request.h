/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/strvec.h"
#include "request/mode.h"

enum berth_choice { BERTH_UNSAID, BERTH_YES, BERTH_NO };

/* What BERTH_MODE_AUTO may choose. Where several components are one MPI_COMM_WORLD, all
 * ranks must run the same MPI library: with two libraries they wait for each other in
 * MPI_Init forever. */
enum berth_world {
    BERTH_WORLD_ALONE, /* anything: there is no other component */
    BERTH_WORLD_HOST,  /* the host's library, or an error */
    BERTH_WORLD_OWN    /* the image's library: another component uses its image's */
};

/* The options of one component. Paths are absolute. A value struct: start with `= {0}`,
 * end with berth_request_fini(). */
struct berth_request {
    char *image; /* NULL: not given; BERTH_NO_IMAGE: on the host; a path,
                    or a URI that is not pulled yet */
    char *uri;   /* from which the image is pulled; NULL: the user gave a path */
    struct berth_strvec mounts; /* each SRC:DST:ro|rw|sqsh, in the order given, one on a
                                   place */
    char *workdir;              /* in the image; NULL: the directory of the task */
    enum berth_choice home;     /* mount $HOME; unsaid: the runtime's default */
    enum berth_choice writable; /* an overlay that ends with the container */
    enum berth_choice root;     /* the user is root in the container, with the user's
                                   subordinate ids for others (--fakeroot) */
    enum berth_choice entrypoint; /* run the command through the image's runscript */
    enum berth_choice script;     /* the batch script itself runs in the image */
    struct berth_strvec env;      /* each NAME (pass) or NAME=VALUE (set) */
    struct berth_strvec args;     /* flags for the runtime, one word each */
    char *gpu;                    /* which GPU driver: BERTH_GPU_..., and devices by
                                     their CDI names, with commas; NULL: unsaid */
    char *lifetime;               /* BERTH_LIFETIME_...; NULL: unsaid */
    struct berth_strvec unshare;  /* namespaces of the container's own: net, ipc, uts */
    char *container_name;         /* NAME or NAME:FLAG (request/named.h): a container
                                     that the job keeps; NULL: it has no name */
    char *save; /* the file for an image of the container, when its last task has ended;
                   NULL: none */
    char *mpi;  /* whose MPI: a mode or a name; NULL: unsaid */
    char *libs; /* the host's libraries in the place of the image's:
                   names of profiles, and BERTH_LIBS_AUTO, with
                   commas, or BERTH_NONE; NULL: unsaid */
    enum berth_world world;   /* what the other components allow; no option sets it */
    struct berth_strvec site; /* what the site has set and not the user: items of lists,
                                 and names of options; no option sets it */
    struct berth_strvec ignored; /* flags of mounts that change nothing, for a note; no
                                    option sets it, and it is not sent to the nodes */
    char *explain;               /* BERTH_EXPLAIN_...; NULL: unsaid */
};

/* The values of --container-explain. */
#define BERTH_EXPLAIN_TEXT       "text" /* print the plan for people, run nothing */
#define BERTH_EXPLAIN_EVERYTHING "all"  /* with all details */
#define BERTH_EXPLAIN_JSON       "json" /* the same for programs */
#define BERTH_EXPLAIN_NO         "no"   /* as without the option */

/* The values of --container-gpu; unsaid means BERTH_GPU_AUTO. */
#define BERTH_GPU_AUTO   "auto" /* that of the GPUs of the step */
#define BERTH_GPU_NVIDIA "nvidia"
#define BERTH_GPU_ROCM   "rocm"

/* The values of --container-lifetime; unsaid means BERTH_LIFETIME_STEP. */
#define BERTH_LIFETIME_STEP "step" /* the container ends with its step */
#define BERTH_LIFETIME_JOB  "job"  /* later steps of the job use the container, too */

/* The value of --container-libs besides names: the host's network libraries where they
 * can replace the image's. */
#define BERTH_LIBS_AUTO "auto"

/* The value of --container-gpu and --container-libs that means: nothing of the host. */
#define BERTH_NONE "none"

/* The value of --container-image that means: no container. */
#define BERTH_NO_IMAGE BERTH_NONE

/* One for each option; the rows of the table in request/option.h. */
enum berth_option_id {
    BERTH_OPTION_IMAGE,
    BERTH_OPTION_MOUNTS,
    BERTH_OPTION_WORKDIR,
    BERTH_OPTION_MOUNT_HOME,
    BERTH_OPTION_NO_MOUNT_HOME,
    BERTH_OPTION_WRITABLE,
    BERTH_OPTION_READONLY,
    BERTH_OPTION_REMAP_ROOT,
    BERTH_OPTION_NO_REMAP_ROOT,
    BERTH_OPTION_ENTRYPOINT,
    BERTH_OPTION_NO_ENTRYPOINT,
    BERTH_OPTION_SCRIPT,
    BERTH_OPTION_NO_SCRIPT,
    BERTH_OPTION_ENV,
    BERTH_OPTION_ARGS,
    BERTH_OPTION_GPU,
    BERTH_OPTION_LIFETIME,
    BERTH_OPTION_NAME,
    BERTH_OPTION_UNSHARE,
    BERTH_OPTION_SAVE,
    BERTH_OPTION_MPI,
    BERTH_OPTION_LIBS,
    BERTH_OPTION_EXPLAIN,
    BERTH_OPTION_COUNT
};

/* Parses VALUE of the option ID, as the user wrote it, into REQUEST. VALUE is NULL for
 * an option without an argument; where the argument is optional, NULL, "" and Slurm's
 * "(null)" are no value. BASE is the directory of relative paths; NULL: a relative path
 * is an error. Lists accumulate. A second, different value of a scalar is an error, and
 * so is a second, different mount on one place.
 * Returns 0, or -1 with a sentence in ERR that does not name the option. */
int berth_request_parse(struct berth_request *request, enum berth_option_id id,
                        const char *value, const char *base, struct berth_err *err);

/* Returns the value number AT, from 0, of the option ID in full form, which REQUEST
 * owns; "" for an option without an argument. NULL: REQUEST has no such value. */
const char *berth_request_value(const struct berth_request *request,
                                enum berth_option_id id, size_t at);

/* Appends a copy of VALUE, which is in full form, to the list of the option ID; for an
 * option that is not a list, the copy replaces the value, and a mount replaces that on
 * its place. Returns -1 out of memory. */
int berth_request_put(struct berth_request *request, enum berth_option_id id,
                      const char *value, struct berth_err *err);

/* Does REQUEST have an image other than `none`, or the name of a container, whose image
 * only the job's server knows (`image` is then NULL)? */
bool berth_request_has_container(const struct berth_request *request);

/* Does REQUEST ask for a container that lasts as long as its job? */
bool berth_request_has_job_lifetime(const struct berth_request *request);

/* Does REQUEST, which has a container, ask for libraries of the host: leave the choice
 * to berth (BERTH_LIBS_AUTO), or name one? */
bool berth_request_has_libs(const struct berth_request *request);
bool berth_request_has_auto_libs(const struct berth_request *request);
bool berth_request_names_libs(const struct berth_request *request);

/* Is NAME one of these names? */
bool berth_request_lists_library(const struct berth_request *request, const char *name);

/* Appends the CDI names of --container-gpu to RET. */
void berth_request_list_devices(const struct berth_request *request,
                                struct berth_strvec *ret);

/* The option for which berth looks at the program in the container, for messages, and
 * its value: --mpi-bind, or --container-libs without that or with hybrid. */
const char *berth_request_cause(const struct berth_request *request);
const char *berth_request_cause_value(const struct berth_request *request);

/* Must berth look at the program in the container before the tasks run it: for its MPI,
 * or for the host's libraries? */
bool berth_request_looks_inside(const struct berth_request *request);

/* May berth mount copies of the host's libraries, of an MPI, a fabric or others, in the
 * container? */
bool berth_request_may_stage(const struct berth_request *request);

/* BERTH_LIBS_AUTO and berth's own networks: they are for the image's own MPI. Ended by
 * NULL. */
extern const char *const berth_libs_networks[];

/* Does the value LIBS of --container-libs (NULL: unsaid) list one of these? */
bool berth_libs_need_mpi(const char *libs);

/* Completes a REQUEST that is merged with all defaults: a network of --container-libs
 * sets an unsaid --mpi-bind to `hybrid`, the image's own MPI; and a container with a
 * name is writable if nobody said otherwise. */
int berth_request_complete(struct berth_request *request, struct berth_err *err);

/* Appends to RET a sentence for a note on the flags of mounts in REQUEST that change
 * nothing, if it has some. */
void berth_request_note_ignored(const struct berth_request *request,
                                struct berth_strvec *ret);

/* Does REQUEST have the option ID, or the opposite of that switch? */
bool berth_request_says(const struct berth_request *request, enum berth_option_id id);

/* Makes URI the image of REQUEST. Returns -1 out of memory. */
int berth_request_put_uri(struct berth_request *request, const char *uri,
                          struct berth_err *err);

/* Is the image a URI that must be pulled before the step starts? */
bool berth_request_needs_pull(const struct berth_request *request);

/* The image for messages: its URI, else its path; without an image the name of the
 * container. */
static inline const char *berth_request_name(const struct berth_request *request)
{
    if (request->uri)
        return request->uri;
    if (request->image)
        return request->image;
    return request->container_name;
}

/* The value of --mpi-bind; "off" where it is unsaid. */
const char *berth_request_mode(const struct berth_request *request);

/* Is MODE the mode of --mpi-bind? */
bool berth_request_mpi_is(const struct berth_request *request, enum berth_mode mode);

/* Does the request ask for a PID namespace, or for a user namespace in which the user
 * is root (--container-remap-root, or --fakeroot of the runtime)? Or has the container
 * a name, or a namespace by --container-unshare, and so a user namespace of its own?
 * Out of memory: yes. */
bool berth_request_has_namespaces(const struct berth_request *request);

/* Do the same flags, or variables of the runtime in ENVIRONMENT (ended by NULL), close
 * the container (--contain, --containall), so that its tasks see only mounts of the
 * host? Out of memory: yes. */
bool berth_request_is_closed(const struct berth_request *request,
                             char *const *environment);

/* Can the container share no user namespace with others of the node, for one of these
 * reasons? A closed one must not: programs in one user namespace may trace each other,
 * and see what the others see of the host. */
bool berth_request_is_separate(const struct berth_request *request,
                               char *const *environment);

/* Do the same flags, or variables of the runtime in ENVIRONMENT (ended by NULL), leave
 * /dev out of the container (--no-mount dev)? */
bool berth_request_leaves_dev_out(const struct berth_request *request,
                                  char *const *environment);

/* Did the user give --mpi-bind=off? */
bool berth_request_mpi_declined(const struct berth_request *request);

/* Does --mpi-bind choose the MPI library of ranks that srun starts? Not `off`, and not
 * a mode with an mpirun. */
bool berth_request_mpi_chosen(const struct berth_request *request);

/* May, and must, the tasks use the host's MPI library? For BERTH_MODE_AUTO `world`
 * decides. */
bool berth_request_mpi_may_host(const struct berth_request *request);
bool berth_request_mpi_must_host(const struct berth_request *request);

/* Does each task start an mpirun (BERTH_MODE_LOCAL, BERTH_MODE_LOCAL_EACH or
 * BERTH_MODE_LAUNCH)? */
bool berth_request_starts_mpirun(const struct berth_request *request);

/* Does --container-explain ask for the plan in place of a run? */
bool berth_request_is_explained(const struct berth_request *request);

/* Does REQUEST have any option? */
bool berth_request_has_options(const struct berth_request *request);

/* Are all options of A and B equal, also `uri` and `world`? */
bool berth_request_equal(const struct berth_request *a, const struct berth_request *b);

/* Can tasks with request A and tasks with request B share a container? All options of a
 * container must be equal. With --mpi-bind, so must those that decide which program a
 * name is: berth judges the programs of all tasks of a container at once. */
bool berth_request_same_container(const struct berth_request *a,
                                  const struct berth_request *b);

/* Has a container the option ID from its start? Else berth does it for each step, or
 * for each task, also in a container that runs. An option is one of the container until
 * request.c says otherwise. */
bool berth_request_is_from_start(enum berth_option_id id);

/* Merges OVER into REQUEST: a scalar of OVER replaces that of REQUEST, a list of OVER
 * is appended, and its mounts replace those on their places. An image `none` in OVER
 * first clears REQUEST. Returns -1 out of memory. */
int berth_request_merge(struct berth_request *request, const struct berth_request *over,
                        struct berth_err *err);

/* Has REQUEST, without a container, --container-explain and no other option, but for
 * --container-image=none? In a step with an image its part of the plan is printed. */
bool berth_request_only_explains(const struct berth_request *request);

/* Refuses options without an image or with the image `none`. */
int berth_request_check(const struct berth_request *request, struct berth_err *err);

/* Frees all options; REQUEST is then empty and can be used again. */
void berth_request_fini(struct berth_request *request);

#define BERTH_REQUEST __attribute__((cleanup(berth_request_fini)))

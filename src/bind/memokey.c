/* SPDX-License-Identifier: Apache-2.0 */
/* The key of a memo: if any part differs, the image is inspected again. */

#include "bind/memokey.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "mpi/pmi.h"
#include "bind/command.h"
#include "plan/gpu.h"
#include "plan/launch.h"
#include "request/wire.h"
#include "step/memo.h"
#include "step/stageroot.h"

/* A line; VALUE NULL: not set. Returns whether it is one. */
static bool put(struct berth_buf *key, const char *name, const char *value)
{
    berth_buf_puts(key, name);
    berth_buf_puts(key, value ? "=" : "");
    berth_buf_puts(key, value ? value : "");
    berth_buf_puts(key, "\n");
    return !strpbrk(name, "\n") && !(value && strpbrk(value, "\n"));
}

static bool put_file(struct berth_buf *key, const char *path)
{
    char identity[BERTH_MEMO_IDENTITY_SIZE];

    berth_memo_identity(path, true, identity);
    return put(key, path, identity);
}

/* The request without --container-env: what of it counts is in the environment. */
static bool put_request(struct berth_buf *key, const struct berth_request *request)
{
    struct berth_request plain = *request;

    plain.env = (struct berth_strvec){0};
    berth_wire_put_request(key, &plain);
    return put(key, "", NULL);
}

static bool put_command(struct berth_buf *key, const struct berth_inside *inside)
{
    BERTH_FREE char *program = berth_command_program(inside->command);

    return put(key, "command", inside->command[0]) && put(key, "program", program) &&
           put(key, "directory", inside->directory);
}

/* The variables NAMES (NULL: none; what is behind a = is not of the name), of which
 * those in FIRST go over those in SECOND. */
static bool put_values(struct berth_buf *key, const char *const *names,
                       char *const *first, char *const *second)
{
    bool ok = true;

    for (; ok && names && *names; names++) {
        BERTH_FREE char *name = strndup(*names, strcspn(*names, "="));
        const char *value = name ? berth_environ_value(first, name) : NULL;

        ok = name && put(key, name, value ? value : berth_environ_value(second, name));
    }
    return ok;
}

/* Are those there by which a library finds its process manager? Values are the step's.
 */
static bool put_contacts(struct berth_buf *key, char *const *first, char *const *second)
{
    bool ok = true;

    for (const char *const *name = berth_mpi_contacts; ok && *name; name++)
        ok = put(key, *name,
                 berth_environ_value(first, *name) || berth_environ_value(second, *name)
                     ? "there"
                     : NULL);
    return ok;
}

/* By which the command and its libraries are found in the container, and what may be in
 * the way of the host's MPI. */
static bool put_variables(struct berth_buf *key, const struct berth_inside *inside,
                          char *const *container)
{
    static const char *const names[] = {"PATH", "LD_LIBRARY_PATH", "LD_PRELOAD",
                                        "LD_AUDIT", NULL};
    struct berth_launch launch = {.request = inside->request,
                                  .terms = inside->terms,
                                  .environment = inside->task};
    BERTH_STRVEC struct berth_strvec asked = {0};
    const struct berth_profile *profile = inside->profiles;
    bool ok = true;

    berth_launch_env(&launch, &asked);
    ok = put_values(key, names, asked.items, container) &&
         put_contacts(key, asked.items, container);
    for (; ok && profile && profile->name; profile++)
        ok = put_values(key, profile->conflicts.variables, asked.items, container);
    return ok && !asked.failed;
}

static bool put_terms(struct berth_buf *key, const struct berth_terms *terms)
{
    BERTH_BUF struct berth_buf text = {0};

    if (terms)
        berth_terms_put(terms, &text);
    return !text.failed && put(key, "terms", text.used ? text.text : "");
}

/* The runtime may bring the libraries of a GPU driver. */
static bool put_gpu(struct berth_buf *key, const struct berth_inside *inside)
{
    return put(key, "gpu", berth_gpu_is_given(inside->task) ? "given" : NULL) &&
           put_file(key, BERTH_GPU_NVIDIA_DEVICE) &&
           put_file(key, BERTH_GPU_ROCM_DEVICE);
}

/* What a site has written; ours are this release's. */
static bool put_profiles(struct berth_buf *key, const struct berth_profile *profiles)
{
    bool ok = true;

    for (; ok && profiles && profiles->name; profiles++)
        ok = !profiles->label || put(key, "profile", profiles->label);
    return ok;
}

/* How the tasks find each other, and whether other nodes decide too. */
static bool put_tasks(struct berth_buf *key, const struct berth_inside *inside)
{
    const char *tasks = berth_environ_value(inside->task, "SLURM_NTASKS");

    return put(key, "mpi", berth_environ_value(inside->task, "SLURM_MPI_TYPE")) &&
           put(key, "tasks",
               tasks && strtoul(tasks, NULL, 10) > 1 ? "several" : "one") &&
           put(key, "nodes", inside->reach.nodes > 1 ? "several" : "one");
}

/* What leads to the MPI stacks of the host. */
static bool put_host(struct berth_buf *key, const struct berth_inside *inside)
{
    static char *const nothing[] = {NULL};
    char *const *task = inside->task;
    BERTH_STRVEC struct berth_strvec places = {0};
    const struct berth_stage_root site = berth_stage_site();
    bool ok = put_file(key, "/etc/ld.so.cache") && put_file(key, site.path);

    for (const char *const *name = berth_stacks_variables; ok && *name; name++)
        ok = put(key, *name, berth_environ_value(task, *name));
    berth_stacks_places(inside->profiles, task ? task : nothing, &places);
    for (size_t i = 0; ok && i < places.count; i++)
        ok = put_file(key, places.items[i]);
    return ok && !places.failed;
}

bool berth_memokey_write(const struct berth_inside *inside, char *const *container,
                         struct berth_buf *key)
{
    struct stat st;

    return stat(inside->request->image, &st) == 0 && S_ISREG(st.st_mode) &&
           put(key, "berth", BERTH_VERSION) && put_file(key, "/proc/self/exe") &&
           put_file(key, inside->request->image) && put_request(key, inside->request) &&
           put_terms(key, inside->terms) && put_profiles(key, inside->profiles) &&
           put_command(key, inside) && put_variables(key, inside, container) &&
           put_gpu(key, inside) && put_tasks(key, inside) && put_host(key, inside) &&
           !key->failed;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Pulls images from registries on the host where the command is typed: in the user's
 * own process, once, with a network, and without using an allocation. */

#include "spank/fetch.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include <slurm/spank.h>

#include "base/cleanup.h"
#include "step/runtime.h"
#include "pull/pull.h"

extern char **environ;

static void print_pull(const char *uri)
{
    slurm_info("berth: pulling image '%s'", uri);
}

static void print_wait(const char *uri)
{
    slurm_info("berth: image '%s': another pull of it is under way; waiting for it",
               uri);
}

/* Leave the pull to a later srun? Prints a note if so. */
static bool leaves_to_srun(const struct berth_site *site, const char *uri)
{
    BERTH_FREE char *runtime = NULL;

    if (spank_context() != S_CTX_ALLOCATOR ||
        berth_runtime_find(site->runtime.path, getenv("PATH"), &runtime, NULL) == 0)
        return false;
    slurm_info(
        "berth: note: image '%s': no container runtime on this host; the first srun of "
        "the job pulls it",
        uri);
    return true;
}

int berth_fetch_image(const struct berth_site *site, struct berth_request *request,
                      struct berth_err *err)
{
    const struct berth_pull how = {
        .site = site,
        .env = environ,
        .terminal = isatty(STDERR_FILENO) ? STDERR_FILENO : -1,
        .on_pull = print_pull,
        .on_wait = print_wait,
    };

    if (!request->uri || leaves_to_srun(site, request->uri))
        return 0;
    return berth_pull_request(&how, request, err);
}

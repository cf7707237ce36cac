/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for slurmstepd: tells berth-task what to do, and lets a small process watch
 * for the end of the one task. */

#include "launch/standalone.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/environ.h"
#include "report/explain.h"
#include "plan/launch.h"
#include "request/wire.h"
#include "base/detach.h"
#include "step/names.h"
#include "step/processes.h"
#include "step/rendezvous.h"

#define TASK_PROGRAM BERTH_LIBEXECDIR "/berth-task"

extern char **environ;

/* The rank of a process that an mpirun has started: Hydra (MPICH, Intel MPI, MVAPICH),
 * Open MPI, PRRTE, PALS. */
static const char *const rank_variables[] = {"PMI_RANK", "OMPI_COMM_WORLD_RANK",
                                             "PMIX_RANK", "PALS_RANKID"};

/* NULL: no mpirun has started this process. */
static const char *rank_of(char *const *environment)
{
    const char *rank = NULL;

    for (size_t i = 0; !rank && i < sizeof(rank_variables) / sizeof(*rank_variables);
         i++)
        rank = berth_environ_value(environment, rank_variables[i]);
    return rank;
}

/* Is this the process that says for all ranks what berth has chosen? */
static bool leads(void)
{
    const char *rank = rank_of(environ);

    if (!rank)
        rank = getenv("SLURM_PROCID");
    return !rank || strcmp(rank, "0") == 0;
}

struct watch {
    pid_t pid; /* the process with which the container ends */
    int alive; /* the descriptor that says so */
};

static void watch(void *data)
{
    enum { LOOK_AGAIN_MS = 1000 }; /* where the kernel has no pidfd */
    const struct watch *it = data;
    struct pollfd end = {.events = POLLIN};

    berth_detach(&it->alive, 1, NULL);
    end.fd = berth_process_open(it->pid);
    while (!end.revents && kill(it->pid, 0) == 0)
        poll(&end, 1, LOOK_AGAIN_MS);
}

/* Hand the rendezvous to a process that is no child of what this one becomes. */
static int start_watch(struct berth_rendezvous *rendezvous, struct berth_err *err)
{
    struct watch it = {getpid(), rendezvous->alive};
    int result = berth_detach_run(watch, NULL, &it, err);

    close(rendezvous->alive); /* the watch has it */
    return result;
}

/* Where an mpirun has started this process, what its MPI library is to know comes
 * before the variables that the user asks for. */
static int put_request(const struct berth_request *request, struct berth_buf *buf,
                       struct berth_err *err)
{
    struct berth_request ranks = {.mpi = (char *)"hybrid"};
    struct berth_launch launch = {.request = &ranks, .environment = environ};
    BERTH_STRVEC struct berth_strvec env = {0};
    struct berth_request told = *request;

    if (rank_of(environ) && !berth_request_mpi_local(request))
        berth_launch_apart(&launch, &env);
    berth_strvec_append(&env, &request->env);
    told.env = env;
    berth_wire_put_request(buf, &told);
    return buf->failed || env.failed ? berth_err_oom(err) : 0;
}

static int set(const char *name, const char *value, struct berth_err *err)
{
    if (!value)
        return unsetenv(name);
    return setenv(name, value, 1) < 0 ? berth_err_oom(err) : 0;
}

static int make_rendezvous(const struct berth_site *site, char *name, size_t size,
                           struct berth_err *err)
{
    struct berth_rendezvous rendezvous;

    if (berth_rendezvous_make(&rendezvous, err) < 0 ||
        start_watch(&rendezvous, err) < 0)
        return -1;
    berth_rendezvous_furnish(&rendezvous, 1, site->runtime.start_timeout);
    if (site->runtime.share == BERTH_SHARE_NEVER)
        berth_rendezvous_forbid(&rendezvous, "the site says share: never");
    berth_rendezvous_name(&rendezvous, name, size);
    return 0;
}

int berth_standalone_prepare(const struct berth_standalone *standalone,
                             struct berth_err *err)
{
    BERTH_BUF struct berth_buf fields = {0};
    BERTH_BUF struct berth_buf terms = {0};
    BERTH_BUF struct berth_buf asked = {0};
    BERTH_BUF struct berth_buf step = {0};
    struct berth_explain_step facts = {0};
    char name[32];

    berth_terms_put(standalone->terms, &terms);
    if (put_request(standalone->asked, &asked, err) < 0 ||
        put_request(standalone->request, &fields, err) < 0)
        return -1;
    facts.asked = asked.text;
    berth_explain_put_step(&facts, &step);
    if (terms.failed || step.failed)
        return berth_err_oom(err);
    if (make_rendezvous(standalone->site, name, sizeof(name), err) < 0 ||
        set(BERTH_TASK_REQUEST, fields.text, err) < 0 ||
        set(BERTH_TASK_LEADS, leads() ? "1" : NULL, err) < 0 ||
        set(BERTH_TASK_RUNTIME, standalone->site->runtime.path, err) < 0 ||
        set(BERTH_TASK_PREFIX, NULL, err) < 0 ||
        set(BERTH_TASK_EXPLAIN, step.text, err) < 0 ||
        set(BERTH_TASK_RECORD, NULL, err) < 0 ||
        set(BERTH_TASK_TERMS, terms.used ? terms.text : NULL, err) < 0 ||
        set(BERTH_TASK_REPORT, NULL, err) < 0 || set(BERTH_TASK_ARGV0, NULL, err) < 0 ||
        set(BERTH_TASK_ROOM, name, err) < 0)
        return -1;
    return 0;
}

int berth_standalone_become(char *const *command, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec words = {0};

    berth_strvec_push(&words, "berth-task");
    for (; *command; command++)
        berth_strvec_push(&words, *command);
    if (words.failed)
        return berth_err_oom(err);
    execv(TASK_PROGRAM, words.items);
    return berth_err_set(err, "'%s': %s; install berth again on this host",
                         TASK_PROGRAM, strerror(errno));
}

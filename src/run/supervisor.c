/* SPDX-License-Identifier: Apache-2.0 */
/* Starts one container for the tasks of a step on a node, and stays with it. */

#include "run/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/detach.h"
#include "base/environ.h"
#include "base/run.h"
#include "job/client.h"
#include "plan/envdiff.h"
#include "container/runtime.h"
#include "container/database.h"
#include "container/servers.h"
#include "container/start.h"
#include "container/join.h"
#include "container/limits.h"
#include "container/mountcheck.h"
#include "container/namespaces.h"
#include "container/overlay.h"
#include "container/ownmounts.h"
#include "container/processes.h"
#include "ipc/report.h"
#include "inside/hostserver.h"
#include "run/binder.h"
#include "run/saver.h"
#include "run/singletons.h"
#include "run/task.h"

extern char **environ;

/* The descriptors of the supervisor. ENDED stays open until all that the supervisor has
 * started has ended. */
enum { TASKS = 3, MEMORY, ENDED, STDERR, DESCRIPTORS = STDERR - TASKS + 1 };

struct supervisor {
    struct berth_rendezvous *rendezvous;
    struct berth_launch launch;
    struct berth_start start;
    sigset_t mask;                   /* of the task */
    struct berth_mountcheck checked; /* that the mounts are there */
    struct berth_servers servers;
    struct berth_binder binder; /* its holder: berth-init in the container that tasks
                                   join; its task_stderr: for those that watch */
    struct berth_binding binding;
    struct berth_strvec environment; /* of the holder */
    struct berth_strvec changes;     /* of the runtime (plan/envdiff.h) */
    struct berth_overlay overlay;    /* for what tasks write to the image */
    int users; /* a user namespace with all owners of what is written; -1: the user */
    struct berth_err no_overlay; /* why there is none; "": there is, or need be */
    int written; /* a file in the file system that gets what tasks write; -1: none */
    struct stat image; /* its file when the tasks began */
    int mounts; /* the holder's mount namespace, which so keeps its inode; -1: none */
    struct berth_err no_cma; /* why several containers of the node have no outer user
                                namespace; "": they have one, or need none */
    struct berth_job_answer
        job; /* the container of the job, of which this one is a copy; holder 0: none */
    struct berth_err
        no_job;  /* why there is none, though the step asks for one; "": it does not */
    int hold[2]; /* a pipe: with --container-save, the container ends with its writing
                    end, and not with the last task; -1: none */
    int save_stderr; /* for the result of that; -1: none */
    pid_t saver;     /* the process that saves; 0: none */
    bool is_saved;   /* it has ended */
    bool tasks_ended;
    bool runtime_ended;
    bool is_separate; /* each task starts a container of its own */
    struct berth_hostcommand hostcommand;
    struct berth_binder_witness
        watchers[2];      /* of the host's libraries; of singletons */
    int fds[DESCRIPTORS]; /* those that become TASKS to STDERR */
};

/* Put the image before a refusal, and the option that is the cause, if that
 * names none. */
static int name_refusal(const struct supervisor *supervisor, int result,
                        struct berth_err *err)
{
    const struct berth_request *request = supervisor->launch.request;

    if (result == 0)
        return 0;
    if (berth_request_mpi_chosen(request) && err->code != BERTH_ERR_OPTION)
        berth_err_at(err, "%s=%s", berth_request_cause(request),
                     berth_request_cause_value(request));
    return berth_err_at(err, "image '%s'", berth_request_name(request));
}

/* Is a step without --mpi-bind explained, which may start each rank alone? */
static bool needs_forecast(const struct supervisor *supervisor)
{
    const struct berth_launch *launch = &supervisor->launch;

    if (!berth_request_is_explained(launch->request) || launch->request->mpi)
        return false;
    return !supervisor->binding.warning && berth_singletons_wanted(launch);
}

/* Bind the host's MPI, and list the variables that the tasks need for it, those that
 * tell MPI libraries that there is no outer user namespace, and those by which tasks
 * find commands of the host. */
static int bind_host(struct supervisor *supervisor, struct berth_err *err)
{
    const struct berth_launch *launch = &supervisor->launch;
    struct berth_binder *binder = &supervisor->binder;
    struct berth_binding *binding = &supervisor->binding;
    int result;

    binder->environment = supervisor->environment.items;
    supervisor->rendezvous->page->phase = BERTH_PHASE_LIBRARIES;
    result = berth_binder_run(binder, binding, &supervisor->watchers[0], err);
    if (name_refusal(supervisor, result, err) < 0)
        return -1;
    if (needs_forecast(supervisor))
        binding->warning = berth_singletons_forecast(binder);
    if (*supervisor->no_cma.text && !berth_request_mpi_declined(launch->request))
        berth_launch_separate(launch->environment, &binding->set);
    berth_hostcommand_list(&supervisor->hostcommand, binder->holder.pid,
                           binder->environment, &binding->set);
    return 0;
}

/* Write into the binding where that is which tasks write to the image. */
static void name_written(struct supervisor *supervisor)
{
    const char *path = supervisor->launch.overlay;
    struct berth_binding *binding = &supervisor->binding;
    struct berth_err text;

    if (path) {
        berth_err_set(&text, "'%s', by %s", path,
                      berth_overlay_by(supervisor->binder.holder.pid));
        berth_binding_set(binding, &binding->overlay, path);
    } else {
        berth_err_set(&text, "memory: %s", supervisor->no_overlay.text);
    }
    berth_binding_set(binding, &binding->written, text.text);
}

/* Write the working directory of the image into the rendezvous, for the tasks. */
static int share_directory(struct supervisor *supervisor, struct berth_err *err)
{
    struct berth_rendezvous *rendezvous = supervisor->rendezvous;
    BERTH_BUF struct berth_buf text = {0};

    if (!supervisor->launch.image_directory)
        return 0;
    berth_buf_puts(&text, supervisor->launch.image_directory);
    if (text.failed)
        return berth_err_oom(err);
    return berth_rendezvous_put(rendezvous, &text, &rendezvous->page->image_directory,
                                err);
}

/* Write the binding into the rendezvous, for the tasks. */
static int share_binding(struct supervisor *supervisor, struct berth_err *err)
{
    struct berth_binding *binding = &supervisor->binding;
    BERTH_BUF struct berth_buf bytes = {0};

    if (*supervisor->no_cma.text)
        berth_binding_set(binding, &binding->no_cma, supervisor->no_cma.text);
    binding->is_outer = supervisor->launch.is_outer;
    binding->is_jobs = supervisor->job.holder.pid > 0;
    if (*supervisor->no_job.text)
        berth_binding_set(binding, &binding->no_job, supervisor->no_job.text);
    if (supervisor->launch.request->writable == BERTH_YES && !binding->is_jobs)
        name_written(supervisor);
    if (berth_request_is_explained(supervisor->launch.request))
        berth_strvec_append(&binding->changes, &supervisor->changes);
    berth_binding_put(binding, &bytes);
    if (bytes.failed)
        return berth_err_oom(err);
    return berth_rendezvous_put(supervisor->rendezvous, &bytes,
                                &supervisor->rendezvous->page->binding, err);
}

/* Bind the host's MPI, and let the tasks join. */
static int make_ready(struct supervisor *supervisor, struct berth_err *err)
{
    const struct berth_strvec *set = &supervisor->binding.set;
    struct berth_strvec *container = &supervisor->hostcommand.container;
    BERTH_BUF struct berth_buf changes = {0};

    if (bind_host(supervisor, err) < 0)
        return -1;
    if (!supervisor->job.holder.pid)
        berth_servers_seize(&supervisor->servers); /* else another supervisor traces */
    berth_strvec_append(container, set);           /* the first of a name counts */
    berth_strvec_append(container, &supervisor->environment);
    berth_environ_join(supervisor->changes.items, &changes);
    berth_environ_join(set->items, &changes);
    changes.failed |= supervisor->changes.failed || set->failed;
    if (changes.failed || container->failed)
        return berth_err_oom(err);

    if (share_binding(supervisor, err) < 0 || share_directory(supervisor, err) < 0)
        return -1;
    return berth_rendezvous_ready(supervisor->rendezvous, supervisor->binder.holder,
                                  &changes, err);
}

static void close_mounts(struct supervisor *supervisor)
{
    if (supervisor->mounts >= 0)
        close(supervisor->mounts);
    supervisor->mounts = -1;
}

/* Let each task start a container of its own, WHY. That of the supervisor, which showed
 * it, ends. */
static int separate(struct supervisor *supervisor, const char *why,
                    struct berth_err *err)
{
    struct berth_holder *holder = &supervisor->binder.holder;
    const struct berth_request *request = supervisor->launch.request;
    const char *name = request->container_name;
    const char *mount = berth_ownmounts_find(&request->mounts);
    int result;

    if (mount)
        return berth_err_set(err,
                             "--container-mounts: '%s': only in a container that the "
                             "tasks of a node share: %s",
                             mount, why);
    if (request->save && !berth_request_is_explained(request))
        return berth_err_set(err,
                             "--container-save: each task has a container of its own: "
                             "%s",
                             why);

    if (name)
        return berth_err_set(err,
                             "--container-name=%s: tasks of several steps cannot share "
                             "a container here: %s",
                             name, why);
    result = berth_binder_separate(&supervisor->launch, holder->pid, why,
                                   &supervisor->binding, err);

    supervisor->is_separate = true;
    supervisor->launch.overlay = NULL;
    berth_err_set(&supervisor->no_overlay, "%s", why);
    if (holder->pid)
        berth_holder_kill(*holder);
    *holder = (struct berth_holder){0};
    close_mounts(supervisor);
    if (name_refusal(supervisor, result, err) < 0)
        return -1;
    if (share_binding(supervisor, err) < 0)
        return -1;
    return berth_rendezvous_separate(supervisor->rendezvous, why, err);
}

static const char closed[] =
    "a container is closed, or has namespaces of its own (--container-args, "
    "--container-name, --container-unshare)";

/* Returns why this step cannot use an outer user namespace, or NULL. */
static const char *refuse_outer(const struct berth_launch *launch)
{
    if (launch->order->container.has_spaces)
        return closed;
    if (launch->unknown_user)
        return "the node does not know the user";
    return berth_runtime_refuses_root(launch->runtime);
}

/* Put several containers of a node into one outer user namespace, if there can be one.
 * Root's runtime makes no user namespace, and needs none. */
static int find_outer(struct supervisor *supervisor, struct berth_err *err)
{
    struct berth_start *start = &supervisor->start;
    static const char mixed[] = "some programs of the step have no image";
    const struct berth_order_container *container =
        &supervisor->launch.order->container;
    struct berth_outer *outer = &supervisor->rendezvous->node->outer;

    if (geteuid() == 0)
        return 0;
    /* its programs have a user namespace that lasts longer than this step */
    if (supervisor->launch.request->container_name) {
        if (container->hosts > 0 || container->others > 0)
            berth_err_set(&supervisor->no_cma, "%s", closed);
        return 0;
    }
    if (container->hosts > 0) {
        berth_err_set(&supervisor->no_cma, "%s", mixed);
        return 0;
    }
    if (container->others == 0)
        return 0;
    /* also if only the site or a variable closes it, which the others may not know */
    if (supervisor->launch.order->is_closed) {
        berth_err_set(&supervisor->no_cma, "%s", closed);
        return 0;
    }
    if (berth_outer_claim(outer))
        berth_outer_make(outer, refuse_outer(&supervisor->launch));
    switch (
        berth_outer_find(outer, start->deadline, &start->inner, &supervisor->no_cma)) {
    case BERTH_OUTER_THERE:
        supervisor->launch.is_outer = true;
        return 0;
    case BERTH_OUTER_NONE:
        return 0;
    default:
        return berth_err_set(err, BERTH_RENDEZVOUS_STARTER_KILLED);
    }
}

/* Start a copy of the job's container for QUESTION. Returns 0; 1 with a sentence in ERR
 * if the container lacks the directory of the task; -1 with a sentence in ERR if the
 * job has no container, or a copy of it does not start. */
static int copy_job(struct supervisor *supervisor,
                    const struct berth_job_question *question, struct berth_err *err)
{
    struct berth_start *start = &supervisor->start;
    struct berth_job_answer *job = &supervisor->job;
    /* without the home no container has that directory, and tasks start elsewhere */
    bool has_home = supervisor->launch.request->home != BERTH_NO;
    bool looks = has_home && !question->own_directory;
    int result, status;

    supervisor->rendezvous->page->phase = BERTH_PHASE_JOB;
    if (berth_job_ask(question, job, err) < 0)
        return -1;
    result = berth_start_in(start, job->holder, job->after.items, looks, err);
    if (result == 0)
        result = berth_start_await(start, &supervisor->binder.holder,
                                   &supervisor->environment, err);
    if (result == 0)
        return 0;

    berth_job_answer_fini(job);
    supervisor->binder.holder = (struct berth_holder){0};
    if (start->runtime > 0)
        kill(start->runtime, SIGKILL);
    status = berth_run_wait(start->runtime);
    if (WIFEXITED(status) && WEXITSTATUS(status) == BERTH_START_NO_DIRECTORY)
        return 1;
    return -1;
}

static void reset_start(struct berth_start *start)
{
    berth_start_fini(start);
    start->runtime = 0;
}

/* Start a copy of the job's container, if the step asks for one. Returns false if the
 * step needs a container of its own; no_job says why. */
static bool start_in_job(struct supervisor *supervisor)
{
    const struct berth_launch *launch = &supervisor->launch;
    struct berth_start *start = &supervisor->start;
    struct berth_job_question question = {
        .launch = launch, .tasks = TASKS, .deadline = start->deadline};
    struct berth_err *err = &supervisor->no_job;
    const char *why;
    int result;

    if (!launch->order->job || berth_request_is_explained(launch->request))
        return false;
    why = berth_order_why_step(launch->order, NULL);
    if (why) {
        berth_err_set(err, "%s", why);
        return false;
    }
    result = copy_job(supervisor, &question, err);
    if (result > 0) {
        /* once more, and for one that was started in this directory */
        reset_start(start);
        question.own_directory = true;
        result = copy_job(supervisor, &question, err);
    }
    if (result != 0) {
        reset_start(start);
        return false;
    }

    *err->text = '\0';
    supervisor->written = berth_overlay_open(supervisor->job.holder.pid);
    berth_strvec_append(&supervisor->changes, &supervisor->job.changes);
    return true;
}

/* Start the runtime, and wait until berth-init runs in the container. */
static int start_runtime(struct supervisor *supervisor, struct berth_err *err)
{
    struct berth_start *start = &supervisor->start;

    supervisor->rendezvous->page->phase = BERTH_PHASE_RUNTIME;
    if (berth_start(start, err) < 0)
        return -1;
    supervisor->servers.runtime = start->runtime;
    return berth_start_await(start, &supervisor->binder.holder,
                             &supervisor->environment, err);
}

static void remove_overlay(struct supervisor *supervisor)
{
    supervisor->launch.overlay = NULL;
    supervisor->start.overlay = supervisor->written = -1;
    berth_overlay_remove_in(&supervisor->overlay, supervisor->users);
}

/* The same with a directory for what tasks write, if they may. A setuid runtime takes
 * no such directory of a user, others not on every file system: then it has memory. */
static int start_writable(struct supervisor *supervisor, struct berth_err *err)
{
    const struct berth_launch *launch = &supervisor->launch;

    if (launch->request->writable != BERTH_YES)
        return start_runtime(supervisor, err);
    if (berth_overlay_make(launch->order->terms.writable, launch->node,
                           &supervisor->overlay, err) < 0)
        return -1;
    supervisor->launch.overlay = supervisor->overlay.path;
    supervisor->start.overlay = supervisor->written = supervisor->overlay.lock;
    if (start_runtime(supervisor, err) == 0)
        return 0;
    if (err->code != BERTH_ERR_OVERLAY)
        return -1;
    supervisor->no_overlay = *err;
    kill(supervisor->start.runtime, SIGKILL);
    berth_start_fini(&supervisor->start);
    remove_overlay(supervisor);
    return start_runtime(supervisor, err);
}

/* Add the umask to the changes of the runtime, if the image's %environment has set one.
 */
static void add_umask(struct supervisor *supervisor)
{
    const int before = berth_process_umask(getpid());
    const int after = berth_process_umask(supervisor->binder.holder.pid);

    if (before >= 0 && after >= 0 && after != before)
        berth_strvec_pushf(&supervisor->changes, BERTH_TASK_UMASK "=%04o",
                           (unsigned int)after);
}

/* The same over the directory of the name of the container, which others make and
 * remove: nothing else can keep what tasks write. */
static int start_named(struct supervisor *supervisor, struct berth_err *err)
{
    struct berth_err why;
    const int fd = berth_overlay_use(supervisor->launch.overlay, err);

    if (fd < 0)
        return -1;
    supervisor->start.overlay = supervisor->written = fd;
    if (start_runtime(supervisor, err) == 0)
        return 0;
    if (err->code != BERTH_ERR_OVERLAY)
        return -1;
    why = *err;
    return berth_err_set(err,
                         "--container-name: what is written cannot be kept in '%s'; "
                         "set TMPDIR to a local directory of the node: %s",
                         supervisor->launch.overlay, why.text);
}

/* Refuse --container-remap-root without subordinate ids: the runtime starts, but
 * chown(2) fails in it, and so does each package that has another owner than root. */
static int check_root(const struct supervisor *supervisor, struct berth_err *err)
{
    const pid_t holder = supervisor->binder.holder.pid;
    const bool is_root = supervisor->launch.request->root == BERTH_YES;

    if (!is_root || geteuid() == 0 || berth_namespaces_has_others(holder))
        return 0;
    return berth_err_set(
        err,
        "--container-remap-root: user %u has no subordinate ids on this "
        "node, and packages cannot be installed without; ask the "
        "administrators for lines in /etc/subuid and /etc/subgid",
        geteuid());
}

/* Start a container for the step alone, and wait until berth-init runs in it. */
static int start_for_step(struct supervisor *supervisor, struct berth_err *err)
{
    const struct berth_launch *launch = &supervisor->launch;
    struct berth_start *start = &supervisor->start;
    struct berth_holder *holder = &supervisor->binder.holder;
    bool is_unpacked;
    int result;

    if (launch->overlay) /* of the name of the container */
        result = start_named(supervisor, err);
    else
        result = start_writable(supervisor, err);
    if (result < 0)
        return -1;
    if (berth_namespaces_has_others(holder->pid))
        supervisor->users = berth_namespaces_open(holder->pid, "user");
    if (check_root(supervisor, err) < 0)
        return -1;
    berth_envdiff(environ, supervisor->environment.items, &supervisor->changes);
    add_umask(supervisor);
    if (berth_ownmounts_do(*holder, &launch->request->mounts, err) < 0)
        return -1;
    if (start->inner >= 0)
        berth_database_correct(*holder, launch->request);
    if (berth_servers_check(&supervisor->servers, launch->order->terms.image,
                            launch->request->image, &is_unpacked, err) < 0)
        return -1;
    supervisor->rendezvous->page->is_unpacked = is_unpacked;
    return 0;
}

/* Prepare to save the container: it must not end with the last task. */
static int prepare_save(struct supervisor *supervisor, struct berth_err *err)
{
    const struct berth_request *request = supervisor->launch.request;

    if (!request->save || berth_request_is_explained(request))
        return 0;
    if (berth_saver_check(&supervisor->launch, err) < 0)
        return -1;
    supervisor->save_stderr = fcntl(STDERR, F_DUPFD_CLOEXEC, 0);
    if (supervisor->save_stderr < 0 || pipe2(supervisor->hold, O_CLOEXEC) < 0)
        return berth_err_spent(err, errno);
    supervisor->start.tasks = supervisor->hold[0];
    supervisor->rendezvous->node->is_saved = true;
    return 0;
}

/* May the step have no container but the one with its name? The server of the job,
 * which starts that one, has its directory. */
static bool must_join(const struct supervisor *supervisor)
{
    const struct berth_launch *launch = &supervisor->launch;

    return launch->request->container_name && !launch->overlay &&
           !berth_request_is_explained(launch->request);
}

/* Start the container, or copy that of the job; then let the tasks join it, or
 * separate. */
static int start_container(struct supervisor *supervisor, struct berth_err *err)
{
    const char *why = supervisor->rendezvous->node->forbidden.text;

    supervisor->rendezvous->page->is_squashfs = supervisor->launch.reader != NULL;
    if (*why)
        return separate(supervisor, why, err);
    if (prepare_save(supervisor, err) < 0)
        return -1;
    if (berth_mountcheck_begin(&supervisor->launch, &supervisor->checked, err) < 0)
        return -1;
    supervisor->start.mounts = &supervisor->checked;
    if (find_outer(supervisor, err) < 0)
        return -1;
    if (!start_in_job(supervisor)) {
        /* a new container would silently lack what the one with this name has */
        if (must_join(supervisor)) {
            *err = supervisor->no_job;
            return -1;
        }
        if (start_for_step(supervisor, err) < 0)
            return -1;
    }

    supervisor->mounts = berth_holder_open(supervisor->binder.holder);
    why = berth_join_why_not(supervisor->binder.holder.pid);
    if (why)
        return separate(supervisor, why, err);
    return make_ready(supervisor, err);
}

/* Has somebody written into the file of the image since the tasks began? A file that
 * has replaced it disturbs nobody. */
static bool is_changed(const struct supervisor *supervisor)
{
    const struct stat *before = &supervisor->image;
    struct stat now;

    if (!S_ISREG(before->st_mode))
        return false;
    if (stat(supervisor->launch.request->image, &now) < 0)
        return false;
    if (now.st_dev != before->st_dev || now.st_ino != before->st_ino)
        return false;
    return now.st_size != before->st_size ||
           now.st_mtim.tv_sec != before->st_mtim.tv_sec ||
           now.st_mtim.tv_nsec != before->st_mtim.tv_nsec;
}

/* Print a line if there is no room left for what the tasks write, once. */
static void check_room(struct supervisor *supervisor)
{
    struct berth_err err;

    if (supervisor->written < 0 || !berth_overlay_is_full(supervisor->written, &err))
        return;
    supervisor->written = -1;
    berth_report_line(STDERR, supervisor->launch.node, "%s", err.text);
    close(STDERR);
}

/* The last task has ended: begin to save the container, if the step asks for it and no
 * task has failed. Returns whether the container must stay for that. */
static bool begin_save(struct supervisor *supervisor)
{
    const struct berth_launch *launch = &supervisor->launch;
    const pid_t holder = supervisor->binder.holder.pid;

    if (supervisor->save_stderr < 0 || supervisor->is_saved || !holder)
        return false;
    supervisor->is_saved = true;
    if (supervisor->rendezvous->node->has_failed) {
        berth_report_line(supervisor->save_stderr, launch->node,
                          "--container-save: '%s' is not written, because a task has "
                          "failed",
                          launch->request->save);
        return false;
    }
    /* nobody may write meanwhile */
    berth_namespaces_kill(supervisor->mounts, holder);
    supervisor->saver = berth_saver_start(launch, holder, supervisor->save_stderr);
    return supervisor->saver > 0;
}

/* The last task has ended. Kill what is left in the container, because nobody waits for
 * it: a child that lives on, or a task whose slurmstepd was killed. The server of the
 * image ends only when no process holds the container, the supervisor included. */
static void end_container(struct supervisor *supervisor)
{
    if (begin_save(supervisor))
        return;
    if (supervisor->save_stderr >= 0)
        close(supervisor->save_stderr);
    if (supervisor->hold[1] >= 0)
        close(supervisor->hold[1]);
    supervisor->save_stderr = supervisor->hold[1] = -1;
    supervisor->tasks_ended = true;
    check_room(supervisor);
    if (supervisor->written >= 0)
        close(STDERR);
    for (int i = 0; i < 2; i++)
        berth_binder_end(&supervisor->watchers[i],
                         supervisor->rendezvous->node->has_failed);
    if (supervisor->hostcommand.server)
        kill(supervisor->hostcommand.server, SIGKILL);
    berth_namespaces_kill(supervisor->mounts, supervisor->binder.holder.pid);
    close_mounts(supervisor);
    if (is_changed(supervisor))
        supervisor->rendezvous->node->is_changed = true;
}

/* The child PID has ended. The container is lost if PID is its runtime, or a server
 * that was killed. The process that answers programs (hostcommand) may end in any way.
 */
static void register_end(struct supervisor *supervisor, pid_t pid, int status)
{
    bool is_runtime = pid == supervisor->start.runtime;
    bool is_killed_server = supervisor->servers.is_server && WIFSIGNALED(status);

    if (pid == supervisor->saver) {
        supervisor->saver = 0;
        end_container(supervisor);
        return;
    }
    if (is_runtime)
        supervisor->runtime_ended = true;
    if (pid == supervisor->hostcommand.server) {
        supervisor->hostcommand.server = 0;
        return;
    }
    if ((is_runtime || is_killed_server) && !supervisor->tasks_ended)
        berth_rendezvous_lose(supervisor->rendezvous);
}

/* Wait at most MILLISECONDS for a signal, or until the last task, or the job's
 * container, ends, or a program asks for a command of the host. */
static void await_change(struct supervisor *supervisor, int milliseconds)
{
    enum { LAST_TASK, JOB, PROGRAM, COUNT };
    struct pollfd fds[COUNT] = {
        [LAST_TASK] = {.fd = TASKS, .events = POLLIN},
        [JOB] = {.fd = supervisor->job.end, .events = POLLIN},
        [PROGRAM] = {.fd = supervisor->hostcommand.socket, .events = POLLIN}};

    if (supervisor->tasks_ended || supervisor->saver)
        fds[LAST_TASK].fd = -1;
    if (supervisor->tasks_ended || supervisor->hostcommand.server)
        fds[PROGRAM].fd = -1;

    berth_servers_wait(fds, COUNT, milliseconds);
    if (fds[LAST_TASK].revents)
        end_container(supervisor);
    if (fds[PROGRAM].revents && !supervisor->tasks_ended)
        berth_hostcommand_serve(&supervisor->hostcommand);
    if (fds[JOB].revents) {
        berth_job_answer_fini(&supervisor->job);
        if (!supervisor->tasks_ended)
            berth_rendezvous_lose(supervisor->rendezvous);
    }
}

/* The rounds in which what should have ended with the runtime and the last task is
 * ended. */
struct rounds {
    int count; /* so far */
    int64_t next;
};

/* The runtime and the last task have ended: end what should have ended with them, if it
 * is time for a round. Servers get a signal that lets them unmount first. */
static void end_left(struct supervisor *supervisor, struct rounds *rounds)
{
    if (berth_clock() < rounds->next)
        return;                      /* not at each SIGCHLD */
    supervisor->servers.runtime = 0; /* its orphans are children of this process */
    berth_servers_end(&supervisor->servers, rounds->count);
    rounds->count++;
    rounds->next = berth_clock() + BERTH_SERVERS_ROUND_MS;
}

/* No child has ended: look after what is left, and wait for a change. */
static void look_after(struct supervisor *supervisor, bool has_failed,
                       struct rounds *rounds)
{
    enum { LOOK_AGAIN_MS = 1000 };
    const bool both_ended = supervisor->runtime_ended && supervisor->tasks_ended;
    int most = LOOK_AGAIN_MS;

    if (both_ended || has_failed)
        most = BERTH_SERVERS_ROUND_MS;
    if (both_ended)
        end_left(supervisor, rounds);
    if (has_failed || rounds->count > BERTH_SERVERS_PATIENCE)
        berth_servers_kill_others();
    if (!supervisor->tasks_ended)
        check_room(supervisor);
    await_change(supervisor, most);
}

/* Stay until the runtime, the traced servers and the last task have ended. The runtime
 * ends the servers of its image before it ends. If it was killed, the servers serve the
 * tasks that still run, and end after them. */
static void stay(struct supervisor *supervisor)
{
    const bool has_failed = !supervisor->binder.holder.pid && !supervisor->is_separate;
    struct rounds rounds = {0};
    int status;
    pid_t pid = berth_servers_reap(&supervisor->servers, &status);

    while (pid >= 0) {
        if (pid > 0)
            register_end(supervisor, pid, status);
        else
            look_after(supervisor, has_failed, &rounds);
        pid = berth_servers_reap(&supervisor->servers, &status);
    }

    if (has_failed || rounds.count > BERTH_SERVERS_PATIENCE)
        berth_servers_clear(supervisor->launch.runtime);
    while (!supervisor->tasks_ended)
        await_change(supervisor, -1);
    remove_overlay(supervisor);
}

/* End the start. If the container has started, kill its first process, unless
 * separate() has done it: the runtime then removes what it has made. If not, kill the
 * runtime, whose children become children of this process: stay() kills them. */
static void end_start(struct supervisor *supervisor)
{
    close_mounts(supervisor);
    if (supervisor->binder.holder.pid)
        berth_holder_kill(supervisor->binder.holder);
    else if (!supervisor->is_separate && supervisor->start.runtime > 0)
        kill(supervisor->start.runtime, SIGKILL);
}

/* The container runs: find singletons if that is of use. */
static void watch(struct supervisor *supervisor)
{
    const struct berth_launch *launch = &supervisor->launch;
    const char *no_cma = supervisor->no_cma.text;
    bool has_own_mpi =
        !berth_request_is_explained(launch->request) && !supervisor->binding.host;

    if (launch->request->mpi || !*no_cma)
        no_cma = NULL; /* nothing to tell, or told with the choice of --mpi-bind */
    if (has_own_mpi && berth_singletons_wanted(launch))
        berth_singletons_watch(&supervisor->binder, no_cma, &supervisor->watchers[1]);
    if (stat(launch->request->image, &supervisor->image) < 0)
        supervisor->image = (struct stat){0};
}

static void run(void *data)
{
    struct supervisor *supervisor = data;
    struct berth_err err;

    if (berth_detach(supervisor->fds, DESCRIPTORS, &supervisor->mask) < 0)
        return;
    berth_cloexec_from(TASKS);
    berth_hostcommand_open(&supervisor->launch, &supervisor->hostcommand);
    supervisor->hostcommand.mask = &supervisor->mask;
    supervisor->start.programs = supervisor->hostcommand.programs;
    berth_limits_raise();
    berth_limits_set_cpus(&supervisor->rendezvous->node->cpus);
    supervisor->rendezvous->memory = MEMORY;
    /* orphans of the runtime become children of the supervisor */
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);

    if (start_container(supervisor, &err) < 0) {
        berth_rendezvous_fail(supervisor->rendezvous, &err);
        end_start(supervisor);
    } else {
        watch(supervisor);
    }
    if (supervisor->written < 0)
        close(STDERR); /* else check_room() needs it */
    stay(supervisor);
}

static void set_starter(void *data, pid_t pid)
{
    const struct supervisor *supervisor = data;

    supervisor->rendezvous->page->starter = pid;
}

int berth_supervisor_start(const struct berth_launch *launch,
                           struct berth_rendezvous *rendezvous, struct berth_err *err)
{
    struct supervisor supervisor = {.rendezvous = rendezvous,
                                    .launch = *launch,
                                    .start = {.launch = &supervisor.launch,
                                              .mask = &supervisor.mask,
                                              .inner = -1,
                                              .programs = -1,
                                              .overlay = -1,
                                              .log = -1,
                                              .answer = -1,
                                              .tasks = TASKS,
                                              .seconds = rendezvous->node->limit,
                                              .deadline = &rendezvous->page->deadline},
                                    .mounts = -1,
                                    .written = -1,
                                    .users = -1,
                                    .hold = {-1, -1},
                                    .save_stderr = -1,
                                    .overlay = BERTH_OVERLAY_NONE,
                                    .job = {.end = -1, .user = -1},
                                    .binder = {.launch = &supervisor.launch,
                                               .deadline = &rendezvous->page->deadline,
                                               .task_stderr = STDERR,
                                               .parent = getppid()},
                                    .fds = {rendezvous->tasks, rendezvous->memory,
                                            rendezvous->ended, STDERR_FILENO}};

    /* what has started a task may be a shell in a step, or an mpirun elsewhere */
    if (launch->order->step.nodes)
        supervisor.binder.parent = berth_process_stepd();
    return berth_detach_run(run, set_starter, &supervisor, err);
}

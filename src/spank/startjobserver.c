/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the server that keeps the containers of a job, and moves it from slurmstepd,
 * as root, into the job's extern step, as the user. Reads nothing that a user controls.
 *
 * Three processes take part. slurmstepd waits for its child, which ends after PATIENCE
 * at the latest. The child asks the slurmstepd of the extern step to adopt the
 * grandchild; Slurm's functions for that have no time limit. The grandchild waits until
 * it is adopted, and becomes the server. */

#include "spank/startjobserver.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <slurm/slurm.h>

#include "base/detach.h"
#include "base/fd.h"
#include "base/run.h"
#include "job/protocol.h"
#include "plan/order.h"
#include "container/namespaces.h"
#include "spank/stepd.h"

/* libslurm and libslurmfull have these since 20.11, for pam_slurm_adopt; the header
 * (src/common/stepd_api.h) is not installed. Weak, so that berth.so loads without. */
__attribute__((weak)) int slurm_stepd_connect(const char *directory, const char *node,
                                              slurm_step_id_t *step,
                                              uint16_t *ret_protocol);
__attribute__((weak)) int slurm_stepd_add_extern_pid(int fd, uint16_t protocol,
                                                     pid_t pid);

/* Seconds that a step waits for an extern step that does not answer. */
enum { PATIENCE = 1 };

/* In the grandchild, descriptor 3 is the socket, and this one is `go` below. The server
 * has no descriptor from this one on. */
enum { GO = 4 };

struct server {
    uint32_t job;
    uid_t uid;
    gid_t gid;
    const gid_t *gids;
    int gid_count;
    struct berth_stepd_place place;
    int listen;
    int go[2]; /* a pipe: the process id of the extern step's slurmstepd */
};

/* Read who the user of the job is, as slurmctld has it. */
static int read_user(spank_t sp, struct server *server)
{
    if (spank_get_item(sp, S_JOB_UID, &server->uid) != ESPANK_SUCCESS ||
        spank_get_item(sp, S_JOB_GID, &server->gid) != ESPANK_SUCCESS)
        return -1;
    if (spank_get_item(sp, S_JOB_SUPPLEMENTARY_GIDS, &server->gids,
                       &server->gid_count) != ESPANK_SUCCESS)
        return -1;
    return 0;
}

static int read_facts(spank_t sp, struct server *server)
{
    uint32_t step = 0;

    if (spank_get_item(sp, S_JOB_ID, &server->job) != ESPANK_SUCCESS ||
        spank_get_item(sp, S_JOB_STEPID, &step) != ESPANK_SUCCESS)
        return -1;
    if (!berth_stepd_place(server->job, step, &server->place))
        return -1;
    return read_user(sp, server);
}

/* Returns a socket that listens at the job's address; -1 if another process has the
 * address. A client sees which user called listen() (SO_PEERCRED): root, so that the
 * client knows that no user's process has the address. The step that starts the server
 * may connect at once. */
static int listen_at_address(const struct server *server)
{
    struct berth_address address;
    int fd;

    if (berth_job_address(server->uid, server->job, server->place.node, &address) < 0)
        return -1;
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (berth_address_bind(fd, &address) < 0 || listen(fd, SOMAXCONN) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Give up slurmstepd's protection from being killed when memory is short. */
static int drop_protection(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    int result;

    if (fd < 0)
        return -1;
    result = berth_fd_write(fd, "0", 1);
    close(fd);
    return result;
}

/* Give up root's ids and capabilities, and slurmstepd's protection. */
static int become_user(const struct server *server)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};

    if (drop_protection() < 0)
        return -1;
    if (setgroups((size_t)server->gid_count, server->gids) < 0 ||
        setresgid(server->gid, server->gid, server->gid) < 0 ||
        setresuid(server->uid, server->uid, server->uid) < 0)
        return -1;
    /* Also those that securebits would keep. */
    return (int)syscall(SYS_capset, &header, none);
}

static void reset_signals(void)
{
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    sigset_t none;

    for (int number = 1; number < NSIG; number++)
        sigaction(number, &usual, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* In the grandchild: wait for adoption, and execute the server. Returns only on
 * failure.
 */
static void become_server(void *data)
{
    const struct server *server = data;
    const int keep[] = {server->listen, server->go[0]};
    char number[16], job[32],
        node[sizeof(BERTH_TASK_NODE "=") + sizeof(server->place.node)];
    const char *const environment[] = {
        "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", job,
        "SLURM_STEP_ID=" BERTH_JOB_STEP, node, NULL};
    const char *const argv[] = {BERTH_LIBEXECDIR "/berth-start", "--job", number, NULL};
    pid_t stepd;

    if (berth_detach(keep, 2, NULL) < 0)
        return;
    berth_cloexec_from(GO);
    if (read(GO, &stepd, sizeof(stepd)) != sizeof(stepd)) /* it was not adopted */
        return;
    if (become_user(server) < 0)
        return;
    snprintf(number, sizeof(number), "%d", stepd);
    snprintf(job, sizeof(job), "SLURM_JOB_ID=%u", server->job);
    snprintf(node, sizeof(node), BERTH_TASK_NODE "=%s", server->place.node);
    reset_signals();
    execve(argv[0], (char **)argv, (char **)environment);
}

/* Does STEPD, 0 where this process cannot see it, give processes the same numbers as
 * this process? With CLONE_NEWPID in namespace.yaml (namespace/linux) Slurm starts a
 * step in the job's process namespace, and the extern step outside of it: that one
 * would adopt another process of the node, which has the number by chance, and kill it
 * at the end of the job. */
static bool has_same_numbers(pid_t stepd)
{
    return stepd > 0 && berth_namespaces_shared(stepd, getpid(), "pid");
}

/* Have the extern step adopt the process PID. Returns the process id of the extern
 * step's slurmstepd; -1 if the job has no extern step that can do it, or slurmstepd
 * refuses. */
static pid_t add_to_extern(const struct server *server, pid_t pid)
{
    slurm_step_id_t step = {0};
    struct ucred stepd = {0};
    socklen_t length = sizeof(stepd);
    uint16_t protocol;
    int fd;

    step.job_id = server->job;
    step.step_id = SLURM_EXTERN_CONT;
    step.step_het_comp = NO_VAL;
    fd = slurm_stepd_connect(server->place.directory, server->place.node, &step,
                             &protocol);
    if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &stepd, &length) < 0)
        return -1;
    if (!has_same_numbers(stepd.pid))
        return -1;
    if (slurm_stepd_add_extern_pid(fd, protocol, pid) != SLURM_SUCCESS)
        return -1;
    return stepd.pid;
}

/* In slurmstepd's child, which SIGALRM ends in time: have the grandchild PID adopted.
 * If this fails, the step must not find a server that will not run. */
static void adopt(void *data, pid_t pid)
{
    const struct server *server = data;
    pid_t stepd;

    reset_signals();
    alarm(PATIENCE);
    stepd = add_to_extern(server, pid);
    if (stepd > 0) {
        berth_fd_write(server->go[1], &stepd, sizeof(stepd));
        return;
    }
    kill(pid, SIGKILL);
    berth_run_wait(pid);
}

void berth_startjobserver(spank_t sp)
{
    struct server server = {.listen = -1, .go = {-1, -1}};
    const int *fds[] = {&server.listen, &server.go[0], &server.go[1]};

    if (!slurm_stepd_connect || !slurm_stepd_add_extern_pid ||
        read_facts(sp, &server) < 0)
        return;
    server.listen = listen_at_address(&server);
    if (server.listen >= 0 && pipe2(server.go, O_CLOEXEC) == 0)
        berth_detach_run(become_server, adopt, &server, NULL);
    for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
        if (*fds[i] >= 0)
            close(*fds[i]);
}

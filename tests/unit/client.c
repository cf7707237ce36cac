/* SPDX-License-Identifier: Apache-2.0 */
/* A step whose job has no server, and what makes a container another one. */

#include "job/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "job/key.h"
#include "ipc/message.h"
#include "job/protocol.h"
#include "unit.h"

static struct berth_order order = BERTH_ORDER_EMPTY;
static char image[] = "/bin/sh", mpi[] = "host";
static struct berth_request request;
static struct berth_launch launch = {.order = &order,
                                     .runtime = "/bin/true",
                                     .node = "n1",
                                     .request = &request,
                                     .directory = "/"};

static void begin(void)
{
    request = (struct berth_request){.image = image};
    order.request = request;
    order.job = 1u << 30;
}

TEST(a_job_without_a_server_is_told)
{
    struct berth_deadline deadline;
    struct berth_job_question question = {
        .launch = &launch, .tasks = -1, .deadline = &deadline};
    struct berth_job_answer answer;
    struct berth_err err;

    begin();
    berth_deadline_begin(&deadline, 10);
    ck_assert_int_eq(berth_job_ask(&question, &answer, &err), -1);
    ck_assert_str_eq(err.text,
                     "the job has no extern step on this node that can keep the "
                     "container; set PrologFlags=Contain in slurm.conf, and not "
                     "CLONE_NEWPID in namespace.yaml");
    ck_assert_int_eq(answer.end, -1);
}

/* A process of a user, who is not root, listens at the address of the job. */
static void take_address(const char *node)
{
    struct berth_address address;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

    if (berth_job_address(getuid(), order.job, node, &address) < 0 ||
        (getuid() == 0 && setuid(54321) < 0) || berth_address_bind(fd, &address) < 0 ||
        listen(fd, 1) < 0)
        abort();
}

TEST(who_has_taken_the_address_of_a_job_is_named)
{
    struct berth_deadline deadline;
    struct berth_job_question question = {
        .launch = &launch, .tasks = -1, .deadline = &deadline};
    struct berth_job_answer answer;
    struct berth_err err;
    char expected[160];

    begin();
    order.job = (uint32_t)getpid();
    unit_process(take_address, launch.node);
    berth_deadline_begin(&deadline, 10);
    snprintf(expected, sizeof(expected),
             "a process of user %u has taken the address of the job's server on this "
             "node; ask the administrators",
             getuid() ? getuid() : 54321);
    ck_assert_int_eq(berth_job_ask(&question, &answer, &err), -1);
    ck_assert_str_eq(err.text, expected);
}

/* The key of the launch as it is; the caller frees it. */
static char *key(void)
{
    struct berth_job_launch job;
    struct berth_buf text = {0};
    struct berth_err err;

    berth_job_launch_from(&launch, &job);
    ck_assert_int_eq(berth_job_key(&job, &text, &err), 0);
    return text.text;
}

/* Whether the key is FIRST, which stays the caller's. */
static bool is_key(const char *first)
{
    char *now = key();
    bool same = strcmp(first, now) == 0;

    free(now);
    return same;
}

TEST(what_the_runtime_is_told_makes_another_container)
{
    char *first;

    begin();
    first = key();
    ck_assert(is_key(first));
    request.mpi = mpi; /* only its mounts do */
    ck_assert(is_key(first));
    request.writable = BERTH_YES;
    ck_assert(!is_key(first));
    begin();
    launch.home = "/root";
    ck_assert(!is_key(first));
    launch.home = NULL;
    ck_assert(is_key(first));
    free(first);
}

TEST(a_file_that_has_changed_makes_another_container)
{
    char path[] = "/tmp/berth-key-XXXXXX";
    int fd = mkstemp(path);
    char *first;

    begin();
    request.image = path;
    first = key();
    ck_assert_int_eq(write(fd, "x", 1), 1);
    ck_assert(!is_key(first));
    close(fd);
    unlink(path);
    free(first);
}

/* A file DIRECTORY/NAME with that text. */
static void put(const char *directory, const char *name, const char *text)
{
    char path[64];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", directory, name);
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

TEST(what_a_flag_names_is_seen_from_the_working_directory)
{
    static char bind[] = "--bind=data:/mnt", file[] = "--env-file", name[] = "data";
    static char variable[] = "APPTAINER_BIND=data:/mnt", other[] = "DATA=data";
    char one[] = "/tmp/berth-key-XXXXXX", two[] = "/tmp/berth-key-XXXXXX";
    char *flags[][2] = {{bind, NULL}, {file, name}, {NULL, NULL}, {NULL, NULL}};
    char *variables[] = {NULL, NULL, variable, other};
    const bool same[] = {false, false, false, true}; /* from another directory */
    const bool still[] = {true, false, true, true};  /* when it was written */
    char *first, path[64];

    ck_assert(mkdtemp(one) && mkdtemp(two));
    for (int i = 0; i < 4; i++) {
        char *environment[] = {variables[i], NULL};

        begin();
        put(one, name, "1");
        put(two, name, "2");
        request.args.items = flags[i];
        request.args.count = (size_t) !!flags[i][0] + !!flags[i][1];
        launch.environment = environment;
        launch.directory = one;
        first = key();
        ck_assert(is_key(first));
        put(one, name, "longer");
        ck_assert_int_eq(is_key(first), still[i]);
        put(one, name, "1");
        launch.directory = two;
        ck_assert_int_eq(is_key(first), same[i]);
        launch.directory = "/";
        launch.environment = NULL;
        free(first);
    }
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "%s/%s", i ? one : two, name);
        unlink(path);
        rmdir(i ? one : two);
    }
}

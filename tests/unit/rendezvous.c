/* SPDX-License-Identifier: Apache-2.0 */
/* Where the tasks of a step on a node meet. A process of each test is slurmstepd, its
 * children are the tasks. */

#include "ipc/rendezvous.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "plan/binding.h"
#include "unit.h"

static struct berth_rendezvous rendezvous;

static void setup(void)
{
    struct berth_err err = {0};

    ck_assert_msg(berth_rendezvous_make(&rendezvous, 1, &err) == 0, "%s", err.text);
    berth_rendezvous_configure(&rendezvous, 30, NULL);
}

static void teardown(void)
{
    berth_rendezvous_close(&rendezvous);
}

/* Run TASK in a child, in the rendezvous. Returns its exit status; the child must not
 * use the library of the tests. */
static int in_task(int (*task)(struct berth_rendezvous *))
{
    pid_t child = fork();

    if (child == 0) {
        struct berth_rendezvous entered = rendezvous;

        _exit(berth_rendezvous_enter(&entered, NULL) < 0 ? 99 : task(&entered));
    }
    return unit_ended(child);
}

static int claim(struct berth_rendezvous *entered)
{
    return berth_rendezvous_claim(entered);
}

TEST(one_task_starts_the_container)
{
    ck_assert_int_eq(rendezvous.page->state, BERTH_RENDEZVOUS_NEW);
    ck_assert_int_eq(in_task(claim), 1);
    ck_assert_int_eq(in_task(claim), 0);
    ck_assert_int_eq(rendezvous.page->state, BERTH_RENDEZVOUS_STARTING);
}

static int wait_for_it(struct berth_rendezvous *entered)
{
    struct berth_err err;

    return (int)berth_rendezvous_wait(entered, &err);
}

static void make_ready(void)
{
    const struct berth_buf nothing = {(char *)"", 0, 0, false};
    struct berth_err err;

    ck_assert_int_eq(berth_rendezvous_ready(&rendezvous, (struct berth_holder){1, 99},
                                            &nothing, &err),
                     0);
}

TEST(a_waiter_learns_that_the_container_was_lost)
{
    berth_rendezvous_lose(&rendezvous);
    ck_assert_int_eq(rendezvous.page->state, BERTH_RENDEZVOUS_NEW);
    make_ready();
    ck_assert_int_eq(in_task(wait_for_it), BERTH_RENDEZVOUS_READY);
    berth_rendezvous_lose(&rendezvous);
    ck_assert_int_eq(in_task(wait_for_it), BERTH_RENDEZVOUS_LOST);
}

static int wait_and_compare(struct berth_rendezvous *entered)
{
    struct berth_err err;

    if (berth_rendezvous_wait(entered, &err) != BERTH_RENDEZVOUS_FAILED)
        return 1;
    return strcmp(err.text, "image '/a': it is broken; mend it") != 0;
}

TEST(a_failure_is_told_to_all)
{
    struct berth_err why;

    berth_err_set(&why, "image '/a': it is broken; mend it");
    ck_assert_int_eq(berth_rendezvous_fail(&rendezvous, &why), 0);
    ck_assert_int_eq(in_task(wait_and_compare), 0);
    ck_assert_int_eq(in_task(wait_and_compare), 0);
}

static const char changes[] = "A=1\0PATH=/bin\0C";
static const struct berth_buf changes_buf = {(char *)changes, sizeof(changes), 0,
                                             false};
static const char answer[] = "note=the image's own MPI runs&";
static const struct berth_buf answer_buf = {(char *)answer, sizeof(answer) - 1, 0,
                                            false};

static int read_what_is_ready(struct berth_rendezvous *entered)
{
    const struct berth_rendezvous_page *page = entered->page;
    struct berth_err err;

    if (berth_rendezvous_wait(entered, &err) != BERTH_RENDEZVOUS_READY ||
        page->holder.pid != 4711 || page->holder.mounts != 99 ||
        entered->node->limit != 30 || page->changes.count != sizeof(changes))
        return 1;
    return memcmp(page->text + page->changes.at, changes, sizeof(changes)) != 0;
}

static int read_what_is_separate(struct berth_rendezvous *entered)
{
    BERTH_BINDING struct berth_binding binding = {0};
    struct berth_err err;

    if (berth_rendezvous_wait(entered, &err) != BERTH_RENDEZVOUS_SEPARATE)
        return 1;
    if (berth_binding_get(entered->page->text, entered->page->binding.count, &binding,
                          &err) < 0)
        return 2;
    return strcmp(binding.note, "the image's own MPI runs") != 0;
}

TEST(what_is_ready_is_seen_by_all)
{
    struct berth_err err;

    ck_assert_int_eq(
        berth_rendezvous_put(&rendezvous, &answer_buf, &rendezvous.page->binding, &err),
        0);
    ck_assert_int_eq(berth_rendezvous_ready(&rendezvous,
                                            (struct berth_holder){4711, 99},
                                            &changes_buf, &err),
                     0);
    ck_assert_int_eq(in_task(read_what_is_ready), 0);
    ck_assert_int_eq(in_task(read_what_is_ready), 0);
}

TEST(who_starts_a_container_of_its_own_learns_what_was_found)
{
    struct berth_err err;

    ck_assert_str_eq(rendezvous.node->forbidden.text, "");
    berth_rendezvous_configure(&rendezvous, 30, "the site says so");
    ck_assert_str_eq(rendezvous.node->forbidden.text, "the site says so");
    ck_assert_int_eq(rendezvous.page->state, BERTH_RENDEZVOUS_NEW);
    ck_assert_int_eq(
        berth_rendezvous_put(&rendezvous, &answer_buf, &rendezvous.page->binding, &err),
        0);
    ck_assert_int_eq(berth_rendezvous_separate(&rendezvous, "the site says so", &err),
                     0);
    ck_assert_int_eq(in_task(read_what_is_separate), 0);
}

enum { LARGE = 4 << 20 };

static int read_large(struct berth_rendezvous *entered)
{
    const struct berth_rendezvous_page *page = entered->page;

    return page->changes.count == LARGE &&
           page->text[page->changes.at + LARGE - 1] == 'x';
}

TEST(an_environment_may_be_large)
{
    static char large[LARGE];
    const struct berth_buf buf = {large, LARGE, 0, false};
    struct berth_err err;

    memset(large, 'x', LARGE);
    ck_assert_int_eq(
        berth_rendezvous_ready(&rendezvous, (struct berth_holder){1, 99}, &buf, &err),
        0);
    ck_assert_int_eq(in_task(read_large), 1);
}

TEST(an_environment_may_not_be_larger_than_linux_allows)
{
    static char large[LARGE];
    const struct berth_buf more = {large, 4 * LARGE, 0, false};
    struct berth_err err;

    ck_assert_int_eq(
        berth_rendezvous_ready(&rendezvous, (struct berth_holder){1, 99}, &more, &err),
        -1);
    ck_assert_str_eq(err.text, SPENT("Argument list too long"));
    ck_assert_int_eq(rendezvous.page->state, BERTH_RENDEZVOUS_NEW);
}

TEST(a_waiter_is_woken)
{
    struct berth_err err;
    pid_t child = fork();

    if (child == 0) {
        usleep(20000);
        _exit(berth_rendezvous_separate(&rendezvous, "they may not meet", &err) != 0);
    }
    rendezvous.page->starter = getpid();
    ck_assert_int_eq(berth_rendezvous_wait(&rendezvous, &err),
                     BERTH_RENDEZVOUS_SEPARATE);
    waitpid(child, NULL, 0);
}

TEST(a_start_that_goes_on_is_told_from_one_that_has_ended)
{
    rendezvous.page->starter = getpid();
    rendezvous.page->state = BERTH_RENDEZVOUS_STARTING;
    berth_deadline_begin(&rendezvous.page->deadline, 60);
    ck_assert(berth_rendezvous_goes_on(&rendezvous, 20));
    make_ready();
    ck_assert(!berth_rendezvous_goes_on(&rendezvous, 60000));
}

TEST(a_killed_starter_is_noticed)
{
    struct berth_err err;

    ck_assert_int_eq(in_task(claim), 1);
    ck_assert_int_eq(berth_rendezvous_wait(&rendezvous, &err), BERTH_RENDEZVOUS_FAILED);
    ck_assert_str_eq(err.text, "the process that started the container was killed; "
                               "submit the step again");
}

/* The clock, in place of libc's, so that nobody waits: a second passes whenever it is
 * looked at. */
static time_t passing, passed;

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = (int)syscall(SYS_clock_gettime, clock, now);

    passed += passing;
    now->tv_sec += passed;
    return result;
}

/* A rendezvous of which somebody has claimed the start, which may take SECONDS. */
static struct berth_rendezvous begin_start(unsigned int seconds)
{
    struct berth_rendezvous made;
    struct berth_err err;

    ck_assert_int_eq(berth_rendezvous_make(&made, 1, &err), 0);
    berth_rendezvous_configure(&made, seconds, NULL);
    ck_assert(berth_rendezvous_claim(&made));
    return made;
}

TEST(a_start_may_take_its_time_and_no_more)
{
    struct berth_rendezvous hasty = begin_start(0);
    struct berth_err err;

    passing = 1;
    unit_interrupt();
    ck_assert_int_eq(berth_rendezvous_wait(&hasty, &err), BERTH_RENDEZVOUS_FAILED);
    ck_assert_str_eq(err.text, "the container did not start within 0 seconds; ask the "
                               "administrators (start_timeout in berth.yaml)");
    passing = 0;
    ck_assert_int_gt(passed, 2);
    berth_rendezvous_close(&hasty);
}

/* Either all tasks start or none: what a waiter has given up is over for the starter.
 */
TEST(who_starts_too_late_starts_nothing)
{
    struct berth_rendezvous hasty = begin_start(3);
    struct berth_err late, err;

    passing = 1;
    unit_interrupt();
    ck_assert_int_eq(berth_rendezvous_wait(&hasty, &late), BERTH_RENDEZVOUS_FAILED);
    passing = 0;
    ck_assert_str_eq(late.text, "the container did not start within 3 seconds; ask the "
                                "administrators (start_timeout in berth.yaml)");
    ck_assert_int_eq(berth_rendezvous_ready(&hasty, (struct berth_holder){4711, 99},
                                            &changes_buf, &err),
                     -1);
    ck_assert_str_eq(err.text, late.text);
    ck_assert_int_eq(berth_rendezvous_separate(&hasty, "the site says so", &err), -1);
    ck_assert_str_eq(err.text, late.text);
    berth_err_set(&err, "it is broken");
    ck_assert_int_eq(berth_rendezvous_fail(&hasty, &err), -1);
    ck_assert_int_eq(berth_rendezvous_wait(&hasty, &err), BERTH_RENDEZVOUS_FAILED);
    ck_assert_str_eq(err.text, late.text);
    berth_rendezvous_close(&hasty);
}

/* And the other way round. */
TEST(who_has_started_is_not_late)
{
    struct berth_rendezvous hasty = begin_start(0);
    struct berth_err err;

    passing = 10;
    ck_assert_int_eq(berth_rendezvous_ready(&hasty, (struct berth_holder){4711, 99},
                                            &changes_buf, &err),
                     0);
    ck_assert_int_eq(berth_rendezvous_wait(&hasty, &err), BERTH_RENDEZVOUS_READY);
    passing = 0;
    berth_rendezvous_close(&hasty);
}

/* The lowest descriptor that is free. */
static int free_descriptor(void)
{
    int fd = dup(STDIN_FILENO);

    close(fd);
    return fd;
}

static const struct {
    int what;    /* of getrlimit(2) */
    rlim_t most; /* of descriptors: that many more than there are */
    const char *fault;
} shortages[] = {
    {RLIMIT_NOFILE, 0, LIMITED("Too many open files", "-n")},
    {RLIMIT_NOFILE, 2, LIMITED("Too many open files", "-n")},
    {RLIMIT_NOFILE, 4, LIMITED("Too many open files", "-n")},
    {RLIMIT_AS, 1, SPENT("Cannot allocate memory")},
};

TEST_ROWS(a_rendezvous_that_cannot_be_made_leaves_nothing, shortages)
{
    int first = free_descriptor();
    struct berth_rendezvous none;
    struct berth_err err = {0};
    struct rlimit usual, low;
    int result;

    ck_assert_int_eq(getrlimit(shortages[_i].what, &usual), 0);
    low = usual;
    low.rlim_cur = shortages[_i].most;
    if (shortages[_i].what == RLIMIT_NOFILE)
        low.rlim_cur += (rlim_t)first;
    ck_assert_int_eq(setrlimit(shortages[_i].what, &low), 0);
    result = berth_rendezvous_make(&none, 1, &err);
    ck_assert_int_eq(setrlimit(shortages[_i].what, &usual), 0);
    ck_assert_int_eq(result, -1);
    ck_assert_str_eq(err.text, shortages[_i].fault);
    ck_assert_ptr_null(none.page);
    ck_assert_int_eq(free_descriptor(), first);
}

TEST(closed_descriptors_are_refused)
{
    struct berth_rendezvous entered = {.memory = 997, .tasks = 998, .ended = 999};
    struct berth_err err;

    ck_assert_int_eq(berth_rendezvous_enter(&entered, &err), -1);
    ck_assert_str_eq(err.text, SPENT("Bad file descriptor"));
}

/* A container, which is there for a while when its last task has gone. */
static void be_container(void)
{
    const struct berth_buf nothing = {(char *)"", 0, 0, false};
    struct berth_err err;
    const struct timespec pause = {.tv_nsec = 100000000};
    struct berth_rendezvous entered = rendezvous;
    char byte;

    close(rendezvous.alive);
    if (berth_rendezvous_enter(&entered, NULL) < 0 ||
        berth_rendezvous_ready(&entered, (struct berth_holder){getpid(), 99}, &nothing,
                               &err) < 0 ||
        read(entered.tasks, &byte, 1) != 0)
        _exit(EXIT_FAILURE);
    nanosleep(&pause, NULL);
    berth_rendezvous_lose(&entered);
    _exit(EXIT_SUCCESS);
}

/* Returns its process, when tasks can join it. */
static pid_t start_container(void)
{
    struct berth_err err;
    pid_t container = fork();

    if (container == 0)
        be_container();
    rendezvous.page->starter = getpid();
    ck_assert_int_eq(berth_rendezvous_wait(&rendezvous, &err), BERTH_RENDEZVOUS_READY);
    return container;
}

/* In place of libc's: it takes as long as it takes. */
int poll(struct pollfd *fds, nfds_t count, int timeout)
{
    return ppoll(fds, count, timeout ? NULL : &(struct timespec){0}, NULL);
}

TEST(the_rendezvous_closes_when_the_container_has_ended)
{
    pid_t container = start_container();

    berth_rendezvous_close(&rendezvous);
    ck_assert_int_eq(rendezvous.page->state, BERTH_RENDEZVOUS_LOST);
    ck_assert_int_eq(unit_ended(container), 0);
}

/* With SlurmdParameters=contain_spank: its descriptors are copies of slurmstepd's. */
TEST(the_rendezvous_closes_from_a_child_of_slurmstepd)
{
    pid_t container = start_container();
    pid_t child = fork();

    if (child == 0) {
        berth_rendezvous_close(&rendezvous);
        _exit(rendezvous.page->state != BERTH_RENDEZVOUS_LOST);
    }
    ck_assert_int_eq(unit_ended(child), 0);
    ck_assert_int_eq(unit_ended(container), 0);
}

TEST(the_container_hears_that_slurmstepd_was_killed)
{
    pid_t container = start_container();

    close(rendezvous.alive);
    ck_assert_int_eq(unit_ended(container), 0);
    rendezvous.alive = -1;
}

/* The memory is the user's, slurmstepd is root and looks at it: nobody may take it away
 * under it. */
TEST(a_task_cannot_shrink_the_memory)
{
    ck_assert_int_eq(ftruncate(rendezvous.memory, 0), -1);
    ck_assert_int_eq(rendezvous.page->state, BERTH_RENDEZVOUS_NEW);
}

/* A system may refuse any other memory (vm.memfd_noexec). */
TEST(nobody_can_execute_the_memory)
{
    enum { NOEXEC_SEAL = 8, SEAL_EXEC = 32 }; /* Linux 6.3 */
    int known = memfd_create("unit", NOEXEC_SEAL);

    if (known >= 0)
        ck_assert_int_ne(fcntl(rendezvous.memory, F_GET_SEALS) & SEAL_EXEC, 0);
}

TEST(descriptors_close_when_the_application_starts)
{
    struct berth_rendezvous entered = rendezvous;

    ck_assert_int_eq(fcntl(rendezvous.memory, F_GETFD), 0);
    ck_assert_int_eq(fcntl(rendezvous.tasks, F_GETFD), 0);
    ck_assert_int_eq(fcntl(rendezvous.alive, F_GETFD), FD_CLOEXEC);
    ck_assert_int_eq(berth_rendezvous_enter(&entered, NULL), 0);
    ck_assert_int_eq(fcntl(rendezvous.memory, F_GETFD), FD_CLOEXEC);
    ck_assert_int_eq(fcntl(rendezvous.tasks, F_GETFD), FD_CLOEXEC);
}

static int note_failure(struct berth_rendezvous *entered)
{
    entered->node->has_failed = true;
    return 0;
}

TEST(slurmstepd_sees_what_a_task_notes)
{
    ck_assert(!rendezvous.node->has_failed);
    ck_assert_int_eq(in_task(note_failure), 0);
    ck_assert(rendezvous.node->has_failed);
}

static int is_ready_in_slot(struct berth_rendezvous *entered)
{
    return entered->page->state == BERTH_RENDEZVOUS_READY &&
                   entered->page->holder.pid == (pid_t)(100 + entered->slot)
               ? 0
               : 1;
}

/* In a child, which owns what the tasks of SLOT do. */
static int in_slot(const struct berth_rendezvous *several, unsigned int slot)
{
    struct berth_rendezvous entered = *several;
    pid_t child;

    fflush(NULL);
    child = fork();
    if (child == 0) {
        struct berth_err err;

        entered.slot = slot;
        if (berth_rendezvous_enter(&entered, &err) < 0)
            _exit(99);
        if (!berth_rendezvous_claim(&entered))
            _exit(is_ready_in_slot(&entered));
        _exit(berth_rendezvous_put(&entered, &answer_buf, &entered.page->binding,
                                   &err) < 0 ||
              berth_rendezvous_ready(&entered,
                                     (struct berth_holder){(pid_t)(100 + slot), 99},
                                     &changes_buf, &err) < 0);
    }
    return unit_ended(child);
}

TEST(each_container_has_a_slot)
{
    struct berth_rendezvous several, entered;
    struct berth_err err;

    ck_assert_int_eq(berth_rendezvous_make(&several, 3, &err), 0);
    berth_rendezvous_configure(&several, 30, NULL);
    for (unsigned int slot = 0; slot < 3; slot++)
        ck_assert_int_eq(in_slot(&several, slot), 0); /* claims */
    for (unsigned int slot = 0; slot < 3; slot++)
        ck_assert_int_eq(in_slot(&several, slot), 0); /* sees its own */
    entered = several;
    entered.slot = 2;
    ck_assert(berth_rendezvous_is_any_lost(&several)); /* nobody stays with one */
    entered.ended = dup(several.ended);
    ck_assert_int_eq(berth_rendezvous_enter(&entered, &err), 0);
    ck_assert(!berth_rendezvous_is_any_lost(&several));
    berth_rendezvous_lose(&entered);
    ck_assert(berth_rendezvous_is_any_lost(&several));
}

void unit_prepare(TCase *tests)
{
    tcase_add_checked_fixture(tests, setup, teardown);
}

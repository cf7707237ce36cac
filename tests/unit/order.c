/* SPDX-License-Identifier: Apache-2.0 */
/* An order as text, and parsed again. */

#include "plan/order.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "request/wire.h"
#include "unit.h"

TEST(an_order_arrives_as_it_was_given)
{
    BERTH_ORDER struct berth_order order = BERTH_ORDER_EMPTY;
    BERTH_ORDER struct berth_order got = BERTH_ORDER_EMPTY;
    BERTH_BUF struct berth_buf text = {0};
    BERTH_BUF struct berth_buf again = {0};
    struct berth_err err = {0};

    berth_wire_get_request("image=/a.sif&env=A%3D1", &order.request, &err);
    berth_wire_get_request("image=/a.sif", &order.asked, &err);
    berth_strvec_push(&order.terms.unset, "B;2");
    berth_strvec_push(&order.restored, "MPICH_X");
    berth_strvec_push(&order.restored, "Cray MPICH");
    berth_strvec_push(&order.programs, "./a\nb");
    order.step = (struct berth_order_step){.component = 3,
                                           .is_several = true,
                                           .nodes = 4,
                                           .tasks = 99,
                                           .prints_component = true,
                                           .has_color = true};
    order.container = (struct berth_order_container){.number = 1,
                                                     .tasks = 2,
                                                     .others = 3,
                                                     .ranks = strdup("0,5"),
                                                     .locals = strdup("1"),
                                                     .all = 4};
    order.prefix = strdup("x-");
    order.runtime = strdup("/r");
    order.record = strdup("/log/%u");
    order.argv0 = strdup("");
    order.job = 42;
    order.report = 5;
    order.memory = 6;
    order.tasks = 7;
    order.ended = 8;
    order.mpi = (struct berth_order_mpi){.holder = 11,
                                         .mounts = 14,
                                         .seconds = -1,
                                         .task_stderr = 2,
                                         .directory = strdup("/my dir")};
    ck_assert_msg(berth_order_put(&order, &text, &err) == 0, "%s", err.text);
    ck_assert_str_eq(
        text.text,
        "1;request:image=/a.sif&env=A%3D1;asked:image=/a.sif;terms:unset=B%3B2;"
        "step:component=3&several=&nodes=4&tasks=99&prints-component=&color=&"
        "restored=MPICH_X&"
        "restored=Cray%20MPICH&program=./a%0Ab;"
        "task:prefix=x-&runtime=/r&record=/log/%25u&argv0=&container=1&"
        "container-tasks=2&other-containers=3&container-locals=1&container-ranks=0,5&"
        "container-all=4&job=42&"
        "report-fd=5&"
        "memory-fd=6&tasks-fd=7&ended-fd=8;"
        "mpi:holder=11&mounts=14&seconds=-1&stderr-fd=2&"
        "directory=/my%20dir;.");
    ck_assert_msg(berth_order_get(text.text, &got, &err) == 0, "%s", err.text);
    ck_assert_int_eq(berth_order_put(&got, &again, &err), 0);
    ck_assert_str_eq(again.text, text.text);
    ck_assert(berth_request_equal(&got.request, &order.request));
    ck_assert(got.step.prints_component && got.step.is_several);
    ck_assert_uint_eq(got.step.tasks, 99);
    ck_assert_str_eq(got.programs.items[0], "./a\nb");
    ck_assert_str_eq(got.argv0, "");
    ck_assert_str_eq(got.mpi.directory, "/my dir");
    ck_assert_int_eq(got.mpi.seconds, -1);
}

TEST(what_is_not_ordered_is_not_there)
{
    BERTH_ORDER struct berth_order got = {0};
    BERTH_BUF struct berth_buf text = {0};
    struct berth_err err = {0};

    ck_assert_int_eq(berth_order_get("1;request:image=/a;.", &got, &err), 0);
    ck_assert_int_eq(got.report, -1);
    ck_assert_int_eq(got.memory, -1);
    ck_assert_int_eq(got.mpi.task_stderr, -1);
    ck_assert(!got.asked.image && !got.prefix && !got.argv0 &&
              !got.step.prints_component);
    ck_assert_int_eq(berth_order_put(&got, &text, &err), 0);
    ck_assert_str_eq(text.text, "1;request:image=/a;.");
}

static const struct {
    const char *order;
    const char *separate;
    const char *why; /* NULL: it has the lifetime of its job, or need not */
} ends[] = {
    {"1;request:image=/a;task:job=1;.", "x", NULL},
    {"1;request:image=/a&lifetime=step;task:job=1;.", "x", NULL},
    {"1;request:image=/a&lifetime=job;task:job=1;.", NULL, NULL},
    {"1;request:image=/a&lifetime=job;.", NULL, "this is not a step of srun"},
    {"1;request:image=/a&lifetime=job;task:job=1;.", "x",
     "each task has a container of its own"},
    {"1;request:image=/a&lifetime=job;task:other-containers=1&job=1;.", NULL,
     "the step has several containers on this node"},
};

TEST_ROWS(a_container_may_not_outlive_its_step, ends)
{
    BERTH_ORDER struct berth_order order = BERTH_ORDER_EMPTY;
    struct berth_err err = {0};

    ck_assert_int_eq(berth_order_get(ends[_i].order, &order, &err), 0);
    ck_assert_pstr_eq(berth_order_why_step(&order, ends[_i].separate), ends[_i].why);
}

static const struct {
    const char *text;
    const char *error;
} bad[] = {
    {"", DAMAGED("")},
    {"2;request:image=/a;.", DAMAGED("2;request:image=/a;.")},
    {"1;request:image=/a", DAMAGED("1;request:image=/a")},
    {"1;request;.", DAMAGED("request")},
    {"1;;.", DAMAGED("")},
    {"1;thing:a=b;.", DAMAGED("thing")},
    {"1;task:colour=red;.", DAMAGED("colour")},
    {"1;task:prefix;.", DAMAGED("prefix")},
    {"1;task:prefix=x&;.", DAMAGED("")},
    {"1;task:prefix=%;.", DAMAGED("prefix")},
    {"1;step:nodes=;.", DAMAGED("nodes")},
    {"1;step:nodes=1x;.", DAMAGED("nodes")},
    {"1;step:nodes=99999999999;.", DAMAGED("nodes")},
    {"1;request:image=a;.", DAMAGED("container-image")},
    {"1;request:image=/a;request:colour=red;.", DAMAGED("colour")},
};

TEST_ROWS(other_text_is_refused, bad)
{
    struct berth_order got;
    struct berth_err err;

    ck_assert_int_eq(berth_order_get(bad[_i].text, &got, &err), -1);
    ck_assert_str_eq(err.text, bad[_i].error);
}

/* An order with a workdir of LENGTH bytes, put. */
static int put_of(size_t length, struct berth_buf *ret, struct berth_err *err)
{
    struct berth_order order = BERTH_ORDER_EMPTY;
    BERTH_FREE char *text = malloc(length + 1);

    memset(text, 'a', length);
    text[length] = '\0';
    order.request.workdir = text;
    return berth_order_put(&order, ret, err);
}

/* Linux executes a program with the longest order in its environment. */
TEST(an_order_that_no_variable_holds_is_refused)
{
    size_t frame = strlen("1;request:workdir=;.");
    BERTH_BUF struct berth_buf whole = {0};
    BERTH_BUF struct berth_buf longer = {0};
    struct berth_err err = {0};

    ck_assert_int_eq(put_of(BERTH_ORDER_MAX - frame, &whole, &err), 0);
    ck_assert_int_eq(put_of(BERTH_ORDER_MAX - frame + 1, &longer, &err), -1);
    ck_assert_str_eq(err.text,
                     "the container options take 131001 bytes; at most 131000 "
                     "can be sent to the nodes");
    ck_assert_int_eq(setenv(BERTH_TASK_ORDER, whole.text, 1), 0);
    ck_assert_int_eq(system(":"), 0);
}

TEST(components_in_one_allocation_are_a_het_step)
{
    struct berth_order_step several = {.is_several = true};
    struct berth_order_step alone = {.tasks = 2};
    char *in_job[] = {(char *)"SLURM_JOB_ID=1", NULL};
    char *in_het_job[] = {(char *)"SLURM_HET_SIZE=2", NULL};

    ck_assert(berth_order_het_step(&several, in_job));
    ck_assert(!berth_order_het_step(&several, in_het_job));
    ck_assert(!berth_order_het_step(&alone, in_job));
}

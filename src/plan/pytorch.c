/* SPDX-License-Identifier: Apache-2.0 */
/* Which variables PyTorch's processes get, from those of Slurm. */

#include "plan/pytorch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/environ.h"
#include "site/terms.h"

/* The ports of enroot's hook, so that a job of pyxis and one of berth have the same:
 * above those that Linux gives to clients (up to 60999), and below 65536. */
enum { FIRST_PORT = 61000, PORTS = 4536 };

/* Append VALUE of Slurm's variable in the form that PyTorch takes; nothing if there is
 * none. ENVIRONMENT is the command's. */
typedef void berth_pytorch_form(const char *value, char *const *environment,
                                struct berth_buf *ret);

static void put_same(const char *value, char *const *environment, struct berth_buf *ret)
{
    (void)environment; /* only the threads need more than VALUE */
    berth_buf_puts(ret, value);
}

/* The first host of VALUE, a list as Slurm writes it: n[01-04,7],m1 starts with n01. A
 * name may have several brackets (rack[1-2]n[1-8]). */
static void put_first_host(const char *value, char *const *environment,
                           struct berth_buf *ret)
{
    const char *at = value;

    (void)environment;
    while (*at && *at != ',') {
        size_t length;

        if (*at != '[') {
            length = strcspn(at, "[,");
            berth_buf_add(ret, at, length);
            at += length;
            continue;
        }

        /* the first number of the brackets, which ends at its range or at the next */
        at++;
        length = strcspn(at, "-,]");
        berth_buf_add(ret, at, length);
        at += strcspn(at, "]");
        if (*at == ']')
            at++;
    }
}

/* A port that the tasks of a job agree on, and that another job on the node does not
 * have as a rule. */
static void put_port(const char *value, char *const *environment, struct berth_buf *ret)
{
    char *end;
    unsigned long job;

    (void)environment;
    errno = 0;
    job = strtoul(value, &end, 10);
    if (end == value || *end || errno)
        return;
    berth_buf_addf(ret, "%lu", job % PORTS + FIRST_PORT);
}

/* The number in the variable NAME of ENVIRONMENT; 1: there is none. */
static unsigned long count_of(char *const *environment, const char *name)
{
    const char *value = berth_environ_value(environment, name);

    if (!value)
        return 1;
    return strtoul(value, NULL, 10);
}

/* One thread per task, as torchrun has it, if a node has several tasks: PyTorch would
 * start a thread per CPU in each of them. */
static void put_threads(const char *value, char *const *environment,
                        struct berth_buf *ret)
{
    const unsigned long tasks = strtoul(value, NULL, 10);

    if (tasks > count_of(environment, "SLURM_STEP_NUM_NODES"))
        berth_buf_puts(ret, "1");
}

/* A row for each of berth_terms_pytorch. */
static const struct row {
    const char *name;
    const char *from; /* Slurm's variable */
    berth_pytorch_form *put;
    const char *why;
} rows[] = {
    {"MASTER_ADDR", "SLURM_STEP_NODELIST", put_first_host,
     "the first host of SLURM_STEP_NODELIST, for PyTorch (PYTORCH_VERSION)"},
    {"MASTER_PORT", "SLURM_JOB_ID", put_port,
     "a port by SLURM_JOB_ID, for PyTorch (PYTORCH_VERSION)"},
    {"WORLD_SIZE", "SLURM_NTASKS", put_same,
     "SLURM_NTASKS, for PyTorch (PYTORCH_VERSION)"},
    {"RANK", "SLURM_PROCID", put_same, "SLURM_PROCID, for PyTorch (PYTORCH_VERSION)"},
    {"LOCAL_RANK", "SLURM_LOCALID", put_same,
     "SLURM_LOCALID, for PyTorch (PYTORCH_VERSION)"},
    {"OMP_NUM_THREADS", "SLURM_STEP_NUM_TASKS", put_threads,
     "more tasks than nodes, for PyTorch (PYTORCH_VERSION)"},
    {0},
};

static void add(const char *name, const char *value, const char *why,
                char *const *environment, struct berth_plan *ret)
{
    if (!berth_environ_value(environment, name))
        berth_plan_variable(ret, name, value, BERTH_FROM_PYTORCH, why);
}

/* Add the variable of ROW, if Slurm has set what it is made from. */
static void add_row(const struct row *row, char *const *environment,
                    struct berth_plan *ret)
{
    const char *value = berth_environ_value(environment, row->from);
    BERTH_BUF struct berth_buf text = {0};

    if (!value)
        return;
    row->put(value, environment, &text);
    ret->failed |= text.failed;
    if (text.text && *text.text)
        add(row->name, text.text, row->why, environment, ret);
}

/* Add the variable NAME; nothing if the table does not have it. */
static void add_known(const char *name, char *const *environment,
                      struct berth_plan *ret)
{
    for (const struct row *row = rows; row->name; row++)
        if (strcmp(row->name, name) == 0)
            add_row(row, environment, ret);
}

/* Add ITEM of the site's list. */
static void add_item(const char *item, char *const *environment, struct berth_plan *ret)
{
    const char *equals = strchr(item, '=');
    BERTH_FREE char *name = NULL;

    if (!equals) { /* BERTH_TERMS_NO_PYTORCH is not in the table */
        add_known(item, environment, ret);
        return;
    }
    name = strndup(item, (size_t)(equals - item));
    if (!name) {
        ret->failed = true;
        return;
    }
    add(name, equals + 1, "the site sets it for PyTorch (environment.pytorch)",
        environment, ret);
}

void berth_pytorch_variables(char *const *environment, const struct berth_strvec *list,
                             struct berth_plan *ret)
{
    if (!berth_environ_value(environment, "PYTORCH_VERSION"))
        return;
    for (size_t i = 0; i < list->count; i++)
        add_item(list->items[i], environment, ret);
    if (list->count > 0)
        return;
    for (const char *const *name = berth_terms_pytorch; *name; name++)
        add_known(*name, environment, ret);
}

void berth_pytorch_env(char *const *environment, const struct berth_strvec *list,
                       struct berth_strvec *ret)
{
    BERTH_PLAN struct berth_plan plan = {0};

    berth_pytorch_variables(environment, list, &plan);
    ret->failed |= plan.failed;
    for (size_t i = 0; i < plan.variables.count; i++)
        berth_strvec_pushf(ret, "%s=%s", plan.variables.items[i].name,
                           plan.variables.items[i].value);
}

bool berth_pytorch_is_own(char *const *environment, const struct berth_strvec *list,
                          const char *variable)
{
    BERTH_STRVEC struct berth_strvec others = {0};
    BERTH_STRVEC struct berth_strvec given = {0};

    if (!berth_environ_value(environment, "PYTORCH_VERSION"))
        return false;
    for (char *const *it = environment; *it; it++)
        if (*it != variable)
            berth_strvec_push(&others, *it);
    if (others.failed)
        return false;
    berth_pytorch_env(others.items, list, &given);
    for (size_t i = 0; i < given.count; i++)
        if (strcmp(given.items[i], variable) == 0)
            return true;
    return false;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What is decided when memory is short. Each way from options to the binding is gone
 * once for each of its allocations, and that one fails: nothing crashes, and the result
 * is the whole one or an error, never "there is none". */

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "plan/binding.h"
#include "plan/envdiff.h"
#include "plan/explain.h"
#include "plan/launch.h"
#include "plan/order.h"
#include "request/defaults.h"
#include "request/multiprog.h"
#include "request/uri.h"
#include "request/wire.h"
#include "site/plugstack.h"
#include "site/policy.h"
#include "site/profiles.h"
#include "site/siteread.h"
#include "unit.h"

/* Those of the C library (malloc(3), "Replacing malloc" in its manual). */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

static struct {
    bool counts;
    bool stays;         /* all after it fail, too */
    unsigned long at;   /* the one that fails, from 1; 0: none */
    unsigned long made; /* so far */
} allocator;

/* Sanitizers have an allocator of their own. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
enum { CAN_FAIL = 1 };

static bool fails(void)
{
    if (!allocator.counts)
        return false;
    allocator.made++;
    if (allocator.at == 0 || allocator.made < allocator.at ||
        (allocator.made > allocator.at && !allocator.stays))
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return fails() ? NULL : __libc_realloc(old, size);
}

void *reallocarray(void *old, size_t count, size_t size)
{
    return fails() ? NULL : __libc_realloc(old, count * size);
}
#else
enum { CAN_FAIL = 0 };
#endif

#define REQUEST                                                                        \
    "image=/a.sif&mounts=/d:/d:rw&mounts=/x%20y:/z:ro&workdir=/in&env=A%3D1&env=B&"    \
    "args=--nv&mpi-bind=hybrid&writable=&no-mount-home="

static char *const environment[] = {
    (char *)"A=2",     (char *)"B=of the task",
    (char *)"C=3",     (char *)"PMIX_SERVER_TMPDIR=/spool/pmix.1.0",
    (char *)"LINES=4", NULL};

/* Each writes its result into RET, and returns 0; or -1 with a sentence in ERR. */

static int whole(struct berth_buf *ret, struct berth_err *err)
{
    return ret->failed ? berth_err_oom(err) : 0;
}

static int add_list(struct berth_buf *ret, const struct berth_strvec *list,
                    struct berth_err *err)
{
    berth_strvec_join(list, "|", ret);
    return whole(ret, err);
}

static int parse_options(struct berth_buf *ret, struct berth_err *err)
{
    static const struct {
        enum berth_option_id id;
        const char *value;
    } options[] = {{BERTH_OPTION_IMAGE, "x/../a.sif"},
                   {BERTH_OPTION_MOUNTS, "d,/e:/f:ro"},
                   {BERTH_OPTION_ENV, "A=1,B"},
                   {BERTH_OPTION_ARGS, "--nv --bind /q"},
                   {BERTH_OPTION_WORKDIR, "/in"},
                   {BERTH_OPTION_MPI, "hybrid"},
                   {BERTH_OPTION_LIBS, "ucx"},
                   {BERTH_OPTION_LIFETIME, "job"},
                   {BERTH_OPTION_GPU, "nvidia.com/gpu=0"}};
    BERTH_REQUEST struct berth_request request = {0};

    for (int i = 0; i < COUNT(options); i++)
        if (berth_request_parse(&request, options[i].id, options[i].value, "/home/u",
                                err) < 0)
            return -1;
    if (berth_request_complete(&request, err) < 0 ||
        berth_request_check(&request, err) < 0)
        return -1;
    berth_wire_put_request(ret, &request);
    return whole(ret, err);
}

static int parse_uri(struct berth_buf *ret, struct berth_err *err)
{
    BERTH_REQUEST struct berth_request request = {0};
    BERTH_FREE char *name = NULL;

    if (berth_request_parse(&request, BERTH_OPTION_IMAGE, "docker://reg.example/a/b:1",
                            "/home/u", err) < 0 ||
        berth_uri_name(request.uri, &name, err) < 0)
        return -1;
    berth_buf_addf(ret, "%s %s", request.uri, name);
    return whole(ret, err);
}

static int parse_defaults(struct berth_buf *ret, struct berth_err *err)
{
    static char *const variables[] = {(char *)"BERTH_CONTAINER_IMAGE=/a.sif",
                                      (char *)"BERTH_CONTAINER_ENV=X=1,Y=2", NULL};
    const struct berth_strvec none = {0};
    BERTH_REQUEST struct berth_request request = {0};

    if (berth_defaults_parse(variables, &none, "/home/u", &request, err) < 0)
        return -1;
    berth_wire_put_request(ret, &request);
    return whole(ret, err);
}

static int merge_requests(struct berth_buf *ret, struct berth_err *err)
{
    BERTH_REQUEST struct berth_request request = {0};
    BERTH_REQUEST struct berth_request defaults = {0};

    if (berth_wire_get_request("image=/b.sif&env=B%3D1", &request, err) < 0 ||
        berth_wire_get_request(REQUEST, &defaults, err) < 0 ||
        berth_request_merge(&defaults, &request, err) < 0)
        return -1;
    berth_wire_put_request(ret, &defaults);
    return whole(ret, err);
}

static int pass_table(struct berth_buf *ret, struct berth_err *err)
{
    BERTH_TABLE struct berth_table table = {0};
    BERTH_TABLE struct berth_table again = {0};
    BERTH_REQUEST struct berth_request a = {0};
    BERTH_REQUEST struct berth_request b = {0};
    BERTH_FREE char *text = NULL;
    BERTH_FREE char *twice = NULL;

    if (berth_wire_get_request(REQUEST, &a, err) < 0 ||
        berth_wire_get_request("image=/b.sif", &b, err) < 0 ||
        berth_table_add(&table, 0, NULL, &a, err) < 0 ||
        berth_table_add(&table, 1, NULL, &b, err) < 0 ||
        berth_wire_put_table(&table, &text, err) < 0 ||
        berth_wire_get_table(text, &again, err) < 0 ||
        berth_wire_put_table(&again, &twice, err) < 0)
        return -1;
    berth_buf_puts(ret, twice);
    return whole(ret, err);
}

static int accept(struct berth_request *request, unsigned long tasks,
                  struct berth_err *err)
{
    (void)request;
    (void)tasks;
    (void)err;
    return 0;
}

static int read_lines(struct berth_buf *ret, struct berth_err *err)
{
    BERTH_MULTIPROG struct berth_multiprog file = {0};
    BERTH_TABLE struct berth_table table = {0};
    BERTH_REQUEST struct berth_request defaults = {0};
    BERTH_FREE char *text = NULL;

    if (berth_wire_get_request(REQUEST, &defaults, err) < 0 ||
        berth_multiprog_read("0-1,4 ./a 'b c'\n"
                             "2 --container-image=/b.sif --container-env=X=1 ./b \\\n"
                             " %t\n3 --container-image=none ./c\n* ./d\n",
                             &file, err) < 0)
        return -1;
    const struct berth_rows rows = {
        .name = "lines",
        .file = &file,
        .reading = {.prefix = "", .base = "/home/u", .defaults = &defaults},
        .check = accept};

    if (berth_rows_read(&rows, &table, err) < 0 ||
        berth_wire_put_table(&table, &text, err) < 0)
        return -1;
    berth_buf_puts(ret, text);
    return whole(ret, err);
}

#define ORDER                                                                          \
    "1;request:" REQUEST ";asked:image=/a.sif;terms:unset=B%3B2;step:component=3&"     \
    "restored=MPICH_X&program=./a;task:prefix=x-&runtime=/r&record=/log/%25u&"         \
    "container-locals=1&container-ranks=0,5;."

static int pass_order(struct berth_buf *ret, struct berth_err *err)
{
    BERTH_ORDER struct berth_order order = BERTH_ORDER_EMPTY;

    if (berth_order_get(ORDER, &order, err) < 0 ||
        berth_order_put(&order, ret, err) < 0)
        return -1;
    return whole(ret, err);
}

static int plan_launch(struct berth_buf *ret, struct berth_err *err)
{
    static char *const command[] = {(char *)"./app", (char *)"a b", NULL};
    BERTH_ORDER struct berth_order order = BERTH_ORDER_EMPTY;
    BERTH_STRVEC struct berth_strvec words = {0};

    if (berth_order_get(ORDER, &order, err) < 0)
        return -1;
    const struct berth_launch launch = {.runtime = "/usr/bin/apptainer",
                                        .home = "/home/u",
                                        .directory = "/home/u",
                                        .overlay = "/tmp/o",
                                        .order = &order,
                                        .request = &order.request,
                                        .environment = environment,
                                        .command = command};

    if (berth_launch_holder_argv(&launch, "init", 4, 5, 6, &words, err) < 0 ||
        berth_launch_own_argv(&launch, &words, err) < 0)
        return -1;
    berth_launch_env(&order.request, &order.terms, environment, &words);
    berth_launch_apart(environment, &words);
    berth_launch_manager_places(&order.request, environment, &words);
    berth_launch_made_by(&order.request, ret);
    return words.failed ? berth_err_oom(err) : add_list(ret, &words, err);
}

static int pass_environment(struct berth_buf *ret, struct berth_err *err)
{
    static char *const after[] = {(char *)"A=9", (char *)"C=3", (char *)"D=1", NULL};
    BERTH_STRVEC struct berth_strvec changes = {0};
    BERTH_STRVEC struct berth_strvec again = {0};
    BERTH_BUF struct berth_buf bytes = {0};

    berth_envdiff(environment, after, &changes);
    if (changes.failed)
        return berth_err_oom(err);
    berth_environ_join(changes.items, &bytes);
    if (bytes.failed)
        return berth_err_oom(err);
    berth_environ_split(bytes.text, bytes.used, &again);
    return again.failed ? berth_err_oom(err) : add_list(ret, &again, err);
}

/* As the supervisor does for its tasks. */
static int pass_binding(struct berth_buf *ret, struct berth_err *err)
{
    BERTH_BINDING struct berth_binding binding = {0};
    BERTH_BINDING struct berth_binding again = {0};
    BERTH_STRVEC struct berth_strvec changes = {0};
    BERTH_BUF struct berth_buf bytes = {0};

    berth_binding_set(&binding, &binding.note, "the image's own");
    berth_binding_set(&binding, &binding.no_cma, "setuid");
    berth_binding_set(&binding, &binding.no_job, "--pid");
    berth_binding_set(&binding, &binding.written, "'/tmp/o', by the kernel");
    berth_binding_set(&binding, &binding.overlay, "/tmp/o");
    berth_strvec_push(&changes, "A=1");
    berth_strvec_push(&binding.set, "UCX_TLS=^cma");
    berth_strvec_push_pair(&binding.facts, BERTH_FINDING_LINKED, "MPICH");
    berth_strvec_append(&binding.changes, &changes);
    berth_binding_put(&binding, &bytes);
    if (bytes.failed)
        return berth_err_oom(err);
    if (berth_binding_get(bytes.text, bytes.used, &again, err) < 0)
        return -1;
    berth_binding_put(&again, ret);
    return whole(ret, err);
}

static int explain(struct berth_buf *ret, struct berth_err *err)
{
    static char *const command[] = {(char *)"./app", NULL};
    BERTH_ORDER struct berth_order order = BERTH_ORDER_EMPTY;
    BERTH_BINDING struct berth_binding binding = {0};

    if (berth_order_get(ORDER, &order, err) < 0 ||
        berth_request_put(&order.request, BERTH_OPTION_EXPLAIN, "all", err) < 0)
        return -1;
    berth_binding_set(&binding, &binding.note, "the image's own");
    if (binding.facts.failed)
        return berth_err_oom(err);
    const struct berth_launch launch = {.order = &order,
                                        .request = &order.request,
                                        .environment = environment,
                                        .command = command,
                                        .node = "n1"};
    const struct berth_explain it = {.launch = &launch, .binding = &binding};

    return berth_explain_write(&it, ret, err) < 0 ? -1 : whole(ret, err);
}

#define SITE                                                                           \
    "runtime: {args: [--nv], raw_args: [--bind]}\n"                                    \
    "images: {roots: [/], cache: /c/$USER}\n"                                          \
    "mounts: {forced: ['/x:/x:ro'], forbidden: [/etc/slurm]}\n"                        \
    "environment: {unset: [FOO], deny: [BAR]}\n"                                       \
    "rules:\n"                                                                         \
    "  - {partition: main, force: {container-env: [SITE=1]}}\n"                        \
    "  - {forbid: [container-gpu], default: {mpi-bind: hybrid}}\n"

static int read_site(struct berth_buf *ret, struct berth_err *err)
{
    static const char text[] = SITE;
    BERTH_SITE struct berth_site site = {0};
    BERTH_STRVEC struct berth_strvec faults = {0};

    if (berth_site_parse("f", text, strlen(text), &site, &faults, err) < 0)
        return -1;
    if (faults.count)
        return berth_err_set(err, "%s", faults.items[0]);
    berth_buf_addf(ret, "%s %zu %s %s|", site.images.cache, site.rule_count,
                   site.rules[0].partition, berth_site_place(&site, "rules", ""));
    berth_strvec_join(&site.mounts.forced, "|", ret);
    berth_strvec_join(&site.environment.unset, "|", ret);
    berth_strvec_join(&site.runtime.allowed, "|", ret);
    return whole(ret, err);
}

static int apply_policy(struct berth_buf *ret, struct berth_err *err)
{
    static const char text[] = SITE;
    BERTH_SITE struct berth_site site = {0};
    BERTH_STRVEC struct berth_strvec faults = {0};
    BERTH_STRVEC struct berth_strvec present = {0};
    BERTH_REQUEST struct berth_request request = {0};
    BERTH_REQUEST struct berth_request allowed = {0};

    if (berth_site_parse("f", text, strlen(text), &site, &faults, err) < 0 ||
        berth_wire_get_request("image=/a.sif&env=A%3D1&mounts=/d:/e/../f:ro", &request,
                               err) < 0)
        return -1;
    if (faults.count)
        return berth_err_set(err, "%s", faults.items[0]);
    berth_strvec_push(&present, "/p:/p:rw");
    if (present.failed)
        return berth_err_oom(err);
    const struct berth_policy_facts facts = {.job = {.partition = "main"},
                                             .environment = environment,
                                             .mounts = &request.mounts,
                                             .present = &present};

    if (berth_policy_apply(&site, &facts, &request, &allowed, err) < 0)
        return -1;
    berth_wire_put_request(ret, &allowed);
    return whole(ret, err);
}

static int read_plugstack(struct berth_buf *ret, struct berth_err *err)
{
    char *const words[] = {(char *)"option_prefix=x-", (char *)"config=/etc/b.yaml"};
    struct berth_settings settings = {0};
    int result = berth_settings_read(COUNT(words), words, &settings, err);

    if (result == 0)
        berth_buf_addf(ret, "%s %s", settings.option_prefix, settings.config);
    berth_settings_fini(&settings);
    return result < 0 ? -1 : whole(ret, err);
}

static const struct {
    const char *name;
    int (*go)(struct berth_buf *ret, struct berth_err *err);
} ways[] = {
    {"options", parse_options},    {"a URI", parse_uri},
    {"defaults", parse_defaults},  {"merged requests", merge_requests},
    {"a table", pass_table},       {"lines of --multi-prog", read_lines},
    {"an order", pass_order},      {"a launch", plan_launch},
    {"changes", pass_environment}, {"a binding", pass_binding},
    {"an account", explain},       {"berth.yaml", read_site},
    {"a policy", apply_policy},    {"plugstack.conf", read_plugstack},
};

/* Go WAY with allocation AT failing (0: none), and all after it if STAYS. */
static int go(int way, unsigned long at, bool stays, struct berth_buf *ret,
              struct berth_err *err)
{
    int result;

    *err = (struct berth_err){0};
    allocator.at = at;
    allocator.stays = stays;
    allocator.made = 0;
    allocator.counts = true;
    result = ways[way].go(ret, err);
    allocator.counts = false;
    return result;
}

static bool is_of_memory(const char *text)
{
    return strstr(text, "has no memory, process or descriptor left") ||
           strstr(text, "Cannot allocate memory") || strstr(text, "out of memory");
}

static void try_way(int way, bool stays)
{
    BERTH_BUF struct berth_buf expected = {0};
    struct berth_err err;
    unsigned long most;

    ck_assert_msg(go(way, 0, false, &expected, &err) == 0, "%s: %s", ways[way].name,
                  err.text);
    ck_assert_uint_gt(expected.used, 0);
    most = allocator.made;
    ck_assert(!CAN_FAIL || most > 0);
    for (unsigned long at = 1; at <= most; at++) {
        BERTH_BUF struct berth_buf seen = {0};
        int result = go(way, at, stays, &seen, &err);

        if (result == 0)
            ck_assert_msg(strcmp(seen.text, expected.text) == 0,
                          "%s, allocation %lu: %s, not %s", ways[way].name, at,
                          seen.text, expected.text);
        else
            ck_assert_msg(is_of_memory(err.text), "%s, allocation %lu: %s",
                          ways[way].name, at, err.text);
    }
}

TEST_ROWS(one_allocation_fails, ways)
{
    try_way(_i, false);
}

TEST_ROWS(all_allocations_from_one_on_fail, ways)
{
    try_way(_i, true);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What is decided when memory is short. Each way from options to the binding is gone
 * once for each of its allocations, and that one fails, or that one and all after it.
 * The result is then the same as without the failure, or an error that says so: never
 * another decision ("there is none"), and never a crash. */

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/fields.h"
#include "elf/closure.h"
#include "failing.h"
#include "mpi/program.h"
#include "mpi/verdict.h"
#include "objects.h"
#include "plan/binding.h"
#include "plan/envdiff.h"
#include "plan/explain.h"
#include "plan/launch.h"
#include "plan/order.h"
#include "plan/record.h"
#include "request/components.h"
#include "request/defaults.h"
#include "request/multiprog.h"
#include "request/uri.h"
#include "request/wire.h"
#include "site/mountrules.h"
#include "site/plugstack.h"
#include "site/policy.h"
#include "site/profiles.h"
#include "site/siteread.h"
#include "site/terms.h"
#include "unit.h"

static const char site_text[] =
    "runtime:\n"
    "  path: /opt/apptainer\n"
    "  args: [--contain, --pid]\n"
    "  raw_args: ['--nv', '--bind=*:*,*:*']\n"
    "images:\n"
    "  roots: [/images]\n"
    "  uris: ['docker://registry.example/a']\n"
    "  cache: /c/$USER\n"
    "mounts:\n"
    "  forced: ['/x:/y:ro']\n"
    "  default: ['/e:/e:ro']\n"
    "  forbidden: [/secret]\n"
    "environment:\n"
    "  unset: [LD_PRELOAD]\n"
    "  deny: [BAR]\n"
    "mpi:\n"
    "  order: [mpich]\n"
    "  glibc: refuse\n"
    "rules:\n"
    "- partition: main\n"
    "  default: {container-env: 'A=1', mpi-bind: hybrid}\n"
    "  force: {container-mounts: '/s:/d', container-env: ['SITE=1']}\n"
    "  forbid: [container-writable]\n"
    "- {forbid: [container-entrypoint], default: {container-lifetime: step}}\n";

/* What the site allows. */
#define REQUEST                                                                        \
    "image=/images/a.sif&mounts=/u:/v:rw&mounts=/x%20y:/z:ro&mounts=/r:/e/../f:ro&"    \
    "workdir=/w&env=A%3D1&env=B%3D2&env=HOME&args=--nv&gpu=nvidia&lifetime=job&"       \
    "mpi-bind=hybrid&explain=all&no-mount-home="

#define ORDER                                                                          \
    "1;request:" REQUEST "&writable=;asked:image=/images/a.sif;"                       \
    "terms:unset=B%3B2;step:component=3&nodes=2&tasks=8&restored=MPICH_X&"             \
    "program=./app;task:prefix=x-&job=1&runtime=/opt/apptainer&record=/log/%25u/%25j&" \
    "container-locals=1&container-ranks=0,5;."

static char *const environment[] = {(char *)"HOME=/home/u",
                                    (char *)"A=2",
                                    (char *)"B=of the task",
                                    (char *)"C=3",
                                    (char *)"SLURM_JOB_ID=1",
                                    (char *)"SLURM_MPI_TYPE=pmi2",
                                    (char *)"PMIX_SERVER_TMPDIR=/spool/pmix.1.0",
                                    (char *)"APPTAINER_BIND=/q:/q,/u:/v",
                                    (char *)"LINES=4",
                                    NULL};

static char *const command[] = {(char *)"./app", (char *)"a b", NULL};

/* What several ways begin with, made while no allocation fails. */
static struct berth_site site;
static struct berth_request asked;
static struct berth_order order;
static struct berth_order order_start = BERTH_ORDER_EMPTY;
static struct berth_mpi_objects image_files;
static struct berth_mpi_objects host_files;

static void prepare(void)
{
    BERTH_STRVEC struct berth_strvec faults = {0};
    struct berth_err err;

    ck_assert_int_eq(berth_site_parse("berth.yaml", site_text, strlen(site_text), &site,
                                      &faults, &err),
                     0);
    ck_assert_msg(faults.count == 0, "%s", faults.count ? faults.items[0] : "");
    ck_assert_int_eq(berth_wire_get_request(REQUEST, &asked, &err), 0);
    order = order_start;
    ck_assert_msg(berth_order_get(ORDER, &order, &err) == 0, "%s", err.text);
    unit_object(&image_files, "program /app program need=libmpi.so.12 und=MPI_Init");
    unit_object(&image_files, "loaded /lib/libmpi.so.12 library so=libmpi.so.12 "
                              "def=MPI_Init def=PMPI_Init def=MPIR_x");
    unit_object(&host_files, "loaded /host/libmpi.so.12 library so=libmpi.so.12 "
                             "def=MPI_Init def=PMPI_Init def=MPIR_x");
}

static void end(void)
{
    berth_site_fini(&site);
    berth_request_fini(&asked);
    berth_order_fini(&order);
    berth_mpi_objects_fini(&image_files);
    berth_mpi_objects_fini(&host_files);
}

/* What one way decides, as text. Returns 0, or -1 with a sentence in ERR. Its caller
 * looks whether RET is whole, as callers of berth do. */
typedef int decision(struct berth_buf *ret, struct berth_err *err);

/* Appends each string of LIST on a line of its own. */
static void put_list(const struct berth_strvec *list, struct berth_buf *ret)
{
    berth_strvec_join(list, "\n", ret);
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
    return 0;
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
    return 0;
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
    return 0;
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
    return 0;
}

static int pass_table(struct berth_buf *ret, struct berth_err *err)
{
    BERTH_TABLE struct berth_table table = {0};
    BERTH_TABLE struct berth_table got = {0};
    BERTH_REQUEST struct berth_request first = {0};
    BERTH_REQUEST struct berth_request second = {0};
    BERTH_FREE char *text = NULL;
    BERTH_FREE char *again = NULL;

    if (berth_wire_get_request(REQUEST, &first, err) < 0 ||
        berth_wire_get_request("image=/b.sif", &second, err) < 0 ||
        berth_table_add(&table, 0, NULL, &first, err) < 0 ||
        berth_table_add(&table, 1, NULL, &second, err) < 0 ||
        berth_wire_put_table(&table, &text, err) < 0 ||
        berth_wire_get_table(text, &got, err) < 0 ||
        berth_wire_put_table(&got, &again, err) < 0)
        return -1;
    berth_buf_puts(ret, again);
    return 0;
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
    return 0;
}

static int read_plugstack(struct berth_buf *ret, struct berth_err *err)
{
    char *const words[] = {(char *)"option_prefix=x-", (char *)"config=/etc/b.yaml"};
    struct berth_settings settings = {0};
    int result = berth_settings_read(COUNT(words), words, &settings, err);

    if (result == 0)
        berth_buf_addf(ret, "%s %s", settings.option_prefix, settings.config);
    berth_settings_fini(&settings);
    return result;
}

static int parse_site(struct berth_buf *ret, struct berth_err *err)
{
    BERTH_SITE struct berth_site read = {0};
    BERTH_STRVEC struct berth_strvec faults = {0};
    BERTH_TERMS struct berth_terms terms = {0};

    if (berth_site_parse("berth.yaml", site_text, strlen(site_text), &read, &faults,
                         err) < 0 ||
        berth_terms_of(&read, &terms, err) < 0)
        return -1;
    put_list(&faults, ret);
    put_list(&read.places, ret);
    put_list(&read.runtime.args, ret);
    put_list(&read.runtime.allowed, ret);
    put_list(&read.mounts.forced, ret);
    put_list(&read.environment.unset, ret);
    berth_buf_addf(ret, "%s %zu %s %s", read.images.cache, read.rule_count,
                   read.rules[0].partition, berth_site_place(&read, "rules", ""));
    berth_fields_put(ret, berth_terms_fields, &terms);
    return 0;
}

static int parse_profile(struct berth_buf *ret, struct berth_err *err)
{
    static const char text[] = "name: mine\nfamily: mpich\nlibraries: [libx.so.1]\n"
                               "binds: [/run/munge]\nenvironment: [A=1]\n"
                               "plugins:\n- {from: [ucx], to: lib/ucx}\n";
    BERTH_PROFILE_SET struct berth_profile_set set = {0};
    BERTH_STRVEC struct berth_strvec faults = {0};

    if (berth_profile_read("mine.yaml", text, strlen(text), &set, &faults, err) < 0)
        return -1;
    put_list(&faults, ret);
    if (set.count == 0)
        return 0;
    berth_buf_addf(ret, "%s %s %s %s %s %s", set.items[0].label, set.items[0].stack,
                   set.items[0].names[0], set.items[0].binds[0],
                   set.items[0].environment[0], set.items[0].plugins[0].into);
    return 0;
}

static int apply_policy(struct berth_buf *ret, struct berth_err *err)
{
    BERTH_REQUEST struct berth_request whole = {0};
    BERTH_STRVEC struct berth_strvec mounts = {0};
    const struct berth_mountrules_task task = {environment, "/home/u", "/home/u"};
    struct berth_policy_facts facts = {.job = {"main", "climate", false},
                                       .environment = environment,
                                       .mounts = &mounts,
                                       .present = &site.mounts.defaults};

    if (berth_mountrules_list(&asked, &task, &mounts, &facts.named, err) < 0 ||
        berth_policy_apply(&site, &facts, &asked, &whole, err) < 0)
        return -1;
    berth_wire_put_request(ret, &whole);
    return 0;
}

static int check_policy_early(struct berth_buf *ret, struct berth_err *err)
{
    (void)ret;
    return berth_policy_check_early(&site, &asked, environment, err);
}

static int pass_order(struct berth_buf *ret, struct berth_err *err)
{
    BERTH_BUF struct berth_buf text = {0};
    BERTH_ORDER struct berth_order sent = BERTH_ORDER_EMPTY;
    BERTH_ORDER struct berth_order got = BERTH_ORDER_EMPTY;

    if (berth_order_get(ORDER, &sent, err) < 0 ||
        berth_order_put(&sent, &text, err) < 0 ||
        berth_order_get(text.text, &got, err) < 0)
        return -1;
    return berth_order_put(&got, ret, err);
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
    if (again.failed)
        return berth_err_oom(err);
    put_list(&again, ret);
    return 0;
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
    berth_binding_set(&binding, &binding.choice, "host");
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
    return 0;
}

static struct berth_launch usual_launch(void)
{
    return (struct berth_launch){.order = &order,
                                 .runtime = "/opt/apptainer",
                                 .home = "/home/u",
                                 .directory = "/home/u",
                                 .node = "n1",
                                 .overlay = "/tmp/o",
                                 .request = &order.request,
                                 .environment = environment,
                                 .command = command};
}

static int start_runtime(struct berth_buf *ret, struct berth_err *err)
{
    const struct berth_launch launch = usual_launch();
    BERTH_STRVEC struct berth_strvec argv = {0};
    BERTH_STRVEC struct berth_strvec set = {0};

    if (berth_launch_holder_argv(&launch, "/init", 5, 6, 7, &argv, err) < 0 ||
        berth_launch_own_argv(&launch, &argv, err) < 0 ||
        berth_launch_binds(&launch, environment, &set, err) < 0)
        return -1;
    berth_launch_env(launch.request, &order.terms, environment, &set);
    berth_launch_separate(environment, &set);
    if (argv.failed || set.failed)
        return berth_err_oom(err);
    put_list(&argv, ret);
    put_list(&set, ret);
    berth_launch_made_by(launch.request, ret);
    return 0;
}

static int explain(struct berth_buf *ret, struct berth_err *err)
{
    const struct berth_launch launch = usual_launch();
    BERTH_BINDING struct berth_binding binding = {0};
    struct berth_explain it = {.launch = &launch, .binding = &binding};
    int result;

    berth_binding_set(&binding, &binding.note, "the image's own");
    if (binding.facts.failed)
        return berth_err_oom(err);
    result = berth_launch_mounts(&launch, NULL, &it.plan, err);
    if (result == 0) {
        berth_launch_variables(launch.request, &order.terms, environment, &it.plan);
        result = berth_explain_write(&it, ret, err);
    }
    berth_plan_fini(&it.plan);
    return result;
}

static int record(struct berth_buf *ret, struct berth_err *err)
{
    static const struct berth_strvec image;
    const struct berth_record it = {.environment = environment,
                                    .user = "u",
                                    .node = "n1",
                                    .order = &order,
                                    .image = &image,
                                    .runtime = "/opt/apptainer",
                                    .note = "x"};
    BERTH_FREE char *path = NULL;

    if (berth_record_path(&it, &path, err) < 0)
        return -1;
    berth_buf_puts(ret, path);
    return berth_record_write(&it, ret, err);
}

static int parse_closure(struct berth_buf *ret, struct berth_err *err)
{
    static const char text[] = "\tlibmpi.so.12 => /lib/libmpi.so.12 (0x1)\n"
                               "\tlibx.so => not found\n"
                               "/app: /lib/libc.so.6: version `GLIBC_2.99' not found "
                               "(required by /app)\n"
                               "undefined symbol: x\t(/app)\n"
                               "what is this\n";
    BERTH_CLOSURE struct berth_closure closure = {0};

    if (berth_closure_parse(text, strlen(text), &closure, err) < 0)
        return -1;
    for (size_t i = 0; i < closure.count; i++)
        berth_buf_addf(ret, "%s %s\n", closure.items[i].soname,
                       closure.items[i].path ? closure.items[i].path : "-");
    put_list(&closure.lacks, ret);
    put_list(&closure.undefined, ret);
    put_list(&closure.said, ret);
    return 0;
}

static int judge(struct berth_buf *ret, struct berth_err *err)
{
    struct berth_mpi_program program;
    struct berth_mpi_verdict verdict = {0};
    int result = berth_mpi_program_read(&image_files, &program, err);

    if (result < 0)
        return -1;
    result = berth_mpi_judge(&program, &image_files, &host_files, &verdict, err);
    if (result == 0)
        berth_buf_addf(ret, "%d %s", verdict.answer, verdict.because.text);
    berth_mpi_verdict_fini(&verdict);
    berth_mpi_program_fini(&program);
    return result;
}

static const struct {
    const char *name;
    decision *go;
} ways[] = {
    {"options", parse_options},
    {"a URI", parse_uri},
    {"defaults", parse_defaults},
    {"merged requests", merge_requests},
    {"a table of components", pass_table},
    {"lines of --multi-prog", read_lines},
    {"plugstack.conf", read_plugstack},
    {"berth.yaml", parse_site},
    {"a profile", parse_profile},
    {"a policy", apply_policy},
    {"a policy before the job", check_policy_early},
    {"an order", pass_order},
    {"changes of the environment", pass_environment},
    {"a binding", pass_binding},
    {"a start of the runtime", start_runtime},
    {"the output of explain", explain},
    {"a record", record},
    {"what the loader prints", parse_closure},
    {"a verdict", judge},
};

/* Goes WAY with allocation AT failing as HOW says (0: none). Returns whether one has
 * failed. */
static bool go(int way, const struct failing *how, size_t at, int *ret_result,
               struct berth_buf *ret, struct berth_err *err)
{
    bool has_failed;

    *err = (struct berth_err){0};
    failing_begin(how, at);
    *ret_result = ways[way].go(ret, err);
    has_failed = failing_end();
    if (*ret_result == 0 && ret->failed)
        *ret_result = berth_err_oom(err);
    return has_failed;
}

/* An error that berth_err_oom() made has that code. One of a library has its sentence.
 */
static bool is_of_memory(const struct berth_err *err, enum failing_allocations which)
{
    if (err->code == BERTH_ERR_MEMORY)
        return true;
    return which == FAILING_ALL &&
           (strstr(err->text, "has no memory, process or descriptor left") ||
            strstr(err->text, "Cannot allocate memory") ||
            strstr(err->text, "out of memory"));
}

static void try_way(int way, const struct failing *how)
{
    BERTH_BUF struct berth_buf expected = {0};
    struct berth_err err;
    int result;
    size_t at = 1;

    prepare();
    go(way, how, 0, &result, &expected, &err);
    ck_assert_msg(result == 0, "%s: %s", ways[way].name, err.text);
    for (;; at++) {
        BERTH_BUF struct berth_buf seen = {0};
        bool has_failed = go(way, how, at, &result, &seen, &err);

        if (!has_failed)
            break;
        if (result < 0)
            ck_assert_msg(is_of_memory(&err, how->which), "%s, allocation %zu: '%s'",
                          ways[way].name, at, err.text);
        else
            ck_assert_msg(strcmp(seen.text ? seen.text : "",
                                 expected.text ? expected.text : "") == 0,
                          "%s, allocation %zu: '%s'", ways[way].name, at, seen.text);
    }
    ck_assert_uint_gt(at, 2); /* the allocator does fail */
    end();
}

TEST_ROWS(an_allocation_of_berth_fails, ways)
{
    try_way(_i, &(struct failing){FAILING_BERTHS, false});
}

TEST_ROWS(all_allocations_of_berth_from_one_on_fail, ways)
{
    try_way(_i, &(struct failing){FAILING_BERTHS, true});
}

#if FAILING_CAN_ALL
TEST_ROWS(any_allocation_fails, ways)
{
    try_way(_i, &(struct failing){FAILING_ALL, false});
}

TEST_ROWS(all_allocations_from_one_on_fail, ways)
{
    try_way(_i, &(struct failing){FAILING_ALL, true});
}
#endif

void unit_prepare(TCase *tests)
{
    tcase_set_timeout(tests, 60);
}

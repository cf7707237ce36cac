/* SPDX-License-Identifier: Apache-2.0 */
/* Each allocation fails once. What is done then is an error that says so, or nothing
 * else than without the failure: never another decision, and never a crash. */

#include "base/cleanup.h"
#include "base/fields.h"
#include "elf/closure.h"
#include "failing.h"
#include "mpi/program.h"
#include "mpi/verdict.h"
#include "objects.h"
#include "plan/binding.h"
#include "plan/explain.h"
#include "plan/launch.h"
#include "plan/order.h"
#include "plan/record.h"
#include "request/components.h"
#include "request/wire.h"
#include "site/mountrules.h"
#include "site/plugstack.h"
#include "site/policy.h"
#include "site/profiles.h"
#include "site/siteread.h"
#include "site/terms.h"
#include "unit.h"

static const char site_text[] = "runtime:\n"
                                "  path: /opt/apptainer\n"
                                "  args: [--contain, --pid]\n"
                                "  raw_args: ['--nv', '--bind=*:*,*:*']\n"
                                "images:\n"
                                "  roots: [/images]\n"
                                "  uris: ['docker://registry.example/a']\n"
                                "mounts:\n"
                                "  forced: ['/x:/y:ro']\n"
                                "  default: ['/e:/e:ro']\n"
                                "  forbidden: [/secret]\n"
                                "environment:\n"
                                "  unset: [LD_PRELOAD]\n"
                                "mpi:\n"
                                "  order: [mpich]\n"
                                "  glibc: refuse\n"
                                "rules:\n"
                                "- partition: main\n"
                                "  default: {container-env: 'A=1', mpi-bind: hybrid}\n"
                                "  force: {container-mounts: '/s:/d'}\n"
                                "  forbid: [container-writable]\n";

static const char request_text[] =
    "image=/images/a.sif&mounts=/u:/v:rw&mounts=/r:/d:rw&workdir=/w&env=B%3D2&"
    "env=HOME&args=--nv&gpu=nvidia&lifetime=job&mpi-bind=host&explain=all";

static char *const environment[] = {(char *)"HOME=/home/u",
                                    (char *)"SLURM_JOB_ID=1",
                                    (char *)"SLURM_MPI_TYPE=pmi2",
                                    (char *)"PMIX_SERVER_TMPDIR=/spool/x",
                                    (char *)"APPTAINER_BIND=/q:/q,/u:/v",
                                    NULL};

static char *const command[] = {(char *)"./app", (char *)"a b", NULL};

/* What one operation of berth decides, as text, from what was made before. Returns 0,
 * or -1 with a sentence. */
typedef int operation(struct berth_buf *ret, struct berth_err *err);

static struct berth_site site;
static struct berth_request request;
static struct berth_order order;
static struct berth_order order_start = BERTH_ORDER_EMPTY;

static void prepare_site(void)
{
    BERTH_STRVEC struct berth_strvec faults = {0};
    struct berth_err err;

    ck_assert_int_eq(berth_site_parse("berth.yaml", site_text, strlen(site_text), &site,
                                      &faults, &err),
                     0);
    ck_assert_msg(faults.count == 0, "%s", faults.count ? faults.items[0] : "");
    ck_assert_int_eq(berth_wire_get_request(request_text, &request, &err), 0);
    order = order_start;
    ck_assert_int_eq(berth_wire_get_request(request_text, &order.request, &err), 0);
    order.step = (struct berth_order_step){.nodes = 2, .tasks = 8};
    order.job = 1;
    order.runtime = strdup("/opt/apptainer");
    order.record = strdup("/log/%u/%j");
    berth_strvec_push(&order.programs, "./app");
    ck_assert_int_eq(berth_terms_of(&site, &order.terms, &err), 0);
}

static void free_site(void)
{
    berth_site_fini(&site);
    berth_request_fini(&request);
    berth_order_fini(&order);
}

/* Appends each string of LIST on a line of its own. */
static void put_list(const struct berth_strvec *list, struct berth_buf *ret)
{
    berth_strvec_join(list, "\n", ret);
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

    if (berth_mountrules_list(&request, &task, &mounts, &facts.named, err) < 0 ||
        berth_policy_apply(&site, &facts, &request, &whole, err) < 0)
        return -1;
    berth_wire_put_request(ret, &whole);
    return 0;
}

static int check_policy_early(struct berth_buf *ret, struct berth_err *err)
{
    (void)ret;
    return berth_policy_check_early(&site, &request, environment, err);
}

static int pass_order(struct berth_buf *ret, struct berth_err *err)
{
    BERTH_BUF struct berth_buf text = {0};
    BERTH_ORDER struct berth_order got = {0};

    if (berth_order_put(&order, &text, err) < 0 ||
        berth_order_get(text.text, &got, err) < 0)
        return -1;
    return berth_order_put(&got, ret, err);
}

static int pass_table(struct berth_buf *ret, struct berth_err *err)
{
    BERTH_TABLE struct berth_table table = {0};
    BERTH_TABLE struct berth_table got = {0};
    BERTH_REQUEST struct berth_request first = {0};
    BERTH_REQUEST struct berth_request second = {0};
    BERTH_FREE char *text = NULL;
    BERTH_FREE char *again = NULL;

    if (berth_wire_get_request(request_text, &first, err) < 0 ||
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

static int pass_binding(struct berth_buf *ret, struct berth_err *err)
{
    BERTH_BINDING struct berth_binding binding = {0};
    BERTH_BINDING struct berth_binding got = {0};
    BERTH_BUF struct berth_buf text = {0};

    berth_binding_set(&binding, &binding.note, "the host's MPICH");
    berth_binding_set(&binding, &binding.choice, "host");
    berth_strvec_push(&binding.set, "A=1");
    berth_binding_put(&binding, &text);
    if (text.failed)
        return berth_err_oom(err);
    if (berth_binding_get(text.text, text.used, &got, err) < 0)
        return -1;
    berth_binding_put(&got, ret);
    return 0;
}

static struct berth_launch usual_launch(void)
{
    return (struct berth_launch){.order = &order,
                                 .runtime = "/opt/apptainer",
                                 .home = "/home/u",
                                 .directory = "/home/u",
                                 .node = "n1",
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
        berth_launch_binds(&launch, environment, &set, err) < 0)
        return -1;
    berth_launch_env(launch.request, &order.terms, environment, &set);
    put_list(&argv, ret);
    put_list(&set, ret);
    return 0;
}

static int explain(struct berth_buf *ret, struct berth_err *err)
{
    const struct berth_launch launch = usual_launch();
    struct berth_binding binding = {0};
    struct berth_explain it = {.launch = &launch, .binding = &binding};
    int result = berth_launch_mounts(&launch, NULL, &it.plan, err);

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

/* The objects are made before an allocation fails. */
static struct berth_mpi_objects image_files;
static struct berth_mpi_objects host_files;

static void prepare_files(void)
{
    unit_object(&image_files, "program /app program need=libmpi.so.12 und=MPI_Init");
    unit_object(&image_files, "loaded /lib/libmpi.so.12 library so=libmpi.so.12 "
                              "def=MPI_Init def=PMPI_Init def=MPIR_x");
    unit_object(&host_files, "loaded /host/libmpi.so.12 library so=libmpi.so.12 "
                             "def=MPI_Init def=PMPI_Init def=MPIR_x");
}

static void free_files(void)
{
    berth_mpi_objects_fini(&image_files);
    berth_mpi_objects_fini(&host_files);
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
    operation *run;
} operations[] = {
    {"parse a site", parse_site},
    {"parse a profile", parse_profile},
    {"apply the policy", apply_policy},
    {"check the policy early", check_policy_early},
    {"pass an order", pass_order},
    {"pass a table", pass_table},
    {"pass a binding", pass_binding},
    {"start the runtime", start_runtime},
    {"explain", explain},
    {"record", record},
    {"parse a closure", parse_closure},
    {"judge", judge},
};

/* Runs an operation, of which the allocation AT fails (0: none). Returns whether one
 * has failed. */
static bool run(operation *act, size_t at, int *ret_result, struct berth_buf *ret,
                struct berth_err *err)
{
    bool has_failed;

    *err = (struct berth_err){0};
    failing_begin(at);
    *ret_result = act(ret, err);
    has_failed = failing_end();

    /* The caller of what fills a list or a text looks at `failed`. */
    if (*ret_result == 0 && ret->failed)
        *ret_result = berth_err_oom(err);
    return has_failed;
}

TEST_ROWS(a_failed_allocation_is_an_error, operations)
{
    BERTH_BUF struct berth_buf expected = {0};
    operation *act = operations[_i].run;
    struct berth_err err;
    int result;
    size_t at = 1;

    prepare_site();
    prepare_files();
    run(act, 0, &result, &expected, &err);
    ck_assert_msg(result == 0, "%s: %s", operations[_i].name, err.text);
    for (;; at++) {
        BERTH_BUF struct berth_buf text = {0};

        if (!run(act, at, &result, &text, &err))
            break;
        if (result < 0)
            ck_assert_msg(err.code == BERTH_ERR_MEMORY, "%s, allocation %zu: '%s'",
                          operations[_i].name, at, err.text);
        else
            ck_assert_msg(strcmp(text.text ? text.text : "",
                                 expected.text ? expected.text : "") == 0,
                          "%s, allocation %zu: '%s'", operations[_i].name, at,
                          text.text);
    }
    ck_assert_uint_gt(at, 2); /* the allocator does fail */
    free_files();
    free_site();
}

void unit_prepare(TCase *tests)
{
    tcase_set_timeout(tests, 60);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The words that start the runtime. */

#include "plan/launch.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "request/wire.h"
#include "unit.h"

static const char *const environment[] = {"PATH=/usr/bin", "HOMELY=no",  "LANG=C.UTF-8",
                                          "EMPTY=",        "PWD=/run 1", NULL};
#define INIT "/proc/self/fd/5"

static const char *const command[] = {"./app", "-n", "a b", "", "--", NULL};

/* A launch with all members that do not come from the request. */
static struct berth_launch usual(const struct berth_request *request)
{
    return (struct berth_launch){
        .runtime = "/usr/bin/apptainer",
        .home = "/home/u",
        .directory = "/scratch/run 1",
        .request = request,
        .environment = (char *const *)environment,
        .command = (char *const *)command,
    };
}

/* ARGV as a shell would take it. The caller frees it. */
static char *shell_words(const struct berth_strvec *argv)
{
    struct berth_buf text = {0};

    for (size_t i = 0; i < argv->count; i++) {
        berth_buf_puts(&text, i ? " " : "");
        berth_buf_word(&text, argv->items[i]);
    }
    return text.text;
}

/* The runtime is started with WORDS, which end in the image, and the command. */
static void assert_starts(const struct berth_launch *launch, const char *words)
{
    BERTH_STRVEC struct berth_strvec argv = {0};
    BERTH_FREE char *expected =
        unit_format("/usr/bin/apptainer --silent exec %s ./app -n 'a b' '' --", words);
    BERTH_FREE char *line = NULL;
    struct berth_err err;

    ck_assert_int_eq(berth_launch_own_argv(launch, &argv, &err), 0);
    line = shell_words(&argv);
    ck_assert_str_eq(line, expected);
}

static const struct {
    const char *request;
    const char *words;
} launches[] = {
    {"image=/a.sif", "/a.sif"},
    {"image=/a.sif&mounts=/d:/d:rw&mounts=/x%20%22y%22:/z:ro&mounts=/e.sqsh:/e:sqsh",
     "--mount 'type=bind,\"source=/d\",\"destination=/d\"' "
     "--mount 'type=bind,\"source=/x \"\"y\"\"\",\"destination=/z\",ro' "
     "--mount 'type=bind,\"source=/e.sqsh\",\"destination=/e\",image-src=/,ro' /a.sif"},
    /* a directory before what is in it */
    {"image=/a.sif&mounts=/d:/d/e:rw&mounts=/x:/d:ro&mounts=/y:/dd:rw",
     "--mount 'type=bind,\"source=/x\",\"destination=/d\",ro' "
     "--mount 'type=bind,\"source=/d\",\"destination=/d/e\"' "
     "--mount 'type=bind,\"source=/y\",\"destination=/dd\"' /a.sif"},
    {"image=/a.sif&mounts=tmpfs:/x:size%3D1G&mounts=umount:/y&mounts=/d:/"
     "d:ro%2Bunbindable",
     "--scratch /x --mount 'type=bind,\"source=/d\",\"destination=/d\",ro' /a.sif"},
    /* of several sources for one place, the last */
    {"image=/a.sif&mount-home=&mounts=/mine:/home/u:rw",
     "--mount 'type=bind,\"source=/mine\",\"destination=/home/u\"' /a.sif"},
    {"image=/a.sif&workdir=/in%20side", "--pwd '/in side' /a.sif"},
    {"image=/a.sif&mount-home=",
     "--mount 'type=bind,\"source=/home/u\",\"destination=/home/u\"' /a.sif"},
    {"image=/a.sif&no-mount-home=", "--no-mount home,cwd /a.sif"},
    {"image=/a.sif&writable=", "--writable-tmpfs /a.sif"},
    {"image=/a.sif&remap-root=", "--fakeroot --no-mount /etc/localtime /a.sif"},
    {"image=/a.sif&no-remap-root=", "/a.sif"},
    {"image=/a.sif&entrypoint=", "/a.sif /.singularity.d/runscript"},
    {"image=/a.sif&unshare=uts&unshare=net", "--net --network=none --uts /a.sif"},
    {"image=/a.sif&unshare=ipc", "--ipc /a.sif"},
    {"image=/a.sif&args=--nv&args=--bind&args=/q", "--nv --bind /q /a.sif"},
    {"image=/a.sif&mpi-bind=hybrid", "/a.sif"},
    {"image=/a.sif&mpi-bind=off", "/a.sif"},
    {"image=/a.sif&mpi-bind=local", "/a.sif"},
    {"image=/a.sif&mpi-bind=local-each", "/a.sif"},
    {"image=/sand%20box&mounts=/d:/d:rw&workdir=/w&no-mount-home=&writable=&"
     "entrypoint=&env=A%3D1&args=--nv",
     "--writable-tmpfs --no-mount home,cwd "
     "--mount 'type=bind,\"source=/d\",\"destination=/d\"' --nv --pwd /w '/sand box' "
     "/.singularity.d/runscript"},
};

TEST_ROWS(a_request_becomes_words, launches)
{
    BERTH_REQUEST struct berth_request request = {0};
    struct berth_launch launch = usual(&request);
    struct berth_err err;

    ck_assert_int_eq(berth_wire_get_request(launches[_i].request, &request, &err), 0);
    assert_starts(&launch, launches[_i].words);
}

/* What a container has from its start, but not the flag of its name. */
TEST(options_make_another_container)
{
    BERTH_REQUEST struct berth_request request = {0};
    BERTH_BUF struct berth_buf options = {0};
    struct berth_err err;

    ck_assert_int_eq(
        berth_wire_get_request("image=/a&mounts=/d:/d:ro&workdir=/w&readonly=&script=&"
                               "env=A&gpu=none&lifetime=job&name=work:exec&"
                               "unshare=net&save=/s.sif&mpi-bind=host&libs=none",
                               &request, &err),
        0);
    berth_launch_made_by(&request, &options);
    ck_assert_str_eq(options.text, "--container-name=work --container-mounts=/d:/d:ro "
                                   "--container-readonly --container-gpu=none "
                                   "--container-unshare=net");
}

TEST(what_is_not_known_is_left_out)
{
    const struct berth_request request = {.image = (char *)"/a.sif", .home = BERTH_YES};
    struct berth_launch launch = usual(&request);

    launch.home = NULL;
    assert_starts(&launch, "/a.sif");
}

TEST(a_tmpfs_hides_no_other_mount)
{
    BERTH_REQUEST struct berth_request request = {0};
    struct berth_launch launch = usual(&request);
    BERTH_STRVEC struct berth_strvec argv = {0};
    struct berth_err err;

    ck_assert_int_eq(berth_wire_get_request(
                         "image=/a&mounts=/m:/d/e:rw&mounts=tmpfs:/d", &request, &err),
                     0);
    ck_assert_int_eq(berth_launch_own_argv(&launch, &argv, &err), -1);
    ck_assert_str_eq(err.text, "mount 'tmpfs:/d': it would hide what is mounted at "
                               "'/d/e'; choose another place");
}

#define MOUNT_OF(home)                                                                 \
    "--mount 'type=bind,\"source=" home "\",\"destination=" home "\"'"

static const struct {
    const char *home, *account;
    enum berth_choice choice, root;
    const char *words;
} homes[] = {
    {"/home/u", "/home/u", BERTH_YES, BERTH_UNSAID, MOUNT_OF("/home/u") " /a.sif"},
    {"/scratch/u", "/home/u", BERTH_YES, BERTH_UNSAID,
     "--home /scratch/u " MOUNT_OF("/scratch/u") " /a.sif"},
    {"/scratch/u", "/home/u", BERTH_YES, BERTH_YES,
     "--fakeroot --no-mount /etc/localtime --home /scratch/u:/root " MOUNT_OF(
         "/scratch/u") " /a.sif"},
    {"/scratch/u", "/home/u", BERTH_UNSAID, BERTH_UNSAID, "/a.sif"},
    {"/scratch/u", NULL, BERTH_YES, BERTH_UNSAID, MOUNT_OF("/scratch/u") " /a.sif"},
    {"/s:u", "/home/u", BERTH_YES, BERTH_UNSAID, MOUNT_OF("/s:u") " /a.sif"},
};

TEST_ROWS(the_home_directory_is_that_of_the_task, homes)
{
    const struct berth_request request = {
        .image = (char *)"/a.sif", .home = homes[_i].choice, .root = homes[_i].root};
    struct berth_launch launch = usual(&request);

    launch.home = homes[_i].home;
    launch.account_home = homes[_i].account;
    assert_starts(&launch, homes[_i].words);
}

TEST(a_directory_for_what_tasks_write)
{
    const struct berth_request request = {.image = (char *)"/a.sif",
                                          .writable = BERTH_YES};
    struct berth_launch launch = usual(&request);

    launch.overlay = "/tmp/x";
    assert_starts(&launch, "--overlay /tmp/x /a.sif");
}

/* Of a container with a name: what other steps have written is there all the same. */
TEST(a_directory_that_is_only_read)
{
    const struct berth_request request = {.image = (char *)"/a.sif",
                                          .container_name = (char *)"work",
                                          .writable = BERTH_NO};
    struct berth_launch launch = usual(&request);

    launch.overlay = "/tmp/x";
    assert_starts(&launch, "--overlay /tmp/x:ro /a.sif");
}

TEST(a_squashfs_file_has_a_reader_and_its_own_entry_point)
{
    struct berth_request request = {.image = (char *)"/a.sqsh"};
    struct berth_launch launch = usual(&request);

    launch.reader = "/usr/share/berth/reader";
#define READS                                                                          \
    "--mount "                                                                         \
    "'type=bind,\"source=/usr/share/berth/reader\",\"destination=/environment\",ro' "  \
    "/a.sqsh"
    assert_starts(&launch, READS);
    request.entrypoint = BERTH_YES;
    assert_starts(&launch, READS " /bin/sh /etc/rc");
}

TEST(a_container_of_a_task_starts_in_the_directory_of_the_image)
{
    struct berth_request request = {.image = (char *)"/a.sif"};
    struct berth_launch launch = usual(&request);

    launch.image_directory = "/workspace";
    assert_starts(&launch, "/a.sif");
    request.home = BERTH_NO;
    assert_starts(&launch, "--no-mount home,cwd --pwd /workspace /a.sif");
    request.workdir = (char *)"/other";
    assert_starts(&launch, "--no-mount home,cwd --pwd /other /a.sif");
}

TEST(a_user_whom_the_node_does_not_know)
{
    const struct berth_request request = {.image = (char *)"/a.sif"};
    struct berth_launch launch = usual(&request);

    launch.unknown_user = true;
    assert_starts(&launch, "--userns /a.sif");
}

TEST(a_holder_in_an_outer_user_namespace)
{
    BERTH_REQUEST struct berth_request request = {0};
    BERTH_STRVEC struct berth_strvec argv = {0};
    BERTH_FREE char *line = NULL;
    struct berth_launch launch = usual(&request);
    struct berth_err err;

    ck_assert_int_eq(
        berth_wire_get_request("image=/a.sif&args=-u&args=--nv&args=--userns&args=-un&"
                               "writable=&env=SECRET%3D1",
                               &request, &err),
        0);
    launch.account_home = "/home/of u";
    launch.is_outer = true;
    ck_assert_int_eq(berth_launch_holder_argv(&launch, INIT, 4, 5, 6, &argv, &err), 0);
    line = shell_words(&argv);
    ck_assert_str_eq(
        line, "/usr/bin/apptainer --silent exec --writable-tmpfs "
              "--no-privs --home '/home/of u' --nv -un /a.sif /proc/self/fd/5 --hold "
              "4 5 6 '--container-writable --container-args=-u "
              "--container-args=--nv --container-args=--userns "
              "--container-args=-un'");
}

TEST(a_driver_is_a_flag)
{
    const struct berth_request request = {.image = (char *)"/a.sif",
                                          .gpu = (char *)"hpe.com/cxi=all"};
    struct berth_launch launch = usual(&request);

    launch.gpu.flag = "--rocm";
    assert_starts(&launch, "--rocm --device=hpe.com/cxi=all /a.sif");
}

TEST(variables_to_unset_come_before_those_to_set)
{
    BERTH_REQUEST struct berth_request request = {0};
    BERTH_STRVEC struct berth_strvec env = {0};
    BERTH_FREE char *lines = NULL;
    struct berth_terms terms = {0};
    struct berth_err err;

    ck_assert_int_eq(
        berth_wire_get_request("image=/a.sif&env=LANG&env=MISSING&env=EMPTY&env=HOME&"
                               "env=SET%3Da,b%0Ac",
                               &request, &err),
        0);
    berth_strvec_push(&terms.unset, "LD_PRELOAD");
    berth_launch_env(&request, &terms, (char *const *)environment, &env);
    lines = unit_lines(&env);
    ck_assert_str_eq(lines, "LD_PRELOAD\nLANG=C.UTF-8\nEMPTY=\nSET=a,b\nc\n");
    berth_terms_fini(&terms);
}

TEST(a_runscript_does_not_evaluate_the_command)
{
    BERTH_REQUEST struct berth_request request = {0};
    BERTH_STRVEC struct berth_strvec env = {0};
    BERTH_FREE char *lines = NULL;
    const struct berth_terms terms = {0};
    struct berth_err err;

    ck_assert_int_eq(berth_wire_get_request("image=/a.sif&entrypoint=&"
                                            "env=APPTAINER_NO_EVAL%3D",
                                            &request, &err),
                     0);
    berth_launch_env(&request, &terms, (char *const *)environment, &env);
    lines = unit_lines(&env);
    ck_assert_str_eq(lines, "APPTAINER_NO_EVAL=1\nSINGULARITY_NO_EVAL=1\n"
                            "APPTAINER_NO_EVAL=\n"); /* the last one counts */
}

/* What the runtime gets of APPTAINER_BIND and its like. */
static const struct {
    const char *variable;
    const char *left; /* NULL: the variable is not such a one */
} binds[] = {
    {"APPTAINER_BIND=/v:/d", "APPTAINER_BIND="},
    {"APPTAINER_BIND=/v:/e,/v:/d:ro,/w", "APPTAINER_BIND=/v:/e,/w"},
    {"SINGULARITY_BIND=/v:/d/", "SINGULARITY_BIND="},
    {"APPTAINER_BINDPATH=/v:/x/..//d,/d/e", "APPTAINER_BINDPATH=/d/e"},
    {"SINGULARITY_BINDPATH=../d", "SINGULARITY_BINDPATH="},
    {"APPTAINER_BIND=/v\\:x:/d", "APPTAINER_BIND=/v\\:x:/d"},
    {"APPTAINER_BIND=", "APPTAINER_BIND="},
    {"APPTAINER_MOUNT=type=bind,source=/v,destination=/d", NULL},
    {"OTHER_BIND=/v:/d", NULL},
};

TEST_ROWS(the_runtime_s_variables_lose_a_place_that_is_taken, binds)
{
    BERTH_REQUEST struct berth_request request = {0};
    BERTH_STRVEC struct berth_strvec left = {0};
    char *variables[] = {(char *)binds[_i].variable, NULL};
    struct berth_launch launch = usual(&request);
    struct berth_err err;

    launch.directory = "/home";
    ck_assert_int_eq(berth_wire_get_request("image=/a&mounts=/m:/d:rw", &request, &err),
                     0);
    ck_assert_int_eq(berth_launch_binds(&launch, variables, &left, &err), 0);
    ck_assert_pstr_eq(left.count ? left.items[0] : NULL, binds[_i].left);
}

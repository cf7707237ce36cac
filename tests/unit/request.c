/* SPDX-License-Identifier: Apache-2.0 */
/* What one component asks for. A request is written here as the options that make it
 * and compared as its wire form, which shows all of it. */

#include "request/request.h"

#include "request/wire.h"
#include "unit.h"

#define IMAGE      BERTH_OPTION_IMAGE
#define MOUNTS     BERTH_OPTION_MOUNTS
#define WORKDIR    BERTH_OPTION_WORKDIR
#define HOME       BERTH_OPTION_MOUNT_HOME
#define NO_HOME    BERTH_OPTION_NO_MOUNT_HOME
#define WRITABLE   BERTH_OPTION_WRITABLE
#define ENTRYPOINT BERTH_OPTION_ENTRYPOINT
#define ENV        BERTH_OPTION_ENV
#define ARGS       BERTH_OPTION_ARGS
#define GPU        BERTH_OPTION_GPU
#define LIFETIME   BERTH_OPTION_LIFETIME
#define MPI        BERTH_OPTION_MPI
#define FABRIC     BERTH_OPTION_FABRIC
#define EXPLAIN    BERTH_OPTION_EXPLAIN
#define END        BERTH_OPTION_COUNT

#define BASE "/base"

struct given {
    enum berth_option_id id;
    const char *value;
};

static int take_all(const struct given *given, struct berth_request *request,
                    struct berth_err *err)
{
    for (; given->id != END; given++)
        if (berth_request_take(request, given->id, given->value, BASE, err) < 0)
            return -1;
    return 0;
}

static void assert_fields(const struct berth_request *request, const char *fields)
{
    BERTH_BUF struct berth_buf buf = {0};

    berth_buf_puts(&buf, "");
    berth_wire_put_request(&buf, request);
    ck_assert_str_eq(buf.text, fields);
}

static const struct {
    struct given given[6];
    const char *fields;
} taken[] = {
    {{{END, NULL}}, ""},
    {{{IMAGE, "/a.sif"}, {END, NULL}}, "image=/a.sif"},
    {{{IMAGE, "a.sif"}, {END, NULL}}, "image=/base/a.sif"},
    {{{IMAGE, "./x/a.sif"}, {END, NULL}}, "image=/base/x/a.sif"},
    {{{IMAGE, "docker://a"}, {IMAGE, "docker://a"}, {END, NULL}}, "image=docker://a"},
    {{{IMAGE, "none"}, {END, NULL}}, "image=none"},
    {{{IMAGE, "./none"}, {END, NULL}}, "image=/base/none"},
    {{{IMAGE, "dir/a://b"}, {END, NULL}}, "image=/base/dir/a://b"},
    {{{IMAGE, "/a"}, {IMAGE, "/a"}, {END, NULL}}, "image=/a"},
    {{{IMAGE, "a"}, {IMAGE, "/base/a"}, {END, NULL}}, "image=/base/a"},
    {{{IMAGE, "none"}, {IMAGE, "none"}, {END, NULL}}, "image=none"},
    {{{MOUNTS, "/a,b:/c:ro"}, {MOUNTS, "/a"}, {END, NULL}},
     "mounts=/a:/a:rw&mounts=/base/b:/c:ro&mounts=/a:/a:rw"},
    {{{WORKDIR, "/w"}, {WORKDIR, "/w"}, {END, NULL}}, "workdir=/w"},
    {{{HOME, NULL}, {HOME, NULL}, {END, NULL}}, "mount-home="},
    {{{HOME, "(null)"}, {END, NULL}}, "mount-home="},
    {{{NO_HOME, NULL}, {NO_HOME, ""}, {END, NULL}}, "no-mount-home="},
    {{{WRITABLE, NULL}, {ENTRYPOINT, NULL}, {END, NULL}}, "writable=&entrypoint="},
    {{{ENV, "A"}, {END, NULL}}, "env=A"},
    {{{ENV, "A=1,B,_c9="}, {END, NULL}}, "env=A%3D1&env=B&env=_c9%3D"},
    {{{ENV, "A=1\\,2,B=\\"}, {END, NULL}}, "env=A%3D1,2&env=B%3D%5C"},
    {{{ENV, "A=x\\y"}, {END, NULL}}, "env=A%3Dx%5Cy"},
    {{{ENV, "A=x\\\\,B=y"}, {END, NULL}}, "env=A%3Dx%5C,B%3Dy"},
    {{{ENV, "A=b=c"}, {ENV, "A=d"}, {END, NULL}}, "env=A%3Db%3Dc&env=A%3Dd"},
    {{{ENV, "A=two\nlines"}, {END, NULL}}, "env=A%3Dtwo%0Alines"},
    {{{ARGS, "--nv"}, {END, NULL}}, "args=--nv"},
    {{{ARGS, "  --nv \t--bind\n/a  "}, {ARGS, "-c"}, {END, NULL}},
     "args=--nv&args=--bind&args=/a&args=-c"},
    {{{ARGS, "   "}, {END, NULL}}, ""},
    {{{GPU, "auto"}, {GPU, "auto"}, {END, NULL}}, "gpu=auto"},
    {{{GPU, "nvidia"}, {END, NULL}}, "gpu=nvidia"},
    {{{GPU, "rocm"}, {END, NULL}}, "gpu=rocm"},
    {{{GPU, "off"}, {END, NULL}}, "gpu=off"},
    {{{LIFETIME, "step"}, {END, NULL}}, "lifetime=step"},
    {{{LIFETIME, "job"}, {LIFETIME, "job"}, {END, NULL}}, "lifetime=job"},
    {{{FABRIC, "auto"}, {END, NULL}}, "fabric=auto"},
    {{{FABRIC, "ucx"}, {MPI, NULL}, {END, NULL}}, "mpi-bind=auto&fabric=ucx"},
    {{{MPI, NULL}, {END, NULL}}, "mpi-bind=auto"},
    {{{MPI, ""}, {MPI, "(null)"}, {MPI, "auto"}, {END, NULL}}, "mpi-bind=auto"},
    {{{MPI, "local-each"}, {END, NULL}}, "mpi-bind=local-each"},
    {{{MPI, "cray-mpich-8"}, {END, NULL}}, "mpi-bind=cray-mpich-8"},
    {{{EXPLAIN, NULL}, {EXPLAIN, "(null)"}, {EXPLAIN, "text"}, {END, NULL}},
     "explain=text"},
    {{{EXPLAIN, "json"}, {EXPLAIN, "json"}, {END, NULL}}, "explain=json"},
    {{{EXPLAIN, "yes"}, {EXPLAIN, ""}, {END, NULL}}, "explain=text"},
    {{{EXPLAIN, "no"}, {EXPLAIN, "off"}, {END, NULL}}, "explain=off"},
};

START_TEST(options_are_taken)
{
    BERTH_REQUEST struct berth_request request = {0};
    struct berth_err err;

    ck_assert_int_eq(take_all(taken[_i].given, &request, &err), 0);
    assert_fields(&request, taken[_i].fields);
}
END_TEST

#define SCHEME(text)                                                                   \
    "'" text "': cannot be pulled; expected docker://, oras:// or library://, or a "   \
    "SIF file or a directory"
#define TWICE(a, b) "given twice, '" a "' and '" b "'; expected one value"
#define OPPOSITE                                                                       \
    "given together with its opposite; expected one of --container-mount-home and "    \
    "--no-container-mount-home"
#define NO_VARIABLE(text)                                                              \
    "'" text                                                                           \
    "' is not a variable; expected NAME or NAME=VALUE, with letters, digits and _ in " \
    "NAME"
#define COMMA " (a comma in a value is \\, in quotes: 'A=1\\,2')"

#define NO_MODE(text)                                                                  \
    "'" text "' is not a mode; expected auto, host, hybrid, local, local-each, "       \
    "launch, off, or "                                                                 \
    "the name of a profile"

static const struct {
    struct given given[3];
    const char *error;
} refused[] = {
    {{{IMAGE, ""}, {END, NULL}},
     "the value is empty; give one, or leave the option out"},
    {{{MOUNTS, ""}, {END, NULL}},
     "the value is empty; give one, or leave the option out"},
    {{{WORKDIR, ""}, {END, NULL}},
     "the value is empty; give one, or leave the option out"},
    {{{ENV, ""}, {END, NULL}}, "the value is empty; give one, or leave the option out"},
    {{{ARGS, ""}, {END, NULL}},
     "the value is empty; give one, or leave the option out"},
    {{{IMAGE, "a://b"}, {END, NULL}}, SCHEME("a://b")},
    {{{IMAGE, "file:///a"}, {END, NULL}}, SCHEME("file:///a")},
    {{{IMAGE, "docker://a"}, {IMAGE, "docker://b"}, {END, NULL}},
     TWICE("docker://a", "docker://b")},
    {{{IMAGE, "docker://a"}, {IMAGE, "/a"}, {END, NULL}}, TWICE("docker://a", "/a")},
    {{{GPU, ""}, {END, NULL}}, "the value is empty; give one, or leave the option out"},
    {{{GPU, "amd"}, {END, NULL}},
     "'amd' is not a kind of GPU; expected auto, nvidia, rocm or off"},
    {{{GPU, "off"}, {GPU, "rocm"}, {END, NULL}}, TWICE("off", "rocm")},
    {{{LIFETIME, "node"}, {END, NULL}},
     "'node' is not a lifetime; expected step or job"},
    {{{LIFETIME, "job"}, {LIFETIME, "step"}, {END, NULL}}, TWICE("job", "step")},
    {{{FABRIC, "Slingshot 11"}, {END, NULL}},
     "'Slingshot 11' is not a fabric; expected auto, required, off, or the name of a "
     "profile"},
    {{{FABRIC, "ucx"}, {FABRIC, "off"}, {END, NULL}}, TWICE("ucx", "off")},
    {{{IMAGE, "/a"}, {IMAGE, "/b"}, {END, NULL}}, TWICE("/a", "/b")},
    {{{IMAGE, "/a"}, {IMAGE, "none"}, {END, NULL}}, TWICE("/a", "none")},
    {{{IMAGE, "none"}, {IMAGE, "a"}, {END, NULL}}, TWICE("none", "/base/a")},
    {{{WORKDIR, "/a"}, {WORKDIR, "/b"}, {END, NULL}}, TWICE("/a", "/b")},
    {{{WORKDIR, "w"}, {END, NULL}},
     "'w' is not absolute; expected a directory in the image, from /"},
    {{{EXPLAIN, "xml"}, {END, NULL}},
     "'xml' is not a form; expected text, json or off"},
    {{{EXPLAIN, "json"}, {EXPLAIN, "off"}, {END, NULL}}, TWICE("json", "off")},
    {{{MOUNTS, "/a:b"}, {END, NULL}},
     "'/a:b': 'b' is not a place in the image; a destination starts with /"},
    {{{HOME, NULL}, {NO_HOME, NULL}, {END, NULL}}, OPPOSITE},
    {{{NO_HOME, NULL}, {HOME, NULL}, {END, NULL}}, OPPOSITE},
    {{{ENV, "1A=x"}, {END, NULL}}, NO_VARIABLE("1A=x")},
    {{{ENV, "=x"}, {END, NULL}}, NO_VARIABLE("=x")},
    {{{ENV, "A-B"}, {END, NULL}}, NO_VARIABLE("A-B")},
    {{{ENV, "A B=1"}, {END, NULL}}, NO_VARIABLE("A B=1")},
    {{{ENV, "A,"}, {END, NULL}}, NO_VARIABLE("") COMMA},
    {{{ENV, ",A"}, {END, NULL}}, NO_VARIABLE("") COMMA},
    {{{ENV, "A=1,2"}, {END, NULL}}, NO_VARIABLE("2") COMMA},
    {{{ENV, "\303\204=1"}, {END, NULL}}, NO_VARIABLE("\303\204=1")},
    {{{MPI, "Host"}, {END, NULL}}, NO_MODE("Host")},
    {{{MPI, "-x"}, {END, NULL}}, NO_MODE("-x")},
    {{{MPI, "a/b"}, {END, NULL}}, NO_MODE("a/b")},
    {{{MPI, "NAME"}, {END, NULL}}, NO_MODE("NAME")},
    {{{MPI, "mpich_4"}, {END, NULL}}, NO_MODE("mpich_4")},
    {{{MPI, "mpich-4.2"}, {END, NULL}}, NO_MODE("mpich-4.2")},
    {{{MPI, "host"}, {MPI, "off"}, {END, NULL}}, TWICE("host", "off")},
};

START_TEST(a_wrong_option_has_a_sentence)
{
    BERTH_REQUEST struct berth_request request = {0};
    struct berth_err err;

    ck_assert_int_eq(take_all(refused[_i].given, &request, &err), -1);
    ck_assert_str_eq(err.text, refused[_i].error);
}
END_TEST

START_TEST(an_option_out_of_the_table_is_refused)
{
    BERTH_REQUEST struct berth_request request = {0};
    struct berth_err err;

    ck_assert_int_eq(berth_request_take(&request, END, "x", NULL, &err), -1);
    ck_assert_str_eq(err.text, "no such option");
}
END_TEST

START_TEST(without_a_base_paths_are_absolute)
{
    BERTH_REQUEST struct berth_request request = {0};
    struct berth_err err;

    ck_assert_int_eq(berth_request_take(&request, IMAGE, "a", NULL, &err), -1);
    ck_assert_str_eq(err.text, "'a' is not absolute; expected a path from /");
    ck_assert_int_eq(berth_request_take(&request, MOUNTS, "a", NULL, &err), -1);
    ck_assert_str_eq(err.text, "'a': 'a' is not absolute; expected a path from /");
}
END_TEST

static const struct {
    struct given defaults[8];
    struct given own[4];
    const char *fields;
} merges[] = {
    {{{END, NULL}}, {{END, NULL}}, ""},
    {{{IMAGE, "/a"}, {END, NULL}}, {{END, NULL}}, "image=/a"},
    {{{END, NULL}}, {{IMAGE, "/a"}, {END, NULL}}, "image=/a"},
    {{{IMAGE, "/a"}, {END, NULL}}, {{IMAGE, "/b"}, {END, NULL}}, "image=/b"},
    {{{IMAGE, "/a"}, {MOUNTS, "/m"}, {END, NULL}},
     {{IMAGE, "/b"}, {MOUNTS, "/n"}, {END, NULL}},
     "image=/b&mounts=/m:/m:rw&mounts=/n:/n:rw"},
    {{{IMAGE, "/a"}, {WORKDIR, "/w"}, {ENV, "A"}, {ARGS, "-x"}, {END, NULL}},
     {{WORKDIR, "/v"}, {ENV, "A=1"}, {ARGS, "-y"}, {END, NULL}},
     "image=/a&workdir=/v&env=A&env=A%3D1&args=-x&args=-y"},
    {{{IMAGE, "/a"}, {HOME, NULL}, {END, NULL}},
     {{NO_HOME, NULL}, {END, NULL}},
     "image=/a&no-mount-home="},
    {{{IMAGE, "/a"}, {NO_HOME, NULL}, {WRITABLE, NULL}, {END, NULL}},
     {{ENTRYPOINT, NULL}, {END, NULL}},
     "image=/a&no-mount-home=&writable=&entrypoint="},
    {{{IMAGE, "/a"},
      {MOUNTS, "/m"},
      {WORKDIR, "/w"},
      {HOME, NULL},
      {WRITABLE, NULL},
      {ENTRYPOINT, NULL},
      {ENV, "A"},
      {END, NULL}},
     {{IMAGE, "none"}, {END, NULL}},
     "image=none"},
    {{{IMAGE, "none"}, {END, NULL}}, {{IMAGE, "/b"}, {END, NULL}}, "image=/b"},
    {{{IMAGE, "docker://a"}, {END, NULL}}, {{IMAGE, "/b"}, {END, NULL}}, "image=/b"},
    {{{IMAGE, "/a"}, {END, NULL}},
     {{IMAGE, "oras://b"}, {END, NULL}},
     "image=oras://b"},
    {{{IMAGE, "docker://a"}, {END, NULL}},
     {{IMAGE, "none"}, {END, NULL}},
     "image=none"},
    {{{IMAGE, "/a"}, {MPI, NULL}, {END, NULL}},
     {{END, NULL}},
     "image=/a&mpi-bind=auto"},
    {{{IMAGE, "/a"}, {MPI, "host"}, {END, NULL}},
     {{MPI, "off"}, {END, NULL}},
     "image=/a&mpi-bind=off"},
    {{{IMAGE, "/a"}, {GPU, "nvidia"}, {END, NULL}},
     {{GPU, "off"}, {END, NULL}},
     "image=/a&gpu=off"},
    {{{IMAGE, "/a"}, {GPU, "nvidia"}, {END, NULL}},
     {{END, NULL}},
     "image=/a&gpu=nvidia"},
    {{{IMAGE, "/a"}, {LIFETIME, "job"}, {END, NULL}},
     {{LIFETIME, "step"}, {END, NULL}},
     "image=/a&lifetime=step"},
    {{{IMAGE, "none"}, {END, NULL}}, {{END, NULL}}, "image=none"},
};

START_TEST(own_values_go_over_defaults)
{
    BERTH_REQUEST struct berth_request defaults = {0};
    BERTH_REQUEST struct berth_request own = {0};
    BERTH_REQUEST struct berth_request merged = {0};
    struct berth_err err;

    ck_assert_int_eq(take_all(merges[_i].defaults, &defaults, &err), 0);
    ck_assert_int_eq(take_all(merges[_i].own, &own, &err), 0);
    ck_assert_int_eq(berth_request_put_over(&merged, &defaults, &err), 0);
    ck_assert_int_eq(berth_request_put_over(&merged, &own, &err), 0);
    assert_fields(&merged, merges[_i].fields);
}
END_TEST

#define ON_HOST                                                                        \
    "--container-image=none: the other container options mean nothing on the host; "   \
    "leave them out"
#define NO_IMAGE(option) "--" option ": it needs an image; add --container-image=IMAGE"

static const struct {
    struct given given[4];
    const char *error; /* NULL: fine */
} checks[] = {
    {{{END, NULL}}, NULL},
    {{{IMAGE, "/a"}, {END, NULL}}, NULL},
    {{{IMAGE, "none"}, {END, NULL}}, NULL},
    {{{IMAGE, "/a"}, {MOUNTS, "/m"}, {END, NULL}}, NULL},
    {{{IMAGE, "none"}, {MOUNTS, "/m"}, {END, NULL}}, ON_HOST},
    {{{IMAGE, "none"}, {NO_HOME, NULL}, {END, NULL}}, ON_HOST},
    {{{MOUNTS, "/m"}, {END, NULL}}, NO_IMAGE("container-mounts")},
    {{{WORKDIR, "/w"}, {END, NULL}}, NO_IMAGE("container-workdir")},
    {{{HOME, NULL}, {END, NULL}}, NO_IMAGE("container-mount-home")},
    {{{NO_HOME, NULL}, {END, NULL}}, NO_IMAGE("no-container-mount-home")},
    {{{WRITABLE, NULL}, {END, NULL}}, NO_IMAGE("container-writable")},
    {{{ENTRYPOINT, NULL}, {END, NULL}}, NO_IMAGE("container-entrypoint")},
    {{{ENV, "A"}, {END, NULL}}, NO_IMAGE("container-env")},
    {{{ARGS, "-x"}, {END, NULL}}, NO_IMAGE("container-args")},
    {{{GPU, "auto"}, {END, NULL}}, NO_IMAGE("container-gpu")},
    {{{LIFETIME, "job"}, {END, NULL}}, NO_IMAGE("container-lifetime")},
    {{{FABRIC, "auto"}, {END, NULL}}, NO_IMAGE("container-fabric")},
    {{{IMAGE, "/a"}, {FABRIC, "ucx"}, {MPI, "hybrid"}, {END, NULL}}, NULL},
    {{{IMAGE, "/a"}, {FABRIC, "ucx"}, {MPI, "auto"}, {END, NULL}}, NULL},
    {{{IMAGE, "/a"}, {FABRIC, "auto"}, {MPI, "host"}, {END, NULL}}, NULL},
    {{{IMAGE, "/a"}, {FABRIC, "off"}, {MPI, "host"}, {END, NULL}}, NULL},
    {{{IMAGE, "/a"}, {FABRIC, "ucx"}, {MPI, "local"}, {END, NULL}},
     "--container-fabric=ucx: it is for an image's own MPI whose ranks srun starts, "
     "not "
     "for --mpi-bind=local; choose --mpi-bind=hybrid, or leave --container-fabric out"},
    {{{MPI, NULL}, {END, NULL}}, NO_IMAGE("mpi-bind")},
    {{{IMAGE, "none"}, {MPI, "off"}, {END, NULL}}, ON_HOST},
};

START_TEST(a_mode_not_said_is_off)
{
    BERTH_REQUEST struct berth_request request = {0};
    struct berth_err err;

    ck_assert(berth_request_mpi_is(&request, BERTH_MODE_OFF));
    ck_assert_int_eq(berth_request_take(&request, MPI, "host", NULL, &err), 0);
    ck_assert(berth_request_mpi_is(&request, BERTH_MODE_HOST));
    ck_assert(!berth_request_mpi_is(&request, BERTH_MODE_OFF));
}
END_TEST

static const struct {
    const char *mode;
    enum berth_world world;
    bool may, must;
} hosts[] = {
    {NULL, BERTH_WORLD_ALONE, false, false},
    {"off", BERTH_WORLD_ALONE, false, false},
    {"local", BERTH_WORLD_ALONE, false, false},
    {"local-each", BERTH_WORLD_ALONE, false, false},
    {"launch", BERTH_WORLD_ALONE, false, false},
    {"hybrid", BERTH_WORLD_ALONE, false, false},
    {"host", BERTH_WORLD_ALONE, true, true},
    {"cray", BERTH_WORLD_ALONE, true, true},
    {"auto", BERTH_WORLD_ALONE, true, false},
    {"auto", BERTH_WORLD_HOST, true, true},
    {"auto", BERTH_WORLD_OWN, false, false},
};

START_TEST(a_mode_and_other_components_tell_whose_library)
{
    struct berth_request request = {.mpi = (char *)hosts[_i].mode,
                                    .world = hosts[_i].world};

    ck_assert_int_eq(berth_request_mpi_may_host(&request), hosts[_i].may);
    ck_assert_int_eq(berth_request_mpi_must_host(&request), hosts[_i].must);
}
END_TEST

static const struct {
    const char *request;
    bool has_asked;
    const char *settled; /* NULL: it is refused */
} settled[] = {
    {"image=/a", true, "image=/a"},
    {"image=/a&fabric=ucx", true, "image=/a&mpi-bind=hybrid&fabric=ucx"},
    {"image=/a&fabric=off", true, "image=/a&fabric=off"},
    {"image=/a&mpi-bind=auto&fabric=ucx", true, "image=/a&mpi-bind=auto&fabric=ucx"},
    {"image=/a&mpi-bind=host&fabric=auto", true, "image=/a&mpi-bind=host&fabric=auto"},
    {"image=/a&mpi-bind=host&fabric=ucx", true, NULL},
    {"image=/a&mpi-bind=local&fabric=ucx", false, "image=/a&mpi-bind=local&fabric=off"},
};

START_TEST(a_fabric_is_for_the_image_s_own_mpi)
{
    BERTH_REQUEST struct berth_request request = {0};
    BERTH_BUF struct berth_buf text = {0};
    struct berth_err err;
    int result;

    ck_assert_int_eq(berth_wire_get_request(settled[_i].request, &request, &err), 0);
    result = berth_request_settle_fabric(&request, settled[_i].has_asked, &err);
    ck_assert_int_eq(result, settled[_i].settled ? 0 : -1);
    if (result < 0)
        return;
    berth_wire_put_request(&text, &request);
    ck_assert_str_eq(text.text, settled[_i].settled);
}
END_TEST

START_TEST(what_means_nothing_is_refused)
{
    BERTH_REQUEST struct berth_request request = {0};
    struct berth_err err;

    ck_assert_int_eq(take_all(checks[_i].given, &request, &err), 0);
    ck_assert_int_eq(berth_request_said(&request), checks[_i].given[0].id != END);
    ck_assert_int_eq(berth_request_check(&request, &err), checks[_i].error ? -1 : 0);
    if (checks[_i].error)
        ck_assert_str_eq(err.text, checks[_i].error);
}
END_TEST

/* One option each, so that no two rows are equal. */
static const struct given singles[] = {
    {END, NULL},       {IMAGE, "/a"},      {IMAGE, "/b"},     {IMAGE, "none"},
    {MOUNTS, "/m"},    {MOUNTS, "/n"},     {MOUNTS, "/m:/n"}, {MOUNTS, "/m:/m:ro"},
    {WORKDIR, "/w"},   {WORKDIR, "/v"},    {HOME, NULL},      {NO_HOME, NULL},
    {WRITABLE, NULL},  {ENV, "A"},         {ENV, "A="},       {ENTRYPOINT, NULL},
    {ARGS, "-x"},      {ARGS, "-x -y"},    {GPU, "auto"},     {GPU, "off"},
    {LIFETIME, "job"}, {LIFETIME, "step"},
};

START_TEST(requests_are_equal_only_to_their_like)
{
    BERTH_REQUEST struct berth_request a = {0};
    struct berth_err err;

    if (singles[_i].id != END)
        berth_request_take(&a, singles[_i].id, singles[_i].value, BASE, &err);
    for (int j = 0; j < COUNT(singles); j++) {
        BERTH_REQUEST struct berth_request b = {0};

        if (singles[j].id != END)
            berth_request_take(&b, singles[j].id, singles[j].value, BASE, &err);
        ck_assert_int_eq(berth_request_equal(&a, &b), j == _i);
    }
    ck_assert_int_eq(berth_request_contained(&a), _i == 1 || _i == 2);
}
END_TEST

/* What says that a container is closed, or has namespaces of its own. */
static const struct {
    const char *args; /* NULL: none */
    const char *variable;
    bool closed, spaces;
} flags[] = {
    {NULL, "A=1", false, false},
    {"--nv --cleanenv -e", NULL, false, false},
    {"--contain", NULL, true, false},
    {"-c", NULL, true, false},
    {"--containall", NULL, true, true},
    {"-C", NULL, true, true},
    {"-eC", NULL, true, true},
    {"-ec", NULL, true, false},
    {"-ef", NULL, false, true},
    {"--nv --contain=true", NULL, true, false},
    {"--containall=1", NULL, true, true},
    {"--contain=false --pid=0 --fakeroot=False", NULL, false, false},
    {"--fakeroot=true", NULL, false, true},
    {"-ep", NULL, false, true},
    {"--env C=c", NULL, false, false},
    {"--containment", NULL, false, false},
    {"-B/c:/C -W/fp", NULL, false, false},
    {"-eB/c", NULL, false, false},
    {"-cB/a=0", NULL, true, false},
    {NULL, "APPTAINER_CONTAIN=1", true, false},
    {NULL, "APPTAINER_CONTAINALL=yes", true, false},
    {NULL, "SINGULARITY_CONTAIN=on", true, false},
    {NULL, "SINGULARITY_CONTAINALL=true", true, false},
    {NULL, "APPTAINER_CONTAIN=0", false, false},
    {NULL, "APPTAINER_CONTAIN=", false, false},
    {NULL, "APPTAINER_CONTAINER=/a.sif", false, false},
};

START_TEST(flags_in_any_spelling_close_a_container)
{
    BERTH_REQUEST struct berth_request request = {0};
    char *environment[] = {(char *)flags[_i].variable, NULL};
    struct berth_err err;

    if (flags[_i].args)
        berth_request_take(&request, ARGS, flags[_i].args, NULL, &err);
    ck_assert_int_eq(berth_request_closed(&request, environment), flags[_i].closed);
    ck_assert_int_eq(berth_request_has_spaces(&request), flags[_i].spaces);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("request");

    tcase_add_loop_test(tests, options_are_taken, 0, COUNT(taken));
    tcase_add_loop_test(tests, a_wrong_option_has_a_sentence, 0, COUNT(refused));
    tcase_add_test(tests, an_option_out_of_the_table_is_refused);
    tcase_add_test(tests, without_a_base_paths_are_absolute);
    tcase_add_loop_test(tests, own_values_go_over_defaults, 0, COUNT(merges));
    tcase_add_test(tests, a_mode_not_said_is_off);
    tcase_add_loop_test(tests, a_mode_and_other_components_tell_whose_library, 0,
                        COUNT(hosts));
    tcase_add_loop_test(tests, a_fabric_is_for_the_image_s_own_mpi, 0, COUNT(settled));
    tcase_add_loop_test(tests, what_means_nothing_is_refused, 0, COUNT(checks));
    tcase_add_loop_test(tests, requests_are_equal_only_to_their_like, 0,
                        COUNT(singles));
    tcase_add_loop_test(tests, flags_in_any_spelling_close_a_container, 0,
                        COUNT(flags));
    return unit_run("request", tests);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What one component asks for. A request is written here as the options that make it
 * and compared as its wire form, which shows all of it. */

#include "request/request.h"

#include "request/wire.h"
#include "unit.h"

#define IMAGE      (BERTH_OPTION_IMAGE + 1)
#define MOUNTS     (BERTH_OPTION_MOUNTS + 1)
#define WORKDIR    (BERTH_OPTION_WORKDIR + 1)
#define HOME       (BERTH_OPTION_MOUNT_HOME + 1)
#define NO_HOME    (BERTH_OPTION_NO_MOUNT_HOME + 1)
#define WRITABLE   (BERTH_OPTION_WRITABLE + 1)
#define ENTRYPOINT (BERTH_OPTION_ENTRYPOINT + 1)
#define ENV        (BERTH_OPTION_ENV + 1)
#define ARGS       (BERTH_OPTION_ARGS + 1)
#define GPU        (BERTH_OPTION_GPU + 1)
#define LIFETIME   (BERTH_OPTION_LIFETIME + 1)
#define NAME       (BERTH_OPTION_NAME + 1)
#define UNSHARE    (BERTH_OPTION_UNSHARE + 1)
#define SAVE       (BERTH_OPTION_SAVE + 1)
#define MPI        (BERTH_OPTION_MPI + 1)
#define LIBS       (BERTH_OPTION_LIBS + 1)
#define EXPLAIN    (BERTH_OPTION_EXPLAIN + 1)

#define BASE "/base"

/* An option; 0 ends a list of them. */
struct given {
    int option;
    const char *value;
};

static enum berth_option_id id_of(int option)
{
    return (enum berth_option_id)(option - 1);
}

static int take_all(const struct given *given, struct berth_request *request,
                    struct berth_err *err)
{
    for (; given->option; given++)
        if (berth_request_parse(request, id_of(given->option), given->value, BASE,
                                err) < 0)
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
    {{{0}}, ""},
    {{{IMAGE, "/a.sif"}}, "image=/a.sif"},
    {{{IMAGE, "a.sif"}}, "image=/base/a.sif"},
    {{{IMAGE, "./x/a.sif"}}, "image=/base/x/a.sif"},
    {{{IMAGE, "docker://a"}, {IMAGE, "docker://a"}}, "image=docker://a"},
    {{{UNSHARE, "net,ipc,net"}, {UNSHARE, "uts"}},
     "unshare=net&unshare=ipc&unshare=uts"},
    {{{IMAGE, "none"}}, "image=none"},
    {{{IMAGE, "./none"}}, "image=/base/none"},
    {{{IMAGE, "dir/a://b"}}, "image=/base/dir/a://b"},
    {{{IMAGE, "/a"}, {IMAGE, "/a"}}, "image=/a"},
    {{{IMAGE, "a"}, {IMAGE, "/base/a"}}, "image=/base/a"},
    {{{IMAGE, "none"}, {IMAGE, "none"}}, "image=none"},
    {{{MOUNTS, "/a,b:/c:ro"}, {MOUNTS, "/a"}}, "mounts=/base/b:/c:ro&mounts=/a:/a:rw"},
    {{{WORKDIR, "/w"}, {WORKDIR, "/w"}}, "workdir=/w"},
    {{{HOME, NULL}, {HOME, NULL}}, "mount-home="},
    {{{HOME, "(null)"}}, "mount-home="},
    {{{NO_HOME, NULL}, {NO_HOME, ""}}, "no-mount-home="},
    {{{WRITABLE, NULL}, {ENTRYPOINT, NULL}}, "writable=&entrypoint="},
    {{{ENV, "A"}}, "env=A"},
    {{{ENV, "A=1,B,_c9="}}, "env=A%3D1&env=B&env=_c9%3D"},
    {{{ENV, "A=1\\,2,B=\\"}}, "env=A%3D1,2&env=B%3D%5C"},
    {{{ENV, "A=x\\y"}}, "env=A%3Dx%5Cy"},
    {{{ENV, "A=x\\\\,B=y"}}, "env=A%3Dx%5C,B%3Dy"},
    {{{ENV, "A=b=c"}, {ENV, "A=d"}}, "env=A%3Db%3Dc&env=A%3Dd"},
    {{{ENV, "A=two\nlines"}}, "env=A%3Dtwo%0Alines"},
    {{{ARGS, "--nv"}}, "args=--nv"},
    {{{ARGS, "  --nv \t--bind\n/a  "}, {ARGS, "-c"}},
     "args=--nv&args=--bind&args=/a&args=-c"},
    {{{ARGS, "   "}}, ""},
    {{{GPU, "auto"}, {GPU, "auto"}}, "gpu=auto"},
    {{{GPU, "nvidia"}}, "gpu=nvidia"},
    {{{GPU, "rocm"}}, "gpu=rocm"},
    {{{GPU, "none"}}, "gpu=none"},
    {{{GPU, "auto,a/b-c_d.e=x,v.com/gpu=1:2"}},
     "gpu=auto,a/b-c_d.e%3Dx,v.com/gpu%3D1:2"},
    {{{NAME, "work"}}, "name=work"},
    {{{NAME, "work:auto"}}, "name=work"},
    {{{NAME, "1.2_a-B:no_exec"}}, "name=1.2_a-B:no_exec"},
    {{{SAVE, "x.sif"}}, "save=/base/x.sif"},
    {{{SAVE, "x.sqsh"}}, "save=/base/x.sqsh"},
    {{{LIFETIME, "step"}}, "lifetime=step"},
    {{{LIFETIME, "job"}, {LIFETIME, "job"}}, "lifetime=job"},
    {{{LIBS, "none"}}, "libs=none"},
    {{{LIBS, "openblas,auto"}, {MPI, NULL}}, "mpi-bind=auto&libs=openblas,auto"},
    {{{MPI, NULL}}, "mpi-bind=auto"},
    {{{MPI, ""}, {MPI, "(null)"}, {MPI, "auto"}}, "mpi-bind=auto"},
    {{{MPI, "local-each"}}, "mpi-bind=local-each"},
    {{{MPI, "cray-mpich-8"}}, "mpi-bind=cray-mpich-8"},
    {{{EXPLAIN, NULL}, {EXPLAIN, "(null)"}, {EXPLAIN, "text"}}, "explain=text"},
    {{{EXPLAIN, "json"}, {EXPLAIN, "json"}}, "explain=json"},
    {{{EXPLAIN, "yes"}, {EXPLAIN, ""}}, "explain=text"},
    {{{EXPLAIN, "no"}, {EXPLAIN, "no"}}, "explain=no"},
};

TEST_ROWS(options_are_taken, taken)
{
    BERTH_REQUEST struct berth_request request = {0};
    struct berth_err err;

    ck_assert_int_eq(take_all(taken[_i].given, &request, &err), 0);
    assert_fields(&request, taken[_i].fields);
}

#define EMPTY "the value is empty; give one, or leave the option out"
#define SCHEME                                                                         \
    "'a://b': cannot be pulled; write docker://, oras:// or library:// in place of "   \
    "a://, or the path of a file or directory"
#define ONE_PLACE(one, other)                                                          \
    "'" one "' and '" other                                                            \
    "' have one place in the image; leave one out, or choose another place"
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

#define NO_GPU(text)                                                                   \
    "'" text "' is not a kind of GPU; expected auto, nvidia, rocm, none, or the name " \
    "of a device like nvidia.com/gpu=all"
#define NO_LIBS(text)                                                                  \
    "'" text "' is not a name of libraries; expected auto, none, or the name of a "    \
    "profile"
#define EXCLUDES(text, word)                                                           \
    "'" text "': '" word "' goes with no other of these; leave one out"

static const struct {
    struct given given[3];
    const char *error;
} refused[] = {
    {{{IMAGE, ""}}, EMPTY},
    {{{MOUNTS, ""}}, EMPTY},
    {{{WORKDIR, ""}}, EMPTY},
    {{{ENV, ""}}, EMPTY},
    {{{ARGS, ""}}, EMPTY},
    {{{IMAGE, "a://b"}}, SCHEME},
    {{{IMAGE, "file:///a"}}, "'file:///a': cannot be pulled; write the path alone, /a"},
    {{{UNSHARE, "net,foo"}},
     "unknown namespace 'foo'; expected net, ipc or uts, with commas between them"},
    {{{IMAGE, "docker://a"}, {IMAGE, "docker://b"}}, TWICE("docker://a", "docker://b")},
    {{{IMAGE, "docker://a"}, {IMAGE, "/a"}}, TWICE("docker://a", "/a")},
    {{{GPU, ""}}, EMPTY},
    {{{GPU, "amd"}}, NO_GPU("amd")},
    {{{GPU, "none"}, {GPU, "rocm"}}, TWICE("none", "rocm")},
    {{{GPU, "auto,rocm"}}, EXCLUDES("auto,rocm", "rocm")},
    {{{GPU, "none,v.com/gpu=0"}}, EXCLUDES("none,v.com/gpu=0", "none")},
    {{{GPU, "/dev/fuse"}}, NO_GPU("/dev/fuse")},
    {{{GPU, "v.com/gpu"}}, NO_GPU("v.com/gpu")},
    {{{GPU, "v.com/gpu="}}, NO_GPU("v.com/gpu=")},
    {{{GPU, "v.com/gpu=0,"}}, NO_GPU("")},
    {{{GPU, "v.com/g/u=0"}}, NO_GPU("v.com/g/u=0")},
    {{{GPU, "v.com/gpu=-"}}, NO_GPU("v.com/gpu=-")},
    {{{NAME, "a b"}},
     "'a b' is not a name; expected at most 63 letters, digits, ., _ and -, of which "
     "the "
     "first is a letter or digit"},
    {{{NAME, ":create"}},
     "':create' is not a name; expected at most 63 letters, digits, ., _ and -, of "
     "which "
     "the first is a letter or digit"},
    {{{NAME, "work:run"}},
     "expected create, exec or no_exec after the colon, got 'run'"},
    {{{NAME, "work"}, {NAME, "work:exec"}},
     "given twice, 'work' and 'work:exec'; expected one value"},
    {{{LIFETIME, "node"}}, "'node' is not a lifetime; expected step or job"},
    {{{LIFETIME, "job"}, {LIFETIME, "step"}}, TWICE("job", "step")},
    {{{LIBS, "openblas,"}}, NO_LIBS("")},
    {{{LIBS, "libblas.so.3"}}, NO_LIBS("libblas.so.3")},
    {{{LIBS, "fftw,none"}}, EXCLUDES("fftw,none", "none")},
    {{{LIBS, "fftw"}, {LIBS, "none"}}, TWICE("fftw", "none")},
    {{{IMAGE, "/a"}, {IMAGE, "/b"}}, TWICE("/a", "/b")},
    {{{IMAGE, "/a"}, {IMAGE, "none"}}, TWICE("/a", "none")},
    {{{IMAGE, "none"}, {IMAGE, "a"}}, TWICE("none", "/base/a")},
    {{{WORKDIR, "/a"}, {WORKDIR, "/b"}}, TWICE("/a", "/b")},
    {{{WORKDIR, "w"}}, "expected a directory in the image, from /, got 'w'"},
    {{{EXPLAIN, "xml"}}, "'xml' is not a form; expected text, all, json or no"},
    {{{EXPLAIN, "json"}, {EXPLAIN, "no"}}, TWICE("json", "no")},
    {{{MOUNTS, "/a:b"}},
     "expected SRC[:DST[:ro|rw|sqsh]], DST from / and not / itself, got '/a:b'"},
    {{{HOME, NULL}, {NO_HOME, NULL}}, OPPOSITE},
    {{{NO_HOME, NULL}, {HOME, NULL}}, OPPOSITE},
    {{{ENV, "1A=x"}}, NO_VARIABLE("1A=x")},
    {{{ENV, "=x"}}, NO_VARIABLE("=x")},
    {{{ENV, "A-B"}}, NO_VARIABLE("A-B")},
    {{{ENV, "A B=1"}}, NO_VARIABLE("A B=1")},
    {{{ENV, "A,"}}, NO_VARIABLE("") COMMA},
    {{{ENV, ",A"}}, NO_VARIABLE("") COMMA},
    {{{ENV, "A=1,2"}}, NO_VARIABLE("2") COMMA},
    {{{ENV, "\303\204=1"}}, NO_VARIABLE("\303\204=1")},
    {{{MPI, "Host"}}, NO_MODE("Host")},
    {{{MPI, "-x"}}, NO_MODE("-x")},
    {{{MPI, "a/b"}}, NO_MODE("a/b")},
    {{{MPI, "NAME"}}, NO_MODE("NAME")},
    {{{MPI, "mpich_4"}}, NO_MODE("mpich_4")},
    {{{MPI, "mpich-4.2"}}, NO_MODE("mpich-4.2")},
    {{{MPI, "host"}, {MPI, "off"}}, TWICE("host", "off")},
    {{{MOUNTS, "/a:/d,/b:/d"}}, ONE_PLACE("/a:/d:rw", "/b:/d:rw")},
    {{{MOUNTS, "/a:/d"}, {MOUNTS, "/a:/d/:ro"}}, ONE_PLACE("/a:/d:rw", "/a:/d:ro")},
    {{{MOUNTS, "/a/x:/e/m.nml"}, {MOUNTS, "/a/y:/e/../e/m.nml"}},
     ONE_PLACE("/a/x:/e/m.nml:rw", "/a/y:/e/m.nml:rw")},
};

TEST_ROWS(a_wrong_option_has_a_sentence, refused)
{
    BERTH_REQUEST struct berth_request request = {0};
    struct berth_err err;

    ck_assert_int_eq(take_all(refused[_i].given, &request, &err), -1);
    ck_assert_str_eq(err.text, refused[_i].error);
}

TEST(an_option_out_of_the_table_is_refused)
{
    BERTH_REQUEST struct berth_request request = {0};
    struct berth_err err;

    ck_assert_int_eq(berth_request_parse(&request, BERTH_OPTION_COUNT, "x", NULL, &err),
                     -1);
    ck_assert_ptr_nonnull(strstr(err.text, "internal data is damaged (option "));
}

TEST(without_a_base_paths_are_absolute)
{
    BERTH_REQUEST struct berth_request request = {0};
    struct berth_err err;

    ck_assert_int_eq(berth_request_parse(&request, id_of(IMAGE), "a", NULL, &err), -1);
    ck_assert_str_eq(err.text, "expected a path from /, got 'a'");
    ck_assert_int_eq(berth_request_parse(&request, id_of(MOUNTS), "a", NULL, &err), -1);
    ck_assert_str_eq(err.text, "'a': expected a path from /, got 'a'");
}

static const struct {
    const char *defaults;
    const char *own;
    const char *merged;
} merges[] = {
    {"", "", ""},
    {"image=/a", "", "image=/a"},
    {"", "image=/a", "image=/a"},
    {"image=/a", "image=/b", "image=/b"},
    {"image=/a&mounts=/m", "image=/b&mounts=/n",
     "image=/b&mounts=/m:/m:rw&mounts=/n:/n:rw"},
    {"image=/a&mounts=/m:/d&mounts=/o", "mounts=/n:/d/:ro",
     "image=/a&mounts=/o:/o:rw&mounts=/n:/d:ro"},
    {"image=/a&mounts=/m:/d&mounts=/e:/d/e", "mounts=/n:/x/..//d/.",
     "image=/a&mounts=/e:/d/e:rw&mounts=/n:/d:rw"},
    {"image=/a&workdir=/w&env=A&args=-x", "workdir=/v&env=A%3D1&args=-y",
     "image=/a&workdir=/v&env=A&env=A%3D1&args=-x&args=-y"},
    {"image=/a&mount-home=", "no-mount-home=", "image=/a&no-mount-home="},
    {"image=/a&no-mount-home=&writable=", "entrypoint=",
     "image=/a&no-mount-home=&writable=&entrypoint="},
    {"image=/a&mounts=/m&workdir=/w&mount-home=&writable=&entrypoint=&env=A",
     "image=none", "image=none"},
    {"image=none", "image=/b", "image=/b"},
    {"image=docker://a", "image=/b", "image=/b"},
    {"image=/a", "image=oras://b", "image=oras://b"},
    {"image=docker://a", "image=none", "image=none"},
    {"image=/a&mpi-bind=auto", "", "image=/a&mpi-bind=auto"},
    {"image=/a&mpi-bind=host", "mpi-bind=off", "image=/a&mpi-bind=off"},
    {"image=/a&gpu=nvidia", "gpu=none", "image=/a&gpu=none"},
    {"image=/a&gpu=nvidia", "", "image=/a&gpu=nvidia"},
    {"image=/a&lifetime=job", "lifetime=step", "image=/a&lifetime=step"},
    {"image=none", "", "image=none"},
};

TEST_ROWS(own_values_go_over_defaults, merges)
{
    BERTH_REQUEST struct berth_request defaults = {0};
    BERTH_REQUEST struct berth_request own = {0};
    BERTH_REQUEST struct berth_request merged = {0};
    struct berth_err err;

    ck_assert_int_eq(berth_wire_get_request(merges[_i].defaults, &defaults, &err), 0);
    ck_assert_int_eq(berth_wire_get_request(merges[_i].own, &own, &err), 0);
    ck_assert_int_eq(berth_request_merge(&merged, &defaults, &err), 0);
    ck_assert_int_eq(berth_request_merge(&merged, &own, &err), 0);
    assert_fields(&merged, merges[_i].merged);
}

#define ON_HOST                                                                        \
    "--container-image=none: the other container options mean nothing on the host; "   \
    "leave them out"
#define NO_IMAGE(option) "--" option ": it needs an image; add --container-image=IMAGE"

static const struct {
    const char *request;
    const char *error; /* NULL: fine */
} checks[] = {
    {"", NULL},
    {"image=/a", NULL},
    {"image=none", NULL},
    {"image=/a&mounts=/m", NULL},
    {"image=none&mounts=/m", ON_HOST},
    {"image=none&no-mount-home=", ON_HOST},
    {"mounts=/m", NO_IMAGE("container-mounts")},
    {"workdir=/w", NO_IMAGE("container-workdir")},
    {"mount-home=", NO_IMAGE("container-mount-home")},
    {"no-mount-home=", NO_IMAGE("no-container-mount-home")},
    {"writable=", NO_IMAGE("container-writable")},
    {"remap-root=", NO_IMAGE("container-remap-root")},
    {"entrypoint=", NO_IMAGE("container-entrypoint")},
    {"env=A", NO_IMAGE("container-env")},
    {"args=-x", NO_IMAGE("container-args")},
    {"gpu=auto", NO_IMAGE("container-gpu")},
    {"lifetime=job", NO_IMAGE("container-lifetime")},
    {"name=work", NULL},
    {"image=/a&name=work&lifetime=job", NULL},
    {"image=none&name=work", ON_HOST},
    {"image=/a&name=work&lifetime=step", "--container-lifetime=step: a container with "
                                         "a name lasts as long as its job; leave "
                                         "one of these out"},
    {"save=/x.sif", NO_IMAGE("container-save")},
    {"libs=auto", NO_IMAGE("container-libs")},
    {"image=/a&libs=fftw&mpi-bind=local", NULL},
    {"mpi-bind=auto", NO_IMAGE("mpi-bind")},
    {"image=none&mpi-bind=off", ON_HOST},
};

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

TEST_ROWS(a_mode_and_other_components_tell_whose_library, hosts)
{
    struct berth_request request = {.mpi = (char *)hosts[_i].mode,
                                    .world = hosts[_i].world};

    ck_assert_int_eq(berth_request_mpi_may_host(&request), hosts[_i].may);
    ck_assert_int_eq(berth_request_mpi_must_host(&request), hosts[_i].must);
}

static const struct {
    const char *request;
    const char *completed;
} completed[] = {
    {"image=/a", "image=/a"},
    {"image=/a&libs=blas,ucx", "image=/a&mpi-bind=hybrid&libs=blas,ucx"},
    {"image=/a&libs=openblas", "image=/a&libs=openblas"},
    {"image=/a&libs=none", "image=/a&libs=none"},
    {"image=/a&mpi-bind=host&libs=auto", "image=/a&mpi-bind=host&libs=auto"},
};

static const struct {
    const char *libs, *mpi, *name;
    bool lists, looks;
    const char *cause;
} listed[] = {
    {NULL, NULL, "a", false, false, "--mpi-bind"},
    {"none", NULL, "none", false, false, "--mpi-bind"},
    {"auto", "local", "auto", true, false, "--container-libs"},
    {"a", "off", "a", true, true, "--container-libs"},
    {"ab,c", "local", "a", false, true, "--container-libs"},
    {"ab,c", "hybrid", "c", true, true, "--container-libs"},
    {"ab,c", "auto", "ab", true, true, "--mpi-bind"},
    {"a,bc", "host", "b", false, true, "--mpi-bind"},
};

TEST_ROWS(libraries_are_named, listed)
{
    const struct berth_request request = {.image = (char *)"/a",
                                          .mpi = (char *)listed[_i].mpi,
                                          .libs = (char *)listed[_i].libs};

    ck_assert_int_eq(berth_request_lists_library(&request, listed[_i].name),
                     listed[_i].lists);
    ck_assert_int_eq(berth_request_looks_inside(&request), listed[_i].looks);
    ck_assert_int_eq(berth_request_may_stage(&request), listed[_i].looks);
    ck_assert_str_eq(berth_request_cause(&request), listed[_i].cause);
}

TEST_ROWS(libraries_imply_the_image_s_own_mpi, completed)
{
    BERTH_REQUEST struct berth_request request = {0};
    struct berth_err err;

    ck_assert_int_eq(berth_wire_get_request(completed[_i].request, &request, &err), 0);
    ck_assert_int_eq(berth_request_complete(&request, &err), 0);
    assert_fields(&request, completed[_i].completed);
}

TEST_ROWS(what_means_nothing_is_refused, checks)
{
    BERTH_REQUEST struct berth_request request = {0};
    struct berth_err err;

    ck_assert_int_eq(berth_wire_get_request(checks[_i].request, &request, &err), 0);
    ck_assert_int_eq(berth_request_has_options(&request), *checks[_i].request != '\0');
    ck_assert_int_eq(berth_request_check(&request, &err), checks[_i].error ? -1 : 0);
    if (checks[_i].error)
        ck_assert_str_eq(err.text, checks[_i].error);
}

/* One option each, so that no two rows are equal. */
static const char *const singles[] = {
    "",           "image=/a",    "image=/b",       "image=none",
    "mounts=/m",  "mounts=/n",   "mounts=/m:/n",   "mounts=/m:/m:ro",
    "workdir=/w", "workdir=/v",  "mount-home=",    "no-mount-home=",
    "writable=",  "remap-root=", "no-remap-root=", "env=A",
    "env=A%3D",   "entrypoint=", "args=-x",        "args=-x&args=-y",
    "gpu=auto",   "gpu=none",    "lifetime=job",   "lifetime=step",
};

TEST_ROWS(requests_are_equal_only_to_their_like, singles)
{
    BERTH_REQUEST struct berth_request a = {0};
    struct berth_err err;

    berth_wire_get_request(singles[_i], &a, &err);
    for (int j = 0; j < COUNT(singles); j++) {
        BERTH_REQUEST struct berth_request b = {0};

        berth_wire_get_request(singles[j], &b, &err);
        ck_assert_int_eq(berth_request_equal(&a, &b), j == _i);
    }
    ck_assert_int_eq(berth_request_has_container(&a), _i == 1 || _i == 2);
}

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

TEST_ROWS(flags_in_any_spelling_close_a_container, flags)
{
    BERTH_REQUEST struct berth_request request = {0};
    char *environment[] = {(char *)flags[_i].variable, NULL};
    struct berth_err err;

    if (flags[_i].args)
        berth_request_parse(&request, id_of(ARGS), flags[_i].args, NULL, &err);
    ck_assert_int_eq(berth_request_is_closed(&request, environment), flags[_i].closed);
    ck_assert_int_eq(berth_request_has_namespaces(&request), flags[_i].spaces);
    ck_assert_int_eq(berth_request_is_separate(&request, environment),
                     flags[_i].closed || flags[_i].spaces);
}

static const struct {
    const char *args; /* NULL: none */
    const char *variable;
    bool is_out;
} mounts[] = {
    {NULL, "A=dev", false},
    {"--no-mount dev", NULL, true},
    {"--no-mount=tmp,dev", NULL, true},
    {"--no-mount tmp,dev,proc", NULL, true},
    {"--no-mount devpts", NULL, false},
    {"--no-mount=tmp,hostfs", NULL, false},
    {"--nv --no-mount", NULL, false},
    {"--no-mounts dev", NULL, false},
    {NULL, "APPTAINER_NO_MOUNT=sys,dev", true},
    {NULL, "SINGULARITY_NO_MOUNT=dev", true},
    {NULL, "APPTAINER_NO_MOUNT=/dev", false},
};

TEST_ROWS(dev_is_left_out_where_a_flag_says_so, mounts)
{
    BERTH_REQUEST struct berth_request request = {0};
    char *environment[] = {(char *)mounts[_i].variable, NULL};
    struct berth_err err;

    if (mounts[_i].args)
        berth_request_parse(&request, id_of(ARGS), mounts[_i].args, NULL, &err);
    ck_assert_int_eq(berth_request_leaves_dev_out(&request, environment),
                     mounts[_i].is_out);
}

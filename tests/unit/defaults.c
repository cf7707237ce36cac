/* SPDX-License-Identifier: Apache-2.0 */
/* Options that variables ask for. */

#include "request/defaults.h"

#include "base/buf.h"
#include "request/wire.h"
#include "unit.h"

static const struct {
    const char *environ[6];
    const char *assigned;
    const char *request; /* as on the wire; NULL: refused */
    const char *error;
} cases[] = {
    {.environ = {NULL}, .request = ""},
    {.environ = {"BERTH_CONTAINER_IMAGE=/a.sif"}, .request = "image=/a.sif"},
    {.environ = {"BERTH_CONTAINER_IMAGE=a.sif"}, .request = "image=/base/a.sif"},
    {.environ = {"BERTH_CONTAINER_IMAGE=none"}, .request = "image=none"},
    {.environ = {"BERTH_CONTAINER_IMAGE="},
     .error = "BERTH_CONTAINER_IMAGE: the value is empty; give one, or leave the "
              "option out"},
    {.environ = {"BERTH_CONTAINER_MOUNTS=", "BERTH_CONTAINER_WRITABLE=",
                 "BERTH_MPI_BIND=", "BERTH_CONTAINER_REMAP_ROOT="},
     .request = ""},
    {.environ = {"XBERTH_CONTAINER_IMAGE=/a", "BERTH_CONTAINER_IMAGES=/a",
                 "BERTH_CONTAINER_IMAGE"},
     .request = ""},
    {.environ = {"BERTH_CONTAINER_MOUNTS=/a:/b:ro,c", "BERTH_CONTAINER_ENV=A=1,B"},
     .request = "mounts=/a:/b:ro&mounts=/base/c:/base/c:rw&env=A%3D1&env=B"},
    {.environ = {"BERTH_CONTAINER_ARGS=--nv --x", "BERTH_CONTAINER_WORKDIR=/w"},
     .request = "workdir=/w&args=--nv&args=--x"},
    {.environ = {"BERTH_CONTAINER_WRITABLE=yes", "BERTH_CONTAINER_ENTRYPOINT=1",
                 "BERTH_CONTAINER_MOUNT_HOME=true"},
     .request = "mount-home=&writable=&entrypoint="},
    {.environ = {"BERTH_CONTAINER_WRITABLE=no", "BERTH_CONTAINER_ENTRYPOINT=0",
                 "BERTH_CONTAINER_MOUNT_HOME=false"},
     .request = "no-mount-home=&readonly=&no-entrypoint="},
    {.environ = {"BERTH_CONTAINER_READONLY=0"}, .request = "writable="},
    {.environ = {"BERTH_CONTAINER_MOUNT_HOME=0", "BERTH_NO_CONTAINER_MOUNT_HOME=1"},
     .request = "no-mount-home="},
    {.environ = {"BERTH_NO_CONTAINER_MOUNT_HOME=yes"}, .request = "no-mount-home="},
    {.environ = {"BERTH_MPI_BIND=hybrid"}, .request = "mpi-bind=hybrid"},
    {.environ = {"BERTH_CONTAINER_EXPLAIN=yes"}, .request = "explain=text"},
    {.environ = {"BERTH_CONTAINER_EXPLAIN=no"}, .request = "explain=no"},
    {.environ = {"BERTH_CONTAINER_IMAGE=/a"},
     .assigned = "BERTH_CONTAINER_IMAGE=/b",
     .request = "image=/b"},
    {.environ = {NULL}, .assigned = "BERTH_CONTAINER_IMAGE=/b", .request = "image=/b"},
    {.environ = {"BERTH_CONTAINER_IMAGE=/a"},
     .assigned = "BERTH_CONTAINER_IMAGE=",
     .error = "BERTH_CONTAINER_IMAGE: the value is empty; give one, or leave the "
              "option out"},
    {.environ = {"BERTH_CONTAINER_IMAGE=docker://x"}, .request = "image=docker://x"},
    {.environ = {"BERTH_CONTAINER_IMAGE=file:///x"},
     .error = "BERTH_CONTAINER_IMAGE: 'file:///x': cannot be pulled; write the path "
              "alone, /x"},
    {.environ = {"BERTH_CONTAINER_REMAP_ROOT=1"}, .request = "remap-root="},
    {.environ = {"BERTH_CONTAINER_REMAP_ROOT=0"}, .request = "no-remap-root="},
    {.environ = {"BERTH_CONTAINER_REMAP_ROOT=maybe"},
     .error = "BERTH_CONTAINER_REMAP_ROOT: expected yes or no, got 'maybe'"},
    {.environ = {"BERTH_CONTAINER_NAME=x:auto"}, .request = "name=x"},
    {.environ = {"BERTH_CONTAINER_SAVE=x.img"},
     .error =
         "BERTH_CONTAINER_SAVE: 'x.img': an image is a SIF file or a squashfs file; "
         "give a name that ends in .sif or .sqsh"},
    {.environ = {"BERTH_CONTAINER_WRITABLE=maybe"},
     .error = "BERTH_CONTAINER_WRITABLE: expected yes or no, got 'maybe'"},
    {.environ = {"BERTH_CONTAINER_WORKDIR=w"},
     .error =
         "BERTH_CONTAINER_WORKDIR: expected a directory in the image, from /, got 'w'"},
    {.environ = {"BERTH_CONTAINER_MOUNT_HOME=1", "BERTH_NO_CONTAINER_MOUNT_HOME=1"},
     .error = "BERTH_NO_CONTAINER_MOUNT_HOME: given together with its opposite; "
              "expected one of --container-mount-home and --no-container-mount-home"},
};

TEST_ROWS(variables_become_options, cases)
{
    BERTH_REQUEST struct berth_request request = {0};
    BERTH_STRVEC struct berth_strvec assigned = {0};
    BERTH_BUF struct berth_buf text = {0};
    struct berth_err err = {0};
    int result;

    if (cases[_i].assigned)
        berth_strvec_push(&assigned, cases[_i].assigned);
    result = berth_defaults_parse((char *const *)cases[_i].environ, &assigned, "/base",
                                  &request, &err);
    ck_assert_str_eq(err.text, cases[_i].error ? cases[_i].error : "");
    ck_assert_int_eq(result, cases[_i].error ? -1 : 0);
    berth_buf_puts(&text, "");
    berth_wire_put_request(&text, &request);
    ck_assert_str_eq(text.text, cases[_i].request ? cases[_i].request : "");
}

static const struct {
    const char *environ[6];
    const char *said;    /* on the wire */
    const char *request; /* in the end; NULL: refused */
    const char *added;   /* of that, by the variables; or the error */
} pyxis[] = {
    {{"PYXIS_CONTAINER_IMAGE=/a.sif", "PYXIS_CONTAINER_MOUNTS=/a:/b"},
     "",
     "image=/a.sif&mounts=/a:/b:rw",
     "image=/a.sif&mounts=/a:/b:rw"},
    {{"PYXIS_CONTAINER_IMAGE=a.sif"}, "image=/b.sif", "image=/b.sif", ""},
    {{"PYXIS_CONTAINER_MOUNT_HOME=0", "PYXIS_CONTAINER_ENTRYPOINT=1",
      "PYXIS_CONTAINER_WRITABLE=1", "PYXIS_CONTAINER_REMAP_ROOT=0"},
     "image=/a.sif",
     "image=/a.sif&no-mount-home=&writable=&no-remap-root=&entrypoint=",
     "no-mount-home=&writable=&no-remap-root=&entrypoint="},
    {{"PYXIS_CONTAINER_WRITABLE=1"}, "image=/a&readonly=", "image=/a&readonly=", ""},
    {{"PYXIS_CONTAINER_READONLY=0"}, "image=/a", "image=/a&writable=", "writable="},
    /* pyxis does not add to a list */
    {{"PYXIS_CONTAINER_MOUNTS=/a:/b", "PYXIS_CONTAINER_ENV=A"},
     "image=/a.sif&mounts=/c:/c:rw",
     "image=/a.sif&mounts=/c:/c:rw&env=A",
     "env=A"},
    {{"PYXIS_CONTAINER_MOUNTS=/a:/b"}, "", "", ""},
    {{"PYXIS_CONTAINER_MOUNTS=/a:/b", "PYXIS_CONTAINER_IMAGE=/a"},
     "image=none",
     "image=none",
     ""},
    {{"PYXIS_CONTAINER_NAME=x"}, "image=/a.sif", "image=/a.sif&name=x", "name=x"},
    {{"PYXIS_MPI_BIND=host", "PYXIS_X=1"}, "image=/a.sif", "image=/a.sif", ""},
    {{"PYXIS_CONTAINER_WORKDIR=w"},
     "image=/a.sif",
     NULL,
     "PYXIS_CONTAINER_WORKDIR: expected a directory in the image, from /, got 'w'"},
    {{"PYXIS_CONTAINER_WORKDIR=w"},
     "image=/a.sif&workdir=/w",
     "image=/a.sif&workdir=/w",
     ""},
    {{"PYXIS_CONTAINER_WRITABLE=1", "PYXIS_CONTAINER_READONLY=1"},
     "image=/a.sif",
     NULL,
     "PYXIS_CONTAINER_READONLY: given together with its opposite; expected one of "
     "--container-writable and --container-readonly"},
};

static void equals_wire(const struct berth_request *request, const char *expected)
{
    BERTH_BUF struct berth_buf text = {0};

    berth_buf_puts(&text, "");
    berth_wire_put_request(&text, request);
    ck_assert_str_eq(text.text, expected);
}

TEST_ROWS(variables_of_pyxis_count_where_nothing_else_is_said, pyxis)
{
    BERTH_REQUEST struct berth_request request = {0};
    BERTH_REQUEST struct berth_request added = {0};
    struct berth_strvec nothing = {0};
    struct berth_err err = {0};
    int result;

    ck_assert_int_eq(berth_wire_get_request(pyxis[_i].said, &request, NULL), 0);
    result = berth_defaults_add_pyxis((char *const *)pyxis[_i].environ, &nothing,
                                      "/base", &request, &added, &err);
    ck_assert_int_eq(result, pyxis[_i].request ? 0 : -1);
    if (!pyxis[_i].request) {
        ck_assert_str_eq(err.text, pyxis[_i].added);
        return;
    }
    equals_wire(&request, pyxis[_i].request);
    equals_wire(&added, pyxis[_i].added);
}

#define TWO "1;0:image=/a.sif;1:image=/b.sif;."

static const struct {
    const char *text;
    int group;
    const char *image; /* NULL: none, or refused */
    const char *error;
} jobs[] = {
    {.text = NULL},
    {"1;*:image=/a.sif&writable=;.", 0, "/a.sif", NULL},
    {"1;*:image=/a.sif&writable=;.", 5, "/a.sif", NULL},
    {"1;*:image=/a.sif&writable=;.", BERTH_GROUP_UNKNOWN, "/a.sif", NULL},
    {"2;*:image=/a.sif", 0, NULL, "SLURM_BERTH_JOB: " DAMAGED("2;*:image=/a.sif")},
    {TWO, 0, "/a.sif", NULL},
    {TWO, 1, "/b.sif", NULL},
    {TWO, 2, "/b.sif", NULL},
    {TWO, BERTH_GROUP_UNKNOWN, NULL,
     "the components of this job have different container options, and berth cannot "
     "tell which component this is; write --het-group with numbers "
     "(--het-group=0,2-3), or unset SLURM_BERTH_JOB and name the image"},
};

TEST_ROWS(a_job_has_a_default_for_each_group, jobs)
{
    BERTH_REQUEST struct berth_request request = {0};
    struct berth_err err = {0};
    int result = berth_defaults_job(jobs[_i].text, jobs[_i].group, &request, &err);

    ck_assert_int_eq(result, jobs[_i].error ? -1 : 0);
    ck_assert_str_eq(err.text, jobs[_i].error ? jobs[_i].error : "");
    ck_assert_pstr_eq(request.image, jobs[_i].image);
}

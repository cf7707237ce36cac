/* SPDX-License-Identifier: Apache-2.0 */
/* Which steps may share a container that has a name. */

#include "job/named.h"

#include <string.h>

#include "request/named.h"
#include "request/wire.h"
#include "unit.h"

static void read_both(const char *has, const char *wants, struct berth_request *ret_has,
                      struct berth_request *ret_wants)
{
    struct berth_err err;

    ck_assert_int_eq(berth_wire_get_request(has, ret_has, &err), 0);
    ck_assert_int_eq(berth_wire_get_request(wants, ret_wants, &err), 0);
}

static const struct {
    const char *has, *wants;
    const char *error; /* NULL: the image is right */
} images[] = {
    {"image=/a&name=work", "name=work", NULL},
    {"image=/a&name=work", "image=/a&name=work:exec", NULL},
    {"image=/c/1&uri=docker://a:1&name=work", "image=/c/2&uri=docker://a:1&name=work",
     NULL},
    {"image=/c/1&uri=docker://a:1&name=work", "image=/c/1&name=work", NULL},
    {"image=/a&name=work:create", "image=/b&name=work",
     "--container-name=work: the container has the image '/a'; leave --container-image "
     "out, or take another name for '/b'"},
    {"image=/c/1&uri=docker://a:1&name=work", "image=/c/1&uri=docker://a:2&name=work",
     "--container-name=work: the container has the image 'docker://a:1'; leave "
     "--container-image out, or take another name for 'docker://a:2'"},
};

TEST_ROWS(a_name_means_one_image, images)
{
    BERTH_REQUEST struct berth_request has = {0};
    BERTH_REQUEST struct berth_request wants = {0};
    struct berth_err err;

    read_both(images[_i].has, images[_i].wants, &has, &wants);
    ck_assert_int_eq(berth_job_check_image(&has, &wants, &err),
                     images[_i].error ? -1 : 0);
    if (images[_i].error)
        ck_assert_str_eq(err.text, images[_i].error);
}

#define WITHOUT(option)                                                                \
    "--container-name=work: another step runs in the container, which was started "    \
    "without " option "; start this step after that one, or give the option to both"

#define NO_NAMESPACE(text, word)                                                       \
    "--container-name=work: another step runs in the container, which is not in a "    \
    "separate " text                                                                   \
    " namespace; start this step after that one, or give --container-unshare=" word    \
    " to both"

static const struct {
    const char *has, *wants;
    const char *error; /* NULL: the step may join the container that runs */
} running[] = {
    {"image=/a&name=work&mounts=/x:/y:rw", "name=work", NULL},
    {"image=/a&name=work&mounts=/x:/y:rw&mounts=/z:/z:ro", "name=work&mounts=/z:/z:ro",
     NULL},
    {"image=/a&name=work", "name=work&env=A&workdir=/w&mpi-bind=auto&lifetime=job",
     NULL},
    {"image=/a&name=work&mounts=/x:/y:rw", "name=work&mounts=/x:/y:ro",
     WITHOUT("--container-mounts=/x:/y:ro")},
    {"image=/a&name=work",
     "name=work&no-mount-home=", WITHOUT("--no-container-mount-home")},
    {"image=/a&name=work&writable=", "name=work&readonly=",
     WITHOUT("--container-readonly")},
    {"image=/a&name=work", "name=work&args=--fakeroot",
     WITHOUT("--container-args=--fakeroot")},
    {"image=/a&name=work", "name=work&remap-root=", WITHOUT("--container-remap-root")},
    {"image=/a&name=work&unshare=net&unshare=ipc", "name=work", NULL},
    {"image=/a&name=work&unshare=net&unshare=ipc", "name=work&unshare=ipc", NULL},
    {"image=/a&name=work", "name=work&unshare=net", NO_NAMESPACE("network", "net")},
    {"image=/a&name=work&unshare=net", "name=work&unshare=net&unshare=ipc",
     NO_NAMESPACE("IPC", "ipc")},
    {"image=/a&name=work", "name=work&unshare=uts", NO_NAMESPACE("UTS", "uts")},
    {"image=/a&name=work", "name=work&gpu=nvidia", WITHOUT("--container-gpu=nvidia")},
};

TEST(a_default_of_the_site_asks_for_nothing)
{
    BERTH_REQUEST struct berth_request has = {0};
    BERTH_REQUEST struct berth_request wants = {0};
    struct berth_err err;

    read_both("image=/a&name=work", "name=work&remap-root=&unshare=net", &has, &wants);
    berth_strvec_push(&wants.site, "container-remap-root");
    ck_assert_int_eq(berth_job_check_running(&has, &wants, &err), -1);
    ck_assert_str_eq(err.text, NO_NAMESPACE("network", "net"));
    berth_strvec_fini(&wants.unshare);
    ck_assert_int_eq(berth_job_check_running(&has, &wants, &err), 0);
}

TEST_ROWS(a_step_may_ask_for_less_than_runs, running)
{
    BERTH_REQUEST struct berth_request has = {0};
    BERTH_REQUEST struct berth_request wants = {0};
    struct berth_err err;

    read_both(running[_i].has, running[_i].wants, &has, &wants);
    ck_assert_int_eq(berth_job_check_running(&has, &wants, &err),
                     running[_i].error ? -1 : 0);
    if (running[_i].error)
        ck_assert_str_eq(err.text, running[_i].error);
}

TEST(a_flag_is_not_of_the_name)
{
    ck_assert(berth_named_same("work", "work:exec"));
    ck_assert(!berth_named_same("work", "works"));
    ck_assert(!berth_named_same("work:exec", "wor:exec"));
    ck_assert_str_eq(berth_named_flag("work"), BERTH_NAMED_AUTO);
    ck_assert_str_eq(berth_named_flag("work:create"), BERTH_NAMED_CREATE);
    ck_assert_int_eq(berth_named_length("work:create"), 4);
}

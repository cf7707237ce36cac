/* SPDX-License-Identifier: Apache-2.0 */
/* Images in registries, as text. */

#include "request/uri.h"

#include "base/cleanup.h"
#include "unit.h"

#define DIGEST "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static const struct {
    const char *uri;
    const char *name;
} names[] = {
    {"docker://alpine", "docker+alpine=latest"},
    {"docker://alpine:latest", "docker+alpine=latest"},
    {"docker:///alpine", "docker+alpine=latest"},
    {"docker://ghcr.io/org/app:1.2", "docker+ghcr.io+org+app=1.2"},
    {"docker://localhost:5000/app", "docker+localhost=5000+app=latest"},
    {"docker://[::1]:5000/a~b:1", "docker+[==1]=5000+a~b=1"},
    {"docker://r/app@" DIGEST, "docker+r+app@sha256=e3b0c44298fc1c149afbf4c8996fb92427"
                               "ae41e4649b934ca495991b7852b855"},
    {"oras://r/a.sif:1", "oras+r+a.sif=1"},
    {"library://entity/collection/x:1,2", "library+entity+collection+x=1,2"},
    {"library:///x", "library+x=latest"},
};

TEST_ROWS(each_image_has_a_name_in_the_cache, names)
{
    BERTH_FREE char *name = NULL;
    struct berth_err err;

    ck_assert(berth_uri_is(names[_i].uri));
    ck_assert_int_eq(berth_uri_name(names[_i].uri, &name, &err), 0);
    ck_assert_str_eq(name, names[_i].name);
}

#define SCHEME(scheme)                                                                 \
    ": cannot be pulled; write docker://, oras:// or library:// in place of " scheme   \
    ", or the path of a file or directory"
#define BUILD(source)                                                                  \
    "'" source "': cannot be pulled; make an image of it first: apptainer build "      \
    "image.sif " source
#define DAEMON(uri, name)                                                              \
    "'" uri "': the docker daemon of a host has this image, and the nodes do not; "    \
    "make an image of it first: apptainer build image.sif docker-daemon:" name
#define LOGIN                                                                          \
    "a user or password in a URI is seen by all; leave it out and log in first: "      \
    "apptainer (or singularity) registry login docker://"

static const struct {
    const char *uri;
    const char *error;
} wrong[] = {
    {"file:///a.sif",
     "'file:///a.sif': cannot be pulled; write the path alone, /a.sif"},
    {"instance://db", "'instance://db': an instance is not an image; `berth enter "
                      "JOBID` enters the container of a step, and "
                      "--container-lifetime=job keeps one for later steps"},
    {"docker-daemon://x:1", BUILD("docker-daemon://x:1")},
    {"oci://x", BUILD("oci://x")},
    {"shub://a/b", "'shub://a/b'" SCHEME("shub://")},
    {"Docker://a", "'Docker://a'" SCHEME("Docker://")},
    {"dockerd://ubuntu", DAEMON("dockerd://ubuntu", "ubuntu:latest")},
    {"dockerd://r/app:1", DAEMON("dockerd://r/app:1", "r/app:1")},
    {"/a.sif", "'/a.sif': cannot be pulled; write docker://, oras:// or library:// "
               "before it, or the path of a file or directory"},
    {"ubuntu:22.04", "'ubuntu:22.04': cannot be pulled; write docker://ubuntu:22.04"},
    {"ubuntu", "'ubuntu': cannot be pulled; write docker://ubuntu"},
    {"docker://", "expected HOST/NAME:TAG after the scheme, got 'docker://'"},
    {"oras:///", "expected HOST/NAME:TAG after the scheme, got 'oras:///'"},
    {"docker://nvcr.io",
     "'docker://nvcr.io': names a registry and no image; expected "
     "docker://nvcr.io/NAME:TAG (Slurm cuts an #SBATCH line at '#')"},
    {"docker://a b", "expected HOST/NAME:TAG after the scheme, got 'docker://a b'"},
    {"docker://a\n", "expected HOST/NAME:TAG after the scheme, got 'docker://a\\n'"},
    {"docker://a+b", "expected HOST/NAME:TAG after the scheme, got 'docker://a+b'"},
    {"docker://a=b", "expected HOST/NAME:TAG after the scheme, got 'docker://a=b'"},
    {"docker://me:secret@r/app", LOGIN "r"},
    {"docker://me:s@cret@r/app", LOGIN "r"},
    {"docker://me@r/app@" DIGEST, LOGIN "r"},
    {"docker://$oauthtoken@nvcr.io/nvidia/app:1", LOGIN "nvcr.io"},
    {"docker://@nvcr.io/nvidia/app:1", LOGIN "nvcr.io"},
    {"docker:26.1-dind", "'docker:26.1-dind': cannot be pulled; write "
                         "docker://docker:26.1-dind"},
    {"docker:dind-rootless", "'docker:dind-rootless': cannot be pulled; write "
                             "docker://docker:dind-rootless"},
    {"docker:ubuntu", "'docker:ubuntu': cannot be pulled; write docker://ubuntu"},
    {"docker:3scale/app", "'docker:3scale/app': cannot be pulled; write "
                          "docker://3scale/app"},
};

TEST_ROWS(what_cannot_be_pulled_is_refused, wrong)
{
    BERTH_FREE char *name = NULL;
    struct berth_err err;

    ck_assert_int_eq(berth_uri_check(wrong[_i].uri, &err), -1);
    ck_assert_str_eq(err.text, wrong[_i].error);
    ck_assert_int_eq(berth_uri_name(wrong[_i].uri, &name, &err), -1);
    ck_assert_ptr_null(name);
}

TEST(a_name_is_not_longer_than_that_of_a_file)
{
    BERTH_FREE char *name = NULL;
    char uri[300] = "docker://";
    struct berth_err err;

    /* With -ppc64le it is the name of a link of 255. */
    memset(uri + 9, 'a', 164);
    uri[9 + 164] = ':';
    memset(uri + 9 + 165, '1', 75);
    ck_assert_int_eq(berth_uri_name(uri, &name, &err), 0);
    ck_assert_uint_eq(strlen(name), 247);
    strcat(uri, "1");
    ck_assert_int_eq(berth_uri_name(uri, &name, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "': longer than a file name can be; pull it "
                                           "by hand, and give the file"));
}

static const char *const there_and_back[] = {
    "docker://r:5000/a/b:1", "oras://r/x@sha256:1f", "library://x:latest"};

TEST_ROWS(a_name_leads_back_to_its_uri, there_and_back)
{
    BERTH_FREE char *name = NULL, *uri = NULL;

    ck_assert_int_eq(berth_uri_name(there_and_back[_i], &name, NULL), 0);
    uri = berth_uri_of_name(name);
    ck_assert_str_eq(uri, there_and_back[_i]);
}

static const char *const paths[] = {"a.sif", "/a://b", "./docker://x", "docker:x",
                                    "://x",  "",       "none",         "a/b://c"};

TEST_ROWS(a_path_is_no_uri, paths)
{
    ck_assert(!berth_uri_is(paths[_i]));
}

static const char *const environment[] = {"HOME=/home/u", "USER=u",   "SCRATCH=/s/u",
                                          "EMPTY=",       "REL=r/el", NULL};
static const char *const with_xdg[] = {"XDG_CACHE_HOME=/x", NULL};
static const char *const with_relative_xdg[] = {"XDG_CACHE_HOME=x", NULL};

static const struct {
    const char *configured;
    const char *const *env;
    const char *home;
    const char *path; /* or the error */
} caches[] = {
    {NULL, environment, "/home/u", "/home/u/.cache/berth"},
    {NULL, with_xdg, "/home/u", "/x/berth"},
    {NULL, with_xdg, NULL, "/x/berth"},
    {NULL, with_relative_xdg, "/home/u", "/home/u/.cache/berth"},
    {"~", environment, "/home/u", "/home/u"},
    {"~/images", environment, "/home/u", "/home/u/images"},
    {"/a~/b", environment, NULL, "/a~/b"},
    {"$SCRATCH/berth", environment, NULL, "/s/u/berth"},
    {"/c/${USER}_b/$USER", environment, NULL, "/c/u_b/u"},
    {"/c/$(id)", environment, NULL,
     "images.cache: expected $NAME or ${NAME}, got '$(id)'"},
    {"/c/${USER", environment, NULL,
     "images.cache: expected $NAME or ${NAME}, got '${USER'"},
    {"/c/$", environment, NULL, "images.cache: expected $NAME or ${NAME}, got '$'"},
    {"$WORK/b", environment, NULL,
     "images.cache: WORK is not set; set it, or ask the administrators "
     "where images "
     "may be kept"},
    {"/c/$EMPTY", environment, NULL,
     "images.cache: EMPTY is not set; set it, or ask the administrators "
     "where images "
     "may be kept"},
    {"$REL/b", environment, NULL,
     "images.cache: expected a path from /, ~ or $NAME, got 'r/el/b'"},
    {"~root/b", environment, "/home/u",
     "images.cache: expected a path from /, ~ or $NAME, got '~root/b'"},
    {"", environment, "/home/u",
     "images.cache: expected a path from /, ~ or $NAME, got ''"},
    {"~/b", environment, NULL,
     "images.cache: HOME is not set; set it, or ask the administrators "
     "where images may be kept"},
    {NULL, environment, NULL,
     "images.cache: HOME is not set; set it, or ask the administrators "
     "where images may be kept"},
};

TEST_ROWS(the_place_of_the_cache, caches)
{
    BERTH_FREE char *path = NULL;
    struct berth_err err;
    int result = berth_uri_cache(caches[_i].configured, (char *const *)caches[_i].env,
                                 caches[_i].home, &path, &err);

    ck_assert_str_eq(result < 0 ? err.text : path, caches[_i].path);
}

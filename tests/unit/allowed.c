/* SPDX-License-Identifier: Apache-2.0 */
/* The real path and the owner of images, and the sources of mounts. */

#include "image/allowed.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fileid.h"
#include "image/policyfacts.h"
#include "unit.h"

static void in(char path[256], const char *name)
{
    snprintf(path, 256, "%s/%s", unit_dir, name);
}

static void make_link(const char *to, const char *name)
{
    char path[256];

    in(path, name);
    ck_assert_int_eq(symlink(to, path), 0);
}

/* images/ is allowed, and so is `other`, a link to elsewhere/in. */
static void setup(void)
{
    static const char *const directories[] = {"images", "images/box", "imagesnot",
                                              "home",   "elsewhere",  "elsewhere/in"};
    static const char *const files[] = {"images/a.sif", "imagesnot/b.sif", "home/c.sif",
                                        "elsewhere/in/d.sif"};
    char path[256], image[256];

    for (int i = 0; i < COUNT(directories); i++) {
        in(path, directories[i]);
        ck_assert_int_eq(mkdir(path, 0755), 0);
    }
    for (int i = 0; i < COUNT(files); i++) {
        in(path, files[i]);
        unit_write(path, "x", 1);
    }
    in(image, "home/c.sif");
    in(path, "images/hard.sif");
    ck_assert_int_eq(link(image, path), 0);
    make_link("../home/c.sif", "images/out.sif");
    make_link("../images/a.sif", "home/in.sif");
    make_link("../images", "home/images");
    make_link("elsewhere/in", "other");
    make_link("nothing", "images/dangling.sif");
}

static const struct {
    const char *path;
    const char *real; /* NULL: refused */
} images[] = {
    {"images/a.sif", "images/a.sif"},
    {"images/box", "images/box"},
    {"home/in.sif", "images/a.sif"},
    {"home/images/a.sif", "images/a.sif"},
    {"imagesnot/../images/a.sif", "images/a.sif"},
    {"images/hard.sif", "images/hard.sif"}, /* the owner tells */
    {"other/d.sif", "elsewhere/in/d.sif"},
    {"elsewhere/in/d.sif", "elsewhere/in/d.sif"},
    {"imagesnot/b.sif", NULL},
    {"images/../home/c.sif", NULL},
    {"images/out.sif", NULL},
    {"home/c.sif", NULL},
    {"images", NULL},
    {"other", NULL},
};

TEST_ROWS(an_image_is_where_it_really_is, images)
{
    BERTH_SITE struct berth_site site = berth_site_default();
    BERTH_FREE char *real = NULL;
    BERTH_FREE char *identity = NULL;
    BERTH_FREE char *expected_identity = NULL;
    char path[256], root[256], expected[256], said[700];
    struct berth_err err = {0};
    struct stat st;

    ck_assert(!berth_allowed_is_restricted(&site));
    in(root, "images");
    berth_strvec_push(&site.images.roots, root);
    in(root, "other");
    berth_strvec_push(&site.images.roots, root);
    berth_strvec_push(&site.images.roots, "/nothing/there");
    ck_assert(berth_allowed_is_restricted(&site));
    in(path, images[_i].path);
    if (!images[_i].real) {
        ck_assert_int_eq(berth_allowed_image(&site, path, &real, &identity, &err), -1);
        free(berth_steal(&real));
        real = realpath(path, NULL);
        snprintf(said, sizeof(said),
                 "image '%s': this site does not allow it; it allows ", real);
        ck_assert_ptr_nonnull(strstr(err.text, said));
        return;
    }
    ck_assert_msg(berth_allowed_image(&site, path, &real, &identity, &err) == 0, "%s",
                  err.text);
    in(expected, images[_i].real);
    ck_assert_str_eq(real, expected);
    ck_assert_int_eq(stat(expected, &st), 0);
    expected_identity = berth_fileid_identity(&st);
    ck_assert_str_eq(identity, expected_identity);
}

TEST(the_owner_is_that_of_the_file)
{
    BERTH_SITE struct berth_site site = berth_site_default();
    BERTH_FREE char *real = NULL;
    BERTH_FREE char *identity = NULL;
    const struct passwd *self = getpwuid(getuid());
    char path[256], expected[700];
    struct berth_err err;

    in(path, "images/hard.sif");
    berth_strvec_push(&site.images.owners, "nobody-of-this-name");
    berth_strvec_push(&site.images.owners, "4294967");
    ck_assert_int_eq(berth_allowed_image(&site, path, &real, &identity, &err), -1);
    snprintf(expected, sizeof(expected),
             "image '%s': it belongs to %s (uid %lu), and this site allows images of "
             "nobody-of-this-name, 4294967 only; take one of theirs",
             path, self ? self->pw_name : "nobody here", (unsigned long)getuid());
    ck_assert_str_eq(err.text, expected);
    snprintf(expected, sizeof(expected), "%lu", (unsigned long)getuid());
    berth_strvec_push(&site.images.owners, self ? self->pw_name : expected);
    ck_assert_int_eq(berth_allowed_image(&site, path, &real, &identity, &err), 0);
}

TEST(what_is_not_there_is_told_as_ever)
{
    BERTH_SITE struct berth_site site = berth_site_default();
    BERTH_FREE char *real = NULL;
    BERTH_FREE char *identity = NULL;
    char path[256];
    struct berth_err err;

    in(path, "images/dangling.sif");
    ck_assert_int_eq(berth_allowed_image(&site, path, &real, &identity, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "': not found; check the path, and that "));
}

static const struct {
    const char *root;
    const char *owner; /* besides this user; NULL: owners are not asked for */
    int answer;
} hosts[] = {
    {"images", NULL, 0},
    {"imagesnot", NULL, -1},
    {"not-mounted-here", NULL, 0},
    {"images", "nobody", -1},
    {"images", "none-of-this-name", 0},
};

TEST_ROWS(a_host_refuses_only_what_it_knows_of, hosts)
{
    BERTH_SITE struct berth_site site = berth_site_default();
    char path[256], root[256];
    struct berth_err err;

    in(path, "images/a.sif");
    ck_assert_int_eq(berth_allowed_here(&site, path, &err), 0);
    in(root, hosts[_i].root);
    berth_strvec_push(&site.images.roots, root);
    if (hosts[_i].owner)
        berth_strvec_push(&site.images.owners, hosts[_i].owner);
    ck_assert_int_eq(berth_allowed_here(&site, path, &err), hosts[_i].answer);
}

TEST(an_exchanged_image_is_not_open)
{
    BERTH_SITE struct berth_site site = berth_site_default();
    BERTH_FREE char *real = NULL;
    BERTH_FREE char *identity = NULL;
    BERTH_CLOSE int fd = -1;
    char path[256], other[256];
    struct berth_err err;

    in(path, "images/a.sif");
    in(other, "home/c.sif");
    ck_assert_int_eq(berth_allowed_image(&site, path, &real, &identity, &err), 0);
    ck_assert_int_eq(berth_fileid_by(getpid(), identity), BERTH_OPENED_NO);
    ck_assert_int_eq(rename(other, path), 0);
    fd = open(real, O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(berth_fileid_by(getpid(), identity), BERTH_OPENED_NO);
    free(berth_steal(&identity));
    free(berth_steal(&real));
    ck_assert_int_eq(berth_allowed_image(&site, path, &real, &identity, &err), 0);
    ck_assert_int_eq(berth_fileid_by(getpid(), identity), BERTH_OPENED_YES);
    ck_assert_int_eq(berth_fileid_by(0, identity), BERTH_OPENED_NO);
}

TEST(sources_of_mounts_are_resolved)
{
    BERTH_STRVEC struct berth_strvec mounts = {0};
    BERTH_STRVEC struct berth_strvec sources = {0};
    BERTH_STRVEC struct berth_strvec present = {0};
    char path[256];
    struct berth_err err;

    berth_strvec_pushf(&mounts, "%s/home/in.sif:/x:ro", unit_dir);
    berth_strvec_pushf(&mounts, "%s/nothing:/y:rw", unit_dir);
    ck_assert_int_eq(berth_allowed_sources(&mounts, &sources, &err), 0);
    in(path, "images/a.sif");
    ck_assert_uint_eq(sources.count, 2);
    ck_assert_str_eq(sources.items[0], path);
    ck_assert_str_eq(sources.items[1], "");
    ck_assert_int_eq(berth_allowed_present(&mounts, &present, &err), 0);
    ck_assert_uint_eq(present.count, 1);
    ck_assert_str_eq(present.items[0], mounts.items[0]);
}

static const struct {
    const char *line;
    bool is_it;
    uid_t user;
} mounts[] = {
    {"36 35 0:49 / /home/u/m rw - fuse.squashfuse squashfuse "
     "ro,user_id=2001,group_id=1",
     true, 2001},
    {"36 35 0:49 / /m rw,nosuid shared:1 - fuse cvmfs2 ro,user_id=0,group_id=0\n", true,
     0},
    {"36 35 0:50 / /m rw - fuse x ro,user_id=0,group_id=0", false, 7},
    /* names that say what only the kernel may */
    {"36 35 0:49 / /m,user_id=0 rw - fuse x,user_id=0 ro,user_id=2001", true, 2001},
    {"36 35 0:49 / /m rw - ext4 /dev/x,user_id=0 rw", false, 7},
    {"", false, 7},
};

TEST_ROWS(who_has_mounted_a_file_system_is_told, mounts)
{
    uid_t user = 7;

    ck_assert_int_eq(berth_allowed_read_mounter(mounts[_i].line, makedev(0, 49), &user),
                     mounts[_i].is_it);
    ck_assert_int_eq(user, mounts[_i].user);
}

void unit_prepare(TCase *tests)
{
    unit_in_directory(tests);
    tcase_add_checked_fixture(tests, setup, NULL);
}

/* A later step finds the image of a container by its name; the site has other URIs
 * since. */
TEST(the_uri_of_an_image_that_a_name_finds_is_checked)
{
    char uri[] = "docker://r.example/a:1", image[] = "/cache/a.sif";
    struct berth_request request = {.uri = uri, .image = image};
    BERTH_TERMS struct berth_terms terms = {.has_uris = true};
    struct berth_err err;

    berth_strvec_push(&terms.uris, "docker://r.example/");
    ck_assert_int_eq(berth_apply_site_to_found(&terms, &request, &err), 0);
    ck_assert_str_eq(request.image, "/cache/a.sif");

    berth_strvec_fini(&terms.uris);
    berth_strvec_push(&terms.uris, "docker://s.example/");
    ck_assert_int_eq(berth_apply_site_to_found(&terms, &request, &err), -1);
    ck_assert_str_eq(err.text,
                     "image 'docker://r.example/a:1': this site does not allow "
                     "it; it allows docker://s.example/");
}

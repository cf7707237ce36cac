/* SPDX-License-Identifier: Apache-2.0 */
/* Where the artifacts of a site are on a node, and which of them it can use. */

#include "probe/artifacts.h"

#include <elf.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bind/unusable.h"
#include "discover/searchpath.h"
#include "unit.h"

static char *top; /* unit_dir without links */
static struct berth_profile_set set;
static struct berth_err err;

/* An ELF file as far as berth looks, for another machine if IS_OTHER. */
static void write_library(const char *path, bool is_other)
{
    unsigned char bytes[sizeof(Elf64_Ehdr)];
    FILE *self = fopen("/proc/self/exe", "re");

    ck_assert_uint_eq(fread(bytes, 1, sizeof(bytes), self), sizeof(bytes));
    fclose(self);
    if (is_other)
        bytes[offsetof(Elf64_Ehdr, e_machine)] ^= 1;
    unit_write(path, bytes, sizeof(bytes));
}

static void set_up(void)
{
    struct utsname system;

    top = realpath(unit_dir, NULL);
    ck_assert_int_eq(chdir(top), 0);
    ck_assert_int_eq(chmod(".", 0755), 0);
    ck_assert_int_eq(uname(&system), 0);
    ck_assert_int_eq(mkdir(system.machine, 0755), 0);
    ck_assert_int_eq(chdir(system.machine), 0);
    for (const char *const *it =
             (const char *const[]){"1.0", "1.0/lib", "flat", "empty", "open", "other",
                                   "a:b", "a:b/lib", "mpi", "mpi/lib64", NULL};
         *it; it++)
        ck_assert_int_eq(mkdir(*it, 0755), 0);
    ck_assert_int_eq(chmod("open", 0775), 0);
    write_library("1.0/lib/libfabric.so.1", false);
    write_library("flat/libfabric.so.1", false);
    write_library("open/libfabric.so.1", false);
    write_library("other/libfabric.so.1", true);
    write_library("a:b/lib/libfabric.so.1", false);
    write_library("mpi/lib64/libmpi.so.12", false);
    unit_write("file", "", 0);
    ck_assert_int_eq(symlink("1.0", "latest"), 0);
    ck_assert_int_eq(symlink("2.0", "next"), 0);
    ck_assert_int_eq(symlink("a:b", "colon"), 0);
    ck_assert_int_eq(symlink("open", "astray"), 0);
}

static void tear_down(void)
{
    berth_profile_set_fini(&set);
    free(top);
}

/* TEXT with the directory for each @ and the machine for each #. */
static char *fill(const char *text)
{
    BERTH_BUF struct berth_buf buf = {0};
    struct utsname system;

    ck_assert_int_eq(uname(&system), 0);
    for (; *text; text++)
        if (*text == '@')
            berth_buf_addf(&buf, "%s/%s", top, system.machine);
        else if (*text == '#')
            berth_buf_puts(&buf, system.machine);
        else
            berth_buf_add(&buf, text, 1);
    return berth_steal(&buf.text);
}

/* Read a profile `net` with KEYS, in which @ is the directory, and resolve it. */
static void read_profile(const char *keys, uid_t owner)
{
    BERTH_STRVEC struct berth_strvec faults = {0};
    BERTH_FREE char *filled = fill(keys);
    BERTH_FREE char *text = NULL;

    ck_assert_int_gt(asprintf(&text, "name: net\n%s", filled), 0);
    ck_assert_int_eq(berth_profile_read("f", text, strlen(text), &set, &faults, &err),
                     0);
    ck_assert_msg(faults.count == 0, "%s", faults.count ? faults.items[0] : "");
    ck_assert_int_eq(berth_artifacts_resolve(&set, owner, &err), 0);
}

#define FABRIC "kind: fabric\nreplaces: [libfabric.so.1]\nartifact: "

static const struct {
    const char *keys;
    const char *path;  /* NULL: it cannot be used */
    const char *fault; /* behind `profile 'net': artifact: ` */
} artifacts[] = {
    {FABRIC "@/1.0\n", "@/1.0", NULL},
    {FABRIC "@/latest\n", "@/1.0", NULL},
    {FABRIC "@/flat\n", "@/flat", NULL},
    {"family: mpich\nartifact: @/mpi\n", "@/mpi", NULL},
    {FABRIC "@/next\n", NULL, "@/next: the link leads nowhere; link it to a directory"},
    {FABRIC "@/none\n", NULL, "@/none: No such file or directory; check the path"},
    {FABRIC "@/none/1.0\n", NULL,
     "@/none/1.0: 'none': No such file or directory; check the path"},
    {FABRIC "@/file\n", NULL, "@/file: 'file' is not a directory"},
    {FABRIC "/usr\n", NULL,
     "'/usr': would hide what images have there; put the libraries into a directory of "
     "their own"},
    {FABRIC "/usr/lib\n", NULL,
     "'/usr/lib': would hide what images have there; put the libraries into a "
     "directory "
     "of their own"},
    {FABRIC "/\n", NULL,
     "/: the top of the file system; expected a directory below it"},
    {FABRIC "@/open\n", NULL,
     "@/open: 'open' can be written by others (mode 0775); chmod go-w"},
    {FABRIC "@/astray\n", NULL,
     "@/astray: 'open' can be written by others (mode 0775); chmod go-w"},
    {FABRIC "@/empty\n", NULL,
     "'@/empty' has no 'libfabric.so.1' in lib64, in lib or beside these; build it "
     "with that, or correct the profile"},
    {"family: mpich\nartifact: @/flat\n", NULL,
     "'@/flat' has no 'libmpi*.so*' in lib64, in lib or beside these; build it with "
     "that, or correct the profile"},
    {FABRIC "@/other\n", NULL,
     "'@/other/libfabric.so.1' is not for this machine (#); build one for each "
     "machine, and write $arch in the path"},
    {FABRIC "@/colon\n", NULL,
     "@/colon: it is really '@/a:b', and a path with ':' or ',' cannot be mounted; "
     "rename it"},
};

START_TEST(an_artifact_is_found_or_its_fault_is_named)
{
    BERTH_FREE char *path = artifacts[_i].path ? fill(artifacts[_i].path) : NULL;
    BERTH_FREE char *fault = artifacts[_i].fault ? fill(artifacts[_i].fault) : NULL;
    BERTH_FREE char *whole = NULL;

    read_profile(artifacts[_i].keys, geteuid());
    if (fault)
        ck_assert_int_gt(asprintf(&whole, "profile 'net': artifact: %s", fault), 0);
    ck_assert_pstr_eq(set.items[0].prefix, path);
    ck_assert_pstr_eq(berth_profile_artifact(&set.items[0]), path);
    ck_assert_pstr_eq(set.items[0].fault, whole);
}
END_TEST

START_TEST(the_machine_stands_for_arch)
{
    BERTH_FREE char *path = fill("@/1.0");
    BERTH_FREE char *keys = NULL;

    ck_assert_int_gt(asprintf(&keys, FABRIC "%s/$arch/latest\n", top), 0);
    read_profile(keys, geteuid());
    ck_assert_pstr_eq(set.items[0].prefix, path);
}
END_TEST

START_TEST(an_artifact_of_others_is_refused)
{
    if (geteuid() == 0)
        ck_assert_int_eq(chown("1.0", 12345, 12345), 0);
    read_profile(FABRIC "@/latest\n", 54321);
    ck_assert_ptr_null(set.items[0].prefix);
    ck_assert_ptr_nonnull(strstr(set.items[0].fault, "who could change it"));
    if (geteuid() == 0)
        ck_assert_ptr_nonnull(
            strstr(set.items[0].fault, "'1.0' belongs to user 12345, who"));
}
END_TEST

static const struct {
    const char *command;
    const char *fault; /* in the whole sentence; NULL: none */
} trees[] = {
    {"chmod 664 1.0/lib/libfabric.so.1",
     "@/1.0: 'lib/libfabric.so.1' can be written by others (mode 0664); chmod go-w"},
    {"chown 12345 1.0/lib/libfabric.so.1",
     "'lib/libfabric.so.1' belongs to user 12345"},
    {"ln -s ../open 1.0/link", "@/1.0/link: 'open' can be written by others"},
    {"ln -s ../open/libfabric.so.1 1.0/link", "@/1.0/link: 'open' can be written"},
    {"ln -s ../flat 1.0/link",
     "'@/1.0/link': is a link to a directory outside of '@/1.0'; copy the directory"},
    {"ln -s none 1.0/link", NULL},
    {"ln -s lib 1.0/link && ln -s lib/libfabric.so.1 1.0/file", NULL},
};

/* A user's process checks the files that it uses. */
START_TEST(root_uses_no_file_of_others)
{
    BERTH_FREE char *fault = trees[_i].fault ? fill(trees[_i].fault) : NULL;

    if (geteuid() != 0)
        return;
    ck_assert_int_eq(system(trees[_i].command), 0);
    read_profile(FABRIC "@/latest\n", geteuid());
    if (fault)
        ck_assert_msg(strstr(set.items[0].fault, fault) != NULL, "%s",
                      set.items[0].fault);
    else
        ck_assert_pstr_eq(set.items[0].fault, NULL);
}
END_TEST

/* Root's loader would follow it. */
START_TEST(root_reads_no_file_outside)
{
    BERTH_FREE char *fault =
        fill("profile 'net': artifact: '@/1.0/a': searches the directory '/home/a', "
             "which is not in '@/1.0'; ");

    if (geteuid() != 0)
        return;
    ck_assert_int_eq(system("cp \"$(command -v patchelf)\" 1.0/a && "
                            "patchelf --set-rpath /home/a 1.0/a"),
                     0);
    read_profile(FABRIC "@/latest\n", geteuid());
    ck_assert_ptr_null(set.items[0].fault);
    ck_assert_int_eq(berth_searchpath_check_all(&set, &err), 0);
    ck_assert_ptr_eq(strstr(set.items[0].fault, fault), set.items[0].fault);
    ck_assert_ptr_null(set.items[0].prefix);
}
END_TEST

START_TEST(an_artifact_is_not_on_a_mount_without_programs)
{
    BERTH_FREE char *path = fill("@/1.0");
    BERTH_FREE char *fault =
        fill("profile 'net': artifact: '@/1.0': is on a file system that is mounted "
             "noexec, where no library can be used; mount it without");

    if (unshare(CLONE_NEWNS) < 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return;
    ck_assert_int_eq(mount(path, path, NULL, MS_BIND, NULL), 0);
    ck_assert_int_eq(mount(NULL, path, NULL, MS_BIND | MS_REMOUNT | MS_NOEXEC, NULL),
                     0);
    read_profile(FABRIC "@/latest\n", geteuid());
    ck_assert_pstr_eq(set.items[0].fault, fault);
    ck_assert_int_eq(umount2(path, MNT_DETACH), 0);
}
END_TEST

/* What the container mounts is what berth-mpi uses, whatever a link says later. */
START_TEST(a_step_uses_one_version)
{
    BERTH_STRVEC struct berth_strvec list = {0};
    BERTH_FREE char *path = fill("@/1.0");

    read_profile(FABRIC "@/latest\n", geteuid());
    berth_artifacts_list(&set, &list);
    ck_assert_uint_eq(list.count, 3);
    berth_profile_set_fini(&set);
    ck_assert_int_eq(unlink("latest"), 0);
    read_profile(FABRIC "@/latest\n", geteuid());
    ck_assert_ptr_nonnull(set.items[0].fault);
    ck_assert_int_eq(berth_artifacts_set(&set, &list, &err), 0);
    ck_assert_pstr_eq(set.items[0].prefix, path);
    ck_assert_ptr_null(set.items[0].fault);
}
END_TEST

#define FAULT                                                                          \
    "profile 'net': artifact: /none: No such file or directory; check the path"
#define NET "artifact: /none\nkind: fabric\nreplaces: [a.so.1]\n"
#define MPI "artifact: /none\nfamily: mpich\n"

static const struct {
    const char *keys;
    const char *mpi, *fabric, *libraries;
    bool is_refused, is_warned;
} requests[] = {
    {NET, "hybrid", "net", NULL, true, false},
    {NET, "hybrid", "auto", NULL, false, true},
    {NET, "hybrid", "required", NULL, false, true},
    {NET, "hybrid", "ucx", NULL, false, false},
    {NET, "host", NULL, NULL, false, false},
    {MPI, "net", NULL, NULL, true, false},
    {MPI, "host", NULL, NULL, false, true},
    {MPI, "auto", NULL, NULL, false, true},
    {MPI, "hybrid", NULL, NULL, false, false},
    {MPI, "mpich", NULL, NULL, false, false},
    {"artifact: /none\nfamily: mpich\nkind: translator\n", "host", NULL, NULL, false,
     false},
    {"artifact: /none\nkind: libraries\nreplaces: [a.so.1]\n", NULL, NULL, "net", true,
     false},
    {"artifact: /none\nkind: libraries\nreplaces: [a.so.1]\n", NULL, NULL, "mkl", false,
     false},
};

START_TEST(who_may_use_it_reads_why_it_is_not_used)
{
    const struct berth_order order = {
        .request = {.image = (char *)"/a.sif",
                    .mpi = (char *)requests[_i].mpi,
                    .fabric = (char *)requests[_i].fabric,
                    .libraries = (char *)requests[_i].libraries}};
    BERTH_FREE char *warning = NULL;

    read_profile(requests[_i].keys, geteuid());
    ck_assert_int_eq(berth_unusable_check(&set, &order, &warning, &err),
                     requests[_i].is_refused ? -1 : 0);
    if (requests[_i].is_refused)
        ck_assert_str_eq(err.text, FAULT);
    ck_assert_pstr_eq(
        warning, requests[_i].is_warned ? FAULT "; the profile is not used" : NULL);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("artifacts");

    unit_in_directory(tests);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_loop_test(tests, an_artifact_is_found_or_its_fault_is_named, 0,
                        COUNT(artifacts));
    tcase_add_test(tests, the_machine_stands_for_arch);
    tcase_add_test(tests, an_artifact_of_others_is_refused);
    tcase_add_loop_test(tests, root_uses_no_file_of_others, 0, COUNT(trees));
    tcase_add_test(tests, root_reads_no_file_outside);
    tcase_add_test(tests, an_artifact_is_not_on_a_mount_without_programs);
    tcase_add_test(tests, a_step_uses_one_version);
    tcase_add_loop_test(tests, who_may_use_it_reads_why_it_is_not_used, 0,
                        COUNT(requests));
    return unit_run("artifacts", tests);
}

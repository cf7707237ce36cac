/* SPDX-License-Identifier: Apache-2.0 */
/* Which files of a tree have names of MPI libraries. */

#include "bindover/inventory.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fts.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "mpi/filenames.h"
#include "unit.h"

static const struct {
    const char *name;
    bool named;
} names[] = {
    {"libmpi.so", true},
    {"libmpi.so.12", true},
    {"libmpi.so.40.30.4", true},
    {"libmpich.so.12.2.2", true},
    {"libmpichfort.so.12", true},
    {"libmpi_usempif08.so.40", true},
    {"libmpi_gnu_123.so.12", true},
    {"libmpi_abi.so.1", true},
    {"libopen_mpi.so.40", true},
    {"libfmpich.so", true},
    {"mca_pmix_ext3x.so", true},
    {"libmpi.a", false},
    {"libmpi.so.12.txt", false},
    {"libmpi", false},
    {"libm.so.6", false},
    {"mylibmpi.so", false},
    {"", false},
};

TEST_ROWS(names_are_known, names)
{
    ck_assert_msg(berth_mpi_is_file_name(names[_i].name) == names[_i].named, "%s",
                  names[_i].name);
}

static void make_file(const char *root, const char *name)
{
    BERTH_FREE char *path = unit_path(root, name);
    char *slash;

    for (slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    close(open(path, O_CREAT | O_WRONLY, 0600));
}

static void make_link(const char *root, const char *target, const char *name)
{
    BERTH_FREE char *path = unit_path(root, name);

    ck_assert_int_eq(symlink(target, path), 0);
}

/* As in a file system that does not count subdirectories. */
FTSENT *fts_read(FTS *tree)
{
    FTSENT *(*read)(FTS *);
    FTSENT *entry;

    *(void **)&read = dlsym(RTLD_NEXT, "fts_read");
    entry = read(tree);
    if (entry && entry->fts_info == FTS_D)
        entry->fts_nlink = 2;
    return entry;
}

TEST(each_file_of_a_tree_is_found_once)
{
    BERTH_FREE char *root = unit_directory();
    BERTH_STRVEC struct berth_strvec directories = {0};
    BERTH_STRVEC struct berth_strvec found = {0};
    bool is_cut;
    struct berth_err err;

    make_file(root, "lib/libmpi.so.12.1.0");
    make_link(root, "libmpi.so.12.1.0", "lib/libmpi.so.12");
    make_link(root, "libgone.so", "lib/libmpi.so.13");
    make_file(root, "lib/x86_64/openmpi/lib/libmpi_mpifh.so.40");
    make_file(root, "lib/libz.so.1");
    make_file(root, "lib/python3.9/site-packages/net.libs/libmpi-1a2b.so.12.1");
    make_file(root, "lib/python3.9/site-packages/net/libmpi.so.6");
    make_file(root, "lib/share/libmpi.so.7");
    make_file(root, "a/b/c/d/e/f/g/h/i/j/libmpi.so.1");
    make_link(root, "lib", "lib64");
    berth_strvec_pushf(&directories, "%s", root);
    berth_strvec_pushf(&directories, "%s/not-there", root);
    ck_assert_int_eq(berth_inventory_read(&directories, &found, &is_cut, &err), 0);
    ck_assert(is_cut);
    unit_remove(root);
    ck_assert_uint_eq(found.count, 3);
    for (size_t i = 0; i < found.count; i++)
        ck_assert(strstr(found.items[i], "/lib/libmpi.so.12.1.0") ||
                  strstr(found.items[i], "/net.libs/libmpi-1a2b.so.12.1") ||
                  strstr(found.items[i], "/lib/x86_64/openmpi/lib/libmpi_mpifh.so.40"));
}

TEST(eight_directories_are_not_too_deep)
{
    BERTH_FREE char *root = unit_directory();
    BERTH_STRVEC struct berth_strvec directories = {0};
    BERTH_STRVEC struct berth_strvec found = {0};
    bool is_cut;
    struct berth_err err;

    make_file(root, "a/b/c/d/e/f/g/h/libmpi.so.1");
    berth_strvec_push(&directories, root);
    ck_assert_int_eq(berth_inventory_read(&directories, &found, &is_cut, &err), 0);
    unit_remove(root);
    ck_assert_uint_eq(found.count, 1);
    ck_assert(!is_cut);
}

TEST(a_directory_is_looked_at_once)
{
    BERTH_STRVEC struct berth_strvec directories = {0};
    BERTH_STRVEC struct berth_strvec more = {0};

    berth_inventory_usual("/usr/lib/x:/usr/lib:relative::/not/there:/proc/self",
                          &directories);
    ck_assert(!directories.failed);
    ck_assert_str_eq(directories.items[0], "/usr/lib");
    for (size_t i = 0; i + 1 < directories.count; i++) {
        ck_assert_str_ne(directories.items[i], "/lib");
        ck_assert_str_ne(directories.items[i], "/usr/lib/x");
    }
    ck_assert_ptr_nonnull(strstr(directories.items[directories.count - 1], "/proc/"));
    berth_inventory_usual(NULL, &more);
    ck_assert_uint_eq(more.count + 1, directories.count);
}

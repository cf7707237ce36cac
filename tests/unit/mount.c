/* SPDX-License-Identifier: Apache-2.0 */
/* What --container-mounts takes and what it refuses. */

#include "request/mount.h"

#include "base/cleanup.h"
#include "unit.h"

#define EXPECTED "expected SRC[:DST[:ro|rw|sqsh]], DST from / and not / itself, got "
#define ENROOT(flag, text)                                                             \
    ": '" flag "' is a flag of enroot that berth does not have; leave it out: '" text  \
    "'"
#define BLANK                                                                          \
    ": a path begins with a blank; write mounts without blanks between them (a path: " \
    "'./ name')"
#define OF_UMOUNT "expected umount:DST, DST from / and not / or /proc, got "
#define OF_TMPFS                                                                       \
    "expected tmpfs:DST[:OPTION+OPTION...], DST from / and not / itself, got "
#define NO_OPTION(option)                                                              \
    ": '" option "' is not an option of a tmpfs; expected size=SIZE, "                 \
    "nr_inodes=COUNT, mode=MODE, huge=WHEN or noexec"

static const struct {
    const char *text;
    const char *base;
    const char *source;
    const char *destination;
    enum berth_mount_mode mode;
    const char *flags;
} good[] = {
    {"/a", NULL, "/a", "/a", BERTH_MOUNT_RW, NULL},
    {"/a:/b", NULL, "/a", "/b", BERTH_MOUNT_RW, NULL},
    {"/a:/b:rw", NULL, "/a", "/b", BERTH_MOUNT_RW, NULL},
    {"/a:/b:ro", NULL, "/a", "/b", BERTH_MOUNT_RO, NULL},
    {"/a:/b:ro+rprivate", NULL, "/a", "/b", BERTH_MOUNT_RO, NULL},
    {"/a:/b:rbind+ro+x-create=dir", NULL, "/a", "/b", BERTH_MOUNT_RO, NULL},
    {"/a:/b:rslave", NULL, "/a", "/b", BERTH_MOUNT_RW, NULL},
    {"/a.sqsh:/b:sqsh", NULL, "/a.sqsh", "/b", BERTH_MOUNT_SQSH, NULL},
    {"a", "/home", "/home/a", "/home/a", BERTH_MOUNT_RW, NULL},
    {"./a:/b:ro", "/home", "/home/a", "/b", BERTH_MOUNT_RO, NULL},
    {"./tmpfs:/b", "/home", "/home/tmpfs", "/b", BERTH_MOUNT_RW, NULL},
    {"/tmpfs:/b", "/home", "/tmpfs", "/b", BERTH_MOUNT_RW, NULL},
    {"..:/b", "/home", "/home/..", "/b", BERTH_MOUNT_RW, NULL},
    {"/a//b/", NULL, "/a//b/", "/a/b", BERTH_MOUNT_RW, NULL},
    {"/a:/b//c/./d/../:ro", NULL, "/a", "/b/c", BERTH_MOUNT_RO, NULL},
    {"../x", "/home/u", "/home/u/../x", "/home/x", BERTH_MOUNT_RW, NULL},
    {"./ b", "/home", "/home/ b", "/home/ b", BERTH_MOUNT_RW, NULL},
    {"./umount:/b", "/home", "/home/umount", "/b", BERTH_MOUNT_RW, NULL},
    {"/a b:/c \"d\"", NULL, "/a b", "/c \"d\"", BERTH_MOUNT_RW, NULL},
    {"/a:/b:unbindable+ro", NULL, "/a", "/b", BERTH_MOUNT_RO, "unbindable"},
    {"/a:/b:rw+runbindable", NULL, "/a", "/b", BERTH_MOUNT_RW, "runbindable"},
    {"tmpfs:/x", NULL, "tmpfs", "/x", BERTH_MOUNT_TMPFS, NULL},
    {"tmpfs:/x/../y:size=50%+rw+nosuid+huge=within_size+noexec", "/w", "tmpfs", "/y",
     BERTH_MOUNT_TMPFS, "size=50%+huge=within_size+noexec"},
    {"umount:/root/", "/w", "umount", "/root", BERTH_MOUNT_UMOUNT, NULL},
};

TEST_ROWS(all_forms_are_read, good)
{
    struct berth_mount mount = {0};
    struct berth_err err;

    ck_assert_int_eq(berth_mount_parse(good[_i].text, good[_i].base, &mount, &err), 0);
    ck_assert_str_eq(mount.source, good[_i].source);
    ck_assert_str_eq(mount.destination, good[_i].destination);
    ck_assert_int_eq(mount.mode, good[_i].mode);
    ck_assert_pstr_eq(mount.flags, good[_i].flags);
    berth_mount_fini(&mount);
    ck_assert_ptr_null(mount.source);
}

static const struct {
    const char *text;
    const char *base;
    const char *error;
} bad[] = {
    {"", NULL, EXPECTED "''"},
    {":", NULL, EXPECTED "':'"},
    {"tmpfs", "/w", OF_TMPFS "'tmpfs'"},
    {"tmpfs:x", "/w", OF_TMPFS "'tmpfs:x'"},
    {"tmpfs:/", "/w", OF_TMPFS "'tmpfs:/'"},
    {"tmpfs:/x:ro", "/w", "'tmpfs:/x:ro'" NO_OPTION("ro")},
    {"tmpfs:/x:size=", "/w", "'tmpfs:/x:size='" NO_OPTION("size=")},
    {"tmpfs:/x:mode=1+uid=0", "/w", "'tmpfs:/x:mode=1+uid=0'" NO_OPTION("uid=0")},
    {"tmpfs:/x:size=1;2", "/w", "'tmpfs:/x:size=1;2'" NO_OPTION("size=1;2")},
    {"umount", "/w", OF_UMOUNT "'umount'"},
    {"umount:/", "/w", OF_UMOUNT "'umount:/'"},
    {"umount:/a/../proc", "/w", OF_UMOUNT "'umount:/a/../proc'"},
    {"umount:/x:ro", "/w", OF_UMOUNT "'umount:/x:ro'"},
    {" /b", "/w", "' /b'" BLANK},
    {"/a: /b", "/w", "'/a: /b'" BLANK},
    {"/a:/b:ro+nofail", "/w", "'/a:/b:ro+nofail'" ENROOT("nofail", "/a:/b:ro")},
    {"/a:/b:rbind+noexec", "/w", "'/a:/b:rbind+noexec'" ENROOT("noexec", "/a:/b")},
    {"/home:../home", "/w", EXPECTED "'/home:../home'"},
    {"/a:/b:x-create", "/w", EXPECTED "'/a:/b:x-create'"},
    {"/a:/b:ro+rw", "/w", EXPECTED "'/a:/b:ro+rw'"},
    {"/a:/b:ro+", "/w", EXPECTED "'/a:/b:ro+'"},
    {"/a:/..", "/w", EXPECTED "'/a:/..'"},
    {":/b", NULL, EXPECTED "':/b'"},
    {"/a:", NULL, EXPECTED "'/a:'"},
    {"/a::ro", NULL, EXPECTED "'/a::ro'"},
    {"/a:/b:ro:rw", NULL, EXPECTED "'/a:/b:ro:rw'"},
    {"/a:/b:/c:/d:/e", NULL, EXPECTED "'/a:/b:/c:/d:/e'"},
    {"/a:/b:", NULL, EXPECTED "'/a:/b:'"},
    {"/a:/b:RO", NULL, EXPECTED "'/a:/b:RO'"},
    {"/a:/b:rox", NULL, EXPECTED "'/a:/b:rox'"},
    {"/a://", "/w", EXPECTED "'/a://'"},
    {"a:/b", NULL, "'a:/b': expected a path from /, got 'a'"},
    {"/a:b", "/home", EXPECTED "'/a:b'"},
    {"/a:ro", NULL, EXPECTED "'/a:ro'"},
};

TEST_ROWS(a_wrong_mount_is_named, bad)
{
    struct berth_mount mount = {0};
    struct berth_err err;

    ck_assert_int_eq(berth_mount_parse(bad[_i].text, bad[_i].base, &mount, &err), -1);
    ck_assert_str_eq(err.text, bad[_i].error);
    ck_assert_ptr_null(mount.source);
}

static const struct {
    const char *text;
    const char *lines; /* NULL: refused */
} lists[] = {
    {"/a", "/a:/a:rw\n"},
    {"/a,b:/c:ro", "/a:/a:rw\n/base/b:/c:ro\n"},
    {"d.sqsh:/d:sqsh", "/base/d.sqsh:/d:sqsh\n"},
    {"/a,/a", "/a:/a:rw\n/a:/a:rw\n"},
    {"a:/b:unbindable+ro", "/base/a:/b:ro+unbindable\n"},
    {"tmpfs:/x:size=1G+mode=700,umount:/y", "tmpfs:/x:size=1G+mode=700\numount:/y\n"},
    {"/a,", NULL},
    {",/a", NULL},
    {"/a,,/b", NULL},
    {"", NULL},
};

TEST_ROWS(a_list_is_read_in_full_form, lists)
{
    BERTH_STRVEC struct berth_strvec mounts = {0};
    BERTH_FREE char *lines = NULL;
    struct berth_err err;
    int result = berth_mount_parse_list(lists[_i].text, "/base", &mounts, &err);

    if (!lists[_i].lines) {
        ck_assert_int_eq(result, -1);
        ck_assert_str_eq(err.text, EXPECTED "''");
        return;
    }
    ck_assert_int_eq(result, 0);
    lines = unit_lines(&mounts);
    ck_assert_str_eq(lines, lists[_i].lines);
}

TEST(flags_that_change_nothing_are_listed_once)
{
    BERTH_STRVEC struct berth_strvec flags = {0};

    berth_mount_list_ignored("/a,/b:/c,/d:/e:ro+rprivate,/f:/g:x-create=dir+rprivate",
                             &flags);
    ck_assert(!flags.failed);
    ck_assert_int_eq(flags.count, 2);
    ck_assert_str_eq(flags.items[0], "rprivate");
    ck_assert_str_eq(flags.items[1], "x-create=dir");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What tasks have written to an image, and what of it a listing of unsquashfs lacks. */

#include "container/written.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "unit.h"

/* Each line as unsquashfs prints it. */
#define IN(path) "squashfs-root/" path "\n"

static const struct berth_strvec nothing = {0};

/* Open the directory of the test, in which the shell commands MAKE have run. */
static int upper_with(const char *make)
{
    int upper = open(unit_dir, O_RDONLY | O_DIRECTORY);

    unit_run("cd %s && %s", unit_dir, make);
    ck_assert_int_ge(upper, 0);
    return upper;
}

static const struct {
    const char *make;
    const char *listing;
    const char *missing; /* NULL: nothing */
} rows[] = {
    {"mkdir -p usr/local/lib/python && touch usr/local/lib/python/a",
     "squashfs-root\n" IN("usr") IN("usr/local") IN("usr/local/bin"), "usr/local/lib"},
    {"mkdir -p usr/local/lib && touch usr/local/lib/a",
     IN("usr") IN("usr/local/lib/a") IN("usr/local/lib") IN("usr/local"), NULL},
    {"mkdir -p usr/local/lib && touch usr/local/lib/a",
     IN("usr") IN("usr/local/lib/aa") IN("usr/local/lib") IN("usr/local"),
     "usr/local/lib/a"},
    {"touch 'a  b'", IN("a  b"), NULL},
    {"touch 'a  b'", IN("a b"), "a  b"},
    {"ln -s /etc/passwd link", "", "link"},
    {"ln -s / link", IN("link"), NULL}, /* which nobody follows */
    /* what an overlay does not show, or an image need not have */
    {"mkdir opt && touch .wh.a opt/.wh..wh..opq", IN("opt"), NULL},
    {"mkfifo pipe", "", NULL},
    {"touch \"$(printf 'a\\nb')\"", "", NULL},
    {"true", "", NULL},
};

TEST_ROWS(what_a_listing_lacks, rows)
{
    BERTH_CLOSE int upper = upper_with(rows[_i].make);
    BERTH_WRITTEN_ITEMS struct berth_written_items written = {0};
    BERTH_FREE char *listing = strdup(rows[_i].listing);
    const char *missing;

    ck_assert_int_eq(berth_written_list(upper, &nothing, &written), 0);
    missing = berth_written_missing(&written, upper, listing);
    ck_assert_pstr_eq(missing, rows[_i].missing);
}

TEST(what_is_left_out_of_the_image)
{
    BERTH_CLOSE int upper = upper_with("mkdir -p etc/a && touch etc/rc etc/a/b etc/ab");
    BERTH_WRITTEN_ITEMS struct berth_written_items written = {0};
    BERTH_STRVEC struct berth_strvec excluded = {0};
    char listing[] = IN("etc") IN("etc/ab");

    berth_strvec_split(&excluded, "etc/a,etc/rc");
    ck_assert_int_eq(berth_written_list(upper, &excluded, &written), 0);
    ck_assert_uint_eq(written.count, 2);
    ck_assert_pstr_eq(berth_written_missing(&written, upper, listing), NULL);
}

/* A program that still runs removes a file while the image is made, and replaces
 * another one, or the directory above it by a link. */
static const char *const changes[] = {
    "rm -r a",
    "touch a/new && mv a/new a/b",
    "mv a c && ln -s c a",
};

TEST_ROWS(what_changes_meanwhile, changes)
{
    BERTH_CLOSE int upper = upper_with("mkdir a && touch a/b");
    BERTH_WRITTEN_ITEMS struct berth_written_items written = {0};
    char before[] = IN("a");
    char after[] = IN("a");

    ck_assert_int_eq(berth_written_list(upper, &nothing, &written), 0);
    ck_assert_pstr_eq(berth_written_missing(&written, upper, before), "a/b");
    unit_run("cd %s && %s", unit_dir, changes[_i]);
    ck_assert_pstr_eq(berth_written_missing(&written, upper, after), NULL);
}

/* An image can make a directory that is deeper than this process has descriptors. */
TEST(a_deep_directory_ends_nothing)
{
    BERTH_CLOSE int upper =
        upper_with("i=0; while [ $i -lt 400 ]; do mkdir d && cd d; i=$((i + 1)); done");
    BERTH_WRITTEN_ITEMS struct berth_written_items written = {0};

    ck_assert_int_eq(berth_written_list(upper, &nothing, &written), 0);
    ck_assert_uint_eq(written.count, 128);
}

void unit_prepare(TCase *tests)
{
    unit_in_directory(tests);
}

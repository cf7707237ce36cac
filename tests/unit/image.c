/* SPDX-License-Identifier: Apache-2.0 */
/* Which files and directories are images. SIF files are made here, byte by byte, as the
 * SIF specification lays them out. */

#include "image/image.h"
#include "image/workdir.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "unit.h"

enum {
    HEADER = 128,
    DESCRIPTOR = 585,
    PARTITION = 0x4004,
    LABELS = 0x4002,
    DATA = 4096,
    BODY = 512,
    WHOLE = DATA + BODY
};

struct sif {
    unsigned char bytes[WHOLE];
};

static bool privileged;

static void put(unsigned char *at, uint64_t value, int count)
{
    for (int i = 0; i < count; i++)
        at[i] = (unsigned char)(value >> (8 * i));
}

/* The code of this machine in a SIF header; "00" (unknown) where it has none. */
static const char *own_architecture(void)
{
    static const char *const codes[][2] = {
        {"i686", "01"},  {"x86_64", "02"},  {"armv7l", "03"}, {"aarch64", "04"},
        {"ppc64", "05"}, {"ppc64le", "06"}, {"s390x", "11"},  {"riscv64", "12"},
    };
    struct utsname host;

    ck_assert_int_eq(uname(&host), 0);
    for (int i = 0; i < COUNT(codes); i++)
        if (strcmp(codes[i][0], host.machine) == 0)
            return codes[i][1];
    return "00";
}

/* The descriptor N: a part of TYPE at OFFSET of SIZE bytes. */
static void put_part(struct sif *sif, int n, uint32_t type, uint64_t offset,
                     uint64_t size)
{
    unsigned char *at = sif->bytes + HEADER + n * DESCRIPTOR;

    put(at, type, 4);
    at[4] = 1;
    put(at + 5, (uint64_t)n + 1, 4);
    put(at + 17, offset, 8);
    put(at + 25, size, 8);
}

/* A good SIF: two used descriptors of four, labels and a root file system. */
static void make_sif(struct sif *sif)
{
    memset(sif, 0, sizeof(*sif));
    memcpy(sif->bytes, "#!/usr/bin/env run-singularity\n", 31);
    memcpy(sif->bytes + 32, "SIF_MAGIC", 10);
    memcpy(sif->bytes + 42, "01", 3);
    memcpy(sif->bytes + 45, own_architecture(), 3);
    put(sif->bytes + 80, 2, 8);
    put(sif->bytes + 88, 4, 8);
    put(sif->bytes + 96, HEADER, 8);
    put(sif->bytes + 104, 4 * DESCRIPTOR, 8);
    put(sif->bytes + 112, DATA, 8);
    put(sif->bytes + 120, BODY, 8);
    put_part(sif, 0, LABELS, DATA, 100);
    put_part(sif, 1, PARTITION, DATA + 100, BODY - 100);
}

/* Probe PATH and expect the sentence `image 'PATH': ERROR`. */
static void assert_refused(const char *path, bool missing, const char *error)
{
    BERTH_FREE char *expected = NULL;
    struct berth_image image;
    struct berth_err err;

    ck_assert_int_eq(berth_image_probe(path, &image, &err), -1);
    expected = unit_format("image '%s': %s", path, error);
    ck_assert_str_eq(err.text, expected);
    ck_assert_int_eq(image.is_missing, missing);
}

static void assert_image(const char *path, enum berth_image_kind expected)
{
    struct berth_image image;
    struct berth_err err = {0};

    ck_assert_msg(berth_image_probe(path, &image, &err) == 0, "%s", err.text);
    ck_assert_int_eq(image.kind, expected);
    ck_assert_int_eq(berth_image_check_machine(path, &image, &err), 0);
    ck_assert(!image.is_missing);
}

#define CUT "the file is incomplete; copy or build it again"
#define NOT_SIF                                                                        \
    "not an image; expected a SIF file, a squashfs file or a sandbox directory, as "   \
    "'apptainer build "                                                                \
    "NEW.sif FILE' makes them from other formats"
#define OCI_SIF                                                                        \
    "an OCI-SIF file, which SingularityCE runs with --oci only; make one without: "    \
    "singularity pull --no-oci"
#define NO_PARTITION "the file is incomplete; copy or build it again"

TEST(a_good_sif_is_an_image)
{
    BERTH_FREE char *path = unit_path(unit_dir, "a.sif");
    struct sif sif;

    make_sif(&sif);
    unit_write(path, &sif, sizeof(sif));
    assert_image(path, BERTH_IMAGE_SIF);
}

TEST(an_unknown_architecture_is_left_to_the_runtime)
{
    BERTH_FREE char *path = unit_path(unit_dir, "a.sif");
    struct sif sif;

    make_sif(&sif);
    memcpy(sif.bytes + 45, "99", 2);
    unit_write(path, &sif, sizeof(sif));
    assert_image(path, BERTH_IMAGE_SIF);
}

static const struct {
    size_t length;
    const char *error;
} cuts[] = {
    {0, "the file is incomplete; copy or build it again"},
    {1, NOT_SIF},
    {31, NOT_SIF},
    {42, NOT_SIF},
    {HEADER - 1, NOT_SIF},
    {HEADER, CUT},
    {HEADER + 1, CUT},
    {HEADER + DESCRIPTOR, CUT},
    {HEADER + 2 * DESCRIPTOR - 1, CUT},
    {HEADER + 4 * DESCRIPTOR, CUT},
    {DATA, CUT},
    {DATA + 99, CUT},
    {DATA + 100, CUT},
    {WHOLE - 1, CUT},
};

TEST_ROWS(a_cut_sif_is_refused, cuts)
{
    BERTH_FREE char *path = unit_path(unit_dir, "cut.sif");
    struct sif sif;

    make_sif(&sif);
    unit_write(path, &sif, cuts[_i].length);
    assert_refused(path, 0, cuts[_i].error);
}

TEST(no_cut_passes)
{
    BERTH_FREE char *path = unit_path(unit_dir, "cut.sif");
    struct berth_image image;
    struct sif sif;

    make_sif(&sif);
    unit_write(path, &sif, sizeof(sif));
    for (off_t length = WHOLE - 1; length >= 0; length -= 7) {
        ck_assert_int_eq(truncate(path, length), 0);
        ck_assert_int_eq(berth_image_probe(path, &image, NULL), -1);
    }
}

/* berth_image_probe() does not check the machine: a login node may be of another kind
 * than the nodes. */
TEST(an_image_for_another_machine_is_refused_where_it_would_run)
{
    BERTH_FREE char *path = unit_path(unit_dir, "other.sif");
    BERTH_FREE char *expected = NULL;
    const char *code = strcmp(own_architecture(), "11") == 0 ? "02" : "11";
    const char *name = strcmp(code, "11") == 0 ? "s390x" : "x86_64";
    struct berth_image image;
    struct berth_err err;
    struct utsname host;
    struct sif sif;

    make_sif(&sif);
    memcpy(sif.bytes + 45, code, 2);
    unit_write(path, &sif, sizeof(sif));
    ck_assert_int_eq(uname(&host), 0);
    ck_assert_int_eq(berth_image_probe(path, &image, &err), 0);
    ck_assert_str_eq(image.machine, name);
    ck_assert_int_eq(berth_image_check_machine(path, &image, &err), -1);
    expected = unit_format("image '%s': it is for %s and this machine is %s; use an "
                           "image for %s",
                           path, name, host.machine, host.machine);
    ck_assert_str_eq(err.text, expected);
}

/* One number of a good SIF, overwritten. */
static const struct {
    const char *name;
    int at;
    int count;
    uint64_t value;
    const char *error;
} faults[] = {
    {"magic", 32, 1, 'X', NOT_SIF},
    {"magic's end", 41, 1, 'X', NOT_SIF},
    {"no descriptors", 88, 8, 0, NO_PARTITION},
    {"one descriptor too few", 88, 8, 1, NO_PARTITION},
    {"more descriptors than fit", 88, 8, 4096, CUT},
    {"4097 descriptors", 88, 8, 4097, CUT},
    {"2^63 descriptors", 88, 8, UINT64_C(1) << 63, CUT},
    {"2^64-1 descriptors", 88, 8, UINT64_MAX, CUT},
    {"descriptors behind the end", 96, 8, WHOLE + 1, CUT},
    {"descriptors at the end", 96, 8, WHOLE, CUT},
    {"descriptors at 2^64-1", 96, 8, UINT64_MAX, CUT},
    {"part behind the end", HEADER + DESCRIPTOR + 17, 8, WHOLE + 1, CUT},
    {"part at 2^64-1", HEADER + DESCRIPTOR + 17, 8, UINT64_MAX, CUT},
    {"part one too long", HEADER + DESCRIPTOR + 25, 8, BODY - 99, CUT},
    {"part of 2^64-1", HEADER + DESCRIPTOR + 25, 8, UINT64_MAX, CUT},
    {"another type", HEADER + DESCRIPTOR, 4, 0x4003, NO_PARTITION},
    {"an OCI image", HEADER + DESCRIPTOR, 4, 0x400A, OCI_SIF},
    {"partition unused", HEADER + DESCRIPTOR + 4, 1, 0, NO_PARTITION},
};

TEST_ROWS(a_false_number_is_refused, faults)
{
    BERTH_FREE char *path = unit_path(unit_dir, "false.sif");
    struct sif sif;

    make_sif(&sif);
    put(sif.bytes + faults[_i].at, faults[_i].value, faults[_i].count);
    unit_write(path, &sif, sizeof(sif));
    assert_refused(path, 0, faults[_i].error);
}

static const struct {
    const char *bytes;
    size_t count;
} others[] = {
    {"not an image\n", 13},
    {"\177ELF\002\001\001", 7},
    {"#!/bin/sh\necho hello\n", 21},
};

TEST_ROWS(another_file_is_no_image, others)
{
    BERTH_FREE char *path = unit_path(unit_dir, "other");
    char bytes[1024] = {0};

    memcpy(bytes, others[_i].bytes, others[_i].count);
    unit_write(path, bytes, sizeof(bytes));
    assert_refused(path, 0, NOT_SIF);
    unit_write(path, bytes, others[_i].count);
    assert_refused(path, 0, NOT_SIF);
}

static const char *const signs[] = {".singularity.d", "bin", "usr", "etc", "lib",
                                    "lib64"};

TEST_ROWS(a_directory_with_a_root_is_a_sandbox, signs)
{
    BERTH_FREE char *path = unit_path(unit_dir, signs[_i]);

    ck_assert_int_eq(mkdir(path, 0755), 0);
    assert_image(unit_dir, BERTH_IMAGE_SANDBOX);
}

TEST(links_of_a_sandbox_are_not_followed)
{
    BERTH_FREE char *path = unit_path(unit_dir, "bin");

    ck_assert_int_eq(symlink("usr/bin", path), 0);
    assert_image(unit_dir, BERTH_IMAGE_SANDBOX);
}

TEST(a_directory_without_a_root_is_none)
{
    BERTH_FREE char *path = unit_path(unit_dir, "home");

    ck_assert_int_eq(mkdir(path, 0755), 0);
    assert_refused(unit_dir, 0, NOT_SIF);
}

TEST(a_missing_image_is_said_to_be_missing)
{
    BERTH_FREE char *path = unit_path(unit_dir, "nothing.sif");
    BERTH_FREE char *below = unit_path(unit_dir, "file/below.sif");
    BERTH_FREE char *file = unit_path(unit_dir, "file");
    static const char error[] =
        "not found; check the path, and that the nodes see this file system";

    unit_write(file, "x", 1);
    assert_refused(path, 1, error);
    assert_refused(below, 1, error);
    free(path);
    path = unit_path(unit_dir, "ubuntu:22.04");
    ck_assert_int_eq(chdir(unit_dir), 0);
    assert_refused(path, 1, "not found; did you mean 'docker://ubuntu:22.04'?");
    ck_assert_int_eq(chdir("/"), 0);
}

/* A squashfs file whose superblock counts USED bytes: the eight bytes at 40. */
static void write_squashfs(const char *path, unsigned char used)
{
    char bytes[256] = "hsqs";

    bytes[40] = (char)used;
    unit_write(path, bytes, sizeof(bytes));
}

TEST(a_squashfs_file_is_an_image)
{
    BERTH_FREE char *path = unit_path(unit_dir, "enroot.sqsh");
    BERTH_STRVEC struct berth_strvec facts = {0};
    struct berth_err err;

    write_squashfs(path, 255);
    assert_image(path, BERTH_IMAGE_SQUASHFS);
    ck_assert_int_eq(berth_image_describe(path, &facts, &err), 0);
    ck_assert_str_eq(berth_strvec_pair(&facts, "kind"), "squashfs file");
    ck_assert_str_eq(berth_strvec_pair(&facts, "bytes"), "256");
    ck_assert_ptr_null(berth_strvec_pair(&facts, "id"));
}

TEST(a_cut_squashfs_file_is_refused)
{
    BERTH_FREE char *path = unit_path(unit_dir, "cut.sqsh");

    write_squashfs(path, 255);
    ck_assert_int_eq(truncate(path, 254), 0);
    assert_refused(path, 0, CUT);
    ck_assert_int_eq(truncate(path, 255), 0);
    assert_image(path, BERTH_IMAGE_SQUASHFS);
}

TEST(only_a_squashfs_file_has_a_reader)
{
    struct berth_image image = {.kind = BERTH_IMAGE_SIF};
    const char *reader = "unset";
    struct berth_err err;

    ck_assert_int_eq(berth_image_find_reader(&image, &reader, &err), 0);
    ck_assert_ptr_null(reader);
    image.kind = BERTH_IMAGE_SQUASHFS;
    if (berth_image_find_reader(&image, &reader, &err) == 0)
        ck_assert_str_eq(reader, BERTH_IMAGE_READER); /* berth is installed here */
    else
        ck_assert_msg(strstr(err.text, "squashfs-environment': No such file or "
                                       "directory; berth is incomplete on this host"),
                      "%s", err.text);
}

TEST(a_device_or_pipe_is_no_image)
{
    BERTH_FREE char *path = unit_path(unit_dir, "pipe");

    assert_refused("/dev/null", 0, NOT_SIF);
    ck_assert_int_eq(mkfifo(path, 0644), 0);
    assert_refused(path, 0, NOT_SIF);
}

TEST(what_cannot_be_opened_says_why)
{
    BERTH_FREE char *path = unit_path(unit_dir, "loop");

    ck_assert_int_eq(symlink("loop", path), 0);
    assert_refused(path, 0,
                   "cannot be opened: Too many levels of symbolic links; "
                   "check the path");
}

/* Root may read everything; become another user. */
static void become(uid_t user)
{
    if (privileged)
        ck_assert_int_eq(setresuid(user, user, 0), 0);
}

TEST(an_unreadable_image_is_said_to_be_so)
{
    BERTH_FREE char *path = unit_path(unit_dir, "secret.sif");
    BERTH_FREE char *sandbox = unit_path(unit_dir, "secret");
    BERTH_FREE char *closed = unit_path(unit_dir, "closed");
    static const char error[] =
        "you may not read it; ask its owner for r permission (and x on directories)";

    unit_write(path, "x", 1);
    ck_assert_int_eq(chmod(path, 0), 0);
    ck_assert_int_eq(mkdir(sandbox, 0), 0);
    ck_assert_int_eq(mkdir(closed, 0444), 0);
    ck_assert_int_eq(chmod(unit_dir, 0755), 0);
    become(65534);
    assert_refused(path, 0, error);
    assert_refused(sandbox, 0, error);
    assert_refused(
        closed, 0,
        "you may not read it; ask its owner for r permission (and x on directories)");
    become(0);
    ck_assert_int_eq(chmod(sandbox, 0700), 0);
    ck_assert_int_eq(chmod(closed, 0700), 0);
}

static const struct {
    const char *name; /* of the part */
    const char *text;
    const char *directory; /* NULL: none */
} configurations[] = {
    {"oci-config.json",
     "{\"Env\":[\"A=\\\"b\\\"\"],\"Cmd\":null,\"WorkingDir\":\"/work space\"}",
     "/work space"},
    {"oci-config.json", "{\"WorkingDir\":\"\"}", NULL},
    {"oci-config.json", "{\"WorkingDir\":\"relative\"}", NULL},
    {"oci-config.json", "{\"WorkingDir\":[\"/w\"]}", NULL},
    {"oci-config.json", "{\"config\":{\"WorkingDir\":\"/w\"}}", NULL},
    {"oci-config.json", "[]", NULL},
    {"oci-config.json", "{\"WorkingDir\":\"/w", NULL},
    {"oci-config.json", "", NULL},
    {"labels.json", "{\"WorkingDir\":\"/w\"}", NULL},
};

TEST_ROWS(a_sif_keeps_the_directory_of_an_oci_image, configurations)
{
    enum { JSON = 0x4006 };
    BERTH_FREE char *path = unit_path(unit_dir, "oci.sif");
    BERTH_FREE char *directory = NULL;
    size_t length = strlen(configurations[_i].text);
    struct sif sif;

    make_sif(&sif);
    put_part(&sif, 0, JSON, DATA, length);
    strcpy((char *)sif.bytes + HEADER + 73, configurations[_i].name);
    memcpy(sif.bytes + DATA, configurations[_i].text, length);
    unit_write(path, &sif, sizeof(sif));
    assert_image(path, BERTH_IMAGE_SIF);
    directory = berth_image_workdir(path);
    if (configurations[_i].directory)
        ck_assert_pstr_eq(directory, configurations[_i].directory);
    else
        ck_assert_ptr_null(directory);
}

TEST(others_keep_none)
{
    enum { JSON = 0x4006 };
    BERTH_FREE char *path = unit_path(unit_dir, "x.sif");
    struct sif sif;

    ck_assert_ptr_null(berth_image_workdir(unit_dir));
    ck_assert_ptr_null(berth_image_workdir("/nowhere.sif"));
    write_squashfs(path, 255);
    ck_assert_ptr_null(berth_image_workdir(path));
    /* a part that is larger than its file, and one that no configuration is */
    make_sif(&sif);
    put_part(&sif, 0, JSON, DATA, 2 * WHOLE);
    strcpy((char *)sif.bytes + HEADER + 73, "oci-config.json");
    unit_write(path, &sif, sizeof(sif));
    ck_assert_ptr_null(berth_image_workdir(path));
    put_part(&sif, 0, JSON, DATA, (uint64_t)1 << 40);
    unit_write(path, &sif, sizeof(sif));
    ck_assert_ptr_null(berth_image_workdir(path));
}

void unit_prepare(TCase *tests)
{
    privileged = getuid() == 0;
    unit_in_directory(tests);
}

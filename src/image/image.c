/* SPDX-License-Identifier: Apache-2.0 */
/* Checks whether a path is a SIF file, a squashfs file or a sandbox directory, before a
 * runtime is started: the runtime would report an error late, once for each task, and
 * in words about itself. */

#include "image/image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fileid.h"
#include "base/installed.h"
#include "base/text.h"
#include "container/program.h"
#include "request/missing.h"

/* The SIF global header and its descriptors, little-endian (SIF specification, "SIF
 * file format"; offsets from the start of the file and of a descriptor). */
enum {
    SIF_HEADER_SIZE = 128,
    SIF_MAGIC_AT = 32,
    SIF_ARCH_AT = 45,
    SIF_ID_AT = 48,
    SIF_ID_SIZE = 16,
    SIF_TOTAL_AT = 88,
    SIF_DESCRIPTORS_AT = 96,
    SIF_DESCRIPTOR_SIZE = 585,
    SIF_USED_AT = 4,
    SIF_OFFSET_AT = 17,
    SIF_SIZE_AT = 25,
    SIF_NAME_AT = 73,
    SIF_NAME_SIZE = 128,
    SIF_TYPE_PARTITION = 0x4004,
    SIF_TYPE_JSON = 0x4006,
    SIF_TYPE_OCI_INDEX = 0x400A,
    SIF_DESCRIPTORS_MAX = 4096
};

#define SIF_MAGIC "SIF_MAGIC"

/* The superblock of a squashfs file, little-endian since version 4.0 (struct
 * squashfs_super_block in Linux's fs/squashfs/squashfs_fs.h). mksquashfs pads a file to
 * whole blocks after the bytes that it counts. */
enum { SQUASHFS_BYTES_AT = 40 };
#define SQUASHFS_MAGIC "hsqs"

static int refuse_kind(const char *path, struct berth_err *err)
{
    return berth_err_set(
        err,
        "image '%s': not an image; expected a SIF file, a "
        "squashfs file or a sandbox directory, as 'apptainer build NEW.sif "
        "FILE' makes them from other formats",
        path);
}

static int refuse_incomplete(const char *path, struct berth_err *err)
{
    return berth_err_set(
        err, "image '%s': the file is incomplete; copy or build it again", path);
}

static int refuse_access(const char *path, struct berth_err *err)
{
    return berth_err_set(err,
                         "image '%s': you may not read it; ask its owner for r "
                         "permission (and x on directories)",
                         path);
}

static const struct {
    const char *code; /* in the SIF header */
    const char *name; /* as `uname -m` prints it */
} architectures[] = {
    {"01", "i686"},  {"02", "x86_64"},  {"03", "armv7l"}, {"04", "aarch64"},
    {"05", "ppc64"}, {"06", "ppc64le"}, {"11", "s390x"},  {"12", "riscv64"},
};

const char *berth_image_machines(size_t at)
{
    if (at >= sizeof(architectures) / sizeof(architectures[0]))
        return NULL;
    return architectures[at].name;
}

const char *berth_image_code(void)
{
    struct utsname host;

    if (uname(&host) < 0)
        return NULL;
    for (size_t i = 0; i < sizeof(architectures) / sizeof(architectures[0]); i++)
        if (strcmp(host.machine, architectures[i].name) == 0)
            return architectures[i].code;
    return NULL;
}

static uint64_t read_le(const unsigned char *bytes, int count)
{
    uint64_t value = 0;

    for (int i = count - 1; i >= 0; i--)
        value = value << 8 | bytes[i];
    return value;
}

/* The machine in a SIF header; NULL: it is not in the list. */
static const char *machine_of(const unsigned char *header)
{
    const char *code = (const char *)header + SIF_ARCH_AT;

    for (size_t i = 0; i < sizeof(architectures) / sizeof(architectures[0]); i++)
        if (memcmp(code, architectures[i].code, 2) == 0)
            return architectures[i].name;
    return NULL;
}

int berth_image_check_machine(const char *path, const struct berth_image *image,
                              struct berth_err *err)
{
    struct utsname host;

    /* whether it runs is then for the runtime to say */
    if (!image->machine || uname(&host) < 0)
        return 0;
    if (strcmp(host.machine, image->machine) == 0)
        return 0;
    return berth_err_set(
        err,
        "image '%s': it is for %s and this machine is %s; use an image "
        "for %s",
        path, image->machine, host.machine, host.machine);
}

/* The descriptors of a SIF file of SIZE bytes with HEADER; the caller frees them. NULL
 * with a sentence in ERR: the file is cut short. */
static unsigned char *read_descriptors(const char *path, int fd,
                                       const unsigned char *header, uint64_t size,
                                       size_t *ret_bytes, struct berth_err *err)
{
    uint64_t total = read_le(header + SIF_TOTAL_AT, 8);
    uint64_t start = read_le(header + SIF_DESCRIPTORS_AT, 8);
    size_t bytes = (size_t)total * SIF_DESCRIPTOR_SIZE;
    BERTH_FREE unsigned char *parts = NULL;

    if (total > SIF_DESCRIPTORS_MAX || start > size) {
        refuse_incomplete(path, err);
        return NULL;
    }
    parts = malloc(bytes + 1);
    if (!parts) {
        berth_err_oom(err);
        return NULL;
    }
    if (pread(fd, parts, bytes, (off_t)start) != (ssize_t)bytes) {
        refuse_incomplete(path, err);
        return NULL;
    }
    *ret_bytes = bytes;
    return berth_steal(&parts);
}

/* Is all of PART inside a SIF file of SIZE bytes? */
static bool is_inside(const unsigned char *part, uint64_t size)
{
    uint64_t at = read_le(part + SIF_OFFSET_AT, 8);
    uint64_t count = read_le(part + SIF_SIZE_AT, 8);

    /* without a sum: at + count may be more than 64 bits hold */
    return at <= size && count <= size - at;
}

/* Check that each part of the SIF file is inside its SIZE bytes, and that one part is a
 * file system. */
static int check_parts(const char *path, int fd, const unsigned char *header,
                       uint64_t size, struct berth_err *err)
{
    size_t bytes;
    BERTH_FREE unsigned char *parts =
        read_descriptors(path, fd, header, size, &bytes, err);
    bool partition = false;
    bool oci = false;

    if (!parts)
        return -1;
    for (const unsigned char *part = parts; part < parts + bytes;
         part += SIF_DESCRIPTOR_SIZE) {
        if (!part[SIF_USED_AT])
            continue;
        if (!is_inside(part, size))
            return refuse_incomplete(path, err);
        if (read_le(part, 4) == SIF_TYPE_PARTITION)
            partition = true;
        if (read_le(part, 4) == SIF_TYPE_OCI_INDEX)
            oci = true;
    }

    if (!partition && oci)
        return berth_err_set(err,
                             "image '%s': an OCI-SIF file, which SingularityCE runs "
                             "with --oci only; make one without: singularity pull "
                             "--no-oci",
                             path);
    if (!partition)
        return refuse_incomplete(path, err);
    return 0;
}

/* Write the UUID in a SIF header to TEXT. */
static void write_id(const unsigned char *header, char *text)
{
    const unsigned char *id = header + SIF_ID_AT;

    snprintf(text, BERTH_IMAGE_ID,
             "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             id[0], id[1], id[2], id[3], id[4], id[5], id[6], id[7], id[8], id[9],
             id[10], id[11], id[12], id[13], id[14], id[15]);
}

/* The descriptor of the part NAME among the BYTES of PARTS; NULL: there is none. */
static const unsigned char *find_part(const unsigned char *parts, size_t bytes,
                                      const char *name)
{
    for (const unsigned char *part = parts; part < parts + bytes;
         part += SIF_DESCRIPTOR_SIZE) {
        const char *part_name = (const char *)part + SIF_NAME_AT;
        bool is_json = part[SIF_USED_AT] && read_le(part, 4) == SIF_TYPE_JSON;

        if (is_json && strncmp(part_name, name, SIF_NAME_SIZE) == 0)
            return part;
    }
    return NULL;
}

static bool is_sif(const unsigned char header[SIF_HEADER_SIZE])
{
    return memcmp(header + SIF_MAGIC_AT, SIF_MAGIC, sizeof(SIF_MAGIC)) == 0;
}

/* Append COUNT bytes of FD, from AT. */
static int read_bytes(int fd, off_t at, size_t count, struct berth_buf *ret)
{
    BERTH_FREE char *text = malloc(count + 1);

    if (!text || pread(fd, text, count, at) != (ssize_t)count)
        return -1;
    berth_buf_add(ret, text, count);
    return ret->failed ? -1 : 0;
}

int berth_image_read_part(const char *path, const char *name, size_t most,
                          struct berth_buf *ret)
{
    BERTH_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    BERTH_FREE unsigned char *parts = NULL;
    unsigned char header[SIF_HEADER_SIZE];
    const unsigned char *part;
    uint64_t at, count;
    struct stat st;
    size_t bytes;

    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return -1;
    if (pread(fd, header, sizeof(header), 0) != sizeof(header) || !is_sif(header))
        return -1;
    parts = read_descriptors(path, fd, header, (uint64_t)st.st_size, &bytes, NULL);
    if (!parts)
        return -1;
    part = find_part(parts, bytes, name);
    if (!part)
        return -1;

    at = read_le(part + SIF_OFFSET_AT, 8);
    count = read_le(part + SIF_SIZE_AT, 8);
    if (count > most)
        return -1;
    return read_bytes(fd, (off_t)at, (size_t)count, ret);
}

static int check_file(const char *path, int fd, uint64_t size,
                      struct berth_image *ret_image, struct berth_err *err)
{
    unsigned char header[SIF_HEADER_SIZE];

    if (size == 0)
        return refuse_incomplete(path, err);
    if (pread(fd, header, sizeof(header), 0) != sizeof(header))
        return refuse_kind(path, err);
    if (memcmp(header, SQUASHFS_MAGIC, strlen(SQUASHFS_MAGIC)) == 0) {
        ret_image->kind = BERTH_IMAGE_SQUASHFS;
        if (read_le(header + SQUASHFS_BYTES_AT, 8) > size)
            return refuse_incomplete(path, err);
        return 0;
    }
    if (!is_sif(header))
        return refuse_kind(path, err);
    ret_image->machine = machine_of(header);
    write_id(header, ret_image->id);
    return check_parts(path, fd, header, size, err);
}

static int check_directory(const char *path, int fd, struct berth_err *err)
{
    static const char *const signs[] = {".singularity.d", "bin", "usr", "etc", "lib",
                                        "lib64"};

    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
        if (faccessat(fd, signs[i], F_OK, AT_SYMLINK_NOFOLLOW) == 0)
            return 0;
    if (errno == EACCES)
        return refuse_access(path, err);
    return refuse_kind(path, err);
}

static int refuse_open(const char *path, int number, struct berth_image *ret_image,
                       struct berth_err *err)
{
    ret_image->is_missing = number == ENOENT || number == ENOTDIR;
    if (ret_image->is_missing) {
        /* the explanation reads directories: only for one who wants the sentence */
        if (!err)
            return -1;
        return berth_missing_explain(path, err);
    }
    if (number == EACCES)
        return refuse_access(path, err);
    return berth_err_set(err, BERTH_OPENED_FAILED, path, strerror(number));
}

int berth_image_probe(const char *path, struct berth_image *ret_image,
                      struct berth_err *err)
{
    BERTH_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;

    *ret_image = (struct berth_image){0};
    if (fd < 0 || fstat(fd, &st) < 0)
        return refuse_open(path, errno, ret_image, err);
    if (S_ISDIR(st.st_mode)) {
        ret_image->kind = BERTH_IMAGE_SANDBOX;
        return check_directory(path, fd, err);
    }
    if (!S_ISREG(st.st_mode))
        return refuse_kind(path, err);
    ret_image->kind = BERTH_IMAGE_SIF;
    return check_file(path, fd, (uint64_t)st.st_size, ret_image, err);
}

int berth_image_find_reader(const struct berth_image *image, const char **ret,
                            struct berth_err *err)
{
    const char *reader = berth_installed(BERTH_IMAGE_READER);

    *ret = NULL;
    if (image->kind != BERTH_IMAGE_SQUASHFS)
        return 0;
    if (access(reader, R_OK) < 0)
        return berth_program_missing(reader, err);
    *ret = reader;
    return 0;
}

int berth_image_describe(const char *path, struct berth_strvec *ret,
                         struct berth_err *err)
{
    static const char *const kinds[] = {[BERTH_IMAGE_SIF] = "SIF file",
                                        [BERTH_IMAGE_SANDBOX] = "directory",
                                        [BERTH_IMAGE_SQUASHFS] = "squashfs file"};
    struct berth_image image;
    struct stat st;
    struct tm modified;
    char text[64];

    if (berth_image_probe(path, &image, NULL) < 0 || stat(path, &st) < 0)
        return 0;
    berth_strvec_push_pair(ret, "kind", kinds[image.kind]);
    if (image.machine)
        berth_strvec_push_pair(ret, "machine", image.machine);
    if (image.kind != BERTH_IMAGE_SANDBOX) {
        snprintf(text, sizeof(text), "%lld", (long long)st.st_size);
        berth_strvec_push_pair(ret, "bytes", text);
    }
    if (gmtime_r(&st.st_mtime, &modified) &&
        strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &modified))
        berth_strvec_push_pair(ret, "modified", text);
    if (*image.id)
        berth_strvec_push_pair(ret, "id", image.id);
    return berth_err_oom_if(ret->failed, err);
}

int berth_image_check(const struct berth_request *request,
                      struct berth_image *ret_image, struct berth_err *err)
{
    if (berth_image_probe(request->image, ret_image, err) == 0)
        return berth_image_check_machine(request->image, ret_image, err);
    if (!request->uri || !ret_image->is_missing)
        return -1;
    return berth_err_set(err,
                         "image '%s': its file '%s' is not here; the cache must be "
                         "where all nodes see it (images.cache in berth.yaml, or "
                         "XDG_CACHE_HOME)",
                         request->uri, request->image);
}

int berth_image_check_unsaved(const char *path, struct berth_err *err)
{
    if (access(path, F_OK) != 0)
        return 0;
    return berth_err_set(err,
                         "--container-save: '%s' is there; remove it, or take another "
                         "name",
                         path);
}

bool berth_image_is_bundle(const char *path)
{
    BERTH_FREE char *config = NULL;

    return asprintf(&config, "%s/config.json", path) > 0 && access(config, F_OK) == 0;
}

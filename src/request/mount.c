/* SPDX-License-Identifier: Apache-2.0 */
/* The value of --container-mounts: from text to source, destination and mode. Does not
 * check whether the source exists. */

#include "request/mount.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "request/path.h"

static const char *const modes[] = {
    [BERTH_MOUNT_RW] = "rw", [BERTH_MOUNT_RO] = "ro", [BERTH_MOUNT_SQSH] = "sqsh"};

enum { MODES = sizeof(modes) / sizeof(modes[0]) };

#define EXPECTED "SRC[:DST[:ro|rw|sqsh]], DST from / and not / itself"

/* Flags of mounts that enroot knows. */
struct enroot_flag {
    const char *text;
    bool is_done; /* nothing is left to do: the runtime binds with all that is mounted
                     below, without set-user-ID programs and devices, makes the place,
                     and no mount of the container reaches the host */
};

static const struct enroot_flag enroot_flags[] = {
    {"bind", true},        {"rbind", true},        {"private", true},
    {"rprivate", true},    {"slave", true},        {"rslave", true},
    {"x-create=", true},   {"nosuid", true},       {"nodev", true},
    {"nofail", false},     {"x-move", false},      {"x-detach", false},
    {"unbindable", false}, {"runbindable", false}, {"noexec", false},
};

/* The mode of TEXT; MODES: it is none. */
static int find_mode(const char *text)
{
    for (int mode = 0; mode < MODES; mode++)
        if (strcmp(text, modes[mode]) == 0)
            return mode;
    return MODES;
}

/* The flag of enroot in TEXT; NULL: it is none. */
static const struct enroot_flag *find_enroot_flag(const char *text)
{
    for (size_t i = 0; i < sizeof(enroot_flags) / sizeof(enroot_flags[0]); i++) {
        const char *flag = enroot_flags[i].text;

        if (strcmp(text, flag) == 0)
            return &enroot_flags[i];
        if (berth_text_ends(flag, "=") && berth_text_starts(text, flag))
            return &enroot_flags[i];
    }
    return NULL;
}

/* Refuses FOREIGN, a flag of enroot in FLAGS, the third field of TEXT, which has MODE
 * besides. */
static int refuse_flag(const char *foreign, int mode, const char *flags,
                       const char *text, struct berth_err *err)
{
    size_t before_flags = strlen(text) - strlen(flags) - strlen(":");
    BERTH_BUF struct berth_buf meant = {0};

    berth_buf_add(&meant, text, before_flags);
    if (mode != MODES)
        berth_buf_addf(&meant, ":%s", modes[mode]);
    if (meant.failed)
        return berth_err_oom(err);
    return berth_err_set(err,
                         "'%s': '%s' is a flag of enroot that berth does not have; "
                         "leave it out: '%s'",
                         text, foreign, meant.text);
}

/* Reads FLAGS, the third field of TEXT: one mode at most (else *RET stays), and flags
 * of enroot, with `+` between them. Refuses a flag that would have to be done. */
static int read_mode(const char *flags, const char *text, int *ret,
                     struct berth_err *err)
{
    BERTH_FREE char *copy = strdup(flags);
    const char *foreign = NULL;
    char *rest = copy;
    int mode = MODES;

    if (!copy)
        return berth_err_oom(err);
    while (rest) {
        const char *flag = strsep(&rest, "+");
        const struct enroot_flag *enroot = find_enroot_flag(flag);
        int found = find_mode(flag);

        if (enroot && !enroot->is_done)
            foreign = flag;
        else if (enroot)
            continue;
        else if (found == MODES || mode != MODES)
            return berth_err_expected(err, EXPECTED, text);
        else
            mode = found;
    }
    if (foreign)
        return refuse_flag(foreign, mode, flags, text, err);
    if (mode != MODES)
        *ret = mode;
    return 0;
}

/* Appends the flags in FLAGS, a third field, that are done anyway. */
static void add_ignored(const char *flags, struct berth_strvec *ret)
{
    BERTH_FREE char *copy = strdup(flags);
    char *rest = copy;

    ret->failed |= !copy;
    while (rest) {
        const char *text = strsep(&rest, "+");
        const struct enroot_flag *flag = find_enroot_flag(text);

        if (flag && flag->is_done && !berth_strvec_has(ret, text))
            berth_strvec_push(ret, text);
    }
}

void berth_mount_list_ignored(const char *text, struct berth_strvec *ret)
{
    BERTH_STRVEC struct berth_strvec items = {0};

    berth_strvec_split(&items, text);
    for (size_t i = 0; i < items.count; i++) {
        const char *destination = berth_text_after(items.items[i], ':');
        const char *flags = NULL;

        if (destination)
            flags = berth_text_after(destination, ':');
        if (flags)
            add_ignored(flags, ret);
    }
    ret->failed |= items.failed;
}

/* Refuses SOURCE, the first field of TEXT, and DESTINATION (NULL: none), the second, if
 * they are not paths but keywords of enroot, or begin with a blank. */
static int check_keywords(const char *source, const char *destination, const char *text,
                          struct berth_err *err)
{
    if (*source == ' ' || (destination && *destination == ' '))
        return berth_err_set(err,
                             "'%s': a path begins with a blank; write mounts without "
                             "blanks between them (a path: './ name')",
                             text);
    if (strcmp(source, "tmpfs") == 0)
        return berth_err_set(err,
                             "'%s': tmpfs is not a source; for a scratch directory "
                             "write --container-args=--scratch=%s (a path: ./tmpfs)",
                             text, berth_text_or(destination, "/tmp"));
    if (strcmp(source, "umount") == 0)
        return berth_err_set(err,
                             "'%s': umount is not a source; leave it out, and to have "
                             "no home directory write --no-container-mount-home (a "
                             "path: ./umount)",
                             text);
    return 0;
}

int berth_mount_parse(const char *text, const char *base, struct berth_mount *ret_mount,
                      struct berth_err *err)
{
    BERTH_FREE char *copy = strdup(text);
    BERTH_FREE char *source = NULL;
    BERTH_FREE char *destination = NULL;
    const char *from, *to, *flags; /* the fields; NULL: not there */
    char *rest = copy;
    int mode = BERTH_MOUNT_RW;

    if (!copy)
        return berth_err_oom(err);
    from = strsep(&rest, ":");
    to = strsep(&rest, ":");
    flags = strsep(&rest, ":");
    if (check_keywords(from, to, text, err) < 0)
        return -1;
    if (rest || *from == '\0')
        return berth_err_expected(err, EXPECTED, text);
    if (to && *to == '\0')
        return berth_err_expected(err, EXPECTED, text);
    if (flags && read_mode(flags, text, &mode, err) < 0)
        return -1;

    if (berth_path_absolute(from, base, &source, err) < 0)
        return berth_err_at(err, "'%s'", text);
    if (to && *to != '/')
        return berth_err_expected(err, EXPECTED, text);
    destination = berth_path_clean(berth_text_or(to, source));
    if (!destination)
        return berth_err_oom(err);
    if (strcmp(destination, "/") == 0)
        return berth_err_expected(err, EXPECTED, text);
    *ret_mount = (struct berth_mount){
        .source = berth_steal(&source),
        .destination = berth_steal(&destination),
        .mode = (enum berth_mount_mode)mode,
    };
    return 0;
}

/* Parse TEXT, a mount in full form. */
static bool is_mount(const char *text, struct berth_mount *ret, bool *ret_failed)
{
    struct berth_err why;

    if (berth_mount_parse(text, NULL, ret, &why) == 0)
        return true;
    *ret_failed |= why.code == BERTH_ERR_MEMORY;
    return false;
}

bool berth_mount_same_place(const char *a, const char *b, bool *ret_failed)
{
    BERTH_MOUNT struct berth_mount one = {0};
    BERTH_MOUNT struct berth_mount other = {0};

    return is_mount(a, &one, ret_failed) && is_mount(b, &other, ret_failed) &&
           strcmp(one.destination, other.destination) == 0;
}

void berth_mount_add(const char *text, struct berth_strvec *mounts)
{
    size_t kept = 0;

    for (size_t i = 0; i < mounts->count; i++) {
        char *mount = mounts->items[i];

        if (berth_mount_same_place(mount, text, &mounts->failed)) {
            free(mount);
            continue;
        }
        mounts->items[kept] = mount;
        kept++;
    }
    mounts->count = kept;
    if (mounts->items)
        mounts->items[kept] = NULL;
    berth_strvec_push(mounts, text);
}

int berth_mount_check_place(const struct berth_strvec *mounts, const char *text,
                            struct berth_err *err)
{
    bool failed = false;

    for (size_t i = 0; i < mounts->count; i++) {
        const char *other = mounts->items[i];

        if (strcmp(other, text) != 0 && berth_mount_same_place(other, text, &failed))
            return berth_err_set(err,
                                 "'%s' and '%s' have one place in the image; leave one "
                                 "out, or choose another place",
                                 other, text);
    }
    return berth_err_oom_if(failed, err);
}

int berth_mount_append(const char *text, const char *base, struct berth_strvec *mounts,
                       struct berth_err *err)
{
    BERTH_MOUNT struct berth_mount mount = {0};

    if (berth_mount_parse(text, base, &mount, err) < 0)
        return -1;
    berth_mount_push(&mount, NULL, mounts);
    return berth_err_oom_if(mounts->failed, err);
}

int berth_mount_parse_list(const char *text, const char *base,
                           struct berth_strvec *mounts, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec items = {0};

    berth_strvec_split(&items, text);
    for (size_t i = 0; i < items.count; i++)
        if (berth_mount_append(items.items[i], base, mounts, err) < 0)
            return -1;
    return berth_err_oom_if(items.failed, err);
}

void berth_mount_push(const struct berth_mount *mount, const char *source,
                      struct berth_strvec *mounts)
{
    berth_strvec_pushf(mounts, "%s:%s:%s", berth_text_or(source, mount->source),
                       mount->destination, modes[mount->mode]);
}

void berth_mount_fini(struct berth_mount *mount)
{
    free(mount->source);
    free(mount->destination);
    *mount = (struct berth_mount){0};
}

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

/* Those of a file or directory of the node. */
static const char *const modes[] = {
    [BERTH_MOUNT_RW] = "rw", [BERTH_MOUNT_RO] = "ro", [BERTH_MOUNT_SQSH] = "sqsh"};

enum { MODES = sizeof(modes) / sizeof(modes[0]) };

#define TMPFS  "tmpfs"
#define UMOUNT "umount"

#define EXPECTED        "SRC[:DST[:ro|rw|sqsh]], DST from / and not / itself"
#define EXPECTED_TMPFS  "tmpfs:DST[:OPTION+OPTION...], DST from / and not / itself"
#define EXPECTED_UMOUNT "umount:DST, DST from / and not / or /proc"

/* Flags of mounts that enroot knows. Of those that are DONE nothing is left to do: the
 * runtime binds with all that is mounted below, without set-user-ID programs and
 * devices, makes the place, and no mount of the container reaches the host. Those that
 * are KEPT berth does when the container has started. FOREIGN ones are refused. */
struct enroot_flag {
    const char *text;
    enum { FOREIGN, DONE, KEPT } kind;
};

static const struct enroot_flag enroot_flags[] = {
    {"bind", DONE},       {"rbind", DONE},       {"private", DONE},
    {"rprivate", DONE},   {"slave", DONE},       {"rslave", DONE},
    {"x-create=", DONE},  {"nosuid", DONE},      {"nodev", DONE},
    {"unbindable", KEPT}, {"runbindable", KEPT}, {"nofail", FOREIGN},
    {"x-move", FOREIGN},  {"x-detach", FOREIGN}, {"noexec", FOREIGN},
};

/* Options of a tmpfs (tmpfs(5)); those that end in `=` have a value. */
static const char *const tmpfs_options[] = {
    "size=", "nr_inodes=", "mode=", "huge=", "noexec"};

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

/* Is TEXT an option of a tmpfs? The kernel checks its value. */
static bool is_tmpfs_option(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_%";

    for (size_t i = 0; i < sizeof(tmpfs_options) / sizeof(tmpfs_options[0]); i++) {
        const char *option = tmpfs_options[i];
        const char *value = text + strlen(option);

        if (!berth_text_ends(option, "=") && strcmp(text, option) == 0)
            return true;
        if (berth_text_ends(option, "=") && berth_text_starts(text, option))
            return *value && !value[strspn(value, letters)];
    }
    return false;
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

/* Appends FLAG to RET, flags with `+` between them. */
static void add_flag(struct berth_buf *ret, const char *flag)
{
    if (ret->used)
        berth_buf_puts(ret, "+");
    berth_buf_puts(ret, flag);
}

/* Reads FLAGS, the third field of TEXT: one mode at most (else *RET stays), and flags
 * of enroot, with `+` between them. Appends to KEPT those that are to be done. */
static int read_mode(const char *flags, const char *text, enum berth_mount_mode *ret,
                     struct berth_buf *kept, struct berth_err *err)
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

        if (enroot && enroot->kind == FOREIGN)
            foreign = flag;
        else if (enroot && enroot->kind == KEPT)
            add_flag(kept, flag);
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
        *ret = (enum berth_mount_mode)mode;
    return 0;
}

/* Reads FLAGS, the third field of TEXT, which is a tmpfs. Appends to KEPT its options.
 */
static int read_options(const char *flags, const char *text, struct berth_buf *kept,
                        struct berth_err *err)
{
    BERTH_FREE char *copy = strdup(flags);
    char *rest = copy;

    if (!copy)
        return berth_err_oom(err);
    while (rest) {
        const char *flag = strsep(&rest, "+");
        const struct enroot_flag *enroot = find_enroot_flag(flag);

        if (is_tmpfs_option(flag))
            add_flag(kept, flag);
        else if (strcmp(flag, modes[BERTH_MOUNT_RW]) != 0 &&
                 (!enroot || enroot->kind != DONE))
            return berth_err_set(err,
                                 "'%s': '%s' is not an option of a tmpfs; expected "
                                 "size=SIZE, nr_inodes=COUNT, mode=MODE, huge=WHEN or "
                                 "noexec",
                                 text, flag);
    }
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

        if (flag && flag->kind == DONE && !berth_strvec_has(ret, text))
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
 * they begin with a blank. */
static int check_blanks(const char *source, const char *destination, const char *text,
                        struct berth_err *err)
{
    if (*source == ' ' || (destination && *destination == ' '))
        return berth_err_set(err,
                             "'%s': a path begins with a blank; write mounts without "
                             "blanks between them (a path: './ name')",
                             text);
    return 0;
}

/* What SOURCE, the first field of a mount, makes of it. */
static enum berth_mount_mode find_kind(const char *source)
{
    if (strcmp(source, TMPFS) == 0)
        return BERTH_MOUNT_TMPFS;
    if (strcmp(source, UMOUNT) == 0)
        return BERTH_MOUNT_UMOUNT;
    return BERTH_MOUNT_RW;
}

/* The form of a mount of MODE, for messages. */
static const char *form_of(enum berth_mount_mode mode)
{
    switch (mode) {
    case BERTH_MOUNT_TMPFS:
        return EXPECTED_TMPFS;
    case BERTH_MOUNT_UMOUNT:
        return EXPECTED_UMOUNT;
    default:
        return EXPECTED;
    }
}

bool berth_mount_has_source(enum berth_mount_mode mode)
{
    return mode != BERTH_MOUNT_TMPFS && mode != BERTH_MOUNT_UMOUNT;
}

/* Reads SOURCE, the first field of TEXT, into *RET. */
static int read_source(const char *source, const char *base, const char *text,
                       char **ret, struct berth_err *err)
{
    if (berth_mount_has_source(find_kind(source))) {
        if (berth_path_absolute(source, base, ret, err) < 0)
            return berth_err_at(err, "'%s'", text);
        return 0;
    }
    *ret = strdup(source);
    return *ret ? 0 : berth_err_oom(err);
}

/* Can PLACE, a clean path, be the place of a mount of MODE? Programs of berth in the
 * container need /proc. */
static bool is_place(const char *place, enum berth_mount_mode mode)
{
    if (strcmp(place, "/") == 0)
        return false;
    return mode != BERTH_MOUNT_UMOUNT || strcmp(place, "/proc") != 0;
}

/* The fields of a mount; NULL: it has no such field. */
enum { SOURCE, DESTINATION, FLAGS, FIELDS, FIELDS_MOST };

/* Checks that the FIELDS of TEXT, a mount of KIND, are there, and not too many. */
static int check_fields(char *const field[FIELDS_MOST], enum berth_mount_mode kind,
                        const char *text, struct berth_err *err)
{
    const char *destination = field[DESTINATION];
    const bool has_source = berth_mount_has_source(kind);
    bool is_right = *field[SOURCE] && !field[FIELDS];

    if (destination && *destination != '/')
        is_right = false;
    if (!destination && !has_source)
        is_right = false;
    if (field[FLAGS] && kind == BERTH_MOUNT_UMOUNT)
        is_right = false;
    return is_right ? 0 : berth_err_expected(err, form_of(kind), text);
}

int berth_mount_parse(const char *text, const char *base, struct berth_mount *ret_mount,
                      struct berth_err *err)
{
    BERTH_FREE char *copy = strdup(text);
    BERTH_FREE char *source = NULL;
    BERTH_FREE char *destination = NULL;
    BERTH_BUF struct berth_buf kept = {0};
    char *field[FIELDS_MOST] = {0};
    char *rest = copy;
    enum berth_mount_mode mode;

    if (!copy)
        return berth_err_oom(err);
    for (int count = 0; rest && count < FIELDS_MOST; count++)
        field[count] = strsep(&rest, ":");
    mode = find_kind(field[SOURCE]);
    if (check_blanks(field[SOURCE], field[DESTINATION], text, err) < 0 ||
        check_fields(field, mode, text, err) < 0)
        return -1;
    if (field[FLAGS] && mode == BERTH_MOUNT_TMPFS) {
        if (read_options(field[FLAGS], text, &kept, err) < 0)
            return -1;
    } else if (field[FLAGS]) {
        if (read_mode(field[FLAGS], text, &mode, &kept, err) < 0)
            return -1;
    }
    if (kept.failed)
        return berth_err_oom(err);

    if (read_source(field[SOURCE], base, text, &source, err) < 0)
        return -1;
    destination = berth_path_clean(berth_text_or(field[DESTINATION], source));
    if (!destination)
        return berth_err_oom(err);
    if (!is_place(destination, mode))
        return berth_err_expected(err, form_of(mode), text);
    *ret_mount = (struct berth_mount){
        .source = berth_steal(&source),
        .destination = berth_steal(&destination),
        .mode = mode,
        .flags = berth_steal(&kept.text),
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
    BERTH_BUF struct berth_buf text = {0};
    const char *before_flags = ":";

    berth_buf_addf(&text, "%s:%s", berth_text_or(source, mount->source),
                   mount->destination);
    if (berth_mount_has_source(mount->mode)) {
        berth_buf_addf(&text, ":%s", modes[mount->mode]);
        before_flags = "+";
    }
    if (mount->flags)
        berth_buf_addf(&text, "%s%s", before_flags, mount->flags);
    mounts->failed |= text.failed;
    if (text.text)
        berth_strvec_push(mounts, text.text);
}

void berth_mount_fini(struct berth_mount *mount)
{
    free(mount->source);
    free(mount->destination);
    free(mount->flags);
    *mount = (struct berth_mount){0};
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the artifacts of a site on this node. */

#include "probe/artifacts.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <fts.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/text.h"
#include "probe/trusted.h"
#include "request/path.h"

/* Writes TEXT with MACHINE for each $arch to RET. */
static void replace_arch(const char *text, const char *machine, struct berth_buf *ret)
{
    static const char arch[] = "$arch";
    const char *at;

    for (; (at = strstr(text, arch)); text = at + strlen(arch)) {
        berth_buf_add(ret, text, (size_t)(at - text));
        berth_buf_puts(ret, machine);
    }
    berth_buf_puts(ret, text);
}

/* The file in DIRECTORY whose name fits PATTERN (fnmatch(3)); NULL: there is none. The
 * caller frees it. */
static char *find_in(const char *directory, const char *pattern)
{
    DIR *list = opendir(directory);
    char *path = NULL;

    for (struct dirent *entry; list && !path && (entry = readdir(list));)
        if (fnmatch(pattern, entry->d_name, FNM_PERIOD) == 0 &&
            asprintf(&path, "%s/%s", directory, entry->d_name) < 0)
            path = NULL;
    if (list)
        closedir(list);
    return path;
}

/* The first library that fits PATTERN, where discover/ finds it. */
static char *find_library(const char *artifact, const char *pattern)
{
    static const char *const places[] = {"/lib-abi-mpich", "/lib64", "/lib",
                                         "/lib/release", ""};
    char *found = NULL;

    for (size_t i = 0; !found && i < sizeof(places) / sizeof(places[0]); i++) {
        BERTH_FREE char *directory = NULL;

        if (asprintf(&directory, "%s%s", artifact, places[i]) > 0)
            found = find_in(directory, pattern);
    }
    return found;
}

/* Reads the class and the machine of the ELF file PATH. Returns whether it is one. */
static bool read_machine(const char *path, unsigned char *ret_class,
                         uint16_t *ret_machine)
{
    BERTH_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    Elf64_Ehdr header; /* these members are at the same place in both classes */

    if (fd < 0 || pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return false;
    *ret_class = header.e_ident[EI_CLASS];
    *ret_machine = header.e_machine;
    return true;
}

/* Refuses a library that is not for the machine of this program. A linker script or
 * text under such a name is refused later, by the loader. */
static int check_machine(const char *path, const char *machine, struct berth_err *err)
{
    unsigned char own_class, class;
    uint16_t own_number, number;

    if (!read_machine("/proc/self/exe", &own_class, &own_number) ||
        !read_machine(path, &class, &number) ||
        (own_class == class && own_number == number))
        return 0;
    return berth_err_set(err,
                         "'%s' is not for this machine (%s); build one for each "
                         "machine, and write $arch in the path",
                         path, machine);
}

/* Refuses an artifact without what PROFILE is for. */
static int check_library(const struct berth_profile *profile, const char *artifact,
                         const char *machine, struct berth_err *err)
{
    const char *name =
        berth_profile_is_mpi(profile) ? "libmpi*.so*" : berth_profile_first(profile);
    BERTH_FREE char *path = find_library(artifact, name);

    if (path)
        return check_machine(path, machine, err);
    return berth_err_set(err,
                         "'%s' has no '%s' in lib64, in lib or beside these; build it "
                         "with that, or correct the profile",
                         artifact, name);
}

/* Refuses what the link PATH leads to, if others could change that. A directory outside
 * of the artifact has files that nobody has checked. */
static int check_link(const char *artifact, const char *path, uid_t owner,
                      struct berth_err *err)
{
    BERTH_FREE char *real = NULL;
    struct stat facts;
    int missing, fd;

    if (stat(path, &facts) < 0) /* it leads nowhere */
        return 0;
    if (S_ISDIR(facts.st_mode)) {
        if (berth_trusted_directory(path, owner, &real, err) < 0)
            return -1;
        return berth_path_is_within(real, artifact)
                   ? 0
                   : berth_err_set(err,
                                   "'%s': is a link to a directory outside of '%s'; "
                                   "copy the directory",
                                   path, artifact);
    }
    fd = berth_trusted_open(path, owner, &missing, err);
    if (fd < 0)
        return -1;
    close(fd);
    return 0;
}

static int check_entry(const char *artifact, const FTSENT *entry, uid_t owner,
                       struct berth_err *err)
{
    const char *name = entry->fts_path + strlen(artifact);

    switch (entry->fts_info) {
    case FTS_SL:
    case FTS_SLNONE:
        return check_link(artifact, entry->fts_path, owner, err);
    case FTS_DP:
        return 0; /* it was seen before its entries */
    case FTS_DNR:
    case FTS_NS:
    case FTS_ERR:
        return berth_err_set(err, "'%s': %s", entry->fts_path,
                             strerror(entry->fts_errno));
    default:
        return berth_trusted_check(artifact, *name ? name + 1 : artifact,
                                   entry->fts_statp, owner, err);
    }
}

/* Refuses an artifact of which others could change a file. A user's process checks the
 * files that it uses (stage/artifact.h): there may be thousands of others. But what
 * root runs, the loader also, opens no file that others could have written. */
static int check_tree(const char *artifact, uid_t owner, struct berth_err *err)
{
    char *const paths[] = {(char *)artifact, NULL};
    FTS *tree =
        geteuid() == 0 ? fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL) : NULL;
    FTSENT *entry;
    int result = 0;

    while (tree && result == 0 && (entry = fts_read(tree)))
        result = check_entry(artifact, entry, owner, err);
    if (tree)
        fts_close(tree);
    return result;
}

/* Refuses an artifact from which the loader can map nothing. */
static int check_mount(const char *artifact, struct berth_err *err)
{
    struct statvfs status;

    if (statvfs(artifact, &status) < 0 || !(status.f_flag & ST_NOEXEC))
        return 0;
    return berth_err_set(err,
                         "'%s': is on a file system that is mounted noexec, where no "
                         "library can be used; mount it without",
                         artifact);
}

/* Refuses a directory like /opt or /usr/lib, over which an image has files of its own:
 * the artifact is mounted there. */
static int check_place(const char *artifact, struct berth_err *err)
{
    static const char *const system[] = {"/", "/usr/", "/usr/lib/", NULL};

    for (const char *const *it = system; *it; it++)
        if (berth_text_starts(artifact, *it) && !strchr(artifact + strlen(*it), '/'))
            return berth_err_set(err,
                                 "'%s': would hide what images have there; put the "
                                 "libraries into a directory of their own",
                                 artifact);
    return 0;
}

/* Returns 0 with *RET_PATH; -1 with a sentence in ERR. */
static int resolve(const struct berth_profile *profile, uid_t owner, char **ret_path,
                   struct berth_err *err)
{
    BERTH_BUF struct berth_buf text = {0};
    BERTH_FREE char *path = NULL;
    struct utsname system;

    if (uname(&system) < 0)
        return berth_err_set(err, "uname: %s", strerror(errno));
    replace_arch(profile->artifact, system.machine, &text);
    if (text.failed)
        return berth_err_oom(err);
    if (berth_trusted_directory(text.text, owner, &path, err) < 0)
        return -1;
    if (strpbrk(path, ":,"))
        return berth_err_set(err,
                             "%s: it is really '%s', and a path with ':' or ',' cannot "
                             "be mounted; rename it",
                             text.text, path);
    if (check_place(path, err) < 0 || check_mount(path, err) < 0 ||
        check_tree(path, owner, err) < 0 ||
        check_library(profile, path, system.machine, err) < 0)
        return -1;
    *ret_path = berth_steal(&path);
    return 0;
}

/* Copies TEXT ("": NULL) into SET. */
static int keep(struct berth_profile_set *set, const char *text, const char **ret,
                struct berth_err *err)
{
    *ret = *text ? berth_profile_set_own(set, strdup(text)) : NULL;
    return *text && !*ret ? berth_err_oom(err) : 0;
}

int berth_artifacts_resolve(struct berth_profile_set *set, uid_t owner,
                            struct berth_err *err)
{
    for (size_t i = 0; i < set->count; i++) {
        struct berth_profile *profile = &set->items[i];
        BERTH_FREE char *path = NULL;
        struct berth_err why = {0};

        if (!profile->artifact)
            continue;
        if (resolve(profile, owner, &path, &why) < 0)
            berth_err_at(&why, "profile '%s': artifact", profile->name);
        if (keep(set, path ? path : "", &profile->prefix, err) < 0 ||
            keep(set, why.text, &profile->fault, err) < 0)
            return -1;
    }
    return 0;
}

void berth_artifacts_list(const struct berth_profile_set *set, struct berth_strvec *ret)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct berth_profile *profile = &set->items[i];

        if (!profile->artifact)
            continue;
        berth_strvec_push(ret, profile->name);
        berth_strvec_push(ret, profile->prefix ? profile->prefix : "");
        berth_strvec_push(ret, profile->fault ? profile->fault : "");
    }
}

int berth_artifacts_set(struct berth_profile_set *set, const struct berth_strvec *list,
                        struct berth_err *err)
{
    for (size_t i = 0; i < set->count; i++)
        for (size_t j = 0; j + 2 < list->count; j += 3)
            if (set->items[i].artifact &&
                strcmp(set->items[i].name, list->items[j]) == 0 &&
                (keep(set, list->items[j + 1], &set->items[i].prefix, err) < 0 ||
                 keep(set, list->items[j + 2], &set->items[i].fault, err) < 0))
                return -1;
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Reads facts about this host: its kernel, devices, users, and the programs of berth on
 * it. */

#include "cli/host.h"

#include <errno.h>
#include <pwd.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/fd.h"
#include "base/text.h"
#include "step/devices.h"
#include "site/siteread.h"
#include "bindover/offered.h"
#include "base/run.h"

enum { TEXT_MAX = 4 << 20, SECONDS = 10, NOBODY = 65534 };

char *berth_host_place(const struct berth_host *host, const char *path)
{
    char *place = NULL;

    return asprintf(&place, "%s%s", host->root, path) < 0 ? NULL : place;
}

bool berth_host_glob(const struct berth_host *host, const char *pattern, glob_t *ret)
{
    BERTH_FREE char *place = berth_host_place(host, pattern);

    return place && glob(place, 0, NULL, ret) == 0;
}

char *berth_host_text(const struct berth_host *host, const char *path)
{
    BERTH_FREE char *place = berth_host_place(host, path);
    BERTH_BUF struct berth_buf text = {0};

    if (!place || berth_fd_read_path(place, TEXT_MAX, &text) < 0)
        return NULL;
    berth_buf_puts(&text, "");
    return text.failed ? NULL : berth_steal(&text.text);
}

char *berth_host_ask(const struct berth_host *host, const char *const *argv)
{
    struct berth_run run = {.argv = argv,
                            .env = (const char *const *)host->env,
                            .seconds = SECONDS,
                            .most = TEXT_MAX};
    struct berth_ran ran;
    char *said = NULL;

    if (berth_run(&run, &ran, NULL) < 0)
        return NULL;
    berth_buf_add(&ran.out, ran.err.text ? ran.err.text : "", ran.err.used);
    if (ran.status == 0 && !ran.out.failed)
        said = berth_steal(&ran.out.text);
    berth_ran_fini(&ran);
    return said;
}

const char *berth_host_version(const struct berth_host *host, const char *path)
{
    const char *const argv[] = {path, "--version", NULL};
    BERTH_FREE char *said = berth_host_ask(host, argv);

    if (!said)
        return NULL;
    said[strcspn(said, "\n")] = '\0';
    return *said ? berth_doctor_keep(host->facts, said) : NULL;
}

static long read_number(const struct berth_host *host, const char *path)
{
    BERTH_FREE char *text = berth_host_text(host, path);
    char *end;
    long value = text ? strtol(text, &end, 10) : -1;

    return text && end != text ? value : -1;
}

/* Returns the permissions of PATH; -1: it is not there. */
static long mode_of(const struct berth_host *host, const char *path)
{
    BERTH_FREE char *place = berth_host_place(host, path);
    struct stat st;

    return place && stat(place, &st) == 0 ? (long)(st.st_mode & 07777) : -1;
}

static bool is_there(const struct berth_host *host, const char *pattern)
{
    glob_t found;
    bool any = berth_host_glob(host, pattern, &found);

    if (any)
        globfree(&found);
    return any;
}

static void read_loops(const struct berth_host *host)
{
    struct berth_doctor_facts *facts = host->facts;
    glob_t found;

    facts->loops.has_control = is_there(host, "/dev/loop-control");
    if (!berth_host_glob(host, "/dev/loop[0-9]*", &found))
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *name = berth_text_base(found.gl_pathv[i]);
        char file[64];

        name += strlen("loop");
        if (name[strspn(name, "0123456789")])
            continue; /* a partition: loop0p1 */
        facts->loops.count++;
        snprintf(file, sizeof(file), "/sys/block/loop%s/loop", name);
        facts->loops.in_use += is_there(host, file);
    }
    globfree(&found);
}

/* Returns why an ordinary user cannot make a user namespace now; NULL: the user can. */
static const char *try_user_namespace(void)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        if (geteuid() == 0 && (setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
                               setresuid(NOBODY, NOBODY, NOBODY) < 0))
            _exit(0);
        _exit(unshare(CLONE_NEWUSER) < 0 ? errno & 0xff : 0);
    }
    status = berth_run_wait(child);
    return child > 0 && WIFEXITED(status) && WEXITSTATUS(status)
               ? strerror(WEXITSTATUS(status))
               : NULL;
}

static void read_namespaces(const struct berth_host *host)
{
    struct berth_doctor_facts *facts = host->facts;

    facts->userns.max = read_number(host, "/proc/sys/user/max_user_namespaces");
    facts->userns.clone =
        read_number(host, "/proc/sys/kernel/unprivileged_userns_clone");
    facts->userns.apparmor =
        read_number(host, "/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
    facts->userns.has_profile = is_there(host, "/etc/apparmor.d/berth") ||
                                is_there(host, "/etc/apparmor.d/*apptainer*") ||
                                is_there(host, "/etc/apparmor.d/*singularity*");
    facts->userns.refused = berth_doctor_keep(facts, try_user_namespace());
    facts->ptrace = read_number(host, "/proc/sys/kernel/yama/ptrace_scope");
}

/* Does the file have a line for the user, by name or by number (subuid(5))? */
static bool has_range(const struct berth_host *host, const char *path,
                      const struct passwd *user)
{
    BERTH_FREE char *text = berth_host_text(host, path);
    char *next = text;
    char *line;
    char id[24];

    snprintf(id, sizeof(id), "%u", (unsigned int)user->pw_uid);
    while (next && (line = strsep(&next, "\n"))) {
        size_t length = strcspn(line, ":");

        if (line[length] != ':')
            continue;
        line[length] = '\0';
        if (strcmp(line, user->pw_name) == 0 || strcmp(line, id) == 0)
            return true;
    }
    return false;
}

static void read_ranges(const struct berth_host *host)
{
    struct berth_doctor_facts *facts = host->facts;
    const struct passwd *user = getuid() == 0 ? NULL : getpwuid(getuid());

    if (!user)
        return;
    facts->subid.has_uids = has_range(host, "/etc/subuid", user);
    facts->subid.has_gids = has_range(host, "/etc/subgid", user);
    facts->subid.user = berth_doctor_keep(facts, user->pw_name);
}

static void read_memory(const struct berth_host *host)
{
    struct berth_doctor_facts *facts = host->facts;
    BERTH_FREE char *shm = berth_host_place(host, "/dev/shm");
    BERTH_FREE char *dev = berth_host_place(host, "/dev");
    struct stat inner, outer;
    struct statvfs space;

    facts->shm.mode = mode_of(host, "/dev/shm");
    if (!shm || !dev || stat(shm, &inner) < 0 || stat(dev, &outer) < 0 ||
        statvfs(shm, &space) < 0)
        return;
    facts->shm.is_mounted = inner.st_dev != outer.st_dev;
    facts->shm.megabytes = (long)(space.f_blocks * space.f_frsize >> 20);
}

/* Find the first /tmp/berth-UID that does not belong to UID: another user made it. */
static void read_foreign_directory(const struct berth_host *host)
{
    glob_t found;

    if (!berth_host_glob(host, "/tmp/berth-*", &found))
        return;
    for (size_t i = 0; i < found.gl_pathc && !host->facts->foreign_directory; i++) {
        const char *path = found.gl_pathv[i];
        const char *number = strrchr(path, '-') + 1;
        BERTH_FREE char *text = NULL;
        struct stat st;

        if (number[strspn(number, "0123456789")] == '\0' && *number &&
            lstat(path, &st) == 0 && st.st_uid != strtoul(number, NULL, 10) &&
            asprintf(&text, "'%s' belongs to user %u", path + strlen(host->root),
                     st.st_uid) > 0)
            host->facts->foreign_directory = berth_doctor_keep(host->facts, text);
    }
    globfree(&found);
}

/* Returns the release in the output of PATH --version, "berth-task 0.1.0". */
static const char *release_of(const struct berth_host *host, const char *path)
{
    const char *said = berth_host_version(host, path);
    const char *blank = said ? strchr(said, ' ') : NULL;

    return blank ? blank + 1 : NULL;
}

static void read_programs(const struct berth_host *host)
{
    static const char *const paths[] = {
        BERTH_LIBEXECDIR "/berth-task", BERTH_LIBEXECDIR "/berth-start",
        BERTH_LIBEXECDIR "/berth-init", BERTH_LIBEXECDIR "/berth-inside",
        BERTH_LIBEXECDIR "/berth-mpi"};

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        host->facts->programs[i] =
            (struct berth_doctor_program){paths[i], release_of(host, paths[i])};
}

static const char *find_program(const struct berth_host *host, const char *name)
{
    BERTH_FREE char *path = berth_run_find(name, host->path);

    return berth_doctor_keep(host->facts, path);
}

static int list_stacks(const struct berth_host *host, const struct berth_stacks *stacks,
                       struct berth_strvec *ret)
{
    struct berth_strvec *libraries = &host->facts->libraries;

    for (size_t i = 0; i < stacks->count; i++) {
        const struct berth_profile *profile = stacks->items[i].profile;

        berth_strvec_pushf(profile->kind == BERTH_PROFILE_LIBRARIES ? libraries : ret,
                           "%s (%s)", stacks->items[i].version, profile->stack);
    }
    return ret->failed || libraries->failed ? berth_err_oom(host->err) : 0;
}

/* List the stacks that steps get. If the site's profiles or its order of stacks are
 * wrong, keep that fault, and list the stacks of berth's own profiles. */
static int read_stacks(const struct berth_host *host)
{
    static const struct berth_terms plain;
    struct berth_doctor_facts *facts = host->facts;
    struct berth_offered offered;
    struct berth_err why;
    int result;

    if (berth_offered_read(&host->terms, host->env, &offered, &why) < 0) {
        facts->site.profile = berth_doctor_keep(facts, why.text);
        if (berth_offered_read(&plain, host->env, &offered, host->err) < 0)
            return -1;
    }
    result = list_stacks(host, &offered.stacks, &facts->stacks);
    if (result == 0)
        result = list_stacks(host, &offered.fabrics, &facts->fabrics);
    berth_offered_fini(&offered);
    return result;
}

int berth_host_read(const char *root, char *const *env, const char *release,
                    struct berth_doctor_facts *ret_facts, struct berth_err *err)
{
    struct berth_doctor_facts facts = {.release = release};
    struct berth_host host = {.root = root,
                              .path = berth_environ_value(env, "PATH"),
                              .env = env,
                              .facts = &facts,
                              .err = err};
    int result;

    read_namespaces(&host);
    read_ranges(&host);
    facts.fuse = mode_of(&host, "/dev/fuse");
    read_loops(&host);
    facts.fusermount = find_program(&host, "fusermount3");
    facts.patchelf = find_program(&host, "patchelf");
    read_programs(&host);
    read_foreign_directory(&host);
    berth_host_read_runtime(&host, berth_host_read_slurm(&host));
    read_memory(&host);
    result = read_stacks(&host);
    berth_terms_fini(&host.terms);
    if (result == 0 && facts.kept.failed)
        result = berth_err_oom(err);
    if (result < 0)
        berth_doctor_facts_fini(&facts);
    else
        *ret_facts = facts;
    return result;
}

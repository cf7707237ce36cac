/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the host itself: its kernel, devices and users, the container runtime, the
 * programs of berth and its libraries. Each check reads, and says what is right, worth
 * knowing or wrong, and the remedy. */

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/cleanup.h"
#include "base/environ.h"
#include "base/installed.h"
#include "base/run.h"
#include "base/text.h"
#include "bindover/offered.h"
#include "cli/diagnoses.h"
#include "site/keys.h"
#include "container/runtime.h"

enum { NOBODY = 65534 };

/* Megabytes of /dev/shm; less is noted. */
enum { SHM_LEAST = 256 };

/* Returns the number in the file PATH; -1: there is none. */
static long read_number(const struct berth_host *host, const char *path)
{
    BERTH_FREE char *text = berth_host_text(host, path);
    char *end;
    long value;

    if (!text)
        return -1;
    value = strtol(text, &end, 10);
    if (end == text)
        return -1;
    return value;
}

/* Read what PATH and its file system are. Returns false if PATH is not there. */
static bool read_place(const struct berth_host *host, const char *path,
                       struct stat *ret_st, struct statvfs *ret_space)
{
    BERTH_FREE char *place = berth_host_place(host, path);

    return place && stat(place, ret_st) == 0 && statvfs(place, ret_space) == 0;
}

/* Returns the runtime's own program NAME; NULL: there is none. */
static char *find_part(const struct berth_doctor *doctor, const char *name)
{
    static const char *const names[] = {"apptainer", "singularity"};

    if (!doctor->runtime.libexec)
        return NULL;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        BERTH_FREE char *path = NULL;

        if (asprintf(&path, "%s%s/%s/bin/%s", doctor->host.root,
                     doctor->runtime.libexec, names[i], name) < 0)
            return NULL;
        if (berth_run_is_program(path))
            return berth_steal(&path);
    }
    return NULL;
}

/* Can the file PATH (NULL: none) make its user root? */
static bool is_setuid_root(const char *path)
{
    struct stat st;

    return path && stat(path, &st) == 0 && (st.st_mode & S_ISUID) && st.st_uid == 0;
}

/* Was SingularityCE built without setuid, as SAID, its `buildcfg`? */
static bool is_built_without_setuid(const char *said)
{
    BERTH_FREE char *value = berth_keys_value(said, "SINGULARITY_SUID_INSTALL");

    return value && strcmp(value, "0") == 0;
}

/* Does CONF, the runtime's configuration, forbid setuid? */
static bool forbids_setuid(const char *conf)
{
    BERTH_FREE char *value = berth_keys_value(conf, "allow setuid");

    return value && strcmp(value, "yes") != 0;
}

/* Returns the path of the runtime's configuration in SAID, its `buildcfg`. */
static char *find_runtime_conf(const char *said)
{
    char *path = berth_keys_value(said, "APPTAINER_CONF_FILE");

    if (path)
        return path;
    return berth_keys_value(said, "SINGULARITY_CONF_FILE");
}

/* Read how the runtime was built, and its configuration. Apptainer uses starter-suid if
 * it is there, SingularityCE if it was built to. */
static void read_build(struct berth_doctor *doctor)
{
    const struct berth_host *host = &doctor->host;
    const char *const argv[] = {doctor->runtime.path, "buildcfg", NULL};
    BERTH_FREE char *said = berth_host_ask(host, argv);
    BERTH_FREE char *starter = NULL;
    BERTH_FREE char *text = NULL;

    if (!said)
        return;
    doctor->runtime.libexec = berth_keys_value(said, "LIBEXECDIR");
    starter = find_part(doctor, "starter-suid");
    doctor->runtime.has_setuid =
        is_setuid_root(starter) && !is_built_without_setuid(said);
    doctor->runtime.is_setuid = doctor->runtime.has_setuid;

    doctor->runtime.conf = find_runtime_conf(said);
    if (doctor->runtime.conf)
        text = berth_host_text(host, doctor->runtime.conf);
    if (!text)
        return;
    doctor->runtime.binds = berth_keys_value(text, "user bind control");
    if (forbids_setuid(text))
        doctor->runtime.is_setuid = false;
}

void berth_doctor_read_runtime(struct berth_doctor *doctor)
{
    const char *path = berth_environ_value(doctor->host.env, "PATH");
    struct berth_err why;

    if (berth_runtime_find(doctor->site.runtime.path, path, &doctor->runtime.path,
                           &why) < 0) {
        /* Drop the remedy: the diagnosis has its own. */
        doctor->runtime.missing = strndup(why.text, strcspn(why.text, ";"));
        return;
    }
    doctor->runtime.version = berth_host_version(&doctor->host, doctor->runtime.path);
    read_build(doctor);
}

static int become_nobody(void)
{
    if (setresgid(NOBODY, NOBODY, NOBODY) < 0)
        return -1;
    return setresuid(NOBODY, NOBODY, NOBODY);
}

/* In a child: make a user namespace as an ordinary user. Returns errno; 0 also if it
 * cannot become an ordinary user, which then proves nothing. */
static int make_user_namespace(void *data)
{
    (void)data;
    if (geteuid() == 0 && become_nobody() < 0)
        return 0;
    if (unshare(CLONE_NEWUSER) == 0)
        return 0;
    return errno & 0xff; /* an exit status has a byte */
}

/* Returns why an ordinary user cannot make a user namespace now; NULL: the user can. */
static const char *try_user_namespace(void)
{
    pid_t child = berth_child(make_user_namespace, NULL, 0);
    int status = berth_run_wait(child);

    if (child < 0 || !WIFEXITED(status) || WEXITSTATUS(status) == 0)
        return NULL;
    return strerror(WEXITSTATUS(status));
}

#define NAMESPACES "user namespaces"

/* How bad is it if the runtime cannot start without setuid? */
static enum berth_diagnosis_level without_setuid(const struct berth_doctor *doctor)
{
    if (doctor->runtime.is_setuid)
        return BERTH_DIAGNOSIS_NOTE;
    return BERTH_DIAGNOSIS_WRONG;
}

/* Has AppArmor a profile that permits berth or the runtime to make a user namespace? */
static bool has_apparmor_profile(const struct berth_host *host)
{
    return berth_host_has(host, "/etc/apparmor.d/berth") ||
           berth_host_has(host, "/etc/apparmor.d/*apptainer*") ||
           berth_host_has(host, "/etc/apparmor.d/*singularity*");
}

static void check_namespaces(struct berth_doctor *doctor)
{
    const struct berth_host *host = &doctor->host;
    const char *const key = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns";
    long apparmor = read_number(host, key);
    const char *refused = NULL;
    /* A setuid runtime starts without user namespaces, but then tasks cannot join a
     * container. */
    enum berth_diagnosis_level level = without_setuid(doctor);

    /* AppArmor's profile is of the runtime: this program may be refused all the same */
    if (apparmor <= 0)
        refused = try_user_namespace();

    if (read_number(host, "/proc/sys/user/max_user_namespaces") == 0)
        AT(level, NAMESPACES,
           "sysctl user.max_user_namespaces=15000, and the same in /etc/sysctl.d",
           "user.max_user_namespaces is 0, so that no container can be started "
           "without setuid");
    else if (read_number(host, "/proc/sys/kernel/unprivileged_userns_clone") == 0)
        AT(level, NAMESPACES,
           "sysctl kernel.unprivileged_userns_clone=1, and the same in /etc/sysctl.d",
           "kernel.unprivileged_userns_clone is 0, so that only root may make one");
    else if (apparmor > 0 && !has_apparmor_profile(host))
        AT(level, NAMESPACES,
           "copy apparmor, in share/berth of berth's tree, to /etc/apparmor.d/berth, "
           "and apparmor_parser -r /etc/apparmor.d/berth",
           "kernel.apparmor_restrict_unprivileged_userns is %ld and no AppArmor "
           "profile names berth or the runtime",
           apparmor);
    else if (refused)
        AT(level, NAMESPACES,
           "look into the limits of this host (user_namespaces(7), seccomp of an "
           "outer container)",
           "an ordinary user cannot make one: %s", refused);
    else
        OK(NAMESPACES, "an ordinary user can make them");
}

static void check_fuse(struct berth_doctor *doctor)
{
    struct statvfs unused;
    struct stat st;
    bool is_there = read_place(&doctor->host, "/dev/fuse", &st, &unused);
    /* A setuid runtime lets the kernel mount the image. */
    enum berth_diagnosis_level level = without_setuid(doctor);

    if (!is_there)
        AT(level, "/dev/fuse",
           "modprobe fuse, and the line fuse in /etc/modules-load.d/fuse.conf",
           "it is missing, so that SIF files cannot be mounted");
    else if ((st.st_mode & 06) != 06)
        AT(level, "/dev/fuse",
           "chmod 0666 /dev/fuse, and look for the udev rule that made it otherwise",
           "its mode is %04o, so that users cannot mount SIF files",
           st.st_mode & 07777);
    else
        OK("/dev/fuse", "its mode is %04o", st.st_mode & 07777);
}

static char *find_squashfuse(const struct berth_doctor *doctor)
{
    static const char *const names[] = {"squashfuse_ll", "squashfuse"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char *found = find_part(doctor, names[i]);

        if (!found)
            found = berth_host_find(&doctor->host, names[i]);
        if (found)
            return found;
    }
    return NULL;
}

static void check_squashfuse(struct berth_doctor *doctor)
{
    BERTH_FREE char *squashfuse = find_squashfuse(doctor);

    if (squashfuse)
        OK("squashfuse", "%s", squashfuse);
    else
        NOTE("squashfuse",
             "install the package squashfuse, or the runtime's package that brings it",
             "there is none, so that the runtime unpacks each SIF file into /tmp");
}

static void say_no_runtime(struct berth_doctor *doctor)
{
    const char *missing = berth_text_or(doctor->runtime.missing, "there is none here");
    const char *remedy = "install the package apptainer or singularity-ce on this host";

    if (doctor->site.runtime.path)
        remedy = "correct runtime.path in berth.yaml, or install the runtime there";
    WRONG("runtime", remedy, "%s", missing);
}

static void check_runtime(struct berth_doctor *doctor)
{
    const char *path = doctor->runtime.path;
    const char *binds = doctor->runtime.binds;

    if (!path) {
        say_no_runtime(doctor);
        return;
    }
    if (!doctor->runtime.version)
        WRONG("runtime", "run it by hand with --version, and install it again",
              "'%s' does not tell its version", path);
    else if (doctor->runtime.is_setuid)
        NOTE("runtime",
             "use the runtime without setuid (Apptainer without apptainer-suid, "
             "SingularityCE built with --without-suid, or 'allow setuid = no'), so "
             "that the tasks of a node can share a container",
             "%s ('%s'), with setuid: each task starts a container of its own",
             doctor->runtime.version, path);
    else
        OK("runtime", "%s ('%s'), without setuid", doctor->runtime.version, path);
    if (binds && strcmp(binds, "yes") != 0)
        WRONG("runtime's limits", "set 'user bind control = yes'",
              "%s has 'user bind control = %s', so that nothing can be mounted",
              doctor->runtime.conf, binds);
}

static void check_programs(struct berth_doctor *doctor)
{
    static const char *const paths[] = {
        BERTH_LIBEXECDIR "/berth-task", BERTH_LIBEXECDIR "/berth-start",
        BERTH_LIBEXECDIR "/berth-init", BERTH_LIBEXECDIR "/berth-inside",
        BERTH_LIBEXECDIR "/berth-mpi",  BERTH_LIBEXECDIR "/berth-oci"};
    const size_t count = sizeof(paths) / sizeof(paths[0]);
    size_t right = 0;

    for (size_t i = 0; i < count; i++) {
        const char *path = berth_installed(paths[i]);
        BERTH_FREE char *place = berth_host_place(&doctor->host, path);
        BERTH_FREE char *said = NULL; /* "berth-task 0.1.0" */
        const char *release = NULL;

        if (place)
            said = berth_host_version(&doctor->host, place);
        if (said)
            release = berth_text_after(said, ' ');

        if (!release)
            WRONG("berth's programs", "install berth again on this host",
                  "'%s' is not there, or does not start", path);
        else if (strcmp(release, doctor->release) != 0)
            WRONG("berth's programs",
                  "install one release of berth, with all its packages",
                  "'%s' is of berth %s, and this command of %s", path, release,
                  doctor->release);
        else
            right++;
    }
    if (right == count)
        OK("berth's programs", "all are of berth %s, in '%s'", doctor->release,
           berth_installed(BERTH_LIBEXECDIR));
}

static void check_patchelf(struct berth_doctor *doctor)
{
    BERTH_FREE char *patchelf = berth_host_find(&doctor->host, "patchelf");

    if (patchelf)
        OK("patchelf", "%s", patchelf);
    else
        NOTE("patchelf",
             "install the package patchelf, or link one beside berth's programs",
             "it is missing, and --mpi-bind=host needs it to copy the host's MPI");
}

/* Is PATH, which ends in -UID, a user's directory of copies that another user made?
 * *RET_OWNER is that user. */
static bool is_taken(const char *path, uid_t *ret_owner)
{
    const char *number = strrchr(path, '-') + 1;
    size_t digits = strspn(number, "0123456789");
    struct stat st;

    if (digits == 0 || number[digits] != '\0')
        return false;
    if (lstat(path, &st) < 0)
        return false;
    *ret_owner = st.st_uid;
    return st.st_uid != strtoul(number, NULL, 10);
}

/* Find the first /tmp/berth-UID that another user has made (container/stageroot.h). */
static void check_copies(struct berth_doctor *doctor)
{
    const size_t root = strlen(doctor->host.root);
    glob_t found;

    if (!berth_host_glob(&doctor->host, "/tmp/berth-*", &found))
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        uid_t owner;

        if (!is_taken(found.gl_pathv[i], &owner))
            continue;
        NOTE("/tmp/berth-UID",
             "remove it, ask that user why, and run 'berth profiles --prepare' here",
             "'%s' belongs to user %u, so the user of that UID has the copies of the "
             "host's MPI in /tmp/berth-UID.XXXXXX",
             found.gl_pathv[i] + root, owner);
        break;
    }
    globfree(&found);
}

/* Say OK of each of STACKS that is of KIND. */
static void add_stacks(struct berth_doctor *doctor, const char *about,
                       enum berth_profile_kind kind, const struct berth_stacks *stacks,
                       struct berth_strvec *ret)
{
    for (size_t i = 0; i < stacks->count; i++) {
        const struct berth_stack *stack = &stacks->items[i];

        if (stack->profile->kind != kind)
            continue;
        OK(about, "%s (%s)", stack->version, stack->profile->stack);
        if (ret)
            berth_strvec_pushf(ret, "%s (%s)", stack->version, stack->profile->stack);
    }
}

/* Check the libraries that steps get. If the site's profiles or its order of stacks are
 * wrong, go on with berth's own profiles. */
static int check_stacks(struct berth_doctor *doctor, struct berth_err *err)
{
    static const struct berth_terms plain;
    char *const *env = doctor->host.env;
    struct berth_offered offered;
    struct berth_err why;

    if (berth_offered_read(&doctor->terms, BERTH_KINDS_ALL, env, &offered, &why) < 0) {
        WRONG("profiles",
              "correct it; until then steps that ask for the host's MPI end", "%s",
              why.text);
        if (berth_offered_read(&plain, BERTH_KINDS_ALL, env, &offered, err) < 0)
            return -1;
    }
    add_stacks(doctor, "host's MPI", BERTH_PROFILE_MPI, &offered.stacks,
               &doctor->stacks);
    if (doctor->stacks.count == 0)
        NOTE("host's MPI", "load its module, or set MPI_HOME, and ask again",
             "none was found; --mpi-bind can only use the image's own");
    add_stacks(doctor, "host's network", BERTH_PROFILE_FABRIC, &offered.stacks, NULL);
    add_stacks(doctor, "host's libraries", BERTH_PROFILE_LIBRARIES, &offered.stacks,
               NULL);
    berth_offered_fini(&offered);
    doctor->failed |= doctor->stacks.failed;
    return 0;
}

static void check_memory(struct berth_doctor *doctor)
{
    struct stat inner, outer;
    struct statvfs space, unused;
    bool is_there = read_place(&doctor->host, "/dev", &outer, &unused) &&
                    read_place(&doctor->host, "/dev/shm", &inner, &space);
    long megabytes = 0;

    if (is_there)
        megabytes = (long)(space.f_blocks * space.f_frsize >> 20);
    if (!is_there || inner.st_dev == outer.st_dev)
        WRONG("/dev/shm", "mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs /dev/shm",
              "it is not a file system of its own, and MPI keeps its shared memory "
              "there");
    else if ((inner.st_mode & 07777) != 01777)
        WRONG("/dev/shm", "chmod 1777 /dev/shm", "its mode is %04o instead of 1777",
              inner.st_mode & 07777);
    else if (megabytes < SHM_LEAST)
        NOTE("/dev/shm", "mount -o remount,size=50% /dev/shm",
             "it has %ld MB, which is little for MPI between the ranks of a node",
             megabytes);
    else
        OK("/dev/shm", "%ld MB", megabytes);
}

static void check_ptrace(struct berth_doctor *doctor)
{
    long ptrace = read_number(&doctor->host, "/proc/sys/kernel/yama/ptrace_scope");

    if (ptrace > 1)
        NOTE("kernel.yama.ptrace_scope",
             "sysctl kernel.yama.ptrace_scope=1 (0 for CMA), and the same in "
             "/etc/sysctl.d",
             "it is %ld: no process may trace another, so that a signal for the "
             "application also ends the program that serves its image",
             ptrace);
    else if (ptrace == 1)
        NOTE("kernel.yama.ptrace_scope",
             "sysctl kernel.yama.ptrace_scope=0 on nodes for MPI, and the same in "
             "/etc/sysctl.d",
             "it is 1: ranks of a node cannot read each other's memory (CMA), and MPI "
             "copies twice");
    else
        OK("kernel.yama.ptrace_scope", "ranks of a node can use CMA");
}

int berth_doctor_check_host(struct berth_doctor *doctor, struct berth_err *err)
{
    check_namespaces(doctor);
    check_fuse(doctor);
    check_squashfuse(doctor);
    check_runtime(doctor);
    check_programs(doctor);
    check_patchelf(doctor);
    check_copies(doctor);
    if (check_stacks(doctor, err) < 0)
        return -1;
    check_memory(doctor);
    check_ptrace(doctor);
    return 0;
}

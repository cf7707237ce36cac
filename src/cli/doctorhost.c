/* SPDX-License-Identifier: Apache-2.0 */
/* Judges the facts about the host itself: what is right, worth knowing or wrong, and
 * the remedy. */

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/judge.h"

/* Less is noted: megabytes of /dev/shm, loop devices of the runtime. */
enum { SHM_LEAST = 256, LOOPS_LEAST = 16 };

static bool is_yes(const char *value)
{
    return value && strcmp(value, "yes") == 0;
}

/* Does the runtime work with the rights of root, and not with a user namespace? */
static bool is_setuid(const struct berth_doctor_facts *facts)
{
    return facts->runtime.is_setuid &&
           (!facts->runtime.allow_setuid || is_yes(facts->runtime.allow_setuid));
}

#define NAMESPACES "user namespaces"

static void judge_namespaces(const struct berth_doctor_facts *facts,
                             struct berth_diagnoses *diagnoses)
{
    /* A setuid runtime starts without user namespaces, but then tasks cannot join a
     * container. */
    enum berth_diagnosis_level level =
        is_setuid(facts) ? BERTH_DIAGNOSIS_NOTE : BERTH_DIAGNOSIS_WRONG;

    if (facts->userns.max == 0)
        AT(level, NAMESPACES,
           "sysctl user.max_user_namespaces=15000, and the same in /etc/sysctl.d",
           "user.max_user_namespaces is 0, so that no container can be started "
           "without setuid");
    else if (facts->userns.clone == 0)
        AT(level, NAMESPACES,
           "sysctl kernel.unprivileged_userns_clone=1, and the same in /etc/sysctl.d",
           "kernel.unprivileged_userns_clone is 0, so that only root may make one");
    else if (facts->userns.apparmor > 0 && !facts->userns.has_profile)
        AT(level, NAMESPACES,
           "copy " BERTH_DATADIR "/apparmor to /etc/apparmor.d/berth, and "
           "apparmor_parser -r /etc/apparmor.d/berth",
           "kernel.apparmor_restrict_unprivileged_userns is %ld and no AppArmor "
           "profile names berth or the runtime",
           facts->userns.apparmor);
    else if (facts->userns.refused && facts->userns.apparmor <= 0)
        AT(level, NAMESPACES,
           "look into the limits of this host (user_namespaces(7), seccomp of an "
           "outer container)",
           "an ordinary user cannot make one: %s", facts->userns.refused);
    else
        OK(NAMESPACES, "an ordinary user can make them");
}

static void judge_subid(const struct berth_doctor_facts *facts,
                        struct berth_diagnoses *diagnoses)
{
    const char *user = facts->subid.user;

    if (!user)
        OK("/etc/subuid", "asked as root; ask as a user for the user's ranges");
    else if (facts->subid.has_uids && facts->subid.has_gids)
        OK("/etc/subuid", "'%s' has ranges in /etc/subuid and /etc/subgid", user);
    else
        NOTE("/etc/subuid",
             "usermod --add-subuids 100000-165535 --add-subgids 100000-165535 USER, "
             "with ranges that differ from user to user",
             "'%s' has no range in %s; only --container-args=--fakeroot and builds "
             "want one",
             user, facts->subid.has_uids ? "/etc/subgid" : "/etc/subuid");
}

static void judge_fuse(const struct berth_doctor_facts *facts,
                       struct berth_diagnoses *diagnoses)
{
    /* A setuid runtime lets the kernel mount the image. */
    enum berth_diagnosis_level level =
        is_setuid(facts) ? BERTH_DIAGNOSIS_NOTE : BERTH_DIAGNOSIS_WRONG;

    if (facts->fuse < 0)
        AT(level, "/dev/fuse",
           "modprobe fuse, and the word fuse in /etc/modules-load.d/fuse.conf",
           "it is missing, so that SIF files cannot be mounted");
    else if ((facts->fuse & 06) != 06)
        AT(level, "/dev/fuse",
           "chmod 0666 /dev/fuse, and look for the udev rule that made it otherwise",
           "its mode is %04lo, so that users cannot mount SIF files",
           (unsigned long)facts->fuse);
    else
        OK("/dev/fuse", "its mode is %04lo", (unsigned long)facts->fuse);
    if (facts->squashfuse)
        OK("squashfuse", "%s%s%s", facts->squashfuse, facts->fusermount ? ", and " : "",
           facts->fusermount ? facts->fusermount : "");
    else
        NOTE("squashfuse",
             "install the package squashfuse, or the runtime's package that brings it",
             "there is none, so that the runtime unpacks each SIF file into /tmp");
}

#define LIMITS "runtime's limits"

static void judge_limits(const struct berth_doctor_facts *facts,
                         struct berth_diagnoses *diagnoses)
{
    const char *conf = facts->runtime.conf;

    if (facts->runtime.bind && !is_yes(facts->runtime.bind))
        WRONG(LIMITS, "set 'user bind control = yes'",
              "%s has 'user bind control = %s', so that nothing can be mounted", conf,
              facts->runtime.bind);
    if (facts->runtime.paths && is_setuid(facts))
        NOTE(LIMITS, "add the directories of images to 'limit container paths'",
             "%s has 'limit container paths = %s': images elsewhere are refused", conf,
             facts->runtime.paths);
    if (facts->runtime.owners && is_setuid(facts))
        NOTE(LIMITS, "add the owners of images to 'limit container owners'",
             "%s has 'limit container owners = %s': images of others are refused", conf,
             facts->runtime.owners);
    if (facts->runtime.max_loop && is_setuid(facts) &&
        atoi(facts->runtime.max_loop) < LOOPS_LEAST)
        NOTE(LIMITS, "set 'max loop devices = 256'",
             "%s has 'max loop devices = %s': each container of a node takes one", conf,
             facts->runtime.max_loop);
}

#define LOOPS "/dev/loop*"

static void judge_loops(const struct berth_doctor_facts *facts,
                        struct berth_diagnoses *diagnoses)
{
    long most = facts->runtime.max_loop ? atol(facts->runtime.max_loop) : LONG_MAX;
    long count = facts->loops.count;

    if (!facts->runtime.by_loop || !is_setuid(facts))
        return;
    if (count == 0 && !facts->loops.has_control)
        WRONG(LOOPS,
              "modprobe loop, and the word loop in /etc/modules-load.d/loop.conf; or "
              "no instead of yes, and FUSE mounts SIF files",
              "there is none, and %s has '%s', so that no SIF file can be mounted",
              facts->runtime.conf, facts->runtime.by_loop);
    else if (count > 0 && facts->loops.in_use == count &&
             (count >= most || !facts->loops.has_control))
        WRONG(LOOPS, "find out what uses them: losetup -l",
              "all %ld are in use, and each container of a node takes one", count);
    else
        OK(LOOPS, "%ld, of which %ld are in use", count, facts->loops.in_use);
}

static void judge_runtime(const struct berth_doctor_facts *facts,
                          struct berth_diagnoses *diagnoses)
{
    const char *path = facts->runtime.path;

    if (!path) {
        WRONG("runtime",
              facts->runtime.is_configured
                  ? "correct runtime.path in berth.yaml, or install the runtime there"
                  : "install the package apptainer or singularity-ce on this host",
              "%s",
              facts->runtime.missing ? facts->runtime.missing : "there is none here");
        return;
    }
    if (!facts->runtime.version)
        WRONG("runtime", "run it by hand with --version, and install it again",
              "'%s' does not tell its version", path);
    else if (is_setuid(facts))
        NOTE("runtime",
             "use the runtime without setuid (Apptainer without apptainer-suid, "
             "SingularityCE built with --without-suid, or 'allow setuid = no'), so "
             "that the tasks of a node can share a container",
             "%s ('%s'), with setuid: each task starts a container of its own",
             facts->runtime.version, path);
    else
        OK("runtime", "%s ('%s'), without setuid", facts->runtime.version, path);
    judge_limits(facts, diagnoses);
    judge_loops(facts, diagnoses);
}

static void judge_programs(const struct berth_doctor_facts *facts,
                           struct berth_diagnoses *diagnoses)
{
    size_t count = sizeof(facts->programs) / sizeof(facts->programs[0]);
    size_t right = 0;

    for (size_t i = 0; i < count; i++) {
        const struct berth_doctor_program *program = &facts->programs[i];

        if (!program->release)
            WRONG("berth's programs", "install berth again on this host",
                  "'%s' is not there, or does not start", program->path);
        else if (strcmp(program->release, facts->release) != 0)
            WRONG("berth's programs",
                  "install one release of berth, with all its packages",
                  "'%s' is of berth %s, and this command of %s", program->path,
                  program->release, facts->release);
        else
            right++;
    }
    if (right == count)
        OK("berth's programs", "all are of berth %s", facts->release);
}

static void judge_patchelf(const struct berth_doctor_facts *facts,
                           struct berth_diagnoses *diagnoses)
{
    if (facts->patchelf)
        OK("patchelf", "%s", facts->patchelf);
    else
        NOTE("patchelf", "install the package patchelf",
             "it is missing, and --mpi-bind=host needs it to copy the host's MPI");
    if (facts->foreign_directory)
        NOTE("/tmp/berth-UID",
             "remove it, ask that user why, and run 'berth profiles --prepare' here",
             "%s, so the user of that UID has the copies of the host's MPI in "
             "/tmp/berth-UID.XXXXXX",
             facts->foreign_directory);
    if (facts->stacks.count == 0)
        NOTE("host's MPI", "load its module, or set MPI_HOME, and ask again",
             "none was found; --mpi-bind can only use the image's own");
    for (size_t i = 0; i < facts->stacks.count; i++)
        OK("host's MPI", "%s", facts->stacks.items[i]);
}

static void judge_network(const struct berth_doctor_facts *facts,
                          struct berth_diagnoses *diagnoses)
{
    for (size_t i = 0; i < facts->fabrics.count; i++)
        OK("host's network", "%s", facts->fabrics.items[i]);
    for (size_t i = 0; i < facts->libraries.count; i++)
        OK("host's libraries", "%s", facts->libraries.items[i]);
}

static void judge_memory(const struct berth_doctor_facts *facts,
                         struct berth_diagnoses *diagnoses)
{
    if (!facts->shm.is_mounted)
        WRONG("/dev/shm", "mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs /dev/shm",
              "it is not a file system of its own, and MPI keeps its shared memory "
              "there");
    else if ((facts->shm.mode & 07777) != 01777)
        WRONG("/dev/shm", "chmod 1777 /dev/shm", "its mode is %04lo instead of 1777",
              (unsigned long)facts->shm.mode);
    else if (facts->shm.megabytes < SHM_LEAST)
        NOTE("/dev/shm", "mount -o remount,size=50% /dev/shm",
             "it has %ld MB, which is little for MPI between the ranks of a node",
             facts->shm.megabytes);
    else
        OK("/dev/shm", "%ld MB", facts->shm.megabytes);
    if (facts->ptrace > 1)
        NOTE("kernel.yama.ptrace_scope",
             "sysctl kernel.yama.ptrace_scope=1 (0 for CMA), and the same in "
             "/etc/sysctl.d",
             "it is %ld: no process may trace another, so that a signal for the "
             "application also ends the program that serves its image",
             facts->ptrace);
    else if (facts->ptrace == 1)
        NOTE("kernel.yama.ptrace_scope",
             "sysctl kernel.yama.ptrace_scope=0 on nodes for MPI, and the same in "
             "/etc/sysctl.d",
             "it is 1: ranks of a node cannot read each other's memory (CMA), and MPI "
             "copies twice");
    else
        OK("kernel.yama.ptrace_scope", "ranks of a node can use CMA");
}

void berth_doctor_judge_host(const struct berth_doctor_facts *facts,
                             struct berth_diagnoses *diagnoses)
{
    judge_namespaces(facts, diagnoses);
    judge_subid(facts, diagnoses);
    judge_fuse(facts, diagnoses);
    judge_runtime(facts, diagnoses);
    judge_programs(facts, diagnoses);
    judge_patchelf(facts, diagnoses);
    judge_network(facts, diagnoses);
    judge_memory(facts, diagnoses);
}

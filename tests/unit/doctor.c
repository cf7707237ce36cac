/* SPDX-License-Identifier: Apache-2.0 */
/* What doctor says of a host: each case breaks one thing on a host without a fault, and
 * expects one diagnosis and its remedy. */

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/facts.h"
#include "fakehost.h"

TEST(a_healthy_host_has_no_fault)
{
    BERTH_BUF struct berth_buf all = {0};

    look();
    for (size_t i = 0; i < doctor.count; i++) {
        BERTH_FREE char *line = line_of(&doctor.items[i]);

        berth_buf_addf(&all, "%s\n", line);
        ck_assert_msg(!doctor.items[i].remedy, "%s", line);
    }
    ck_assert_str_eq(
        all.text,
        "ok user namespaces: an ordinary user can make them\n"
        "ok /dev/fuse: its mode is 0666\n"
        "ok squashfuse: /usr/libexec/apptainer/bin/squashfuse_ll\n"
        "ok runtime: apptainer version 1.4.5 ('/usr/bin/apptainer'), without setuid\n"
        "ok berth's programs: all are of berth 0.1.0, in '" BERTH_LIBEXECDIR "'\n"
        "ok patchelf: /usr/bin/patchelf\n"
        "ok host's MPI: MPICH 4.2.1 (mpich)\n"
        "ok /dev/shm: 12000 MB\n"
        "ok kernel.yama.ptrace_scope: ranks of a node can use CMA\n"
        "ok berth.yaml: '/etc/our.yaml'\n"
        "ok configuration: DIGEST; `srun -N2 berth doctor | sort | uniq -c` tells "
        "whether it is "
        "the same elsewhere\n"
        "ok Slurm: slurm 24.11.5\n"
        "ok plugstack.conf: " OURS ":1: plugin 2 of 2, required\n"
        "ok plugin: '/lib/ours/berth.so', for Slurm 24.11\n"
        "ok srun --mpi: pmi2 and pmix\n"
        "ok oci.conf: none: Slurm ignores --container, and runs the task on the host\n"
        "ok TaskProlog: '/etc/slurm/task.sh' has berth's lines\n"
        "ok PrologFlags: with Contain: a container can last as long as its job\n");
}

#define ASKS_APPARMOR  "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
#define LIMIT(line)    set("/etc/apptainer/apptainer.conf", line)
#define BERTH_SO(path) set(OURS, "required " path " config=/etc/our.yaml\n")

/* The diagnosis EXPECTED is there, with REMEDY; NULL: none. */
static void expect(const char *expected, const char *remedy)
{
    BERTH_BUF struct berth_buf all = {0};
    bool is_found = false;

    look();
    for (size_t i = 0; i < doctor.count; i++) {
        const struct berth_diagnosis *diagnosis = &doctor.items[i];
        BERTH_FREE char *line = line_of(diagnosis);

        berth_buf_addf(&all, "%s\n", line);
        if (strcmp(line, expected) != 0)
            continue;
        is_found = true;
        ck_assert_pstr_eq(diagnosis->remedy, remedy);
    }
    ck_assert_msg(is_found, "expected: %s\nseen: %s", expected, all.text);
}

/* A test that changes the host, and expects one diagnosis and its remedy. Its name has
 * the line of this file. */
#define FAULT(...)    FAULT_AT(__LINE__, __VA_ARGS__)
#define FAULT_AT(...) FAULT_NAMED(__VA_ARGS__)
#define FAULT_NAMED(number, change, line, remedy)                                      \
    TEST(fault_##number)                                                               \
    {                                                                                  \
        change;                                                                        \
        expect(line, remedy);                                                          \
    }

FAULT(set("/proc/sys/user/max_user_namespaces", "0\n"),
      "wrong user namespaces: user.max_user_namespaces is 0, so that no container can "
      "be started without setuid",
      "sysctl user.max_user_namespaces=15000, and the same in /etc/sysctl.d")
FAULT(set("/proc/sys/kernel/unprivileged_userns_clone", "0\n"),
      "wrong user namespaces: kernel.unprivileged_userns_clone is 0, so that only root "
      "may make one",
      "sysctl kernel.unprivileged_userns_clone=1, and the same in /etc/sysctl.d")
FAULT(set(ASKS_APPARMOR, "1\n"),
      "wrong user namespaces: kernel.apparmor_restrict_unprivileged_userns is 1 and no "
      "AppArmor profile names berth or the runtime",
      "copy apparmor, in share/berth of berth's tree, to /etc/apparmor.d/berth, and "
      "apparmor_parser -r /etc/apparmor.d/berth")
FAULT((set(ASKS_APPARMOR, "1\n"), set("/etc/apparmor.d/berth", "")),
      "ok user namespaces: an ordinary user can make them", NULL)
FAULT((set(ASKS_APPARMOR, "1\n"), set("/etc/apparmor.d/usr.bin.apptainer", "")),
      "ok user namespaces: an ordinary user can make them", NULL)
FAULT(
    fake.refuses_namespaces = true,
    "wrong user namespaces: an ordinary user cannot make one: No space left on device",
    "look into the limits of this host (user_namespaces(7), seccomp of an outer "
    "container)")
FAULT(gone("/dev/fuse"),
      "wrong /dev/fuse: it is missing, so that SIF files cannot be mounted",
      "modprobe fuse, and the line fuse in /etc/modules-load.d/fuse.conf")
FAULT(put("/dev/fuse", "", 0600),
      "wrong /dev/fuse: its mode is 0600, so that users cannot mount SIF files",
      "chmod 0666 /dev/fuse, and look for the udev rule that made it otherwise")
FAULT(gone("/usr/libexec/apptainer/bin/squashfuse_ll"),
      "note squashfuse: there is none, so that the runtime unpacks each SIF file into "
      "/tmp",
      "install the package squashfuse, or the runtime's package that brings it")
FAULT(
    gone("/usr/bin/apptainer"),
    "wrong runtime: container runtime: neither apptainer nor singularity is installed "
    "here",
    "install the package apptainer or singularity-ce on this host")
FAULT((gone("/usr/bin/apptainer"),
       set("/etc/our.yaml", "runtime: {path: /opt/apptainer}\n")),
      "wrong runtime: container runtime '/opt/apptainer': No such file or directory",
      "correct runtime.path in berth.yaml, or install the runtime there")
FAULT(script("/usr/bin/apptainer", "echo lost; exit 1"),
      "wrong runtime: '/usr/bin/apptainer' does not tell its version",
      "run it by hand with --version, and install it again")
FAULT(fake.is_setuid = true,
      "note runtime: apptainer version 1.4.5 ('/usr/bin/apptainer'), with setuid: each "
      "task starts a container of its own",
      "use the runtime without setuid (Apptainer without apptainer-suid, SingularityCE "
      "built with --without-suid, or 'allow setuid = no'), so that the tasks of a node "
      "can share a container")
FAULT(LIMIT("user bind control = no\n"),
      "wrong runtime's limits: /etc/apptainer/apptainer.conf has 'user bind control = "
      "no', so that nothing can be mounted",
      "set 'user bind control = yes'")
FAULT(gone(BERTH_LIBEXECDIR "/berth-init"),
      "wrong berth's programs: '" BERTH_LIBEXECDIR "/berth-init' is not there, or does "
      "not start",
      "install berth again on this host")
FAULT(script(BERTH_LIBEXECDIR "/berth-mpi", "echo berth-mpi 0.0.9"),
      "wrong berth's programs: '" BERTH_LIBEXECDIR "/berth-mpi' is of berth 0.0.9, and "
      "this command of 0.1.0",
      "install one release of berth, with all its packages")
FAULT(gone("/usr/bin/patchelf"),
      "note patchelf: it is missing, and --mpi-bind=host needs it to copy the host's "
      "MPI",
      "install the package patchelf, or link one beside berth's programs")
FAULT(set("/tmp/berth-4294967294/x", ""),
      "note /tmp/berth-UID: '/tmp/berth-4294967294' belongs to user USER, so the user "
      "of that "
      "UID has the copies of the host's MPI in /tmp/berth-UID.XXXXXX",
      "remove it, ask that user why, and run 'berth profiles --prepare' here")
FAULT(fake.stacks = 0,
      "note host's MPI: none was found; --mpi-bind can only use the image's own",
      "load its module, or set MPI_HOME, and ask again")
FAULT(fake.libraries = 1, "ok host's libraries: libblas.so.3 (openblas)", NULL)
FAULT((gone("/dev/shm"), set("/dev/shm/x", "")),
      "wrong /dev/shm: it is not a file system of its own, and MPI keeps its shared "
      "memory there",
      "mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs /dev/shm")
FAULT(point("/dev/shm", "/proc"), "wrong /dev/shm: its mode is 0555 instead of 1777",
      "chmod 1777 /dev/shm")
FAULT(
    fake.megabytes = 64,
    "note /dev/shm: it has 64 MB, which is little for MPI between the ranks of a node",
    "mount -o remount,size=50% /dev/shm")
FAULT(
    set("/proc/sys/kernel/yama/ptrace_scope", "1\n"),
    "note kernel.yama.ptrace_scope: it is 1: ranks of a node cannot read each other's "
    "memory (CMA), and MPI copies twice",
    "sysctl kernel.yama.ptrace_scope=0 on nodes for MPI, and the same in "
    "/etc/sysctl.d")
FAULT(set("/proc/sys/kernel/yama/ptrace_scope", "3\n"),
      "note kernel.yama.ptrace_scope: it is 3: no process may trace another, so that a "
      "signal for the application also ends the program that serves its image",
      "sysctl kernel.yama.ptrace_scope=1 (0 for CMA), and the same in /etc/sysctl.d")
FAULT(gone("/proc/sys/kernel/yama/ptrace_scope"),
      "ok kernel.yama.ptrace_scope: ranks of a node can use CMA", NULL)
FAULT(set("/etc/our.yaml", "runtime:\n  shar: never\n"),
      "wrong berth.yaml: /etc/our.yaml:2: runtime: 'shar' is not a key here; "
      "did you mean 'share'?",
      "correct it; until then steps with an image end")
FAULT(set(OURS, "required /lib/ours/berth.so\n"),
      "ok berth.yaml: none ('" BERTH_SITE_FILE "'): the defaults hold", NULL)
FAULT(set(OURS, "required /lib/ours/berth.so config=our.yaml\n"),
      "wrong berth.yaml: plugstack.conf: config: expected an absolute path, got "
      "'our.yaml'",
      "correct it; until then steps with an image end")
FAULT(gone("/etc/our.yaml"),
      "wrong berth.yaml: /etc/our.yaml: No such file or directory; it must be there, "
      "and readable "
      "by all users",
      "correct it; until then steps with an image end")
FAULT(fake.fault = "/etc/profiles.d/x.yaml:2: family: expected mpich or openmpi, got "
                   "'mpi'",
      "wrong profiles: /etc/profiles.d/x.yaml:2: family: expected mpich or "
      "openmpi, got 'mpi'",
      "correct it; until then steps that ask for the host's MPI end")
FAULT(gone("/usr/bin/srun"),
      "note Slurm: there is none here; only the host itself was checked",
      "on a host of a cluster, put its srun into PATH")
FAULT((gone(CONF), gone(STACK)),
      "note Slurm: '/usr/bin/srun' finds no configuration; only the host itself was "
      "checked",
      "make slurm.conf (or slurmctld, by SLURM_CONF or DNS) known to it")
FAULT(gone("/usr/bin/scontrol"), "note Slurm: scontrol does not tell its release",
      "run `scontrol --version` by hand")
FAULT((gone(STACK), set(BERTH_PLUGIN, "")),
      "wrong plugstack.conf: '/etc/slurm/plugstack.conf' is not there, so that Slurm "
      "does not load berth",
      "use `srun berth run`; administrators make it with the line `include "
      "/etc/slurm/plugstack.conf.d/*.conf`, and put berth.conf there")
FAULT(set("/etc/slurm/plugstack.conf.d/z.conf", "\nwhat is this\n"),
      "wrong plugstack.conf: /etc/slurm/plugstack.conf.d/z.conf:2 is not understood",
      "start the line with required, optional or include")
FAULT(
    gone(OURS),
    "note plugstack.conf: '/etc/slurm/plugstack.conf' and what it includes do not "
    "name berth.so",
    "use `srun berth run`; administrators copy the plugin's berth.conf to a directory "
    "that it includes")
FAULT(set("/etc/slurm/plugstack.conf.d/a.conf", "required berth.so\n"),
      "wrong plugstack.conf: /etc/slurm/plugstack.conf.d/a.conf:1 names berth a second "
      "time, or "
      "another file does",
      "leave one line with berth.so in it")
FAULT(set(OURS, "optional /lib/ours/berth.so\n"),
      "note plugstack.conf: /etc/slurm/plugstack.conf.d/berth.conf:1 says optional: "
      "where the plugin cannot be loaded, tasks run on the host",
      "write required instead of optional, or put berth's lines into the TaskProlog")
FAULT(BERTH_SO("/lib/none/berth.so"),
      "wrong plugin: /etc/slurm/plugstack.conf.d/berth.conf:1: "
      "'/lib/none/berth.so' is not there",
      "install berth's package for this release of Slurm")
FAULT(BERTH_SO("/lib/plain/berth.so"),
      "wrong plugin: '/lib/plain/berth.so' is not a plugin of Slurm",
      "install berth's package for this release of Slurm")
FAULT(BERTH_SO("/lib/elder/berth.so"),
      "wrong plugin: '/lib/elder/berth.so' is for Slurm 22.05, and this host has "
      "24.11: it is not loaded",
      "install berth's package for this release of Slurm")
FAULT((BERTH_SO("/lib/mixed/berth.so"), set(BERTH_PLUGIN, "")),
      "wrong plugin: '/lib/mixed/berth.so' is of berth 0.0.9, and this command of "
      "0.1.0",
      "install one release of berth, with all its packages")
FAULT(BERTH_SO("/lib/mixed/berth.so"),
      "note plugin: '/lib/mixed/berth.so' is of berth 0.0.9, and this command of "
      "0.1.0",
      "install one release of berth, with all its packages")
FAULT(script("/usr/bin/scontrol", "echo slurm of ours"),
      "ok plugin: '/lib/ours/berth.so', for Slurm 24.11", NULL)
FAULT(script("/usr/bin/srun", "exit 1"),
      "wrong srun --mpi: srun does not start, or does not tell which types it has",
      "run `srun --mpi=list` by hand, and repair what it says")
FAULT(script("/usr/bin/srun", "printf 'MPI plugin types are...\\n\\tnone\\n'"),
      "wrong srun --mpi: there is neither pmi2 nor pmix",
      "install Slurm's plugins mpi/pmi2 and mpi/pmix")
FAULT(script("/usr/bin/srun", "printf 'srun: MPI types are...\\nsrun: none\\n"
                              "srun: pmi2\\n' >&2"),
      "note srun --mpi: Open MPI wants pmix, and there is only pmi2",
      "install Slurm's plugin mpi/pmix, if users have Open MPI")
#define OCI(more)    set("/etc/slurm/oci.conf", more)
#define OCI_IGNORE   "IgnoreFileConfigJson=True\n"
#define OCI_CREATE   "CreateEnvFile=null\n"
#define OCI_RUN(all) "RunTimeRun=\"exec /x/berth-oci " all "\"\n"
#define OCI_COPY     "copy '" BERTH_DATADIR "/oci.conf' there"
FAULT(OCI(OCI_IGNORE OCI_CREATE OCI_RUN("'%e' '%b' %@")),
      "ok oci.conf: '/etc/slurm/oci.conf': --container runs images", NULL)
FAULT(OCI("RunTimeRun=\"crun run %b\"\n"),
      "ok oci.conf: '/etc/slurm/oci.conf' has another runtime than berth for "
      "--container",
      NULL)
FAULT(OCI("#" OCI_IGNORE OCI_CREATE OCI_RUN("%e %b %@")),
      "wrong oci.conf: '/etc/slurm/oci.conf' lacks IgnoreFileConfigJson=true", OCI_COPY)
FAULT(OCI(OCI_IGNORE OCI_RUN("%e %b %@")),
      "wrong oci.conf: '/etc/slurm/oci.conf' lacks CreateEnvFile=null", OCI_COPY)
FAULT(OCI(OCI_IGNORE OCI_CREATE OCI_RUN("%b %@")),
      "wrong oci.conf: '/etc/slurm/oci.conf' lacks %e, %b and %@ in RunTimeRun",
      OCI_COPY)
FAULT((script("/usr/bin/scontrol", "echo slurm 22.05.8"),
       OCI(OCI_IGNORE OCI_CREATE OCI_RUN("'%e' '%b' %@"))),
      "wrong oci.conf: '/etc/slurm/oci.conf' is for Slurm 23.02 and later", "remove it")
FAULT(set("/etc/slurm/more.conf", "LaunchParameters=slurmstepd_memlock_all,"
                                  "test_exec\n"),
      "note slurm.conf: LaunchParameters has test_exec: srun looks for the command of "
      "an image on its own host",
      "read LaunchParameters in spank_berth(8)")
FAULT(set("/etc/slurm/task.sh", ""),
      "wrong TaskProlog: there is none with berth's lines: a node without the plugin "
      "would run the program on the host",
      "copy the plugin's taskprolog-berth.sh to /etc/slurm, and put the line "
      "`. /etc/slurm/taskprolog-berth.sh` into the TaskProlog of slurm.conf")
FAULT(set("/etc/slurm/more.conf", ""),
      "wrong TaskProlog: there is none with berth's lines: a node without the plugin "
      "would run the program on the host",
      "copy the plugin's taskprolog-berth.sh to /etc/slurm, and put the line "
      "`. /etc/slurm/taskprolog-berth.sh` into the TaskProlog of slurm.conf")
FAULT(set("/etc/slurm/more.conf", ""),
      "note PrologFlags: without Contain, which --container-lifetime=job needs, a "
      "container ends with its step",
      "add PrologFlags=Contain to slurm.conf")
FAULT((set("/etc/slurm/more.conf", ""),
       set("/etc/our.yaml", "rules: [{default: {container-lifetime: job}}]\n")),
      "note PrologFlags: without Contain, which --container-lifetime=job needs, a "
      "container ends with its step",
      "add PrologFlags=Contain to slurm.conf, or take `lifetime: job` out of "
      "berth.yaml")
FAULT((script("/usr/bin/apptainer", RUNTIME("echo SINGULARITY_SUID_INSTALL=0")),
       put("/usr/libexec/apptainer/bin/starter-suid", "", 04755)),
      "ok runtime: apptainer version 1.4.5 ('/usr/bin/apptainer'), without setuid",
      NULL)

/* A program with the rights of root is one of root's. */
TEST(a_setuid_starter_is_seen_unless_it_is_not_allowed)
{
    put("/usr/libexec/apptainer/bin/starter-suid", "", 04755);
    look();
    ck_assert_int_eq(doctor.runtime.is_setuid, geteuid() == 0);
    set("/etc/apptainer/apptainer.conf", "allow setuid = no\n");
    look();
    ck_assert_int_eq(doctor.runtime.has_setuid, geteuid() == 0);
    ck_assert(!doctor.runtime.is_setuid);
}

TEST(a_setuid_runtime_needs_less)
{
    set("/proc/sys/user/max_user_namespaces", "0\n");
    gone("/dev/fuse");
    look();
    ck_assert_uint_eq(berth_doctor_count(&doctor, BERTH_DIAGNOSIS_WRONG), 2);
    fake.is_setuid = true;
    look();
    ck_assert_uint_eq(berth_doctor_count(&doctor, BERTH_DIAGNOSIS_WRONG), 0);
}

TEST(a_stage_directory_of_the_user_is_right)
{
    char own[32];

    snprintf(own, sizeof(own), "/tmp/berth-%u/x", geteuid());
    set(own, "");
    set("/tmp/berth-other/x", "");
    set("/tmp/berth-4294967294.abcdef/x", "");
    look();
    ck_assert_uint_eq(berth_doctor_count(&doctor, BERTH_DIAGNOSIS_NOTE), 0);
}

#define WORDS " /lib/ours/berth.so config=/etc/our.yaml"

static const struct {
    const char *file;
    const char *before, *after; /* its text */
} files[] = {
    {OURS, "required" WORDS "\n", "required" WORDS " option_prefix=x-\n"},
    {OURS, "required" WORDS "\n", "optional" WORDS "\n"},
    {OURS, "required" WORDS "\nrequires a.so\n", "required" WORDS "\nneeds a.so\n"},
    {"/etc/our.yaml", "", "mpi: {}\n"},
    {"/etc/profiles.d/x.yaml", "", "x\n"},
};

TEST_ROWS(the_digest_changes_with_the_files, files)
{
    char first[17];

    set(files[_i].file, files[_i].before);
    look();
    memcpy(first, doctor.digest, sizeof(first));
    look();
    ck_assert_str_eq(doctor.digest, first);
    set(files[_i].file, files[_i].after);
    look();
    ck_assert_str_ne(doctor.digest, first);
}

static const struct {
    int notes, wrong;
    const char *text;
} sums[] = {
    {0, 0, "1 checked, nothing wrong"},
    {1, 0, "2 checked, 1 note, nothing wrong"},
    {2, 1, "4 checked, 2 notes, 1 wrong"},
    {0, 3, "4 checked, 3 wrong"},
};

TEST_ROWS(the_last_line_has_the_numbers, sums)
{
    BERTH_BUF struct berth_buf text = {0};

    berth_doctor_add(&doctor, BERTH_DIAGNOSIS_OK, "a", NULL, "b");
    for (int i = 0; i < sums[_i].notes; i++)
        berth_doctor_add(&doctor, BERTH_DIAGNOSIS_NOTE, "a", NULL, "b");
    for (int i = 0; i < sums[_i].wrong; i++)
        berth_doctor_add(&doctor, BERTH_DIAGNOSIS_WRONG, "a", NULL, "b");
    berth_doctor_sum(&doctor, &text);
    ck_assert_str_eq(text.text, sums[_i].text);
}

TEST(a_file_that_is_not_a_plugin_has_no_value)
{
    unsigned int value;
    int fd = open("/dev/null", O_RDONLY);

    ck_assert_uint_eq(berth_elf_value(fd, "plugin_version", &value, sizeof(value)), 0);
    close(fd);
    fd = open("/proc/self/exe", O_RDONLY);
    ck_assert_uint_eq(berth_elf_value(fd, "plugin_version", &value, sizeof(value)), 0);
    close(fd);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* How doctor judges a host: each case changes one fact, and expects one diagnosis and
 * its remedy. */

#include "cli/checks.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "unit.h"

#define RELEASE(major, minor) ((unsigned int)(major) << 16 | (minor) << 8 | 5)

static struct berth_doctor_plugin plugins[] = {
    {.place = "/etc/slurm/plugstack.conf:1",
     .path = "/usr/lib64/slurm/other.so",
     .slurm = RELEASE(24, 11),
     .is_there = true},
    {.place = "/etc/slurm/plugstack.conf.d/berth.conf:1",
     .path = "/usr/lib64/slurm/berth.so",
     .slurm = RELEASE(24, 11),
     .release = "0.1.0",
     .is_berth = true,
     .is_required = true,
     .is_there = true},
};

static struct berth_doctor_plugin copy[2];
static struct berth_doctor_facts facts;
static struct berth_diagnoses diagnoses;

/* Set the facts of a host without a fault. */
static void setup(void)
{
    facts = (struct berth_doctor_facts){
        .release = "0.1.0",
        .userns = {.max = 15000, .clone = -1, .apparmor = -1},
        .subid = {.user = "alice", .has_uids = true, .has_gids = true},
        .fuse = 0666,
        .squashfuse = "/usr/bin/squashfuse_ll",
        .fusermount = "/usr/bin/fusermount3",
        .runtime = {.path = "/usr/bin/apptainer",
                    .version = "apptainer version 1.4.5",
                    .conf = "/etc/apptainer/apptainer.conf",
                    .allow_setuid = "yes",
                    .max_loop = "256",
                    .bind = "yes"},
        .patchelf = "/usr/bin/patchelf",
        .programs = {{"/usr/libexec/berth/berth-task", "0.1.0"},
                     {"/usr/libexec/berth/berth-start", "0.1.0"},
                     {"/usr/libexec/berth/berth-init", "0.1.0"},
                     {"/usr/libexec/berth/berth-inside", "0.1.0"},
                     {"/usr/libexec/berth/berth-mpi", "0.1.0"}},
        .slurm = {.srun = "/usr/bin/srun",
                  .version = "slurm 24.11.5",
                  .conf = "/etc/slurm/slurm.conf",
                  .plugstack = "/etc/slurm/plugstack.conf",
                  .has_plugstack = true,
                  .types = "none pmi2 pmix",
                  .prolog = "/etc/slurm/task.sh",
                  .has_prolog_lines = true,
                  .has_extern = true},
        .plugins = copy,
        .plugin_count = 2,
        .site = {.path = "/etc/slurm/berth.yaml", .is_there = true},
        .digest = "00c0ffee00c0ffee",
        .shm = {.is_mounted = true, .mode = 01777, .megabytes = 12000},
        .ptrace = 0,
    };

    memcpy(copy, plugins, sizeof(plugins));
    berth_strvec_push(&facts.stacks, "MPICH 4.2.1 (mpich)");
}

/* Free the parts of the facts that are not static. */
static void teardown(void)
{
    berth_strvec_fini(&facts.stacks);
    berth_strvec_fini(&facts.libraries);
    berth_diagnoses_fini(&diagnoses);
}

static char *line_of(const struct berth_diagnosis *diagnosis)
{
    char *line = NULL;

    ck_assert_int_gt(asprintf(&line, "%s %s: %s",
                              berth_diagnosis_word(diagnosis->level), diagnosis->about,
                              diagnosis->text),
                     0);
    return line;
}

TEST(a_healthy_host_has_no_fault)
{
    BERTH_BUF struct berth_buf all = {0};

    berth_doctor_judge(&facts, &diagnoses);
    ck_assert(!diagnoses.failed);
    for (size_t i = 0; i < diagnoses.count; i++) {
        BERTH_FREE char *line = line_of(&diagnoses.items[i]);

        ck_assert_ptr_null(diagnoses.items[i].remedy);
        berth_buf_puts(&all, line);
        berth_buf_puts(&all, "\n");
    }
    ck_assert_str_eq(
        all.text,
        "ok user namespaces: an ordinary user can make them\n"
        "ok /etc/subuid: 'alice' has ranges in /etc/subuid and /etc/subgid\n"
        "ok /dev/fuse: its mode is 0666\n"
        "ok squashfuse: /usr/bin/squashfuse_ll, and /usr/bin/fusermount3\n"
        "ok runtime: apptainer version 1.4.5 ('/usr/bin/apptainer'), without setuid\n"
        "ok berth's programs: all are of berth 0.1.0\n"
        "ok patchelf: /usr/bin/patchelf\n"
        "ok host's MPI: MPICH 4.2.1 (mpich)\n"
        "ok /dev/shm: 12000 MB\n"
        "ok kernel.yama.ptrace_scope: ranks of a node can use CMA\n"
        "ok berth.yaml: '/etc/slurm/berth.yaml'\n"
        "ok configuration: 00c0ffee00c0ffee; `srun -N2 berth doctor --brief` tells "
        "whether it is the same elsewhere\n"
        "ok Slurm: slurm 24.11.5\n"
        "ok plugstack.conf: /etc/slurm/plugstack.conf.d/berth.conf:1: plugin 2 of 2, "
        "required\n"
        "ok plugin: '/usr/lib64/slurm/berth.so', for Slurm 24.11\n"
        "ok srun --mpi: none pmi2 pmix\n"
        "ok TaskProlog: '/etc/slurm/task.sh' has berth's lines\n"
        "ok PrologFlags: with Contain: a container can last as long as its job\n");
    ck_assert_uint_eq(berth_diagnoses_wrong(&diagnoses), 0);
}

#define CHANGE(number, ...)                                                            \
    static void change_##number(struct berth_doctor_facts *f)                          \
    {                                                                                  \
        __VA_ARGS__;                                                                   \
    }

CHANGE(1, f->userns.max = 0)
CHANGE(2, f->userns.clone = 0)
CHANGE(3, f->userns.apparmor = 1)
CHANGE(4, f->userns.apparmor = 1, f->userns.has_profile = true)
CHANGE(5, f->userns.refused = "No space left on device")
CHANGE(6, f->subid.has_gids = false)
CHANGE(7, f->subid.user = NULL)
CHANGE(8, f->fuse = -1)
CHANGE(9, f->fuse = 0600)
CHANGE(10, f->fusermount = NULL)
CHANGE(11, f->squashfuse = NULL)
CHANGE(12, f->runtime.path = NULL,
       f->runtime.missing =
           "container runtime: neither apptainer nor singularity is installed here")
CHANGE(13, f->runtime.version = NULL)
CHANGE(14, f->runtime.is_setuid = true)
CHANGE(15, f->runtime.bind = "no")
CHANGE(16, f->runtime.is_setuid = true, f->runtime.paths = "/images")
CHANGE(17, f->runtime.is_setuid = true, f->runtime.owners = "root")
CHANGE(18, f->runtime.is_setuid = true, f->runtime.max_loop = "8")
CHANGE(19, f->programs[2].release = NULL)
CHANGE(20, f->programs[4].release = "0.0.9")
CHANGE(21, f->patchelf = NULL)
CHANGE(22, berth_strvec_fini(&f->stacks))
CHANGE(23, f->shm.is_mounted = false)
CHANGE(24, f->shm.mode = 0755)
CHANGE(25, f->shm.megabytes = 64)
CHANGE(26, f->ptrace = 1)
CHANGE(27, f->ptrace = 3)
CHANGE(28, f->ptrace = -1)
CHANGE(29, f->site.fault = "/etc/slurm/berth.yaml:3: runtime: 'shar' is not a key "
                           "here; did you mean 'share'?")
CHANGE(30, f->site.is_there = false)
CHANGE(31, f->slurm.srun = NULL)
CHANGE(32, f->slurm.conf = NULL, f->slurm.has_plugstack = false)
CHANGE(33, f->slurm.version = NULL)
CHANGE(34, f->slurm.has_plugstack = false)
CHANGE(35, f->slurm.bad_line = "/etc/slurm/plugstack.conf:7")
CHANGE(36, f->plugin_count = 1)
CHANGE(37, f->plugins[0].is_berth = true)
CHANGE(38, f->plugins[0].clash = "container-image")
CHANGE(39, f->plugins[1].is_required = false)
CHANGE(40, f->plugins[1].is_there = false)
CHANGE(41, f->plugins[1].slurm = 0)
CHANGE(42, f->plugins[1].slurm = RELEASE(22, 5))
CHANGE(43, f->plugins[1].release = "0.0.9")
CHANGE(44, f->slurm.version = "slurm of ours")
CHANGE(45, f->slurm.types = NULL)
CHANGE(46, f->slurm.types = "none cray_shasta pmix_v5")
CHANGE(47, f->slurm.types = "none pmi2")
CHANGE(48, f->slurm.test_exec = "test_exec")
CHANGE(49, f->slurm.has_prolog_lines = false)
CHANGE(50, f->slurm.prolog = NULL, f->slurm.has_prolog_lines = false)
CHANGE(51,
       f->site.profile = "/etc/slurm/profiles.d/x.yaml:2: family: expected mpich or "
                         "openmpi, got 'mpi'")
CHANGE(52, f->foreign_directory = "'/tmp/berth-2001' belongs to user 2002")

#define BY_LOOP                                                                        \
    f->runtime.is_setuid = true, f->runtime.by_loop = "allow kernel squashfs = yes"

CHANGE(53, BY_LOOP)
CHANGE(54, BY_LOOP, f->loops.count = 8, f->loops.in_use = 8)
CHANGE(55, BY_LOOP, f->loops.count = 8, f->loops.in_use = 8,
       f->loops.has_control = true)
CHANGE(56, BY_LOOP, f->loops.count = 8, f->loops.in_use = 8,
       f->loops.has_control = true, f->runtime.max_loop = "8")
CHANGE(57, BY_LOOP, f->loops.count = 8, f->loops.in_use = 2)
CHANGE(59, f->slurm.has_extern = false)
CHANGE(60, f->slurm.has_extern = false, f->site.wants_job = true)
CHANGE(61, berth_strvec_push(&f->libraries, "libblas.so.3 (openblas)"))
CHANGE(58, f->runtime.path = NULL, f->runtime.is_configured = true,
       f->runtime.missing =
           "container runtime '/opt/apptainer': No such file or directory")

static const struct {
    void (*change)(struct berth_doctor_facts *);
    const char *line;
    const char *remedy; /* NULL: none */
} cases[] = {
    {change_1,
     "wrong user namespaces: user.max_user_namespaces is 0, so that no container can "
     "be started without setuid",
     "sysctl user.max_user_namespaces=15000, and the same in /etc/sysctl.d"},
    {change_2,
     "wrong user namespaces: kernel.unprivileged_userns_clone is 0, so that only root "
     "may make one",
     "sysctl kernel.unprivileged_userns_clone=1, and the same in /etc/sysctl.d"},
    {change_3,
     "wrong user namespaces: kernel.apparmor_restrict_unprivileged_userns is 1 and no "
     "AppArmor profile names berth or the runtime",
     "copy " BERTH_DATADIR "/apparmor to /etc/apparmor.d/berth, and apparmor_parser -r "
     "/etc/apparmor.d/berth"},
    {change_4, "ok user namespaces: an ordinary user can make them", NULL},
    {change_5,
     "wrong user namespaces: an ordinary user cannot make one: No space left on device",
     "look into the limits of this host (user_namespaces(7), seccomp of an outer "
     "container)"},
    {change_6,
     "note /etc/subuid: 'alice' has no range in /etc/subgid; only "
     "--container-args=--fakeroot and builds want one",
     "usermod --add-subuids 100000-165535 --add-subgids 100000-165535 USER, with "
     "ranges that differ from user to user"},
    {change_7, "ok /etc/subuid: asked as root; ask as a user for the user's ranges",
     NULL},
    {change_8, "wrong /dev/fuse: it is missing, so that SIF files cannot be mounted",
     "modprobe fuse, and the word fuse in /etc/modules-load.d/fuse.conf"},
    {change_9,
     "wrong /dev/fuse: its mode is 0600, so that users cannot mount SIF files",
     "chmod 0666 /dev/fuse, and look for the udev rule that made it otherwise"},
    {change_10, "ok squashfuse: /usr/bin/squashfuse_ll", NULL},
    {change_11,
     "note squashfuse: there is none, so that the runtime unpacks each SIF file into "
     "/tmp",
     "install the package squashfuse, or the runtime's package that brings it"},
    {change_12,
     "wrong runtime: container runtime: neither apptainer nor singularity is installed "
     "here",
     "install the package apptainer or singularity-ce on this host"},
    {change_58,
     "wrong runtime: container runtime '/opt/apptainer': No such file or directory",
     "correct runtime.path in berth.yaml, or install the runtime there"},
    {change_13, "wrong runtime: '/usr/bin/apptainer' does not tell its version",
     "run it by hand with --version, and install it again"},
    {change_14,
     "note runtime: apptainer version 1.4.5 ('/usr/bin/apptainer'), with setuid: each "
     "task starts a container of its own",
     "use the runtime without setuid (Apptainer without apptainer-suid, SingularityCE "
     "built with --without-suid, or 'allow setuid = no'), so that the tasks of a node "
     "can share a container"},
    {change_15,
     "wrong runtime's limits: /etc/apptainer/apptainer.conf has 'user bind control = "
     "no', so that nothing can be mounted",
     "set 'user bind control = yes'"},
    {change_16,
     "note runtime's limits: /etc/apptainer/apptainer.conf has 'limit container paths "
     "= /images': images elsewhere are refused",
     "add the directories of images to 'limit container paths'"},
    {change_17,
     "note runtime's limits: /etc/apptainer/apptainer.conf has 'limit container owners "
     "= root': images of others are refused",
     "add the owners of images to 'limit container owners'"},
    {change_18,
     "note runtime's limits: /etc/apptainer/apptainer.conf has 'max loop devices = 8': "
     "each container of a node takes one",
     "set 'max loop devices = 256'"},
    {change_19,
     "wrong berth's programs: '/usr/libexec/berth/berth-init' is not there, or does "
     "not start",
     "install berth again on this host"},
    {change_20,
     "wrong berth's programs: '/usr/libexec/berth/berth-mpi' is of berth 0.0.9, and "
     "this command of 0.1.0",
     "install one release of berth, with all its packages"},
    {change_21,
     "note patchelf: it is missing, and --mpi-bind=host needs it to copy the host's "
     "MPI",
     "install the package patchelf"},
    {change_52,
     "note /tmp/berth-UID: '/tmp/berth-2001' belongs to user 2002, so the user of that "
     "UID has the copies of the host's MPI in /tmp/berth-UID.XXXXXX",
     "remove it, ask that user why, and run 'berth profiles --prepare' here"},
    {change_22,
     "note host's MPI: none was found; --mpi-bind can only use the image's own",
     "load its module, or set MPI_HOME, and ask again"},
    {change_61, "ok host's libraries: libblas.so.3 (openblas)", NULL},
    {change_23,
     "wrong /dev/shm: it is not a file system of its own, and MPI keeps its shared "
     "memory there",
     "mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs /dev/shm"},
    {change_24, "wrong /dev/shm: its mode is 0755 instead of 1777",
     "chmod 1777 /dev/shm"},
    {change_25,
     "note /dev/shm: it has 64 MB, which is little for MPI between the ranks of a node",
     "mount -o remount,size=50% /dev/shm"},
    {change_26,
     "note kernel.yama.ptrace_scope: it is 1: ranks of a node cannot read each other's "
     "memory (CMA), and MPI copies twice",
     "sysctl kernel.yama.ptrace_scope=0 on nodes for MPI, and the same in "
     "/etc/sysctl.d"},
    {change_27,
     "note kernel.yama.ptrace_scope: it is 3: no process may trace another, so that a "
     "signal for the application also ends the program that serves its image",
     "sysctl kernel.yama.ptrace_scope=1 (0 for CMA), and the same in /etc/sysctl.d"},
    {change_28, "ok kernel.yama.ptrace_scope: ranks of a node can use CMA", NULL},
    {change_29,
     "wrong berth.yaml: /etc/slurm/berth.yaml:3: runtime: 'shar' is not a key here; "
     "did you mean 'share'?",
     "correct it; until then steps with an image end"},
    {change_30, "ok berth.yaml: none ('/etc/slurm/berth.yaml'): the defaults hold",
     NULL},
    {change_51,
     "wrong profiles: /etc/slurm/profiles.d/x.yaml:2: family: expected mpich or "
     "openmpi, got 'mpi'",
     "correct it; until then steps that ask for the host's MPI end"},
    {change_31, "note Slurm: there is none here; only the host itself was checked",
     "on a host of a cluster, put its srun into PATH"},
    {change_32,
     "note Slurm: '/usr/bin/srun' finds no configuration; only the host itself was "
     "checked",
     "make slurm.conf (or slurmctld, by SLURM_CONF or DNS) known to it"},
    {change_33, "note Slurm: neither scontrol nor srun tells its release",
     "run `scontrol --version` by hand"},
    {change_34,
     "wrong plugstack.conf: '/etc/slurm/plugstack.conf' is not there, so that Slurm "
     "does not load berth",
     "make it with the line `include /etc/slurm/plugstack.conf.d/*.conf`, and put "
     "berth.conf there"},
    {change_35, "wrong plugstack.conf: /etc/slurm/plugstack.conf:7 is not understood",
     "start the line with required, optional or include"},
    {change_36,
     "wrong plugstack.conf: '/etc/slurm/plugstack.conf' and what it includes do not "
     "name berth.so",
     "copy berth.conf (in /usr/share/berth) to a directory that it includes"},
    {change_37,
     "wrong plugstack.conf: /etc/slurm/plugstack.conf:1 names berth a second time, or "
     "another file does",
     "leave one line with berth.so in it"},
    {change_38,
     "wrong plugstack.conf: /etc/slurm/plugstack.conf:1: '/usr/lib64/slurm/other.so' "
     "has an option --container-image too; Slurm drops the one of the later plugin",
     "put option_prefix=b- behind berth.so, on all hosts"},
    {change_39,
     "note plugstack.conf: /etc/slurm/plugstack.conf.d/berth.conf:1 says optional: "
     "where the plugin cannot be loaded, tasks run on the host",
     "write required instead of optional, or put berth's lines into the TaskProlog"},
    {change_40,
     "wrong plugin: /etc/slurm/plugstack.conf.d/berth.conf:1: "
     "'/usr/lib64/slurm/berth.so' is not there",
     "install berth's package for this release of Slurm"},
    {change_41, "wrong plugin: '/usr/lib64/slurm/berth.so' is not a plugin of Slurm",
     "install berth's package for this release of Slurm"},
    {change_42,
     "wrong plugin: '/usr/lib64/slurm/berth.so' is for Slurm 22.05, and this host has "
     "24.11: it is not loaded",
     "install berth's package for this release of Slurm"},
    {change_43,
     "wrong plugin: '/usr/lib64/slurm/berth.so' is of berth 0.0.9, and this command of "
     "0.1.0",
     "install one release of berth, with all its packages"},
    {change_44, "ok plugin: '/usr/lib64/slurm/berth.so', for Slurm 24.11", NULL},
    {change_45,
     "wrong srun --mpi: srun does not start, or does not tell which types it has",
     "run `srun --mpi=list` by hand, and repair what it says"},
    {change_46,
     "wrong srun --mpi: there is neither pmi2 nor pmix, but: none cray_shasta pmix_v5",
     "install Slurm's plugins mpi/pmi2 and mpi/pmix"},
    {change_47, "note srun --mpi: Open MPI wants pmix, and there is: none pmi2",
     "install Slurm's plugin mpi/pmix, if users have Open MPI"},
    {change_48,
     "note slurm.conf: LaunchParameters has test_exec: srun looks for the command of "
     "an image on its own host",
     "read LaunchParameters in spank_berth(8)"},
    {change_49,
     "note TaskProlog: '/etc/slurm/task.sh' does not end tasks where the plugin is "
     "missing",
     "copy /usr/share/berth/taskprolog-berth.sh to /etc/slurm, and put "
     "`. /etc/slurm/taskprolog-berth.sh` into it"},
    {change_50,
     "note TaskProlog: there is none that ends tasks where the plugin is missing",
     "copy /usr/share/berth/taskprolog-berth.sh to /etc/slurm, write one with the line "
     "`. /etc/slurm/taskprolog-berth.sh`, and name it in slurm.conf"},
    {change_53,
     "wrong /dev/loop*: there is none, and /etc/apptainer/apptainer.conf has 'allow "
     "kernel squashfs = yes', so that no SIF file can be mounted",
     "modprobe loop, and the word loop in /etc/modules-load.d/loop.conf; or no instead "
     "of yes, and FUSE mounts SIF files"},
    {change_54,
     "wrong /dev/loop*: all 8 are in use, and each container of a node takes one",
     "find out what uses them: losetup -l"},
    {change_55, "ok /dev/loop*: 8, of which 8 are in use", NULL},
    {change_56,
     "wrong /dev/loop*: all 8 are in use, and each container of a node takes one",
     "find out what uses them: losetup -l"},
    {change_57, "ok /dev/loop*: 8, of which 2 are in use", NULL},
    {change_59,
     "note PrologFlags: without Contain, which --container-lifetime=job needs, a "
     "container ends with its step",
     "add PrologFlags=Contain to slurm.conf"},
    {change_60,
     "note PrologFlags: without Contain, which --container-lifetime=job needs, a "
     "container ends with its step",
     "add PrologFlags=Contain to slurm.conf, or take `lifetime: job` out of "
     "berth.yaml"},
};

TEST_ROWS(each_fault_is_named_with_its_remedy, cases)
{
    BERTH_BUF struct berth_buf all = {0};
    bool found = false;

    cases[_i].change(&facts);
    berth_doctor_judge(&facts, &diagnoses);
    for (size_t i = 0; i < diagnoses.count; i++) {
        const struct berth_diagnosis *diagnosis = &diagnoses.items[i];
        BERTH_FREE char *line = line_of(diagnosis);

        berth_buf_puts(&all, line);
        berth_buf_puts(&all, "\n");
        if (strcmp(line, cases[_i].line) != 0)
            continue;
        found = true;
        if (cases[_i].remedy)
            ck_assert_pstr_eq(diagnosis->remedy, cases[_i].remedy);
        else
            ck_assert_ptr_null(diagnosis->remedy);
    }
    ck_assert_msg(found, "expected: %s\nseen: %s", cases[_i].line, all.text);
}

TEST(a_setuid_runtime_needs_less)
{
    facts.runtime.is_setuid = true;
    facts.userns.max = 0;
    facts.fuse = -1;
    berth_doctor_judge(&facts, &diagnoses);
    ck_assert_uint_eq(berth_diagnoses_wrong(&diagnoses), 0);
    berth_diagnoses_fini(&diagnoses);
    facts.runtime.allow_setuid = "no";
    facts.runtime.by_loop = "allow kernel squashfs = yes";
    berth_doctor_judge(&facts, &diagnoses);
    ck_assert_uint_eq(berth_diagnoses_wrong(&diagnoses), 2);
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

    berth_diagnoses_add(&diagnoses, BERTH_DIAGNOSIS_OK, "a", NULL, "b");
    for (int i = 0; i < sums[_i].notes; i++)
        berth_diagnoses_add(&diagnoses, BERTH_DIAGNOSIS_NOTE, "a", NULL, "b");
    for (int i = 0; i < sums[_i].wrong; i++)
        berth_diagnoses_add(&diagnoses, BERTH_DIAGNOSIS_WRONG, "a", NULL, "b");
    berth_diagnoses_sum(&diagnoses, &text);
    ck_assert_str_eq(text.text, sums[_i].text);
}

TEST(brief_is_one_line)
{
    BERTH_BUF struct berth_buf line = {0};

    facts.fuse = 0600;
    facts.programs[2].release = NULL;
    facts.programs[3].release = facts.programs[4].release = NULL;
    berth_doctor_judge(&facts, &diagnoses);
    berth_doctor_brief(&facts, &diagnoses, &line);
    ck_assert_str_eq(line.text,
                     "berth=0.1.0 plugin=24.11 slurm=slurm_24.11.5 "
                     "config=00c0ffee00c0ffee runtime=apptainer_version_1.4.5 "
                     "setuid=no mpi=MPICH_4.2.1_(mpich) "
                     "wrong=/dev/fuse,berth's_programs");
}

TEST(brief_of_a_bare_host_is_one_line)
{
    BERTH_BUF struct berth_buf line = {0};

    berth_strvec_fini(&facts.stacks);
    facts = (struct berth_doctor_facts){.release = "0.1.0"};
    berth_doctor_brief(&facts, &diagnoses, &line);
    ck_assert_str_eq(line.text, "berth=0.1.0 plugin=none slurm=none config=none "
                                "runtime=none setuid=no mpi=none wrong=none");
}

void unit_prepare(TCase *tests)
{
    tcase_add_checked_fixture(tests, setup, teardown);
}

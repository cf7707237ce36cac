/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about a host, read below a directory that stands for its root. */

#include "cli/host.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/facts.h"
#include "unit.h"

static char *root;
static struct berth_doctor_facts facts;
static const char *control; /* text of the script scontrol */

static void setup(void)
{
    root = unit_directory();
    control = "#!/bin/sh\nexit 1\n";
}

static void teardown(void)
{
    berth_doctor_facts_fini(&facts);
    unit_remove(root);
    free(root);
}

/* Write TEXT to PATH below the root, whose directories are made. */
static void put(const char *path, const char *text, mode_t mode)
{
    BERTH_FREE char *place = NULL;

    ck_assert_int_gt(asprintf(&place, "%s%s", root, path), 0);
    for (char *slash = place + strlen(root) + 1; (slash = strchr(slash, '/'));
         slash++) {
        *slash = '\0';
        mkdir(place, 0755);
        *slash = '/';
    }
    unit_write(place, text, strlen(text));
    ck_assert_int_eq(chmod(place, mode), 0);
}

/* Write an empty slurm.conf, and beside it plugstack.conf. */
static void put_slurm(const char *plugstack)
{
    put("/etc/slurm/slurm.conf", "", 0644);
    put("/etc/slurm/plugstack.conf", plugstack, 0644);
}

#define SITE "required berth.so config=/etc/our.yaml\n"

/* Read the facts, again after a change. No real srun is started. */
static void look(void)
{
    BERTH_FREE char *srun = unit_path(root, "bin/srun");
    BERTH_STRVEC struct berth_strvec env = {0};
    struct berth_err err = {""};

    if (access(srun, F_OK) < 0)
        put("/bin/srun", "#!/bin/sh\nexit 1\n", 0755);
    berth_doctor_facts_fini(&facts);
    put("/bin/scontrol", control, 0755);
    berth_strvec_pushf(&env, "PATH=%s/bin:/usr/bin:/bin", root);
    berth_strvec_push(&env, "SLURM_CONF=/etc/slurm/slurm.conf");
    ck_assert_msg(berth_host_read(root, env.items, "0.1.0", &facts, &err) == 0, "%s",
                  err.text);
}

TEST(the_kernel_is_read)
{
    put("/proc/sys/user/max_user_namespaces", "0\n", 0644);
    put("/proc/sys/kernel/unprivileged_userns_clone", "1\n", 0644);
    put("/proc/sys/kernel/yama/ptrace_scope", "2\n", 0644);
    put("/dev/fuse", "", 0640);
    put("/dev/shm/x", "", 0640);
    put("/etc/apparmor.d/usr.bin.apptainer", "", 0644);
    look();
    ck_assert_int_eq(facts.userns.max, 0);
    ck_assert_int_eq(facts.userns.clone, 1);
    ck_assert_int_eq(facts.userns.apparmor, -1);
    ck_assert(facts.userns.has_profile);
    ck_assert_int_eq(facts.ptrace, 2);
    ck_assert_int_eq(facts.fuse, 0640);
    ck_assert(!facts.shm.is_mounted);
    ck_assert_int_eq(facts.shm.mode, 0755);
}

TEST(a_stage_directory_of_another_user_is_named)
{
    char own[32], told[64];

    snprintf(own, sizeof(own), "/tmp/berth-%u/x", geteuid());
    put(own, "", 0600);
    put("/tmp/berth-other/x", "", 0600);
    put("/tmp/berth-4294967294.abcdef/x", "", 0600);
    look();
    ck_assert_ptr_null(facts.foreign_directory);
    put("/tmp/berth-4294967294/x", "", 0600);
    look();
    snprintf(told, sizeof(told), "'/tmp/berth-4294967294' belongs to user %u",
             geteuid());
    ck_assert_str_eq(facts.foreign_directory, told);
}

TEST(an_empty_root_has_few_facts)
{
    look();
    ck_assert_int_eq(facts.userns.max, -1);
    ck_assert_int_eq(facts.fuse, -1);
    ck_assert_int_eq(facts.shm.mode, -1);
    ck_assert_int_eq(facts.loops.count, 0);
    ck_assert(!facts.loops.has_control);
    ck_assert_ptr_null(facts.slurm.conf);
    ck_assert_str_eq(facts.slurm.plugstack, BERTH_SYSCONFDIR "/plugstack.conf");
    ck_assert(!facts.slurm.has_plugstack);
    ck_assert(!facts.site.is_there);
    ck_assert_str_eq(facts.digest, "cbf29ce484222325");
}

#define RUNTIME                                                                        \
    "#!/bin/sh\n"                                                                      \
    "case $1 in --version) echo apptainer version 9.8.7 ;;\n"                          \
    "buildcfg) echo LIBEXECDIR=/libexec; echo APPTAINER_CONF_FILE=/etc/a.conf ;;\n"    \
    "esac\n"

TEST(the_runtime_is_read)
{
    BERTH_FREE char *squashfuse = NULL;

    put("/bin/apptainer", RUNTIME, 0755);
    put("/libexec/apptainer/bin/squashfuse_ll", "", 0755);
    put("/libexec/apptainer/bin/starter-suid", "", geteuid() == 0 ? 04755 : 0755);
    put("/etc/a.conf",
        "allow setuid = no\nmax loop devices = 4\nuser bind control = yes\n"
        "limit container paths = /images\nallow kernel squashfs = no\n",
        0644);
    look();
    ck_assert_ptr_null(facts.runtime.by_loop);
    ck_assert_str_eq(facts.runtime.version, "apptainer version 9.8.7");
    ck_assert_int_eq(facts.runtime.is_setuid, geteuid() == 0);
    ck_assert_str_eq(facts.runtime.allow_setuid, "no");
    ck_assert_str_eq(facts.runtime.max_loop, "4");
    ck_assert_str_eq(facts.runtime.bind, "yes");
    ck_assert_str_eq(facts.runtime.paths, "/images");
    ck_assert_ptr_null(facts.runtime.owners);
    ck_assert_int_gt(
        asprintf(&squashfuse, "%s/libexec/apptainer/bin/squashfuse_ll", root), 0);
    ck_assert_str_eq(facts.squashfuse, squashfuse);
}

static const char *const kernel_mounts[] = {"allow kernel squashfs = yes",
                                            "allow setuid-mount squashfs = yes"};

TEST_ROWS(loop_devices_are_counted, kernel_mounts)
{
    put("/bin/apptainer", RUNTIME, 0755);
    put("/etc/a.conf", kernel_mounts[_i], 0644);
    put("/dev/loop0", "", 0644);
    put("/dev/loop11", "", 0644);
    put("/dev/loop12", "", 0644);
    put("/dev/loop-control", "", 0644);
    put("/sys/block/loop11/loop/backing_file", "", 0644);
    put("/sys/block/loop12/size", "", 0644);
    look();
    ck_assert_str_eq(facts.runtime.by_loop, kernel_mounts[_i]);
    ck_assert_int_eq(facts.loops.count, 3);
    ck_assert_int_eq(facts.loops.in_use, 1);
    ck_assert(facts.loops.has_control);
}

TEST(singularity_may_have_a_starter_that_it_does_not_use)
{
    put("/bin/apptainer",
        "#!/bin/sh\necho LIBEXECDIR=/libexec; echo SINGULARITY_SUID_INSTALL=0\n", 0755);
    put("/libexec/apptainer/bin/starter-suid", "", geteuid() == 0 ? 04755 : 0755);
    look();
    ck_assert(!facts.runtime.is_setuid);
}

TEST(a_runtime_that_fails_has_a_path_only)
{
    put("/bin/apptainer", "#!/bin/sh\necho lost; exit 1\n", 0755);
    look();
    ck_assert_ptr_nonnull(facts.runtime.path);
    ck_assert_ptr_null(facts.runtime.version);
    ck_assert(!facts.runtime.is_setuid);
}

/* srun --mpi=list, on standard output, and on standard error with the name of srun. */
static const char *const lists[] = {
    "#!/bin/sh\ncase $1 in --version) echo slurm 24.11.5 ;;\n"
    "*) printf 'MPI plugin types are...\\n\\tnone\\n\\tpmix\\nspecific pmix plugin "
    "versions available: pmix_v5\\n' ;; esac\n",
    "#!/bin/sh\ncase $1 in --version) echo slurm 24.11.5 ;;\n"
    "*) printf 'srun: MPI types are...\\nsrun: none\\nsrun: pmix\\n' >&2 ;; esac\n",
};

TEST_ROWS(srun_is_asked, lists)
{
    put("/etc/slurm/slurm.conf", "", 0644);
    put("/bin/srun", lists[_i], 0755);
    look();
    ck_assert_str_eq(facts.slurm.version, "slurm 24.11.5");
    ck_assert_str_eq(facts.slurm.types, "none pmix");
}

TEST(scontrol_has_the_release_if_srun_fails)
{
    control = "#!/bin/sh\necho slurm 24.11.5\n";
    look();
    ck_assert_str_eq(facts.slurm.version, "slurm 24.11.5");
    ck_assert_ptr_null(facts.slurm.types);
}

TEST(an_srun_that_fails_is_found)
{
    look();
    ck_assert_ptr_nonnull(facts.slurm.srun);
    ck_assert_ptr_null(facts.slurm.version);
}

/* Plugins with the symbols that SPANK_PLUGIN() defines. */
static void make_plugins(void)
{
    put("/lib/b.c",
        "extern const unsigned plugin_version; extern const char plugin_release[];"
        "const unsigned plugin_version = 0x180b05;"
        "const char plugin_release[] = \"0.1.0\";",
        0644);
    put("/lib/o.c",
        "const unsigned plugin_version = 0x180b05;"
        "const char *const names[] = {\"b-container-image\", \"x --b-mpi-bind\"};",
        0644);
    {
        BERTH_FREE char *lib = NULL;

        lib = unit_path(root, "lib");
        unit_compile(lib, "", "-shared -fPIC b.c -o berth.so");
        unit_compile(lib, "", "-shared -fPIC o.c -o other.so");
    }
}

TEST(plugstack_is_read_with_what_it_includes)
{
    make_plugins();
    put("/etc/slurm/slurm.conf", "Include more.conf\n", 0644);
    put("/etc/slurm/more.conf",
        "PluginDir=/nowhere:/lib\nTaskProlog=/etc/slurm/p.sh\n"
        "LaunchParameters=slurmstepd_memlock_all,test_exec\n"
        "PrologFlags=Alloc,contain\n",
        0644);
    put("/etc/slurm/p.sh", ". /usr/share/berth/taskprolog-berth.sh\n", 0755);
    put("/etc/slurm/plugstack.conf",
        "# ours\ninclude d/*.conf\noptional gone.so\nwhat is this\n", 0644);
    put("/etc/slurm/d/a.conf", "required other.so option_prefix=x-\n", 0644);
    put("/etc/slurm/d/b.conf",
        "required /lib/berth.so option_prefix=b- config=/etc/our.yaml\n", 0644);
    put("/etc/slurm/d/loop.conf", "include loop.conf\n", 0644);
    put("/etc/our.yaml", "rules: [{default: {container-lifetime: job}}]\n", 0644);
    look();
    ck_assert_uint_eq(facts.plugin_count, 3);
    ck_assert_str_eq(facts.plugins[0].place, "/etc/slurm/d/a.conf:1");
    ck_assert_str_eq(facts.plugins[0].path, "/lib/other.so");
    ck_assert_pstr_eq(facts.plugins[0].clash, "container-image");
    ck_assert_str_eq(facts.plugins[1].place, "/etc/slurm/d/b.conf:1");
    ck_assert(facts.plugins[1].is_berth && facts.plugins[1].is_required);
    ck_assert_uint_eq(facts.plugins[1].slurm, 0x180b05);
    ck_assert_pstr_eq(facts.plugins[1].release, "0.1.0");
    ck_assert_ptr_null(facts.plugins[1].clash);
    ck_assert_str_eq(facts.plugins[2].path, "gone.so");
    ck_assert(!facts.plugins[2].is_there && !facts.plugins[2].is_required);
    ck_assert_str_eq(facts.prefix, "b-");
    ck_assert_str_eq(facts.slurm.bad_line, "/etc/slurm/plugstack.conf:4");
    ck_assert_str_eq(facts.slurm.prolog, "/etc/slurm/p.sh");
    ck_assert(facts.slurm.has_prolog_lines);
    ck_assert_ptr_nonnull(facts.slurm.test_exec);
    ck_assert(facts.slurm.has_extern && facts.site.wants_job);
    ck_assert_str_eq(facts.site.path, "/etc/our.yaml");
    ck_assert(facts.site.is_there);
}

TEST(a_fault_of_the_site_is_kept)
{
    put_slurm(SITE);
    look();
    ck_assert_ptr_nonnull(strstr(facts.site.fault, "No such file"));
    put_slurm("required berth.so config=our.yaml\n");
    look();
    ck_assert_pstr_eq(facts.site.fault, "plugstack.conf: config: expected an absolute "
                                        "path, got 'our.yaml'");
    put_slurm(SITE);
    put("/etc/our.yaml", "runtime:\n  shar: never\n", 0644);
    look();
    ck_assert_ptr_nonnull(facts.site.fault);
    ck_assert_msg(strstr(facts.site.fault, "/etc/our.yaml:2: ") != NULL, "%s",
                  facts.site.fault);
    put("/etc/our.yaml", "runtime:\n  path: /nowhere/apptainer\n", 0644);
    look();
    ck_assert_pstr_eq(facts.site.fault, NULL);
    ck_assert_ptr_null(facts.runtime.path);
    ck_assert_ptr_nonnull(strstr(facts.runtime.missing, "'/nowhere/apptainer'"));
}

/* Profiles are beside berth.yaml. */
TEST(a_fault_of_a_profile_is_kept)
{
    char first[17];

    put_slurm(SITE);
    put("/etc/our.yaml", "", 0644);
    look();
    memcpy(first, facts.digest, sizeof(first));
    put("/etc/profiles.d/x.yaml", "name: x\nfamily: mpi\n", 0644);
    look();
    ck_assert_ptr_nonnull(facts.site.profile);
    ck_assert_msg(strstr(facts.site.profile, "/etc/profiles.d/x.yaml:2: family: ") !=
                      NULL,
                  "%s", facts.site.profile);
    ck_assert_str_ne(facts.digest, first);
    ck_assert_ptr_null(facts.site.fault);
    put("/etc/our.yaml", "rules: [{force: {mpi: host}}]\n", 0644);
    look();
    ck_assert_ptr_nonnull(facts.site.fault);
    ck_assert_ptr_nonnull(strstr(facts.site.fault, "'mpi' is not an option"));
}

TEST(the_digest_changes_with_the_files)
{
    char first[17];

    put_slurm("include d/*.conf\n");
    put("/etc/slurm/d/b.conf", "required /lib/berth.so\n", 0644);
    look();
    memcpy(first, facts.digest, sizeof(first));
    look();
    ck_assert_str_eq(facts.digest, first);
    put("/etc/slurm/d/b.conf", "required /lib/berth.so \n", 0644);
    look();
    ck_assert_str_ne(facts.digest, first);
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

void unit_prepare(TCase *tests)
{
    tcase_add_checked_fixture(tests, setup, teardown);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A host that is a directory. */

#include "fakehost.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bindover/offered.h"
#include "container/runtime.h"

static char *root;
static char *lib; /* /lib below each root */
struct berth_doctor doctor;
struct fakehost fake;

static struct berth_profile profiles[] = {
    {.stack = "mpich"}, {.stack = "openblas", .kind = BERTH_PROFILE_LIBRARIES}};
static struct berth_stack found[] = {
    {.profile = &profiles[0], .version = (char *)"MPICH 4.2.1"},
    {.profile = &profiles[1], .version = (char *)"libblas.so.3"}};

int unshare(int flags)
{
    (void)flags;
    errno = ENOSPC;
    return fake.refuses_namespaces ? -1 : 0;
}

int statvfs(const char *path, struct statvfs *ret)
{
    (void)path;
    *ret = (struct statvfs){.f_frsize = 1 << 20, .f_blocks = fake.megabytes};
    return 0;
}

int berth_offered_read(const struct berth_terms *terms, unsigned int kinds,
                       char *const *env, struct berth_offered *ret,
                       struct berth_err *err)
{
    (void)kinds;
    (void)env;
    if (fake.fault && terms == &doctor.terms)
        return berth_err_set(err, "%s", fake.fault);
    *ret = (struct berth_offered){.stacks = {.items = found + !fake.stacks,
                                             .count = fake.stacks + fake.libraries}};
    return 0;
}

void berth_offered_fini(struct berth_offered *offered)
{
    (void)offered;
}

int berth_runtime_find(const char *configured, const char *path, char **ret_path,
                       struct berth_err *err)
{
    BERTH_FREE char *place =
        unit_path(root, configured ? configured + 1 : "usr/bin/apptainer");

    (void)path;
    if (access(place, X_OK) == 0) {
        *ret_path = berth_steal(&place);
        return 0;
    }
    return configured ? berth_err_set(err, "container runtime '%s': %s; ask",
                                      configured, strerror(errno))
                      : berth_err_set(err, "container runtime: neither apptainer nor "
                                           "singularity is installed here; ask");
}

void put(const char *path, const char *text, mode_t mode)
{
    BERTH_FREE char *place = unit_format("%s%s", root, path);
    for (char *slash = place + strlen(root) + 1; (slash = strchr(slash, '/'));
         slash++) {
        *slash = '\0';
        mkdir(place, 0755);
        *slash = '/';
    }
    unlink(place);
    unit_write(place, text, strlen(text));
    ck_assert_int_eq(chmod(place, mode), 0);
}

void set(const char *path, const char *text)
{
    put(path, text, 0644);
}

void script(const char *path, const char *text)
{
    BERTH_FREE char *all = unit_format("#!/bin/sh\n%s\n", text);
    put(path, all, 0755);
}

void gone(const char *path)
{
    BERTH_FREE char *place = unit_path(root, path + 1);

    ck_assert_int_eq(unlink(place), 0);
}

void point(const char *path, const char *to)
{
    BERTH_FREE char *place = unit_path(root, path + 1);

    unlink(place);
    ck_assert_int_eq(symlink(to, place), 0);
}

/* Make a plugin NAME of the release of Slurm, and of berth, that SOURCE has. */
static void make_plugin(const char *name, const char *source)
{
    BERTH_FREE char *directory = unit_path(lib, name);
    BERTH_FREE char *file = unit_path(directory, "plugin.c");

    ck_assert_int_eq(mkdir(directory, 0755), 0);
    unit_write(file, source, strlen(source));
    unit_compile(directory, "", "-shared -fPIC plugin.c -o berth.so");
}

#define PLUGIN(slurm, berth)                                                           \
    "extern const unsigned plugin_version; extern const char plugin_release[];"        \
    "const unsigned plugin_version = " slurm ";"                                       \
    "const char plugin_release[] = \"" berth "\";"

static void make_plugins(void)
{
    lib = unit_directory();
    make_plugin("ours", PLUGIN("0x180b05", "0.1.0"));
    make_plugin("elder", PLUGIN("0x160505", "0.1.0"));
    make_plugin("mixed", PLUGIN("0x180b05", "0.0.9"));
    make_plugin("plain", "int x;");
}

static void remove_plugins(void)
{
    unit_remove(lib);
    free(lib);
}

#define SLURM                                                                          \
    "PluginDir=/nowhere:/lib\nTaskProlog=/etc/slurm/task.sh\nPrologFlags=Alloc,"       \
    "contain\n"

#define LIMITS "allow setuid = yes\nuser bind control = yes\n"

/* Have a place of another file system, for all users, as /dev/shm. */
static void mount_shm(void)
{
    static const char *const places[] = {"/dev/shm", "/tmp", "/var/tmp", "/dev/mqueue"};
    struct stat own, other;

    ck_assert_int_eq(stat(root, &own), 0);
    for (int i = 0; i < COUNT(places); i++)
        if (stat(places[i], &other) == 0 && other.st_dev != own.st_dev &&
            (other.st_mode & 07777) == 01777) {
            point("/dev/shm", places[i]);
            return;
        }
    ck_abort_msg("no place is another file system for all users");
}

/* Make a host without a fault. */
static void setup(void)
{
    static const char *const programs[] = {"berth-task",   "berth-start", "berth-init",
                                           "berth-inside", "berth-mpi",   "berth-oci"};

    root = unit_directory();
    fake = (struct fakehost){.megabytes = 12000, .stacks = 1};
    set("/proc/sys/user/max_user_namespaces", "15000\n");
    set("/proc/sys/kernel/yama/ptrace_scope", "0\n");
    put("/dev/fuse", "", 0666);
    mount_shm();
    script("/usr/bin/apptainer", RUNTIME(":"));
    set("/etc/apptainer/apptainer.conf", LIMITS);
    script("/usr/libexec/apptainer/bin/squashfuse_ll", "");
    script("/usr/bin/patchelf", "");
    for (int i = 0; i < COUNT(programs); i++) {
        BERTH_FREE char *path = unit_format(BERTH_LIBEXECDIR "/%s", programs[i]);
        script(path, "echo berth-x 0.1.0");
    }
    /* --mpi=list, on standard output as newer releases of Slurm do */
    script("/usr/bin/srun",
           "printf 'MPI plugin types are...\\n\\tnone\\n\\tpmi2\\n\\tpmix\\n"
           "specific pmix plugin versions available: pmix_v5\\n'");
    script("/usr/bin/scontrol", "echo slurm 24.11.5");
    set(CONF, "Include more.conf\n");
    set("/etc/slurm/more.conf", SLURM);
    set(STACK, "# ours\ninclude plugstack.conf.d/*.conf\n");
    set("/etc/slurm/plugstack.conf.d/a.conf", "required other.so option_prefix=x-\n");
    set("/etc/slurm/plugstack.conf.d/loop.conf", "include loop.conf\n");
    set(OURS, "required /lib/ours/berth.so option_prefix=b- config=/etc/our.yaml\n");
    set("/etc/slurm/task.sh", ". /usr/share/berth/taskprolog-berth.sh\n");
    set("/etc/our.yaml", "{}\n");
    point("/lib", lib);
}

static void teardown(void)
{
    berth_doctor_fini(&doctor);
    unit_remove(root);
    free(root);
}

void look(void)
{
    BERTH_STRVEC struct berth_strvec env = {0};
    struct berth_err err = {0};

    berth_doctor_fini(&doctor);
    doctor = (struct berth_doctor){.host = {.root = root}, .release = "0.1.0"};
    berth_strvec_push(&env, "SLURM_CONF=" CONF);
    doctor.host.env = env.items;
    berth_doctor_read_site(&doctor);
    berth_doctor_read_runtime(&doctor);
    doctor.runtime.is_setuid |= fake.is_setuid;
    ck_assert_msg(berth_doctor_check_host(&doctor, &err) == 0, "%s", err.text);
    berth_doctor_check_slurm(&doctor);
    ck_assert(!doctor.failed);
}

/* Replace each WORD in TEXT. */
static void replace(char **text, const char *word, const char *by)
{
    BERTH_BUF struct berth_buf all = {0};
    const char *at = *text;

    for (const char *next; (next = strstr(at, word)); at = next + strlen(word)) {
        berth_buf_add(&all, at, (size_t)(next - at));
        berth_buf_puts(&all, by);
    }
    berth_buf_puts(&all, at);
    free(*text);
    *text = berth_steal(&all.text);
}

char *as_root(char *text)
{
    char user[32];

    snprintf(user, sizeof(user), "user %u", geteuid());
    replace(&text, root, "");
    replace(&text, doctor.digest, "DIGEST");
    replace(&text, user, "user USER");
    return text;
}

char *line_of(const struct berth_diagnosis *diagnosis)
{
    char *line = NULL;

    line = unit_format("%s %s: %s", berth_diagnosis_word(diagnosis->level),
                       diagnosis->about, diagnosis->text);
    return as_root(line);
}

void unit_prepare(TCase *tests)
{
    tcase_add_unchecked_fixture(tests, make_plugins, remove_plugins);
    tcase_add_checked_fixture(tests, setup, teardown);
}

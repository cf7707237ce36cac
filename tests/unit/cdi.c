/* SPDX-License-Identifier: Apache-2.0 */
/* What specifications of devices (CDI) bring, and which files are read. */

#include "probe/cdi.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "diagnose/doctor.h"
#include "policy/mountrules.h"
#include "unit.h"

#define HEAD          "cdiVersion: 0.6.0\nkind: v.com/gpu\n"
#define DEVICE(edits) HEAD "devices:\n- name: \"0\"\n  containerEdits: " edits "\n"
#define WHY           "the CDI device v.com/gpu=0 (f)"

static void read_spec(const char *text, struct berth_cdi_spec *spec)
{
    struct berth_err err = {""};

    berth_cdi_spec_read("f", text, strlen(text), spec, &err);
    ck_assert_str_eq(err.text, "");
}

static void put_list(const char *title, const struct berth_strvec *list,
                     struct berth_buf *ret)
{
    for (size_t i = 0; i < list->count; i++)
        berth_buf_addf(ret, "%s %s\n", title, list->items[i]);
}

static char *lines_of(const struct berth_cdi_edits *edits)
{
    struct berth_buf lines = {0};

    berth_buf_puts(&lines, "");
    put_list("env", &edits->set, &lines);
    put_list("mount", &edits->mounts, &lines);
    put_list("folder", &edits->folders, &lines);
    put_list("link", &edits->links, &lines);
    put_list("undone", &edits->undone, &lines);
    ck_assert(!lines.failed);
    return lines.text;
}

static const struct {
    const char *text;
    const char *lines;
} specs[] = {
    {DEVICE("{env: [A=1, B=x y, A=1]}"), "env A=1\nenv B=x y\n"},
    {DEVICE("{deviceNodes: [{path: /dev/g0, permissions: rw, type: c, major: 195}]}"),
     "mount /dev/g0:/dev/g0:rw\n"},
    {DEVICE("{deviceNodes: [{path: /dev/g0, hostPath: /dev/g0}]}"),
     "mount /dev/g0:/dev/g0:rw\n"},
    {DEVICE("{deviceNodes: [{path: /dev/g0, hostPath: /dev/g1}, {path: /opt/g}]}"),
     "undone the device '/dev/g0' (f)\nundone the device '/opt/g' (f)\n"},
    {DEVICE(
         "{mounts: [{hostPath: /a, containerPath: /b, options: [ro, nosuid, bind]}, "
         "{hostPath: /c, containerPath: /c}, {hostPath: /d, containerPath: /d, type: "
         "bind}, {hostPath: /e, containerPath: /e, type: x, options: [rbind]}]}"),
     "mount /a:/b:ro\nmount /c:/c:rw\nmount /d:/d:rw\nmount /e:/e:rw\n"},
    {DEVICE(
         "{mounts: [{hostPath: \"/a:b\", containerPath: /a}, {containerPath: /t, type: "
         "tmpfs}]}"),
     "undone the mount with a colon at '/a' (f)\nundone the mount at '/t' (f)\n"},
    {DEVICE("{additionalGids: [0, 44, 109]}"),
     "undone the additional group '44' (f)\nundone the additional group '109' (f)\n"},
    {DEVICE("{intelRdt: {closID: a}, netDevices: [{hostInterfaceName: a, name: b}], "
            "hooks: ~}"),
     "undone the key 'intelRdt' (f)\nundone the key 'netDevices' (f)\n"},
    {DEVICE("{hooks: [{hookName: createContainer, path: /usr/bin/nvidia-cdi-hook, "
            "args: [nvidia-cdi-hook, update-ldcache, --folder, /usr/lib64, "
            "--folder=/opt/lib]}]}"),
     "folder /usr/lib64\nfolder /opt/lib\n"},
    {DEVICE(
         "{hooks: [{hookName: createContainer, path: /usr/bin/nvidia-ctk, args: "
         "[nvidia-ctk, hook, create-symlinks, --link, \"a.so.1::/usr/lib/a.so\"]}]}"),
     "link a.so.1::/usr/lib/a.so\n"},
    {DEVICE("{hooks: [{path: /bin/nvidia-ctk, args: [x, hook, chmod, --mode, 755]}, "
            "{path: /bin/nvidia-cdi-hook, args: [x, disable-device-node-modification]},"
            " {path: /bin/nvidia-cdi-hook, args: [x, enable-cuda-compat, --a=1]}, "
            "{path: /bin/chmod, args: [x, chmod]}, {path: /opt/hook}]}"),
     "undone the hook 'nvidia-cdi-hook enable-cuda-compat' (f)\n"
     "undone the hook 'chmod chmod' (f)\nundone the hook 'hook' (f)\n"},
    {HEAD "containerEdits: {env: [ALL=1]}\ndevices: [{name: \"0\"}]\n", "env ALL=1\n"},
    {"{\"cdiVersion\":\"1.0.0\",\"kind\":\"v.com/"
     "gpu\",\"annotations\":{\"a\":\"b\"},\n\t"
     "\"devices\":[{\"name\":\"0\",\"containerEdits\":{\"env\":[\"A=\\/x\"]}}]}",
     "env A=/x\n"},
};

START_TEST(a_device_brings_what_its_file_says)
{
    struct berth_cdi_spec spec = {0};
    BERTH_CDI_EDITS struct berth_cdi_edits edits = {0};
    const struct berth_node *device;
    BERTH_FREE char *lines = NULL;
    struct berth_err err = {""};

    read_spec(specs[_i].text, &spec);
    device = berth_cdi_spec_find(&spec, "0");
    ck_assert_ptr_nonnull(device);
    berth_cdi_spec_edit(&spec, device, &edits, &err);
    ck_assert_str_eq(err.text, "");
    lines = lines_of(&edits);
    ck_assert_str_eq(lines, specs[_i].lines);
    for (size_t i = 0; i < edits.mounts.count; i++)
        ck_assert_str_eq(berth_cdi_edits_why(&edits, edits.mounts.items[i]), WHY);
    for (size_t i = 0; i < edits.set.count; i++)
        ck_assert_str_eq(berth_cdi_edits_why(&edits, edits.set.items[i]), WHY);
    ck_assert_ptr_null(berth_cdi_edits_why(&edits, "/x:/x:rw"));
    berth_cdi_spec_fini(&spec);
}
END_TEST

static const struct {
    const char *text;
    const char *fault;
} wrong[] = {
    {"kind: v.com/gpu\n", "f: cdiVersion: expected 0.3.0 to 1.1.0, got ''"},
    {"cdiVersion: 2.0.0\nkind: v.com/gpu\n",
     "f: cdiVersion: expected 0.3.0 to 1.1.0, got '2.0.0'"},
    {"cdiVersion: 0.5.0\nkind: gpu\n",
     "f: kind: expected a kind of device like nvidia.com/gpu, got 'gpu'"},
    {"[a]", "f: cdiVersion: expected 0.3.0 to 1.1.0, got ''"},
    {HEAD "devices: [a]\n", "f:3: devices: a device without a name; give it one"},
    {HEAD "kind: v.com/x\n", "f:3: kind: given twice, first on line 2; keep one"},
};

START_TEST(a_file_that_is_none_is_refused)
{
    struct berth_cdi_spec spec = {0};
    struct berth_err err = {""};

    ck_assert_int_eq(
        berth_cdi_spec_read("f", wrong[_i].text, strlen(wrong[_i].text), &spec, &err),
        -1);
    ck_assert_str_eq(err.text, wrong[_i].fault);
}
END_TEST

static const struct {
    const char *text;
    const char *fault;
} bad_edits[] = {
    {DEVICE("{env: [A]}"), "f:5: env: expected NAME=VALUE, got 'A'"},
    {DEVICE("{env: A=1}"), "f:5: env: expected a list"},
    {DEVICE("{mounts: [{hostPath: a, containerPath: /b}]}"),
     "f:5: mounts: hostPath: expected an absolute path, got 'a'"},
    {DEVICE("{mounts: [{hostPath: /a}]}"),
     "f:5: mounts: containerPath: expected an absolute path, got ''"},
    {DEVICE("{deviceNodes: [{path: /dev/../x}]}"),
     "f:5: deviceNodes: path: expected a path without '..', got '/dev/../x'"},
    {DEVICE("{hooks: [a]}"), "f:5: hooks: path: expected an absolute path, got ''"},
    {DEVICE("{additionalGids: [x]}"),
     "f:5: additionalGids: expected the number of a group, got 'x'"},
};

/* COUNT devices of six values each, the first named 1. */
static char *repeat_device(int count)
{
    BERTH_BUF struct berth_buf text = {0};

    berth_buf_puts(&text, HEAD "devices:\n");
    for (int i = 1; i <= count; i++)
        berth_buf_addf(&text,
                       "- name: \"%d\"\n  containerEdits: {deviceNodes: [{path: "
                       "/dev/nvidia-caps/nvidia-cap%d}]}\n",
                       i, i);
    return berth_steal(&text.text);
}

/* Of 8 GPUs with 7 MIG instances each, by two names, and of more than any node has. */
START_TEST(a_large_specification_is_read)
{
    BERTH_FREE char *large = repeat_device(4000);
    BERTH_FREE char *many = repeat_device(11000);
    BERTH_FREE char *longest = malloc((4 << 20) + 2);
    struct berth_cdi_spec spec = {0};
    struct berth_err err = {""};

    ck_assert_uint_gt(strlen(large), 256 << 10);
    read_spec(large, &spec);
    ck_assert_ptr_nonnull(berth_cdi_spec_find(&spec, "4000"));
    berth_cdi_spec_fini(&spec);
    ck_assert_int_eq(berth_cdi_spec_read("f", many, strlen(many), &spec, &err), -1);
    ck_assert_ptr_nonnull(
        strstr(err.text, ": more than 65536 values in one file; shorten the lists"));
    memset(longest, '#', (4 << 20) + 1);
    ck_assert_int_eq(berth_cdi_spec_read("f", longest, (4 << 20) + 1, &spec, &err), -1);
    ck_assert_str_eq(err.text, "f: longer than 4194304 bytes; shorten it");
}
END_TEST

START_TEST(an_edit_that_is_none_is_named)
{
    struct berth_cdi_spec spec = {0};
    BERTH_CDI_EDITS struct berth_cdi_edits edits = {0};
    struct berth_err err = {""};

    read_spec(bad_edits[_i].text, &spec);
    ck_assert_int_eq(
        berth_cdi_spec_edit(&spec, berth_cdi_spec_find(&spec, "0"), &edits, &err), -1);
    ck_assert_str_eq(err.text, bad_edits[_i].fault);
    berth_cdi_spec_fini(&spec);
}
END_TEST

static char *root;

static void set_up(void)
{
    static const char *const parts[] = {"etc",     "etc/cdi",     "var",
                                        "var/run", "var/run/cdi", "lib"};

    root = unit_directory();
    ck_assert_int_eq(chmod(root, 0755), 0);
    for (int i = 0; i < COUNT(parts); i++) {
        BERTH_FREE char *path = unit_path(root, parts[i]);

        ck_assert_int_eq(mkdir(path, 0755), 0);
    }
}

static void tear_down(void)
{
    unit_remove(root);
    free(root);
}

static void write_file(const char *name, const char *text)
{
    BERTH_FREE char *path = unit_path(root, name);

    unit_write(path, text, strlen(text));
    ck_assert_int_eq(chmod(path, 0644), 0);
}

/* What adding NAME says, and then what the edits are; with the root taken out. */
static char *add(const char *name, enum berth_cdi_need need)
{
    BERTH_CDI struct berth_cdi cdi = {0};
    BERTH_CDI_EDITS struct berth_cdi_edits edits = {0};
    BERTH_FREE char *lines = NULL;
    struct berth_buf text = {0};
    struct berth_err err = {""};
    char *found;

    ck_assert_int_eq(berth_cdi_read(root, geteuid(), &cdi, &err), 0);
    if (berth_cdi_add(&cdi, name, need, &edits, &err) == 0)
        ck_assert_int_eq(berth_cdi_link(&edits, &err), 0);
    lines = lines_of(&edits);
    berth_buf_addf(&text, "%s%s", err.text, lines);
    ck_assert(!text.failed);
    while ((found = strstr(text.text, root)))
        memmove(found, found + strlen(root), strlen(found + strlen(root)) + 1);
    return text.text;
}

#define ENV(value) HEAD "devices: [{name: all, containerEdits: {env: [A=" value "]}}]\n"
#define NOWHERE    "no specification in /etc/cdi or /var/run/cdi has it"

static const struct {
    const char *files[6]; /* name, text, ... */
    const char *name;
    enum berth_cdi_need need;
    const char *said;
} hosts[] = {
    {{NULL}, "v.com/gpu=0", BERTH_CDI_WHERE_THERE, ""},
    {{NULL},
     "v.com/gpu=0",
     BERTH_CDI_REQUIRED,
     "'v.com/gpu=0': no specification in /etc/cdi or /var/run/cdi has it; choose one "
     "that 'berth doctor' lists on the node"},
    {{"etc/cdi/a.yaml", ENV("1")}, "v.com/gpu=all", BERTH_CDI_REQUIRED, "env A=1\n"},
    {{"etc/cdi/a.conf", ENV("1")}, "v.com/gpu=all", BERTH_CDI_WHERE_THERE, ""},
    {{"etc/cdi/a.yaml", ENV("1")}, "v.com/gp=all", BERTH_CDI_WHERE_THERE, ""},
    {{"var/run/cdi/a.yaml", ENV("2"), "etc/cdi/b.json", ENV("1")},
     "v.com/gpu=all",
     BERTH_CDI_REQUIRED,
     "env A=2\n"},
    {{"etc/cdi/a.yaml", ENV("2"), "etc/cdi/b.json", ENV("1"), "var/run/cdi/c.yaml",
      HEAD},
     "v.com/gpu=all",
     BERTH_CDI_REQUIRED,
     "'v.com/gpu=all': both '/etc/cdi/a.yaml' and '/etc/cdi/b.json' have it; remove "
     "one"},
    {{"etc/cdi/a.yaml", "kind: [\n", "etc/cdi/b.json", ENV("1")},
     "v.com/gpu=all",
     BERTH_CDI_REQUIRED,
     "env A=1\n"},
    {{"etc/cdi/a.yaml", "kind: x\n"},
     "v.com/gpu=all",
     BERTH_CDI_REQUIRED,
     "'v.com/gpu=all': no specification in /etc/cdi or /var/run/cdi has it, and one "
     "cannot be used: /etc/cdi/a.yaml: "
     "cdiVersion: expected 0.3.0 to 1.1.0, got ''"},
    {{"etc/cdi/a.yaml", "kind: x\n"},
     "v.com/gpu=all",
     BERTH_CDI_WHERE_THERE,
     "undone device 'v.com/gpu=all': no specification in /etc/cdi or /var/run/cdi has "
     "it, and one cannot be used: "
     "/etc/cdi/a.yaml: cdiVersion: expected 0.3.0 to 1.1.0, got ''\n"},
    {{"etc/cdi/a.yaml", DEVICE("{mounts: [{hostPath: /no/where, containerPath: /x}]}")},
     "v.com/gpu=0",
     BERTH_CDI_REQUIRED,
     "'v.com/gpu=0': '/no/where' of /etc/cdi/a.yaml: No such file or directory; write "
     "the specification anew on this node"},
    {{"etc/cdi/a.yaml", DEVICE("{mounts: [{hostPath: /no/where, containerPath: /x}], "
                               "env: [A=1]}")},
     "v.com/gpu=0",
     BERTH_CDI_WHERE_THERE,
     "env A=1\nundone the mount of '/no/where' (/etc/cdi/a.yaml), No such file or "
     "directory\n"},
    {{"etc/cdi/a.yaml", DEVICE("{env: [A]}")},
     "v.com/gpu=0",
     BERTH_CDI_WHERE_THERE,
     "undone device /etc/cdi/a.yaml:5: env: expected NAME=VALUE, got 'A'\n"},
};

START_TEST(a_device_is_found_by_its_name)
{
    BERTH_FREE char *said = NULL;

    for (int i = 0; i + 1 < COUNT(hosts[_i].files) && hosts[_i].files[i]; i += 2)
        write_file(hosts[_i].files[i], hosts[_i].files[i + 1]);
    said = add(hosts[_i].name, hosts[_i].need);
    ck_assert_str_eq(said, hosts[_i].said);
}
END_TEST

/* NAMES, with blanks between, one device behind the other. */
static char *add_all(const char *names)
{
    BERTH_CDI struct berth_cdi cdi = {0};
    BERTH_CDI_EDITS struct berth_cdi_edits edits = {0};
    BERTH_FREE char *copy = strdup(names);
    struct berth_buf text = {0};
    struct berth_err err = {""};
    char *next = copy;
    char *name;

    ck_assert_int_eq(berth_cdi_read(root, geteuid(), &cdi, &err), 0);
    while ((name = strsep(&next, " ")))
        ck_assert_int_eq(berth_cdi_add(&cdi, name, BERTH_CDI_REQUIRED, &edits, &err),
                         0);
    for (size_t i = 0; i < edits.set.count; i++)
        berth_buf_addf(&text, "%s by %.*s\n", edits.set.items[i], 19,
                       berth_cdi_edits_why(&edits, edits.set.items[i]) + 4);
    for (size_t i = 0; i < edits.mounts.count; i++)
        berth_buf_addf(&text, "%s\n", edits.mounts.items[i]);
    ck_assert(!text.failed);
    return text.text;
}

#define NAMED(name, edits) "- name: " name "\n  containerEdits: " edits "\n"

/* As the library of CDI merges them: what a file has for all of its devices before the
 * first of these, and the later one in the place of the earlier. */
START_TEST(the_later_of_two_devices_wins)
{
    static const struct {
        const char *names;
        const char *merged;
    } rows[] = {
        {"v.com/gpu=none", "SEEN=void by CDI device v.com/gp\n/etc:/a:ro\n"},
        {"v.com/gpu=x v.com/gpu=none", "SEEN=x by CDI device v.com/gp\n/etc:/a:ro\n"},
        {"v.com/gpu=x v.com/gpu=y", "SEEN=y by CDI device v.com/gp\n/usr:/a:ro\n"},
        {"v.com/gpu=x v.com/gpu=y v.com/gpu=z",
         "SEEN=x by CDI device v.com/gp\nMORE=z by CDI device v.com/gp\n/usr:/a:ro\n"},
        {"v.com/gpu=x v.com/net=n", "SEEN=no by CDI device v.com/ne\n/bin:/a:rw\n"},
        {"v.com/net=n v.com/gpu=x", "SEEN=x by CDI device v.com/gp\n/etc:/a:ro\n"},
    };

    write_file("etc/cdi/a.yaml",
               HEAD "containerEdits: {env: [SEEN=void], mounts: [{hostPath: /etc, "
                    "containerPath: /a, options: [ro]}]}\ndevices:\n" NAMED(
                        "none", "{env: []}") NAMED("x", "{env: [SEEN=x]}")
                        NAMED("y", "{env: [SEEN=y], mounts: [{hostPath: /usr, "
                                   "containerPath: /a, options: [ro]}]}")
                            NAMED("z", "{env: [SEEN=x, MORE=z]}"));
    write_file("etc/cdi/b.yaml",
               "cdiVersion: 0.6.0\nkind: v.com/net\ncontainerEdits: {env: "
               "[SEEN=no]}\ndevices:\n" NAMED(
                   "n", "{mounts: [{hostPath: /bin, containerPath: /a}]}"));
    for (int i = 0; i < COUNT(rows); i++) {
        BERTH_FREE char *merged = add_all(rows[i].names);

        ck_assert_str_eq(merged, rows[i].merged);
    }
}
END_TEST

START_TEST(only_files_of_the_owner_are_read)
{
    BERTH_FREE char *path = unit_path(root, "etc/cdi/a.yaml");
    BERTH_FREE char *said = NULL;

    write_file("etc/cdi/a.yaml", ENV("1"));
    ck_assert_int_eq(chmod(path, 0666), 0);
    said = add("v.com/gpu=all", BERTH_CDI_REQUIRED);
    ck_assert_str_eq(said, "'v.com/gpu=all': no specification in /etc/cdi or "
                           "/var/run/cdi has it, and one cannot be used: "
                           "/etc/cdi/a.yaml: 'a.yaml' can be written by others (mode "
                           "0666); chmod go-w");
}
END_TEST

/* As nvidia-ctk writes it: the library by its full name, and hooks for its links. */
START_TEST(libraries_have_the_names_that_hooks_would_make)
{
    BERTH_FREE char *library = unit_path(root, "lib/libgpu.so.5.1");
    BERTH_FREE char *link = unit_path(root, "lib/libgpu.so.5");
    BERTH_FREE char *other = unit_path(root, "lib/libgpu.so.4");
    BERTH_FREE char *text = NULL;
    BERTH_FREE char *said = NULL;
    static const char *const expected[] = {
        "mount /lib/libgpu.so.5.1:/usr/lib64/libgpu.so.5.1:ro\n",
        "mount /lib/libgpu.so.5.1:/.singularity.d/libs/libgpu.so.5.1:ro\n",
        "mount /lib/libgpu.so.5.1:/.singularity.d/libs/libgpu.so.5:ro\n",
        "mount /lib/libgpu.so.5.1:/.singularity.d/libs/libgpu.so:ro\n",
        "mount /lib/libgpu.so.5.1:/usr/lib64/gbm/drm.so:ro\n",
        "undone the link 'libno.so.1::/usr/lib64/libno.so'\n",
    };

    write_file("lib/libgpu.so.5.1", "x");
    write_file("lib/libgpu.so.4", "y");
    ck_assert_int_eq(symlink("libgpu.so.5.1", link), 0);
    ck_assert_int_gt(
        asprintf(&text,
                 DEVICE("{mounts: [{hostPath: %s, containerPath: "
                        "/usr/lib64/libgpu.so.5.1, options: [ro]}], hooks: [{path: "
                        "/bin/nvidia-cdi-hook, args: [x, update-ldcache, --folder, "
                        "/usr/lib64/]}, {path: /bin/nvidia-cdi-hook, args: [x, "
                        "create-symlinks, --link, "
                        "\"libgpu.so.5::/usr/lib64/libgpu.so\", --link, "
                        "\"../libgpu.so.5::/usr/lib64/gbm/drm.so\", --link, "
                        "\"libno.so.1::/usr/lib64/libno.so\"]}]}"),
                 library),
        0);
    write_file("etc/cdi/a.yaml", text);
    said = add("v.com/gpu=0", BERTH_CDI_REQUIRED);
    for (int i = 0; i < COUNT(expected); i++)
        ck_assert_msg(strstr(said, expected[i]), "%s is not in\n%s", expected[i], said);
    ck_assert_ptr_null(strstr(said, "libgpu.so.4"));
}
END_TEST

START_TEST(devices_are_listed_by_kind)
{
    BERTH_CDI struct berth_cdi cdi = {0};
    BERTH_STRVEC struct berth_strvec names = {0};
    BERTH_FREE char *lines = NULL;
    struct berth_err err;

    write_file("etc/cdi/a.yaml", HEAD "devices: [{name: a}, {name: b}]\n");
    write_file("var/run/cdi/a.yaml", HEAD "devices: [{name: b}]\n");
    write_file("etc/cdi/b.yaml", "cdiVersion: 0.3.0\nkind: x.com/y\n");
    ck_assert_int_eq(berth_cdi_read(root, geteuid(), &cdi, &err), 0);
    ck_assert(berth_cdi_has_kind(&cdi, "x.com/y"));
    ck_assert(!berth_cdi_has_kind(&cdi, "x.com/z"));
    berth_cdi_list(&cdi, "v.com/gpu", &names);
    berth_cdi_list(&cdi, "x.com/y", &names);
    lines = unit_lines(&names);
    ck_assert_str_eq(lines, "v.com/gpu=a\nv.com/gpu=b\n");
}
END_TEST

/* A user's own specification could name any file. */
START_TEST(the_flag_of_a_runtime_mounts)
{
    BERTH_SITE struct berth_site site = berth_site_default();
    BERTH_STRVEC struct berth_strvec args = {0};
    struct berth_err err;

    berth_strvec_push(&args, "--cdi-dirs=/home/u");
    ck_assert_int_eq(berth_mountrules_check_flags(&site, &args, NULL, &err), 0);
    berth_strvec_push(&site.mounts.forbidden, "/secret");
    ck_assert_int_eq(berth_mountrules_check_flags(&site, &args, NULL, &err), 0);
    berth_strvec_push(&args, "--device=v.com/x=0");
    ck_assert_int_eq(berth_mountrules_check_flags(&site, &args, NULL, &err), -1);
    ck_assert_str_eq(err.text,
                     "--container-args: '--device=v.com/x=0': this site restricts "
                     "mounts, and takes them from --container-mounts only; write it "
                     "there");
}
END_TEST

START_TEST(doctor_lists_devices)
{
    struct berth_doctor_facts facts = {0};
    struct berth_diagnoses diagnoses = {0};
    BERTH_BUF struct berth_buf lines = {0};

    berth_strvec_push(&facts.cdi_faults, "/etc/cdi/a.yaml: it is wrong");
    berth_strvec_push(&facts.cdi_devices, "v.com/gpu=0");
    berth_strvec_push(&facts.cdi_devices, "v.com/gpu=all");
    berth_strvec_push(&facts.cdi_absent, "v.com/net=all");
    berth_strvec_push(&facts.cdi_absent, "profile 'ucx'");
    berth_doctor_judge_host(&facts, &diagnoses);
    for (size_t i = 0; i < diagnoses.count; i++)
        if (strcmp(diagnoses.items[i].about, "devices by CDI") == 0)
            berth_buf_addf(&lines, "%d %s\n", diagnoses.items[i].level,
                           diagnoses.items[i].text);
    ck_assert_str_eq(lines.text,
                     "2 /etc/cdi/a.yaml: it is wrong\n0 v.com/gpu=0, v.com/gpu=all\n"
                     "1 profile 'ucx' names 'v.com/net=all', which no specification in "
                     "/etc/cdi or /var/run/cdi has\n");
    berth_diagnoses_fini(&diagnoses);
    berth_doctor_facts_fini(&facts);
}
END_TEST

static const struct {
    const char *gres;
    const char *kinds[3];
    const char *names[7];
    const char *said; /* "": nothing */
} gpus[] = {
    {NULL, {"v.com/gpu"}, {NULL}, ""},
    {"gpu:2", {NULL}, {NULL}, ""},
    {"(null)", {"v.com/gpu"}, {NULL}, ""},
    {"gpu:2", {"v.com/gpu"}, {"v.com/gpu=0", "v.com/gpu=1", "v.com/gpu=all"}, ""},
    {"shard:8,gpu:a100:1(S:0,1),gpu:h100:2(S:2)",
     {"v.com/gpu"},
     {"v.com/gpu=0", "v.com/gpu=1", "v.com/gpu=2"},
     ""},
    {"gpu:2",
     {"v.com/gpu", "w.com/gpu"},
     {"w.com/gpux=0", "v.com/net=0", "v.com/gpu=all"},
     "Slurm has Gres=gpu:2 here, and no specification has devices of cdi.gpus "
     "(v.com/gpu, w.com/gpu)"},
    {"gpu:2,gpu",
     {"v.com/gpu", "w.com/gpu"},
     {"w.com/gpu=0", "w.com/gpu=2"},
     "Slurm has Gres=gpu:2,gpu here, and no specification has 'w.com/gpu=1'"},
    {"gpu:a:1(S:0)",
     {"v.com/gpu"},
     {"v.com/gpu=1", "v.com/gpu=0", "v.com/gpu=10", "v.com/gpu=9"},
     "a specification has 'v.com/gpu=10', and Slurm has "
     "Gres=gpu:a:1(S:0) here"},
    {"(null)",
     {"v.com/gpu"},
     {"v.com/gpu=0"},
     "a specification has 'v.com/gpu=0', and Slurm has Gres=(null) here"},
    /* UUIDs, and MIG instances. */
    {"gpu:2", {"v.com/gpu"}, {"v.com/gpu=GPU-1", "v.com/gpu=GPU-2"}, ""},
    {"gpu:3",
     {"v.com/gpu"},
     {"v.com/gpu=0:0", "v.com/gpu=0:1", "v.com/gpu=MIG-1", "v.com/gpu=MIG-2"},
     ""},
    {"gpu:3",
     {"v.com/gpu"},
     {"v.com/gpu=0", "v.com/gpu=GPU-1"},
     "Slurm has Gres=gpu:3 here, and no specification has 'v.com/gpu=1'"},
};

START_TEST(doctor_compares_gpus_with_slurm)
{
    struct berth_doctor_facts facts = {.slurm.gres = gpus[_i].gres};
    struct berth_diagnoses diagnoses = {0};

    for (int i = 0; gpus[_i].kinds[i]; i++)
        berth_strvec_push(&facts.gpu_kinds, gpus[_i].kinds[i]);
    for (int i = 0; gpus[_i].names[i]; i++)
        berth_strvec_push(&facts.cdi_devices, gpus[_i].names[i]);
    berth_doctor_judge_gpus(&facts, &diagnoses);
    ck_assert_uint_eq(diagnoses.count, *gpus[_i].said ? 1 : 0);
    if (diagnoses.count) {
        ck_assert_int_eq(diagnoses.items[0].level, BERTH_DIAGNOSIS_NOTE);
        ck_assert_str_eq(diagnoses.items[0].about, "devices by CDI");
        ck_assert_str_eq(diagnoses.items[0].text, gpus[_i].said);
    }
    berth_diagnoses_fini(&diagnoses);
    berth_doctor_facts_fini(&facts);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("cdi");

    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_loop_test(tests, a_device_brings_what_its_file_says, 0, COUNT(specs));
    tcase_add_loop_test(tests, a_file_that_is_none_is_refused, 0, COUNT(wrong));
    tcase_add_test(tests, a_large_specification_is_read);
    tcase_add_loop_test(tests, an_edit_that_is_none_is_named, 0, COUNT(bad_edits));
    tcase_add_loop_test(tests, a_device_is_found_by_its_name, 0, COUNT(hosts));
    tcase_add_test(tests, the_later_of_two_devices_wins);
    tcase_add_test(tests, only_files_of_the_owner_are_read);
    tcase_add_test(tests, libraries_have_the_names_that_hooks_would_make);
    tcase_add_test(tests, devices_are_listed_by_kind);
    tcase_add_test(tests, the_flag_of_a_runtime_mounts);
    tcase_add_test(tests, doctor_lists_devices);
    tcase_add_loop_test(tests, doctor_compares_gpus_with_slurm, 0, COUNT(gpus));
    return unit_run("cdi", tests);
}

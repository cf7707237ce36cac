/* SPDX-License-Identifier: Apache-2.0 */
/* Where the container runtime is. */

#include "container/runtime.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "unit.h"

static void make_program(const char *name, mode_t mode)
{
    unit_file(unit_dir, name, mode, "#!/bin/sh\n");
}

TEST(the_configured_one_is_taken)
{
    BERTH_FREE char *path = unit_path(unit_dir, "mine");
    BERTH_FREE char *found = NULL;
    struct berth_err err;

    make_program("mine", 0755);
    make_program("apptainer", 0755);
    ck_assert_int_eq(berth_runtime_find(path, unit_dir, &found, &err), 0);
    ck_assert_str_eq(found, path);
}

#define ADVICE                                                                         \
    "; ask the administrators to install it or to correct runtime.path in berth.yaml"

static const struct {
    const char *name;
    mode_t mode; /* 0: not there */
    const char *why;
} broken[] = {
    {"missing", 0, "No such file or directory" ADVICE},
    {"plain", 0644, "not a program" ADVICE},
    {".", 0, "not a program" ADVICE},
};

TEST_ROWS(a_configured_one_that_is_none_is_named, broken)
{
    BERTH_FREE char *path = unit_path(unit_dir, broken[_i].name);
    BERTH_FREE char *found = NULL;
    BERTH_FREE char *expected = NULL;
    struct berth_err err;

    if (broken[_i].mode)
        make_program(broken[_i].name, broken[_i].mode);
    make_program("apptainer", 0755);
    ck_assert_int_eq(berth_runtime_find(path, unit_dir, &found, &err), -1);
    expected = unit_format("container runtime '%s': %s", path, broken[_i].why);
    ck_assert_str_eq(err.text, expected);
}

TEST(apptainer_is_found_before_singularity)
{
    BERTH_FREE char *path = unit_path(unit_dir, "apptainer");
    BERTH_FREE char *found = NULL;
    struct berth_err err;

    make_program("singularity", 0755);
    make_program("apptainer", 0755);
    ck_assert_int_eq(berth_runtime_find(NULL, unit_dir, &found, &err), 0);
    ck_assert_str_eq(found, path);
}

static const char *const lists[] = {"%s", "/nowhere:%s", "%s:/nowhere",
                                    ".::bin:%s:", "/nowhere:/dev/null:%s"};

TEST_ROWS(a_path_is_searched, lists)
{
    BERTH_FREE char *path = unit_path(unit_dir, "apptainer");
    BERTH_FREE char *found = NULL;
    struct berth_err err;
    char list[1024];
    const char *at = strstr(lists[_i], "%s");

    snprintf(list, sizeof(list), "%.*s%s%s", (int)(at - lists[_i]), lists[_i], unit_dir,
             at + 2);
    make_program("apptainer", 0755);
    ck_assert_int_eq(berth_runtime_find(NULL, list, &found, &err), 0);
    ck_assert_str_eq(found, path);
}

/* The usual directories must not have a runtime. */
TEST(relative_directories_and_files_do_not_count)
{
    BERTH_FREE char *found = NULL;
    struct berth_err err;

    make_program("apptainer", 0644);
    ck_assert_int_eq(chdir(unit_dir), 0);
    if (berth_runtime_find(NULL, NULL, &found, &err) == 0)
        return;
    ck_assert_int_eq(berth_runtime_find(NULL, "", &found, &err), -1);
    ck_assert_int_eq(berth_runtime_find(NULL, ".:./", &found, &err), -1);
    ck_assert_int_eq(berth_runtime_find(NULL, unit_dir, &found, &err), -1);
    ck_assert_str_eq(err.text,
                     "container runtime: neither apptainer nor singularity is "
                     "installed here; ask the administrators to install one");
    ck_assert_int_eq(chdir("/"), 0);
}

static const struct {
    const char *build; /* what it says to buildcfg */
    mode_t starter;    /* 0: not there */
    const char *why;
} runtimes[] = {
    {"exit 1", 0, "the runtime is not Apptainer"},
    {"echo SINGULARITY_CONF_FILE=/c", 0, "the runtime is not Apptainer"},
    {"echo APPTAINER_CONF_FILE=/c", 0, NULL},
    {"echo LIBEXECDIR=$0.d; echo APPTAINER_CONF_FILE=/c", 0, NULL},
    {"echo LIBEXECDIR=$0.d; echo APPTAINER_CONF_FILE=/c", 0755, NULL},
    {"echo LIBEXECDIR=$0.d; echo APPTAINER_CONF_FILE=/c", 04755,
     "the runtime is installed setuid"},
};

TEST_ROWS(root_of_a_user_namespace_may_start_some, runtimes)
{
    BERTH_FREE char *path = unit_path(unit_dir, "runtime");
    BERTH_FREE char *starter = NULL;
    BERTH_FREE char *script = NULL;
    const char *why;

    script = unit_format("[ \"$1\" = buildcfg ] || exit 1\n%s", runtimes[_i].build);
    unit_script(path, script);
    if (runtimes[_i].starter) {
        static const char *const parts[] = {"", "/apptainer", "/apptainer/bin"};

        for (int i = 0; i < COUNT(parts); i++) {
            BERTH_FREE char *part = unit_format("%s.d%s", path, parts[i]);
            ck_assert_int_eq(mkdir(part, 0755), 0);
        }
        starter = unit_format("%s.d/apptainer/bin/starter-suid", path);
        unit_write(starter, "", 0);
        ck_assert_int_eq(chmod(starter, runtimes[_i].starter), 0);
    }
    why = berth_runtime_refuses_root(path);
    if (runtimes[_i].why)
        ck_assert_pstr_eq(why, runtimes[_i].why);
    else
        ck_assert_ptr_null(why);
}

static const struct {
    const char *conf; /* NULL: not there */
    const char *variable;
    bool brings;
} devs[] = {
    {NULL, "APPTAINER_CONF_FILE", true},
    {"bind path = /etc/hosts\n", "APPTAINER_CONF_FILE", true},
    {"mount dev = yes\n", "APPTAINER_CONF_FILE", true},
    {"mount dev = minimal\n", "APPTAINER_CONF_FILE", false},
    {"mount dev = minimal\n", "SINGULARITY_CONF_FILE", false},
    {"# mount dev = minimal\n", "SINGULARITY_CONF_FILE", true},
    {"mount dev = minimal\n", "OTHER_FILE", true},
};

TEST_ROWS(the_configuration_says_whose_dev_a_container_has, devs)
{
    BERTH_FREE char *path = unit_path(unit_dir, "runtime");
    BERTH_FREE char *conf = unit_path(unit_dir, "conf");
    BERTH_FREE char *script = unit_format("echo %s=%s", devs[_i].variable, conf);
    unit_script(path, script);
    if (devs[_i].conf)
        unit_write(conf, devs[_i].conf, strlen(devs[_i].conf));
    ck_assert_int_eq(berth_runtime_brings_dev(path), devs[_i].brings);
}

static const struct {
    const char *line;
    bool has;
} helps[] = {
    {"      --device strings   CDI devices", true},
    {"      --blkio-weight-device strings   weights", false},
    {"      --devices strings   others", false},
    {"", false},
};

TEST_ROWS(the_help_has_the_flags, helps)
{
    BERTH_FREE char *path = unit_path(unit_dir, "runtime");
    BERTH_FREE char *script =
        unit_format("[ \"$*\" = 'exec --help' ] && echo '%s'", helps[_i].line);
    unit_script(path, script);
    ck_assert_int_eq(berth_runtime_has_flag(path, "--device"), helps[_i].has);
}

TEST(a_configuration_in_its_place_needs_no_question)
{
    static const char *const parts[] = {"bin", "etc", "etc/apptainer"};
    BERTH_FREE char *path = unit_path(unit_dir, "bin/apptainer");
    BERTH_FREE char *conf = unit_path(unit_dir, "etc/apptainer/apptainer.conf");

    for (int i = 0; i < COUNT(parts); i++) {
        BERTH_FREE char *part = unit_path(unit_dir, parts[i]);

        ck_assert_int_eq(mkdir(part, 0755), 0);
    }
    unit_script(path, "exit 1");
    ck_assert(berth_runtime_brings_dev(path));
    unit_write(conf, "mount dev = minimal\n", 20);
    ck_assert(!berth_runtime_brings_dev(path));
}

void unit_prepare(TCase *tests)
{
    unit_in_directory(tests);
}

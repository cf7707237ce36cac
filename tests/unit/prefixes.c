/* SPDX-License-Identifier: Apache-2.0 */
/* MPI libraries that are found by what a command and its environment name. */

#include "bindover/prefixes.h"
#include "bindover/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "unit.h"

#define MPI_CODE                                                                       \
    "int MPI_Init(void) { return 0; } int PMPI_Init(void) { return 0; } "              \
    "int MPIR_Dup_fn(void) { return 0; }"

/* Libraries and programs below PREFIX, which is in the test's directory. */
static void make(const char *prefix)
{
    char command[512];

    snprintf(command, sizeof(command),
             "mkdir -p %s/%s/bin %s/%s/lib/python3.1/"
             "site-packages/wheel.libs",
             unit_dir, prefix, unit_dir, prefix);
    ck_assert_int_eq(system(command), 0);
    unit_compile(unit_dir, MPI_CODE,
                 "-shared -fPIC -Wl,-soname,libmpi.so.12 -o %s/lib/libmpi.so.12",
                 prefix);
    unit_compile(unit_dir, MPI_CODE,
                 "-shared -fPIC -Wl,-soname,libodd.so -o %s/lib/libodd.so", prefix);
    unit_compile(unit_dir, MPI_CODE,
                 "-shared -fPIC -o "
                 "%s/lib/python3.1/site-packages/wheel.libs/libmpi-1a2b.so.12.1",
                 prefix);
    unit_compile(unit_dir, "int MPI_Init(void); void _start(void) { MPI_Init(); }",
                 "-Wl,-rpath,%s/%s/lib -L%s/lib -l:libodd.so -o %s/bin/odd", unit_dir,
                 prefix, prefix, prefix);
}

static void setup(void)
{
    make("own");
    make("mount/child");
}

static const char *const names[] = {"libmpi.so.12", "libmpi-1a2b.so.12.1", "libodd.so"};
enum { LIBMPI = 1, BOTH = 3, ALL = 7 }; /* sets of these */

/* In each text, @ is the directory of the test. */
static const struct {
    const char *words[4];
    const char *env;     /* NULL: it names nothing */
    const char *mount;   /* NULL: none */
    const char *script;  /* the text of @/script; NULL: none */
    const char *program; /* NULL: /bin/sh */
    unsigned int found;  /* in the prefix */
} rows[] = {
    {{"sh", "-c", "true"}, .env = "HOME=@"},
    {{"sh"}, .env = "HOME=@/own", .found = BOTH},
    {{"sh"}, .env = "VIRTUAL_ENV=@/own", .found = BOTH},
    {{"sh"}, .env = "CONDA_PREFIX=@/own", .found = BOTH},
    /* For a program that is named, its loader's libraries count, too. */
    {{"sh", "-c", "date; @/own/bin/odd"}, .found = ALL},
    {{"sh", "-c", "date; ~/bin/odd"}, .env = "HOME=@/own", .found = ALL},
    {{"python3", "x.py", "@/own/lib/libmpi.so.12"}, .found = BOTH},
    {{"sh", "@/script"}, .script = "export X=@/own/lib\n", .found = LIBMPI},
    {{"sh"}, .mount = "/x:@/own:ro", .found = BOTH},
    {{"sh"}, .mount = "/x:@/mount:ro", .found = BOTH},
    {{"odd"}, .program = "@/own/bin/odd", .found = BOTH},
};

static bool has(const struct berth_scan *scan, const char *name)
{
    for (size_t i = 0; i < scan->objects.count; i++)
        if (scan->objects.items[i].role == BERTH_ROLE_PRESENT &&
            strstr(scan->objects.items[i].path, unit_dir) &&
            strcmp(berth_text_base(scan->objects.items[i].path), name) == 0)
            return true;
    return false;
}

TEST_ROWS(what_is_named_is_found, rows)
{
    BERTH_STRVEC struct berth_strvec words = {0};
    BERTH_STRVEC struct berth_strvec mounts = {0};
    const char *file = rows[_i].program ? rows[_i].program : "/bin/sh";
    BERTH_FREE char *program = unit_fill(file, unit_dir);
    BERTH_FREE char *variable = unit_fill(rows[_i].env ? rows[_i].env : "A=", unit_dir);
    BERTH_FREE char *script = unit_path(unit_dir, "script");
    char *env[] = {variable, NULL};
    struct berth_beside beside = {.program = program, .env = env, .mounts = &mounts};
    struct berth_scan scan;
    struct berth_err err = {0};

    for (int i = 0; i < 4 && rows[_i].words[i]; i++) {
        BERTH_FREE char *word = unit_fill(rows[_i].words[i], unit_dir);

        berth_strvec_push(&words, word);
    }
    beside.command = words.items;
    if (rows[_i].mount) {
        BERTH_FREE char *mount = unit_fill(rows[_i].mount, unit_dir);

        berth_strvec_push(&mounts, mount);
    }
    if (rows[_i].script) {
        BERTH_FREE char *text = unit_fill(rows[_i].script, unit_dir);

        unit_write(script, text, strlen(text));
    }
    ck_assert_int_eq(berth_scan_program(NULL, "/bin/sh", env, &scan, &err), 0);
    ck_assert_msg(berth_prefixes_add(&beside, &scan, &err) == 0, "%s", err.text);
    for (int i = 0; i < COUNT(names); i++)
        ck_assert_msg(has(&scan, names[i]) == (rows[_i].found >> i & 1), "%s",
                      names[i]);
    berth_scan_fini(&scan);
}

void unit_prepare(TCase *tests)
{
    const char *parent = getenv("TMPDIR");

    /* Paths in /dev do not count. */
    if (parent && strncmp(parent, "/dev/", 5) == 0)
        unsetenv("TMPDIR");
    unit_share_directory(tests);
    tcase_add_unchecked_fixture(tests, setup, NULL);
}

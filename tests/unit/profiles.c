/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles as sites write them. */

#include "site/profilesread.h"

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "unit.h"

static struct berth_profile_set set;
static struct berth_strvec faults;
static struct berth_err err;

static void teardown(void)
{
    berth_profile_set_fini(&set);
    berth_strvec_fini(&faults);
}

static void read_text(const char *file, const char *text)
{
    ck_assert_int_eq(berth_profile_read(file, text, strlen(text), &set, &faults, &err),
                     0);
}

static void assert_same_list(const char *const *a, const char *const *b)
{
    for (; a && b && *a && *b; a++, b++)
        ck_assert_str_eq(*a, *b);
    ck_assert_ptr_null(a && *a ? *a : NULL);
    ck_assert_ptr_null(b && *b ? *b : NULL);
}

static void assert_same_data(const struct berth_data *a, const struct berth_data *b)
{
    for (; a && b && a->into && b->into; a++, b++) {
        ck_assert_str_eq(a->into, b->into);
        assert_same_list(a->places, b->places);
    }
    ck_assert_ptr_null(a && a->into ? a->into : NULL);
    ck_assert_ptr_null(b && b->into ? b->into : NULL);
}

static int shipped(void)
{
    int count = 0;

    while (berth_profiles[count].name)
        count++;
    return count;
}

/* Each that is shipped is the one that berth has itself. */
TEST_TIMES(what_is_shipped_is_what_is_known, shipped())
{
    const struct berth_profile *ours = &berth_profiles[_i];
    const char *source = getenv("srcdir");
    BERTH_FREE char *path = NULL;
    const struct berth_profile *it;
    char text[8192];
    ssize_t size;
    int fd;

    path = unit_format("%s/etc/profiles.d/%s.yaml", source ? source : ".", ours->name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    ck_assert_msg(fd >= 0, "%s", path);
    size = read(fd, text, sizeof(text));
    close(fd);
    ck_assert_int_gt(size, 0);
    ck_assert_int_eq(berth_profile_read(path, text, (size_t)size, &set, &faults, &err),
                     0);
    ck_assert_msg(faults.count == 0, "%s", faults.count ? faults.items[0] : "");
    it = set.items;
    ck_assert_str_eq(it->name, ours->name);
    ck_assert_str_eq(it->stack, ours->stack);
    ck_assert_int_eq(it->kind, ours->kind);
    ck_assert_int_eq(it->family, ours->family);
    assert_same_list(it->replaces, ours->replaces);
    ck_assert_pstr_eq(it->vendor, ours->vendor);
    ck_assert_pstr_eq(it->root, ours->root);
    assert_same_list(it->needs, ours->needs);
    assert_same_list(it->names, ours->names);
    assert_same_list(it->nearby, ours->nearby);
    assert_same_list(it->binds, ours->binds);
    assert_same_list(it->devices, ours->devices);
    assert_same_list(it->environment, ours->environment);
    assert_same_list(it->conflicts.variables, ours->conflicts.variables);
    assert_same_list(it->conflicts.libraries, ours->conflicts.libraries);
    assert_same_data(it->data, ours->data);
    assert_same_data(it->plugins, ours->plugins);
}

/* What a file of ours says, berth has itself. */
TEST(what_is_known_is_shipped)
{
    const char *source = getenv("srcdir");
    BERTH_FREE char *pattern =
        unit_format("%s/etc/profiles.d/*.yaml", source ? source : ".");
    glob_t files;

    ck_assert_int_eq(glob(pattern, 0, NULL, &files), 0);
    ck_assert_int_eq((int)files.gl_pathc, shipped());
    globfree(&files);
}

/* The site's first, and ours but those that it has replaced. */
TEST(a_site_goes_first)
{
    const struct berth_profile *own;
    BERTH_FREE char *before = NULL;

    read_text("a", "name: psmpi\nfamily: mpich\nmatch: {vendor: ParaStation MPI}\n");
    read_text("b", "name: mpich\nfamily: mpich\nlibraries: [libspecial.so.1]\n");
    ck_assert_int_eq(berth_profile_complete(&set, &err), 0);
    ck_assert_str_eq(set.items[0].name, "psmpi");
    ck_assert_str_eq(set.items[0].stack, "psmpi");
    ck_assert_str_eq(set.items[1].names[0], "libspecial.so.1");
    ck_assert_str_eq(set.items[2].name, berth_profiles[0].name);
    for (own = set.items + 2; own->name; own++) {
        ck_assert_str_ne(own->name, "mpich");
        ck_assert_str_eq(berth_profile_label(own), own->name);
    }
    before = strdup(berth_profile_label(&set.items[1]));
    ck_assert_int_eq(strncmp(before, "mpich:", 6), 0);
    berth_profile_set_fini(&set);
    read_text("b", "name: mpich\nfamily: mpich\nlibraries: [libspecial.so.2]\n");
    ck_assert_str_ne(berth_profile_label(set.items), before);
}

#define NEEDED "name: x\nfamily: mpich\n"

static const struct {
    const char *text;
    const char *fault;
} wrong[] = {
    {"name: [\n", "f:"},
    {"- a\n", "f:1: expected sections of KEY: VALUE lines, got a list"},
    {"~\n", "f:1: name: not there; a profile has a name and a family"},
    {"name: x\n", "f:1: family: not there; a profile has a name and a family"},
    {"name: My MPI\nfamily: mpich\n",
     "f:1: name: expected small letters, digits and -, got 'My MPI'"},
    {"name: host\nfamily: mpich\n",
     "f:1: name: expected a name that is not a mode of --mpi-bind, got 'host'"},
    {"name: x\nfamily: mpi\n", "f:2: family: expected mpich or openmpi, got 'mpi'"},
    {"name: x\nkind: net\n", "f:2: kind: expected mpi, fabric or libraries, got 'net'"},
    {"name: x\nkind: fabric\n",
     "f:1: replaces: not there; a profile has a name and a list of what it replaces "
     "or adds"},
    {"name: x\nkind: libraries\nlibraries: [liba.so.1]\n",
     "f:1: replaces: not there; a profile has a name and a list of what it replaces "
     "or adds"},
    {"name: x\nkind: fabric\nadds: [/lib/a.so.1]\n",
     "f:3: adds: expected the SONAME of a library, got '/lib/a.so.1'"},
    {"name: x\nkind: fabric\nreplaces: [/lib/a.so.1]\n",
     "f:3: replaces: expected the SONAME of a library, got '/lib/a.so.1'"},
    {NEEDED "librarys: []\n",
     "f:3: 'librarys' is not a key here; did you mean 'libraries'?"},
    {NEEDED "libraries: a\n", "f:3: libraries: expected a list, got 'a'"},
    {NEEDED "libraries:\n  - a.so\n  - /lib/a.so\n",
     "f:5: libraries: expected the SONAME of a library, got '/lib/a.so'"},
    {NEEDED "match: a\n",
     "f:3: match: expected a section of KEY: VALUE lines, got 'a'"},
    {NEEDED "match:\n  vendors: a\n",
     "f:4: match: 'vendors' is not a key here; did you mean 'vendor'?"},
    {NEEDED "root: [a]\n", "f:3: root: expected one value, got a list"},
    {NEEDED "binds: [run]\n",
     "f:3: binds: expected SRC[:DST[:ro|rw|sqsh]] with absolute paths, got 'run'"},
    {NEEDED "prefix: mpi\n", "f:3: prefix: expected an absolute path, got 'mpi'"},
    {NEEDED "environment: [A]\n", "f:3: environment: expected NAME=VALUE, got 'A'"},
    {NEEDED "conflicts:\n  variables: [a b]\n",
     "f:4: conflicts.variables: expected the name of a variable, got 'a b'"},
    {NEEDED "plugins: [{from: [], to: lib/x}]\n",
     "f:3: plugins: expected a section of from, a list, and to, got a section"},
    {NEEDED "devices: [/run]\n", "f:3: devices: expected a path of /dev, got '/run'"},
    {NEEDED "data: [{from: [/a], to: ../b}]\n",
     "f:3: data: expected a path below the stage, got '../b'"},
    {NEEDED "data:\n  - {from: [/a]}\n",
     "f:4: data: expected a section of from, a list, and to, got a section"},
};

TEST_ROWS(a_fault_is_named_with_its_line, wrong)
{
    read_text("f", wrong[_i].text);
    ck_assert_int_gt(faults.count, 0);
    ck_assert_msg(strncmp(faults.items[0], wrong[_i].fault, strlen(wrong[_i].fault)) ==
                      0,
                  "%s", faults.items[0]);
    ck_assert_uint_eq(set.count, 0);
}

/* The manual has a paragraph for each. */
TEST(every_key_is_in_the_manual)
{
    const char *source = getenv("srcdir");
    BERTH_FREE char *path = NULL;
    BERTH_FCLOSE FILE *file = NULL;
    char text[65536];
    size_t size;

    path = unit_format("%s/man/berth-profile.5.in", source ? source : ".");
    file = fopen(path, "re");
    ck_assert_ptr_nonnull(file);
    size = fread(text, 1, sizeof(text) - 1, file);
    text[size] = '\0';
    for (const struct berth_key *key = berth_profile_keys; key->path; key++) {
        const char *dot = strchr(key->path, '.');
        char word[64];

        snprintf(word, sizeof(word), dot ? ".BR %.*s \": \" %s" : ".B %.*s",
                 (int)strcspn(key->path, "."), key->path, dot ? dot + 1 : "");
        ck_assert_msg(strstr(text, word) != NULL, "%s", key->path);
    }
}

TEST(a_name_is_there_once)
{
    read_text("a", NEEDED);
    read_text("b", NEEDED);
    ck_assert_uint_eq(faults.count, 1);
    ck_assert_str_eq(faults.items[0],
                     "b:1: name: 'x' has been read from another file; remove one");
}

TEST(files_are_read_by_name)
{
    BERTH_FREE char *directory = unit_directory();
    const struct berth_terms terms = {.profiles = directory};

    unit_file(directory, "b.yaml", 0644, "name: second\nfamily: mpich\n");
    unit_file(directory, "a.yaml", 0644, "name: first\nfamily: openmpi\n");
    unit_file(directory, "a.yaml~", 0644, "nonsense: [");
    ck_assert_msg(berth_profiles_read(&terms, getuid(), &set, &err) == 0, "%s",
                  err.text);
    ck_assert_str_eq(set.items[0].name, "first");
    ck_assert_str_eq(set.items[1].name, "second");
    berth_profile_set_fini(&set);
    unit_file(directory, "b.yaml", 0666, NEEDED);
    ck_assert_int_eq(berth_profiles_read(&terms, getuid(), &set, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "b.yaml"));
    unit_remove(directory);
    ck_assert_int_eq(berth_profiles_read(&terms, getuid(), &set, &err), 0);
    ck_assert_str_eq(set.items[0].name, berth_profiles[0].name);
}

static const struct {
    const char *order[5];
    const char *modes[5];
    const char *faults;
} named[] = {
    {{NULL}, {NULL}, ""},
    {{"cray-mpich", "cray-mpich-aries", "own", "own-fast"}, {NULL}, ""},
    {{NULL}, {"cray-mpich", "cray-mpich-aries", "own", "own-fast"}, ""},
    {{"mpihc", "own", "host"},
     {NULL},
     "/b.yaml:1: mpi.order: 'mpihc' is not an MPI stack or profile; did you mean "
     "'mpich'?\n/b.yaml:3: mpi.order: 'host' is not an MPI stack or profile; expected "
     "own, own-fast, cray-mpich, cray-mpich-slingshot, cray-mpich-aries, intel, "
     "mvapich, mpich or openmpi\n"},
    {{"x"},
     {"mpihc", "own", "hots", "hpcx-2.18"},
     "/b.yaml:1: mpi.default: 'mpihc' is not a mode, MPI stack or profile; did you "
     "mean 'mpich'?\n/b.yaml:3: mpi.default: 'hots' is not a mode, MPI stack or "
     "profile; did you mean 'host'?\n/b.yaml:4: mpi.default: 'hpcx-2.18' is not a "
     "mode, MPI stack or profile; expected auto, host, hybrid, local, local-each, "
     "launch, off, "
     "own, own-fast, cray-mpich, cray-mpich-slingshot, cray-mpich-aries, intel, "
     "mvapich, mpich or openmpi\n/b.yaml:1: mpi.order: 'x' is not an MPI stack or "
     "profile; expected own, own-fast, cray-mpich, cray-mpich-slingshot, "
     "cray-mpich-aries, intel, mvapich, mpich or openmpi\n"},
};

static void say(struct berth_strvec *said, const char *key, const char *const *names)
{
    for (int i = 0; names[i]; i++) {
        berth_strvec_push(said, names[i]);
        berth_strvec_pushf(said, "/b.yaml:%d: %s", i + 1, key);
    }
}

/* By the names of stacks and of profiles, the site's and ours. */
TEST_ROWS(a_site_names_what_there_is, named)
{
    BERTH_FREE char *directory = unit_directory();
    BERTH_FREE char *lines = NULL;
    BERTH_TERMS struct berth_terms terms = {0};

    unit_file(directory, "a.yaml", 0644, "name: own-fast\nstack: own\nfamily: mpich\n");
    terms.profiles = strdup(directory);
    say(&terms.order, "mpi.order", named[_i].order);
    say(&terms.modes, "mpi.default", named[_i].modes);
    ck_assert_int_eq(berth_profiles_errors(&terms, getuid(), &set, &faults, &err), 0);
    lines = unit_lines(&faults);
    ck_assert_str_eq(lines, named[_i].faults);
    unit_remove(directory);
}

/* The name may be that of a profile that could not be read. */
TEST(a_wrong_profile_is_told_alone)
{
    BERTH_FREE char *directory = unit_directory();
    BERTH_TERMS struct berth_terms terms = {.profiles = strdup(directory)};
    static const char *const own[] = {"own", NULL};

    unit_file(directory, "a.yaml", 0644, "name: own\n");
    say(&terms.order, "mpi.order", own);
    say(&terms.modes, "mpi.default", own);
    ck_assert_int_eq(berth_profiles_errors(&terms, getuid(), &set, &faults, &err), 0);
    ck_assert_uint_eq(faults.count, 1);
    ck_assert_ptr_nonnull(strstr(faults.items[0], "a.yaml:1: family: not there"));
    unit_remove(directory);
}

void unit_prepare(TCase *tests)
{
    tcase_add_checked_fixture(tests, NULL, teardown);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the host's Slurm, and berth in it, from files and from srun and scontrol; no
 * daemon has to run. Each check says what is right, worth knowing or wrong, and the
 * remedy. */

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/installed.h"
#include "base/text.h"
#include "cli/diagnoses.h"
#include "elf/facts.h"
#include "request/path.h"
#include "site/keys.h"
#include "site/policy.h"
#include "site/siteread.h"

/* Mix TEXT into *DIGEST. */
static void mix(uint64_t *digest, const char *text)
{
    *digest = berth_hash(*digest, text, strlen(text) + 1);
}

/* Mix the site's profiles into the digest. */
static void mix_profiles(uint64_t *digest, const char *directory)
{
    const struct berth_host plain = {.root = ""};
    BERTH_FREE char *pattern = NULL;
    glob_t found;

    if (asprintf(&pattern, "%s/*.yaml", directory) < 0 ||
        !berth_host_glob(&plain, pattern, &found))
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        BERTH_FREE char *text = berth_host_text(&plain, found.gl_pathv[i]);

        mix(digest, berth_text_or(text, ""));
    }
    globfree(&found);
}

/* Is there a file or a link at PATH, even one that cannot be read? */
static bool is_there(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 || errno != ENOENT;
}

/* Read the site's file at PLACE, which may be the default one (IS_DEFAULT), into the
 * site and its terms. */
static void read_site(struct berth_doctor *doctor, const char *place, bool is_default)
{
    struct berth_err why;

    if (!doctor->has_site && is_default) {
        doctor->terms.profiles = berth_path_beside(place, "profiles.d");
        return;
    }
    if (berth_site_read(place, berth_site_owner(), &doctor->site, &why) < 0)
        doctor->site_error = strdup(why.text);
    else
        berth_terms_of(&doctor->site, &doctor->terms, NULL);
}

/* The path of berth.yaml: that of berth's line in plugstack.conf, or the default. */
static const char *site_file(const struct berth_doctor *doctor)
{
    return berth_text_or(doctor->settings.config, berth_installed(BERTH_SITE_FILE));
}

static void read_yaml(struct berth_doctor *doctor, uint64_t *digest)
{
    const char *path = site_file(doctor);
    bool is_default = !doctor->settings.config;
    BERTH_FREE char *text = berth_host_text(&doctor->host, path);
    BERTH_FREE char *place = berth_host_place(&doctor->host, path);

    if (!place)
        return;
    doctor->has_site = is_there(place);
    if (!doctor->site_error)
        read_site(doctor, place, is_default);
    if (text)
        mix(digest, text);
    if (doctor->terms.profiles)
        mix_profiles(digest, doctor->terms.profiles);
}

/* The path of oci.conf(5), which Slurm reads beside slurm.conf; NULL: not known. */
static char *find_oci(const struct berth_doctor *doctor)
{
    if (!doctor->conf.path)
        return NULL;
    return berth_path_beside(doctor->conf.path, "oci.conf");
}

/* Its text; NULL: there is none. */
static char *read_oci(const struct berth_doctor *doctor)
{
    BERTH_FREE char *path = find_oci(doctor);

    if (!path)
        return NULL;
    return berth_host_text(&doctor->host, path);
}

/* Mix the lines of plugstack.conf into the digest. */
static void mix_plugstack(uint64_t *digest, const struct berth_plugstack *stack)
{
    for (size_t i = 0; i < stack->count; i++) {
        const struct berth_plugstack_line *line = &stack->items[i];
        const char kind = (char)line->kind;

        *digest = berth_hash(*digest, &kind, 1);
        mix(digest, berth_text_or(line->path, ""));
        for (size_t k = 0; k < line->words.count; k++)
            mix(digest, line->words.items[k]);
    }
}

void berth_doctor_read_site(struct berth_doctor *doctor)
{
    struct berth_plugstack *stack = &doctor->stack;
    uint64_t digest = BERTH_HASH_START;
    BERTH_FREE char *oci = NULL;
    struct berth_err why;

    doctor->site = berth_site_default();
    berth_host_conf(&doctor->host, &doctor->conf);
    oci = read_oci(doctor);
    if (oci)
        mix(&digest, oci);
    doctor->has_plugstack =
        doctor->conf.plugstack &&
        berth_host_plugstack(&doctor->host, doctor->conf.plugstack, stack);
    mix_plugstack(&digest, stack);
    if (berth_host_settings(stack, &doctor->settings, &why) < 0)
        doctor->site_error = strdup(why.text);
    read_yaml(doctor, &digest);
    snprintf(doctor->digest, sizeof(doctor->digest), "%016llx",
             (unsigned long long)digest);
}

static void check_site(struct berth_doctor *doctor)
{
    const char *path = site_file(doctor);

    if (doctor->site_error)
        WRONG("berth.yaml", "correct it; until then steps with an image end", "%s",
              doctor->site_error);
    else if (doctor->has_site)
        OK("berth.yaml", "'%s'", path);
    else
        OK("berth.yaml", "none ('%s'): the defaults hold", path);
    OK("configuration",
       "%s; `srun -N2 berth doctor | sort | uniq -c` tells whether it is the same "
       "elsewhere",
       doctor->digest);
}

#define STACK "plugstack.conf"

/* A release of Slurm, such as 24.11; 0.0: not known. */
struct release {
    unsigned int major, minor;
};

/* The first N.N in TEXT, "slurm 24.11.5". */
static struct release release_in(const char *text)
{
    const char *digits = text + strcspn(text, "0123456789");
    struct release release;

    if (sscanf(digits, "%u.%u", &release.major, &release.minor) != 2)
        return (struct release){0};
    return release;
}

/* That of NUMBER, a SLURM_VERSION_NUMBER: a byte for each of 24, 11 and 5. */
static struct release release_of(uint32_t number)
{
    return (struct release){.major = number >> 16 & 0xff, .minor = number >> 8 & 0xff};
}

static bool is_before(struct release a, struct release b)
{
    return a.major < b.major || (a.major == b.major && a.minor < b.minor);
}

static bool is_same_release(struct release a, struct release b)
{
    return a.major == b.major && a.minor == b.minor;
}

#define INSTALL "install berth's package for this release of Slurm"

/* Returns the value of KEY in slurm.conf; NULL: it has none. */
static char *value_of(const struct berth_doctor *doctor, const char *key)
{
    if (!doctor->conf.text)
        return NULL;
    return berth_keys_value(doctor->conf.text, key);
}

/* Returns the path of the plugin NAME in DIRECTORY; NULL: it is not there. */
static char *find_in(const struct berth_doctor *doctor, const char *directory,
                     const char *name)
{
    BERTH_FREE char *path = NULL;
    BERTH_FREE char *place = NULL;

    if (asprintf(&path, "%s/%s", directory, name) < 0)
        return NULL;
    place = berth_host_place(&doctor->host, path);
    if (!place || access(place, F_OK) < 0)
        return NULL;
    return berth_steal(&path);
}

/* Returns the path of a plugin; one without a directory is in PluginDir. */
static char *find_plugin(const struct berth_doctor *doctor, const char *path)
{
    BERTH_FREE char *directories = NULL;
    char *next;

    if (*path == '/')
        return strdup(path);
    directories = value_of(doctor, "PluginDir");
    next = directories;
    while (next) {
        char *found = find_in(doctor, strsep(&next, ":"), path);

        if (found)
            return found;
    }
    return strdup(path);
}

/* How bad is it if Slurm does not load the plugin of berth's tree? That of a user has
 * none. */
static enum berth_diagnosis_level without_plugin(const struct berth_doctor *doctor)
{
    BERTH_FREE char *place =
        berth_host_place(&doctor->host, berth_installed(BERTH_PLUGIN));

    if (place && access(place, F_OK) == 0)
        return BERTH_DIAGNOSIS_WRONG;
    return BERTH_DIAGNOSIS_NOTE;
}

/* Read the release of Slurm for which the plugin FD was built. Returns false if it is
 * not a plugin. */
static bool read_plugin_release(int fd, struct release *ret)
{
    uint32_t version = 0;
    ssize_t size = berth_elf_value(fd, "plugin_version", &version, sizeof(version));

    if (size != sizeof(version) || version == 0)
        return false;
    *ret = release_of(version);
    return true;
}

/* Open the file PATH (NULL: none) of the host. Returns a descriptor, or -1. */
static int open_file(const struct berth_doctor *doctor, const char *path)
{
    BERTH_FREE char *place = NULL;

    if (path)
        place = berth_host_place(&doctor->host, path);
    if (!place)
        return -1;
    return open(place, O_RDONLY | O_CLOEXEC);
}

/* The release of the Slurm of this host; 0.0: not known. */
static struct release release_here(const struct berth_doctor *doctor)
{
    return release_in(berth_text_or(doctor->slurm, ""));
}

/* Check the symbols of the plugin that Slurm reads before it loads a plugin; Slurm
 * compares the first two parts of the release for SPANK plugins (plugin.c). */
static void check_plugin(struct berth_doctor *doctor,
                         const struct berth_plugstack_line *line)
{
    BERTH_FREE char *path = find_plugin(doctor, line->path);
    BERTH_CLOSE int fd = open_file(doctor, path);
    struct release here = release_here(doctor);
    struct release plugin;
    char berth[32] = "";

    if (fd < 0) {
        WRONG("plugin", INSTALL, "%s: '%s' is not there", line->place,
              berth_text_or(path, line->path));
        return;
    }
    if (!read_plugin_release(fd, &plugin)) {
        WRONG("plugin", INSTALL, "'%s' is not a plugin of Slurm", path);
        return;
    }
    snprintf(doctor->plugin, sizeof(doctor->plugin), "%u.%02u", plugin.major,
             plugin.minor);
    if (here.major > 0 && !is_same_release(plugin, here)) {
        WRONG("plugin", INSTALL,
              "'%s' is for Slurm %s, and this host has %u.%02u: it is not loaded", path,
              doctor->plugin, here.major, here.minor);
        return;
    }

    berth_elf_value(fd, "plugin_release", berth, sizeof(berth) - 1);
    if (*berth && strcmp(berth, doctor->release) != 0)
        AT(without_plugin(doctor), "plugin",
           "install one release of berth, with all its packages",
           "'%s' is of berth %s, and this command of %s", path, berth, doctor->release);
    else
        OK("plugin", "'%s', for Slurm %s", path, doctor->plugin);
}

/* What plugstack.conf says of berth. */
struct stack_lines {
    const struct berth_plugstack_line *berth; /* the first that loads it; NULL: none */
    const struct berth_plugstack_line *wrong; /* the first of these; NULL: none */
    int place;                                /* of berth among the plugins, from 1 */
    int plugins;
    int berths; /* lines that load berth */
};

static struct stack_lines find_lines(const struct berth_plugstack *stack)
{
    struct stack_lines lines = {0};

    for (size_t i = 0; i < stack->count; i++) {
        const struct berth_plugstack_line *line = &stack->items[i];

        if (line->kind != BERTH_PLUGSTACK_WRONG)
            lines.plugins++;
        else if (!lines.wrong)
            lines.wrong = line;
        if (!line->is_berth)
            continue;
        lines.berths++;
        if (lines.berth)
            continue;
        lines.berth = line;
        lines.place = lines.plugins;
    }
    return lines;
}

/* Say why Slurm does not load berth, and what users do instead. */
static void say_not_loaded(struct berth_doctor *doctor)
{
    const char *plugstack = doctor->conf.plugstack;

    if (doctor->has_plugstack)
        AT(without_plugin(doctor), STACK,
           "use `srun berth run`; administrators copy the plugin's berth.conf to a "
           "directory that it includes",
           "'%s' and what it includes do not name berth.so", plugstack);
    else
        AT(without_plugin(doctor), STACK,
           "use `srun berth run`; administrators make it with the line `include "
           "/etc/slurm/plugstack.conf.d/*.conf`, and put berth.conf there",
           "'%s' is not there, so that Slurm does not load berth", plugstack);
}

/* Returns whether a line loads berth. */
static bool check_stack(struct berth_doctor *doctor)
{
    const struct stack_lines lines = find_lines(&doctor->stack);

    if (lines.wrong)
        WRONG(STACK, "start the line with required, optional or include",
              "%s is not understood", lines.wrong->place);
    if (!doctor->has_plugstack || !lines.berth)
        say_not_loaded(doctor);
    if (!lines.berth)
        return false;

    if (lines.berths > 1)
        WRONG(STACK, "leave one line with berth.so in it",
              "%s names berth a second time, or another file does", lines.berth->place);
    if (lines.berth->kind == BERTH_PLUGSTACK_OPTIONAL)
        NOTE(STACK,
             "write required instead of optional, or put berth's lines into the "
             "TaskProlog",
             "%s says optional: where the plugin cannot be loaded, tasks run on the "
             "host",
             lines.berth->place);
    else if (lines.berths == 1)
        OK(STACK, "%s: plugin %d of %d, required", lines.berth->place, lines.place,
           lines.plugins);
    check_plugin(doctor, lines.berth);
    return true;
}

static void check_manager(struct berth_doctor *doctor, const char *srun)
{
    const char *const argv[] = {srun, "--mpi=list", NULL};
    BERTH_FREE char *said = NULL;
    bool has_pmi2, has_pmix;

    if (doctor->conf.text)
        said = berth_host_ask(&doctor->host, argv);
    if (!said || !strstr(said, "types are")) {
        WRONG("srun --mpi", "run `srun --mpi=list` by hand, and repair what it says",
              "srun does not start, or does not tell which types it has");
        return;
    }
    has_pmi2 = strstr(said, "pmi2");
    has_pmix = strstr(said, "pmix");
    if (has_pmi2 && has_pmix)
        OK("srun --mpi", "pmi2 and pmix");
    else if (has_pmix)
        OK("srun --mpi", "pmix");
    else if (has_pmi2)
        NOTE("srun --mpi", "install Slurm's plugin mpi/pmix, if users have Open MPI",
             "Open MPI wants pmix, and there is only pmi2");
    else
        WRONG("srun --mpi", "install Slurm's plugins mpi/pmi2 and mpi/pmix",
              "there is neither pmi2 nor pmix");
}

static void check_prolog(struct berth_doctor *doctor)
{
    BERTH_FREE char *launch = value_of(doctor, "LaunchParameters");
    BERTH_FREE char *prolog = value_of(doctor, "TaskProlog");
    BERTH_FREE char *text = NULL;
    bool includes_ours = false, has_copy = false;

    if (prolog)
        text = berth_host_text(&doctor->host, prolog);
    if (text) {
        includes_ours = strstr(text, "taskprolog-berth.sh");
        has_copy = strstr(text, "SLURM_BERTH_STEP");
    }

    if (launch && strstr(launch, "test_exec"))
        NOTE("slurm.conf", "read LaunchParameters in spank_berth(8)",
             "LaunchParameters has test_exec: srun looks for the command of an image "
             "on its own host");
    if (includes_ours || has_copy)
        OK("TaskProlog", "'%s' has berth's lines", prolog);
    else
        WRONG("TaskProlog",
              "copy the plugin's taskprolog-berth.sh to /etc/slurm, and put the line "
              "`. /etc/slurm/taskprolog-berth.sh` into the TaskProlog of slurm.conf",
              "there is none with berth's lines: a node without the plugin would run "
              "the program on the host");
}

/* A container that lasts as long as its job ends with the extern step. */
static void check_extern(struct berth_doctor *doctor)
{
    BERTH_FREE char *flags = value_of(doctor, "PrologFlags");
    const char *remedy = "add PrologFlags=Contain to slurm.conf";

    if (flags && (strcasestr(flags, "contain") || strcasestr(flags, "x11"))) {
        OK("PrologFlags", "with Contain: a container can last as long as its job");
        return;
    }
    if (berth_policy_may_last_job(&doctor->site, NULL))
        remedy = "add PrologFlags=Contain to slurm.conf, or take `lifetime: job` out "
                 "of berth.yaml";
    NOTE("PrologFlags", remedy,
         "without Contain, which --container-lifetime=job needs, a container ends "
         "with its step");
}

/* Is VALUE, of a key of oci.conf, one of WORDS, in any case? */
static bool is_one_of(const char *value, const char *const *words)
{
    for (; value && *words; words++)
        if (strcasecmp(value, *words) == 0)
            return true;
    return false;
}

/* Has TEXT (NULL: nothing) each of WORDS, one after the other? */
static bool has_in_order(const char *text, const char *const *words)
{
    for (; text && *words; words++)
        text = strstr(text, *words);
    return text;
}

/* What TEXT, an oci.conf that names berth-oci, has not as the shipped file; NULL:
 * nothing. */
static const char *find_difference(const char *text)
{
    static const char *const yes[] = {"true", "yes", "up", "1", NULL};
    static const char *const arguments[] = {"%e", "%b", "%@", NULL};
    static const char *const null[] = {"null", "true", "yes", "y", "1", NULL};
    BERTH_FREE char *ignore = berth_keys_value(text, "IgnoreFileConfigJson");
    BERTH_FREE char *create = berth_keys_value(text, "CreateEnvFile");
    BERTH_FREE char *run = berth_keys_value(text, "RunTimeRun");

    if (!is_one_of(ignore, yes))
        return "IgnoreFileConfigJson=true";
    if (!is_one_of(create, null))
        return "CreateEnvFile=null";
    if (!has_in_order(run, arguments))
        return "%e, %b and %@ in RunTimeRun";
    return NULL;
}

/* Does Slurm's own --container run images, as berth's oci.conf says? */
static void check_oci(struct berth_doctor *doctor)
{
    static const char file[] = "oci.conf";
    static const struct release first = {23, 2};
    BERTH_FREE char *path = find_oci(doctor);
    BERTH_FREE char *text = read_oci(doctor);
    const struct release release = release_here(doctor);
    const char *missing = NULL;

    if (text)
        missing = find_difference(text);

    if (!text)
        OK(file, "none: Slurm ignores --container, and runs the task on the host");
    else if (!strstr(text, "berth-oci"))
        OK(file, "'%s' has another runtime than berth for --container", path);
    else if (release.major > 0 && is_before(release, first))
        WRONG(file, "remove it", "'%s' is for Slurm 23.02 and later", path);
    else if (missing)
        WRONG(file, "copy '" BERTH_DATADIR "/oci.conf' there", "'%s' lacks %s", path,
              missing);
    else
        OK(file, "'%s': --container runs images", path);
}

/* Ask scontrol for the release: it loads no SPANK plugins, and so works where srun
 * fails. */
static void check_release(struct berth_doctor *doctor)
{
    BERTH_FREE char *scontrol = berth_host_find(&doctor->host, "scontrol");

    if (scontrol)
        doctor->slurm = berth_host_version(&doctor->host, scontrol);
    if (doctor->slurm)
        OK("Slurm", "%s", doctor->slurm);
    else
        NOTE("Slurm", "run `scontrol --version` by hand",
             "scontrol does not tell its release");
}

void berth_doctor_check_slurm(struct berth_doctor *doctor)
{
    BERTH_FREE char *srun = berth_host_find(&doctor->host, "srun");
    bool has_berth;

    check_site(doctor);
    if (!srun) {
        NOTE("Slurm", "on a host of a cluster, put its srun into PATH",
             "there is none here; only the host itself was checked");
        return;
    }
    if (!doctor->conf.path && !doctor->has_plugstack) {
        NOTE("Slurm",
             "make slurm.conf (or slurmctld, by SLURM_CONF or DNS) known to it",
             "'%s' finds no configuration; only the host itself was checked", srun);
        return;
    }

    check_release(doctor);
    has_berth = check_stack(doctor);
    check_manager(doctor, srun);
    check_oci(doctor);
    if (has_berth) {
        check_prolog(doctor);
        check_extern(doctor);
    }
}

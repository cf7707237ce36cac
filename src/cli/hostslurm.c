/* SPDX-License-Identifier: Apache-2.0 */
/* Reads facts about the Slurm of this host, and berth in it, from files and from srun
 * and scontrol. No daemon has to run. */

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/text.h"
#include "site/keys.h"
#include "site/plugstack.h"
#include "site/settings.h"
#include "site/site.h"
#include "elf/facts.h"
#include "request/option.h"
#include "site/policy.h"
#include "cli/host.h"
#include "base/run.h"
#include "site/siteread.h"

enum { PLUGIN_MAX = 64 << 20 };

/* The state of a reading. */
struct reading {
    struct berth_host *host;
    struct berth_doctor_facts *facts;
    uint64_t digest;
    const char *plugins; /* PluginDir; NULL: not set */
    const char *runtime; /* runtime.path of berth.yaml; NULL: not set */
    const char *site;    /* config= of plugstack.conf; NULL: not set */
    const char *fault;   /* of the words behind berth.so: a sentence; NULL: none */
    size_t room;
};

/* Mix TEXT into the digest of the struct reading DATA. */
static void mix(void *data, const char *text)
{
    struct reading *reading = data;

    reading->digest = berth_hash(reading->digest, text, strlen(text) + 1);
}

static const char *keep(const struct reading *reading, const char *text)
{
    return berth_doctor_keep(reading->facts, text);
}

/* Returns the option of berth whose name, with PREFIX, is in the SIZE bytes of another
 * plugin: as a string, or as the end of a longer one, as linkers merge strings. NULL:
 * none is. */
static const char *find_clash(const char *bytes, size_t size, const char *prefix)
{
    for (int i = 0; i < BERTH_OPTION_COUNT; i++) {
        BERTH_FREE char *name = NULL;
        size_t length;
        const char *at;

        if (asprintf(&name, "%s%s", prefix, berth_options[i].name) < 0)
            return NULL;
        length = strlen(name);
        at = memmem(bytes, size, name, length + 1);
        if (at && at > bytes && (at[-1] == '\0' || at[-1] == '-'))
            return berth_options[i].name;
    }
    return NULL;
}

/* Read the other plugins, after all lines: only then is the prefix of berth's options
 * known. */
static void read_clashes(const struct reading *reading)
{
    const char *prefix = reading->facts->prefix ? reading->facts->prefix : "";

    for (size_t i = 0; i < reading->facts->plugin_count; i++) {
        struct berth_doctor_plugin *plugin = &reading->facts->plugins[i];
        BERTH_FREE char *place = berth_host_place(reading->host, plugin->path);
        BERTH_BUF struct berth_buf bytes = {0};

        if (place && !plugin->is_berth &&
            berth_fd_read_path(place, PLUGIN_MAX, &bytes) == 0 && bytes.text)
            plugin->clash = find_clash(bytes.text, bytes.used, prefix);
    }
}

/* Read the words behind berth.so. */
static void read_words(struct reading *reading, const struct berth_strvec *words)
{
    struct berth_settings settings;
    struct berth_err why;
    int result = berth_settings_read((int)words->count, words->items, &settings, &why);

    reading->fault = result < 0 ? keep(reading, why.text) : NULL;
    reading->facts->prefix = keep(reading, settings.option_prefix);
    reading->site = keep(reading, settings.config);
    berth_settings_fini(&settings);
}

/* Read the symbols of the plugin that Slurm checks before it loads a plugin. */
static void read_plugin(const struct reading *reading,
                        struct berth_doctor_plugin *plugin)
{
    BERTH_FREE char *place = berth_host_place(reading->host, plugin->path);
    BERTH_CLOSE int fd = place ? open(place, O_RDONLY | O_CLOEXEC) : -1;
    char release[32] = "";
    uint32_t version = 0;

    plugin->is_there = fd >= 0;
    if (fd < 0)
        return;
    if (berth_elf_value(fd, "plugin_version", &version, sizeof(version)) ==
        sizeof(version))
        plugin->slurm = version;
    if (plugin->is_berth &&
        berth_elf_value(fd, "plugin_release", release, sizeof(release) - 1) > 0)
        plugin->release = keep(reading, release);
}

/* Returns the path of a plugin; one without a directory is in PluginDir. */
static const char *find_plugin(const struct reading *reading, const char *path)
{
    BERTH_FREE char *copy = strdup(reading->plugins ? reading->plugins : "");
    char *next = copy;
    char *directory;

    if (*path == '/')
        return keep(reading, path);
    while (copy && (directory = strsep(&next, ":"))) {
        BERTH_FREE char *found = NULL;
        BERTH_FREE char *place = NULL;

        if (asprintf(&found, "%s/%s", directory, path) < 0)
            return NULL;
        place = berth_host_place(reading->host, found);
        if (place && access(place, F_OK) == 0)
            return keep(reading, found);
    }
    return keep(reading, path);
}

static void add_plugin(struct reading *reading, const char *file,
                       const struct berth_plugstack_line *line)
{
    struct berth_doctor_facts *facts = reading->facts;
    BERTH_FREE char *place = NULL;
    struct berth_doctor_plugin plugin = {
        .path = find_plugin(reading, line->path),
        .is_berth = line->is_berth,
        .is_required = line->kind == BERTH_PLUGSTACK_REQUIRED,
    };

    if (!plugin.path || asprintf(&place, "%s:%d", file, line->number) < 0)
        return;
    plugin.place = keep(reading, place);
    if (plugin.is_berth)
        read_words(reading, &line->words);
    read_plugin(reading, &plugin);
    if (plugin.place && berth_grow(&facts->plugins, facts->plugin_count, &reading->room,
                                   sizeof(plugin)) == 0)
        facts->plugins[facts->plugin_count++] = plugin;
}

static void add_line(void *data, const char *file,
                     const struct berth_plugstack_line *line)
{
    struct reading *reading = data;
    BERTH_FREE char *place = NULL;

    if (line->kind != BERTH_PLUGSTACK_WRONG)
        add_plugin(reading, file, line);
    else if (!reading->facts->slurm.bad_line &&
             asprintf(&place, "%s:%d", file, line->number) >= 0)
        reading->facts->slurm.bad_line = keep(reading, place);
}

/* Read the types of srun --mpi=list: the lines behind "types are", joined by blanks. */
static void read_types(const struct reading *reading, const char *srun)
{
    const char *const argv[] = {srun, "--mpi=list", NULL};
    BERTH_FREE char *said = berth_host_ask(reading->host, argv);
    BERTH_BUF struct berth_buf types = {0};
    char *next = said ? strstr(said, "types are") : NULL;
    char *line;

    if (next)
        strsep(&next, "\n");
    while (next && (line = strsep(&next, "\n"))) {
        line += berth_text_starts(line, "srun: ") ? 6 : 0;
        line += strspn(line, " \t");
        if (*line && !strpbrk(line, " :"))
            berth_buf_addf(&types, "%s%s", types.used ? " " : "", line);
    }
    if (types.text && !types.failed)
        reading->facts->slurm.types = keep(reading, types.text);
}

/* Returns what PROGRAM --version prints; NULL: PROGRAM is not there, or fails. */
static const char *ask_version(const struct reading *reading, const char *program)
{
    BERTH_FREE char *path = berth_run_find(program, reading->host->path);

    return path ? berth_host_version(reading->host, path) : NULL;
}

/* Ask scontrol for the release first: it loads no SPANK plugins, and so works where
 * srun fails. */
static void read_srun(const struct reading *reading)
{
    struct berth_doctor_facts *facts = reading->facts;
    BERTH_FREE char *srun = berth_run_find("srun", reading->host->path);

    if (!srun)
        return;
    facts->slurm.srun = keep(reading, srun);
    facts->slurm.version = ask_version(reading, "scontrol");
    if (!facts->slurm.version)
        facts->slurm.version = ask_version(reading, "srun");
    if (facts->slurm.conf)
        read_types(reading, srun);
}

static void read_prolog(const struct reading *reading, const char *conf)
{
    struct berth_doctor_facts *facts = reading->facts;
    BERTH_FREE char *prolog = berth_keys_value(conf, "TaskProlog");
    BERTH_FREE char *text = prolog ? berth_host_text(reading->host, prolog) : NULL;
    BERTH_FREE char *launch = berth_keys_value(conf, "LaunchParameters");
    BERTH_FREE char *flags = berth_keys_value(conf, "PrologFlags");

    facts->slurm.prolog = keep(reading, prolog);
    facts->slurm.has_prolog_lines = text && (strstr(text, "taskprolog-berth.sh") ||
                                             strstr(text, "SLURM_BERTH_STEP"));
    if (launch && strstr(launch, "test_exec"))
        facts->slurm.test_exec = keep(reading, launch);
    facts->slurm.has_extern =
        flags && (strcasestr(flags, "contain") || strcasestr(flags, "x11"));
}

/* Mix the site's profiles into the digest. */
static void read_profiles(struct reading *reading, const char *directory)
{
    const struct berth_host plain = {.root = ""};
    BERTH_FREE char *pattern = NULL;
    glob_t found;

    if (asprintf(&pattern, "%s/*.yaml", directory) < 0 ||
        !berth_host_glob(&plain, pattern, &found))
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        BERTH_FREE char *text = berth_host_text(&plain, found.gl_pathv[i]);

        mix(reading, text ? text : "");
    }
    globfree(&found);
}

/* Is there a file or a link at PATH, even one that cannot be read? */
static bool is_there(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 || errno != ENOENT;
}

static void read_site(struct reading *reading)
{
    struct berth_doctor_facts *facts = reading->facts;
    BERTH_SITE struct berth_site site = berth_site_default();
    BERTH_FREE char *text = NULL;
    BERTH_FREE char *place = NULL;
    struct berth_err why;

    facts->site.path = reading->site ? reading->site : BERTH_SITE_FILE;
    text = berth_host_text(reading->host, facts->site.path);
    place = berth_host_place(reading->host, facts->site.path);
    if (!place)
        return;
    facts->site.is_there = is_there(place);
    if (reading->fault)
        facts->site.fault = reading->fault;
    else if (!facts->site.is_there && !reading->site)
        reading->host->terms.profiles = berth_host_beside(place, "profiles.d");
    else if (berth_site_read(place, berth_site_owner(), &site, &why) < 0 ||
             berth_policy_check(&site, &why) < 0)
        facts->site.fault = keep(reading, why.text);
    else
        berth_terms_of(&site, &reading->host->terms, NULL);
    if (text)
        mix(reading, text);
    facts->site.wants_job = berth_policy_may_last_job(&site, NULL);
    reading->runtime = keep(reading, site.runtime.path);
    if (reading->host->terms.profiles)
        read_profiles(reading, reading->host->terms.profiles);
}

const char *berth_host_read_slurm(struct berth_host *host)
{
    struct reading reading = {
        .host = host, .facts = host->facts, .digest = BERTH_HASH_START};
    struct berth_doctor_facts *facts = host->facts;
    const struct berth_host_listener to = {mix, add_line, &reading};
    BERTH_FREE char *plugins = NULL;
    struct berth_host_conf conf;

    berth_host_conf(host, &conf);
    plugins = conf.text ? berth_keys_value(conf.text, "PluginDir") : NULL;
    reading.plugins = plugins;
    facts->slurm.conf = keep(&reading, conf.path);
    facts->slurm.plugstack = keep(&reading, conf.plugstack);
    if (conf.plugstack)
        facts->slurm.has_plugstack = berth_host_plugstack(host, conf.plugstack, &to);
    read_clashes(&reading);
    read_srun(&reading);
    if (conf.text)
        read_prolog(&reading, conf.text);
    berth_host_conf_fini(&conf);
    read_site(&reading);
    snprintf(facts->digest, sizeof(facts->digest), "%016llx",
             (unsigned long long)reading.digest);
    return reading.runtime;
}

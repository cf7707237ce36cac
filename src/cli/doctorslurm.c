/* SPDX-License-Identifier: Apache-2.0 */
/* Judges the facts about the host's Slurm, and berth in it: what is right, worth
 * knowing or wrong, and the remedy. */

#include <stdio.h>
#include <string.h>

#include "cli/judge.h"

/* Bytes of a release of Slurm as people write it: 24.11. */
enum { RELEASE_SIZE = 16 };

static const char *release_of(unsigned int version, char text[RELEASE_SIZE])
{
    snprintf(text, RELEASE_SIZE, "%u.%02u", version >> 16 & 0xff, version >> 8 & 0xff);
    return text;
}

/* Returns the first N.N in VERSION, "slurm 24.11.5", in the form of
 * SLURM_VERSION_NUMBER without its last part; 0: there is none. */
static unsigned int release_in(const char *version)
{
    const char *digits = version + strcspn(version, "0123456789");
    unsigned int major, minor;

    return sscanf(digits, "%u.%u", &major, &minor) == 2 ? major << 16 | minor << 8 : 0;
}

static const struct berth_doctor_plugin *
find_berth(const struct berth_doctor_facts *facts, size_t *ret_count)
{
    const struct berth_doctor_plugin *found = NULL;

    *ret_count = 0;
    for (size_t i = 0; i < facts->plugin_count; i++)
        if (facts->plugins[i].is_berth && (*ret_count)++ == 0)
            found = &facts->plugins[i];
    return found;
}

#define INSTALL "install berth's package for this release of Slurm"

/* Slurm compares the first two parts for SPANK plugins (plugin.c). */
static void judge_plugin(const struct berth_doctor_facts *facts,
                         const struct berth_doctor_plugin *plugin,
                         struct berth_diagnoses *diagnoses)
{
    unsigned int here = facts->slurm.version ? release_in(facts->slurm.version) : 0;
    char theirs[RELEASE_SIZE], ours[RELEASE_SIZE];

    if (!plugin->is_there)
        WRONG("plugin", INSTALL, "%s: '%s' is not there", plugin->place, plugin->path);
    else if (!plugin->slurm)
        WRONG("plugin", INSTALL, "'%s' is not a plugin of Slurm", plugin->path);
    else if (here && plugin->slurm >> 8 != here >> 8)
        WRONG("plugin", INSTALL,
              "'%s' is for Slurm %s, and this host has %s: it is not loaded",
              plugin->path, release_of(plugin->slurm, theirs), release_of(here, ours));
    else if (plugin->release && strcmp(plugin->release, facts->release) != 0)
        WRONG("plugin", "install one release of berth, with all its packages",
              "'%s' is of berth %s, and this command of %s", plugin->path,
              plugin->release, facts->release);
    else
        OK("plugin", "'%s', for Slurm %s", plugin->path,
           release_of(plugin->slurm, theirs));
}

/* Judges the order of the plugins, and options that two of them have. */
static void judge_order(const struct berth_doctor_facts *facts,
                        const struct berth_doctor_plugin *berth, size_t count,
                        struct berth_diagnoses *diagnoses)
{
    size_t at = (size_t)(berth - facts->plugins);
    bool clashes = false;

    if (count > 1)
        WRONG("plugstack.conf", "leave one line with berth.so in it",
              "%s names berth a second time, or another file does", berth->place);
    for (size_t i = 0; i < facts->plugin_count; i++) {
        const struct berth_doctor_plugin *other = &facts->plugins[i];

        if (other->is_berth || !other->clash)
            continue;
        clashes = true;
        WRONG("plugstack.conf", "put option_prefix=b- behind berth.so, on all hosts",
              "%s: '%s' has an option --%s%s too; Slurm drops the one of the later "
              "plugin",
              other->place, other->path, facts->prefix ? facts->prefix : "",
              other->clash);
    }
    if (!berth->is_required)
        NOTE("plugstack.conf",
             "write required instead of optional, or put berth's lines into the "
             "TaskProlog",
             "%s says optional: where the plugin cannot be loaded, tasks run on the "
             "host",
             berth->place);
    else if (count == 1 && !clashes)
        OK("plugstack.conf", "%s: plugin %zu of %zu, required", berth->place, at + 1,
           facts->plugin_count);
}

static void judge_stack(const struct berth_doctor_facts *facts,
                        struct berth_diagnoses *diagnoses)
{
    size_t count;
    const struct berth_doctor_plugin *berth = find_berth(facts, &count);

    if (facts->slurm.bad_line)
        WRONG("plugstack.conf", "start the line with required, optional or include",
              "%s is not understood", facts->slurm.bad_line);
    if (!facts->slurm.has_plugstack) {
        WRONG("plugstack.conf",
              "make it with the line `include /etc/slurm/plugstack.conf.d/*.conf`, and "
              "put berth.conf there",
              "'%s' is not there, so that Slurm does not load berth",
              facts->slurm.plugstack);
        return;
    }
    if (!berth) {
        WRONG("plugstack.conf",
              "copy berth.conf (in /usr/share/berth) to a directory that it includes",
              "'%s' and what it includes do not name berth.so", facts->slurm.plugstack);
        return;
    }
    judge_order(facts, berth, count, diagnoses);
    judge_plugin(facts, berth, diagnoses);
}

static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = list; (at = strstr(at, word)); at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == '\0' || at[length] == ' '))
            return true;
    return false;
}

static void judge_manager(const struct berth_doctor_facts *facts,
                          struct berth_diagnoses *diagnoses)
{
    const char *types = facts->slurm.types;

    if (!types)
        WRONG("srun --mpi", "run `srun --mpi=list` by hand, and repair what it says",
              "srun does not start, or does not tell which types it has");
    else if (!has_word(types, "pmix") && !has_word(types, "pmi2"))
        WRONG("srun --mpi", "install Slurm's plugins mpi/pmi2 and mpi/pmix",
              "there is neither pmi2 nor pmix, but: %s", types);
    else if (!has_word(types, "pmix"))
        NOTE("srun --mpi", "install Slurm's plugin mpi/pmix, if users have Open MPI",
             "Open MPI wants pmix, and there is: %s", types);
    else
        OK("srun --mpi", "%s", types);
}

static void judge_prolog(const struct berth_doctor_facts *facts,
                         struct berth_diagnoses *diagnoses)
{
    if (facts->slurm.test_exec)
        NOTE("slurm.conf", "read LaunchParameters in spank_berth(8)",
             "LaunchParameters has test_exec: srun looks for the command of an image "
             "on its own host");
    if (facts->slurm.has_prolog_lines)
        OK("TaskProlog", "'%s' has berth's lines", facts->slurm.prolog);
    else if (facts->slurm.prolog)
        NOTE("TaskProlog",
             "copy /usr/share/berth/taskprolog-berth.sh to /etc/slurm, and put "
             "`. /etc/slurm/taskprolog-berth.sh` into it",
             "'%s' does not end tasks where the plugin is missing",
             facts->slurm.prolog);
    else
        NOTE("TaskProlog",
             "copy /usr/share/berth/taskprolog-berth.sh to /etc/slurm, write one with "
             "the line `. /etc/slurm/taskprolog-berth.sh`, and name it in slurm.conf",
             "there is none that ends tasks where the plugin is missing");
}

/* A container that lasts as long as its job ends with the extern step. */
static void judge_extern(const struct berth_doctor_facts *facts,
                         struct berth_diagnoses *diagnoses)
{
    if (facts->slurm.has_extern)
        OK("PrologFlags", "with Contain: a container can last as long as its job");
    else
        NOTE("PrologFlags",
             facts->site.wants_job
                 ? "add PrologFlags=Contain to slurm.conf, or take `lifetime: job` out "
                   "of berth.yaml"
                 : "add PrologFlags=Contain to slurm.conf",
             "without Contain, which --container-lifetime=job needs, a container ends "
             "with its step");
}

static void judge_site(const struct berth_doctor_facts *facts,
                       struct berth_diagnoses *diagnoses)
{
    if (facts->site.fault)
        WRONG("berth.yaml", "correct it; until then steps with an image end", "%s",
              facts->site.fault);
    else if (facts->site.is_there)
        OK("berth.yaml", "'%s'", facts->site.path);
    else
        OK("berth.yaml", "none ('%s'): the defaults hold", facts->site.path);
    if (facts->site.profile)
        WRONG("profiles",
              "correct it; until then steps that ask for the host's MPI end", "%s",
              facts->site.profile);
    OK("configuration",
       "%s; `srun -N2 berth doctor --brief` tells whether it is the same elsewhere",
       facts->digest);
}

void berth_doctor_judge_slurm(const struct berth_doctor_facts *facts,
                              struct berth_diagnoses *diagnoses)
{
    judge_site(facts, diagnoses);
    if (facts->slurm.srun && !facts->slurm.conf && !facts->slurm.has_plugstack) {
        NOTE("Slurm",
             "make slurm.conf (or slurmctld, by SLURM_CONF or DNS) known to it",
             "'%s' finds no configuration; only the host itself was checked",
             facts->slurm.srun);
        return;
    }
    if (!facts->slurm.srun) {
        NOTE("Slurm", "on a host of a cluster, put its srun into PATH",
             "there is none here; only the host itself was checked");
        return;
    }
    if (facts->slurm.version)
        OK("Slurm", "%s", facts->slurm.version);
    else
        NOTE("Slurm", "run `scontrol --version` by hand",
             "neither scontrol nor srun tells its release");
    judge_stack(facts, diagnoses);
    judge_manager(facts, diagnoses);
    judge_prolog(facts, diagnoses);
    judge_extern(facts, diagnoses);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Reads facts about the container runtime of this host: its version, whether it is
 * setuid, the limits in its configuration. */

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "site/keys.h"
#include "cli/host.h"
#include "base/run.h"
#include "step/runtime.h"

static const char *keep_value(const struct berth_host *host, const char *text,
                              const char *key)
{
    BERTH_FREE char *value = berth_keys_value(text, key);

    return berth_doctor_keep(host->facts, value);
}

/* Returns DIRECTORY/apptainer/bin/NAME or DIRECTORY/singularity/bin/NAME; NULL: neither
 * is a program. */
static char *find_part(const struct berth_host *host, const char *directory,
                       const char *name)
{
    static const char *const owners[] = {"apptainer", "singularity"};

    for (size_t i = 0; i < 2; i++) {
        BERTH_FREE char *path = NULL;

        if (asprintf(&path, "%s%s/%s/bin/%s", host->root, directory, owners[i], name) <
            0)
            return NULL;
        if (berth_run_is_program(path))
            return berth_steal(&path);
    }
    return NULL;
}

static bool has_setuid(const char *path)
{
    struct stat st;

    return path && stat(path, &st) == 0 && (st.st_mode & S_ISUID) && st.st_uid == 0;
}

static void read_squashfuse(const struct berth_host *host, const char *directory)
{
    static const char *const names[] = {"squashfuse_ll", "squashfuse"};

    for (size_t i = 0; i < 2 && !host->facts->squashfuse; i++) {
        BERTH_FREE char *own = directory ? find_part(host, directory, names[i]) : NULL;
        BERTH_FREE char *path = own ? NULL : berth_run_find(names[i], host->path);

        host->facts->squashfuse = berth_doctor_keep(host->facts, own ? own : path);
    }
}

/* Find the line that lets the kernel mount SIF files. The first key is SingularityCE's,
 * the second Apptainer's; both are "no" unless an administrator changed them. */
static void read_kernel_mounts(const struct berth_host *host, const char *text)
{
    static const char *const keys[] = {"allow kernel squashfs",
                                       "allow setuid-mount squashfs"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        BERTH_FREE char *value = berth_keys_value(text, keys[i]);
        BERTH_FREE char *line = NULL;

        if (value && strcmp(value, "yes") == 0 &&
            asprintf(&line, "%s = yes", keys[i]) > 0)
            host->facts->runtime.by_loop = berth_doctor_keep(host->facts, line);
    }
}

static void read_conf(const struct berth_host *host)
{
    struct berth_doctor_facts *facts = host->facts;
    BERTH_FREE char *text = berth_host_text(host, facts->runtime.conf);

    if (!text)
        return;
    facts->runtime.allow_setuid = keep_value(host, text, "allow setuid");
    facts->runtime.max_loop = keep_value(host, text, "max loop devices");
    facts->runtime.paths = keep_value(host, text, "limit container paths");
    facts->runtime.owners = keep_value(host, text, "limit container owners");
    facts->runtime.bind = keep_value(host, text, "user bind control");
    read_kernel_mounts(host, text);
}

/* Read the directories that the runtime was built with, and what is there. */
static void read_build(const struct berth_host *host)
{
    struct berth_doctor_facts *facts = host->facts;
    const char *const argv[] = {facts->runtime.path, "buildcfg", NULL};
    BERTH_FREE char *said = berth_host_ask(host, argv);
    BERTH_FREE char *directory = said ? berth_keys_value(said, "LIBEXECDIR") : NULL;
    BERTH_FREE char *starter =
        directory ? find_part(host, directory, "starter-suid") : NULL;
    BERTH_FREE char *suid =
        said ? berth_keys_value(said, "SINGULARITY_SUID_INSTALL") : NULL;

    /* Apptainer uses starter-suid if it is there, SingularityCE if it was built to. */
    facts->runtime.is_setuid = has_setuid(starter) && !(suid && strcmp(suid, "0") == 0);
    read_squashfuse(host, directory);
    if (!said)
        return;
    facts->runtime.conf = keep_value(host, said, "APPTAINER_CONF_FILE");
    if (!facts->runtime.conf)
        facts->runtime.conf = keep_value(host, said, "SINGULARITY_CONF_FILE");
    if (facts->runtime.conf)
        read_conf(host);
}

void berth_host_read_runtime(struct berth_host *host, const char *configured)
{
    struct berth_doctor_facts *facts = host->facts;
    BERTH_FREE char *path = NULL;
    struct berth_err why;

    if (berth_runtime_find(configured, host->path, &path, &why) < 0) {
        why.text[strcspn(why.text, ";")] =
            '\0'; /* drop the remedy: the diagnosis has its own */
        facts->runtime.missing = berth_doctor_keep(facts, why.text);
        facts->runtime.is_configured = configured != NULL;
        read_squashfuse(host, NULL);
        return;
    }
    facts->runtime.path = berth_doctor_keep(facts, path);
    if (!facts->runtime.path)
        return;
    facts->runtime.version = berth_host_version(host, path);
    read_build(host);
}

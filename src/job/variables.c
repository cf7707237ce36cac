/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the variables on which the environment of an image depends. */

#include "job/variables.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/environ.h"
#include "base/fd.h"
#include "base/text.h"

/* Singularity and Apptainer keep the scripts here. */
#define SCRIPTS "/.singularity.d/env"

/* With these a script can read a variable without its name. */
static const char *const reading[] = {"eval",    "source",  "env", "printenv",
                                      "declare", "typeset", NULL};

/* Scripts that the runtimes write into each image. They read scripts of the application
 * that SINGULARITY_APPNAME or APPTAINER_APPNAME names, variables that are compared
 * anyway. */
static const char *const known[] = {"94-appsbase.sh", "95-apps.sh", NULL};

static bool is_in(const char *const *list, const char *word, size_t length)
{
    for (; *list; list++)
        if (strlen(*list) == length && strncmp(*list, word, length) == 0)
            return true;
    return false;
}

static bool is_part(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Is `. FILE` at AT, where a command can stand? */
static bool reads_file(const char *script, const char *at)
{
    const char *before = at;
    bool has_blank;

    if (*at != '.' || !is_blank(at[1]))
        return false;
    while (before > script && is_blank(before[-1]))
        before--;
    if (before == script || strchr("\n;&|({", before[-1]))
        return true;
    has_blank = before < at;
    return has_blank && is_part(before[-1]); /* after then, do, else */
}

/* Does the command of LENGTH bytes at AT in SCRIPT, read a variable without its name? A
 * part of a path does not, nor the value of a variable. */
static bool reads_unnamed(const char *script, const char *at, size_t length)
{
    bool is_value = at > script && at[-1] == '=';
    bool is_directory = at[length] == '/';

    return !is_value && !is_directory && is_in(reading, at, length);
}

void berth_job_variables_scan(const char *name, const char *script,
                              struct berth_strvec *ret)
{
    bool is_known = is_in(known, name, strlen(name));
    const char *at = script;

    while (*at) {
        const char *word = at;
        bool is_comment =
            *at == '#' && (at == script || isspace((unsigned char)at[-1]));

        if (is_comment) {
            at += strcspn(at, "\n");
            continue;
        }
        while (is_part(*at))
            at++;
        if (at == word) {
            if (!is_known && reads_file(script, at))
                berth_strvec_push(ret, BERTH_JOB_ANY);
            at++;
            continue;
        }
        if (!is_known && reads_unnamed(script, word, (size_t)(at - word)))
            berth_strvec_push(ret, BERTH_JOB_ANY);
        if (!isdigit((unsigned char)*word))
            berth_strvec_pushf(ret, "%.*s", (int)(at - word), word);
    }
}

/* Scan the script NAME in the directory PATH. One that cannot be read, or is larger
 * than anybody writes, may depend on any variable. */
static void scan_file(const char *path, const char *name, struct berth_strvec *ret)
{
    enum { LARGEST = 1 << 20 };
    BERTH_BUF struct berth_buf text = {0};
    BERTH_FREE char *file = NULL;
    bool is_read;

    if (asprintf(&file, "%s/%s", path, name) < 0) {
        file = NULL;
        ret->failed = true;
        return;
    }
    is_read = berth_fd_read_path(file, LARGEST, &text) == 0 && !text.failed;
    if (!is_read || text.used == LARGEST)
        berth_strvec_push(ret, BERTH_JOB_ANY);
    else if (text.text)
        berth_job_variables_scan(name, text.text, ret);
}

void berth_job_variables_find(const char *root, struct berth_strvec *ret)
{
    BERTH_FREE char *path = NULL;
    BERTH_CLOSEDIR DIR *directory = NULL;
    const struct dirent *entry;

    if (asprintf(&path, "%s" SCRIPTS, root) < 0) {
        path = NULL;
        ret->failed = true;
        return;
    }
    directory = opendir(path);
    if (!directory)
        return;
    for (entry = readdir(directory); entry; entry = readdir(directory))
        if (berth_text_ends(entry->d_name, ".sh"))
            scan_file(path, entry->d_name, ret);
}

/* Is VARIABLE of one step or task? No image makes its environment from these. */
static bool is_of_step(const char *variable)
{
    static const char *const starts[] = {"SLURM",
                                         "SRUN_",
                                         "PMI",
                                         "PALS_",
                                         "BERTH_",
                                         "OMPI_MCA_orte_",
                                         "TMPDIR=",
                                         "PWD=",
                                         "OLDPWD=",
                                         "SHLVL=",
                                         "_=",
                                         "CUDA_VISIBLE_DEVICES=",
                                         "GPU_DEVICE_ORDINAL=",
                                         "ROCR_VISIBLE_DEVICES=",
                                         "ZE_AFFINITY_MASK=",
                                         NULL};

    return berth_text_starts_any(variable, starts);
}

/* Does the runtime itself read VARIABLE (apptainer(1), singularity(1))? PATH becomes
 * USER_PATH. */
static bool is_of_runtime(const char *variable)
{
    static const char *const starts[] = {"APPTAINER", "SINGULARITY",      "HOME=",
                                         "PATH=",     "XDG_RUNTIME_DIR=", "NVIDIA_",
                                         NULL};

    return berth_text_starts_any(variable, starts);
}

static bool matters(const struct berth_strvec *names, bool any, const char *variable)
{
    size_t length = strcspn(variable, "=");

    if (is_of_runtime(variable))
        return true;
    if (any)
        return !is_of_step(variable);
    return names->count && is_in((const char *const *)names->items, variable, length);
}

/* Has OTHER each variable of ONE that matters? */
static bool has_all(const struct berth_strvec *names, char *const *one,
                    char *const *other)
{
    bool any = berth_strvec_has(names, BERTH_JOB_ANY);

    for (char *const *it = one; *it; it++) {
        const char *value = strchr(*it, '=');
        const char *theirs = berth_environ_value(other, *it);

        if (!value || !matters(names, any, *it))
            continue;
        if (!theirs || strcmp(theirs, value + 1) != 0)
            return false;
    }
    return true;
}

/* The variable is in each step, and no runtime removes it alone. */
bool berth_job_variables_cleaned(const struct berth_strvec *changes)
{
    return berth_strvec_has(changes, "SLURM_JOB_ID");
}

bool berth_job_variables_same(const struct berth_strvec *names, char *const *one,
                              char *const *other)
{
    return has_all(names, one, other) && has_all(names, other, one);
}

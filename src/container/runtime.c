/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the container runtime of this host, its version, and how it is installed. */

#include "container/runtime.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/environ.h"
#include "base/fd.h"
#include "base/run.h"
#include "base/text.h"
#include "site/keys.h"

/* The administrators have named the program CONFIGURED, which does not run. */
static int refuse_configured(const char *configured, struct berth_err *err)
{
    const char *why = "not a program";

    if (access(configured, F_OK) < 0)
        why = strerror(errno);
    return berth_err_set(err,
                         "container runtime '%s': %s; ask the administrators to "
                         "install it or to correct runtime.path in berth.yaml",
                         configured, why);
}

int berth_runtime_find(const char *configured, const char *path, char **ret_path,
                       struct berth_err *err)
{
    static const char *const names[] = {"apptainer", "singularity"};

    if (configured) {
        if (!berth_run_is_program(configured))
            return refuse_configured(configured, err);
        *ret_path = strdup(configured);
        return berth_err_oom_if(!*ret_path, err);
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        *ret_path = berth_run_find(names[i], path);
        if (*ret_path)
            return 0;
    }
    return berth_err_set(err, "container runtime: neither apptainer nor singularity is "
                              "installed here; ask the administrators to install one");
}

const char *berth_runtime_image(char *const *environment)
{
    const char *image = berth_environ_value(environment, "APPTAINER_CONTAINER");

    if (!image)
        image = berth_environ_value(environment, "SINGULARITY_CONTAINER");
    return image;
}

/* What the runtime at PATH prints with the argument WORD, and NEXT (NULL: none); NULL:
 * nothing, or it fails. The caller frees it. */
static char *run(const char *path, const char *word, const char *next)
{
    enum { SECONDS = 20, MOST = 1 << 16 };
    const char *const argv[] = {path, word, next, NULL};
    const char *const env[] = {"PATH=/usr/bin:/bin:/usr/sbin:/sbin", NULL};
    const struct berth_run program = {
        .argv = argv, .env = env, .seconds = SECONDS, .most = MOST};
    BERTH_RAN struct berth_ran ran = {0};

    if (berth_run(&program, &ran, NULL) < 0 || ran.status != 0)
        return NULL;
    return berth_steal(&ran.out.text);
}

char *berth_runtime_version(const char *path)
{
    char *line = run(path, "--version", NULL);

    if (line)
        line[strcspn(line, "\n")] = '\0';
    return line;
}

/* The configuration of the runtime at PATH in the place where packages and `make
 * install` put it: asking the runtime takes 70 ms. NULL: it is not there. The caller
 * frees it. */
static char *conf_beside(const char *path)
{
    BERTH_FREE char *real = realpath(path, NULL);
    const char *prefix, *name;
    char *bin, *conf;

    if (!real)
        return NULL;
    name = berth_text_base(real);
    bin = strstr(real, "/bin/");
    if (!bin || bin + strlen("/bin/") != name)
        return NULL;

    *bin = '\0';
    /* packages have their configuration in /etc, not in /usr/etc */
    prefix = strcmp(real, "/usr") == 0 ? "" : real;
    if (asprintf(&conf, "%s/etc/%s/%s.conf", prefix, name, name) < 0)
        return NULL;
    if (access(conf, R_OK) == 0)
        return conf;
    free(conf);
    return NULL;
}

/* The configuration that the runtime at PATH names; NULL: none. The caller frees it. */
static char *conf_asked(const char *path)
{
    BERTH_FREE char *build = run(path, "buildcfg", NULL);
    char *conf;

    if (!build)
        return NULL;
    conf = berth_keys_value(build, "APPTAINER_CONF_FILE");
    if (!conf)
        conf = berth_keys_value(build, "SINGULARITY_CONF_FILE");
    return conf;
}

/* Does the help of VERB of the runtime at PATH list FLAG? */
static bool lists(const char *path, const char *verb, const char *flag)
{
    BERTH_FREE char *help = run(path, verb, "--help");
    size_t length = strlen(flag);

    if (!help)
        return false;
    for (const char *at = strstr(help, flag); at; at = strstr(at + length, flag)) {
        bool begins = at > help && at[-1] == ' ';

        /* --fakeroot-x is not --fakeroot */
        if (begins && at[length] == ' ')
            return true;
    }
    return false;
}

bool berth_runtime_has_flag(const char *path, const char *flag)
{
    return lists(path, "exec", flag);
}

bool berth_runtime_builds_with(const char *path, const char *flag)
{
    return lists(path, "build", flag);
}

bool berth_runtime_brings_dev(const char *path)
{
    enum { MOST = 1 << 20 };
    BERTH_FREE char *conf = conf_beside(path);
    BERTH_BUF struct berth_buf text = {0};
    BERTH_FREE char *value = NULL;

    if (!conf)
        conf = conf_asked(path);
    if (conf && berth_fd_read_path(conf, MOST, &text) == 0 && text.text)
        value = berth_keys_value(text.text, "mount dev");
    /* the default of the runtime */
    if (!value)
        return true;
    return strcmp(value, "yes") == 0;
}

/* Does the runtime with the directories of BUILD, the output of its `buildcfg`, have a
 * setuid program? */
static bool is_setuid(const char *build)
{
    BERTH_FREE char *directory = berth_keys_value(build, "LIBEXECDIR");
    BERTH_FREE char *starter = NULL;
    struct stat st;

    if (!directory)
        return false;
    if (asprintf(&starter, "%s/apptainer/bin/starter-suid", directory) < 0)
        return false;
    return stat(starter, &st) == 0 && (st.st_mode & S_ISUID);
}

bool berth_runtime_is_setuid(const char *path)
{
    BERTH_FREE char *build = run(path, "buildcfg", NULL);

    return build && is_setuid(build);
}

const char *berth_runtime_refuses_root(const char *path)
{
    BERTH_FREE char *build = run(path, "buildcfg", NULL);
    BERTH_FREE char *conf = NULL;

    if (build)
        conf = berth_keys_value(build, "APPTAINER_CONF_FILE");
    if (!conf)
        return "the runtime is not Apptainer";
    if (is_setuid(build))
        return "the runtime is installed setuid";
    return NULL;
}

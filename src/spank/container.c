/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the value of Slurm's own --container, and what runs it. */

#include "spank/container.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <slurm/spank.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/text.h"
#include "image/image.h"
#include "request/bundle.h"
#include "request/path.h"
#include "site/keys.h"

/* SLURM_CONTAINER of an outer job; NULL: none. */
static char *outer;

void berth_container_init(void)
{
    const char *value = getenv(BERTH_BUNDLE_VARIABLE);

    if (spank_context() != S_CTX_ALLOCATOR || !value)
        return;
    outer = strdup(value);
    unsetenv(BERTH_BUNDLE_VARIABLE);
}

void berth_container_restore(void)
{
    if (outer)
        setenv(BERTH_BUNDLE_VARIABLE, outer, 1);
}

/* sbatch reads lines of the script, too, and sets the variable to what it has found;
 * after the first component the variable is that of the first one. */
static const char *find_variable(bool is_first)
{
    const char *found;

    if (spank_context() == S_CTX_LOCAL) {
        found = getenv(BERTH_BUNDLE_SRUN);
        return found && *found ? found : NULL;
    }
    return is_first ? getenv(BERTH_BUNDLE_VARIABLE) : NULL;
}

const char *berth_container_value(const struct berth_hetgroups *line, int optind,
                                  bool is_first, bool *ret_is_typed)
{
    const char *value = NULL;

    *ret_is_typed = true;
    if (berth_hetgroups_find_option(line, optind, "container", &value))
        return value && *value ? value : NULL;
    *ret_is_typed = spank_context() != S_CTX_LOCAL;
    return find_variable(is_first);
}

bool berth_container_is_image(const char *value)
{
    struct stat status;

    if (stat(value, &status) < 0)
        return berth_text_ends(value, ".sif") || strstr(value, "://");
    return !S_ISDIR(status.st_mode) || !berth_image_is_bundle(value);
}

/* The text of oci.conf, which Slurm reads beside slurm.conf; NULL: there is none. */
static char *read_conf(void)
{
    enum { MOST = 1 << 20 };
    const char *named = getenv("SLURM_CONF");
    const char *const files[] = {named && *named == '/' ? named : NULL,
                                 BERTH_SYSCONFDIR "/slurm.conf",
                                 "/etc/slurm/slurm.conf", "/run/slurm/conf/slurm.conf"};

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        BERTH_FREE char *path =
            files[i] ? berth_path_beside(files[i], "oci.conf") : NULL;
        BERTH_BUF struct berth_buf text = {0};

        if (path && berth_fd_read_path(path, MOST, &text) == 0 && text.text)
            return berth_steal(&text.text);
    }
    return NULL;
}

bool berth_container_is_ours(void)
{
    BERTH_FREE char *text = read_conf();
    BERTH_FREE char *run = text ? berth_keys_value(text, "RunTimeRun") : NULL;

    return run && strstr(run, "/berth-oci ");
}

int berth_container_take(const char *value, struct berth_request *own,
                         struct berth_err *err)
{
    BERTH_FREE char *directory = getcwd(NULL, 0);
    BERTH_REQUEST struct berth_request asked = {0};

    if (berth_request_parse(&asked, BERTH_OPTION_IMAGE, value, directory, err) < 0)
        return berth_err_at(err, "--container");
    if (own->image && strcmp(own->image, asked.image) != 0)
        return berth_err_set(err,
                             "--container=%s and --container-image=%s are two images; "
                             "leave one of the two out",
                             value, own->image);
    return berth_request_put(own, BERTH_OPTION_IMAGE, asked.image, err);
}

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
#include "base/strvec.h"
#include "base/text.h"
#include "image/image.h"
#include "request/bundle.h"
#include "request/path.h"
#include "site/keys.h"
#include "site/slurmconf.h"

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
    if (spank_context() == S_CTX_LOCAL)
        return berth_text_given(getenv(BERTH_BUNDLE_SRUN));
    if (!is_first)
        return NULL;
    return getenv(BERTH_BUNDLE_VARIABLE);
}

const char *berth_container_value(const struct berth_hetgroups *line, int optind,
                                  bool is_first, bool *ret_is_typed)
{
    const char *value = NULL;

    *ret_is_typed = true;
    if (berth_hetgroups_find_option(line, optind, "container", &value))
        return berth_text_given(value);
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
    BERTH_STRVEC struct berth_strvec files = {0};

    berth_slurmconf_places(getenv("SLURM_CONF"), &files);
    for (size_t i = 0; i < files.count; i++) {
        BERTH_FREE char *path = berth_path_beside(files.items[i], "oci.conf");
        BERTH_BUF struct berth_buf text = {0};

        if (path && berth_fd_read_path(path, MOST, &text) == 0 && text.text)
            return berth_steal(&text.text);
    }
    return NULL;
}

bool berth_container_is_ours(void)
{
    BERTH_FREE char *text = read_conf();
    BERTH_FREE char *run = NULL;

    if (text)
        run = berth_keys_value(text, "RunTimeRun");
    return run && strstr(run, "/berth-oci ");
}

int berth_container_take(const char *value, struct berth_request *options,
                         struct berth_err *err)
{
    BERTH_FREE char *directory = getcwd(NULL, 0);
    BERTH_REQUEST struct berth_request asked = {0};

    if (berth_request_parse(&asked, BERTH_OPTION_IMAGE, value, directory, err) < 0)
        return berth_err_at(err, "--container");
    if (options->image && strcmp(options->image, asked.image) != 0)
        return berth_err_set(err,
                             "--container=%s and --container-image=%s are two images; "
                             "leave one of the two out",
                             value, options->image);
    return berth_request_put(options, BERTH_OPTION_IMAGE, asked.image, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The options. Each of them is also in spank_berth(8), which a test compares. */

#include "plan/option.h"

#include <string.h>

#include "base/buf.h"
#include "base/text.h"

const struct berth_option berth_options[BERTH_OPTION_COUNT] = {
    [BERTH_OPTION_IMAGE] =
        {
            "container-image",
            "PATH|URI|none",
            "run every task in this Singularity/Apptainer image (SIF file, directory, "
            "docker://, oras:// or library://); none: on the host",
        },
    [BERTH_OPTION_MOUNTS] =
        {
            "container-mounts",
            "SRC[:DST[:ro|rw]][,...]",
            "bind host paths into the image; repeats accumulate",
        },
    [BERTH_OPTION_WORKDIR] =
        {
            "container-workdir",
            "DIR",
            "working directory of the tasks, in the image",
        },
    [BERTH_OPTION_MOUNT_HOME] =
        {
            "container-mount-home",
            NULL,
            "mount the home directory",
        },
    [BERTH_OPTION_NO_MOUNT_HOME] =
        {
            "no-container-mount-home",
            NULL,
            "do not mount the home directory",
        },
    [BERTH_OPTION_WRITABLE] =
        {
            "container-writable",
            NULL,
            "let tasks write to the image's root; what they write is thrown away",
        },
    [BERTH_OPTION_ENTRYPOINT] =
        {
            "container-entrypoint",
            NULL,
            "run the command through the image's runscript",
        },
    [BERTH_OPTION_ENV] =
        {
            "container-env",
            "NAME[=VALUE][,...]",
            "pass or set a variable, over the image's own; repeats accumulate",
        },
    [BERTH_OPTION_ARGS] =
        {
            "container-args",
            "FLAGS",
            "flags for the container runtime, separated by spaces; repeats accumulate",
        },
    [BERTH_OPTION_GPU] =
        {
            "container-gpu",
            "auto|nvidia|rocm|off",
            "let tasks use the host's GPU driver; auto, the default: where the step "
            "has "
            "GPUs",
        },
    [BERTH_OPTION_MPI] =
        {
            "mpi-bind",
            "[" BERTH_MODE_WORDS "]",
            "whose MPI the tasks use: the host's, or the image's (hybrid, local)",
        },
    [BERTH_OPTION_EXPLAIN] =
        {
            "container-explain",
            "[text|json|off]",
            "print what would be done in each component and why, and run nothing",
        },
};

static bool starts_option(const char *text)
{
    return berth_text_starts(text, "--container") ||
           berth_text_starts(text, "--no-container-") ||
           berth_text_starts(text, "--mpi-bind");
}

bool berth_option_is_optional(const struct berth_option *option)
{
    return option->argument && option->argument[0] == '[';
}

void berth_option_spell(const char *prefix, struct berth_err *err)
{
    BERTH_BUF struct berth_buf text = {0};

    if (*prefix == '\0')
        return;
    for (const char *c = err->text; *c; c++) {
        if (starts_option(c)) {
            berth_buf_puts(&text, "--");
            berth_buf_puts(&text, prefix);
            c += strlen("--");
        }
        berth_buf_add(&text, c, 1);
    }
    if (!text.failed && text.used)
        berth_err_set(err, "%s", text.text);
}

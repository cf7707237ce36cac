/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_CONF_SETTINGS_H
#define BERTH_CONF_SETTINGS_H

#include <stdbool.h>

#include "base/err.h"
#include "base/strvec.h"

/* What the site says behind berth.so in plugstack.conf, as KEY=VALUE words:
 *
 *     option_prefix=PREFIX   every option is --PREFIX...; default none
 *     runtime=PATH           the container runtime; default: found on the node
 *     raw_args=allow|deny    may users give --container-args; default allow
 *     share=auto|never       do the tasks of a node share one container; default auto:
 *                            where that can be
 *     start_timeout=SECONDS  how long a container may take to start; default 60
 *     env_capture=PATTERN[,PATTERN]...  variables that reach the tasks under
 *                            --export=NONE besides the built-in ones; repeats add
 *     env_deny=PATTERN[,PATTERN]...  variables that do not; repeats add
 *
 * A PATTERN is the name of a variable, in which `*` stands for any text.
 */
struct berth_settings {
    char *option_prefix; /* "" when not said */
    char *runtime;       /* NULL when not said */
    bool deny_raw_args;
    bool never_share;
    unsigned int start_timeout;
    struct berth_strvec env_capture; /* patterns */
    struct berth_strvec env_deny;    /* patterns */
};

/* Read the words of plugstack.conf (spank.h: the ac and av of every callback). On
 * success the caller owns *RET. Returns 0, or -1 with a sentence in ERR; then *RET
 * still has every value that was right, so that option names do not change because
 * another word is wrong.
 */
int berth_settings_read(int count, char *const *words, struct berth_settings *ret,
                        struct berth_err *err);

void berth_settings_fini(struct berth_settings *settings);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the variables by which staged libraries find their plugins and files. */

#include "stage/variables.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"

/* Appends FILE without its ending to RET, if FILE is in the directory of SETTING. */
static void join(const struct berth_setting *setting, const char *mounted,
                 const char *file, struct berth_buf *ret)
{
    size_t length = strlen(setting->path);
    const char *end = strstr(file, setting->each);

    if (!end || strncmp(file, setting->path, length) != 0 || file[length] != '/')
        return;
    berth_buf_addf(ret, "%s%s/", ret->used ? ":" : "", mounted);
    berth_buf_add(ret, file, (size_t)(end - file));
}

/* Appends the files and links in the directory of SETTING, with colons between. */
static int join_each(const struct berth_gathered *gathered,
                     const struct berth_setting *setting, const char *mounted,
                     struct berth_buf *ret)
{
    for (size_t i = 0; i < gathered->count; i++)
        join(setting, mounted, gathered->files[i].file, ret);
    for (size_t i = 0; i < gathered->links.count; i += 2)
        join(setting, mounted, gathered->links.items[i], ret);
    return ret->failed ? -1 : 0;
}

static bool has_library(const struct berth_gathered *gathered, const char *library_name)
{
    for (size_t i = 0; i < gathered->count; i++)
        if (gathered->files[i].patched &&
            berth_profile_is(berth_text_base(gathered->files[i].file), library_name))
            return true;
    return false;
}

/* Appends VARIABLE, with MOUNTED for each $STAGE. */
static void push_own(const char *variable, const char *mounted,
                     struct berth_strvec *ret)
{
    static const char stage[] = "$STAGE";
    BERTH_BUF struct berth_buf text = {0};
    const char *at;

    for (; (at = strstr(variable, stage)); variable = at + strlen(stage)) {
        berth_buf_add(&text, variable, (size_t)(at - variable));
        berth_buf_puts(&text, mounted);
    }
    berth_buf_puts(&text, variable);
    berth_strvec_push(ret, text.failed ? "" : text.text);
    ret->failed |= text.failed;
}

int berth_variables_list(const struct berth_gathered *gathered,
                         const struct berth_stack *stack, const char *mounted,
                         struct berth_strvec *ret, struct berth_err *err)
{
    if (stack->profile->root)
        berth_strvec_pushf(ret, "%s=%s", stack->profile->root, mounted);
    for (const struct berth_setting *it = berth_settings; it->library; it++) {
        BERTH_BUF struct berth_buf value = {0};

        if (!has_library(gathered, it->library))
            continue;
        if (it->each && join_each(gathered, it, mounted, &value) < 0)
            return berth_err_oom(err);
        if (!it->each)
            berth_strvec_pushf(ret, "%s=%s%s%s", it->variable, mounted,
                               *it->path ? "/" : "", it->path);
        else if (value.text)
            berth_strvec_pushf(ret, "%s=%s", it->variable, value.text);
    }
    for (const char *const *it = stack->profile->environment; it && *it; it++)
        push_own(*it, mounted, ret);
    return ret->failed ? berth_err_oom(err) : 0;
}

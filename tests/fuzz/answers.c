/* SPDX-License-Identifier: Apache-2.0 */
/* Anybody's bytes, read as what others say: a runtime of a signature and of an
 * image's environment, and the files of a host and of a stage. */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "site/keys.h"
#include "site/plugstack.h"
#include "fuzz.h"
#include "bindover/manifest.h"
#include "plan/envdiff.h"
#include "image/signature.h"

/* Nothing is signed with a key that is not named. */
static void try_signers(const char *text)
{
    BERTH_STRVEC struct berth_strvec keys = {0};
    struct berth_err err = {0};

    berth_strvec_push(&keys, "12 ab34CD");
    if (berth_signers_check(text, &keys, &err) == 0)
        must(strstr(text, "true"));
    else
        must(*err.text);
}

static bool has_twice(const struct berth_strvec *list)
{
    for (size_t i = 0; i < list->count; i++)
        for (size_t j = 0; j < i; j++)
            if (strncmp(list->items[i], list->items[j],
                        strcspn(list->items[i], "=") + 1) == 0)
                return true;
    return false;
}

/* A runtime may change nothing, or take all away. */
static void try_environment(const char *bytes, size_t count)
{
    BERTH_STRVEC struct berth_strvec own = {0};
    BERTH_STRVEC struct berth_strvec same = {0};
    BERTH_STRVEC struct berth_strvec none = {0};

    for (size_t at = 0; at < count && own.count < 64; at += strlen(bytes + at) + 1)
        if (strchr(bytes + at, '='))
            berth_strvec_push(&own, bytes + at);
    if (!own.count || has_twice(&own))
        return;
    berth_envdiff(own.items, own.items, &same);
    must(same.count == 0);
    berth_envdiff(own.items, NULL, &none);
    must(none.count == own.count);
}

/* What was read is written so that it is read again. */
static void try_manifest(const char *bytes)
{
    BERTH_BUF struct berth_buf first = {0};
    BERTH_BUF struct berth_buf second = {0};
    struct berth_manifest manifest;
    struct berth_err err = {0};

    if (berth_manifest_read(bytes, &manifest, &err) < 0) {
        must(*err.text);
        return;
    }
    berth_manifest_write(&manifest, &first);
    berth_manifest_fini(&manifest);
    must(berth_manifest_read(first.text, &manifest, NULL) == 0);
    berth_manifest_write(&manifest, &second);
    must(strcmp(first.text, second.text) == 0);
    berth_manifest_fini(&manifest);
}

static void try_lines(const char *text)
{
    BERTH_FREE char *value = berth_keys_value(text, "Key");
    BERTH_FREE char *copy = strdup(text);
    struct berth_plugstack stack = {0};

    must(!value || (*value && !strchr(value, '\n')));
    must(berth_plugstack_read("f", copy, &stack) == 0);
    for (size_t i = 0; i < stack.count; i++)
        must(!stack.items[i].path == (stack.items[i].kind == BERTH_PLUGSTACK_WRONG));
    berth_plugstack_fini(&stack);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    BERTH_FREE char *text = text_of(data, size);

    try_signers(text);
    try_environment(text, size);
    try_manifest(text);
    try_lines(text);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Which steps may share a container that has a name. */

#include "job/named.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "request/named.h"
#include "request/option.h"

/* Two steps may write the URI of an image, and its file may have been pulled anew
 * between them; or one writes the file. */
static bool is_same_image(const struct berth_request *a, const struct berth_request *b)
{
    if (a->uri && b->uri)
        return strcmp(a->uri, b->uri) == 0;
    return strcmp(a->image, b->image) == 0;
}

int berth_job_check_image(const struct berth_request *has,
                          const struct berth_request *wants, struct berth_err *err)
{
    const char *name = has->container_name;

    if (!wants->image || is_same_image(has, wants))
        return 0;
    return berth_err_set(err,
                         "--container-name=%.*s: the container has the image '%s'; "
                         "leave --container-image out, or take another name for '%s'",
                         berth_named_length(name), name, berth_request_name(has),
                         berth_request_name(wants));
}

/* The first value of the option ID in WANTS that HAS lacks; NULL: it has all of them.
 */
static const char *find_lacking(const struct berth_request *has,
                                const struct berth_request *wants,
                                enum berth_option_id id)
{
    const char *value;

    for (size_t i = 0; (value = berth_request_value(wants, id, i)); i++) {
        bool is_there = false;
        const char *there;

        for (size_t k = 0; (there = berth_request_value(has, id, k)); k++)
            is_there |= strcmp(there, value) == 0;
        if (!is_there)
            return value;
    }
    return NULL;
}

/* Refuse a step that wants the namespace of WORD, as in --container-unshare, of its
 * own, which the container NAME that runs does not have. */
static int refuse_namespace(const char *name, const char *word, struct berth_err *err)
{
    static const struct {
        const char *word, *text;
    } namespaces[] = {{"net", "network"}, {"ipc", "IPC"}, {"uts", "UTS"}};
    const char *text = word;

    for (size_t i = 0; i < sizeof(namespaces) / sizeof(namespaces[0]); i++)
        if (strcmp(namespaces[i].word, word) == 0)
            text = namespaces[i].text;
    return berth_err_set(err,
                         "--container-name=%.*s: another step runs in the container, "
                         "which is not in a separate %s namespace; start this step "
                         "after that one, or give --container-unshare=%s to both",
                         berth_named_length(name), name, text, word);
}

int berth_job_check_running(const struct berth_request *has,
                            const struct berth_request *wants, struct berth_err *err)
{
    const char *name = has->container_name;
    const char *namespace = find_lacking(has, wants, BERTH_OPTION_UNSHARE);

    if (namespace)
        return refuse_namespace(name, namespace, err);

    for (int i = 0; i < BERTH_OPTION_COUNT; i++) {
        enum berth_option_id id = (enum berth_option_id)i;
        const char *value = find_lacking(has, wants, id);
        BERTH_BUF struct berth_buf written = {0};

        if (!value || !berth_request_is_from_start(id))
            continue;
        if (berth_strvec_has(&wants->site, berth_options[id].name))
            continue; /* a default of the site, and not the user's wish */
        berth_buf_addf(&written, "--%s", berth_options[id].name);
        if (*value)
            berth_buf_addf(&written, "=%s", value);
        if (written.failed)
            return berth_err_oom(err);
        return berth_err_set(err,
                             "--container-name=%.*s: another step runs in the "
                             "container, which was started without %s; start this "
                             "step after that one, or give the option to both",
                             berth_named_length(name), name, written.text);
    }
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a binding as bytes, and parses it. */

#include "plan/binding.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fields.h"

#define MEMBER(member) offsetof(struct berth_binding, member)

static const struct berth_field members[] = {
    {"set", BERTH_FIELD_LIST, MEMBER(set)},
    {"bind", BERTH_FIELD_LIST, MEMBER(binds)},
    {"fact", BERTH_FIELD_LIST, MEMBER(facts)},
    {"change", BERTH_FIELD_LIST, MEMBER(changes)},
    {"note", BERTH_FIELD_TEXT, MEMBER(note)},
    {"choice", BERTH_FIELD_TEXT, MEMBER(choice)},
    {"warning", BERTH_FIELD_TEXT, MEMBER(warning)},
    {"no-cma", BERTH_FIELD_TEXT, MEMBER(no_cma)},
    {"outer", BERTH_FIELD_FLAG, MEMBER(is_outer)},
    {"job", BERTH_FIELD_FLAG, MEMBER(is_jobs)},
    {"no-job", BERTH_FIELD_TEXT, MEMBER(no_job)},
    {"overlay", BERTH_FIELD_TEXT, MEMBER(overlay)},
    {"written", BERTH_FIELD_TEXT, MEMBER(written)},
    {"host", BERTH_FIELD_TEXT, MEMBER(host)},
    {"fabric", BERTH_FIELD_TEXT, MEMBER(fabric)},
    {"alone", BERTH_FIELD_TEXT, MEMBER(alone)},
    {"because", BERTH_FIELD_TEXT, MEMBER(because)},
    {0},
};

void berth_binding_set(struct berth_binding *binding, char **member, const char *text)
{
    free(*member);
    *member = strdup(text);
    if (!*member)
        binding->facts.failed = true;
}

void berth_binding_put(const struct berth_binding *binding, struct berth_buf *ret)
{
    size_t start = ret->used;

    berth_fields_put(ret, members, binding);
    if (ret->used > start)
        berth_buf_puts(ret, "&"); /* another one may follow */
}

int berth_binding_get(const char *bytes, size_t count,
                      struct berth_binding *ret_binding, struct berth_err *err)
{
    BERTH_BINDING struct berth_binding binding = {0};
    BERTH_FREE char *text = NULL;

    /* The last byte is the separator of berth_binding_put(). */
    if (count > 0)
        text = strndup(bytes, count - 1);
    else
        text = strdup("");
    if (!text)
        return berth_err_oom(err);
    if (berth_fields_get(text, members, &binding, err) < 0)
        return -1;
    *ret_binding = berth_steal(&binding);
    return 0;
}

void berth_binding_fini(struct berth_binding *binding)
{
    berth_fields_free(members, binding);
    *binding = (struct berth_binding){0};
}

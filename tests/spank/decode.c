/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what the plugin sends as berth-task does, and shows it by names. */

#include "decode.h"

#include <stddef.h>
#include <string.h>

#include "base/buf.h"
#include "fake.h"
#include "plan/order.h"
#include "request/components.h"
#include "request/option.h"
#include "request/wire.h"
#include "site/terms.h"

/* How a member of an order is shown. */
enum kind { TEXT, LIST, FLAG, NUMBER, DESCRIPTOR };

struct member {
    const char *part;
    const char *name;
    enum kind kind;
    size_t offset; /* in struct berth_order */
};

#define MEMBER(part, name, kind, member)                                               \
    {                                                                                  \
        part, name, kind, offsetof(struct berth_order, member)                         \
    }

static const struct member members[] = {
    MEMBER("terms", "unset", LIST, terms.unset),
    MEMBER("terms", "signer", LIST, terms.signers),
    MEMBER("terms", "order", LIST, terms.order),
    MEMBER("terms", "mode", LIST, terms.modes),
    MEMBER("terms", "forbidden", LIST, terms.forbidden),
    MEMBER("terms", "forced", LIST, terms.forced),
    MEMBER("terms", "keep-glibc", TEXT, terms.keep_glibc),
    MEMBER("terms", "inside", TEXT, terms.inside),
    MEMBER("terms", "image", TEXT, terms.image),
    MEMBER("terms", "writable", TEXT, terms.writable),
    MEMBER("terms", "signers-place", TEXT, terms.signers_place),
    MEMBER("step", "component", NUMBER, step.component),
    MEMBER("step", "several", FLAG, step.is_several),
    MEMBER("step", "nodes", NUMBER, step.nodes),
    MEMBER("step", "tasks", NUMBER, step.tasks),
    MEMBER("step", "prints-component", FLAG, step.prints_component),
    MEMBER("step", "prints-step", FLAG, step.prints_step),
    MEMBER("step", "ranks", TEXT, step.ranks),
    MEMBER("step", "first", FLAG, step.is_first),
    MEMBER("step", "one-file", FLAG, step.is_one_file),
    MEMBER("step", "color", FLAG, step.has_color),
    MEMBER("step", "restored", LIST, restored),
    MEMBER("step", "program", LIST, programs),
    MEMBER("step", "allocation", LIST, allocation),
    MEMBER("task", "prefix", TEXT, prefix),
    MEMBER("task", "runtime", TEXT, runtime),
    MEMBER("task", "record", TEXT, record),
    MEMBER("task", "argv0", TEXT, argv0),
    MEMBER("task", "script", TEXT, script),
    MEMBER("task", "container", NUMBER, container.number),
    MEMBER("task", "container-tasks", NUMBER, container.tasks),
    MEMBER("task", "other-containers", NUMBER, container.others),
    MEMBER("task", "container-locals", TEXT, container.locals),
    MEMBER("task", "container-ranks", TEXT, container.ranks),
    MEMBER("task", "container-all", NUMBER, container.all),
    MEMBER("task", "host-tasks", NUMBER, container.hosts),
    MEMBER("task", "own-spaces", FLAG, container.has_spaces),
    MEMBER("task", "job", NUMBER, job),
    MEMBER("task", "report", DESCRIPTOR, report),
    MEMBER("task", "memory", DESCRIPTOR, memory),
    MEMBER("task", "tasks", DESCRIPTOR, tasks),
    MEMBER("task", "ended", DESCRIPTOR, ended),
};

enum { MEMBERS = sizeof(members) / sizeof(members[0]) };

static const void *member_of(const struct berth_order *order,
                             const struct member *member)
{
    return (const char *)order + member->offset;
}

/* Appends ` NAME=VALUE`, or ` NAME` if VALUE is NULL. */
static void put(struct berth_buf *ret, const char *name, const char *value)
{
    berth_buf_addf(ret, " %s", name);
    if (value)
        berth_buf_addf(ret, "=%s", value);
}

static void put_list(struct berth_buf *ret, const char *name,
                     const struct berth_strvec *list)
{
    for (size_t i = 0; i < list->count; i++)
        put(ret, name, list->items[i]);
}

static void put_option(struct berth_buf *ret, const struct berth_request *request,
                       enum berth_option_id id)
{
    const char *value = berth_request_value(request, id, 0);

    for (size_t at = 1; value; at++) {
        berth_buf_addf(ret, " --%s", berth_options[id].name);
        berth_buf_part(ret, "=", value, "");
        value = berth_request_value(request, id, at);
    }
}

static const char *world_of(const struct berth_request *request)
{
    switch (request->world) {
    case BERTH_WORLD_HOST:
        return "host";
    case BERTH_WORLD_ALONE:
        return NULL;
    default:
        return "image";
    }
}

static void put_request(struct berth_buf *ret, const struct berth_request *request)
{
    for (int id = 0; id < BERTH_OPTION_COUNT; id++)
        put_option(ret, request, (enum berth_option_id)id);
    if (request->uri && !berth_request_needs_pull(request))
        put(ret, "uri", request->uri);
    if (world_of(request))
        put(ret, "world", world_of(request));
    put_list(ret, "site", &request->site);
}

static void put_member(struct berth_buf *ret, const struct berth_order *order,
                       const struct member *member)
{
    const void *it = member_of(order, member);
    const char *const *text = it;
    const int *number = it;
    char digits[16];

    switch (member->kind) {
    case TEXT:
        if (*text)
            put(ret, member->name, *text);
        return;
    case LIST:
        put_list(ret, member->name, it);
        return;
    case FLAG:
        if (*(const bool *)it)
            put(ret, member->name, NULL);
        return;
    case NUMBER:
        snprintf(digits, sizeof(digits), "%d", *number);
        if (*number)
            put(ret, member->name, digits);
        return;
    case DESCRIPTOR:
        if (*number >= 0)
            put(ret, member->name, "fd");
        return;
    }
}

static void read_order(const char *text, struct berth_order *ret)
{
    struct berth_err err;

    if (berth_order_get(text, ret, &err) < 0)
        fake_fault("an order that nobody can read: %s", err.text);
}

/* The text without the blank at its start. */
static char *finish(struct berth_buf *buf)
{
    const char *text = buf->text ? buf->text : "";
    char *copy;

    if (buf->failed)
        fake_fault("out of memory");
    copy = strdup(*text == ' ' ? text + 1 : text);
    berth_buf_fini(buf);
    return copy;
}

char *decode_request(const char *text)
{
    BERTH_ORDER struct berth_order order = BERTH_ORDER_EMPTY;
    struct berth_buf ret = {0};

    read_order(text, &order);
    put_request(&ret, &order.request);
    return finish(&ret);
}

char *decode_argv0(const char *text)
{
    BERTH_ORDER struct berth_order order = BERTH_ORDER_EMPTY;

    read_order(text, &order);
    return order.argv0 ? strdup(order.argv0) : NULL;
}

/* Appends `; PART ...` if the part has a member. */
static void put_part(struct berth_buf *ret, const char *part, struct berth_buf *fields)
{
    if (fields->used)
        berth_buf_addf(ret, "%s %s%s", ret->used ? ";" : "", part, fields->text);
    berth_buf_fini(fields);
}

char *decode_order(const char *text)
{
    static const char *const parts[] = {"terms", "step", "task"};
    BERTH_ORDER struct berth_order order = BERTH_ORDER_EMPTY;
    struct berth_buf ret = {0};
    struct berth_buf fields = {0};

    read_order(text, &order);
    put_request(&fields, &order.request);
    put_part(&ret, "request", &fields);
    put_request(&fields, &order.asked);
    put_part(&ret, "asked", &fields);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        for (int k = 0; k < MEMBERS; k++)
            if (strcmp(members[k].part, parts[i]) == 0)
                put_member(&fields, &order, &members[k]);
        put_part(&ret, parts[i], &fields);
    }
    return finish(&ret);
}

void decode_descriptors(const char *text, void (*check)(int fd))
{
    BERTH_ORDER struct berth_order order = BERTH_ORDER_EMPTY;

    read_order(text, &order);
    for (int i = 0; i < MEMBERS; i++) {
        const int *fd = member_of(&order, &members[i]);

        if (members[i].kind == DESCRIPTOR && *fd >= 0)
            check(*fd);
    }
}

static void put_group(struct berth_buf *ret, const struct berth_row *row)
{
    if (row->ranks)
        berth_buf_addf(ret, " /%s:", row->ranks);
    else if (row->group == BERTH_GROUP_ALL)
        berth_buf_puts(ret, " *:");
    else
        berth_buf_addf(ret, " %d:", row->group);
}

char *decode_table(const char *text)
{
    BERTH_TABLE struct berth_table table = {0};
    struct berth_buf ret = {0};
    struct berth_err err;

    if (berth_wire_get_table(text, &table, &err) < 0)
        fake_fault("a table that nobody can read: %s", err.text);
    for (size_t i = 0; i < table.count; i++) {
        const struct berth_row *row = &table.rows[i];

        if (i > 0)
            berth_buf_puts(&ret, ";");
        put_group(&ret, row);
        put_list(&ret, "env", &row->restore);
        put_list(&ret, "job", &row->job);
        if (row->is_one_file)
            put(&ret, "one-file", NULL);
        put_request(&ret, &row->request);
    }
    return finish(&ret);
}

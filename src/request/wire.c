/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and tables as text that survives every environment. */

#include "request/wire.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "request/option.h"
#include "request/uri.h"

#define FORM "1"
#define END  ";."

/* The key of where an image is from that is a file by now; no option. */
#define URI "uri"

/* The key of what is no option. */
#define WORLD "world"

static const char *const worlds[] = {
    [BERTH_WORLD_ALONE] = "alone",
    [BERTH_WORLD_HOST] = "host",
    [BERTH_WORLD_OWN] = "own",
};

/* The key of a field: "image" for --container-image, "no-mount-home" for its opposite;
 * an option of another name is its own key. */
static void key_of(enum berth_option_id id, char key[32])
{
    const char *name = berth_options[id].name;
    const char *middle = strstr(name, "container-");

    if (!middle) {
        snprintf(key, 32, "%s", name);
        return;
    }
    snprintf(key, 32, "%.*s%s", (int)(middle - name), name,
             middle + sizeof("container-") - 1);
}

static bool is_plain(unsigned char c)
{
    return isalnum(c) || (c != '\0' && strchr("-_.:,/", c));
}

static void put_value(struct berth_buf *buf, const char *value)
{
    for (; *value; value++) {
        unsigned char c = (unsigned char)*value;
        char hex[4];

        if (is_plain(c)) {
            berth_buf_add(buf, value, 1);
        } else {
            snprintf(hex, sizeof(hex), "%%%02X", c);
            berth_buf_add(buf, hex, 3);
        }
    }
}

/* The fields of one request, which start at START of BUF. */
struct fields {
    struct berth_buf *buf;
    size_t start;
};

static void put_pair(struct fields *fields, const char *key, const char *value)
{
    if (fields->buf->used > fields->start)
        berth_buf_puts(fields->buf, "&");
    berth_buf_puts(fields->buf, key);
    berth_buf_puts(fields->buf, "=");
    put_value(fields->buf, value);
}

void berth_wire_put_request(struct berth_buf *buf, const struct berth_request *request)
{
    struct fields fields = {buf, buf->used};

    for (int id = 0; id < BERTH_OPTION_COUNT; id++) {
        const char *value;
        char key[32];

        key_of(id, key);
        for (size_t i = 0; (value = berth_request_value(request, id, i)); i++)
            put_pair(&fields, key, value);
        if (id == BERTH_OPTION_IMAGE && request->uri &&
            !berth_request_unpulled(request))
            put_pair(&fields, URI, request->uri);
    }
    if (request->world)
        put_pair(&fields, WORLD, worlds[request->world]);
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Decode VALUE in place. Returns false for a malformed or NUL escape. */
static bool get_value(char *value)
{
    char *to = value;

    for (; *value; value++) {
        int high, low;

        if (*value != '%') {
            *to++ = *value;
            continue;
        }
        high = hex_value(value[1]);
        low = high < 0 ? -1 : hex_value(value[2]);
        if (low < 0 || high * 16 + low == 0)
            return false;
        *to++ = (char)(high * 16 + low);
        value += 2;
    }
    *to = '\0';
    return true;
}

static enum berth_option_id option_of(const char *key)
{
    for (int id = 0; id < BERTH_OPTION_COUNT; id++) {
        char name[32];

        key_of((enum berth_option_id)id, name);
        if (strcmp(key, name) == 0)
            return (enum berth_option_id)id;
    }
    return BERTH_OPTION_COUNT;
}

/* A variable came through take_env() once, so its commas are its own. */
static int take_decoded(struct berth_request *request, enum berth_option_id id,
                        const char *value, struct berth_err *err)
{
    BERTH_BUF struct berth_buf escaped = {0};

    if (id != BERTH_OPTION_ENV)
        return berth_request_take(request, id, value, NULL, err);
    for (; *value; value++) {
        if (*value == ',')
            berth_buf_puts(&escaped, "\\");
        berth_buf_add(&escaped, value, 1);
    }
    if (escaped.failed)
        return berth_err_oom(err);
    return berth_request_take(request, id, escaped.text, NULL, err);
}

static int take_world(struct berth_request *request, const char *value,
                      struct berth_err *err)
{
    for (size_t i = 0; i < sizeof(worlds) / sizeof(worlds[0]); i++)
        if (strcmp(value, worlds[i]) == 0) {
            request->world = (enum berth_world)i;
            return 0;
        }
    return berth_err_set(err, "'%s' is not a " WORLD " of this release", value);
}

/* Behind the file that was pulled from there. */
static int take_uri(struct berth_request *request, const char *value,
                    struct berth_err *err)
{
    if (!request->image || *request->image != '/' || request->uri)
        return berth_err_set(err, "'" URI "' is not behind the file of an image");
    if (berth_uri_check(value, err) < 0)
        return -1;
    request->uri = strdup(value);
    return request->uri ? 0 : berth_err_oom(err);
}

static int get_field(char *field, struct berth_request *request, struct berth_err *err)
{
    char *value = strchr(field, '=');
    enum berth_option_id id;

    if (!value)
        return berth_err_set(err, "'%s' has no value", field);
    *value++ = '\0';
    if (strcmp(field, WORLD) == 0)
        return take_world(request, value, err);
    if (!get_value(value))
        return berth_err_set(err, "the value of '%s' is not encoded", field);
    if (strcmp(field, URI) == 0)
        return take_uri(request, value, err);
    id = option_of(field);
    if (id == BERTH_OPTION_COUNT)
        return berth_err_set(err, "'%s' is not an option of this release", field);
    return take_decoded(request, id, value, err);
}

int berth_wire_get_request(const char *text, struct berth_request *ret,
                           struct berth_err *err)
{
    BERTH_FREE char *copy = strdup(text);
    BERTH_REQUEST struct berth_request request = {0};
    char *next = copy;
    char *field;

    if (!copy)
        return berth_err_oom(err);
    while (*text && (field = strsep(&next, "&")))
        if (get_field(field, &request, err) < 0)
            return -1;
    *ret = request;
    request = (struct berth_request){0};
    return 0;
}

static void put_row(struct berth_buf *buf, int group,
                    const struct berth_request *request)
{
    char label[16];

    if (group == BERTH_GROUP_ALL)
        snprintf(label, sizeof(label), "*");
    else if (group == BERTH_GROUP_UNKNOWN)
        snprintf(label, sizeof(label), "?");
    else
        snprintf(label, sizeof(label), "%d", group);
    berth_buf_puts(buf, ";");
    berth_buf_puts(buf, label);
    berth_buf_puts(buf, ":");
    berth_wire_put_request(buf, request);
}

static void put_rows(struct berth_buf *buf, const struct berth_table *table)
{
    berth_buf_puts(buf, FORM);
    if (table->count && berth_table_uniform(table))
        put_row(buf, BERTH_GROUP_ALL, &table->rows[0].request);
    else
        for (size_t i = 0; i < table->count; i++)
            put_row(buf, table->rows[i].group, &table->rows[i].request);
    berth_buf_puts(buf, END);
}

int berth_wire_put_table(const struct berth_table *table, char **ret_text,
                         struct berth_err *err)
{
    BERTH_BUF struct berth_buf buf = {0};

    put_rows(&buf, table);
    if (buf.failed)
        return berth_err_oom(err);
    if (buf.used > BERTH_WIRE_MAX)
        return berth_err_set(
            err,
            "the container options take %zu bytes; at most %d can be sent to the nodes",
            buf.used, BERTH_WIRE_MAX);
    *ret_text = berth_steal(&buf.text);
    return 0;
}

static int get_group(const char *label, int *ret_group)
{
    char *end;
    long number;

    if (strcmp(label, "*") == 0) {
        *ret_group = BERTH_GROUP_ALL;
        return 0;
    }
    if (strcmp(label, "?") == 0) {
        *ret_group = BERTH_GROUP_UNKNOWN;
        return 0;
    }
    if (!isdigit((unsigned char)*label))
        return -1;
    number = strtol(label, &end, 10);
    if (*end || number > BERTH_GROUP_MAX)
        return -1;
    *ret_group = (int)number;
    return 0;
}

static bool has_group(const struct berth_table *table, int group)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].group == group)
            return true;
    return false;
}

static int get_row(char *text, struct berth_table *table, struct berth_err *err)
{
    BERTH_REQUEST struct berth_request request = {0};
    char *fields = strchr(text, ':');
    int group;

    if (!fields)
        return berth_err_set(err, "a component has no number");
    *fields++ = '\0';
    if (get_group(text, &group) < 0)
        return berth_err_set(err, "'%s' is not a component", text);
    if (group >= 0 && has_group(table, group))
        return berth_err_set(err, "component %d is there twice", group);
    if (berth_wire_get_request(fields, &request, err) < 0 ||
        berth_table_add(table, group, &request, err) < 0)
        return -1;
    request = (struct berth_request){0};
    return 0;
}

/* The rows between the form and the end, each behind a semicolon. The caller frees
 * *RET_ROWS. */
static int get_frame(const char *text, char **ret_rows, struct berth_err *err)
{
    size_t length = strlen(text);
    size_t form = strcspn(text, ";");

    if (length > BERTH_WIRE_MAX)
        return berth_err_set(err, "longer than %d bytes", BERTH_WIRE_MAX);
    if (form != strlen(FORM) || strncmp(text, FORM, form) != 0)
        return berth_err_set(err, "form '%.*s' is not this release's (" FORM ")",
                             (int)form, text);
    if (length < form + strlen(END) || strcmp(text + length - strlen(END), END) != 0)
        return berth_err_set(err, "the end is missing");
    *ret_rows = strndup(text + form, length - form - strlen(END));
    return *ret_rows ? 0 : berth_err_oom(err);
}

int berth_wire_get_table(const char *text, struct berth_table *ret,
                         struct berth_err *err)
{
    BERTH_TABLE struct berth_table table = {0};
    BERTH_FREE char *rows = NULL;
    char *next;
    char *row;

    if (get_frame(text, &rows, err) < 0)
        return -1;
    next = rows;
    strsep(&next, ";");
    while ((row = strsep(&next, ";")))
        if (get_row(row, &table, err) < 0)
            return -1;
    if (table.count == 0)
        return berth_err_set(err, "no component in it");
    *ret = table;
    table = (struct berth_table){0};
    return 0;
}

static const char *longest_variable(const struct berth_table *table)
{
    const char *longest = "";

    for (size_t i = 0; i < table->count; i++)
        for (size_t k = 0; k < table->rows[i].request.env.count; k++)
            if (strlen(table->rows[i].request.env.items[k]) > strlen(longest))
                longest = table->rows[i].request.env.items[k];
    return longest;
}

int berth_wire_put_environment(const struct berth_table *table, char **ret_text,
                               struct berth_err *err)
{
    BERTH_BUF struct berth_buf buf = {0};

    put_rows(&buf, table);
    if (buf.failed)
        return berth_err_oom(err);
    if (buf.used > BERTH_WIRE_MAX) {
        const char *longest = longest_variable(table);

        return berth_err_set(err,
                             "the environment that --export drops and MPI needs takes "
                             "%zu bytes; at most %d can be sent to the nodes: unset "
                             "%.*s, the longest, or give srun --export=ALL",
                             buf.used, BERTH_WIRE_MAX, (int)strcspn(longest, "="),
                             longest);
    }
    *ret_text = berth_steal(&buf.text);
    return 0;
}

/* Does the row say anything but variables with values? */
static bool has_only_variables(struct berth_request *request)
{
    struct berth_request rest = *request;

    for (size_t i = 0; i < request->env.count; i++)
        if (!strchr(request->env.items[i], '='))
            return false;
    rest.env = (struct berth_strvec){0};
    return !berth_request_said(&rest);
}

int berth_wire_get_environment(const char *text, struct berth_table *ret,
                               struct berth_err *err)
{
    BERTH_TABLE struct berth_table table = {0};

    if (berth_wire_get_table(text, &table, err) < 0)
        return -1;
    for (size_t i = 0; i < table.count; i++)
        if (!has_only_variables(&table.rows[i].request))
            return berth_err_set(err, "it holds more than variables");
    *ret = table;
    table = (struct berth_table){0};
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Writes requests and tables as text for a variable of the environment, and reads them.
 */

#include "request/wire.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fields.h"
#include "request/option.h"
#include "request/ranks.h"
#include "request/uri.h"

/* The key of the URI of a pulled image. */
#define URI "uri"

/* The keys of `world` and `site`, which no option sets. */
#define WORLD "world"
#define SITE  "site"

static const char *const worlds[] = {
    [BERTH_WORLD_ALONE] = "alone",
    [BERTH_WORLD_HOST] = "host",
    [BERTH_WORLD_OWN] = "own",
};

/* The key of a field: "image" for --container-image, "no-mount-home" for its opposite;
 * an option of another name is its own key. */
static void key_of(enum berth_option_id id, char key[32])
{
    static const char cut[] = "container-";
    const char *name = berth_options[id].name;
    const char *middle = strstr(name, cut);
    int before;

    if (!middle) {
        snprintf(key, 32, "%s", name);
        return;
    }
    before = (int)(middle - name);
    snprintf(key, 32, "%.*s%s", before, name, middle + strlen(cut));
}

/* Appends the values of option ID. */
static void put_option(struct berth_buf *buf, size_t start,
                       const struct berth_request *request, enum berth_option_id id)
{
    const char *value = berth_request_value(request, id, 0);
    char key[32];

    key_of(id, key);
    for (size_t i = 1; value; i++) {
        berth_field_put(buf, start, key, value);
        value = berth_request_value(request, id, i);
    }
}

void berth_wire_put_request(struct berth_buf *buf, const struct berth_request *request)
{
    bool is_pulled = request->uri && !berth_request_needs_pull(request);
    size_t start = buf->used;

    for (int id = 0; id < BERTH_OPTION_COUNT; id++) {
        put_option(buf, start, request, (enum berth_option_id)id);
        if (id == BERTH_OPTION_IMAGE && is_pulled)
            berth_field_put(buf, start, URI, request->uri);
    }
    if (request->world)
        berth_field_put(buf, start, WORLD, worlds[request->world]);
    for (size_t i = 0; i < request->site.count; i++)
        berth_field_put(buf, start, SITE, request->site.items[i]);
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

/* Parses VALUE like a user's. The commas of a variable belong to its value, and so get
 * a backslash. */
static int read_option(struct berth_request *request, enum berth_option_id id,
                       const char *value, struct berth_err *err)
{
    BERTH_BUF struct berth_buf escaped = {0};
    struct berth_err why;

    for (; *value; value++) {
        if (*value == ',' && id == BERTH_OPTION_ENV)
            berth_buf_puts(&escaped, "\\");
        berth_buf_add(&escaped, value, 1);
    }
    if (escaped.failed)
        return berth_err_oom(err);
    if (berth_request_parse(request, id, berth_buf_text(&escaped), NULL, &why) == 0)
        return 0;
    if (why.code == BERTH_ERR_MEMORY)
        return berth_err_oom(err);
    return berth_err_damaged(err, "%s", berth_options[id].name);
}

static int read_world(struct berth_request *request, const char *value,
                      struct berth_err *err)
{
    for (size_t i = 0; i < sizeof(worlds) / sizeof(worlds[0]); i++)
        if (strcmp(value, worlds[i]) == 0) {
            request->world = (enum berth_world)i;
            return 0;
        }
    return berth_err_damaged(err, "%s", value);
}

/* The URI of an image comes after the file that was pulled from there. */
static int read_uri(struct berth_request *request, const char *value,
                    struct berth_err *err)
{
    const bool is_file = request->image && *request->image == '/';

    if (!is_file || request->uri || berth_uri_check(value, NULL) < 0)
        return berth_err_damaged(err, "%s", value);
    request->uri = strdup(value);
    return berth_err_oom_if(!request->uri, err);
}

static int read_field(struct berth_request *request, const char *key, const char *value,
                      struct berth_err *err)
{
    enum berth_option_id id = option_of(key);

    if (strcmp(key, WORLD) == 0)
        return read_world(request, value, err);
    if (strcmp(key, SITE) == 0) {
        berth_strvec_push(&request->site, value);
        return berth_err_oom_if(request->site.failed, err);
    }
    if (strcmp(key, URI) == 0)
        return read_uri(request, value, err);
    if (id == BERTH_OPTION_COUNT)
        return berth_err_damaged(err, "%s", key);
    return read_option(request, id, value, err);
}

int berth_wire_get_request(const char *text, struct berth_request *ret,
                           struct berth_err *err)
{
    BERTH_FREE char *copy = strdup(text);
    BERTH_REQUEST struct berth_request request = {0};
    char *next = copy;
    char *key, *value;
    int result;

    if (!copy)
        return berth_err_oom(err);
    if (*text == '\0')
        next = NULL; /* no field, rather than one without a key */
    result = berth_field_next(&next, &key, &value, err);
    while (result > 0) {
        if (read_field(&request, key, value, err) < 0)
            return -1;
        result = berth_field_next(&next, &key, &value, err);
    }
    if (result < 0)
        return -1;
    *ret = berth_steal(&request);
    return 0;
}

/* What begins the label of a row with ranks. */
enum { RANKS = '/' };

static void put_row(struct berth_buf *buf, int group, const struct berth_row *row)
{
    BERTH_BUF struct berth_buf label = {0};

    if (row->ranks)
        berth_buf_addf(&label, "%c%s", RANKS, row->ranks);
    else if (group == BERTH_GROUP_ALL)
        berth_buf_puts(&label, "*");
    else
        berth_buf_addf(&label, "%d", group);
    buf->failed |= label.failed;
    berth_parts_label(buf, berth_buf_text(&label));
    berth_wire_put_request(buf, &row->request);
}

/* What a row has besides its request, in a part of its own, which is for the rows after
 * it, up to the next such part. */
#define CARRIED "="

static const struct berth_field carried[] = {
    {"env", BERTH_FIELD_LIST, offsetof(struct berth_row, restore)},
    {"job", BERTH_FIELD_LIST, offsetof(struct berth_row, job)},
    {"one-file", BERTH_FIELD_FLAG, offsetof(struct berth_row, is_one_file)},
    {0},
};

static bool carry_the_same(const struct berth_row *a, const struct berth_row *b)
{
    return berth_strvec_equal(&a->restore, &b->restore) &&
           berth_strvec_equal(&a->job, &b->job) && a->is_one_file == b->is_one_file;
}

/* Appends what ROW carries, unless BEFORE, the last row that may carry something,
 * carries the same. Returns how many bytes. */
static size_t put_carried(struct berth_buf *buf, const struct berth_row *before,
                          const struct berth_row *row)
{
    size_t start = buf->used;

    buf->failed |= row->restore.failed || row->job.failed;
    if (!carry_the_same(before, row)) {
        berth_parts_label(buf, CARRIED);
        berth_fields_put(buf, carried, row);
    }
    return buf->used - start;
}

/* Appends TABLE, of any length. Returns how many bytes its rows carry. */
static size_t put_rows(struct berth_buf *buf, const struct berth_table *table)
{
    static const struct berth_row nothing;
    const struct berth_row *before = &nothing;
    /* components with the same options and variables are one row, for all groups */
    bool is_one = !berth_table_is_multiprog(table) && berth_table_is_uniform(table);
    size_t count = table->count;
    size_t bytes = 0;

    if (is_one && count > 1)
        count = 1;
    berth_buf_puts(buf, BERTH_PARTS_FORM);
    for (size_t i = 0; i < count; i++) {
        const struct berth_row *row = &table->rows[i];
        int group = row->group;

        if (berth_request_has_container(&row->request)) {
            bytes += put_carried(buf, before, row);
            before = row;
        }
        if (is_one)
            group = BERTH_GROUP_ALL;
        put_row(buf, group, row);
    }
    berth_buf_puts(buf, BERTH_PARTS_END);
    return bytes;
}

static const char *longer(const char *longest, const struct berth_strvec *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (strlen(list->items[i]) > strlen(longest))
            longest = list->items[i];
    return longest;
}

static const char *longest_variable(const struct berth_table *table)
{
    const char *longest = "";

    for (size_t i = 0; i < table->count; i++)
        longest = longer(longer(longest, &table->rows[i].restore), &table->rows[i].job);
    return longest;
}

int berth_wire_refuse(size_t used, size_t most, struct berth_err *err)
{
    return berth_err_set(err,
                         "the container options take %zu bytes; at most %zu can be "
                         "sent to the nodes",
                         used, most);
}

int berth_wire_put_table(const struct berth_table *table, char **ret_text,
                         struct berth_err *err)
{
    BERTH_BUF struct berth_buf buf = {0};
    size_t bytes = put_rows(&buf, table);

    if (buf.failed)
        return berth_err_oom(err);
    if (bytes > BERTH_WIRE_MAX) {
        const char *longest = longest_variable(table);

        return berth_err_set(err,
                             "the environment that --export drops and MPI needs takes "
                             "%zu bytes; at most %d can be sent to the nodes: unset "
                             "%.*s, the longest, or give srun --export=ALL",
                             bytes, BERTH_WIRE_MAX, (int)strcspn(longest, "="),
                             longest);
    }
    if (buf.used - bytes > BERTH_WIRE_MAX)
        return berth_wire_refuse(buf.used - bytes, BERTH_WIRE_MAX, err);
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

/* Reads the LABEL of a row: a group or ranks. A table has rows of one kind only. */
static int get_label(const char *label, const struct berth_table *table, int *ret_group,
                     const char **ret_ranks, struct berth_err *err)
{
    bool has_ranks = *label == RANKS;

    *ret_ranks = NULL;
    if (has_ranks)
        *ret_ranks = label + 1;
    *ret_group = BERTH_GROUP_ALL;
    if (table->count > 0 && has_ranks != berth_table_is_multiprog(table))
        return berth_err_damaged(err, "%s", label);
    if (has_ranks && berth_ranks_check(*ret_ranks, NULL) == 0)
        return 0;

    if (get_group(label, ret_group) < 0)
        return berth_err_damaged(err, "component %s", label);
    if (*ret_group >= 0 && has_group(table, *ret_group))
        return berth_err_damaged(err, "component %s", label);
    return 0;
}

/* Has each of VARIABLES a value? */
static int check_variables(const struct berth_strvec *variables, struct berth_err *err)
{
    for (size_t i = 0; i < variables->count; i++)
        if (!strchr(variables->items[i], '='))
            return berth_err_damaged(err, "%s", variables->items[i]);
    return 0;
}

/* Reads FIELDS, what ROW carries. */
static int get_carried(const char *fields, struct berth_row *row, struct berth_err *err)
{
    BERTH_FREE char *copy = strdup(fields);

    if (!copy)
        return berth_err_oom(err);
    if (berth_fields_get(copy, carried, row, err) < 0 ||
        check_variables(&row->restore, err) < 0)
        return -1;
    return check_variables(&row->job, err);
}

static int get_row(const char *label, const char *fields, const char *carries,
                   struct berth_table *table, struct berth_err *err)
{
    BERTH_REQUEST struct berth_request request = {0};
    const char *ranks;
    int group;

    if (get_label(label, table, &group, &ranks, err) < 0)
        return -1;
    if (berth_wire_get_request(fields, &request, err) < 0 ||
        berth_table_add(table, group, ranks, &request, err) < 0)
        return -1;
    return get_carried(carries, &table->rows[table->count - 1], err);
}

int berth_wire_get_table(const char *text, struct berth_table *ret,
                         struct berth_err *err)
{
    BERTH_TABLE struct berth_table table = {0};
    BERTH_FREE char *copy = NULL;
    const char *carries = "";
    char *next, *label, *fields;

    if (berth_parts_open(text, 2 * BERTH_WIRE_MAX, &copy, &next, err) < 0)
        return -1;
    label = berth_parts_next(&next, &fields);
    while (label) {
        if (!fields)
            return berth_err_damaged(err, "%s", label);
        if (strcmp(label, CARRIED) == 0)
            carries = fields;
        else if (get_row(label, fields, carries, &table, err) < 0)
            return -1;
        label = berth_parts_next(&next, &fields);
    }
    if (table.count == 0)
        return berth_err_damaged(err, "%s", text);
    *ret = berth_steal(&table);
    return 0;
}

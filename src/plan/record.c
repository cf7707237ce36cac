/* SPDX-License-Identifier: Apache-2.0 */
/* Formats the record of a step. */

#include "plan/record.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/json.h"
#include "base/text.h"
#include "request/uri.h"

static const char *value_of(const struct berth_record *record, const char *name)
{
    return berth_environ_value(record->environment, name);
}

static const char *user_of(const struct berth_record *record)
{
    return berth_text_or(value_of(record, "SLURM_JOB_USER"), record->user);
}

static void put_number(struct berth_json *json, const char *name, const char *value)
{
    char *end = NULL;
    long long number = 0;

    if (value)
        number = strtoll(value, &end, 10);
    if (value && *value && *end == '\0')
        berth_json_number(json, name, number);
    else
        berth_json_string(json, name, value);
}

static void put_step(struct berth_json *json, const struct berth_record *record)
{
    const struct berth_order_step *step = &record->order->step;
    const struct berth_order_container *container = &record->order->container;
    const char *ranks = step->ranks;
    unsigned int tasks = step->tasks;
    char text[32] = "";
    struct tm when;

    /* with --multi-prog a container may have the ranks of several lines */
    if (container->ranks) {
        ranks = container->ranks;
        tasks = container->all;
    }

    if (gmtime_r(&record->time, &when))
        strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &when);
    berth_json_string(json, "time", text);
    berth_json_string(json, "cluster", value_of(record, "SLURM_CLUSTER_NAME"));
    berth_json_string(json, "user", user_of(record));
    put_number(json, "job", value_of(record, "SLURM_JOB_ID"));
    put_number(json, "step", value_of(record, "SLURM_STEP_ID"));
    berth_json_number(json, "component", step->component);
    berth_json_string(json, "ranks", ranks);
    berth_json_string(json, "node", record->node);
    berth_json_number(json, "nodes", step->nodes);
    berth_json_number(json, "tasks", tasks);
}

static void put_image(struct berth_json *json, const struct berth_record *record)
{
    const struct berth_request *request = &record->order->request;
    const struct berth_strvec *facts = record->image;
    char digest[BERTH_URI_DIGEST];

    berth_json_object(json, "image");
    berth_json_string(json, "path", request->image);
    if (request->uri)
        berth_json_string(json, "uri", request->uri);
    if (request->uri && berth_uri_digest(request->image, digest))
        berth_json_string(json, "sha256", digest);
    for (size_t i = 0; i + 1 < facts->count; i += 2) {
        if (strcmp(facts->items[i], "bytes") == 0)
            put_number(json, facts->items[i], facts->items[i + 1]);
        else
            berth_json_string(json, facts->items[i], facts->items[i + 1]);
    }
    berth_json_end(json);
}

static void put_runtime(struct berth_json *json, const struct berth_record *record)
{
    berth_json_object(json, "runtime");
    berth_json_string(json, "path", record->runtime);
    berth_json_string(json, "version", record->runtime_version);
    berth_json_end(json);
}

static void put_witnessed(struct berth_json *json,
                          const struct berth_record_witnessed *witnessed)
{
    berth_json_object(json, "witnessed");
    berth_json_string(json, "host", witnessed->host);
    berth_json_number(json, "ranks", witnessed->ranks);
    berth_json_number(json, "loaded", witnessed->loaded);
    berth_json_number(json, "other", witnessed->other);
    if (witnessed->fabric)
        berth_json_string(json, "fabric", witnessed->fabric);
    berth_json_end(json);
}

static void put_mpi(struct berth_json *json, const struct berth_record *record)
{
    berth_json_object(json, "mpi");
    berth_json_string(json, "mode", berth_request_mode(&record->order->request));
    berth_json_string(json, "type", value_of(record, "SLURM_MPI_TYPE"));
    if (record->witnessed)
        put_witnessed(json, record->witnessed);
    else
        berth_json_string(json, "verdict", record->note);
    berth_json_end(json);
}

int berth_record_write(const struct berth_record *record, struct berth_buf *line,
                       struct berth_err *err)
{
    BERTH_JSON struct berth_json json = {0};
    bool is_start = !record->witnessed;

    berth_json_object(&json, NULL);
    put_step(&json, record);
    if (is_start) {
        put_image(&json, record);
        put_runtime(&json, record);
    }
    put_mpi(&json, record);
    if (is_start) {
        berth_json_bool(&json, "shared", !record->separate);
        berth_json_string(&json, "apart", record->separate);
    }
    berth_json_string(&json, "berth", BERTH_VERSION);
    berth_json_end(&json);
    if (json.text.failed)
        return berth_err_oom(err);
    berth_buf_addf(line, "%s\n", json.text.text);
    return berth_err_oom_if(line->failed, err);
}

/* Append NAME to PATH as a single part: with _ for each slash. */
static void put_name(struct berth_buf *path, const char *name)
{
    for (const char *c = berth_text_or(name, "none"); *c; c++) {
        if (*c == '/')
            berth_buf_puts(path, "_");
        else
            berth_buf_add(path, c, 1);
    }
}

int berth_record_path(const struct berth_record *record, char **ret_path,
                      struct berth_err *err)
{
    const char *pattern = record->order->record;
    BERTH_BUF struct berth_buf path = {0};

    while (*pattern) {
        if (berth_text_starts(pattern, "%u")) {
            put_name(&path, user_of(record));
            pattern += 2;
        } else if (berth_text_starts(pattern, "%j")) {
            put_name(&path, value_of(record, "SLURM_JOB_ID"));
            pattern += 2;
        } else if (berth_text_starts(pattern, "%%")) {
            berth_buf_puts(&path, "%");
            pattern += 2;
        } else {
            berth_buf_add(&path, pattern, 1);
            pattern++;
        }
    }
    if (path.failed || !path.text)
        return berth_err_oom(err);
    *ret_path = berth_steal(&path.text);
    return 0;
}

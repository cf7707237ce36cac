/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the account of a launch for programs. The names of the members are an
 * interface, documented in doc/internals.md. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "plan/explaintext.h"
#include "plan/finding.h"

/* The version of the interface: it grows if a member is removed or changes its meaning.
 */
enum { FORM = 1 };

static void put_text(struct berth_json *json, const char *name, const char *value)
{
    BERTH_FREE char *cut = value ? berth_explain_cut(value) : NULL;

    json->text.failed |= value && !cut;
    berth_json_string(json, name, cut);
}

static void put_words(struct berth_json *json, const char *name, char *const *words,
                      size_t count)
{
    berth_json_array(json, name);
    for (size_t i = 0; i < count; i++)
        put_text(json, NULL, words[i]);
    berth_json_end(json);
}

static void put_count(struct berth_json *json, const char *name, uint32_t count)
{
    if (count)
        berth_json_number(json, name, count);
    else
        berth_json_string(json, name, NULL);
}

static void put_step(const struct berth_explain *explain, struct berth_json *json)
{
    size_t count = 0;

    while (explain->command[count])
        count++;
    berth_json_number(json, "form", FORM);
    berth_json_number(json, "component", explain->step.component);
    put_text(json, "ranks", explain->step.ranks);
    put_count(json, "nodes", explain->step.nodes);
    put_count(json, "tasks", explain->step.tasks);
    put_text(json, "node", explain->node);
    put_words(json, "command", explain->command, count);
}

static void put_image(const struct berth_explain *explain, struct berth_json *json)
{
    berth_json_object(json, "image");
    put_text(json, "path", explain->request->image);
    if (explain->request->uri)
        put_text(json, "uri", explain->request->uri);
    for (size_t i = 0; i + 1 < explain->image.count; i += 2)
        put_text(json, explain->image.items[i], explain->image.items[i + 1]);
    berth_json_end(json);
}

static void put_runtime(const struct berth_explain *explain, struct berth_json *json)
{
    berth_json_object(json, "runtime");
    put_text(json, "program", explain->runtime);
    put_text(json, "version", explain->runtime_version);
    put_words(json, "words", explain->words.items, explain->words.count);
    berth_json_end(json);
    berth_json_object(json, "gpu");
    put_text(json, "asked",
             explain->request->gpu ? explain->request->gpu : BERTH_GPU_AUTO);
    put_text(json, "flag", explain->gpu);
    put_text(json, "because", explain->gpu_because);
    berth_json_end(json);
    berth_json_object(json, "container");
    berth_json_bool(json, "shared", !explain->apart);
    put_text(json, "because", explain->apart);
    put_text(json, "lifetime", berth_explain_lifetime(explain));
    put_text(json, "lifetime_from", explain->lifetime_from);
    put_text(json, "why_step", explain->why_step);
    put_text(json, "inside", explain->inside);
    berth_json_end(json);
}

static void put_mounts(const struct berth_explain *explain, struct berth_json *json)
{
    berth_json_array(json, "mounts");
    for (size_t i = 0; i < explain->mount_count; i++) {
        const struct berth_explain_mount *mount = &explain->mounts[i];

        berth_json_object(json, NULL);
        put_text(json, "source", mount->source);
        put_text(json, "destination", mount->destination);
        berth_json_bool(json, "read_only", mount->mode != BERTH_MOUNT_RW);
        berth_json_bool(json, "squashfs", mount->mode == BERTH_MOUNT_SQSH);
        put_text(json, "from", mount->from);
        put_text(json, "why", mount->why);
        berth_json_end(json);
    }
    berth_json_end(json);
}

static void put_fact(const struct berth_explain *explain, struct berth_json *json,
                     const char *name, const char *fact)
{
    put_text(json, name, berth_explain_fact(explain, fact));
}

/* The facts of a stack, from index AT to END. */
static void put_stack(const struct berth_strvec *facts, size_t at, size_t end,
                      struct berth_json *json)
{
    static const struct {
        const char *fact;
        const char *member;
    } members[] = {
        {BERTH_FINDING_PROFILE, "profile"},
        {BERTH_FINDING_FOUND, "found_by"},
        {BERTH_FINDING_STAGED, "staged"},
        {BERTH_FINDING_GLIBC, "glibc"},
        {BERTH_FINDING_GLIBC_IMAGE, "glibc_image"},
        {BERTH_FINDING_GLIBC_HOST, "glibc_host"},
    };

    berth_json_array(json, "config");
    for (size_t i = at; i < end; i += 2)
        if (strcmp(facts->items[i], BERTH_FINDING_CONFIG) == 0)
            put_text(json, NULL, facts->items[i + 1]);
    berth_json_end(json);
    for (size_t i = at; i < end; i += 2)
        for (size_t k = 0; k < sizeof(members) / sizeof(members[0]); k++)
            if (strcmp(facts->items[i], members[k].fact) == 0)
                put_text(json, members[k].member, facts->items[i + 1]);
}

static void put_stacks(const struct berth_explain *explain, struct berth_json *json)
{
    const struct berth_strvec *facts = &explain->binding.facts;
    size_t at = 0;
    const char *next = berth_explain_next_fact(explain, BERTH_FINDING_STACK, &at);

    berth_json_array(json, "host");
    while (next) {
        size_t start = at;

        berth_json_object(json, NULL);
        put_text(json, "version", next);
        next = berth_explain_next_fact(explain, BERTH_FINDING_STACK, &at);
        put_stack(facts, start, next ? at - 2 : facts->count, json);
        berth_json_end(json);
    }
    berth_json_end(json);
}

static void put_all(const struct berth_explain *explain, struct berth_json *json,
                    const char *name, const char *fact)
{
    const char *text;
    size_t at = 0;

    berth_json_array(json, name);
    while ((text = berth_explain_next_fact(explain, fact, &at)))
        put_text(json, NULL, text);
    berth_json_end(json);
}

/* TEXT is soname, path and, for a staged library, the staged file, separated by tabs.
 */
static void put_library(struct berth_json *json, const char *text)
{
    BERTH_FREE char *copy = strdup(text);
    char *next = copy;
    const char *soname = next ? strsep(&next, "\t") : NULL;
    const char *path = next ? strsep(&next, "\t") : NULL;

    json->text.failed |= !copy;
    berth_json_object(json, NULL);
    put_text(json, "soname", soname);
    put_text(json, "path", path);
    put_text(json, "staged", next);
    berth_json_end(json);
}

static void put_verified(const struct berth_explain *explain, struct berth_json *json)
{
    berth_json_object(json, "verified");
    put_fact(explain, json, "loader", BERTH_FINDING_LOADER);
    put_fact(explain, json, "file", BERTH_FINDING_TARGET);
    berth_json_array(json, "libraries");
    for (size_t i = 0; i + 1 < explain->binding.facts.count; i += 2)
        if (strcmp(explain->binding.facts.items[i], BERTH_FINDING_LIBRARY) == 0 ||
            strcmp(explain->binding.facts.items[i], BERTH_FINDING_OWN) == 0)
            put_library(json, explain->binding.facts.items[i + 1]);
    berth_json_end(json);
    berth_json_end(json);
}

static void put_mpi(const struct berth_explain *explain, struct berth_json *json)
{
    BERTH_BUF struct berth_buf verdict = {0};

    berth_explain_mpi(explain, &verdict);
    json->text.failed |= verdict.failed;
    berth_json_object(json, "mpi");
    put_text(json, "asked", berth_request_mode(explain->request));
    put_text(json, "from", explain->request->mpi ? explain->mode_from : NULL);
    put_text(json, "host_libraries", explain->request->libs);
    put_text(json, "srun", explain->manager);
    put_text(json, "verdict", verdict.text);
    put_fact(explain, json, "command", BERTH_FINDING_PROGRAM);
    put_fact(explain, json, "runs_by", BERTH_FINDING_RUNNER);
    put_fact(explain, json, "linked_with", BERTH_FINDING_LINKED);
    put_all(explain, json, "image", BERTH_FINDING_IMAGE_MPI);
    put_stacks(explain, json);
    put_fact(explain, json, "speaks", BERTH_FINDING_MANAGERS);
    put_verified(explain, json);
    put_fact(explain, json, "watched", BERTH_FINDING_WATCHED);
    berth_json_end(json);
}

static void put_environment(const struct berth_explain *explain,
                            struct berth_json *json)
{
    berth_json_array(json, "environment");
    for (size_t i = 0; i < explain->variable_count; i++) {
        const struct berth_explain_variable *variable = &explain->variables[i];

        berth_json_object(json, NULL);
        put_text(json, "name", variable->name);
        put_text(json, "value", variable->value);
        put_text(json, "from", variable->from);
        put_text(json, "why", variable->why);
        berth_json_end(json);
    }
    berth_json_end(json);
}

void berth_explain_json(const struct berth_explain *explain, struct berth_buf *ret)
{
    BERTH_JSON struct berth_json json = {.pretty = true};

    berth_json_object(&json, NULL);
    put_step(explain, &json);
    if (berth_request_has_container(explain->request)) {
        put_image(explain, &json);
        put_runtime(explain, &json);
        put_mounts(explain, &json);
        put_mpi(explain, &json);
        put_environment(explain, &json);
    }
    berth_json_end(&json);
    berth_buf_puts(&json.text, "\n");
    berth_explain_prefix(explain, &json.text, ret);
}

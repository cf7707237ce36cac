/* SPDX-License-Identifier: Apache-2.0 */
/* Writes all that berth would do for a component, and why. */

#include "plan/explain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/json.h"
#include "base/text.h"

/* The version of the interface: it grows if a member is removed or changes its meaning.
 */
enum { FORM = 1 };

/* Write TEXT for people behind an empty line. */
static void put_title(struct berth_json *out, const char *text)
{
    berth_json_linef(out, "%s", "");
    berth_json_linef(out, "%s", text);
}

/* A number that is 0 if nobody knows it, as JSON says that. */
static long long known(unsigned int number)
{
    if (number == 0)
        return -1;
    return number;
}

static void put_step(const struct berth_explain *explain, struct berth_json *out)
{
    const struct berth_order_step *step = &explain->launch->order->step;

    berth_json_number(out, "form", FORM);
    berth_json_number(out, "component", step->component);
    berth_json_string(out, "ranks", step->ranks);
    berth_json_number(out, "nodes", known(step->nodes));
    berth_json_number(out, "tasks", known(step->tasks));
    berth_json_string(out, "node", explain->launch->node);
    berth_json_array(out, "command");
    for (char *const *word = explain->launch->command; *word; word++)
        berth_json_string(out, NULL, *word);
    berth_json_end(out);
}

/* Write each name and value of FACTS as a member. */
static void put_facts(const struct berth_strvec *facts, struct berth_json *out)
{
    for (size_t i = 0; i + 1 < facts->count; i += 2) {
        char name[64];

        snprintf(name, sizeof(name), "%s|%s", facts->items[i], facts->items[i]);
        berth_json_string(out, name, facts->items[i + 1]);
    }
}

static void put_image(const struct berth_explain *explain, struct berth_json *out)
{
    put_title(out, "image");
    berth_json_object(out, "image");
    berth_json_string(out, "path|path", explain->launch->request->image);
    if (explain->launch->request->uri)
        berth_json_string(out, "uri|pulled from", explain->launch->request->uri);
    put_facts(&explain->image, out);
    berth_json_end(out);
}

static void put_gpu(const struct berth_launch *launch, struct berth_json *out)
{
    const char *asked = berth_text_or(launch->request->gpu, BERTH_GPU_AUTO);

    berth_json_object(out, "gpu");
    berth_json_string(out, "asked|--container-gpu", asked);
    berth_json_string(out, "flag|flag", launch->gpu.flag);
    berth_json_string(out, "because|because", launch->gpu.because);
    berth_json_end(out);
}

static void put_container(const struct berth_explain *explain, struct berth_json *out)
{
    berth_json_object(out, "container");
    berth_json_bool(out, "shared|shared by the tasks of a node", !explain->separate);
    berth_json_string(out, "because|not shared by tasks, because", explain->separate);
    berth_json_string(out, "lifetime|lifetime", berth_explain_lifetime(explain));
    berth_json_string(out, "lifetime_from|set by",
                      berth_explain_source(explain, BERTH_OPTION_LIFETIME));
    berth_json_string(out, "why_step|not that of the job, because",
                      berth_explain_why_step(explain));
    berth_json_string(out, "inside|commands of Slurm",
                      berth_order_inside(explain->launch->order, NULL));
    berth_json_end(out);
}

static void put_runtime(const struct berth_explain *explain, struct berth_json *out)
{
    put_title(out, "runtime");
    berth_json_string(out, "|node", explain->launch->node);
    berth_json_object(out, "runtime");
    berth_json_string(out, "program|program", explain->launch->runtime);
    berth_json_string(out, "version|version", explain->runtime_version);
    berth_json_list(out, "words", &explain->words);
    for (size_t i = 0; i < explain->words.count; i++) {
        BERTH_BUF struct berth_buf word = {0};

        berth_buf_word(&word, explain->words.items[i]);
        berth_json_linef(out, "  argument: %s", berth_buf_text(&word));
        out->text.failed |= word.failed;
    }
    berth_json_end(out);
    put_gpu(explain->launch, out);
    put_container(explain, out);
}

/* What follows the path of a mount of MODE in a line for people. */
static const char *mode_of(enum berth_mount_mode mode)
{
    switch (mode) {
    case BERTH_MOUNT_RO:
        return " (ro)";
    case BERTH_MOUNT_SQSH:
        return " (squashfs file, ro)";
    case BERTH_MOUNT_TMPFS:
        return " (in memory)";
    case BERTH_MOUNT_UMOUNT:
        return " (nothing of the node)";
    default:
        return "";
    }
}

static void put_mount_line(const struct berth_plan_item *mount, struct berth_json *out)
{
    const char *mode = mode_of(mount->mode);
    const char *before_flags = mount->flags ? ", " : "";
    const char *flags = mount->flags ? mount->flags : "";
    bool is_moved = strcmp(mount->source, mount->destination) != 0;

    if (is_moved)
        berth_json_linef(out, "    %s -> %s%s%s%s", mount->source, mount->destination,
                         mode, before_flags, flags);
    else
        berth_json_linef(out, "    %s%s%s%s", mount->source, mode, before_flags, flags);
}

/* The length of the directory of PATH, without the slash at its end; 0: the root. */
static int directory_length(const char *path)
{
    const char *base = berth_text_base(path);

    if (base == path)
        return 0;
    return (int)(base - path) - 1;
}

static bool is_same_directory(const char *a, const char *b)
{
    int length = directory_length(a);

    return length == directory_length(b) && strncmp(a, b, (size_t)length) == 0;
}

/* Are A and B mounts of one directory over another one, for the same reason? */
static bool is_alike(const struct berth_plan_item *a, const struct berth_plan_item *b)
{
    if (a->flags || b->flags)
        return false;
    return a->mode == b->mode && strcmp(a->why, b->why) == 0 &&
           is_same_directory(a->source, b->source) &&
           is_same_directory(a->destination, b->destination);
}

/* Returns how many mounts of LIST, from AT on, are alike. */
static size_t count_alike(const struct berth_plan_list *list, size_t at)
{
    size_t end = at + 1;

    while (end < list->count && is_alike(&list->items[at], &list->items[end]))
        end++;
    return end - at;
}

/* Write the COUNT mounts at MOUNTS, which are alike, as one line: the files of one
 * library. */
static void put_folded(const struct berth_plan_item *mounts, size_t count,
                       struct berth_json *out)
{
    BERTH_STRVEC struct berth_strvec names = {0};
    BERTH_BUF struct berth_buf text = {0};

    for (size_t i = 0; i < count; i++)
        berth_strvec_push(&names, berth_text_base(mounts[i].destination));
    berth_explain_names(&names, &text);
    berth_json_linef(out, "    %.*s/* -> %.*s/*%s: %zu files: %s",
                     directory_length(mounts->source), mounts->source,
                     directory_length(mounts->destination), mounts->destination,
                     mode_of(mounts->mode), count, berth_buf_text(&text));
    out->text.failed |= names.failed || text.failed;
}

/* Write LIST for people. The source and the reason stand before the first mount that
 * has them. */
static void put_mount_lines(const struct berth_plan_list *list, struct berth_json *out)
{
    enum { FEWEST_FOLDED = 4 };
    const char *last = "";

    for (size_t i = 0; i < list->count;) {
        const struct berth_plan_item *mount = &list->items[i];
        size_t alike = count_alike(list, i);

        if (strcmp(last, mount->why) != 0)
            berth_json_linef(out, "  %s: %s", mount->from, mount->why);
        last = mount->why;
        if (alike < FEWEST_FOLDED)
            alike = 1;
        if (alike == 1)
            put_mount_line(mount, out);
        else
            put_folded(mount, alike, out);
        i += alike;
    }
}

static void put_mount(const struct berth_plan_item *mount, struct berth_json *out)
{
    bool is_read_only =
        mount->mode == BERTH_MOUNT_RO || mount->mode == BERTH_MOUNT_SQSH;

    berth_json_object(out, NULL);
    berth_json_string(out, "source", mount->source);
    berth_json_string(out, "destination", mount->destination);
    berth_json_bool(out, "read_only", is_read_only);
    berth_json_bool(out, "squashfs", mount->mode == BERTH_MOUNT_SQSH);
    if (mount->flags)
        berth_json_string(out, "flags", mount->flags);
    berth_json_string(out, "from", mount->from);
    berth_json_string(out, "why", mount->why);
    berth_json_end(out);
}

static void put_variable(const struct berth_plan_item *variable, struct berth_json *out)
{
    if (variable->value)
        berth_json_linef(out, "    %s=%s", variable->name, variable->value);
    else
        berth_json_linef(out, "    %s is removed", variable->name);
    berth_json_object(out, NULL);
    berth_json_string(out, "name", variable->name);
    berth_json_string(out, "value", variable->value);
    berth_json_string(out, "from", variable->from);
    berth_json_string(out, "why", variable->why);
    berth_json_end(out);
}

/* Write the array "environment". In text the source and the reason stand before the
 * first variable that has them. */
static void put_variables(const struct berth_plan_list *list, struct berth_json *out)
{
    const char *last = "";

    berth_json_array(out, "environment");
    for (size_t i = 0; i < list->count; i++) {
        const struct berth_plan_item *variable = &list->items[i];

        if (strcmp(last, variable->why) != 0)
            berth_json_linef(out, "  %s: %s", variable->from, variable->why);
        last = variable->why;
        put_variable(variable, out);
    }
    berth_json_end(out);
}

static void put_mounts(const struct berth_explain *explain, struct berth_json *out)
{
    const struct berth_plan_list *mounts = &explain->plan.mounts;

    put_title(out, "mounts, besides those that the runtime makes by itself");
    if (mounts->count == 0)
        berth_json_linef(out, "  none");
    if (out->is_text)
        put_mount_lines(mounts, out);
    berth_json_array(out, "mounts");
    for (size_t i = 0; i < mounts->count; i++)
        put_mount(&mounts->items[i], out);
    berth_json_end(out);
    berth_json_array(out, "places");
    for (int i = 0; i < BERTH_EXPLAIN_PLACES; i++) {
        const struct berth_explain_place *place = &explain->places[i];

        if (!place->path || !place->in)
            continue;
        berth_json_object(out, NULL);
        berth_json_string(out, "path", place->path);
        berth_json_string(out, "in", place->in);
        berth_json_end(out);
    }
    berth_json_end(out);
    berth_json_string(out, "starts_in", explain->starts_in);
}

static void put_fact(const struct berth_explain *explain, struct berth_json *out,
                     const char *name, const char *fact)
{
    berth_json_string(out, name, berth_strvec_pair(&explain->binding->facts, fact));
}

/* Write the facts of the stack at the index AT of FACTS. */
static void put_stack(const struct berth_strvec *facts, size_t at,
                      struct berth_json *out)
{
    BERTH_STRVEC struct berth_strvec config = {0};
    size_t end = at + 2;

    while (end < facts->count && strcmp(facts->items[end], BERTH_FINDING_STACK) != 0)
        end += 2;
    berth_json_object(out, NULL);
    berth_json_string(out, "version|on the host", facts->items[at + 1]);
    for (size_t i = at + 2; i < end; i += 2)
        if (strcmp(facts->items[i], BERTH_FINDING_CONFIG) == 0)
            berth_strvec_push(&config, facts->items[i + 1]);
        else if (strchr(facts->items[i], '|'))
            berth_json_string(out, facts->items[i], facts->items[i + 1]);
    berth_json_list(out, "config|set by", &config);
    berth_json_end(out);
}

static void put_stacks(const struct berth_explain *explain, struct berth_json *out)
{
    const struct berth_strvec *facts = &explain->binding->facts;

    berth_json_array(out, "host");
    for (size_t i = 0; i + 1 < facts->count; i += 2)
        if (strcmp(facts->items[i], BERTH_FINDING_STACK) == 0)
            put_stack(facts, i, out);
    berth_json_end(out);
}

static void put_all(const struct berth_explain *explain, struct berth_json *out,
                    const char *name, const char *fact)
{
    BERTH_STRVEC struct berth_strvec texts = {0};

    berth_explain_facts(explain, fact, &texts);
    berth_json_list(out, name, &texts);
}

/* A library that the loader of the image found. Owns its text, in which the other
 * members are. */
struct library {
    char *text;
    const char *soname;
    const char *path;   /* where the loader found it; NULL: not known */
    const char *staged; /* the staged file that is there; NULL: none */
};

/* Read TEXT: soname, path and, for a staged library, the staged file, with tabs
 * between. Returns false when out of memory. */
static bool read_library(const char *text, struct library *ret)
{
    char *next = strdup(text);

    *ret = (struct library){.text = next};
    if (!next)
        return false;
    ret->soname = strsep(&next, "\t");
    ret->path = strsep(&next, "\t");
    ret->staged = next;
    return true;
}

static void put_library(const struct library *library, struct berth_json *out)
{
    berth_json_object(out, NULL);
    berth_json_string(out, "soname", library->soname);
    berth_json_string(out, "path", library->path);
    berth_json_string(out, "staged", library->staged);
    berth_json_end(out);
}

/* The file that LIBRARY is: of a staged one the copy. */
static const char *file_of(const struct library *library)
{
    return berth_text_or(library->staged, berth_text_or(library->path, ""));
}

/* Is one of the libraries before AT in the directory of that one? */
static bool is_listed(const struct library *libraries, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (is_same_directory(file_of(&libraries[i]), file_of(&libraries[at])))
            return true;
    return false;
}

/* Write a line for each directory that COUNT libraries are from. */
static void put_directories(const struct library *libraries, size_t count,
                            struct berth_json *out)
{
    for (size_t at = 0; at < count; at++) {
        const char *file = file_of(&libraries[at]);
        BERTH_STRVEC struct berth_strvec names = {0};
        BERTH_BUF struct berth_buf text = {0};

        if (is_listed(libraries, at))
            continue;
        for (size_t i = at; i < count; i++)
            if (is_same_directory(file, file_of(&libraries[i])))
                berth_strvec_push(&names, libraries[i].soname);
        berth_strvec_join(&names, ", ", &text);
        berth_json_linef(out, "    from %.*s/: %s", directory_length(file), file,
                         berth_buf_text(&text));
        out->text.failed |= text.failed;
    }
}

/* Write the array "libraries"; in text what is loaded from where. */
static void put_libraries(const struct berth_strvec *facts, struct berth_json *out)
{
    size_t count = 0;
    struct library *libraries = calloc(facts->count + 1, sizeof(*libraries));

    for (size_t i = 0; libraries && i + 1 < facts->count; i += 2) {
        if (strcmp(facts->items[i], BERTH_FINDING_LIBRARY) != 0)
            continue;
        if (!read_library(facts->items[i + 1], &libraries[count]))
            out->text.failed = true;
        else
            count++;
    }

    berth_json_array(out, "libraries");
    for (size_t i = 0; i < count; i++)
        put_library(&libraries[i], out);
    berth_json_end(out);
    if (out->is_text)
        put_directories(libraries, count, out);

    out->text.failed |= !libraries;
    for (size_t i = 0; i < count; i++)
        free(libraries[i].text);
    free(libraries);
}

static void put_verified(const struct berth_explain *explain, struct berth_json *out)
{
    berth_json_object(out, "verified");
    put_fact(explain, out, "loader|loader", BERTH_FINDING_LOADER);
    put_fact(explain, out, "file|asked about", BERTH_FINDING_TARGET);
    put_libraries(&explain->binding->facts, out);
    berth_json_end(out);
}

static void put_mpi(const struct berth_explain *explain, struct berth_json *out)
{
    BERTH_BUF struct berth_buf verdict = {0};

    berth_explain_mpi(explain, &verdict);
    out->text.failed |= verdict.failed;
    put_title(out, "MPI");
    berth_json_object(out, "mpi");
    berth_json_string(out, "asked|--mpi-bind",
                      berth_request_mode(explain->launch->request));
    berth_json_string(out, "from|asked by",
                      berth_explain_source(explain, BERTH_OPTION_MPI));
    berth_json_string(out, "host_libraries|libraries", explain->launch->request->libs);
    berth_json_string(
        out, "srun|srun --mpi",
        berth_environ_value(explain->launch->environment, "SLURM_MPI_TYPE"));
    berth_json_string(out, "verdict|verdict", verdict.text);
    put_fact(explain, out, "command|command", BERTH_FINDING_PROGRAM);
    put_fact(explain, out, "runs_by|runs by", BERTH_FINDING_RUNNER);
    put_fact(explain, out, "linked_with|linked with", BERTH_FINDING_LINKED);
    put_all(explain, out, "image|in the image", BERTH_FINDING_IMAGE_MPI);
    put_stacks(explain, out);
    put_fact(explain, out, "speaks|runs with srun --mpi", BERTH_FINDING_MANAGERS);
    put_verified(explain, out);
    put_fact(explain, out, "watched|watched", BERTH_FINDING_WATCHED);
    berth_json_end(out);
}

static void put_environment(const struct berth_explain *explain, struct berth_json *out)
{
    put_title(out, "environment, besides what Slurm sets; if a name appears "
                   "twice, the later one wins");
    if (explain->plan.variables.count == 0)
        berth_json_linef(out, "  nothing changes");
    put_variables(&explain->plan.variables, out);
}

void berth_explain_details(const struct berth_explain *explain, struct berth_json *out)
{
    berth_json_object(out, NULL);
    put_step(explain, out);
    if (berth_request_has_container(explain->launch->request)) {
        put_image(explain, out);
        put_runtime(explain, out);
        put_mounts(explain, out);
        put_mpi(explain, out);
        put_environment(explain, out);
    }
    berth_json_end(out);
}

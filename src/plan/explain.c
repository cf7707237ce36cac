/* SPDX-License-Identifier: Apache-2.0 */
/* What berth would do for a component: in the form that was asked for, and what most
 * users want to know of it. */

#include "plan/explain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/color.h"
#include "base/environ.h"
#include "base/json.h"
#include "base/text.h"
#include "request/option.h"

/* Bytes of the longest text; a longer one is cut. Slurm prints a line of up to 1024
 * bytes as a whole; longer lines of components would mix. */
enum { LONGEST = 800 };

/* Write the line LABEL (`|label`) with PARTS, or else with NOTHING. */
static void put_parts(struct berth_json *out, const char *label,
                      const struct berth_strvec *parts, const char *nothing)
{
    BERTH_BUF struct berth_buf line = {0};

    berth_strvec_join(parts, "; ", &line);
    berth_json_string(out, label, berth_text_or(line.text, nothing));
    out->text.failed |= line.failed;
}

/* Append HEAD and the first of NAMES to PARTS, if there are any. */
static void push_names(const char *head, const struct berth_strvec *names,
                       struct berth_strvec *parts)
{
    BERTH_BUF struct berth_buf text = {0};

    parts->failed |= names->failed;
    if (names->count == 0)
        return;
    berth_explain_names(names, &text);
    berth_strvec_pushf(parts, "%s %s", head, berth_buf_text(&text));
    parts->failed |= text.failed;
}

/* Append TEXT to PARTS, with BEFORE and MORE after it if there is MORE. */
static void push_part(const char *text, const char *before, const char *more,
                      struct berth_strvec *parts)
{
    BERTH_BUF struct berth_buf part = {0};

    berth_buf_puts(&part, text);
    berth_buf_part(&part, before, more, "");
    if (part.text)
        berth_strvec_push(parts, part.text);
    parts->failed |= part.failed;
}

/* "4 tasks" */
static void say_count(unsigned int count, const char *what, struct berth_buf *line)
{
    berth_buf_addf(line, " %u %s%s", count, what, berth_text_plural(count));
}

/* The verb after one task, or after several. */
static void say_run(bool is_one, struct berth_buf *line)
{
    berth_buf_puts(line, " run");
    if (is_one)
        berth_buf_puts(line, "s");
}

/* With --multi-prog: "ranks 0-3: 4 tasks run" */
static void say_ranks(const struct berth_order_step *step, struct berth_buf *line)
{
    bool is_one = step->tasks == 1;

    berth_buf_puts(line, "rank");
    if (!is_one)
        berth_buf_puts(line, "s");
    berth_buf_addf(line, " %s:", step->ranks);
    if (step->tasks)
        say_count(step->tasks, "task", line);
    say_run(is_one, line);
}

/* "component 0: 4 tasks on 2 nodes run"; "component 0: one task on this host runs" */
static void say_component(const struct berth_order_step *step, struct berth_buf *line)
{
    bool is_one = step->tasks <= 1;

    berth_buf_addf(line, "component %d:", step->component);
    if (step->tasks)
        say_count(step->tasks, "task", line);
    else
        berth_buf_puts(line, " one task");
    if (step->nodes) {
        berth_buf_puts(line, " on");
        say_count(step->nodes, "node", line);
    } else {
        berth_buf_puts(line, " on this host");
    }
    say_run(is_one, line);
}

/* Write which tasks run which command in which image. */
static void put_first_line(const struct berth_explain *explain, struct berth_json *out)
{
    const struct berth_order_step *step = &explain->launch->order->step;
    BERTH_BUF struct berth_buf line = {0};

    if (step->ranks)
        say_ranks(step, &line);
    else
        say_component(step, &line);
    for (char *const *word = explain->launch->command; *word; word++) {
        berth_buf_puts(&line, " ");
        berth_buf_word(&line, *word);
    }
    if (berth_request_has_container(explain->launch->request)) {
        berth_buf_puts(&line, " in ");
        berth_buf_word(&line, berth_request_name(explain->launch->request));
    } else {
        berth_buf_puts(&line, " without a container");
    }
    berth_json_linef(out, "%s", berth_buf_text(&line));
    out->text.failed |= line.failed;
}

static void put_image(const struct berth_explain *explain, struct berth_json *out)
{
    const char *kind = berth_strvec_pair(&explain->image, "kind");
    const char *machine = berth_strvec_pair(&explain->image, "machine");
    const char *bytes = berth_strvec_pair(&explain->image, "bytes");
    const char *modified = berth_strvec_pair(&explain->image, "modified");
    BERTH_STRVEC struct berth_strvec parts = {0};

    if (kind)
        push_part(kind, " for ", machine, &parts);
    if (bytes)
        berth_strvec_pushf(&parts, "%.1f MiB", strtod(bytes, NULL) / (1 << 20));
    if (modified)
        berth_strvec_pushf(&parts, "modified %s", modified);
    if (explain->launch->request->uri)
        berth_strvec_pushf(&parts, "pulled into %s", explain->launch->request->image);
    put_parts(out, "|image", &parts, "not known");
}

static void put_command(const struct berth_explain *explain, struct berth_json *out)
{
    const struct berth_strvec *facts = &explain->binding->facts;
    const char *program = berth_strvec_pair(facts, BERTH_FINDING_PROGRAM);
    const char *runner = berth_strvec_pair(facts, BERTH_FINDING_RUNNER);
    const char *linked = berth_strvec_pair(facts, BERTH_FINDING_LINKED);
    BERTH_STRVEC struct berth_strvec parts = {0};

    if (explain->found)
        berth_strvec_push(&parts, explain->found);
    else if (program)
        berth_strvec_push(&parts, program);
    if (runner)
        berth_strvec_pushf(&parts, "a script for %s", runner);
    if (linked)
        berth_strvec_pushf(&parts, "linked with %s", linked);
    if (explain->launch->request->entrypoint == BERTH_YES)
        berth_strvec_push(&parts, "through the image's runscript");
    put_parts(out, "|command", &parts, "as the runtime finds it in the image");
}

/* Write whose MPI runs, which is what most users ask for, and then why. */
static void put_mpi(const struct berth_explain *explain, struct berth_json *out)
{
    const bool has_color = explain->launch->order->step.has_color;
    const char *warning = explain->binding->warning;
    BERTH_BUF struct berth_buf answer = {0};
    BERTH_BUF struct berth_buf reason = {0};

    berth_explain_answer(explain, &answer);
    berth_explain_reason(explain, &reason);
    out->before = berth_color_begin(has_color, BERTH_COLOR_ANSWER);
    out->after = berth_color_end(has_color);
    berth_json_string(out, "|MPI", berth_text_or(answer.text, reason.text));
    out->before = NULL;
    out->after = NULL;

    if (answer.text && reason.text)
        berth_json_linef(out, "    %s", reason.text);
    if (warning)
        berth_json_linef(out, "    warning: %s", warning);
    out->text.failed |= answer.failed || reason.failed;
}

/* Whose directory a place is: IN is that of struct berth_explain_place. */
static const char *owner_of(const char *in)
{
    if (strcmp(in, "absent") == 0)
        return "is not there";
    if (strcmp(in, "host") == 0)
        return "of the host";
    return "of the container";
}

static void put_places(const struct berth_explain *explain, struct berth_json *out)
{
    BERTH_STRVEC struct berth_strvec parts = {0};

    for (int i = 0; i < BERTH_EXPLAIN_PLACES; i++) {
        const struct berth_explain_place *place = &explain->places[i];

        if (!place->path || !place->in)
            continue;
        if (place->what)
            berth_strvec_pushf(&parts, "%s %s %s", place->what, place->path,
                               owner_of(place->in));
        else
            berth_strvec_pushf(&parts, "%s %s", place->path, owner_of(place->in));
    }
    if (explain->starts_in)
        berth_strvec_pushf(&parts, "the command starts in %s", explain->starts_in);
    put_parts(out, "|directories", &parts, "as the runtime mounts them");
}

/* Append MOUNT as it would be typed, in the shortest form. */
static void push_mount(const struct berth_plan_item *mount, struct berth_strvec *ret)
{
    static const char *const modes[] = {[BERTH_MOUNT_RW] = "",
                                        [BERTH_MOUNT_RO] = ":ro",
                                        [BERTH_MOUNT_SQSH] = ":sqsh",
                                        [BERTH_MOUNT_TMPFS] = "",
                                        [BERTH_MOUNT_UMOUNT] = ""};
    const char *mode = modes[mount->mode];
    BERTH_BUF struct berth_buf text = {0};

    if (*mode || mount->flags || strcmp(mount->source, mount->destination) != 0)
        berth_buf_addf(&text, "%s:", mount->source);
    berth_buf_addf(&text, "%s%s", mount->destination, mode);
    berth_buf_part(&text, *mode ? "+" : ":", mount->flags, "");
    ret->failed |= text.failed;
    if (text.text)
        berth_strvec_push(ret, text.text);
}

static void put_mounts(const struct berth_explain *explain, struct berth_json *out)
{
    BERTH_STRVEC struct berth_strvec users = {0};
    BERTH_STRVEC struct berth_strvec sites = {0};
    BERTH_STRVEC struct berth_strvec nodes = {0};
    BERTH_STRVEC struct berth_strvec images = {0};
    BERTH_STRVEC struct berth_strvec parts = {0};
    size_t others = 0;

    for (size_t i = 0; i < explain->plan.mounts.count; i++) {
        const struct berth_plan_item *mount = &explain->plan.mounts.items[i];
        if (strcmp(mount->from, BERTH_FROM_NODE) == 0)
            push_mount(mount, &nodes);
        else if (strcmp(mount->from, BERTH_FROM_SITE) == 0)
            push_mount(mount, &sites);
        else if (strcmp(mount->from, BERTH_FROM_USER) == 0)
            push_mount(mount, &users);
        else if (strcmp(mount->from, BERTH_FROM_IMAGE) == 0)
            push_mount(mount, &images);
        else
            others++;
    }
    push_names("yours:", &users, &parts);
    push_names("the site's:", &sites, &parts);
    push_names("the node's:", &nodes, &parts);
    push_names("for the image's variables:", &images, &parts);
    if (others)
        berth_strvec_pushf(&parts, "%zu for MPI and the host's libraries", others);
    put_parts(out, "|mounts", &parts, "none besides the runtime's own");
}

/* The last variable of its name decides. */
static bool is_last(const struct berth_plan *plan, size_t at)
{
    for (size_t i = at + 1; i < plan->variables.count; i++)
        if (strcmp(plan->variables.items[i].name, plan->variables.items[at].name) == 0)
            return false;
    return true;
}

static void put_variables(const struct berth_explain *explain, struct berth_json *out)
{
    const struct berth_plan *plan = &explain->plan;
    char *const *exported = explain->launch->environment;
    BERTH_STRVEC struct berth_strvec restored = {0};
    BERTH_STRVEC struct berth_strvec yours = {0};
    BERTH_STRVEC struct berth_strvec changed = {0};
    BERTH_STRVEC struct berth_strvec removed = {0};
    BERTH_STRVEC struct berth_strvec pytorch = {0};
    BERTH_STRVEC struct berth_strvec parts = {0};

    berth_strvec_push(&parts, "all that Slurm passes");
    for (size_t i = 0; i < plan->variables.count; i++) {
        const struct berth_plan_item *it = &plan->variables.items[i];

        if (!is_last(plan, i))
            continue;
        if (strcmp(it->from, BERTH_FROM_CAPTURE) == 0)
            berth_strvec_push(&restored, it->name);
        else if (strcmp(it->from, BERTH_FROM_USER) == 0)
            berth_strvec_push(&yours, it->name);
        else if (strcmp(it->from, BERTH_FROM_PYTORCH) == 0)
            berth_strvec_push(&pytorch, it->name);
        else if (!berth_environ_value(exported, it->name))
            continue; /* what the user has not is no surprise */
        else if (it->value)
            berth_strvec_push(&changed, it->name);
        else
            berth_strvec_push(&removed, it->name);
    }
    push_names("despite --export:", &restored, &parts);
    push_names("yours:", &yours, &parts);
    push_names("for PyTorch:", &pytorch, &parts);
    push_names("with another value:", &changed, &parts);
    push_names("but not", &removed, &parts);
    put_parts(out, "|variables", &parts, "");
}

static void put_devices(const struct berth_explain *explain, struct berth_json *out)
{
    const struct berth_gpu_choice *gpu = &explain->launch->gpu;
    BERTH_STRVEC struct berth_strvec devices = {0};
    BERTH_STRVEC struct berth_strvec parts = {0};

    if (gpu->flag)
        berth_strvec_pushf(&parts, "GPU driver (%s): %s", gpu->flag, gpu->because);
    else if (gpu->because)
        berth_strvec_pushf(&parts, "no GPU driver: %s", gpu->because);
    berth_request_list_devices(explain->launch->request, &devices);
    push_names("by name:", &devices, &parts);
    put_parts(out, "|devices", &parts, "no GPU driver");
}

static void put_container(const struct berth_explain *explain, struct berth_json *out)
{
    const char *from = berth_explain_source(explain, BERTH_OPTION_LIFETIME);
    const char *why_step = berth_explain_why_step(explain);
    BERTH_STRVEC struct berth_strvec parts = {0};

    if (explain->separate)
        berth_strvec_pushf(&parts, "one for each task: %s", explain->separate);
    else if (explain->launch->order->step.tasks)
        berth_strvec_push(&parts, "one on each node, which its tasks join");
    else
        berth_strvec_push(&parts, "one, for this process alone");
    berth_strvec_pushf(&parts, "it ends with the %s", berth_explain_lifetime(explain));
    if (explain->launch->request->save)
        berth_strvec_pushf(&parts, "it is saved as %s", explain->launch->request->save);
    if (why_step)
        berth_strvec_pushf(&parts, "job is asked by %s, but %s", from, why_step);
    put_parts(out, "|container", &parts, "");
}

static void put_unusual(const struct berth_explain *explain, struct berth_json *out)
{
    const struct berth_request *request = explain->launch->request;
    BERTH_STRVEC struct berth_strvec forced = {0};
    BERTH_STRVEC struct berth_strvec parts = {0};

    for (int id = 0; id < BERTH_OPTION_COUNT; id++)
        if (berth_strvec_has(&request->site, berth_options[id].name))
            berth_strvec_pushf(&forced, "--%s", berth_options[id].name);
    push_names("the site sets", &forced, &parts);
    push_names("namespaces of its own:", &request->unshare, &parts);
    push_names("arguments of the runtime:", &request->args, &parts);
    if (request->writable == BERTH_YES)
        push_part("what tasks write to the image is thrown away",
                  "; until then it is in ", explain->binding->written, &parts);
    if (explain->binding->no_cma)
        berth_strvec_pushf(&parts, "MPI copies messages between containers twice: %s",
                           explain->binding->no_cma);
    if (explain->binding->no_job)
        berth_strvec_push(&parts, explain->binding->no_job);
    put_parts(out, "|unusual", &parts, "nothing");
}

/* Write what most users want to know: about twelve lines. */
static void write_brief(const struct berth_explain *explain, struct berth_json *out)
{
    const struct berth_request *request = explain->launch->request;

    put_first_line(explain, out);
    if (!berth_request_has_container(request))
        return;
    put_mpi(explain, out);
    put_image(explain, out);
    put_command(explain, out);
    put_places(explain, out);
    put_mounts(explain, out);
    put_variables(explain, out);
    put_devices(explain, out);
    put_container(explain, out);
    put_unusual(explain, out);
    if (strcmp(request->explain, BERTH_EXPLAIN_EVERYTHING) == 0)
        return; /* more follows */
    if (explain->launch->order->step.tasks)
        berth_json_linef(out, "  more: --container-explain=all or =json; `berth "
                              "explain` needs no allocation");
    else
        berth_json_linef(out, "  more: berth explain --all or --json");
}

/* Append LINES to RET, each with the number of the component, or the rank, as a prefix
 * if the step has several. */
static void add_lines(const struct berth_explain *explain,
                      const struct berth_buf *lines, struct berth_buf *ret)
{
    const struct berth_order_step *step = &explain->launch->order->step;
    const char *line = lines->text;
    char number[16] = "";

    if (step->ranks && explain->rank)
        snprintf(number, sizeof(number), "%.10s: ", explain->rank);
    else if (step->is_several)
        snprintf(number, sizeof(number), "%d: ", step->component);
    while (line && *line) {
        size_t length = strcspn(line, "\n") + 1;

        berth_buf_puts(ret, number);
        berth_buf_add(ret, line, length);
        line += length;
    }
}

int berth_explain_write(const struct berth_explain *explain, struct berth_buf *ret,
                        struct berth_err *err)
{
    const char *form = explain->launch->request->explain;
    bool is_json = strcmp(form, BERTH_EXPLAIN_JSON) == 0;
    BERTH_JSON struct berth_json out = {
        .pretty = true, .is_text = !is_json, .longest = LONGEST};

    if (!is_json)
        write_brief(explain, &out);
    if (is_json || strcmp(form, BERTH_EXPLAIN_EVERYTHING) == 0)
        berth_explain_details(explain, &out);
    if (is_json)
        berth_buf_puts(&out.text, "\n");
    if (out.text.failed || explain->plan.failed)
        return berth_err_oom(err);
    add_lines(explain, &out.text, ret);
    return berth_err_oom_if(ret->failed, err);
}

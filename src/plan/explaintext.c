/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the account of a launch for people: first what a user wants to know first. */

#include "plan/explaintext.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "plan/finding.h"
#include "request/path.h"

char *berth_explain_cut(const char *text)
{
    size_t length = strlen(text);
    char *cut;

    if (length <= BERTH_EXPLAIN_LONGEST)
        return strdup(text);
    length = BERTH_EXPLAIN_LONGEST - strlen("...");
    for (int i = 0; i < 3 && ((unsigned char)text[length] & 0xc0) == 0x80; i++)
        length--;
    return asprintf(&cut, "%.*s...", (int)length, text) < 0 ? NULL : cut;
}

void berth_explain_prefix(const struct berth_explain *explain,
                          const struct berth_buf *lines, struct berth_buf *ret)
{
    const struct berth_order_step *step = &explain->step;
    const char *line = lines->text;
    char number[16] = "";

    ret->failed |= lines->failed;
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

/* Write bytes that could control a terminal, or are not UTF-8, as \xNN. */
static void put_escaped(struct berth_buf *buf, const char *text)
{
    bool is_utf8 = berth_path_is_utf8(text);

    for (const char *c = text; *c; c++) {
        unsigned char byte = (unsigned char)*c;
        bool is_c1 = is_utf8 && byte == 0xc2 && (unsigned char)c[1] < 0xa0;
        char hex[8];

        if (is_c1)
            byte = (unsigned char)*++c;
        snprintf(hex, sizeof(hex), "\\x%02x", byte);
        if (byte == '\n')
            berth_buf_puts(buf, "\\n");
        else if (byte < 0x20 || byte == 0x7f || is_c1 || (byte >= 0x80 && !is_utf8))
            berth_buf_puts(buf, hex);
        else
            berth_buf_add(buf, c, 1);
    }
}

static void put_plain(struct berth_buf *buf, const char *text)
{
    BERTH_FREE char *cut = berth_explain_cut(text);

    buf->failed |= !cut;
    put_escaped(buf, cut ? cut : "");
}

/* Write WORD quoted for a shell. */
static void put_word(struct berth_buf *buf, const char *word)
{
    BERTH_FREE char *cut = berth_explain_cut(word);
    BERTH_BUF struct berth_buf quoted = {0};

    berth_buf_word(&quoted, cut ? cut : "");
    put_escaped(buf, quoted.text ? quoted.text : "");
    buf->failed |= !cut || quoted.failed;
}

static void put_line(struct berth_buf *buf, const char *name, const char *value)
{
    if (!value)
        return;
    berth_buf_addf(buf, "  %-12s ", name);
    put_plain(buf, value);
    berth_buf_puts(buf, "\n");
}

static void put_number(struct berth_buf *buf, const char *format, unsigned int number)
{
    berth_buf_addf(buf, format, number, number == 1 ? "" : "s");
}

/* With --multi-prog: "ranks 0-3: 4 tasks run" */
static void put_ranks(const struct berth_order_step *step, struct berth_buf *buf)
{
    bool is_one = step->tasks == 1;

    berth_buf_puts(buf, is_one ? "rank " : "ranks ");
    put_plain(buf, step->ranks);
    berth_buf_puts(buf, ": ");
    if (step->tasks)
        put_number(buf, "%u task%s ", step->tasks);
    berth_buf_puts(buf, is_one ? "runs" : "run");
}

/* "component 0: 4 tasks on 2 nodes run" */
static void put_component(const struct berth_order_step *step, struct berth_buf *buf)
{
    put_number(buf, "component %u: ", (unsigned int)step->component);
    if (step->tasks)
        put_number(buf, "%u task%s", step->tasks);
    else
        berth_buf_puts(buf, "one task");
    if (step->nodes)
        put_number(buf, " on %u node%s", step->nodes);
    else
        berth_buf_puts(buf, " on this host");
    berth_buf_puts(buf, step->tasks > 1 ? " run" : " runs");
}

/* Write which tasks run which command in which image. */
static void put_first_line(const struct berth_explain *explain, struct berth_buf *buf)
{
    if (explain->step.ranks)
        put_ranks(&explain->step, buf);
    else
        put_component(&explain->step, buf);
    for (char *const *word = explain->command; *word; word++) {
        berth_buf_puts(buf, " ");
        put_word(buf, *word);
    }
    if (berth_request_has_container(explain->request)) {
        berth_buf_puts(buf, " in ");
        put_word(buf, berth_request_name(explain->request));
    } else {
        berth_buf_puts(buf, " without a container");
    }
    berth_buf_puts(buf, "\n");
}

static void put_summary(const struct berth_explain *explain, struct berth_buf *buf)
{
    BERTH_BUF struct berth_buf mpi = {0};

    put_first_line(explain, buf);
    if (!berth_request_has_container(explain->request))
        return;
    berth_buf_puts(buf, "  container: ");
    if (explain->apart) {
        berth_buf_puts(buf, "one for each task: ");
        put_plain(buf, explain->apart);
    } else {
        berth_buf_puts(buf, explain->step.tasks
                                ? "one on each node, which its tasks join"
                                : "one, for this process alone");
    }
    berth_buf_puts(buf, "\n  MPI: ");
    berth_explain_mpi(explain, &mpi);
    put_plain(buf, mpi.text ? mpi.text : "");
    berth_buf_puts(buf, "\n");
    buf->failed |= mpi.failed;
}

static void put_image(const struct berth_explain *explain, struct berth_buf *buf)
{
    berth_buf_puts(buf, "\nimage\n");
    put_line(buf, "path", explain->request->image);
    put_line(buf, "pulled from", explain->request->uri);
    for (size_t i = 0; i + 1 < explain->image.count; i += 2)
        put_line(buf, explain->image.items[i], explain->image.items[i + 1]);
}

/* Write which GPU driver the container gets, and why. */
static void put_gpu(const struct berth_explain *explain, struct berth_buf *buf)
{
    const char *asked = explain->request->gpu;
    BERTH_BUF struct berth_buf line = {0};

    if (!explain->gpu_because)
        return;
    berth_buf_addf(&line, "%s (--container-gpu=%s: %s)",
                   explain->gpu ? explain->gpu : "none", asked ? asked : BERTH_GPU_AUTO,
                   explain->gpu_because);
    put_line(buf, "GPU", line.text);
    buf->failed |= line.failed;
}

/* Write the lifetime of the container, and who set it. */
static void put_lifetime(const struct berth_explain *explain, struct berth_buf *buf)
{
    const char *from = explain->lifetime_from;
    BERTH_BUF struct berth_buf line = {0};

    berth_buf_puts(&line, berth_explain_lifetime(explain));
    berth_buf_puts(&line, explain->why_step ? " (job is asked by "
                          : from            ? " (asked by "
                                            : " (the default");
    berth_buf_addf(&line, "%s%s%s)", from ? from : "",
                   explain->why_step ? ", but " : "",
                   explain->why_step ? explain->why_step : "");
    put_line(buf, "lifetime", line.text);
    buf->failed |= line.failed;
}

static void put_runtime(const struct berth_explain *explain, struct berth_buf *buf)
{
    berth_buf_puts(buf, "\nruntime, on ");
    put_plain(buf, explain->node);
    berth_buf_puts(buf, "\n");
    put_line(buf, "program", explain->runtime);
    put_line(buf, "version", explain->runtime_version);
    put_gpu(explain, buf);
    put_lifetime(explain, buf);
    put_line(buf, "inside", explain->inside ? explain->inside : "no command of Slurm");
    if (explain->words.count)
        berth_buf_puts(buf, "  words        ");
    for (size_t i = 0; i < explain->words.count; i++) {
        berth_buf_puts(buf, i ? "\n               " : "");
        put_word(buf, explain->words.items[i]);
    }
    if (explain->words.count)
        berth_buf_puts(buf, "\n");
}

/* Write the source and the reason of an item in front of it, unless they are those of
 * the item before. */
static void put_reason(struct berth_buf *buf, const char *from, const char *why,
                       const char **last_from, const char **last_why)
{
    if (*last_from && strcmp(*last_from, from) == 0 && strcmp(*last_why, why) == 0)
        return;
    *last_from = from;
    *last_why = why;
    berth_buf_addf(buf, "  %s: ", from);
    put_plain(buf, why);
    berth_buf_puts(buf, "\n");
}

static void put_mounts(const struct berth_explain *explain, struct berth_buf *buf)
{
    static const char *const mode[] = {[BERTH_MOUNT_RW] = "\n",
                                       [BERTH_MOUNT_RO] = " (ro)\n",
                                       [BERTH_MOUNT_SQSH] = " (squashfs file, ro)\n"};
    const char *from = NULL;
    const char *why = NULL;

    berth_buf_puts(buf, "\nmounts, besides those that the runtime makes by itself\n");
    for (size_t i = 0; i < explain->mount_count; i++) {
        const struct berth_explain_mount *mount = &explain->mounts[i];

        put_reason(buf, mount->from, mount->why, &from, &why);
        berth_buf_puts(buf, "    ");
        put_plain(buf, mount->source);
        if (strcmp(mount->source, mount->destination) != 0) {
            berth_buf_puts(buf, " -> ");
            put_plain(buf, mount->destination);
        }
        berth_buf_puts(buf, mode[mount->mode]);
    }
    if (explain->mount_count == 0)
        berth_buf_puts(buf, "  none\n");
}

/* "libmpi.so.12\t/usr/lib/libmpi.so.12\t/stage/libmpi.so.12" */
static void put_library(struct berth_buf *buf, const char *text)
{
    BERTH_FREE char *copy = strdup(text);
    char *next = copy;
    const char *soname = next ? strsep(&next, "\t") : NULL;
    const char *path = next ? strsep(&next, "\t") : NULL;

    buf->failed |= !copy;
    if (!path)
        return;
    berth_buf_puts(buf, "    ");
    put_plain(buf, soname);
    berth_buf_puts(buf, " => ");
    put_plain(buf, path);
    if (next && strcmp(next, path) != 0) {
        berth_buf_puts(buf, ", which is ");
        put_plain(buf, next);
    }
    berth_buf_puts(buf, "\n");
}

static void put_findings(const struct berth_explain *explain, struct berth_buf *buf)
{
    static const struct {
        const char *name;
        const char *title;
    } lines[] = {
        {BERTH_FINDING_PROGRAM, "command"},
        {BERTH_FINDING_RUNNER, "runs by"},
        {BERTH_FINDING_LINKED, "linked with"},
        {BERTH_FINDING_IMAGE_MPI, "in the image"},
        {BERTH_FINDING_STACK, "on the host"},
        {BERTH_FINDING_PROFILE, "profile"},
        {BERTH_FINDING_FOUND, "found by"},
        {BERTH_FINDING_STAGED, "staged in"},
        {BERTH_FINDING_CONFIG, "set by"},
        {BERTH_FINDING_GLIBC, "glibc"},
        {BERTH_FINDING_GLIBC_IMAGE, "  image's"},
        {BERTH_FINDING_GLIBC_HOST, "  host's"},
        {BERTH_FINDING_MANAGERS, "speaks"},
        {BERTH_FINDING_LOADER, "loader"},
        {BERTH_FINDING_TARGET, "asked about"},
        {BERTH_FINDING_WATCHED, "watched"},
    };

    for (size_t i = 0; i + 1 < explain->binding.facts.count; i += 2) {
        const char *name = explain->binding.facts.items[i];
        const char *value = explain->binding.facts.items[i + 1];

        for (size_t k = 0; k < sizeof(lines) / sizeof(lines[0]); k++)
            if (strcmp(lines[k].name, name) == 0)
                put_line(buf, lines[k].title, value);
        if (strcmp(name, BERTH_FINDING_LIBRARY) == 0 ||
            strcmp(name, BERTH_FINDING_OWN) == 0)
            put_library(buf, value);
    }
}

static void put_mpi(const struct berth_explain *explain, struct berth_buf *buf)
{
    berth_buf_puts(buf, "\nMPI\n");
    put_line(buf, "--mpi-bind", berth_request_mode(explain->request));
    put_line(buf, "asked by",
             explain->request->mpi && explain->mode_from ? explain->mode_from : NULL);
    put_line(buf, "libraries", explain->request->libs);
    put_line(buf, "srun --mpi", explain->manager);
    put_findings(explain, buf);
}

static void put_environment(const struct berth_explain *explain, struct berth_buf *buf)
{
    const char *from = NULL;
    const char *why = NULL;

    berth_buf_puts(buf, "\nenvironment, besides what Slurm sets; if a name appears "
                        "twice, the later one wins\n");
    for (size_t i = 0; i < explain->variable_count; i++) {
        const struct berth_explain_variable *variable = &explain->variables[i];

        put_reason(buf, variable->from, variable->why, &from, &why);
        berth_buf_puts(buf, "    ");
        put_plain(buf, variable->name);
        berth_buf_puts(buf, variable->value ? "=" : " is removed");
        put_plain(buf, variable->value ? variable->value : "");
        berth_buf_puts(buf, "\n");
    }
    if (explain->variable_count == 0)
        berth_buf_puts(buf, "  nothing changes\n");
}

void berth_explain_text(const struct berth_explain *explain, struct berth_buf *ret)
{
    BERTH_BUF struct berth_buf lines = {0};

    put_summary(explain, &lines);
    if (berth_request_has_container(explain->request)) {
        put_image(explain, &lines);
        put_runtime(explain, &lines);
        put_mounts(explain, &lines);
        put_mpi(explain, &lines);
        put_environment(explain, &lines);
    }
    berth_explain_prefix(explain, &lines, ret);
}

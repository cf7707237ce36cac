/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what a step of berth qualify has said. */

#include "qualify/measured.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define START "berth-qualify "

/* A number that is more than 0, and nothing behind it. */
static bool read_number(const char *text, double *ret)
{
    char *end;
    double number = strtod(text, &end);

    if (end == text || *end || !(number > 0) || isinf(number))
        return false;
    *ret = number;
    return true;
}

static bool read_ring(const char *text, struct berth_measured *ret)
{
    int ranks, nodes, end = 0;

    if (sscanf(text, "%d %d%n", &ranks, &nodes, &end) != 2 || text[end] || ranks < 1 ||
        nodes < 1 || nodes > ranks)
        return false;
    ret->ranks = ranks;
    ret->nodes = nodes;
    ret->rings++;
    return true;
}

/* "Open MPI v5.0.7, package: ...", "MPICH Version:      4.2.1". */
static void read_library(const char *text, char *to, size_t size)
{
    size_t used = 0;

    for (; *text && *text != ',' && used + 1 < size; text++)
        if (*text != ' ' || (used && to[used - 1] != ' '))
            to[used++] = *text;
    to[used] = '\0';
}

/* A program has a card open several times. */
static void add_device(const char *path, struct berth_buf *ret)
{
    size_t length = strlen(path);

    for (const char *at = ret->text; at && (at = strstr(at, path)); at += length)
        if (!at[length] || at[length] == ' ')
            return;
    berth_buf_addf(ret, "%s%s", ret->used ? " " : "", path);
}

/* LINE, without our first word. */
static bool read_line(const char *line, struct berth_measured *ret)
{
    const char *value = strchr(line, ' ');

    if (!value || !*++value)
        return false;
    if (berth_text_starts(line, "library "))
        read_library(value, ret->library, sizeof(ret->library));
    else if (berth_text_starts(line, "device "))
        add_device(value, &ret->devices);
    else if (strcmp(line, "cma yes") == 0)
        snprintf(ret->cma, sizeof(ret->cma), "yes");
    else if (berth_text_starts(line, "cma no "))
        snprintf(ret->cma, sizeof(ret->cma), "%s", value + 3);
    else if (berth_text_starts(line, "ring "))
        return read_ring(value, ret);
    else if (berth_text_starts(line, "latency "))
        return read_number(value, &ret->latency);
    else if (berth_text_starts(line, "bandwidth "))
        return read_number(value, &ret->bandwidth);
    else
        return false;
    return true;
}

/* Copy the line at *NEXT to LINE, cut to SIZE. Returns false when there is none. */
static bool next_line(const char **next, char *line, size_t size)
{
    size_t length;

    if (!*next || !**next)
        return false;
    length = strcspn(*next, "\n");
    snprintf(line, size, "%.*s", (int)length, *next);
    *next += length + ((*next)[length] == '\n');
    return true;
}

int berth_measured_read(const char *out, struct berth_measured *ret,
                        struct berth_err *err)
{
    char line[1024];

    *ret = (struct berth_measured){.ranks = 0};
    while (next_line(&out, line, sizeof(line)))
        if (berth_text_starts(line, START) && !read_line(line + strlen(START), ret))
            return berth_err_set(err, "the program says '%s', which is not a result",
                                 line);
    return ret->devices.failed ? berth_err_oom(err) : 0;
}

void berth_measured_fini(struct berth_measured *measured)
{
    berth_buf_fini(&measured->devices);
}

/* `berth: n1: note: ...: 2 of 2 ranks loaded the host's MPICH 4.2.1` of one node. */
static void read_note(const char *line, struct berth_witnessed *ret)
{
    static const char loaded[] = " ranks loaded the host's ";
    const char *end = strstr(line, loaded);
    const char *start = end;
    int ranks, of;

    while (start && start > line && !berth_text_starts(start, ": "))
        start--;
    if (!start || sscanf(start, ": %d of %d", &ranks, &of) != 2)
        return;
    ret->ranks += ranks;
    ret->of += of;
    end += strlen(loaded);
    snprintf(ret->host, sizeof(ret->host), "%.*s", (int)strcspn(end, ";,"), end);
}

/* UCX: `UCX  INFO    ucp_context_0 inter-node cfg#2 tag(tcp/eth0)  rma_am(...)`. */
static void read_ucx(const char *line, struct berth_witnessed *ret)
{
    const char *tag = strstr(line, " tag(");
    bool between = strstr(line, " inter-node ");
    char *to = between ? ret->between : ret->within;

    if (!tag || (!between && !strstr(line, " intra-node ")))
        return;
    snprintf(to, sizeof(ret->between), "%.*s", (int)strcspn(tag + 5, ")"), tag + 5);
    ret->speaker = "UCX";
}

/* Open MPI, where it uses networks by itself:
 * `[n1:43] mca: bml: Using tcp btl for send to [[59526,30206],1] on node n2`. */
static void read_bml(const char *line, struct berth_witnessed *ret)
{
    static const char middle[] = " mca: bml: Using ";
    const char *name = strstr(line, middle);
    const char *node = name ? strstr(name, " on node ") : NULL;
    size_t length = strcspn(line, ":.");
    char *to;

    if (!node || *line != '[')
        return;
    name += strlen(middle);
    node += strlen(" on node ");
    if (berth_text_starts(name, "self ") ||
        (ret->speaker && strcmp(ret->speaker, "Open MPI") != 0))
        return;
    to = strcspn(node, ".") == length - 1 && strncmp(line + 1, node, length - 1) == 0
             ? ret->within
             : ret->between;
    snprintf(to, sizeof(ret->between), "%.*s", (int)strcspn(name, " "), name);
    ret->speaker = "Open MPI";
}

/* The core of libfabric: `...<info> Opened fabric: cxi`, which is an address with TCP,
 * and from 2.0 on also `...<info> Using cxi provider 2.1, path:...`. */
static void read_opened(const char *line, struct berth_witnessed *ret)
{
    static const char *const starts[] = {"<info> Opened fabric: ", "<info> Using ",
                                         NULL};

    for (const char *const *start = starts; *start; start++) {
        const char *name = strstr(line, *start);

        name = name ? name + strlen(*start) : "0";
        if ((*name < '0' || *name > '9') && !berth_text_starts(name, "ofi_"))
            snprintf(ret->opened, sizeof(ret->opened), "%.*s",
                     (int)strcspn(name, " ,;"), name);
    }
}

/* libfabric: `libfabric:PID:TIME::PROVIDER:SUBSYSTEM:...`. What is above another
 * provider (ofi_rxm), and the core, do not tell the network. */
static void read_libfabric(const char *line, struct berth_witnessed *ret)
{
    static const char *const subsystems[] = {":ep_ctrl:", ":ep_data:", NULL};

    read_opened(line, ret);

    for (const char *const *name = subsystems; *name; name++) {
        const char *end = strstr(line, *name);
        const char *start = end;

        while (start && start > line && start[-1] != ':')
            start--;
        if (start && start > line && *start != ':' &&
            !berth_text_starts(start, "core:") && !berth_text_starts(start, "ofi_"))
            snprintf(ret->provider, sizeof(ret->provider), "%.*s", (int)(end - start),
                     start);
    }
}

/* An error of berth's, not a note and not a warning; without the place. */
static void read_sentence(const char *line, struct berth_witnessed *ret)
{
    if (!strstr(line, ": note: ") && !strstr(line, ": warning: ") && !*ret->sentence)
        snprintf(ret->sentence, sizeof(ret->sentence), "%s", line);
}

/* Is LINE, which no part of Slurm has printed, an error by its words? Open MPI writes
 * "*** An error occurred" behind what tells more, and MPICH "error stack:" before it.
 */
static bool is_error(const char *line)
{
    static const char *const words[] = {"error",     "cannot", "no such file",
                                        "not found", "denied", NULL};

    if (berth_text_starts(line, "*** ") || berth_text_ends(line, ":"))
        return false;
    for (const char *const *word = words; *word; word++)
        if (strcasestr(line, *word))
            return true;
    return false;
}

/* How much LINE tells about a failure. AFTER_RULE: it stands below a line of dashes,
 * where Open MPI writes what is wrong. */
enum { SRUN = 1, LINE, ERROR, REASON };

static int weigh(const char *line, bool after_rule)
{
    if (berth_text_starts(line, "srun: ")) /* says that the step has ended */
        return SRUN;
    if (strstr(line, " error: execve(): ") || strstr(line, " oom-kill "))
        return REASON; /* of slurmstepd */
    return is_error(line) || after_rule ? ERROR : LINE;
}

/* Keep the line that tells most: of errors the first one, of other lines of a program
 * the last one. */
static void read_other(const char *line, struct berth_witnessed *ret)
{
    bool is_rule = *line && !line[strspn(line, "-")];
    int weight = weigh(line, ret->after_rule);

    if (!*line || is_rule || strstr(line, " error: *** ") ||
        (weight == SRUN && !strstr(line, " error: "))) {
        ret->after_rule = is_rule;
        return;
    }
    ret->after_rule = false;
    if (weight > ret->weight || (weight == LINE && ret->weight == LINE)) {
        snprintf(ret->other, sizeof(ret->other), "%s", line);
        ret->weight = weight;
    }
}

void berth_witnessed_read(const char *log, struct berth_witnessed *ret)
{
    char line[1024];

    while (next_line(&log, line, sizeof(line))) {
        if (strstr(line, "UCX  ") && !strstr(line, "UCX  ERROR"))
            read_ucx(line, ret);
        else if (berth_text_starts(line, "libfabric:"))
            read_libfabric(line, ret);
        else if (strstr(line, " mca: bml: "))
            read_bml(line, ret);
        else if (berth_text_starts(line, "berth: ")) {
            read_note(line, ret);
            read_sentence(line, ret);
        } else if (!berth_text_starts(line, START))
            read_other(line, ret);
    }
}

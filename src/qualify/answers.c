/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and judges what programs on nodes have answered. */

#include "qualify/answers.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* `mpich: MPICH 4.2.1, of the family MPICH, found by the loader`, and
 * `ucx: libucp.so.0.0.0, a fabric, found by the loader`. */
static bool read_offer(const char *line, size_t length, struct berth_offer *ret)
{
    static const char of[] = ", of the family ", fabric[] = ", a fabric, ";
    char text[512];
    const char *colon, *family;

    snprintf(text, sizeof(text), "%.*s", (int)length, line);
    colon = strchr(text, ':');
    if (!colon || *text == ' ' || strcspn(text, " ") < (size_t)(colon - text))
        return false;
    family = strstr(colon, of);
    if (!family && !strstr(colon, fabric))
        return false;
    *ret = (struct berth_offer){.name = ""};
    snprintf(ret->name, sizeof(ret->name), "%.*s", (int)(colon - text), text);
    if (family) {
        family += strlen(of);
        snprintf(ret->family, sizeof(ret->family), "%.*s", (int)strcspn(family, ","),
                 family);
    }
    snprintf(ret->version, sizeof(ret->version), "%.*s", (int)strcspn(colon + 2, ","),
             colon + 2);
    return true;
}

size_t berth_offers_read(const char *text, struct berth_offer ret[BERTH_OFFERS])
{
    size_t count = 0;
    bool is_offer = false; /* what the next indented lines are about */

    while (*text && count < BERTH_OFFERS) {
        size_t length = strcspn(text, "\n");

        if (*text != ' ')
            count += is_offer = read_offer(text, length, &ret[count]);
        else if (is_offer && berth_text_starts(text, "  profile: "))
            ret[count - 1].is_named = true;
        text += length + (text[length] == '\n');
    }
    return count;
}

enum berth_check_result berth_offers_judge(const struct berth_offer *offers,
                                           size_t count, struct berth_buf *ret)
{
    bool has_mpi = false;

    for (size_t i = 0; i < count; i++) {
        has_mpi |= *offers[i].family;
        berth_buf_addf(ret, "%s%s (%s)", i ? ", " : "", offers[i].name,
                       offers[i].version);
    }
    if (has_mpi)
        return BERTH_CHECK_OK;
    berth_buf_addf(ret, "%sno MPI of the host; berth profiles there has the remedy",
                   count ? "; " : "");
    return BERTH_CHECK_NOTE;
}

bool berth_offer_fits(const char *family, const char *text)
{
    bool is_openmpi = strstr(text, "Open MPI") != NULL;

    return (strcmp(family, "Open MPI") == 0) == is_openmpi;
}

/* Open MPI uses its own TCP where it knows no better network. To use libfabric or UCX
 * on any network it wants to be told; libfabric offers TCP last, and its memory on a
 * node (shm), which cannot reach other nodes, before that. */
const char *berth_offer_settings(const struct berth_offer *offer, const char *text)
{
    if (!strstr(text, "Open MPI"))
        return NULL;
    if (berth_text_starts(offer->version, "libfabric."))
        return "OMPI_MCA_pml=cm,OMPI_MCA_mtl=ofi,OMPI_MCA_mtl_ofi_provider_exclude=shm";
    if (berth_text_starts(offer->version, "libucp."))
        return "OMPI_MCA_pml=ucx,OMPI_MCA_pml_ucx_tls=any,OMPI_MCA_pml_ucx_devices=any";
    return NULL;
}

void berth_types_read(const char *text, struct berth_strvec *ret)
{
    const char *next = strstr(text, "types are");

    next = next ? strchr(next, '\n') : NULL;
    while (next && *++next) {
        size_t length;
        char type[64];

        next += berth_text_starts(next, "srun: ") ? 6 : 0;
        next += strspn(next, " \t");
        length = strcspn(next, "\n");
        snprintf(type, sizeof(type), "%.*s", (int)length, next);
        if (*type && !strpbrk(type, " :") && strcmp(type, "none") != 0)
            berth_strvec_push_once(ret, type);
        next = next[length] ? next + length : NULL;
    }
}

bool berth_types_have_version(const char *text, const char *type)
{
    static const char separators[] = ", \t\n";
    const char *next = strstr(text, "versions available:");

    for (next = next ? strchr(next, ':') + 1 : ""; *next;) {
        size_t length;

        next += strspn(next, separators);
        length = strcspn(next, separators);
        if (length && strlen(type) == length && strncmp(next, type, length) == 0)
            return true;
        next += length;
    }
    return false;
}

void berth_lines_read(const char *text, struct berth_strvec *ret)
{
    while (*text) {
        size_t length = strcspn(text, "\n");

        if (length && !memchr(text, ' ', length))
            berth_strvec_pushf(ret, "%.*s", (int)length, text);
        text += length + (text[length] == '\n');
    }
}

unsigned int berth_partition_nodes(const char *text, bool is_named)
{
    unsigned int sum = 0, count;
    char name[128], sign;

    for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
        if (sscanf(text, "%127s %u%c", name, &count, &sign) == 3 && sign == '\n' &&
            (is_named || berth_text_ends(name, "*")))
            sum += count;
    return sum;
}

const char *berth_brief_value(const char *brief, const char *name, char *value,
                              size_t size)
{
    size_t length = strlen(name);

    *value = '\0';
    for (; *brief; brief += strcspn(brief, " \n"), brief += strspn(brief, " \n"))
        if (strncmp(brief, name, length) == 0 && brief[length] == '=') {
            brief += length + 1;
            snprintf(value, size, "%.*s", (int)strcspn(brief, " \n"), brief);
            break;
        }
    return value;
}

enum berth_check_result berth_brief_judge(const char *brief, struct berth_buf *ret)
{
    static const char *const names[] = {"berth",  "slurm", "plugin", "runtime",
                                        "setuid", "mpi",   NULL};
    char value[512];

    if (!*berth_brief_value(brief, "berth", value, sizeof(value))) {
        berth_buf_puts(ret, "berth doctor says nothing");
        return BERTH_CHECK_FAIL;
    }
    if (strcmp(berth_brief_value(brief, "wrong", value, sizeof(value)), "none") != 0) {
        berth_buf_addf(ret, "wrong: %s; berth doctor on that node has the remedy",
                       value);
        return BERTH_CHECK_FAIL;
    }
    for (const char *const *name = names; *name; name++)
        if (*berth_brief_value(brief, *name, value, sizeof(value)))
            berth_buf_addf(ret, "%s%s=%s", ret->used ? " " : "", *name, value);
    return BERTH_CHECK_OK;
}

enum berth_check_result berth_brief_compare(const struct berth_strvec *nodes,
                                            const struct berth_strvec *briefs,
                                            struct berth_buf *ret)
{
    static const char *const names[] = {"berth",  "slurm", "config", "runtime",
                                        "setuid", "mpi",   NULL};
    enum berth_check_result result = BERTH_CHECK_OK;
    char first[512], other[512];

    for (const char *const *name = names; *name; name++)
        for (size_t i = 1; i < briefs->count; i++) {
            berth_brief_value(briefs->items[0], *name, first, sizeof(first));
            berth_brief_value(briefs->items[i], *name, other, sizeof(other));
            if (strcmp(first, other) == 0)
                continue;
            berth_buf_addf(ret, "%s%s has %s=%s, and %s %s=%s", ret->used ? "; " : "",
                           nodes->items[0], *name, *first ? first : "?",
                           nodes->items[i], *name, *other ? other : "?");
            if (strcmp(*name, "berth") == 0)
                result = BERTH_CHECK_FAIL;
            else if (result == BERTH_CHECK_OK)
                result = BERTH_CHECK_NOTE;
            break;
        }
    if (!*berth_brief_value(briefs->items[0], "berth", first, sizeof(first)) &&
        result == BERTH_CHECK_OK) {
        berth_buf_puts(ret, "no node has told what it has");
        return BERTH_CHECK_SKIP;
    }
    if (!ret->used)
        berth_buf_addf(
            ret, "%zu nodes have the same berth, Slurm, settings, runtime and MPI",
            nodes->count);
    return result;
}

bool berth_config_has_extern(const char *text)
{
    const char *line = strstr(text, "PrologFlags");
    char flags[256];

    if (!line)
        return false;
    snprintf(flags, sizeof(flags), "%.*s", (int)strcspn(line, "\n"), line);
    return strcasestr(flags, "contain") || strcasestr(flags, "x11");
}

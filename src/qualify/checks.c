/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of berth qualify, as text and as JSON. */

#include "qualify/checks.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

static const char *const words[] = {"ok", "note", "skip", "fail"};

const char *berth_check_word(enum berth_check_result result)
{
    return words[result];
}

/* What programs have said comes from an image: nothing in it may write to a terminal.
 */
static char *copy(const char *text)
{
    char shown[BERTH_ERR_SIZE];

    berth_err_escape(shown, sizeof(shown), text);
    return strdup(shown);
}

int berth_checks_add(struct berth_checks *checks, enum berth_check_result result,
                     const char *about, const char *text, const char *command,
                     struct berth_err *err)
{
    struct berth_check row = {
        .result = result, .about = copy(about), .text = copy(text)};

    if (command)
        row.command = strdup(command);
    if (!row.about || !row.text || (command && !row.command) ||
        berth_grow(&checks->items, checks->count, &checks->room, sizeof(row)) < 0) {
        free(row.about);
        free(row.text);
        free(row.command);
        return berth_err_oom(err);
    }
    checks->items[checks->count++] = row;
    return 0;
}

void berth_checks_settle(struct berth_checks *checks, size_t first)
{
    size_t good = 0;

    for (size_t i = first; i < checks->count; i++)
        good += checks->items[i].result != BERTH_CHECK_FAIL;
    for (size_t i = first; good && i < checks->count; i++)
        if (checks->items[i].result == BERTH_CHECK_FAIL && !checks->items[i].stays)
            checks->items[i].result = BERTH_CHECK_NOTE;
}

size_t berth_checks_count(const struct berth_checks *checks,
                          enum berth_check_result result)
{
    size_t count = 0;

    for (size_t i = 0; i < checks->count; i++)
        count += checks->items[i].result == result;
    return count;
}

void berth_check_put(const struct berth_check *row, bool is_verbose,
                     struct berth_buf *ret)
{
    berth_buf_addf(ret, "%-5s %s: %s\n", words[row->result], row->about, row->text);
    if (row->command && (is_verbose || row->result == BERTH_CHECK_FAIL))
        berth_buf_addf(ret, "      again: %s\n", row->command);
}

void berth_checks_sum(const struct berth_checks *checks, struct berth_buf *ret)
{
    size_t notes = berth_checks_count(checks, BERTH_CHECK_NOTE);

    berth_buf_addf(ret, "%zu checks: %zu ok, %zu note%s, %zu skipped, %zu failed",
                   checks->count, berth_checks_count(checks, BERTH_CHECK_OK), notes,
                   notes == 1 ? "" : "s", berth_checks_count(checks, BERTH_CHECK_SKIP),
                   berth_checks_count(checks, BERTH_CHECK_FAIL));
}

bool berth_checks_verdict(const struct berth_checks *checks, struct berth_buf *ret)
{
    size_t failed = berth_checks_count(checks, BERTH_CHECK_FAIL);

    if (failed)
        berth_buf_addf(ret, "not qualified: %zu check%s failed", failed,
                       failed == 1 ? "" : "s");
    else if (checks->untried.used)
        berth_buf_addf(ret, "not qualified: %s", checks->untried.text);
    else
        berth_buf_puts(ret,
                       checks->has_one_node
                           ? "qualified on one node; nothing was tried between nodes"
                           : "qualified");
    ret->failed |= checks->untried.failed;
    return !failed && !checks->untried.used;
}

/* The array "figures". */
static void put_figures(const struct berth_figures *figures, struct berth_json *json)
{
    double native = figures->items[0].value;

    berth_json_array(json, "figures");
    for (size_t i = 0; i < figures->count; i++) {
        const struct berth_figure *figure = &figures->items[i];

        if (!(figure->value > 0))
            continue;
        berth_json_object(json, NULL);
        berth_json_string(json, "way", figure->way);
        berth_json_decimal(json, "value", figure->value);
        berth_json_string(json, "unit", figures->unit);
        if (native > 0)
            berth_json_decimal(json, "ratio", figure->value / native);
        else
            berth_json_string(json, "ratio", NULL);
        berth_json_end(json);
    }
    berth_json_end(json);
}

void berth_checks_json(const struct berth_checks *checks, struct berth_json *json)
{
    berth_json_array(json, "checks");
    for (size_t i = 0; i < checks->count; i++) {
        const struct berth_check *row = &checks->items[i];

        berth_json_object(json, NULL);
        berth_json_string(json, "result", words[row->result]);
        berth_json_string(json, "about", row->about);
        berth_json_string(json, "text", row->text);
        berth_json_string(json, "command", row->command);
        berth_json_string(json, "network", *row->network ? row->network : NULL);
        put_figures(&row->figures, json);
        berth_json_end(json);
    }
    berth_json_end(json);
}

void berth_checks_fini(struct berth_checks *checks)
{
    for (size_t i = 0; i < checks->count; i++) {
        free(checks->items[i].about);
        free(checks->items[i].text);
        free(checks->items[i].command);
    }
    free(checks->items);
    berth_buf_fini(&checks->untried);
    *checks = (struct berth_checks){0};
}

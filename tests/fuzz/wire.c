/* SPDX-License-Identifier: Apache-2.0 */
/* Anybody's bytes, read as the variables that srun sends to the nodes, and the plugin
 * to berth-task. */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "fuzz.h"
#include "plan/order.h"
#include "request/capture.h"
#include "request/wire.h"

typedef int (*put_function)(const struct berth_table *, char **, struct berth_err *);
typedef int (*get_function)(const char *, struct berth_table *, struct berth_err *);

/* What was read is written so that it is read again. */
static void try_table(const char *text, get_function get, put_function put)
{
    BERTH_TABLE struct berth_table table = {0};
    BERTH_TABLE struct berth_table again = {0};
    BERTH_FREE char *written = NULL;
    struct berth_err err = {0};

    if (get(text, &table, &err) < 0) {
        must(*err.text && table.count == 0);
        return;
    }
    must(table.count > 0);
    if (put(&table, &written, &err) < 0)
        return; /* a default that was not written out made it longer than the limit */
    must(get(written, &again, &err) == 0);
    must(again.count == table.count || again.count == 1);
    for (size_t i = 0; i < again.count; i++)
        must(berth_request_equal(&table.rows[i].request, &again.rows[i].request));
}

static void try_order(const char *text)
{
    BERTH_ORDER struct berth_order order = {0};
    BERTH_ORDER struct berth_order again = {0};
    BERTH_BUF struct berth_buf first = {0};
    BERTH_BUF struct berth_buf second = {0};

    if (berth_order_get(text, &order, NULL) < 0 ||
        berth_order_put(&order, &first, NULL) < 0)
        return;
    must(berth_order_get(first.text, &again, NULL) == 0);
    must(berth_order_put(&again, &second, NULL) == 0);
    must(strcmp(first.text, second.text) == 0);
}

static void try_export(const char *text)
{
    BERTH_EXPORT struct berth_export export = {0};
    BERTH_STRVEC struct berth_strvec chosen = {0};
    struct berth_strvec patterns = {.items = (char *[]){(char *)text, NULL},
                                    .count = 1};
    struct berth_capture_rules rules = {.capture = &patterns};
    char *nothing[] = {NULL};

    must(berth_export_read(text, &export, NULL) == 0);
    for (size_t i = 0; i < export.assigned.count; i++)
        must(strchr(export.assigned.items[i], '=') != NULL);
    must(berth_capture_choose(&rules, nothing, &export.assigned, &chosen, NULL) == 0);
    must(chosen.count <= export.assigned.count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    BERTH_FREE char *text = text_of(data, size);
    struct berth_request request = {0};

    try_table(text, berth_wire_get_table, berth_wire_put_table);
    if (berth_wire_get_request(text, &request, NULL) == 0)
        berth_request_fini(&request);
    try_order(text);
    try_export(text);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Anybody's bytes, read as what a user types: the command line of an srun, the values
 * of our options in it, and the text of a --multi-prog file. */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "fuzz.h"
#include "request/components.h"
#include "request/hetgroup.h"
#include "request/multiprog.h"
#include "request/option.h"
#include "request/uri.h"
#include "request/wire.h"

/* Every reading has its group, until the last one. */
static void try_groups(const char *bytes, size_t count, int optind)
{
    struct berth_hetgroups state;
    size_t rounds = 0;

    berth_hetgroups_init(&state, bytes, count);
    while (!berth_hetgroups_ended(&state) && state.words.count) {
        int group = berth_hetgroups_next(&state, optind);

        must(group == BERTH_GROUP_UNKNOWN || (group >= 0 && group <= BERTH_GROUP_MAX));
        must(++rounds <= state.words.count * (BERTH_GROUP_MAX + 1));
        berth_hetgroups_tasks(&state, optind);
    }
    must(berth_hetgroups_next(&state, optind) == BERTH_GROUP_UNKNOWN);
    berth_hetgroups_fini(&state);
}

/* The name in a cache is one name, and tells which image it is. */
static void try_uri(const char *uri)
{
    BERTH_FREE char *name = NULL;
    BERTH_FREE char *again = NULL;
    BERTH_FREE char *back = NULL;
    char *plus;

    if (berth_uri_name(uri, &name, NULL) < 0)
        return;
    must(berth_uri_is(uri) && !strchr(name, '/') && *name != '.');
    plus = strchr(name, '+');
    must(asprintf(&back, "%.*s://%s", (int)(plus - name), name, plus + 1) > 0);
    for (char *c = back; *c; c++)
        *c = *c == '+' ? '/' : *c == '=' ? ':' : *c;
    must(berth_uri_name(back, &again, NULL) == 0 && strcmp(name, again) == 0);
}

/* Take WORD if it is one of our options. */
static void try_option(struct berth_request *request, const char *word)
{
    const char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    struct berth_err err = {""};

    for (int id = 0; id < BERTH_OPTION_COUNT; id++)
        if (length == strlen(berth_options[id].name) + 2 &&
            strncmp(word + 2, berth_options[id].name, length - 2) == 0)
            must(berth_request_take(request, (enum berth_option_id)id,
                                    equals ? equals + 1 : NULL, "/home/a b",
                                    &err) == 0 ||
                 *err.text);
    if (equals)
        try_uri(equals + 1);
}

/* What was asked for arrives on the node as it was taken, and over nothing is itself.
 */
static void try_request(const struct berth_request *request)
{
    BERTH_BUF struct berth_buf text = {0};
    struct berth_request merged = {0}, again;

    must(berth_request_put_over(&merged, request, NULL) == 0);
    must(berth_request_equal(request, &merged));
    if (berth_request_said(request)) {
        berth_wire_put_request(&text, request);
        must(berth_wire_get_request(text.text, &again, NULL) == 0);
        must(berth_request_equal(request, &again));
        berth_request_fini(&again);
    }
    berth_request_fini(&merged);
}

static void try_options(const char *bytes, size_t count)
{
    struct berth_request request = {0};
    struct berth_hetgroups line;

    berth_hetgroups_init(&line, bytes, count);
    for (size_t i = 0; i < line.words.count; i++)
        try_option(&request, line.words.items[i]);
    try_request(&request);
    berth_request_fini(&request);
    berth_hetgroups_fini(&line);
}

/* Nothing but the program is added. */
static void try_multiprog(const char *text)
{
    BERTH_FREE char *prefixed = NULL;
    const char *rest = text;

    must(berth_multiprog_prefix(text, "\001", &prefixed, NULL) == 0);
    if (strchr(text, '\001'))
        return;
    for (const char *c = prefixed; *c; c++)
        if (strncmp(c, " \001", 2) == 0)
            c++;
        else
            must(*c == *rest++);
    must(*rest == '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    BERTH_FREE char *text = text_of(data, size);

    try_groups(text, size, 0);
    try_groups(text, size, 3);
    try_groups(text, size, 1000);
    try_options(text, size);
    try_multiprog(text);
    return 0;
}

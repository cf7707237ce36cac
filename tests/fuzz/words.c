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
#include "request/ranks.h"
#include "request/uri.h"
#include "request/wire.h"

/* Every reading has its group, until the last one. */
static void try_groups(const char *bytes, size_t count, int optind)
{
    struct berth_hetgroups state;
    size_t rounds = 0;

    berth_hetgroups_init(&state, "", bytes, count);
    while (!berth_hetgroups_ended(&state) && state.argv.count) {
        int group = berth_hetgroups_next(&state, optind);

        must(group == BERTH_GROUP_UNKNOWN || (group >= 0 && group <= BERTH_GROUP_MAX));
        must(++rounds <= state.argv.count * (BERTH_GROUP_MAX + 1));
        berth_hetgroups_tasks(&state, optind);
    }
    must(berth_hetgroups_next(&state, optind) == BERTH_GROUP_UNKNOWN);
    berth_strvec_fini(&state.argv);
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
    struct berth_err err = {0};

    for (int id = 0; id < BERTH_OPTION_COUNT; id++)
        if (length == strlen(berth_options[id].name) + 2 &&
            strncmp(word + 2, berth_options[id].name, length - 2) == 0)
            must(berth_request_parse(request, (enum berth_option_id)id,
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

    must(berth_request_merge(&merged, request, NULL) == 0);
    must(berth_request_equal(request, &merged));
    if (berth_request_has_options(request)) {
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

    berth_hetgroups_init(&line, "", bytes, count);
    for (size_t i = 0; i < line.argv.count; i++)
        try_option(&request, line.argv.items[i]);
    try_request(&request);
    berth_request_fini(&request);
    berth_strvec_fini(&line.argv);
}

/* Nothing but the program is added. */
static void try_multiprog(const char *text)
{
    BERTH_FREE char *prefixed = NULL;
    const char *rest = text;
    const size_t length = strlen(" " BERTH_TASK_PROGRAM);

    must(berth_multiprog_prefix(text, &prefixed, NULL) == 0);
    if (strstr(text, BERTH_TASK_PROGRAM))
        return;
    for (const char *c = prefixed; *c; c++)
        if (strncmp(c, " " BERTH_TASK_PROGRAM, length) == 0)
            c += length - 1;
        else
            must(*c == *rest++);
    must(*rest == '\0');
}

/* What LINE of FILE asks for is as good as what a user types. */
static void try_line(const struct berth_multiprog *file,
                     const struct berth_multiprog_line *line)
{
    static const struct berth_request nothing;
    const struct berth_multiprog_reading reading = {"", "/home/a b", &nothing};
    unsigned int rank = berth_multiprog_first(file, line);
    struct berth_request request = {0};
    struct berth_err err = {0};

    must(berth_ranks_has(line->ranks, rank, NULL));
    if (berth_multiprog_request(line, &reading, &request, &err) < 0)
        must(*err.text);
    else
        try_request(&request);
    berth_request_fini(&request);
}

/* A word in front of each line is in front of the words of each line. */
static void try_lines(const char *text)
{
    BERTH_MULTIPROG struct berth_multiprog file = {0};
    BERTH_MULTIPROG struct berth_multiprog prefixed_file = {0};
    BERTH_FREE char *prefixed = NULL;
    struct berth_err err = {0};

    must(berth_multiprog_prefix(text, &prefixed, NULL) == 0);
    if (berth_multiprog_read(text, &file, &err) < 0) {
        must(*err.text);
        return;
    }
    must(berth_multiprog_read(prefixed, &prefixed_file, NULL) == 0);
    must(file.count == prefixed_file.count);
    for (size_t i = 0; i < file.count; i++) {
        BERTH_STRVEC struct berth_strvec words = {0};
        BERTH_STRVEC struct berth_strvec more = {0};

        try_line(&file, &file.items[i]);
        if (berth_multiprog_arguments(&file.items[i], 3, &words, NULL) < 0)
            continue;
        must(berth_multiprog_arguments(&prefixed_file.items[i], 3, &more, NULL) == 0);
        must(more.count == words.count + 1 &&
             strcmp(more.items[0], BERTH_TASK_PROGRAM) == 0);
        for (size_t k = 0; k < words.count; k++)
            must(strcmp(words.items[k], more.items[k + 1]) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    BERTH_FREE char *text = text_of(data, size);

    try_groups(text, size, 0);
    try_groups(text, size, 3);
    try_groups(text, size, 1000);
    try_options(text, size);
    try_multiprog(text);
    try_lines(text);
    return 0;
}

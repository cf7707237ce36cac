/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises the batch script of a job, and reads its #SBATCH lines. */

#include "request/script.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/environ.h"
#include "base/text.h"

bool berth_script_has_step(char *const *environment)
{
    enum { FIRST_SPECIAL = 0xfffffff0 }; /* SLURM_MAX_NORMAL_STEP_ID, slurm.h */
    const char *step = berth_environ_value(environment, "SLURM_STEP_ID");

    return step && strtoul(step, NULL, 10) < FIRST_SPECIAL;
}

bool berth_script_is(char *const *environment, const char *command)
{
    const bool is_path = *command == '/';

    if (!is_path || strcmp(berth_text_base(command), "slurm_script") != 0)
        return false;
    return berth_environ_value(environment, "SLURM_JOB_ID") &&
           !berth_script_has_step(environment);
}

/* Read the next word of the line at *AT into RET, without quotes. Returns false at the
 * end of the line, and at a '#', where sbatch cuts it. */
static bool next_word(const char **at, struct berth_buf *ret)
{
    char quote = '\0';

    *at += strspn(*at, " \t\r");
    if (**at == '\0' || **at == '\n' || **at == '#')
        return false;
    for (; **at && **at != '\n'; (*at)++) {
        if (!quote && strchr(" \t\r#", **at))
            break;
        if (**at == quote) {
            quote = '\0';
            continue;
        }
        if (!quote && strchr("\"'", **at)) {
            quote = **at;
            continue;
        }
        berth_buf_add(ret, *at, 1);
    }
    return true;
}

/* What the words of #SBATCH lines have said so far. */
struct words {
    size_t component;
    size_t wanted;
    bool is_value; /* the next word is the value of --container */
    char *value;   /* of the wanted component; NULL: none */
};

static void take_value(struct words *words, const char *value)
{
    if (words->component != words->wanted)
        return;
    free(words->value);
    words->value = strdup(value);
}

static void take_word(struct words *words, const char *word)
{
    static const char option[] = "--container";
    const bool is_option = berth_text_starts(word, option);
    const char *rest = is_option ? word + strlen(option) : NULL;

    if (words->is_value) {
        words->is_value = false;
        take_value(words, word);
    } else if (strcmp(word, "hetjob") == 0 || strcmp(word, "packjob") == 0) {
        words->component++;
    } else if (is_option && *rest == '=') {
        take_value(words, rest + 1);
    } else if (is_option && !*rest) {
        words->is_value = true;
    }
}

/* Take the words of the line at AT. */
static void take_line(struct words *words, const char *at)
{
    BERTH_BUF struct berth_buf word = {0};

    words->is_value = false;
    while (next_word(&at, &word)) {
        take_word(words, berth_buf_text(&word));
        berth_buf_fini(&word);
    }
}

char *berth_script_container(const char *text, size_t number)
{
    static const char directive[] = "#SBATCH";
    struct words words = {.wanted = number};

    for (; *text; text = berth_text_next_line(text)) {
        const char *line = text + strspn(text, " \t\r");
        const bool is_blank = *line == '\n' || !*line;

        if (*line != '#' && !is_blank)
            break;
        if (berth_text_starts(text, directive))
            take_line(&words, text + strlen(directive));
    }
    return words.value;
}

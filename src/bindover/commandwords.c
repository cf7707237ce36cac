/* SPDX-License-Identifier: Apache-2.0 */
/* The programs that a command may start, as far as its words show. */

#include "bindover/commandwords.h"

#include <string.h>

#include "base/text.h"

enum { WORDS_MAX = 64 };

static const char *const shells[] = {"sh", "bash", "dash", "ksh", "zsh", NULL};

/* Does LETTER of a shell's text begin another simple command, outside of quotes? */
static bool begins_command(char letter)
{
    return strchr("\n;&|(`", letter) != NULL;
}

/* The words of one argument, which may be a text for a shell. */
static void add_words(const char *text, struct berth_strvec *ret)
{
    bool is_quoted = false;

    while (*text && ret->count < WORDS_MAX) {
        size_t length = strcspn(text, " \t\n;&|()<>'\"`{}");

        if (length > 0)
            berth_strvec_pushf(ret, "%.*s", (int)length, text);
        text += length;
        if (!*text)
            return;

        if (*text == '\'' || *text == '"')
            is_quoted = !is_quoted;
        else if (!is_quoted && begins_command(*text))
            berth_strvec_push(ret, ";");
        text++;
    }
}

void berth_words_of(char *const *command, struct berth_strvec *ret)
{
    for (char *const *argument = command + 1; *argument; argument++)
        add_words(*argument, ret);
}

bool berth_words_is_launcher(const char *path)
{
    static const char *const names[] = {"env",    "nice",    "ionice",  "time",
                                        "nohup",  "setsid",  "timeout", "taskset",
                                        "stdbuf", "numactl", "prlimit", NULL};
    const char *name = berth_text_base(path);

    return berth_text_is_any(name, names) || berth_text_is_any(name, shells) ||
           berth_text_starts(name, "ld-linux") || berth_text_starts(name, "ld64.so");
}

/* Is OPTION of a shell one with which it reads a profile: -i, -l or --login? */
static bool asks_for_login(const char *option)
{
    if (berth_text_starts(option, "--"))
        return strcmp(option, "--login") == 0;
    return strpbrk(option, "il") != NULL;
}

/* May a program that WORD of a command is for be another, or find other libraries, than
 * in this process? BEFORE is the last word before it that is not an option. */
static bool leads_elsewhere(const char *word, const char *before)
{
    static const char *const sets[] = {"LD_", "PATH=", "--library-path", "--ignore-env",
                                       NULL};
    /* After `cd`, a path may mean another file. */
    static const char *const moves[] = {"cd",     ".",  "source", "eval",
                                        "module", "ml", NULL};

    if (strcmp(word, "-i") == 0) /* --ignore-environment */
        return strcmp(before, "env") == 0;
    return berth_text_starts_any(word, sets) || berth_text_is_any(word, moves);
}

bool berth_words_lead(char *const *command, const struct berth_strvec *words,
                      const char *word)
{
    const char *before = berth_text_base(command[0]); /* that is not an option */
    bool is_login = false; /* a profile may set another PATH */
    bool is_path = strchr(word, '/') != NULL;

    if (!berth_words_is_launcher(command[0]))
        return false;
    for (size_t i = 0; i < words->count; i++) {
        const char *it = words->items[i];

        if (leads_elsewhere(it, before))
            return false;
        if (*it != '-')
            before = berth_text_base(it);
        else if (berth_text_is_any(before, shells) && asks_for_login(it))
            is_login = true;
    }
    return is_path || !is_login;
}

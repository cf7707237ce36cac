/* SPDX-License-Identifier: Apache-2.0 */
/* The programs that a command may start, as far as its words show. */

#include "bindover/commandwords.h"

#include <string.h>

#include "base/text.h"

enum { WORDS_MAX = 64 };

static const char *const shells[] = {"sh", "bash", "dash", "ksh", "zsh", NULL};

void berth_words_of(char *const *command, struct berth_strvec *ret)
{
    while (*++command) {
        const char *text = *command;
        bool is_quoted = false;

        for (; *text && ret->count < WORDS_MAX; text += *text != '\0') {
            int length = (int)strcspn(text, " \t\n;&|()<>'\"`{}");

            if (length > 0)
                berth_strvec_pushf(ret, "%.*s", length, text);
            text += length;
            is_quoted ^= *text == '\'' || *text == '"';
            if (*text && strchr("\n;&|(`", *text) && !is_quoted)
                berth_strvec_push(ret, ";");
        }
    }
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

bool berth_words_lead(char *const *command, const struct berth_strvec *words,
                      const char *word)
{
    static const char *const sets[] = {"LD_", "PATH=", "--library-path", "--ignore-env",
                                       NULL};
    /* After `cd`, a path may mean another file. */
    static const char *const moves[] = {"cd",     ".",  "source", "eval",
                                        "module", "ml", NULL};
    const char *last = berth_text_base(command[0]); /* that is no option */
    bool is_login = false;                          /* a profile may set another PATH */

    for (size_t i = 0; i < words->count; i++) {
        const char *it = words->items[i];

        if (berth_text_starts_any(it, sets) || berth_text_is_any(it, moves) ||
            (strcmp(it, "-i") == 0 && strcmp(last, "env") == 0))
            return false;
        if (*it != '-')
            last = berth_text_base(it);
        else if (berth_text_is_any(last, shells) && asks_for_login(it))
            is_login = true;
    }
    return berth_words_is_launcher(command[0]) && (strchr(word, '/') || !is_login);
}

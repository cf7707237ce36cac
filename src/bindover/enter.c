/* SPDX-License-Identifier: Apache-2.0 */
/* Takes berth-mpi's child into the container, and finds the program that runs there. */

#include "bindover/inside.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/run.h"
#include "base/strvec.h"
#include "base/text.h"
#include "plan/launch.h"
#include "step/become.h"
#include "step/join.h"

enum { DEEPEST = 8 };

/* Programs that become another, or start one and wait. */
static const struct {
    const char *name;
    const char *valued; /* letters of the options that take the next word */
    int operands;       /* words before the program */
} launchers[] = {
    {"env", "uC", 0},       {"nice", "n", 0},   {"ionice", "cn", 0},
    {"time", "fo", 0},      {"nohup", "", 0},   {"setsid", "", 0},
    {"timeout", "ks", 1},   {"taskset", "", 1}, {"stdbuf", "ioe", 0},
    {"numactl", "NmCi", 0}, {"prlimit", "", 0}, {"exec", "a", 0},
    {"command", "", 0},
};

static char *follow(char *const *words, int depth);

static bool is_assignment(const char *word)
{
    size_t length = strcspn(word, "=");

    return length > 0 && word[length] == '=' && !memchr(word, '/', length);
}

/* Does WORD change where libraries are found? */
static bool moves_libraries(const char *word)
{
    return berth_text_starts(word, "LD_") || berth_text_starts(word, "PATH=");
}

/* The first word behind options, of which those in VALUED have a value. */
static char *const *skip_options(char *const *words, const char *valued)
{
    for (; *words && **words == '-'; words++) {
        char letter = (*words)[1];

        if (letter != '-' && letter != '\0' && (*words)[2] == '\0' &&
            strchr(valued, letter) && words[1])
            words++;
    }
    return words;
}

/* The first word behind assignments; NULL: one of them moves libraries. */
static char *const *skip_assignments(char *const *words)
{
    for (; *words && is_assignment(*words); words++)
        if (moves_libraries(*words))
            return NULL;
    return words;
}

/* Does env remove all variables, also those by which libraries are found? */
static bool is_emptied(char *const *words)
{
    for (words++; *words && **words == '-'; words++)
        if (strcmp(*words, "-") == 0 || strcmp(*words, "-i") == 0 ||
            strcmp(*words, "--ignore-environment") == 0)
            return true;
    return false;
}

static char *follow_launcher(char *const *words, int at, int depth)
{
    char *const *rest = skip_options(words + 1, launchers[at].valued);

    if (strcmp(launchers[at].name, "env") == 0)
        rest = is_emptied(words) ? NULL : skip_assignments(rest);
    for (int i = 0; rest && *rest && i < launchers[at].operands; i++)
        rest++;
    return rest && *rest ? follow(rest, depth + 1) : NULL;
}

/* ld.so PROGRAM. With options, which may say where libraries are, nothing is followed.
 */
static char *follow_loader(char *const *words, int depth)
{
    return words[1] && *words[1] != '-' ? follow(words + 1, depth + 1) : NULL;
}

/* One word of a shell's text, or the separator behind it. */
enum word { WORD, SEPARATOR, END, STRANGE };

/* Could the character at AT make the word start another program, or, in the first word
 * of a command, be anything but a plain name? */
static bool is_strange(const char *at, char quote, bool is_first)
{
    if (quote == '\'')
        return false;
    if (*at == '`' || *at == '\\' || (*at == '$' && (is_first || at[1] == '(')))
        return true;
    if (quote)
        return false;
    return strchr("(){}!#", *at) || (*at == '<' && at[1] == '(') ||
           (is_first && strchr("<>*?[]~", *at));
}

static enum word read_word(const char **text, struct berth_buf *word, bool is_first)
{
    const char *at = *text + strspn(*text, " \t");
    char quote = '\0';
    bool any = false;

    for (; *at && (quote || !strchr(" \t\n;&|", *at)); at++) {
        if (is_strange(at, quote, is_first))
            return STRANGE;
        if (*at == '>' && at[1] == '&' && !quote)
            at++;
        else if (*at == quote)
            quote = '\0';
        else if (!quote && (*at == '"' || *at == '\''))
            quote = *at;
        else
            berth_buf_add(word, at, 1);
        any = true;
    }
    if (quote)
        return STRANGE;
    if (!any && *at) {
        bool is_double = (*at == '&' || *at == '|') && at[1] == *at;

        /* A pipe, or something in the background, is more than one program. */
        if (!is_double && (*at == '|' || *at == '&'))
            return STRANGE;
        *text = at + (is_double ? 2 : 1);
        return SEPARATOR;
    }
    *text = at;
    return any ? WORD : END;
}

/* Reads the words of the next simple command of TEXT. False: it is not a simple one. */
static bool read_simple(const char **text, struct berth_strvec *words)
{
    for (;;) {
        BERTH_BUF struct berth_buf word = {0};

        switch (read_word(text, &word, words->count == 0)) {
        case WORD:
            berth_strvec_push(words, word.text ? word.text : "");
            break;
        case STRANGE:
            return false;
        case SEPARATOR:
            if (words->count == 0)
                break;
            return !words->failed;
        case END:
            return !words->failed;
        }
    }
}

/* Is WORD a command that starts no program and does not change where files are found?
 */
static bool is_harmless(const char *word)
{
    static const char *const names[] = {"cd",   "echo",     "ulimit", "umask", ":",
                                        "true", "hostname", "date",   "mkdir", NULL};

    return berth_text_is_any(word, names);
}

/* Is WORD part of the shell, with an effect that is not followed here? */
static bool is_shells_own(const char *word)
{
    static const char *const names[] = {"for",    "while", "if",   "case",   "until",
                                        "export", "eval",  "set",  "source", ".",
                                        "module", "trap",  "wait", "ml",     NULL};

    return berth_text_is_any(word, names);
}

/* The only program that TEXT, a list of simple commands, starts. */
static char *follow_text(const char *text, int depth)
{
    BERTH_FREE char *program = NULL;
    bool moved = false;

    while (*text) {
        BERTH_STRVEC struct berth_strvec words = {0};
        char *const *first;
        char *found;

        if (!read_simple(&text, &words))
            return NULL;
        if (words.count == 0)
            break;
        first = skip_assignments(words.items);
        if (!first || !*first || is_shells_own(*first) || program)
            return NULL;
        if (is_harmless(*first)) {
            moved |= strcmp(*first, "cd") == 0;
            continue;
        }
        found = follow(first, depth + 1);
        program = found ? found : strdup(*first);
    }
    /* After cd, a relative path may mean any file. */
    if (moved && program && *program != '/' && strchr(program, '/'))
        return NULL;
    return berth_steal(&program);
}

static char *follow_shell(char *const *words, int depth)
{
    char *program = NULL;
    bool is_login = false;

    for (words++; *words && **words == '-' && !program; words++) {
        is_login |= (*words)[1] != '-' && strchr(*words, 'l');
        if ((*words)[1] != '-' && strchr(*words, 'c') && words[1])
            program = follow_text(words[1], depth);
    }
    /* A profile may set another PATH. */
    if (program && is_login && !strchr(program, '/'))
        free(berth_steal(&program));
    return program;
}

/* The program that WORDS finally start; NULL: WORDS themselves, or not known. */
static char *follow(char *const *words, int depth)
{
    static const char *const shells[] = {"sh", "bash", "dash", "ksh", "zsh", NULL};
    const char *name = berth_text_base(words[0]);
    char *found = NULL;

    if (depth > DEEPEST)
        return NULL;
    for (int i = 0; i < (int)(sizeof(launchers) / sizeof(launchers[0])); i++)
        if (strcmp(name, launchers[i].name) == 0)
            return follow_launcher(words, i, depth);
    if (berth_text_is_any(name, shells))
        return follow_shell(words, depth);
    if (berth_text_starts(name, "ld-linux") || berth_text_starts(name, "ld64.so"))
        return follow_loader(words, depth);
    if (depth > 0)
        found = strdup(words[0]);
    return found;
}

char *berth_command_program(char *const *command)
{
    return command[0] ? follow(command, 0) : NULL;
}

int berth_enter(const struct berth_inside *told, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec asked = {0};
    struct berth_become become = {.workdir = told->request->workdir,
                                  .stay = told->directory};

    if (berth_join_owner(told->holder, err) < 0)
        return -1;
    berth_launch_env(told->request, told->terms, told->task, &asked);
    for (size_t i = 0; i < asked.count; i++)
        putenv(berth_steal(&asked.items[i]));
    if (asked.failed)
        return berth_err_oom(err);
    berth_become_chdir(&become,
                       NULL); /* the task reports a directory that is missing */
    return 0;
}

static char *find(const char *name)
{
    BERTH_FREE char *found = berth_become_find(name);

    return found && berth_run_is_program(found) ? berth_steal(&found) : NULL;
}

char *berth_enter_find(char *const *command)
{
    BERTH_FREE char *found = find(command[0]);
    BERTH_FREE char *name = found ? berth_command_program(command) : NULL;
    char *program = name ? find(name) : NULL;

    return program ? program : berth_steal(&found);
}

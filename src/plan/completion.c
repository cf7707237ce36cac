/* SPDX-License-Identifier: Apache-2.0 */
/* What shells read to complete words, from the tables of options and verbs. */

#include "plan/completion.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/choice.h"
#include "base/text.h"
#include "plan/option.h"
#include "plan/uri.h"

static void put(struct berth_buf *out, const char *text)
{
    berth_buf_puts(out, text);
}

/* TEXT within single quotes, with a backslash before each of SPECIAL. */
static void put_quoted(struct berth_buf *out, const char *text, const char *special)
{
    for (; *text; text++) {
        if (*text == '\'')
            put(out, "'\\'");
        else if (strchr(special, *text))
            put(out, "\\");
        berth_buf_add(out, text, 1);
    }
}

/* The words of a usage that start with --, one after the other; NULL: no more. */
static const char *next_option(const char **usage, size_t *ret_length)
{
    const char *at = strstr(*usage, "--");

    while (at && !islower((unsigned char)at[2]))
        at = strstr(at + 2, "--");
    if (!at)
        return NULL;
    at += 2;
    *ret_length = strspn(at, "abcdefghijklmnopqrstuvwxyz-");
    *usage = at + *ret_length;
    return at;
}

/* The options that the usage of VERB names, each behind BEFORE. */
static void put_own_options(struct berth_buf *out,
                            const struct berth_completion_verb *verb,
                            const char *before, const char *behind)
{
    const char *usage = verb->usage;
    const char *option;
    size_t length;

    while ((option = next_option(&usage, &length))) {
        put(out, before);
        berth_buf_add(out, option, length);
        put(out, behind);
    }
}

static bool takes_options(const struct berth_completion_verb *verb)
{
    return strstr(verb->usage, "OPTION") != NULL;
}

static bool is_choice(const struct berth_option *option)
{
    return option->argument && strchr(option->argument, '|') &&
           islower((unsigned char)option->argument[strspn(option->argument, "[")]);
}

static void put_choices(struct berth_buf *out, const struct berth_option *option)
{
    BERTH_STRVEC struct berth_strvec words = {0};

    berth_choice_split(option->argument, &words);
    for (size_t i = 0; i < words.count; i++) {
        put(out, i ? " " : "");
        put(out, words.items[i]);
    }
    out->failed |= words.failed;
}

static bool wants_path(const struct berth_option *option)
{
    return option->argument && (berth_text_starts(option->argument, "PATH") ||
                                berth_text_starts(option->argument, "SRC") ||
                                berth_text_starts(option->argument, "DIR"));
}

static bool wants_image(const struct berth_option *option)
{
    return option->argument && strstr(option->argument, "URI");
}

/* The beginnings of URIs, each with END behind its scheme. */
static void put_schemes(struct berth_buf *out, const char *end)
{
    for (const char *const *scheme = berth_uri_schemes; *scheme; scheme++) {
        put(out, scheme == berth_uri_schemes ? "" : " ");
        put(out, *scheme);
        put(out, end);
    }
}

/* The words that OPTION may begin with, if there is a list of them, behind FLAG. */
static void put_list(struct berth_buf *out, const struct berth_option *option,
                     const char *flag)
{
    if (!is_choice(option) && !wants_image(option))
        return;
    put(out, flag);
    put(out, " '");
    if (is_choice(option))
        put_choices(out, option);
    else
        put_schemes(out, "://");
    put(out, "'");
}

/* The options of the table as bash's words; a value is expected behind =. */
static void put_bash_options(struct berth_buf *out, const char *prefix)
{
    for (int i = 0; i < BERTH_OPTION_COUNT; i++) {
        const struct berth_option *option = &berth_options[i];

        put(out, " --");
        put(out, prefix);
        put(out, option->name);
        put(out, option->argument && !berth_option_is_optional(option) ? "=" : "");
    }
}

/* A function that completes the value behind --NAME=, which bash has split. */
static void put_bash_values(struct berth_buf *out, const char *name, const char *prefix)
{
    put(out, name);
    put(out, "()\n{\n    local option=\n"
             "    cur=${COMP_WORDS[COMP_CWORD]}\n"
             "    if [[ $cur == = ]]; then\n"
             "        option=${COMP_WORDS[COMP_CWORD - 1]} cur=\n"
             "    elif ((COMP_CWORD > 1)) && [[ ${COMP_WORDS[COMP_CWORD - 1]} == = ]]; "
             "then\n"
             "        option=${COMP_WORDS[COMP_CWORD - 2]}\n"
             "    fi\n"
             "    case $option in\n");
    for (int i = 0; i < BERTH_OPTION_COUNT; i++) {
        const struct berth_option *option = &berth_options[i];

        if (!is_choice(option) && !wants_path(option))
            continue;
        put(out, "    \"--");
        put(out, prefix);
        put(out, option->name);
        put(out, "\")\n        mapfile -t COMPREPLY < <(compgen");
        put(out, is_choice(option) ? "" : " -f");
        put_list(out, option, " -W");
        put(out, " -- \"$cur\")\n");
        /* A directory gets its slash, and behind a scheme the user goes on. */
        if (!is_choice(option))
            put(out, "        compopt -o filenames 2>/dev/null\n"
                     "        [[ ${COMPREPLY[0]-} != *:// ]] ||\n"
                     "            compopt +o filenames -o nospace 2>/dev/null\n");
        put(out, "        ;;\n");
    }
    put(out, "    *)\n        return 1\n        ;;\n    esac\n}\n\n");
}

static void put_bash(const struct berth_completion_verb *verbs, struct berth_buf *out)
{
    put_bash_values(out, "_berth_value", "");
    put(out, "_berth()\n{\n    local cur words=\n    COMPREPLY=()\n"
             "    _berth_value && return\n"
             "    if ((COMP_CWORD == 1)); then\n        words='");
    for (const struct berth_completion_verb *verb = verbs; verb->name; verb++) {
        put(out, verb->name);
        put(out, " ");
    }
    put(out, "--help --version'\n"
             "    elif [[ $cur == -* ]]; then\n        case ${COMP_WORDS[1]} in\n");
    for (const struct berth_completion_verb *verb = verbs; verb->name; verb++) {
        put(out, "        ");
        put(out, verb->name);
        put(out, ") words='");
        put_own_options(out, verb, "--", " ");
        if (takes_options(verb))
            put_bash_options(out, "");
        put(out, "' ;;\n");
    }
    put(out, "        esac\n    fi\n"
             "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
             "    [[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace\n}\n\n"
             "complete -o default -F _berth berth\n");
}

/* What was there for srun is asked first, and its answers are kept. */
static void put_bash_srun(struct berth_buf *out)
{
    put_bash_values(out, "_berth_srun_value", "${BERTH_OPTION_PREFIX-}");
    put(out, "_berth_srun()\n{\n    local cur own=() before\n    COMPREPLY=()\n"
             "    _berth_srun_value && return\n"
             "    before=_berth_before_${1##*/}\n"
             "    [[ -z ${!before-} ]] || \"${!before}\" \"$@\"\n"
             "    [[ $cur != -* ]] || mapfile -t own < <(compgen -W \"");
    put_bash_options(out, "${BERTH_OPTION_PREFIX-}");
    put(out,
        "\" -- \"$cur\")\n    COMPREPLY+=(\"${own[@]}\")\n"
        "    [[ ${own[0]-} != *= ]] || compopt -o nospace 2>/dev/null\n    return 0\n"
        "}\n\n"
        "for _berth_command in srun sbatch salloc; do\n"
        "    if [[ $(complete -p \"$_berth_command\" 2>/dev/null) =~ "
        "\\ -F\\ ([^ ]+)\\  ]] &&\n"
        "        [[ ${BASH_REMATCH[1]} != _berth_srun ]]; then\n"
        "        printf -v \"_berth_before_$_berth_command\" %s "
        "\"${BASH_REMATCH[1]}\"\n"
        "    fi\n"
        "    complete -o default -F _berth_srun \"$_berth_command\"\n"
        "done\nunset _berth_command\n");
}

/* Each option as a word of _arguments. */
static void put_zsh_options(struct berth_buf *out, const char *prefix)
{
    for (int i = 0; i < BERTH_OPTION_COUNT; i++) {
        const struct berth_option *option = &berth_options[i];

        put(out, " \\\n        \"--");
        put(out, prefix);
        put(out, option->name);
        put(out, option->argument ? "=" : "");
        put(out, "\"'[");
        put_quoted(out, option->help, "[]:\\");
        put(out, "]");
        if (option->argument) {
            put(out, berth_option_is_optional(option) ? "::" : ":");
            put(out, "value:");
            if (is_choice(option)) {
                put(out, "(");
                put_choices(out, option);
                put(out, ")");
            } else if (wants_image(option)) {
                put(out, "{_files; compadd -S \"\" ");
                put_schemes(out, "\\://");
                put(out, "}");
            } else if (wants_path(option))
                put(out, "_files");
        }
        put(out, "'");
    }
}

static void put_zsh(const struct berth_completion_verb *verbs, struct berth_buf *out)
{
    put(out, "#compdef berth\n\n_berth() {\n    local -a verbs\n    verbs=(\n");
    for (const struct berth_completion_verb *verb = verbs; verb->name; verb++) {
        put(out, "        '");
        put(out, verb->name);
        put(out, ":");
        put_quoted(out, verb->help, ":\\");
        put(out, "'\n");
    }
    put(out, "    )\n    if ((CURRENT == 2)); then\n"
             "        _describe verb verbs\n        return\n    fi\n"
             "    shift words\n    ((CURRENT--))\n    case $words[1] in\n");
    for (const struct berth_completion_verb *verb = verbs; verb->name; verb++) {
        put(out, "    ");
        put(out, verb->name);
        put(out, ")\n        _arguments");
        put_own_options(out, verb, " \\\n        '--", "'");
        if (takes_options(verb))
            put_zsh_options(out, "");
        put(out, takes_options(verb) ? " \\\n        '*::command:_normal'"
                                     : " \\\n        '*:file:_files'");
        put(out, "\n        ;;\n");
    }
    put(out, "    esac\n}\n\n_berth \"$@\"\n");
}

static void put_zsh_srun(struct berth_buf *out)
{
    put(out, "typeset -gA _berth_before\n\n_berth_srun() {\n"
             "    local before=$_berth_before[$service]\n"
             "    if [[ $PREFIX == -* ]]; then\n        _arguments -S");
    put_zsh_options(out, "${BERTH_OPTION_PREFIX-}");
    put(out, "\n    fi\n    if [[ -n $before ]]; then\n        $before \"$@\"\n"
             "    elif [[ $PREFIX != -* ]]; then\n        _default\n    fi\n}\n\n"
             "for _berth_command in srun sbatch salloc; do\n"
             "    [[ ${_comps[$_berth_command]-} == (|_berth_srun) ]] ||\n"
             "        _berth_before[$_berth_command]=$_comps[$_berth_command]\n"
             "    compdef _berth_srun $_berth_command\n"
             "done\nunset _berth_command\n");
}

/* COMPLETE is a command up to the name of an option. */
static void put_fish_options(struct berth_buf *out, const char *complete)
{
    for (int i = 0; i < BERTH_OPTION_COUNT; i++) {
        const struct berth_option *option = &berth_options[i];

        put(out, complete);
        put(out, option->name);
        if (option->argument)
            put(out, wants_path(option) ? " -r" : " -x");
        put_list(out, option, " -a");
        put(out, " -d '");
        put_quoted(out, option->help, "\\");
        put(out, "'\n");
    }
}

static void put_fish(const struct berth_completion_verb *verbs, struct berth_buf *out)
{
    for (const struct berth_completion_verb *verb = verbs; verb->name; verb++) {
        BERTH_BUF struct berth_buf complete = {0};

        put(out, "complete -c berth -n __fish_use_subcommand -a ");
        put(out, verb->name);
        put(out, " -d '");
        put_quoted(out, verb->help, "\\");
        put(out, "'\n");
        put(&complete, "complete -c berth -n '__fish_seen_subcommand_from ");
        put(&complete, verb->name);
        put(&complete, "' -l ");
        out->failed |= complete.failed;
        if (complete.failed)
            return;
        put_own_options(out, verb, complete.text, "\n");
        if (takes_options(verb))
            put_fish_options(out, complete.text);
    }
}

/* fish adds to what is known of a command. */
static void put_fish_srun(struct berth_buf *out)
{
    put_fish_options(out, "complete -c srun -l ");
    put_fish_options(out, "complete -c sbatch -l ");
    put_fish_options(out, "complete -c salloc -l ");
}

int berth_completion_write(const char *shell, const struct berth_completion_verb *verbs,
                           struct berth_buf *out, struct berth_err *err)
{
    if (strcmp(shell, "bash") == 0)
        put_bash(verbs, out);
    else if (strcmp(shell, "bash-srun") == 0)
        put_bash_srun(out);
    else if (strcmp(shell, "zsh") == 0)
        put_zsh(verbs, out);
    else if (strcmp(shell, "zsh-srun") == 0)
        put_zsh_srun(out);
    else if (strcmp(shell, "fish") == 0)
        put_fish(verbs, out);
    else if (strcmp(shell, "fish-srun") == 0)
        put_fish_srun(out);
    else
        return berth_err_set(err,
                             "--complete: expected bash, zsh or fish, or one of these "
                             "with -srun, got '%s'",
                             shell);
    return out->failed ? berth_err_oom(err) : 0;
}

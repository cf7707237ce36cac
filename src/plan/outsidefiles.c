/* SPDX-License-Identifier: Apache-2.0 */
/* Which options of salloc, sbatch and srun, and which variables, name files, and who
 * opens these files. */

#include "plan/outsidefiles.h"

#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "commandline/srunwords.h"

/* What a value may be in place of a file. */
enum other {
    NAMES = 1, /* names of nodes, if it has no slash */
    WORD = 2,  /* none, all, or a number */
};

static const struct row {
    const char *option;
    char letter;
    enum berth_outside_use use;
    unsigned int other;
} rows[] = {
    {"--bbf", 0, BERTH_OUTSIDE_READ, 0},
    {"--chdir", 'D', BERTH_OUTSIDE_NAME, 0},
    {"--epilog", 0, BERTH_OUTSIDE_SAME, WORD},
    {"--error", 'e', BERTH_OUTSIDE_IN, WORD},
    {"--exclude", 'x', BERTH_OUTSIDE_READ, NAMES},
    {"--export-file", 0, BERTH_OUTSIDE_READ, WORD},
    {"--input", 'i', BERTH_OUTSIDE_READ, WORD},
    {"--nodefile", 'F', BERTH_OUTSIDE_READ, 0},
    {"--nodelist", 'w', BERTH_OUTSIDE_READ, NAMES},
    {"--output", 'o', BERTH_OUTSIDE_IN, WORD},
    {"--prolog", 0, BERTH_OUTSIDE_SAME, WORD},
    {"--task-epilog", 0, BERTH_OUTSIDE_SAME, WORD},
    {"--task-prolog", 0, BERTH_OUTSIDE_SAME, WORD},
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* Variables that stand for an option. Those of srun apply to the command of salloc,
 * too. */
static const struct {
    const char *name;
    const char *option;
} variables[] = {
    {"SBATCH_ERROR", "--error"},
    {"SBATCH_INPUT", "--input"},
    {"SBATCH_OUTPUT", "--output"},
    {"SLURM_EPILOG", "--epilog"},
    {"SLURM_HOSTFILE", "--nodefile"},
    {"SLURM_PROLOG", "--prolog"},
    {"SLURM_REMOTE_CWD", "--chdir"},
    {"SLURM_STDERRMODE", "--error"},
    {"SLURM_STDINMODE", "--input"},
    {"SLURM_STDOUTMODE", "--output"},
    {"SLURM_TASK_EPILOG", "--task-epilog"},
    {"SLURM_TASK_PROLOG", "--task-prolog"},
    {"SLURM_WORKING_DIR", "--chdir"},
    {"SRUN_ERROR", "--error"},
    {"SRUN_INPUT", "--input"},
    {"SRUN_OUTPUT", "--output"},
};

/* Other commands, such as squeue, use the same letters for other options. */
static bool starts_tasks(const char *command)
{
    static const char *const commands[] = {"salloc", "sbatch", "srun", NULL};

    return berth_text_is_any(command, commands);
}

struct berth_outside_files berth_outside_files(char *const *command)
{
    static char *const none[] = {NULL};

    return (struct berth_outside_files){
        .command = *command, .at = starts_tasks(*command) ? command + 1 : none};
}

/* Is OPTION the name of ROW, or a start of it that no other option has? */
static bool is_called(const struct row *row, const char *option)
{
    static const char *const others[] = {"--bb", "--export"};
    size_t length = strcspn(option, "=");

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (strncmp(others[i], option, length) == 0)
            return false;
    return length > 2 && strncmp(row->option, option, length) == 0;
}

static const struct row *find_row(const struct berth_srunword *option)
{
    for (int i = 0; i < ROWS; i++)
        if (option->letter ? option->letter == rows[i].letter
                           : option->name && is_called(&rows[i], option->name))
            return &rows[i];
    return NULL;
}

/* Is VALUE a stream of the command? The command has those of the program. */
static bool is_stream(const char *value)
{
    static const char *const streams[] = {
        "/dev/fd/0",       "/dev/fd/1",       "/dev/fd/2", "/dev/stdin",
        "/dev/stdout",     "/dev/stderr",     "/dev/null", "/proc/self/fd/0",
        "/proc/self/fd/1", "/proc/self/fd/2", NULL};

    return berth_text_is_any(value, streams);
}

/* srun(1) reads a value that begins with `all` or with a dash as `all`. */
static bool is_word(const char *command, const char *value)
{
    return strcasecmp(value, "none") == 0 ||
           strspn(value, "0123456789") == strlen(value) ||
           (strcmp(command, "srun") == 0 &&
            (*value == '-' || strncasecmp(value, "all", 3) == 0));
}

static bool is_path(const struct row *row, const char *command, const char *value)
{
    if (*value == '\0' || is_stream(value) ||
        (row->other == NAMES && !strchr(value, '/')))
        return false;
    return row->other != WORD || !is_word(command, value);
}

/* Is OPTION --multi-prog, or a start of it? No other option begins so. */
static bool is_multi_prog(const struct berth_srunword *option)
{
    static const char name[] = "--multi-prog";
    size_t length = option->name ? strcspn(option->name, "=") : 0;

    return length > 3 && length < sizeof(name) &&
           strncmp(name, option->name, length) == 0;
}

/* The use in ROW; but Slurm opens the input of a batch job, and that of each task (%),
 * when it starts. */
static enum berth_outside_use use_of(const struct row *row, const char *command,
                                     const char *value)
{
    if (row->letter != 'i' || (strcmp(command, "srun") == 0 && !strchr(value, '%')))
        return row->use;
    return strchr(value, '%') ? BERTH_OUTSIDE_IN : BERTH_OUTSIDE_SAME;
}

/* Does WORD, the next one of FILES, name a file? Then *RET is that file. */
static bool read_word(struct berth_outside_files *files,
                      const struct berth_srunword *word, struct berth_outside_file *ret)
{
    bool is_command = !word->name && !word->letter;
    const struct row *row = is_command ? NULL : find_row(word);
    bool was_multi = files->is_multi;

    *ret = (struct berth_outside_file){.word = word->word, .path = word->value};
    files->is_multi = !is_command && (was_multi || is_multi_prog(word));
    if (is_command) {
        ret->path = *word->word;
        ret->option = was_multi ? "--multi-prog" : "the script";
        ret->use = was_multi ? BERTH_OUTSIDE_READ : BERTH_OUTSIDE_SAME;
        ret->is_searched = !was_multi && ret->path && !strchr(ret->path, '/');
        return ret->path && !is_stream(ret->path) &&
               (was_multi || strcmp(files->command, "sbatch") == 0);
    }
    if (!row || !word->value || !is_path(row, files->command, word->value))
        return false;
    ret->option = row->option;
    ret->use = use_of(row, files->command, word->value);
    return true;
}

bool berth_outside_files_next(struct berth_outside_files *files,
                              struct berth_outside_file *ret)
{
    struct berth_srunword word;

    while (berth_srunwords_next(files->command, &files->at, &word))
        if (read_word(files, &word, ret))
            return true;
    return false;
}

/* Does COMMAND read the variable NAME? Only sbatch reads SBATCH_*, and no others but
 * SLURM_HOSTFILE. */
static bool is_read(const char *command, const char *name)
{
    return starts_tasks(command) &&
           (strcmp(name, "SLURM_HOSTFILE") == 0 ||
            (strcmp(command, "sbatch") == 0) == berth_text_starts(name, "SBATCH_"));
}

static const struct row *named(const char *option)
{
    const struct row *row = rows;

    while (strcmp(row->option, option) != 0)
        row++;
    return row;
}

bool berth_outside_files_variable(const char *command, const char *variable,
                                  struct berth_outside_file *ret)
{
    size_t length = strcspn(variable, "=");

    for (size_t i = 0; variable[length] && i < sizeof(variables) / sizeof(variables[0]);
         i++) {
        const struct row *row = named(variables[i].option);
        const char *value = variable + length + 1;

        if (strlen(variables[i].name) != length ||
            strncmp(variables[i].name, variable, length) != 0 ||
            !is_read(command, variables[i].name) || !is_path(row, command, value))
            continue;
        *ret = (struct berth_outside_file){.option = variables[i].name,
                                           .use = use_of(row, command, value),
                                           .path = value};
        return true;
    }
    return false;
}

size_t berth_outside_files_directory(const struct berth_outside_file *file)
{
    size_t end = strcspn(file->path, "%");

    while (end && file->path[end - 1] != '/')
        end--;
    return end;
}

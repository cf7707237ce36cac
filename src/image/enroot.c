/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the variables and the entry point of an image as enroot keeps them. */

#include "image/enroot.h"

#include <string.h>

#include "base/text.h"

/* The runtime adds its libraries to the end of this list, in each container. */
#define LIBRARIES      "LD_LIBRARY_PATH"
#define LIBRARIES_PATH "/.singularity.d/libs"

/* Is NAME, of COUNT bytes, not a variable of the image? All that
 * share/berth/squashfs-environment leaves out when it reads is here, too, and what only
 * a shell leaves behind. */
static bool is_foreign(const char *name, size_t count)
{
    static const char *const starts[] = {"APPTAINER_", "SINGULARITY_", "ENROOT_",
                                         "BASH_FUNC_"};
    static const char *const names[] = {
        "PWD",  "OLDPWD", "HOME",  "IFS", "UID", "EUID",          "GID",
        "PPID", "OPTIND", "SHLVL", "_",   "PS1", "PROMPT_COMMAND"};

    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
        if (berth_text_starts(name, starts[i]))
            return true;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strlen(names[i]) == count && strncmp(names[i], name, count) == 0)
            return true;
    return false;
}

/* Has the value, of COUNT bytes, a pair of quotes around it? */
static bool is_quoted(const char *value, size_t count)
{
    const bool begins = count >= 2 && (*value == '"' || *value == '\'');

    return begins && value[count - 1] == *value;
}

static void add_line(const char *name, size_t name_count, const char *value,
                     size_t count, struct berth_buf *ret)
{
    /* A reader leaves out one pair of quotes around a value. */
    const char *quote = is_quoted(value, count) ? "\"" : "";

    berth_buf_add(ret, name, name_count);
    berth_buf_puts(ret, "=");
    berth_buf_puts(ret, quote);
    berth_buf_add(ret, value, count);
    berth_buf_puts(ret, quote);
    berth_buf_puts(ret, "\n");
}

/* The bytes of the list VALUE without the runtime's directory at its end. */
static size_t count_without_runtime(const char *value)
{
    const size_t count = strlen(value);

    if (strcmp(value, LIBRARIES_PATH) == 0)
        return 0;
    if (berth_text_ends(value, ":" LIBRARIES_PATH))
        return count - strlen(":" LIBRARIES_PATH);
    return count;
}

void berth_enroot_environment(const char *bytes, size_t count, struct berth_buf *ret,
                              struct berth_strvec *left_out)
{
    const char *end = bytes + count;

    for (const char *item = bytes; item < end; item += strlen(item) + 1) {
        const size_t name_count = strcspn(item, "=");
        const char *value = berth_text_after(item, '=');
        size_t value_count;

        if (!value || is_foreign(item, name_count))
            continue;
        value_count = strlen(value);
        if (strchr(value, '\n')) {
            berth_strvec_pushf(left_out, "%.*s", (int)name_count, item);
            continue;
        }
        if (berth_text_starts(item, LIBRARIES "=")) {
            value_count = count_without_runtime(value);
            if (value_count == 0)
                continue;
        }
        add_line(item, name_count, value, value_count, ret);
    }
}

void berth_enroot_rc(const char *directory, bool has_entrypoint, struct berth_buf *ret)
{
    const bool changes = directory && !strpbrk(directory, "\"\\$`\n");

    if (changes)
        berth_buf_addf(ret,
                       "mkdir -p \"%s\" 2> /dev/null\n"
                       "cd \"%s\" && unset OLDPWD || exit 1\n\n",
                       directory, directory);
    if (has_entrypoint)
        /* An entry point that a runtime made would evaluate its arguments. */
        berth_buf_puts(ret, "export APPTAINER_NO_EVAL=1 SINGULARITY_NO_EVAL=1\n"
                            "exec /" BERTH_ENROOT_ENTRYPOINT " \"$@\"\n");
    else
        berth_buf_puts(ret, "if [ $# -gt 0 ]; then\n"
                            "    exec \"$@\"\n"
                            "fi\n"
                            "exec /bin/sh\n");
}

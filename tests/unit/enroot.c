/* SPDX-License-Identifier: Apache-2.0 */
/* The variables and the entry point of an image, as a squashfs file has them. */

#include "image/enroot.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "unit.h"

/* Bytes of `env -0`, and the lines of the file. */
#define ENV(text) text, sizeof(text)

static const struct {
    const char *bytes;
    size_t count;
    const char *lines;
    const char *left_out; /* NULL: none */
} environments[] = {
    {"", 0, "", NULL},
    {ENV("A=1\0B=two words"), "A=1\nB=two words\n", NULL},
    {ENV("EMPTY=\0ODD=it's \"$HOME\" `id` \\"), "EMPTY=\nODD=it's \"$HOME\" `id` \\\n",
     NULL},
    /* A reader takes quotes around a value away. */
    {ENV("Q=\"a\"\0S='b'\0ONE='\0MIXED='a\""),
     "Q=\"\"a\"\"\nS=\"'b'\"\nONE='\nMIXED='a\"\n", NULL},
    {ENV("LINES=a\nb\0A=1"), "A=1\n", "LINES"},
    {ENV("HOME=/h\0PWD=/\0SHLVL=1\0_=env\0PS1=> \0APPTAINER_NAME=x\0A=1"), "A=1\n",
     NULL},
    {ENV("HOMER=1\0_A=2"), "HOMER=1\n_A=2\n", NULL},
    {ENV("LD_LIBRARY_PATH=/opt/lib:/.singularity.d/libs"), "LD_LIBRARY_PATH=/opt/lib\n",
     NULL},
    {ENV("LD_LIBRARY_PATH=/.singularity.d/libs\0A=1"), "A=1\n", NULL},
    {ENV("no variable\0A=1"), "A=1\n", NULL},
};

TEST_ROWS(a_variable_is_a_line, environments)
{
    BERTH_BUF struct berth_buf lines = {0};
    BERTH_STRVEC struct berth_strvec left_out = {0};

    berth_enroot_environment(environments[_i].bytes, environments[_i].count, &lines,
                             &left_out);
    ck_assert_str_eq(lines.text ? lines.text : "", environments[_i].lines);
    ck_assert_uint_eq(left_out.count, environments[_i].left_out ? 1 : 0);
    if (environments[_i].left_out)
        ck_assert_str_eq(left_out.items[0], environments[_i].left_out);
}

/* The lines of a case of the shell that is left out begin a pattern, and end so. */
static const char left_out_end[] = ") continue ;;\n";

/* Appends to RET the patterns of names by which the script that reads such a file
 * leaves out variables: NAME, or START*. */
static void read_left_out(const char *path, struct berth_strvec *ret)
{
    BERTH_FCLOSE FILE *file = fopen(path, "re");
    char line[256];

    ck_assert_msg(file, "%s", path);
    while (fgets(line, sizeof(line), file)) {
        char *end = strstr(line, left_out_end);
        char *rest;

        if (!end || strpbrk(line, "\"'[")) /* of no name */
            continue;
        *end = '\0';
        for (char *it = strtok_r(line, " |", &rest); it;
             it = strtok_r(NULL, " |", &rest))
            berth_strvec_push(ret, it);
    }
}

TEST(what_a_reader_leaves_out_is_not_written)
{
    const char *source = getenv("srcdir");
    BERTH_STRVEC struct berth_strvec patterns = {0};
    BERTH_FREE char *path =
        unit_format("%s/share/berth/squashfs-environment", source ? source : ".");

    read_left_out(path, &patterns);
    ck_assert_uint_gt(patterns.count, 10);
    for (size_t i = 0; i < patterns.count; i++) {
        BERTH_BUF struct berth_buf lines = {0};
        BERTH_STRVEC struct berth_strvec left_out = {0};
        BERTH_FREE char *variable = unit_format("%s=x", patterns.items[i]);

        berth_enroot_environment(variable, strlen(variable) + 1, &lines, &left_out);
        ck_assert_msg(lines.used == 0, "%s is written", patterns.items[i]);
    }
}

static const struct {
    const char *directory;
    bool has_entrypoint;
    const char *text;
} files[] = {
    {NULL, false, "if [ $# -gt 0 ]; then\n    exec \"$@\"\nfi\nexec /bin/sh\n"},
    {NULL, true,
     "export APPTAINER_NO_EVAL=1 SINGULARITY_NO_EVAL=1\n"
     "exec /etc/rc.entrypoint \"$@\"\n"},
    {"/a b", true,
     "mkdir -p \"/a b\" 2> /dev/null\n"
     "cd \"/a b\" && unset OLDPWD || exit 1\n\n"
     "export APPTAINER_NO_EVAL=1 SINGULARITY_NO_EVAL=1\n"
     "exec /etc/rc.entrypoint \"$@\"\n"},
    /* which the shell would run */
    {"/$(id)", true,
     "export APPTAINER_NO_EVAL=1 SINGULARITY_NO_EVAL=1\n"
     "exec /etc/rc.entrypoint \"$@\"\n"},
};

TEST_ROWS(a_file_starts_the_entry_point, files)
{
    BERTH_BUF struct berth_buf text = {0};

    berth_enroot_rc(files[_i].directory, files[_i].has_entrypoint, &text);
    ck_assert_str_eq(text.text, files[_i].text);
}

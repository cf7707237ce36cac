/* SPDX-License-Identifier: Apache-2.0 */
/* A user that the host does not know. */

#include "container/identity.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "unit.h"

static const struct {
    const char *name;
    const char *home;
    const char *shell;
    const char *line;
} lines[] = {
    {"alice", "/home/alice", "/bin/bash",
     "alice:x:54321:54322::/home/alice:/bin/bash\n"},
    {"a b", "/home/a b", "/bin/\303\274",
     "a b:x:54321:54322::/home/a b:/bin/\303\274\n"},
    {NULL, NULL, NULL, "user54321:x:54321:54322::/:/bin/sh\n"},
    {"", "", "", "user54321:x:54321:54322::/:/bin/sh\n"},
    {"root:x:0:0", "home", "sh", "user54321:x:54321:54322::/:/bin/sh\n"},
    {"a\nroot:x:0:0::/:/bin/sh", "/h\nx", "/s:y",
     "user54321:x:54321:54322::/:/bin/sh\n"},
    {"../x", "/h\177", "/s\t", "user54321:x:54321:54322::/:/bin/sh\n"},
};

TEST_ROWS(a_line_has_only_what_is_fit_for_it, lines)
{
    BERTH_BUF struct berth_buf buf = {0};

    berth_identity_line(&buf, 54321, 54322, lines[_i].name, lines[_i].home,
                        lines[_i].shell);
    ck_assert_str_eq(buf.text, lines[_i].line);
}

/* In a process of its own: become a stranger where that is allowed, and ask. */
static int be_a_stranger(void)
{
    struct berth_err err;
    const struct passwd *user;
    int was_there;

    if (geteuid() == 0 && (setgid(54322) < 0 || setuid(54321) < 0))
        return 1;
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* its own files in /proc are its own again */
    was_there = access("/tmp/passwd", F_OK);
    if (getuid() == 54321 && getpwuid(54321))
        return 2;
    setenv("SLURM_JOB_USER", "stranger", 1);
    setenv("HOME", "/home/stranger", 1);
    if (berth_identity_provide(&err) < 0) /* a kernel without user namespaces */
        return strstr(err.text, "and berth cannot add the user: ") &&
                       strstr(err.text, "; ask the administrators to repair its user "
                                        "database")
                   ? 0
                   : 3;
    user = getuid() == 54321 ? getpwuid(getuid()) : getpwnam("stranger");
    if (!user || strcmp(user->pw_name, "stranger") != 0 ||
        strcmp(user->pw_dir, "/home/stranger") != 0)
        return 4;
    return getpwnam("root") && access("/tmp/passwd", F_OK) == was_there ? 0 : 5;
}

TEST(a_stranger_is_made_known)
{
    pid_t child = fork();

    if (child == 0)
        _exit(be_a_stranger());
    ck_assert_int_eq(unit_ended(child), 0);
}

TEST(nobody_else_sees_it)
{
    FILE *file = fopen("/etc/passwd", "r");
    char line[1024];

    while (file && fgets(line, sizeof(line), file))
        ck_assert_int_ne(strncmp(line, "stranger:", 9), 0);
    if (file)
        fclose(file);
}

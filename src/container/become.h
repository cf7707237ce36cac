/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* Set for each task in a container that may start commands of the host: NAME.TOKEN, the
 * abstract name of the socket for its questions (unix(7)), and the token that permits
 * them (inside/hostcommand.h). */
#define BERTH_OUTSIDE_VARIABLE "BERTH_INSIDE"

/* The directory with these commands, which is the last one of the task's PATH; for a
 * shell that sets PATH itself. The second is how the directory begins in PATH. */
#define BERTH_OUTSIDE_PLACE "BERTH_INSIDE_PATH"
#define BERTH_OUTSIDE_PATH  ":/proc/"

/* The command of a task, which is in a container of its own or has joined one. Borrows
 * everything. */
struct berth_become {
    const char *workdir;         /* of --container-workdir; NULL: not given */
    const char *stay;            /* else the task's directory on the host; NULL: none */
    const char *image_directory; /* the working directory of the image; NULL: only its
                                    /etc/rc can tell (berth_runscript_directory()) */
    bool prefers_image;          /* that one before `stay` */
    const char *pwd;             /* PWD on the host; NULL: not set, or not known */
    const char *runscript;  /* the image's, which the command might need; NULL: none, or
                               the command is started through it */
    const char *entrypoint; /* the file through which the command is started, one of its
                               words; NULL: none */
    char **command;         /* ended by NULL */
};

/* Exit status of a task whose application was not started, as in a shell. */
enum { BERTH_REFUSED = 1, BERTH_NOT_EXECUTABLE = 126, BERTH_NOT_FOUND = 127 };

/* Change to the working directory, and set PWD to the name that it has on the host. If
 * nobody has asked for one, and the container lacks that of the task, it is that of the
 * image, else /, and a sentence in NOTE says so ("" otherwise; may be NULL). Returns 0,
 * or -1 with a sentence in ERR. */
int berth_become_chdir(const struct berth_become *become, struct berth_err *note,
                       struct berth_err *err);

/* Returns the path of the command NAME, which the caller frees: on the PATH of the
 * current environment, or else in the working directory; NULL with errno: there is
 * none. As Slurm does, berth makes this path argv[0] of the command: a program may look
 * for its own files beside it.
 */
char *berth_become_find(const char *name);

/* Become the command, which berth_become_find() finds. Returns
 * only on failure: the exit status, with a sentence in ERR. */
int berth_become_command(const struct berth_become *become, struct berth_err *err);

/* Become COMMAND on the host. Returns as berth_become_command(). */
int berth_become_on_host(char *const *command, struct berth_err *err);

/* Check whether berth_become_command() would succeed: returns 0, or the exit status
 * with a sentence in ERR. A child executes the command, and ends before its first
 * instruction. */
int berth_become_try(const struct berth_become *become, struct berth_err *err);

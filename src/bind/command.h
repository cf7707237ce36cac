/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The program that COMMAND (ends in NULL) starts in the end, as far as its words tell:
 * PROGRAM of `env A=b PROGRAM`, `taskset -c 0 PROGRAM`, `sh -c 'exec PROGRAM ...'`,
 * `ld.so PROGRAM`. Returns its name, or its path, which the caller frees. NULL: COMMAND
 * starts no other program; or its words do not tell which (loops, variables, several
 * programs); or it changes the environment so that libraries are found elsewhere. */
char *berth_command_program(char *const *command);

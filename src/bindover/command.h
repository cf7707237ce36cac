/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Finds the program that COMMAND (ends in NULL) finally starts, from its words alone:
 * PROGRAM of `env A=b PROGRAM`, `taskset -c 0 PROGRAM`, `sh -c 'exec PROGRAM ...'`,
 * `ld.so PROGRAM`. Returns its name or path, which the caller frees. Returns NULL if
 * COMMAND starts no other program; if its words do not show which one (loops,
 * variables, several programs); if it changes where libraries are found; and out of
 * memory. */
char *berth_command_program(char *const *command);

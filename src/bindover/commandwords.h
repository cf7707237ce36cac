/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/strvec.h"

/* Appends to RET the first 64 words of COMMAND (ends in NULL) after its first, also
 * those of a text for a shell, with ";" where another simple command begins. Any may be
 * a program that COMMAND starts. */
void berth_words_of(char *const *command, struct berth_strvec *ret);

/* Is the first of COMMAND (ends in NULL) a program that becomes another, or starts one,
 * as `env`, `taskset` and `sh`, and would find WORD, one of WORDS, which are those of
 * COMMAND, and its libraries where this process does? */
bool berth_words_lead(char *const *command, const struct berth_strvec *words,
                      const char *word);

/* Does the program PATH become another program that its arguments name, or start one,
 * as `env` and `sh` do? */
bool berth_words_is_launcher(const char *path);

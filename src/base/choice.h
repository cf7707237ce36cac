/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/strvec.h"

/* A list of words as users read it: `auto|nvidia|off`, `[text|json]`. A word in
 * capitals matches any other text. */

/* Returns the place of WORD among the words of CHOICES, from 0, or -1. A word in
 * capitals has a place, too, but is never found. */
int berth_choice_find(const char *choices, const char *word);

/* Append the words to RET, without those in capitals. */
void berth_choice_split(const char *choices, struct berth_strvec *ret);

/* Append the words as "auto, nvidia or off"; with OTHER, which is what the word in
 * capitals matches, as "auto, nvidia, off, or OTHER". OTHER may be NULL. */
void berth_choice_list(const char *choices, const char *other, struct berth_buf *ret);

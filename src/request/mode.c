/* SPDX-License-Identifier: Apache-2.0 */
/* The modes of --mpi-bind and their names. */

#include "request/mode.h"

#include <stddef.h>
#include <string.h>

#include "base/choice.h"

enum berth_mode berth_mode_of(const char *word)
{
    int at;

    if (!word)
        return BERTH_MODE_OFF;
    at = berth_choice_find(BERTH_MODE_WORDS, word);
    if (at < 0)
        return BERTH_MODE_NAME;
    return (enum berth_mode)at;
}

bool berth_mode_is_word(const char *word)
{
    return *word && *word != '-' &&
           word[strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0';
}

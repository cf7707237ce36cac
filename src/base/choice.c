/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of words, as one text that people and the program read. */

#include "base/choice.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* Returns the next word of *CHOICES, which has *RET_LENGTH bytes, or NULL. */
static const char *next_word(const char **choices, size_t *ret_length)
{
    const char *word = *choices + strspn(*choices, "[|]");

    *ret_length = strcspn(word, "[|]");
    *choices = word + *ret_length;
    return *word ? word : NULL;
}

/* Does the word at CHOICE match any other text? */
static bool is_any(const char *choice)
{
    return isupper((unsigned char)*choice);
}

int berth_choice_find(const char *choices, const char *word)
{
    size_t length;
    const char *choice = next_word(&choices, &length);

    for (int at = 0; choice; at++) {
        bool is_same = strlen(word) == length && strncmp(word, choice, length) == 0;

        if (is_same && !is_any(choice))
            return at;
        choice = next_word(&choices, &length);
    }
    return -1;
}

void berth_choice_split(const char *choices, struct berth_strvec *ret)
{
    size_t length;
    const char *choice = next_word(&choices, &length);

    while (choice) {
        if (!is_any(choice))
            berth_strvec_pushf(ret, "%.*s", (int)length, choice);
        choice = next_word(&choices, &length);
    }
}

void berth_choice_list(const char *choices, const char *other, struct berth_buf *ret)
{
    BERTH_STRVEC struct berth_strvec words = {0};

    berth_choice_split(choices, &words);
    for (size_t i = 0; i < words.count; i++) {
        bool is_last = i + 1 == words.count && !other;

        if (i > 0)
            berth_buf_puts(ret, is_last ? " or " : ", ");
        berth_buf_puts(ret, words.items[i]);
    }
    if (other)
        berth_buf_addf(ret, ", or %s", other);
    ret->failed |= words.failed;
}

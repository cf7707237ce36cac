/* SPDX-License-Identifier: Apache-2.0 */
/* Who has signed an image, as the runtime tells it in JSON. The names of keys are text
 * that anybody can choose, so strings are read as strings. */

#include "plan/signers.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* What is said of one signed part of the image. */
struct signer {
    char partition[128];
    char fingerprint[128];
    bool key;
    bool data;
};

/* Copy the string at TEXT (behind its quote) to VALUE, cut to SIZE; an escape becomes
 * `?`. Returns what is behind its other quote. */
static const char *read_string(const char *text, char *value, size_t size)
{
    size_t used = 0;

    for (; *text && *text != '"'; text++) {
        char c = *text;

        if (c == '\\' && text[1]) {
            text++;
            c = '?';
        }
        if (used + 1 < size)
            value[used++] = c;
    }
    value[used] = '\0';
    return *text ? text + 1 : text;
}

static void take_string(struct signer *signer, const char *key, const char *value)
{
    if (strcmp(key, "Partition") == 0)
        snprintf(signer->partition, sizeof(signer->partition), "%s", value);
    if (strcmp(key, "Fingerprint") == 0)
        snprintf(signer->fingerprint, sizeof(signer->fingerprint), "%s", value);
}

static void take_word(struct signer *signer, const char *key, const char *value)
{
    bool is_true = berth_text_starts(value, "true");

    if (strcmp(key, "KeyCheck") == 0)
        signer->key = is_true;
    if (strcmp(key, "DataCheck") == 0)
        signer->data = is_true;
}

static bool is_same_key(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (isblank((unsigned char)*a))
            a++;
        while (isblank((unsigned char)*b))
            b++;
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return false;
        if (*a == '\0')
            return true;
    }
}

static bool is_taken(const struct signer *signer,
                     const struct berth_strvec *fingerprints)
{
    for (size_t i = 0; i < fingerprints->count; i++)
        if (is_same_key(fingerprints->items[i], signer->fingerprint))
            return true;
    return false;
}

/* Of each part of the image: an image may have file systems besides the first, which go
 * over it. */
static int check_signer(const struct signer *signer,
                        const struct berth_strvec *fingerprints, struct berth_err *err)
{
    if (!is_taken(signer, fingerprints))
        return berth_err_set(err,
                             "it is signed with the key %s, which this site does not "
                             "accept",
                             signer->fingerprint);
    if (!signer->key || !signer->data)
        return berth_err_set(err, "it was changed after it was signed with the key %s",
                             signer->fingerprint);
    return 0;
}

/* Read the fields of the object at TEXT (behind its brace). Returns what is behind its
 * other brace, or the brace of an object in it. */
static const char *read_object(const char *text, struct signer *signer)
{
    char key[32] = "";
    char value[128];

    *signer = (struct signer){.key = false};
    while (*text && *text != '{' && *text != '}') {
        if (*text == '"') {
            bool is_key;

            text = read_string(text + 1, value, sizeof(value));
            text += strspn(text, " \t\n");
            is_key = *text == ':';
            if (is_key)
                snprintf(key, sizeof(key), "%.31s", value);
            else
                take_string(signer, key, value);
            text += is_key;
        } else {
            if (isalpha((unsigned char)*text))
                take_word(signer, key, text);
            text +=
                isalnum((unsigned char)*text) ? strspn(text, "aeflnrstu0123456789") : 0;
            text += *text && !strchr("\"{}", *text);
        }
    }
    return *text == '}' ? text + 1 : text;
}

int berth_signers_check(const char *answer, const struct berth_strvec *fingerprints,
                        struct berth_err *err)
{
    bool is_signed = false;
    struct signer signer;

    while ((answer = strpbrk(answer, "{\""))) {
        char ignored[2];

        if (*answer == '"') {
            answer = read_string(answer + 1, ignored, sizeof(ignored));
            continue;
        }
        answer = read_object(answer + 1, &signer);
        if (!*signer.fingerprint)
            continue;
        if (check_signer(&signer, fingerprints, err) < 0)
            return -1;
        is_signed |= strcmp(signer.partition, "FS") == 0;
    }
    return is_signed ? 0 : berth_err_set(err, "it is not signed");
}

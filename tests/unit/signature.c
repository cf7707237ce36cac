/* SPDX-License-Identifier: Apache-2.0 */
/* The signatures of an image, by the output of a runtime, which is a script. */

#include "image/signature.h"

#include <stdio.h>

#include "unit.h"

#define KEY(partition, name, fingerprint, key, data)                                   \
    "\n    {\n      \"Signer\": {\n"                                                   \
    "        \"Partition\": \"" partition "\",\n        \"Name\": \"" name "\",\n"     \
    "        \"Fingerprint\": \"" fingerprint "\",\n        \"KeyLocal\": true,\n"     \
    "        \"KeyCheck\": " key ",\n        \"DataCheck\": " data "\n      }\n    }"
#define KEYS(keys) "{\n  \"Signatures\": 1,\n  \"SignerKeys\": [" keys "\n  ]\n}\n"
#define SIGNED(partition, name, fingerprint, key, data)                                \
    KEYS(KEY(partition, name, fingerprint, key, data))

#define GOOD    KEY("FS", "a", "12ab34cd", "true", "true")
#define NO_JSON "the runtime does not verify it (it prints no JSON)"
#define CHANGED "it was changed after it was signed with the key 12ab34cd"
#define OTHER   "it is signed with the key 99ff, which this site does not accept"

static const struct {
    const char *answer;
    const char *error; /* NULL: good */
} answers[] = {
    {SIGNED("FS", "a", "12ab34cd", "true", "true"), NULL},
    {SIGNED("FS", "a \\u003ca@b\\u003e", "12AB34CD", "true", "true"), NULL},
    {SIGNED("FS", "a", "99ff", "true", "true"), OTHER},
    {SIGNED("FS", "a", "12ab34cd", "false", "true"), CHANGED},
    {SIGNED("FS", "a", "12ab34cd", "true", "false"), CHANGED},
    {SIGNED("Def.FILE", "a", "12ab34cd", "true", "true"), "it is not signed"},
    /* a second file system would go over the first */
    {KEYS(GOOD "," KEY("FS", "a", "99ff", "true", "true")), OTHER},
    {KEYS(KEY("FS", "a", "99ff", "true", "true") "," GOOD), OTHER},
    {KEYS(GOOD "," KEY("FS", "a", "12ab34cd", "true", "false")), CHANGED},
    {KEYS(GOOD "," GOOD "," KEY("Def.FILE", "a", "00", "true", "true")), NULL},
    {KEYS(GOOD) KEYS(GOOD), NO_JSON},
    {SIGNED("FS", "a", "12ab34cd00", "true", "true"),
     "it is signed with the key 12ab34cd00, which this site does not accept"},
    {SIGNED("FS", "a", "12ab", "true", "true"),
     "it is signed with the key 12ab, which this site does not accept"},
    /* a name that looks like a field */
    {SIGNED("FS", "\\\", \\\"Fingerprint\\\": \\\"12ab34cd", "99ff", "true", "true"),
     OTHER},
    {SIGNED("FS", "Fingerprint", "99ff", "true", "true"), OTHER},
    {SIGNED("FS", "{", "99ff", "true", "true"), OTHER},
    {"{\"Signatures\": 0, \"SignerKeys\": null}", "it is not signed"},
    {"", "it is not signed"},
    {"{\"SignerKeys\": [[1], {\"Signer\": []}]}",
     "it is signed with the key ?, which this site does not accept"},
    /* a word in place of true, and a key twice */
    {SIGNED("FS", "a", "12ab34cd", "\"true\"", "true"), CHANGED},
    {SIGNED("FS", "a", "12ab34cd", "true", "true, \"DataCheck\": false"), NO_JSON},
    {"{\"SignerKeys\": [{\"Signer\": {\"Fingerprint\": \"12ab34cd", NO_JSON},
    {"\"{\\\"", NO_JSON},
    {"{\"a", NO_JSON},
    {"\\", "it is not signed"},
};

TEST_ROWS(the_signer_of_the_file_system_counts, answers)
{
    BERTH_STRVEC struct berth_strvec keys = {0};
    struct berth_err err = {0};

    berth_strvec_push(&keys, "00");
    berth_strvec_push(&keys, "12AB 34CD");
    ck_assert_int_eq(berth_signers_check(answers[_i].answer, &keys, &err),
                     answers[_i].error ? -1 : 0);
    ck_assert_str_eq(err.text, answers[_i].error ? answers[_i].error : "");
}

#define ADVICE                                                                         \
    "; this site runs images with certain signatures only (/b.yaml:3): ask the "       \
    "administrators for one"

static const struct {
    const char *script;
    const char *error; /* NULL: good; IMAGE is its path */
} runtimes[] = {
    {"test \"$1 $2 $3 $#\" = 'verify --local --json 4' && test \"$(cat \"$4\")\" = i &&"
     " test \"$K$APPTAINER_KEYSDIR$APPTAINER_VERIFY_KEY\" = vk && cat \"$A\"",
     NULL},
    {"cat \"$A\"; echo 'FATAL: no' >&2; exit 1",
     "image 'IMAGE': the runtime does not verify it (FATAL: no)" ADVICE},
    {"echo 'FATAL: no such key' >&2; exit 255",
     "image 'IMAGE': it is not signed" ADVICE},
    {"sleep 600", "image 'IMAGE': 'RUNTIME': not done after 0 seconds; check "
                  "whether this node is overloaded or a file system hangs"},
};

/* Replace PATH in TEXT by WORD. */
static void shorten(char *text, const char *path, const char *word)
{
    char *found = strstr(text, path);

    if (!found)
        return;
    memmove(found + strlen(word), found + strlen(path),
            strlen(found + strlen(path)) + 1);
    memcpy(found, word, strlen(word));
}

TEST_ROWS(the_runtime_is_asked, runtimes)
{
    BERTH_TERMS struct berth_terms terms = {.signers_place = strdup("/b.yaml:3")};
    char runtime[128], image[128], answer[128], variable[140];
    char *const environment[] = {variable,
                                 (char *)"PATH=/usr/bin:/bin",
                                 (char *)"K=v",
                                 (char *)"APPTAINER_KEYSDIR=k",
                                 (char *)"APPTAINER_VERIFY_KEY=/mine.pem",
                                 NULL};
    struct berth_signature signature = {.runtime = runtime,
                                        .image = image,
                                        .terms = &terms,
                                        .environment = environment,
                                        .seconds = _i == 3 ? 0 : 600};
    struct berth_err err = {0};
    const char *good = SIGNED("FS", "a", "12ab", "true", "true");

    snprintf(runtime, sizeof(runtime), "%s/r", unit_dir);
    snprintf(image, sizeof(image), "%s/i.sif", unit_dir);
    snprintf(answer, sizeof(answer), "%s/answer", unit_dir);
    snprintf(variable, sizeof(variable), "A=%s", answer);
    unit_script(runtime, runtimes[_i].script);
    unit_write(answer, good, strlen(good));
    ck_assert_int_eq(berth_signature_check(&signature, &err), 0);
    berth_strvec_push(&terms.signers, "12AB");
    ck_assert_int_eq(berth_signature_check(&signature, &err), -1);
    shorten(err.text, image, "IMAGE");
    ck_assert_str_eq(err.text, "image 'IMAGE': cannot be opened: No such file or "
                               "directory; check the path");
    unit_write(image, "i\n", 2);
    terms.image = strdup("0.0");
    ck_assert_int_eq(berth_signature_check(&signature, &err), -1);
    ck_assert_ptr_nonnull(
        strstr(err.text, "the file was replaced while the step started"));
    free(terms.image);
    terms.image = NULL;
    *err.text = '\0';
    ck_assert_int_eq(berth_signature_check(&signature, &err),
                     runtimes[_i].error ? -1 : 0);
    shorten(err.text, runtime, "RUNTIME");
    shorten(err.text, image, "IMAGE");
    ck_assert_str_eq(err.text, runtimes[_i].error ? runtimes[_i].error : "");
}

void unit_prepare(TCase *tests)
{
    unit_in_directory(tests);
}

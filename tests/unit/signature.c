/* SPDX-License-Identifier: Apache-2.0 */
/* Who has signed an image, by what a runtime says of it; the runtime is a script. */

#include "probe/signature.h"

#include <stdio.h>
#include <sys/stat.h>

#include "plan/signers.h"
#include "unit.h"

#define SIGNED(partition, name, fingerprint, key, data)                                \
    "{\n  \"Signatures\": 1,\n  \"SignerKeys\": [\n    {\n      \"Signer\": {\n"       \
    "        \"Partition\": \"" partition "\",\n        \"Name\": \"" name "\",\n"     \
    "        \"Fingerprint\": \"" fingerprint "\",\n        \"KeyLocal\": true,\n"     \
    "        \"KeyCheck\": " key ",\n        \"DataCheck\": " data                     \
    "\n      }\n    }\n"                                                               \
    "  ]\n}\n"

#define OTHER "it is signed with the key 99ff, which is none that this site takes"

static const struct {
    const char *answer;
    const char *error; /* NULL: good */
} answers[] = {
    {SIGNED("FS", "a", "12ab34cd", "true", "true"), NULL},
    {SIGNED("FS", "a \\u003ca@b\\u003e", "12AB34CD", "true", "true"), NULL},
    {SIGNED("FS", "a", "99ff", "true", "true"), OTHER},
    {SIGNED("FS", "a", "12ab34cd", "false", "true"),
     "it is signed with the key 12ab34cd, which is none that this site takes"},
    {SIGNED("FS", "a", "12ab34cd", "true", "false"),
     "it is signed with the key 12ab34cd, which is none that this site takes"},
    {SIGNED("Def.FILE", "a", "12ab34cd", "true", "true"),
     "it is signed with the key 12ab34cd, which is none that this site takes"},
    {SIGNED("FS", "a", "12ab34cd00", "true", "true"),
     "it is signed with the key 12ab34cd00, which is none that this site takes"},
    {SIGNED("FS", "a", "12ab", "true", "true"),
     "it is signed with the key 12ab, which is none that this site takes"},
    /* a name that looks like a field */
    {SIGNED("FS", "\\\", \\\"Fingerprint\\\": \\\"12ab34cd", "99ff", "true", "true"),
     OTHER},
    {SIGNED("FS", "Fingerprint", "99ff", "true", "true"), OTHER},
    {SIGNED("FS", "{", "99ff", "true", "true"), OTHER},
    {"{\"Signatures\": 0, \"SignerKeys\": null}", "it is not signed"},
    {"", "it is not signed"},
    {"{\"Signer\": {\"Fingerprint\": \"12ab34cd", "it is signed with the key 12ab34cd, "
                                                  "which is none that this site takes"},
    {"\"{\\\"", "it is not signed"},
    {"{\"a", "it is not signed"},
    {"\\", "it is not signed"},
};

START_TEST(the_signer_of_the_file_system_counts)
{
    BERTH_STRVEC struct berth_strvec keys = {0};
    struct berth_err err = {""};

    berth_strvec_push(&keys, "00");
    berth_strvec_push(&keys, "12AB 34CD");
    ck_assert_int_eq(berth_signers_check(answers[_i].answer, &keys, &err),
                     answers[_i].error ? -1 : 0);
    ck_assert_str_eq(err.text, answers[_i].error ? answers[_i].error : "");
}
END_TEST

#define ADVICE                                                                         \
    "; this site runs images with certain signatures only: ask the administrators "    \
    "for "                                                                             \
    "one"

static const struct {
    const char *script;
    const char *error; /* NULL: good */
} runtimes[] = {
    {"test \"$*\" = 'verify --local --json /i.sif' && test \"$K\" = v && cat \"$A\"",
     NULL},
    {"cat \"$A\"; echo 'FATAL: no' >&2; exit 1",
     "image '/i.sif': the runtime does not verify it (FATAL: no)" ADVICE},
    {"echo 'FATAL: no such key' >&2; exit 255",
     "image '/i.sif': it is not signed" ADVICE},
    {"sleep 60", "image '/i.sif': verify: 'RUNTIME': not done after 1 seconds; look "
                 "whether this node is overloaded or a file system hangs"},
};

START_TEST(the_runtime_is_asked)
{
    BERTH_STRVEC struct berth_strvec keys = {0};
    char *directory = unit_directory();
    char runtime[128], answer[128], variable[140], script[512];
    char *const environment[] = {variable, (char *)"PATH=/usr/bin:/bin", (char *)"K=v",
                                 NULL};
    struct berth_err err = {""};
    const char *good = SIGNED("FS", "a", "12ab", "true", "true");
    char *found;

    snprintf(runtime, sizeof(runtime), "%s/r", directory);
    snprintf(answer, sizeof(answer), "%s/answer", directory);
    snprintf(variable, sizeof(variable), "A=%s", answer);
    snprintf(script, sizeof(script), "#!/bin/sh\n%s\n", runtimes[_i].script);
    unit_write(runtime, script, strlen(script));
    unit_write(answer, good, strlen(good));
    ck_assert_int_eq(chmod(runtime, 0755), 0);
    ck_assert_int_eq(
        berth_signature_check(runtime, "/i.sif", &keys, environment, 1, &err), 0);
    berth_strvec_push(&keys, "12AB");
    ck_assert_int_eq(berth_signature_check(runtime, "/i.sif", &keys, environment,
                                           _i == 3 ? 1 : 60, &err),
                     runtimes[_i].error ? -1 : 0);
    found = strstr(err.text, runtime);
    if (found) {
        memmove(found + strlen("RUNTIME"), found + strlen(runtime),
                strlen(found + strlen(runtime)) + 1);
        memcpy(found, "RUNTIME", strlen("RUNTIME"));
    }
    ck_assert_str_eq(err.text, runtimes[_i].error ? runtimes[_i].error : "");
    unit_remove(directory);
    free(directory);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("signature");

    tcase_add_loop_test(tests, the_signer_of_the_file_system_counts, 0, COUNT(answers));
    tcase_add_loop_test(tests, the_runtime_is_asked, 0, COUNT(runtimes));
    return unit_run("signature", tests);
}

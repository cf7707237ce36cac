/* SPDX-License-Identifier: Apache-2.0 */
/* The digest of an image, once for each user and node. */

#include "launch/digest.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/run.h"
#include "step/memo.h"

#define KIND "sha256:"

enum { DIGITS = 64 };

/* sha256sum puts a backslash in front where the name has one. */
static char *digits_in(const char *said)
{
    BERTH_BUF struct berth_buf text = {0};

    said += *said == '\\';
    if (strspn(said, "0123456789abcdef") != DIGITS)
        return NULL;
    berth_buf_puts(&text, KIND);
    berth_buf_add(&text, said, DIGITS);
    return berth_steal(&text.text);
}

static char *compute(const char *path, unsigned int seconds)
{
    BERTH_FREE char *program = berth_run_find("sha256sum", NULL);
    const char *const argv[] = {program, "--", path, NULL};
    const char *const env[] = {NULL};
    const struct berth_run run = {
        .argv = argv, .env = env, .seconds = (int)seconds, .most = 1 << 16};
    struct berth_ran ran;
    char *digest = NULL;

    if (!program || berth_run(&run, &ran, NULL) < 0)
        return NULL;
    if (WIFEXITED(ran.status) && WEXITSTATUS(ran.status) == 0 && ran.out.text)
        digest = digits_in(ran.out.text);
    berth_ran_fini(&ran);
    return digest;
}

/* What is known of KEY. Returns whether anything is. */
static bool recall(const struct berth_stage_root *root, const char *key,
                   char **ret_digest)
{
    struct berth_memo memo;

    if (!berth_memo_load(root, key, &memo))
        return false;
    *ret_digest = NULL;
    if (memo.count == 1 && memo.records[0].kind == BERTH_MEMO_DIGEST &&
        *memo.records[0].first)
        *ret_digest = strdup(memo.records[0].first);
    berth_memo_fini(&memo);
    return true;
}

static void remember(const struct berth_stage_root *root, const char *key,
                     const char *digest)
{
    struct berth_memo memo = {0};

    berth_memo_add(&memo, BERTH_MEMO_DIGEST, digest ? digest : "", "");
    berth_memo_save(root, key, &memo);
    berth_memo_fini(&memo);
}

char *berth_digest(const char *path, const struct berth_stage_root *root,
                   unsigned int seconds)
{
    BERTH_BUF struct berth_buf key = {0};
    BERTH_FREE char *digest = NULL;
    char before[BERTH_MEMO_IDENTITY_SIZE];
    char after[BERTH_MEMO_IDENTITY_SIZE];

    berth_memo_identity(path, true, before);
    berth_buf_puts(&key, "digest\n");
    berth_buf_puts(&key, path);
    berth_buf_puts(&key, "\n");
    berth_buf_puts(&key, before);
    berth_buf_puts(&key, "\n");
    if (key.failed)
        return NULL;
    if (recall(root, key.text, &digest))
        return berth_steal(&digest);
    digest = compute(path, seconds);
    berth_memo_identity(path, true, after);
    if (strcmp(before, after) != 0)
        return NULL; /* it was changed meanwhile */
    remember(root, key.text, digest);
    return berth_steal(&digest);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The digest of an image, once for each user and node. */

#include "run/digest.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/run.h"
#include "step/factcache.h"

#define KIND "sha256:"

enum { DIGITS = 64 };

/* sha256sum puts a backslash in front of the digits if the name has one. */
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

char *berth_digest(const char *path, const struct berth_stage_root *root,
                   unsigned int seconds)
{
    struct berth_factcache cache;
    BERTH_BUF struct berth_buf before = {0};
    BERTH_BUF struct berth_buf after = {0};
    BERTH_BUF struct berth_buf fact = {0};
    BERTH_FREE char *digest = NULL;
    const char *known;
    size_t count;

    berth_factcache_identify(path, &before);
    if (before.failed)
        return NULL;
    berth_factcache_open(root, "digests of images", &cache);
    known = berth_factcache_get(&cache, before.text, &count);
    if (known) {
        digest = count ? strndup(known, count) : NULL;
    } else {
        digest = compute(path, seconds);
        berth_factcache_identify(path, &after);
        berth_buf_puts(&fact, digest ? digest : "");
        if (!after.failed && strcmp(before.text, after.text) == 0)
            berth_factcache_put(&cache, before.text, &fact);
        else
            free(berth_steal(&digest)); /* the file has changed meanwhile */
        berth_factcache_save(&cache);
    }
    berth_factcache_fini(&cache);
    return berth_steal(&digest);
}

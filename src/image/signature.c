/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the signatures of an image by the runtime's `verify`. */

#include "image/signature.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fileid.h"
#include "base/run.h"
#include "base/text.h"
#include "site/flags.h"
#include "site/syntax.h"

/* The member KEY of NODE, if NODE is an object with such a member of KIND; else NULL.
 */
static const struct berth_node *member(const struct berth_node *node, const char *key,
                                       enum berth_node_kind kind)
{
    const struct berth_node *found;

    if (!node || node->kind != BERTH_NODE_MAP)
        return NULL;
    found = berth_node_find(node, key);
    if (!found || found->kind != kind)
        return NULL;
    return found;
}

/* The text of the member KEY of SIGNER; "": it has none. */
static const char *text(const struct berth_node *signer, const char *key)
{
    const struct berth_node *found = member(signer, key, BERTH_NODE_SCALAR);

    if (!found)
        return "";
    return found->text;
}

static bool is_true(const struct berth_node *signer, const char *key)
{
    const struct berth_node *found = member(signer, key, BERTH_NODE_SCALAR);

    return found && !found->quoted && strcmp(found->text, "true") == 0;
}

static const char *skip_blanks(const char *text)
{
    return text + strspn(text, " \t");
}

static bool is_same_key(const char *a, const char *b)
{
    a = skip_blanks(a);
    b = skip_blanks(b);
    while (*a && tolower((unsigned char)*a) == tolower((unsigned char)*b)) {
        a = skip_blanks(a + 1);
        b = skip_blanks(b + 1);
    }
    return *a == '\0' && *b == '\0';
}

static bool is_accepted(const char *fingerprint,
                        const struct berth_strvec *fingerprints)
{
    for (size_t i = 0; i < fingerprints->count; i++)
        if (is_same_key(fingerprints->items[i], fingerprint))
            return true;
    return false;
}

/* Each signature must be valid: an image may have file systems that are mounted over
 * the first. */
static int check_signer(const struct berth_node *signer,
                        const struct berth_strvec *fingerprints, struct berth_err *err)
{
    const char *printed = berth_text_given(text(signer, "Fingerprint"));
    const char *fingerprint = berth_text_or(printed, "?");

    if (!is_accepted(fingerprint, fingerprints))
        return berth_err_set(err,
                             "it is signed with the key %s, which this site does not "
                             "accept",
                             fingerprint);
    if (!is_true(signer, "KeyCheck") || !is_true(signer, "DataCheck"))
        return berth_err_set(err, "it was changed after it was signed with the key %s",
                             fingerprint);
    return 0;
}

static int refuse_answer(const char *why, struct berth_err *err)
{
    return berth_err_set(err, "the runtime does not verify it (%s)", why);
}

int berth_signers_check(const char *answer, const struct berth_strvec *fingerprints,
                        struct berth_err *err)
{
    BERTH_NODE struct berth_node root = {0};
    BERTH_STRVEC struct berth_strvec errors = {0};
    const struct berth_node *keys;
    bool is_signed = false;

    if (berth_syntax_read("JSON", answer, strlen(answer), &root, &errors, NULL) < 0 ||
        errors.count || errors.failed)
        return refuse_answer("it prints no JSON", err);
    keys = member(&root, "SignerKeys", BERTH_NODE_LIST);
    for (size_t i = 0; keys && i < keys->count; i++) {
        const struct berth_node *signer =
            member(&keys->items[i], "Signer", BERTH_NODE_MAP);

        if (check_signer(signer, fingerprints, err) < 0)
            return -1;
        if (strcmp(text(signer, "Partition"), "FS") == 0)
            is_signed = true;
    }
    if (!is_signed)
        return berth_err_set(err, "it is not signed");
    return 0;
}

/* Bytes that the runtime may print; a list of keys has some thousand. */
enum { MOST = 1 << 20 };

static int check_answer(struct berth_ran *ran, const struct berth_strvec *fingerprints,
                        struct berth_err *err)
{
    if (berth_signers_check(berth_buf_text(&ran->out), fingerprints, err) < 0)
        return -1;
    if (ran->status != 0)
        return refuse_answer(berth_ran_last_line(ran), err);
    return 0;
}

/* Append ENVIRONMENT to RET without the variables that are flags of the runtime, such
 * as APPTAINER_VERIFY_KEY. */
static int put_environment(char *const *environment, struct berth_strvec *ret,
                           struct berth_err *err)
{
    for (; *environment; environment++)
        if (!berth_flags_variable(*environment))
            berth_strvec_push(ret, *environment);
    return berth_err_oom_if(ret->failed, err);
}

/* May the image of IDENTITY be verified: is it the one that was allowed? */
static bool is_allowed(const struct berth_signature *signature, const char *identity)
{
    const char *allowed = signature->terms->image;

    return !allowed || strcmp(identity, allowed) == 0;
}

/* Open the image, for the runtime to inherit: its name could lead to another file while
 * the runtime verifies it. */
static int open_image(const struct berth_signature *signature, struct berth_err *err)
{
    int fd = open(signature->image, O_RDONLY);
    BERTH_FREE char *identity = NULL;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return berth_err_set(err, BERTH_OPENED_FAILED, signature->image,
                             strerror(errno));
    identity = berth_fileid_identity(&st);
    if (!identity) {
        close(fd);
        return berth_err_oom(err);
    }
    if (!is_allowed(signature, identity)) {
        close(fd);
        return berth_err_set(err, BERTH_OPENED_EXCHANGED, signature->image);
    }
    return fd;
}

/* Let the runtime verify the image that is open as IMAGE. */
static int verify(const struct berth_signature *signature, int image,
                  struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec environment = {0};
    char name[64];
    const char *const argv[] = {signature->runtime, "verify", "--local",
                                "--json",           name,     NULL};
    struct berth_run run = {.argv = argv,
                            .seconds = (int)signature->seconds,
                            .deadline = signature->deadline,
                            .most = MOST};
    BERTH_RAN struct berth_ran ran = {0};
    const char *place = berth_text_or(signature->terms->signers_place, "berth.yaml");
    struct berth_err why;

    snprintf(name, sizeof(name), "/proc/self/fd/%d", image);
    if (put_environment(signature->environment, &environment, err) < 0)
        return -1;
    run.env = (const char *const *)environment.items;
    if (berth_run(&run, &ran, err) < 0)
        return berth_err_at(err, "image '%s'", signature->image);
    if (check_answer(&ran, &signature->terms->signers, &why) == 0)
        return 0;
    return berth_err_set(err,
                         "image '%s': %s; this site runs images with certain "
                         "signatures only (%s): ask the administrators for one",
                         signature->image, why.text, place);
}

int berth_signature_check(const struct berth_signature *signature,
                          struct berth_err *err)
{
    BERTH_CLOSE int image = -1;

    if (signature->terms->signers.count == 0)
        return 0;
    image = open_image(signature, err);
    if (image < 0)
        return -1;
    return verify(signature, image, err);
}

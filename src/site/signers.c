/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the signatures of an image in the JSON of the runtime, which is YAML, too. */

#include "site/signers.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "site/syntax.h"

/* The member KEY of NODE, if NODE is an object with such a member of KIND; else NULL.
 */
static const struct berth_node *member(const struct berth_node *node, const char *key,
                                       enum berth_node_kind kind)
{
    const struct berth_node *found =
        node && node->kind == BERTH_NODE_MAP ? berth_node_find(node, key) : NULL;

    return found && found->kind == kind ? found : NULL;
}

static const char *text(const struct berth_node *signer, const char *key)
{
    const struct berth_node *found = member(signer, key, BERTH_NODE_SCALAR);

    return found ? found->text : "";
}

static bool is_true(const struct berth_node *signer, const char *key)
{
    const struct berth_node *found = member(signer, key, BERTH_NODE_SCALAR);

    return found && !found->quoted && strcmp(found->text, "true") == 0;
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
    const char *said = text(signer, "Fingerprint");
    const char *fingerprint = *said ? said : "?";

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

int berth_signers_check(const char *answer, const struct berth_strvec *fingerprints,
                        struct berth_err *err)
{
    BERTH_NODE struct berth_node root = {0};
    BERTH_STRVEC struct berth_strvec faults = {0};
    const struct berth_node *keys;
    bool is_signed = false;

    if (berth_syntax_read("JSON", answer, strlen(answer), &root, &faults, NULL) < 0 ||
        faults.count || faults.failed)
        return berth_err_set(err, "the runtime does not say in JSON who has signed it");
    keys = member(&root, "SignerKeys", BERTH_NODE_LIST);
    for (size_t i = 0; keys && i < keys->count; i++) {
        const struct berth_node *signer =
            member(&keys->items[i], "Signer", BERTH_NODE_MAP);

        if (check_signer(signer, fingerprints, err) < 0)
            return -1;
        is_signed |= strcmp(text(signer, "Partition"), "FS") == 0;
    }
    return is_signed ? 0 : berth_err_set(err, "it is not signed");
}

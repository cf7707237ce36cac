/* SPDX-License-Identifier: Apache-2.0 */
/* Explains why a pull failed. The line of the runtime is long and has no advice. The
 * words here are those of the libraries of Apptainer and SingularityCE:
 * containers/image, oras, and Go's net/http. */

#include "pull/pullfault.h"

#include <string.h>

#include "base/text.h"

#define NO_ROOM                                                                        \
    .advice = "free some space, or set another directory for the runtime (",           \
    .word = BERTH_PRODUCT_TMPDIR, .rest = ", images.cache in berth.yaml)",             \
    .is_full = true
#define NO_IMAGE .advice = "the registry has no such image; check the name and the tag"
#define NO_ROUTE                                                                       \
    .advice = "this host does not reach the registry; pull it first on a host that "   \
              "does: berth pull URI"
#define LOG_IN(is)                                                                     \
    .advice = "it does not exist, or " is                                              \
              "; check the name, and log in if the registry wants that (",             \
    .word = BERTH_PRODUCT_LOGIN, .rest = ")"

/* The first row whose words are in the line counts. The advice is `advice`, the
 * product's name for `word`, and `rest`. */
static const struct fault {
    const char *words;
    const char *advice;
    enum berth_product_word word;
    const char *rest; /* NULL: none */
    bool is_full;     /* a file system is full */
} faults[] = {
    {"no space left on device", NO_ROOM},
    {"quota exceeded", NO_ROOM},
    {"permission denied",
     .advice = "the runtime may not write there; check that directory"},
    {"executable file not found",
     .advice = "the runtime needs this program, which is not on this host; ask the "
               "administrators to install it"},
    {"toomanyrequests",
     .advice = "the registry has had too many requests from here; wait, or log in to "
               "it (",
     .word = BERTH_PRODUCT_LOGIN, .rest = ")"},
    {"server gave HTTP response to HTTPS",
     .advice = "the registry has no https; if that is meant to be, set ",
     .word = BERTH_PRODUCT_NOHTTPS, .rest = "=1"},
    {"x509: ", .advice = "this host does not trust the registry's certificate; ask the "
                         "administrators to install the one that signed it"},
    {"no library client", .advice = "no library is set up for you; add one (",
     .word = BERTH_PRODUCT_REMOTE, .rest = "), or use docker:// or oras://"},
    {"unauthorized", LOG_IN("is not public")},
    {"authentication required", LOG_IN("is not public")},
    {"denied", LOG_IN("you may not read it")},
    {"manifest unknown", NO_IMAGE},
    {"name unknown", NO_IMAGE},
    {"does not exist in the library", NO_IMAGE},
    {"not found", NO_IMAGE},
    {"no image found in",
     .advice = "the registry has it for other machines only; use one for this machine"},
    {"invalid layer mediatype",
     .advice = "there is no SIF file under that name; for a Docker image write "
               "docker://"},
    {"invalid reference format",
     .advice = "the registry would not take that name; check it"},
    {"dial tcp", NO_ROUTE},
    {"timeout", NO_ROUTE},
};

/* The part of WORDS after what the runtime was doing. */
static const char *cut(const char *words, const char *uri)
{
    const char *at = strstr(words, uri);

    if (berth_text_starts(words, "FATAL:"))
        words += strlen("FATAL:");
    words += strspn(words, " ");
    if (at && berth_text_starts(at + strlen(uri), ": "))
        words = at + strlen(uri) + 2;
    return words;
}

/* The fault in WORDS; NULL: it is not known. */
static const struct fault *find(const char *words)
{
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        if (strcasestr(words, faults[i].words))
            return &faults[i];
    return NULL;
}

int berth_pullfault_explain(const char *uri, const char *runtime,
                            const struct berth_product *product, const char *words,
                            struct berth_err *err)
{
    const struct fault *fault = find(words);

    words = cut(words, uri);
    if (!fault)
        return berth_err_set(err,
                             "image '%s': %s did not pull it: %s; try it by hand: %s "
                             "pull %s",
                             uri, runtime, *words ? words : "it said nothing", runtime,
                             uri);
    return berth_err_set(err, "image '%s': it cannot be pulled: %s; %s%s%s", uri, words,
                         fault->advice, product->words[fault->word],
                         fault->rest ? fault->rest : "");
}

bool berth_pullfault_is_full(const char *words)
{
    const struct fault *fault = find(words);

    return fault && fault->is_full;
}

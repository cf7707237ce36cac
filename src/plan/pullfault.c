/* SPDX-License-Identifier: Apache-2.0 */
/* Why an image could not be pulled, for people: the runtime's last words are true but
 * long, and do not say what to do. The words are those of Apptainer and SingularityCE,
 * which hand on what the libraries of containers/image, oras and Go's net/http say. */

#include "plan/pullfault.h"

#include <string.h>

#include "base/text.h"

#define NO_ROOM                                                                        \
    "free some room, or have the runtime work elsewhere (APPTAINER_TMPDIR, "           \
    "images.cache in berth.yaml)"

/* The first row that fits. */
static const struct {
    const char *words;
    const char *advice;
} faults[] = {
    {"no space left on device", NO_ROOM},
    {"quota exceeded", NO_ROOM},
    {"permission denied", "the runtime may not write there; look at that directory"},
    {"executable file not found", "the runtime misses that program on this host; ask "
                                  "the administrators to install it"},
    {"toomanyrequests",
     "the registry has had too many requests from here; wait, or log "
     "in to it (apptainer registry login)"},
    {"server gave HTTP response to HTTPS", "the registry has no https; if that is "
                                           "meant to be, set APPTAINER_NOHTTPS=1"},
    {"x509: ", "this host does not trust the registry's certificate; ask the "
               "administrators to install the one that signed it"},
    {"no library client", "no library is set up for you; add one (apptainer remote "
                          "add), or use docker:// or oras://"},
    {"unauthorized", "it is not there, or not for all; check the name, and log in if "
                     "the registry wants that (apptainer registry login)"},
    {"authentication required", "it is not there, or not for all; check the name, and "
                                "log in if the registry wants that (apptainer "
                                "registry login)"},
    {"denied", "it is not there, or not for you; check the name, and log in if the "
               "registry wants that (apptainer registry login)"},
    {"manifest unknown", "the registry has no such image; check the name and the tag"},
    {"name unknown", "the registry has no such image; check the name and the tag"},
    {"does not exist in the library",
     "the registry has no such image; check the name and the tag"},
    {"not found", "the registry has no such image; check the name and the tag"},
    {"no image found in", "the registry has it for other machines only; use one for "
                          "this machine"},
    {"invalid layer mediatype", "there is no SIF file under that name; for an image of "
                                "Docker's kind write docker://"},
    {"invalid reference format", "the registry would not take that name; check it"},
    {"dial tcp", "this host does not reach the registry; pull it first on a host that "
                 "does: berth pull URI"},
    {"timeout", "this host does not reach the registry; pull it first on a host that "
                "does: berth pull URI"},
};

/* Behind the last part that tells what the runtime was doing. */
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

static const char *advice_for(const char *words)
{
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        if (strcasestr(words, faults[i].words))
            return faults[i].advice;
    return NULL;
}

int berth_pullfault_tell(const char *uri, const char *runtime, const char *words,
                         struct berth_err *err)
{
    const char *advice = advice_for(words);

    words = cut(words, uri);
    if (!advice)
        return berth_err_set(err,
                             "image '%s': %s did not pull it: %s; try it by hand: %s "
                             "pull %s",
                             uri, runtime, *words ? words : "it said nothing", runtime,
                             uri);
    return berth_err_set(err, "image '%s': it cannot be pulled: %s; %s", uri, words,
                         advice);
}

bool berth_pullfault_is_full(const char *words)
{
    const char *advice = advice_for(words);

    return advice && strcmp(advice, NO_ROOM) == 0;
}

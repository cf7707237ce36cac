/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the profiles of a site from their files. */

#include "site/profilesread.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/choice.h"
#include "base/cleanup.h"
#include "request/request.h"
#include "base/suggest.h"
#include "site/trusted.h"

static int is_profile(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');

    if (entry->d_name[0] == '.' || !dot)
        return false;
    return strcmp(dot, ".yaml") == 0;
}

static int read_file(const char *path, uid_t owner, struct berth_profile_set *set,
                     struct berth_strvec *errors, struct berth_err *err)
{
    BERTH_BUF struct berth_buf buf = {0};
    struct berth_err why;

    if (berth_trusted_read(path, owner, NULL, &buf, &why) < 0) {
        berth_strvec_push(errors, why.text);
        return berth_err_oom_if(errors->failed, err);
    }
    return berth_profile_read(path, berth_buf_text(&buf), buf.used, set, errors, err);
}

/* Append to RET the paths of the profiles in DIRECTORY, in the order of their names.
 * One that is not there has none. */
static void list_files(const char *directory, struct berth_strvec *ret,
                       struct berth_strvec *errors)
{
    struct dirent **entries = NULL;
    int count = scandir(directory, &entries, is_profile, alphasort);

    if (count < 0 && errno == ENOMEM)
        ret->failed = true;
    else if (count < 0 && errno != ENOENT)
        berth_strvec_pushf(errors, "%s: %s", directory, strerror(errno));
    for (int i = 0; i < count; i++) {
        berth_strvec_pushf(ret, "%s/%s", directory, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
}

static int read_directory(const char *directory, uid_t owner,
                          struct berth_profile_set *set, struct berth_strvec *errors,
                          struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec files = {0};

    list_files(directory, &files, errors);
    if (files.failed)
        return berth_err_oom(err);
    for (size_t i = 0; i < files.count; i++)
        if (read_file(files.items[i], owner, set, errors, err) < 0)
            return -1;
    return 0;
}

/* Append to NAMES the names by which users and sites may choose a stack. */
static void list_names(const struct berth_profile_set *set, struct berth_strvec *names)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->items[i].kind != BERTH_PROFILE_MPI)
            continue;
        berth_strvec_push_once(names, set->items[i].stack);
        berth_strvec_push_once(names, set->items[i].name);
    }
}

/* Check that each name in SAID (name, FILE:LINE: KEY, ...) is one of NAMES, which are
 * of KIND. */
static int check_said(const struct berth_strvec *said, const char *kind,
                      const struct berth_strvec *names, struct berth_strvec *errors,
                      struct berth_err *err)
{
    struct berth_err why;

    for (size_t i = 0; i + 1 < said->count; i += 2) {
        if (berth_strvec_has(names, said->items[i]))
            continue;
        berth_suggest(said->items[i], kind, (const char *const *)names->items, &why);
        berth_err_at(&why, "%s", said->items[i + 1]);
        berth_strvec_push(errors, why.text);
    }
    return berth_err_oom_if(errors->failed, err);
}

/* Check the names in TERMS. `modes` may have modes of --mpi-bind, too; `order` may not.
 */
static int check_names(const struct berth_terms *terms,
                       const struct berth_profile_set *set, struct berth_strvec *errors,
                       struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec stacks = {0};
    BERTH_STRVEC struct berth_strvec modes = {0};

    list_names(set, &stacks);
    berth_choice_split(BERTH_MODE_WORDS, &modes);
    berth_strvec_append(&modes, &stacks);
    if (stacks.failed || modes.failed)
        return berth_err_oom(err);
    if (check_said(&terms->modes, "a mode, MPI stack or profile", &modes, errors, err) <
        0)
        return -1;
    return check_said(&terms->order, "an MPI stack or profile", &stacks, errors, err);
}

int berth_profiles_errors(const struct berth_terms *terms, uid_t owner,
                          struct berth_profile_set *ret, struct berth_strvec *errors,
                          struct berth_err *err)
{
    BERTH_PROFILE_SET struct berth_profile_set set = {0};
    size_t before = errors->count;

    if (terms->profiles &&
        read_directory(terms->profiles, owner, &set, errors, err) < 0)
        return -1;
    if (berth_profile_complete(&set, err) < 0)
        return -1;

    /* A profile that could not be read would be missing among the names, too. */
    if (errors->count == before && check_names(terms, &set, errors, err) < 0)
        return -1;
    *ret = berth_steal(&set);
    return 0;
}

int berth_profiles_read(const struct berth_terms *terms, uid_t owner,
                        struct berth_profile_set *ret, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec errors = {0};
    BERTH_PROFILE_SET struct berth_profile_set set = {0};

    if (berth_profiles_errors(terms, owner, &set, &errors, err) < 0)
        return -1;
    if (errors.count > 0)
        return berth_err_set(err, "%s", errors.items[0]);
    *ret = berth_steal(&set);
    return 0;
}

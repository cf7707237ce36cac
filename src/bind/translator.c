/* SPDX-License-Identifier: Apache-2.0 */
/* What differs where the host's MPI runs behind a translator. */

#include "bind/translator.h"

#include <stddef.h>

#include "mpi/pmi.h"

static bool is_translator(const struct berth_replacement *replacement)
{
    return replacement->stack &&
           replacement->stack->profile->kind == BERTH_PROFILE_TRANSLATOR;
}

bool berth_translator_is_named_only(const struct berth_terms *terms,
                                    const struct berth_profile *profile)
{
    for (size_t i = 0; terms && i + 1 < terms->order.count; i += 2)
        if (berth_profile_is_called(profile, terms->order.items[i]))
            return false;
    return profile->kind == BERTH_PROFILE_TRANSLATOR;
}

void berth_translator_name(struct berth_replacement *replacement)
{
    for (size_t i = 0; is_translator(replacement) && i < replacement->staged.count;
         i++) {
        struct berth_mpi_library *library = &replacement->staged.items[i].library;

        if (library->family != replacement->family)
            continue;
        library->vendor = replacement->stack->profile->name;
        *library->version = '\0';
    }
}

int berth_translator_check(const struct berth_replacement *replacement,
                           struct berth_err *err)
{
    size_t count = 0;

    for (size_t i = 0; i < replacement->staged.count; i++)
        count += (replacement->staged.items[i].library.parts & BERTH_PART_C) != 0;
    if (!is_translator(replacement) || count > 1)
        return 0;
    return berth_err_set(err,
                         "the MPI that '%s' calls was not found on the host; load its "
                         "module, or name it in 'libraries' of the profile",
                         replacement->stack->profile->name);
}

enum berth_mpi_family
berth_translator_speaker(const struct berth_replacement *replacement)
{
    return is_translator(replacement)
               ? berth_mpi_inner(&replacement->staged, replacement->family)
               : replacement->family;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Anybody's bytes, read as berth.yaml and as a profile. */

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "request/mount.h"
#include "site/profiles.h"
#include "site/siteread.h"
#include "fuzz.h"

/* A fault names the file and one of its lines, and can be shown on a terminal. */
static void try_fault(const char *fault, unsigned long lines)
{
    char *end;
    unsigned long line;

    must(strncmp(fault, "f:", 2) == 0);
    for (const char *c = fault; *c; c++)
        must(!iscntrl((unsigned char)*c));
    if (fault[2] == ' ')
        return; /* the whole file */
    line = strtoul(fault + 2, &end, 10);
    must(*end == ':' && line >= 1 && line <= lines);
}

static void try_faults(const struct berth_strvec *faults, unsigned long lines)
{
    for (size_t i = 0; i < faults->count; i++)
        try_fault(faults->items[i], lines);
}

/* What was read holds, faults or not. */
static void try_site(const struct berth_site *site)
{
    must(site->runtime.start_timeout > 0);
    must(!site->runtime.path || *site->runtime.path == '/');
    must(site->runtime.raw == BERTH_RAW_LIST || site->runtime.allowed.count == 0);
    must(site->rule_count == 0 || *site->file);
}

static void try_profile(const struct berth_profile_set *set,
                        const struct berth_strvec *faults)
{
    must(set->count == (faults->count == 0));
    if (set->count)
        must(*set->items->name && set->items->stack && set->items->label &&
             !set->items[1].name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    BERTH_STRVEC struct berth_strvec faults = {0};
    BERTH_STRVEC struct berth_strvec profile_faults = {0};
    BERTH_PROFILE_SET struct berth_profile_set set = {0};
    BERTH_SITE struct berth_site site = {0};
    unsigned long lines = 2; /* the last may be told as the one behind it */

    /* YAML ends a line in one of several ways; two bytes may be one end. */
    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n' || data[i] == '\r' || data[i] >= 0x80;
    must(berth_site_parse("f", (const char *)data, size, &site, &faults, NULL) == 0);
    try_faults(&faults, lines);
    try_site(&site);
    must(berth_profile_read("f", (const char *)data, size, &set, &profile_faults,
                            NULL) == 0);
    try_faults(&profile_faults, lines);
    try_profile(&set, &profile_faults);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Reads lists of ranks as Slurm does. */

#include "request/ranks.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* More ranks than any step has. */
enum { RANK_MAX = 99999999 };

bool berth_ranks_is_rest(const char *ranks)
{
    return strcmp(ranks, BERTH_RANKS_REST) == 0;
}

/* Reads the number at *AT and moves *AT past it. */
static bool read_number(const char **at, unsigned int *ret)
{
    char *end;
    unsigned long number;

    if (!isdigit((unsigned char)**at))
        return false;
    number = strtoul(*at, &end, 10);
    *at = end;
    *ret = (unsigned int)number;
    return number <= RANK_MAX;
}

/* Reads the range at *AT and moves *AT past it and the commas around it: Slurm skips
 * empty ranges. */
static bool next_range(const char **at, unsigned int *ret_low, unsigned int *ret_high)
{
    *at += strspn(*at, ",");
    if (!read_number(at, ret_low))
        return false;
    *ret_high = *ret_low;
    if (**at == '-') {
        ++*at;
        if (!read_number(at, ret_high))
            return false;
    }
    if (**at && **at != ',')
        return false;
    *at += strspn(*at, ",");
    return *ret_low <= *ret_high;
}

int berth_ranks_check(const char *text, struct berth_err *err)
{
    const char *at = text;
    unsigned int low, high;
    bool is_right = *text != '\0';

    while (is_right && *at && !berth_ranks_is_rest(text))
        is_right = next_range(&at, &low, &high);
    if (is_right)
        return 0;
    return berth_err_expected(
        err, "ranks like 0-3,8, or * for those that no other line has", text);
}

bool berth_ranks_has(const char *ranks, unsigned int rank, unsigned int *ret_offset)
{
    unsigned int offset = 0; /* of the range, in all ranks */
    unsigned int low = 0, high;
    bool is_in = berth_ranks_is_rest(ranks);

    while (!is_in && *ranks && next_range(&ranks, &low, &high)) {
        is_in = rank >= low && rank <= high;
        if (!is_in)
            offset += high - low + 1;
    }
    if (is_in && ret_offset)
        *ret_offset = offset + rank - low;
    return is_in;
}

struct berth_ranks berth_ranks_measure(const char *ranks)
{
    struct berth_ranks extent = {0};
    unsigned int low, high;

    while (*ranks && next_range(&ranks, &low, &high)) {
        if (extent.count == 0 || low < extent.first)
            extent.first = low;
        if (high > extent.last)
            extent.last = high;
        extent.count += high - low + 1;
    }
    return extent;
}

unsigned int berth_ranks_next_free(const char *ranks, unsigned int from)
{
    const char *at = ranks;
    unsigned int low, high;

    while (*at && next_range(&at, &low, &high))
        if (from >= low && from <= high) {
            from = high + 1;
            at = ranks;
        }
    return from;
}

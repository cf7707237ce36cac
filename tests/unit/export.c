/* SPDX-License-Identifier: Apache-2.0 */
/* The value of --export, as Slurm reads it. */

#include "request/capture.h"

#include <stdio.h>
#include <string.h>

#include "unit.h"

static const struct {
    const char *value;
    bool all;
    const char *assigned; /* joined by | */
} cases[] = {
    {NULL, true, ""},
    {"", false, ""},
    {"ALL", true, ""},
    {"all", true, ""},
    {"NONE", false, ""},
    {"none", false, ""},
    {"NIL", false, ""},
    {"A=x", false, "A=x"},
    {"A", false, ""},
    {"ALL,A=x", true, "A=x"},
    {"A=x,ALL", true, "A=x"},
    {"NONE,A=x", false, "A=x"},
    {"A=x,NONE", false, "A=x"},
    {"NONE,ALL", false, ""},
    {"ALL,NONE", true, ""},
    {"NIL,A=x,B=y", false, "A=x|B=y"},
    {"A=1,A=2", false, "A=1|A=2"},
    {"A=\"x,y\",B=z", false, "A=\"x,y\"|B=z"},
    {"\"A=x,y\",B=z", false, "A=x,y|B=z"},
    {"'A=x,y'", false, "A=x,y"},
    {"'A=x,ALL", false, "'A=x,ALL"},
    {"A==,B=", false, "A==|B="},
    {",,A=x,", false, "A=x"},
    {"NONEXISTENT=1", false, "NONEXISTENT=1"},
    {"\"", false, ""},
    {"'ALL'", true, ""},
};

TEST_ROWS(a_value_is_read_as_slurm_reads_it, cases)
{
    BERTH_EXPORT struct berth_export export = {0};
    char joined[256] = "";
    struct berth_err err;

    ck_assert_int_eq(berth_export_read(cases[_i].value, &export, &err), 0);
    ck_assert_int_eq(export.all, cases[_i].all);
    for (size_t i = 0; i < export.assigned.count; i++) {
        size_t used = strlen(joined);

        snprintf(joined + used, sizeof(joined) - used, "%s%s", i ? "|" : "",
                 export.assigned.items[i]);
    }
    ck_assert_str_eq(joined, cases[_i].assigned);
}

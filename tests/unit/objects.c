/* SPDX-License-Identifier: Apache-2.0 */
/* Images and hosts without files. */

#include "objects.h"

#include <stdio.h>

#include "facts.h"
#include "unit.h"

void unit_object(struct berth_mpi_objects *objects, const char *text)
{
    char role[16], path[128];
    int used = 0;
    struct berth_elf elf;
    enum berth_mpi_role number = BERTH_ROLE_PROGRAM;

    ck_assert_int_eq(sscanf(text, "%15s %127s %n", role, path, &used), 2);
    if (strcmp(role, "loaded") == 0)
        number = BERTH_ROLE_LOADED;
    else if (strcmp(role, "present") == 0)
        number = BERTH_ROLE_PRESENT;
    else
        ck_assert_str_eq(role, "program");
    elf = unit_facts(text + used);
    ck_assert_int_eq(berth_mpi_objects_add(objects, number, NULL, path, &elf, NULL), 0);
}

void unit_objects(struct berth_mpi_objects *objects, const char *const *texts)
{
    for (; *texts; texts++)
        unit_object(objects, *texts);
}

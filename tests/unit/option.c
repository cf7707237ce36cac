/* SPDX-License-Identifier: Apache-2.0 */
/* The option table itself. */

#include "request/option.h"

#include <ctype.h>

#include "unit.h"

TEST_TIMES(every_option_is_complete, BERTH_OPTION_COUNT)
{
    const struct berth_option *option = &berth_options[_i];

    ck_assert_ptr_nonnull(option->name);
    for (const char *c = option->name; *c; c++)
        ck_assert(islower((unsigned char)*c) || *c == '-');
    ck_assert_ptr_nonnull(option->help);
    ck_assert_int_ne(option->help[strlen(option->help) - 1], '.');
    ck_assert(!option->argument || *option->argument);
}

/* Slurm writes the help from its column 30 on, below an option that is longer. */
TEST_TIMES(the_help_of_srun_fits_a_line, BERTH_OPTION_COUNT)
{
    enum { INDENT = 6, COLUMN = 30, WIDTH = 80 };
    const struct berth_option *option = &berth_options[_i];
    const char *value = option->argument ? option->argument : "";

    ck_assert_uint_le(INDENT + strlen("--=") + strlen(option->name) + strlen(value),
                      WIDTH);
    ck_assert_uint_lt(COLUMN + strlen(option->help), WIDTH);
}

static bool has_switch(size_t field, enum berth_choice says)
{
    for (int id = 0; id < BERTH_OPTION_COUNT; id++)
        if (berth_options[id].kind == BERTH_KIND_SWITCH &&
            berth_options[id].field == field && berth_options[id].says == says)
            return true;
    return false;
}

TEST_TIMES(every_switch_has_its_opposite, BERTH_OPTION_COUNT)
{
    const struct berth_option *option = &berth_options[_i];

    if (option->kind != BERTH_KIND_SWITCH)
        return;
    for (int says = BERTH_YES; says <= BERTH_NO; says++) {
        const struct berth_option *other;

        ck_assert(has_switch(option->field, (enum berth_choice)says));
        other = berth_option_switch(option->field, (enum berth_choice)says);
        ck_assert_uint_eq(other->field, option->field);
        ck_assert_int_eq((int)other->says, says);
    }
}

TEST_TIMES(names_are_unique, BERTH_OPTION_COUNT)
{
    for (int other = 0; other < BERTH_OPTION_COUNT; other++)
        ck_assert(other == _i ||
                  strcmp(berth_options[_i].name, berth_options[other].name) != 0);
}

/* A row whose option takes a value must refuse to go without, and the other way round.
 */
TEST_TIMES(the_table_and_the_request_agree_on_values, BERTH_OPTION_COUNT)
{
    BERTH_REQUEST struct berth_request request = {0};
    struct berth_err err = {0};
    int result =
        berth_request_parse(&request, (enum berth_option_id)_i, NULL, NULL, &err);

    bool needs =
        berth_options[_i].argument && !berth_option_is_optional(&berth_options[_i]);

    ck_assert_int_eq(result, needs ? -1 : 0);
    if (needs)
        ck_assert_str_eq(err.text,
                         "the value is empty; give one, or leave the option out");
    else
        ck_assert(berth_request_has_options(&request));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A translator's name, the MPI that it calls, and who gets it. */

#include "bind/translator.h"

#include "unit.h"

static const struct berth_profile translator = {.kind = BERTH_PROFILE_TRANSLATOR,
                                                .name = "xlate",
                                                .stack = "xlate",
                                                .family = BERTH_FAMILY_OPENMPI};
static const struct berth_profile mpi = {
    .name = "openmpi", .stack = "openmpi", .family = BERTH_FAMILY_OPENMPI};

/* A stage of PROFILE that has an Open MPI, and an MPICH if there are two LIBRARIES. */
static enum berth_mpi_family use(const struct berth_profile *profile, size_t libraries,
                                 const char **ret_vendor)
{
    static struct berth_mpi_object items[2];
    const struct berth_stack stack = {.profile = profile};
    struct berth_replacement replacement = {
        .family = BERTH_FAMILY_OPENMPI,
        .stack = &stack,
        .staged = {.items = items, .count = libraries}};

    items[0].library = (struct berth_mpi_library){.family = BERTH_FAMILY_OPENMPI,
                                                  .parts = BERTH_PART_C,
                                                  .vendor = "Open MPI",
                                                  .version = "4.1"};
    items[1].library = (struct berth_mpi_library){
        .family = BERTH_FAMILY_MPICH, .parts = BERTH_PART_C, .vendor = "MPICH"};
    berth_translator_name(&replacement);
    *ret_vendor = items[0].library.vendor;
    ck_assert_str_eq(items[1].library.vendor, "MPICH");
    return berth_translator_speaker(&replacement);
}

START_TEST(a_translator_speaks_by_the_mpi_that_it_calls)
{
    const char *vendor;

    ck_assert_int_eq(use(&translator, 2, &vendor), BERTH_FAMILY_MPICH);
    ck_assert_str_eq(vendor, "xlate");
    ck_assert_int_eq(use(&translator, 1, &vendor), BERTH_FAMILY_OPENMPI);
    ck_assert_int_eq(use(&mpi, 2, &vendor), BERTH_FAMILY_OPENMPI);
    ck_assert_str_eq(vendor, "Open MPI");
}
END_TEST

START_TEST(without_the_mpi_that_it_calls_it_is_refused)
{
    struct berth_mpi_object items[] = {{.library = {.parts = BERTH_PART_C}},
                                       {.library = {.parts = BERTH_PART_C}}};
    const struct berth_stack stack = {.profile = &translator};
    struct berth_replacement replacement = {.stack = &stack,
                                            .staged = {.items = items, .count = 2}};
    struct berth_err err;

    ck_assert_int_eq(berth_translator_check(&replacement, &err), 0);
    replacement.staged.count = 1;
    ck_assert_int_eq(berth_translator_check(&replacement, &err), -1);
    ck_assert_str_eq(err.text, "the MPI that 'xlate' calls was not found on the host; "
                               "load its module, or name it in 'libraries' of the "
                               "profile");
}
END_TEST

START_TEST(who_wants_one_names_it)
{
    char *order[] = {(char *)"xlate", (char *)"f:1: mpi.order", NULL};
    const struct berth_terms none = {0};
    const struct berth_terms site = {.order = {.items = order, .count = 2}};

    ck_assert(berth_translator_is_named_only(NULL, &translator));
    ck_assert(berth_translator_is_named_only(&none, &translator));
    ck_assert(!berth_translator_is_named_only(&site, &translator));
    ck_assert(!berth_translator_is_named_only(&none, &mpi));
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("translator");

    tcase_add_test(tests, a_translator_speaks_by_the_mpi_that_it_calls);
    tcase_add_test(tests, without_the_mpi_that_it_calls_it_is_refused);
    tcase_add_test(tests, who_wants_one_names_it);
    return unit_run("translator", tests);
}

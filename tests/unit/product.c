/* SPDX-License-Identifier: Apache-2.0 */
/* Which runtime it is, and its words. */

#include "pull/product.h"

#include "unit.h"

static const struct {
    const char *version;
    const char *login;
    const char *nohttps;
    bool may_pull_oci;
} products[] = {
    {"apptainer version 1.4.5", "apptainer registry login", "APPTAINER_NOHTTPS", false},
    {"apptainer version 5.0.0", "apptainer registry login", "APPTAINER_NOHTTPS", false},
    {NULL, "apptainer registry login", "APPTAINER_NOHTTPS", false},
    {"mine", "apptainer registry login", "APPTAINER_NOHTTPS", false},
    {"singularity version 3.8.7", "singularity remote login", "SINGULARITY_NOHTTPS",
     false},
    {"singularity-ce version 3.11.4", "singularity remote login", "SINGULARITY_NOHTTPS",
     false},
    {"singularity-ce version 4.0.0", "singularity registry login",
     "SINGULARITY_NOHTTPS", true},
    {"singularity-pro version 4.1.3-1.el9", "singularity registry login",
     "SINGULARITY_NOHTTPS", true},
    {"singularity-ce version 10.0.0-rc.1", "singularity registry login",
     "SINGULARITY_NOHTTPS", true},
    {"singularity-ce version main", "singularity registry login", "SINGULARITY_NOHTTPS",
     true},
};

START_TEST(a_product_is_known_by_its_version)
{
    const struct berth_product *product = berth_product_of(products[_i].version);

    ck_assert_str_eq(product->words[BERTH_PRODUCT_LOGIN], products[_i].login);
    ck_assert_str_eq(product->words[BERTH_PRODUCT_NOHTTPS], products[_i].nohttps);
    ck_assert_int_eq(product->may_pull_oci, products[_i].may_pull_oci);
    for (int i = 0; i < BERTH_PRODUCT_WORDS; i++)
        ck_assert_ptr_nonnull(product->words[i]);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("product");

    tcase_add_loop_test(tests, a_product_is_known_by_its_version, 0, COUNT(products));
    return unit_run("product", tests);
}

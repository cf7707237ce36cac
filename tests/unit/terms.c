/* SPDX-License-Identifier: Apache-2.0 */
/* The terms of a site arrive in berth-task as they were. */

#include "site/terms.h"

#include "site/siteread.h"
#include "unit.h"

TEST(terms_survive_their_way)
{
    BERTH_SITE struct berth_site site = berth_site_default();
    BERTH_TERMS struct berth_terms terms = {0};
    BERTH_TERMS struct berth_terms got = {0};
    BERTH_BUF struct berth_buf text = {0};
    struct berth_err err;

    berth_strvec_push(&site.environment.unset, "A");
    berth_strvec_push(&site.environment.unset, "B_2");
    berth_strvec_push(&site.environment.pytorch, "RANK");
    berth_strvec_push(&site.environment.pytorch, "MASTER_PORT=29500");
    berth_strvec_push(&site.images.signatures, "12AB 34CD");
    berth_strvec_push(&site.mpi.order, "cray-mpich");
    berth_strvec_push(&site.mpi.order, "x");
    site.mpi.glibc = BERTH_GLIBC_REFUSE;
    site.profiles_dir = strdup("/etc/my berth/profiles.d");
    site.writable_dir = strdup("/local");
    berth_site_note(&site, "images.signatures", "", "/b.yaml", 3);
    berth_site_note(&site, "mpi.glibc", "", "/b.yaml", 7);
    berth_site_note(&site, "mpi.order", "", "/b.yaml", 8);
    berth_site_note(&site, "mpi.order", "x", "/b.yaml", 9);
    ck_assert_int_eq(berth_terms_of(&site, &terms, &err), 0);
    terms.image = strdup("1.2");
    berth_fields_put(&text, berth_terms_fields, &terms);
    ck_assert_str_eq(text.text, "unset=A&unset=B_2&pytorch=RANK&pytorch=MASTER_PORT%"
                                "3D29500&signer=12AB%2034CD&order=cray-mpich&"
                                "order=/b.yaml:8:%20mpi.order&order=x&"
                                "order=/b.yaml:9:%20mpi.order&"
                                "keep-glibc=/b.yaml:7&image=1.2&"
                                "writable=/local&"
                                "profiles=/etc/my%20berth/profiles.d&"
                                "signers-place=/b.yaml:3");
    ck_assert_int_eq(berth_fields_get(text.text, berth_terms_fields, &got, &err), 0);
    unit_same(&got.unset, &terms.unset);
    unit_same(&got.pytorch, &terms.pytorch);
    unit_same(&got.signers, &terms.signers);
    unit_same(&got.order, &terms.order);
    unit_same(&got.modes, &terms.modes);
    ck_assert_str_eq(got.keep_glibc, "/b.yaml:7");
    ck_assert_str_eq(got.image, "1.2");
    ck_assert_str_eq(got.writable, "/local");
    ck_assert_str_eq(got.profiles, "/etc/my berth/profiles.d");
    ck_assert_str_eq(got.signers_place, "/b.yaml:3");
}

TEST(a_request_without_an_image_takes_the_rules_for_images_along)
{
    BERTH_SITE struct berth_site site = berth_site_default();
    BERTH_TERMS struct berth_terms terms = {0};
    BERTH_TERMS struct berth_terms got = {0};
    BERTH_BUF struct berth_buf text = {0};
    struct berth_err err;

    berth_strvec_push(&site.images.roots, "/images");
    berth_strvec_push(&site.images.owners, "root");
    site.images.has_uris = true;
    berth_strvec_push(&site.images.uris, "docker://r/");
    berth_site_note(&site, "images.roots", "", "/b.yaml", 3);
    ck_assert_int_eq(berth_terms_add_images(&site, &terms, &err), 0);
    berth_fields_put(&text, berth_terms_fields, &terms);
    ck_assert_str_eq(text.text, "root=/images&owner=root&image-place=images.roots&"
                                "image-place=&image-place=/b.yaml:3&has-uris=&"
                                "uri=docker://r/");
    ck_assert_int_eq(berth_fields_get(text.text, berth_terms_fields, &got, &err), 0);
    unit_same(&got.roots, &terms.roots);
    unit_same(&got.uris, &terms.uris);
    unit_same(&got.owners, &terms.owners);
    unit_same(&got.image_places, &terms.image_places);
    ck_assert(got.has_uris);
}

/* Wherever the site says which MPI is to be used; a mode is told apart. */
TEST(every_stack_has_its_place)
{
    static const char file[] = "rules:\n"
                               "  - default: {mpi-bind: own}\n"
                               "  - force: {mpi-bind: true, container-env: intel}\n"
                               "  - partition: a\n"
                               "    force: {container-env: x, mpi-bind: mvapich}\n"
                               "  - force: {mpi-bind: local-each}\n";
    BERTH_STRVEC struct berth_strvec faults = {0};
    BERTH_SITE struct berth_site site = {0};
    BERTH_TERMS struct berth_terms terms = {0};
    BERTH_BUF struct berth_buf text = {0};
    struct berth_err err;

    ck_assert_int_eq(
        berth_site_parse("/f", file, sizeof(file) - 1, &site, &faults, &err), 0);
    ck_assert_uint_eq(faults.count, 0);
    ck_assert_int_eq(berth_terms_of(&site, &terms, &err), 0);
    berth_fields_put(&text, berth_terms_fields, &terms);
    ck_assert_str_eq(text.text, "mode=own&mode=/f:2:%20rule%201:%20mpi-bind&"
                                "mode=mvapich&mode=/f:5:%20rule%203:%20mpi-bind");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of MPI stacks. */

#include "mpi/profile.h"

#include <fnmatch.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "request/request.h"
#include "unit.h"

static const struct {
    enum berth_mpi_family family;
    const char *vendor;
    const char *needs; /* one SONAME of the closure */
    const char *profile;
} stacks[] = {
    {BERTH_FAMILY_MPICH, "MPICH", "libucp.so.0", "mpich"},
    {BERTH_FAMILY_MPICH, "ParaStation MPI", "libpsmpi.so.1", "mpich"},
    {BERTH_FAMILY_MPICH, NULL, "libc.so.6", "mpich"},
    {BERTH_FAMILY_MPICH, "MVAPICH", "libibverbs.so.1", "mvapich"},
    {BERTH_FAMILY_MPICH, "Intel MPI", "libc.so.6", "intel"},
    {BERTH_FAMILY_MPICH, "Cray MPICH", "libpals.so.0", "cray-mpich-slingshot"},
    {BERTH_FAMILY_MPICH, "Cray MPICH", "libfabric.so.1", "cray-mpich-slingshot"},
    {BERTH_FAMILY_MPICH, "Cray MPICH", "libugni.so.0", "cray-mpich-aries"},
    {BERTH_FAMILY_MPICH, "Cray MPICH", "libalpslli.so.0", "cray-mpich-aries"},
    {BERTH_FAMILY_OPENMPI, "Open MPI", "libopen-rte.so.40", "openmpi"},
    {BERTH_FAMILY_OPENMPI, "Open MPI", "libopen-pal.so.80", "openmpi"},
    {BERTH_FAMILY_ABI, NULL, "libc.so.6", NULL},
    {BERTH_FAMILY_UNKNOWN, NULL, "libc.so.6", NULL},
};

TEST_ROWS(a_library_has_its_profile, stacks)
{
    struct berth_closure_item item = {.soname = (char *)stacks[_i].needs};
    const struct berth_closure closure = {.items = &item, .count = 1};
    const struct berth_mpi_library library = {.family = stacks[_i].family,
                                              .parts = BERTH_PART_C,
                                              .vendor = stacks[_i].vendor};
    const struct berth_profile *found =
        berth_profile_match(berth_profiles, &library, &closure);

    ck_assert_pstr_eq(found ? found->name : NULL, stacks[_i].profile);
}

/* A plugin directory must not be under another's, nor a variable be set twice. */
TEST(the_tables_are_sound)
{
    for (const struct berth_opener *it = berth_openers; it->library; it++) {
        ck_assert_str_eq(strrchr(it->library, '.'), ".so");
        ck_assert(it->places && it->places[0]);
        ck_assert_int_eq(strncmp(it->into, "lib/", 4), 0);
    }
    for (const struct berth_setting *it = berth_settings; it->library; it++)
        for (const struct berth_setting *other = it + 1; other->library; other++)
            ck_assert_str_ne(it->variable, other->variable);
    for (const struct berth_profile *it = berth_profiles; it->name; it++) {
        for (const struct berth_profile *other = it + 1; other->name; other++)
            ck_assert_str_ne(it->name, other->name);
        ck_assert_int_eq(strncmp(it->name, it->stack, strlen(it->stack)), 0);
        ck_assert_int_eq(it->kind == BERTH_PROFILE_FABRIC,
                         berth_libs_need_mpi(it->name));
        ck_assert(it->devices || it->kind == BERTH_PROFILE_LIBRARIES);
        ck_assert_int_eq(it->kind != BERTH_PROFILE_MPI, it->replaces != NULL);
        ck_assert_int_eq(it->kind != BERTH_PROFILE_MPI,
                         it->family == BERTH_FAMILY_NONE);
        for (const char *const *path = it->binds; path && *path; path++)
            ck_assert_int_eq(**path, '/');
        for (const char *const *path = it->devices; path && *path; path++)
            ck_assert_int_eq(strncmp(*path, "/dev/", 5), 0);
    }
}

/* Each plugin directory is where the variable of its opener points. */
TEST_TIMES(a_setting_points_to_where_plugins_go, 7)
{
    static const char *const pairs[][2] = {
        {"libucs.so", "UCX_MODULE_DIR"},
        {"libfabric.so", "FI_PROVIDER_PATH"},
        {"libhwloc.so", "HWLOC_PLUGINS_PATH"},
        {"libibverbs.so", "RDMAV_DRIVERS"},
        {"libpmix.so", "PMIX_PKGLIBDIR"},
        {"libopen-pal.so", "OPAL_PKGLIBDIR"},
        {"libpmix.so", "PMIX_MCA_mca_base_component_path"},
    };
    const struct berth_opener *opener = berth_openers;
    const struct berth_setting *setting = berth_settings;

    while (opener->library && strcmp(opener->library, pairs[_i][0]) != 0)
        opener++;
    while (setting->library && strcmp(setting->variable, pairs[_i][1]) != 0)
        setting++;
    ck_assert(opener->library && setting->library);
    ck_assert_str_eq(setting->library, opener->library);
    ck_assert_str_eq(setting->path, opener->into);
}

/* As they are called in Debian's packages and in Intel's wheel. */
static const struct {
    const char *library;
    const char *file;
    bool fits;
} plugins[] = {
    {"libucs.so", "libuct_ib.so.0", true},
    {"libucs.so", "libucm_cuda.so", true},
    {"libucs.so", "libucs_fuse.so.0.0.0", true},
    {"libucs.so", "libucx_perftest_rocm.so.0", false},
    {"libucs.so", "libuct_ib.a", false},
    {"libfabric.so", "libpsm3-fi.so", true},
    {"libfabric.so", "libfabric.so.1", false},
    {"libibverbs.so", "libmlx5-rdmav34.so", true},
    {"libhwloc.so", "hwloc_pci.so", true},
    {"libhwloc.so", "hwloc_gl.so", false},
    {"libpmix.so", "pmix_mca_pcompress_zlib.so", true},
    {"libpmix.so", "mca_gds_hash.so", true},
    {"libopen-pal.so", "mca_btl_vader.so", true},
    {"libopen-pal.so", "libompi_dbg_msgq.so", false},
    {"libucc.so", "libucc_tl_ucp.so", true},
};

TEST_ROWS(plugins_are_told_by_name, plugins)
{
    const struct berth_opener *it = berth_openers;
    bool fits;

    while (it->library && strcmp(it->library, plugins[_i].library) != 0)
        it++;
    ck_assert_ptr_nonnull(it->library);
    fits = fnmatch(it->pattern, plugins[_i].file, 0) == 0;
    for (size_t i = 0; it->skip && it->skip[i]; i++)
        fits &= fnmatch(it->skip[i], plugins[_i].file, 0) != 0;
    ck_assert_int_eq(fits, plugins[_i].fits);
}

static const struct {
    const char *soname;
    const char *names;
} aliases[] = {
    {"libmpich.so.12", "libmpich.so\nlibmpich.so.12\nlibmpi.so\nlibmpi.so.12\n"},
    {"libmpi.so.12", "libmpi.so\nlibmpi.so.12\nlibmpich.so\nlibmpich.so.12\n"},
    {"libmpifort.so.12",
     "libmpifort.so\nlibmpifort.so.12\nlibmpichfort.so\nlibmpichfort.so.12\n"
     "libmpichf90.so\nlibmpichf90.so.12\n"},
    {"libmpichcxx.so.12",
     "libmpichcxx.so\nlibmpichcxx.so.12\nlibmpicxx.so\nlibmpicxx.so.12\n"},
    {"libmpi.so.40", "libmpi.so\nlibmpi.so.40\n"},
    {"libmpi_gnu_91.so.12", "libmpi_gnu_91.so\nlibmpi_gnu_91.so.12\n"},
    {"libmpi_abi.so.1", "libmpi_abi.so\nlibmpi_abi.so.1\n"},
    {"odd", ""},
};

TEST_ROWS(a_library_of_mpi_has_many_names, aliases)
{
    BERTH_STRVEC struct berth_strvec names = {0};
    BERTH_FREE char *lines = NULL;

    berth_profile_aliases(aliases[_i].soname, &names);
    lines = unit_lines(&names);
    ck_assert_str_eq(lines, aliases[_i].names);
}

TEST(glibc_and_drivers_are_known)
{
    ck_assert(berth_profile_is_glibc("libc.so.6"));
    ck_assert(berth_profile_is_glibc("ld-linux-x86-64.so.2"));
    ck_assert(berth_profile_is_glibc("libnss_dns.so.2"));
    ck_assert(!berth_profile_is_glibc("libstdc++.so.6"));
    ck_assert(!berth_profile_is_glibc("libnss_sss.so.2"));
    ck_assert(berth_profile_is_driver("libcuda.so.1"));
    ck_assert(berth_profile_is_driver("libnvidia-ml.so.1"));
    ck_assert(!berth_profile_is_driver("libcudart.so.12"));
    ck_assert(berth_profile_is("libucs.so.0", "libucs.so"));
    ck_assert(berth_profile_is("libucs.so", "libucs.so"));
    ck_assert(!berth_profile_is("libucs_signal.so.0", "libucs.so"));
}

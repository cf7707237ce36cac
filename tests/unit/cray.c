/* SPDX-License-Identifier: Apache-2.0 */
/* A host as HPE's Cray EX have it, with small files for its libraries: what four sites
 * tell their users to bind by hand is in a stage by itself, or is not needed. No such
 * host was seen: what a library needs is what the lists say together. */

#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/strvec.h"
#include "base/text.h"
#include "install.h"
#include "staging.h"
#include "unit.h"

/* Files, and what each needs, of those before it. */
static const char graph[] =
    "libatomic.so.1;libbrotlicommon.so.1;libbrotlidec.so.1 libbrotlicommon.so.1;"
    "libjansson.so.4;libjitterentropy.so.3;libjson-c.so.3;libkeyutils.so.1;"
    "libmunge.so.2;libnghttp2.so.14;libnl-3.so.200;libnl-genl-3.so.200 "
    "libnl-3.so.200;libnl-route-3.so.200 libnl-3.so.200;libnuma.so.1;libpcre.so.1;"
    "libunistring.so.2;libxpmem.so.0;libyaml-0.so.2;libz.so.1;libzstd.so.1;"
    "libcrypto.so.1.1 libjitterentropy.so.3 libz.so.1;libssl.so.1.1 "
    "libcrypto.so.1.1;libkrb5support.so.0 libpcre.so.1;libk5crypto.so.3 "
    "libkrb5support.so.0;libkrb5.so.3 libk5crypto.so.3 libkeyutils.so.1;"
    "libgssapi_krb5.so.2 libkrb5.so.3;libidn2.so.0 libunistring.so.2;"
    "liblber-2.4.so.2;libsasl2.so.3 libcrypto.so.1.1;libldap_r-2.4.so.2 "
    "liblber-2.4.so.2 libsasl2.so.3;libpsl.so.5 libidn2.so.0;libssh.so.4 "
    "libssl.so.1.1 libgssapi_krb5.so.2;libcurl.so.4 libnghttp2.so.14 libpsl.so.5 "
    "libssh.so.4 libldap_r-2.4.so.2 libzstd.so.1 libbrotlidec.so.1;libcxi.so.1 "
    "libnl-3.so.200 libnuma.so.1;libibverbs.so.1 libnl-route-3.so.200;"
    "libibverbs/libmlx5-rdmav34.so libibverbs.so.1;librdmacm.so.1 libibverbs.so.1;"
    "liblnetconfig.so.4 libyaml-0.so.2 libnl-genl-3.so.200;liblustreapi.so "
    "liblnetconfig.so.4;libfabric.so.1 libcxi.so.1 libcurl.so.4 "
    "libjson-c.so.3 librdmacm.so.1 "
    "libatomic.so.1;../../opt/cray/pals/default/lib/libpals.so.0 "
    "libjansson.so.4;libgcc_s.so.1;libquadmath.so.0;libgfortran.so.5 "
    "libquadmath.so.0 libgcc_s.so.1;libstdc++.so.6 libgcc_s.so.1;libpmi.so.0;"
    "libpmi2.so.0;";

/* The files of each list. Directories (/opt/cray, /var/spool, /home, ...) are in
 * neither table: a stage has copies, and Slurm's directory of the step is mounted. */
static const struct {
    const char *site;
    const char *files;
} lists[] = {
    {"LUMI: LUMI-EasyBuild-contrib, singularity-bindings-24.03.eb",
     "libhsa-runtime64.so libatomic.so.1 libbrotlicommon.so.1 libbrotlidec.so.1 "
     "libcrypto.so.1.1 libcurl.so.4 libcxi.so.1 libdrm_amdgpu.so.1 libdrm.so.2 "
     "libelf.so.1 libgcc_s.so.1 libgfortran.so.5 libgssapi_krb5.so.2 libidn2.so.0 "
     "libjansson.so.4 libjitterentropy.so.3 libjson-c.so.3 libk5crypto.so.3 "
     "libkeyutils.so.1 libkrb5.so.3 libkrb5support.so.0 liblber-2.4.so.2 "
     "libldap_r-2.4.so.2 liblnetconfig.so.4 liblustreapi.so libnghttp2.so.14 "
     "libnl-3.so.200 libnl-route-3.so.200 libnuma.so.1 libpcre.so.1 libpsl.so.5 "
     "libsasl2.so.3 libssh.so.4 libssl.so.1.1 libstdc++.so.6 libunistring.so.2 "
     "libyaml-0.so.2 libz.so.1 libzstd.so.1 /etc/host.conf /etc/hosts "
     "/etc/nsswitch.conf /etc/resolv.conf /etc/ssl/openssl.cnf /run/cxi"},
    {"ARCHER2: archer2-docs, containers.md",
     "libfabric.so.1 libatomic.so.1 libgcc_s.so.1 libgfortran.so.5 libquadmath.so.0 "
     "libpals.so.0 libpmi2.so.0 libpmi.so.0 libxpmem.so.0 libmlx5-rdmav34.so "
     "libibverbs.so.1 libkeyutils.so.1 liblnetconfig.so.4 liblustreapi.so "
     "libmunge.so.2 libnl-3.so.200 libnl-genl-3.so.200 libnl-route-3.so.200 "
     "librdmacm.so.1 libyaml-0.so.2 libjansson.so.4 /etc/host.conf "
     "/etc/libibverbs.d/mlx5.driver /etc/libnl/classid /etc/resolv.conf "
     "/run/munge"},
    {"Gaea: FRE, runscript.template.main; CEFI-regional-MOM6, driver.sh",
     "libpals.so.0 libcxi.so.1 libjansson.so.4 libjson-c.so.3 libdrm.so.2 "
     "libtinfo.so.6 libnl-3.so.200 librdmacm.so.1 libibverbs.so.1 "
     "libmlx5-rdmav34.so libnuma.so.1 libnl-cli-3.so.200 libnl-genl-3.so.200 "
     "libnl-nf-3.so.200 libnl-route-3.so.200 libnl-idiag-3.so.200 "
     "libnl-xfrm-3.so.200 /etc/libibverbs.d"},
};

/* What a stage does not have of them, and why not. */
static const struct {
    const char *files;
    const char *why;
} others[] = {
    {"libhsa-runtime64.so libdrm_amdgpu.so.1 libdrm.so.2 libelf.so.1",
     "the runtime brings the GPU's (--rocm, --container-gpu)"},
    {"libtinfo.so.6", "shells need it, and the image has its own"},
    {"libnl-cli-3.so.200 libnl-nf-3.so.200 libnl-idiag-3.so.200 libnl-xfrm-3.so.200",
     "no library of MPI needs it"},
    {"libmunge.so.2", "Slurm's commands need it, and those run on the host"},
    {"/etc/libibverbs.d/mlx5.driver /etc/libibverbs.d",
     "RDMAV_DRIVERS names the drivers in the stage"},
    {"/etc/host.conf /etc/nsswitch.conf /etc/resolv.conf",
     "the runtime mounts what name resolution needs, or the image has it"},
    {"/etc/ssl/openssl.cnf /etc/libnl/classid",
     "tools read it, and MPI works without it"},
};

/* Does one of the WORDS, which blanks separate, equal NAME? */
static bool has_word(const char *words, const char *name)
{
    const size_t length = strlen(name);

    for (const char *at = words; (at = strstr(at, name)); at += length)
        if ((at == words || at[-1] == ' ') && (!at[length] || at[length] == ' '))
            return true;
    return false;
}

static const char *why_not(const char *name)
{
    for (int i = 0; i < COUNT(others); i++)
        if (has_word(others[i].files, name))
            return others[i].why;
    return NULL;
}

/* Is NAME in STAGE, or mounted? */
static bool is_brought(const struct berth_strvec *stage, const char *name)
{
    const char *const *it = stack->profile->binds;

    if (*name != '/')
        return berth_strvec_has(stage, name);
    while (*it && strcmp(*it, name) != 0)
        it++;
    return *it;
}

/* Make the host, with the libraries of GRAPH after SED, and list the files in its stage
 * without their directories. */
static void stage_host(const char *sed, struct berth_strvec *ret)
{
    BERTH_FREE char *list = unit_path(host, "graph");
    BERTH_FREE char *mpi =
        unit_path(directory, "opt/cray/pe/mpich/8.1.29/ofi/gnu/12.3");
    BERTH_FREE char *lib = unit_path(mpi, "lib-abi-mpich");
    BERTH_FREE char *words = NULL;
    struct berth_staged staged;

    install_directory(host);
    unit_write(list, graph, sizeof(graph) - 1);
    unit_run("cd '%s' && ${CC:-cc} -c -x c /dev/null -o e.o && "
             "mkdir -p libibverbs ../../opt/cray/pals/default/lib && "
             "tr ';' '\n' <graph | sed '%s; s/ / -l:/g' | while read -r lib needs; do "
             "ld -shared --no-as-needed -soname \"${lib##*/}\" "
             "-o \"$lib\" e.o -L. $needs || exit; done",
             host, sed);
    words = unit_format("-Wl,--no-as-needed -Wl,--allow-shlib-undefined -L%s "
                        "-l:libfabric.so.1 -l:libpmi.so.0 -l:libpmi2.so.0 "
                        "-l:libgfortran.so.5 -l:libstdc++.so.6 -lc",
                        host);
    install_library(lib, "cray", "libmpi.so.12", words);
    staging_find_stack("CRAY_MPICH_DIR", mpi, host);
    ck_assert_str_eq(stack->profile->name, "cray-mpich-slingshot");
    staged = staging_make();
    for (size_t i = 0; i < staged.manifest.files.count; i += BERTH_MANIFEST_FILE)
        berth_strvec_push(ret, berth_text_base(staged.manifest.files.items[i]));
    berth_staged_fini(&staged);
}

TEST(what_sites_bind_by_hand_comes_along)
{
    BERTH_STRVEC struct berth_strvec stage = {0};

    stage_host("", &stage);
    for (int i = 0; i < COUNT(lists); i++) {
        BERTH_FREE char *files = strdup(lists[i].files);
        char *next = files;

        for (char *name; (name = strsep(&next, " "));)
            ck_assert_msg(is_brought(&stage, name) == !why_not(name), "%s: %s: %s",
                          lists[i].site, name,
                          why_not(name) ? why_not(name) : "it is not in the stage");
    }
}

/* Names that the next release of the system has for libraries of the lists. */
TEST(the_next_release_needs_no_list)
{
    static const char *const names[][2] = {
        {"libjson-c.so.3", "libjson-c.so.5"},
        {"libcrypto.so.1.1", "libcrypto.so.3"},
        {"libldap_r-2.4.so.2", "libldap.so.2"},
        {"libmlx5-rdmav34.so", "libmlx5-rdmav57.so"},
    };
    BERTH_STRVEC struct berth_strvec stage = {0};
    BERTH_BUF struct berth_buf sed = {0};

    for (int i = 0; i < COUNT(names); i++)
        berth_buf_addf(&sed, "s/%s/%s/;s/%s/%s/;", names[i][0], names[i][1],
                       names[i][0], names[i][1]);
    stage_host(sed.text, &stage);
    for (int i = 0; i < COUNT(names); i++) {
        ck_assert_msg(is_brought(&stage, names[i][1]), "%s", names[i][1]);
        ck_assert_msg(!is_brought(&stage, names[i][0]), "%s", names[i][0]);
    }
}

void unit_prepare(TCase *tests)
{
    tcase_add_checked_fixture(tests, staging_setup, staging_teardown);
}

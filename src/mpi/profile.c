/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of MPI stacks: what they open while they run, where they look for it, and
 * what else they need. Every row says where it is known from: "seen" was run. */

#include "mpi/profile.h"

#include <string.h>

#include "base/text.h"
#include "mpi/filenames.h"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

const struct berth_opener berth_openers[] = {
    /* The modules beside the libucs that is loaded, under the suffix of its own file
     * name (openucx src/ucs/sys/module.c); seen: without them a newer libuct loads the
     * image's. Those of ucx_perftest pull in compilers. */
    {.library = "libucs.so",
     .places = LIST("ucx"),
     .pattern = "libuc*_*.so*",
     .skip = LIST("libucx_perftest_*"),
     .into = "lib/ucx",
     .is_first = true},
    /* Its own directory under libdir, or FI_PROVIDER_PATH (libfabric Makefile.am,
     * PROVDLDIR; fi_provider(7)); prov beside it in Intel's copy. */
    {.library = "libfabric.so",
     .places = LIST("libfabric", "prov"),
     .pattern = "*-fi.so",
     .into = "lib/libfabric"},
    /* rdma-core libibverbs/dynamic_driver.c: the drivers of RDMAV_DRIVERS first, then
     * those of /etc/libibverbs.d. Their suffix names a private ABI. */
    {.library = "libibverbs.so",
     .places = LIST("libibverbs"),
     .pattern = "lib*-rdmav*.so",
     .into = "lib/libibverbs"},
    /* Seen: the host's libhwloc loads the image's plugins, and through them X11. Only
     * PCI matters for MPI. */
    {.library = "libhwloc.so",
     .places = LIST("hwloc"),
     .pattern = "hwloc_pci.so",
     .into = "lib/hwloc"},
    /* openpmix src/mca/pinstalldirs; seen: the host's libpmix loads the image's. */
    {.library = "libpmix.so",
     .places = LIST("pmix"),
     .pattern = "*mca_*.so",
     .into = "lib/pmix"},
    /* ompi opal/mca/installdirs: pkglibdir, which distributions move (openmpi3 and
     * openmpi/lib/openmpi3 are Debian's). */
    {.library = "libopen-pal.so",
     .places =
         LIST("openmpi", "openmpi3", "openmpi/lib/openmpi", "openmpi/lib/openmpi3"),
     .pattern = "mca_*.so",
     .into = "lib/openmpi"},
    /* ucc src/core/ucc_constructor.c: ucc beside the library. */
    {.library = "libucc.so",
     .places = LIST("ucc"),
     .pattern = "libucc_*.so",
     .into = "lib/ucc"},
    /* Cray's GPU transport, which a program links or preloads (CSCS's
     * page on Cray MPICH, podman-hpc's cuda-mpich). Not seen. */
    {.library = "libmpi.so",
     .places = LIST("../../../../gtl/lib"),
     .pattern = "libmpi_gtl_*.so",
     .into = "lib/gtl"},
    {0},
};

/* Directories that are set although they may be empty: otherwise the library would
 * search the host's path for plugins, and find the image's there. Seen for
 * HWLOC_PLUGINS_PATH and PMIX_*; the others by the sources named above. UCX searches
 * UCX_MODULE_DIR second. */
const struct berth_setting berth_settings[] = {
    {"libucs.so", "UCX_MODULE_DIR", "lib/ucx", NULL},
    {"libfabric.so", "FI_PROVIDER_PATH", "lib/libfabric", NULL},
    {"libibverbs.so", "RDMAV_DRIVERS", "lib/libibverbs", "-rdmav"},
    {"libhwloc.so", "HWLOC_PLUGINS_PATH", "lib/hwloc", NULL},
    {"libpmix.so", "PMIX_PREFIX", "", NULL},
    {"libpmix.so", "PMIX_INSTALL_PREFIX", "", NULL}, /* before PMIx 5 */
    {"libpmix.so", "PMIX_LIBDIR", "lib", NULL},
    {"libpmix.so", "PMIX_PKGLIBDIR", "lib/pmix", NULL},
    {"libpmix.so", "PMIX_SYSCONFDIR", "etc/pmix", NULL},
    /* Debian's parameters name the directory of the host, and a variable wins. */
    {"libpmix.so", "PMIX_MCA_mca_base_component_path", "lib/pmix", NULL},
    {"libopen-pal.so", "OPAL_PREFIX", "", NULL},
    {"libopen-pal.so", "OPAL_LIBDIR", "lib", NULL},
    {"libopen-pal.so", "OPAL_PKGLIBDIR", "lib/openmpi", NULL},
    {"libopen-pal.so", "OPAL_PKGDATADIR", "share/openmpi", NULL},
    {"libopen-pal.so", "OPAL_SYSCONFDIR", "etc/openmpi", NULL},
    {0},
};

/* What the site has set for a library. Where the library looks by itself:
 *
 * UCX (src/ucs/config/parser.c, and the texts of libucs): /etc/ucx, then ../etc/ucx
 * beside it, which wins; 1.13 looks for ../etc/ucx.conf. Seen.
 * UCC (src/core/ucc_constructor.c): share/ beside its lib/, where HOME has none.
 * PMIx (src/mca/base/pmix_mca_base_var.c): its sysconfdir, which Debian has in pmix2/.
 * Seen: it read that of the image.
 *
 * libfabric (src/var.c), its provider psm3 (prov/psm3/psm3/utils/utils_env.h) and
 * MVAPICH2 (its user guide) have one fixed path each, so that those are mounted, see
 * the binds below. libibverbs reads names of drivers alone, which RDMAV_DRIVERS gives
 * it; hwloc and PSM2 read no file (their texts). */
const struct berth_config berth_configs[] = {
    {"libucs.so",
     {LIST("../etc/ucx/ucx.conf", "/etc/ucx/ucx.conf"), "etc/ucx/ucx.conf"}},
    {"libucs.so", {LIST("../etc/ucx.conf", "/etc/ucx/ucx.conf"), "etc/ucx.conf"}},
    {"libucc.so", {LIST("../share/ucc.conf"), "share/ucc.conf"}},
    {"libpmix.so",
     {LIST("pmix2/share/pmix-mca-params.conf", "../etc/pmix-mca-params.conf",
           "/etc/pmix-mca-params.conf"),
      "etc/pmix/pmix-mca-params.conf"}},
    {"libpmix.so",
     {LIST("pmix2/share/pmix-mca-params-override.conf",
           "../etc/pmix-mca-params-override.conf",
           "/etc/pmix-mca-params-override.conf"),
      "etc/pmix/pmix-mca-params-override.conf"}},
    {0},
};

/* Help texts and the site's parameters (ompi opal/util/show_help.c,
 * opal/mca/base/mca_base_var.c). */
static const struct berth_data openmpi_data[] = {
    {LIST("../share/openmpi", "/usr/share/openmpi"), "share/openmpi"},
    {LIST("../etc/openmpi-mca-params.conf", "/etc/openmpi/openmpi-mca-params.conf",
          "/etc/openmpi-x86_64/openmpi-mca-params.conf"),
     "etc/openmpi/openmpi-mca-params.conf"},
    {LIST("../etc/openmpi-mca-params-override.conf",
          "/etc/openmpi/openmpi-mca-params-override.conf",
          "/etc/openmpi-x86_64/openmpi-mca-params-override.conf"),
     "etc/openmpi/openmpi-mca-params-override.conf"},
    {0},
};

/* Seen with 2021.19: the tuning files are looked for in I_MPI_ROOT, then in
 * I_MPI_ROOT/opt/mpi/etc; in the working directory where I_MPI_ROOT is not set. */
static const struct berth_data intel_data[] = {
    {LIST("../etc", "../../etc"), "etc"},
    {LIST("../opt/mpi/etc", "../../opt/mpi/etc"), "opt/mpi/etc"},
    {0},
};

#define ANY_FABRIC                                                                     \
    "/dev/infiniband", "/dev/xpmem", "/dev/knem", "/dev/hfi1_*", "/dev/hugepages"

/* What libfabric and its providers read at a fixed path. */
#define FABRIC_FILES                                                                   \
    "/etc/libfabric.conf:/etc/libfabric.conf:ro", "/etc/psm3.conf:/etc/psm3.conf:ro"

/* PMI and Slurm's own client ask munge. */
static const char *const plain_binds[] = {"/run/munge", "/etc/hosts", FABRIC_FILES,
                                          NULL};
static const char *const plain_devices[] = {ANY_FABRIC, NULL};

/* A plugin that brings a libfabric, for which the host's stands in all of the process.
 */
#define NCCL(title, library)                                                           \
    .kind = BERTH_PROFILE_FABRIC, .name = title, .stack = title,                       \
    .adds = LIST(library), .replaces = LIST("libfabric.so.1"),                         \
    .names = LIST("libcxi.so.1"),                                                      \
    .environment = LIST("NCCL_NET_PLUGIN=$STAGE/lib/" library),                        \
    .binds = LIST("/run/cxi", FABRIC_FILES),                                           \
    .devices = LIST("/dev/cxi*", "/dev/ss0", ANY_FABRIC)

/* More than one row may fit; the first counts. */
const struct berth_profile berth_profiles[] = {
    /* Slingshot: LUMI's singularity-bindings, podman-hpc's mpich module, Slurm's
     * switch/hpe_slingshot. The directory of mpi/cray_shasta is PALS_SPOOL_DIR, which
     * is mounted for all. Not seen: no such host. */
    {.name = "cray-mpich-slingshot",
     .stack = "cray-mpich",
     .family = BERTH_FAMILY_MPICH,
     .vendor = "Cray MPICH",
     .needs = LIST("libpals.so.*", "libcxi.so.*", "libfabric.so.*"),
     .names = LIST("libcxi.so.1", "libxpmem.so.0", "libpals.so.0", "liblustreapi.so"),
     .nearby = LIST("../../../../../../pals/default/lib",
                    "../../../../../../../pals/default/lib"),
     .binds = LIST("/run/cxi", "/etc/hosts", "/run/munge", FABRIC_FILES),
     .devices = LIST("/dev/cxi*", "/dev/ss0", ANY_FABRIC)},
    /* Aries: what shifter's prep_cray_mpi_libs.py adds by hand, charliecloud's
     * ch-fromhost makes and Sarus mounts. Not seen: no such host. */
    {.name = "cray-mpich-aries",
     .stack = "cray-mpich",
     .family = BERTH_FAMILY_MPICH,
     .vendor = "Cray MPICH",
     .needs = LIST("libugni.so.*", "libudreg.so.*", "libalps*.so.*"),
     .names = LIST("libwlm_detect.so.0", "libalpslli.so.0", "libalpsutil.so.0",
                   "librca.so.0", "libxpmem.so.0"),
     .nearby =
         LIST("/opt/cray/wlm_detect/default/lib64", "/opt/cray/alps/default/lib64",
              "/opt/cray/rca/default/lib64", "/opt/cray/xpmem/default/lib64"),
     .binds = LIST("/var/opt/cray/alps", "/etc/opt/cray/wlm_detect",
                   "/var/lib/hugetlbfs", "/etc/hosts"),
     .devices = LIST("/dev/kgni0", "/dev/kdreg", ANY_FABRIC)},
    /* libmpi opens libfabric by name (its texts): seen. oneAPI keeps its own in
     * opt/mpi/libfabric, older ones in libfabric. */
    {.name = "intel",
     .stack = "intel",
     .family = BERTH_FAMILY_MPICH,
     .vendor = "Intel MPI",
     .names = LIST("libfabric.so.1", "libnuma.so.1", "libxpmem.so.0"),
     .nearby = LIST("../opt/mpi/libfabric/lib", "../../opt/mpi/libfabric/lib",
                    "../libfabric/lib", "../../libfabric/lib"),
     .data = intel_data,
     .root = "I_MPI_ROOT",
     .binds = plain_binds,
     .devices = plain_devices},
    {.name = "mvapich",
     .stack = "mvapich",
     .family = BERTH_FAMILY_MPICH,
     .vendor = "MVAPICH",
     .binds = LIST("/run/munge", "/etc/hosts", FABRIC_FILES,
                   "/etc/mvapich2.conf:/etc/mvapich2.conf:ro"),
     .devices = plain_devices},
    {.name = "mpich",
     .stack = "mpich",
     .family = BERTH_FAMILY_MPICH,
     .binds = plain_binds,
     .devices = plain_devices},
    /* 4, 5 and 6 alike: what differs between them (libopen-rte, an own or a foreign
     * PMIx, components in files or not) follows from the libraries that are there.
     * Seen: 5.0.7 under programs of 4.1.4. Components of another build end a program
     * (their places: opal/mca/base/mca_base_component_repository.c, and PMIx's). */
    {.name = "openmpi",
     .stack = "openmpi",
     .family = BERTH_FAMILY_OPENMPI,
     .data = openmpi_data,
     .binds = plain_binds,
     .devices = plain_devices,
     .conflicts.variables =
         LIST("OMPI_MCA_mca_base_component_path", "PMIX_MCA_mca_base_component_path")},
    /* The four are built together: a libuct of another release finds no transport of
     * its own (openucx src/uct/base/uct_component.c). Seen. */
    {.kind = BERTH_PROFILE_FABRIC,
     .name = "ucx",
     .stack = "ucx",
     .replaces = LIST("libucp.so.0", "libuct.so.0", "libucs.so.0", "libucm.so.0"),
     .devices = plain_devices},
    /* Slingshot's provider needs /dev/cxi* and asks /run/cxi; the other devices are
     * those of MPI. EFA is a device of /dev/infiniband (AWS, efa(4)). Seen with the
     * providers tcp and shm. */
    {.kind = BERTH_PROFILE_FABRIC,
     .name = "libfabric",
     .stack = "libfabric",
     .replaces = LIST("libfabric.so.1"),
     .names = LIST("libcxi.so.1", "libxpmem.so.0"),
     .binds = LIST("/run/cxi", FABRIC_FILES),
     .devices = LIST("/dev/cxi*", "/dev/ss0", ANY_FABRIC)},
    /* aws-ofi-nccl, which makes one file for NCCL and one for RCCL. NCCL takes the path
     * of a plugin from 2.21 on: seen, without a GPU. 2.20.5 and earlier put the value
     * between `libnccl-net-` and `.so`. */
    {NCCL("nccl", "libnccl-net.so")},
    {NCCL("rccl", "librccl-net.so")},
    /* Debian has OpenBLAS under the names of the reference BLAS and LAPACK, which its
     * programs are linked with, in directories of their own, whatever the alternative
     * is that the loader finds (libopenblas0-pthread, -openmp, -serial). Seen: it has
     * each symbol of them but helpers of their own (cdotcsub_, RowMajorStrg). Programs
     * are linked with its own name, too, which is the only one on RHEL. */
    {.kind = BERTH_PROFILE_LIBRARIES,
     .name = "openblas",
     .stack = "openblas",
     .replaces = LIST("libblas.so.3", "liblapack.so.3", "libopenblas.so.0"),
     .needs = LIST("libopenblas*.so.*"),
     .nearby = LIST("openblas-pthread", "openblas-openmp", "openblas-serial")},
    {0},
};

const char *const berth_profile_glibc[] = {
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
    "ld64.so.2",
    "libc.so.6",
    "libm.so.6",
    "libmvec.so.1",
    "libpthread.so.0",
    "libdl.so.2",
    "librt.so.1",
    "libutil.so.1",
    "libresolv.so.2",
    "libnsl.so.1",
    "libanl.so.1",
    "libBrokenLocale.so.1",
    "libthread_db.so.1",
    "libnss_files.so.2",
    "libnss_dns.so.2",
    "libnss_compat.so.2",
    "libnss_hesiod.so.2",
    "libnss_db.so.2",
    "libc_malloc_debug.so.0",
    "libSegFault.so",
    "libmemusage.so",
    "libpcprofile.so",
    NULL,
};

/* A newer one serves whatever an older one of the same SONAME served (libstdc++ manual,
 * "ABI Policy and Guidelines"), which other libraries with versions do not promise. */
static const char *const gcc[] = {"libstdc++.so.*",
                                  "libgcc_s.so.*",
                                  "libgfortran.so.*",
                                  "libquadmath.so.*",
                                  "libgomp.so.*",
                                  "libatomic.so.*",
                                  NULL};

/* Brought by --nv together with all that they open themselves. */
static const char *const drivers[] = {"libcuda.so*", "libnvidia-*.so*",
                                      "libnvcuvid.so*", "libcudadebugger.so*", NULL};

bool berth_profile_is_needed(const struct berth_profile *profile, const char *soname)
{
    return !profile->needs || berth_text_matches_any(soname, profile->needs);
}

bool berth_profile_has_needed(const struct berth_profile *profile,
                              const struct berth_closure *closure)
{
    if (!profile->needs)
        return true;
    for (size_t i = 0; i < closure->count; i++)
        if (berth_profile_is_needed(profile, closure->items[i].soname))
            return true;
    return false;
}

/* Is PROFILE for LIBRARY, whatever that needs? A profile with a prefix is only for what
 * is there. */
static bool is_for(const struct berth_profile *profile,
                   const struct berth_mpi_library *library)
{
    if (profile->kind != BERTH_PROFILE_MPI || profile->prefix)
        return false;
    if (profile->family != library->family)
        return false;
    if (!profile->vendor)
        return true;
    return library->vendor && strcmp(profile->vendor, library->vendor) == 0;
}

const struct berth_profile *berth_profile_match(const struct berth_profile *profiles,
                                                const struct berth_mpi_library *library,
                                                const struct berth_closure *closure)
{
    for (const struct berth_profile *it = profiles; it->name; it++)
        if (is_for(it, library) && berth_profile_has_needed(it, closure))
            return it;
    return NULL;
}

bool berth_profile_is_called(const struct berth_profile *profile, const char *name)
{
    return strcmp(profile->stack, name) == 0 || strcmp(profile->name, name) == 0;
}

const char *berth_profile_label(const struct berth_profile *profile)
{
    return profile->label ? profile->label : profile->name;
}

bool berth_profile_is(const char *soname, const char *library)
{
    size_t length = strlen(library);

    return strncmp(soname, library, length) == 0 &&
           (soname[length] == '\0' || soname[length] == '.');
}

bool berth_profile_is_glibc(const char *soname)
{
    return berth_text_matches_any(soname, berth_profile_glibc);
}

bool berth_profile_is_gcc(const char *soname)
{
    return berth_text_matches_any(soname, gcc);
}

bool berth_profile_is_driver(const char *soname)
{
    return berth_text_matches_any(soname, drivers);
}

/* Append the other names of MPICH's library SONAME, without a version. */
static void push_twins(const char *soname, struct berth_strvec *bases)
{
    for (size_t i = 0; berth_mpi_twins[i][0]; i++) {
        const char *one = berth_mpi_twins[i][0];
        const char *other = berth_mpi_twins[i][1];

        if (berth_profile_is(soname, one))
            berth_strvec_push(bases, other);
        if (berth_profile_is(soname, other))
            berth_strvec_push(bases, one);
    }
}

void berth_profile_aliases(const char *soname, struct berth_strvec *names)
{
    const char *so = strstr(soname, ".so");
    const char *version;
    BERTH_STRVEC struct berth_strvec bases = {0};

    if (!so)
        return;
    version = so + strlen(".so");
    berth_strvec_pushf(&bases, "%.*s", (int)(version - soname), soname);
    if (berth_text_starts(version, ".12"))
        push_twins(soname, &bases);
    names->failed |= bases.failed;
    for (size_t i = 0; i < bases.count; i++) {
        berth_strvec_push(names, bases.items[i]);
        if (*version)
            berth_strvec_pushf(names, "%s%s", bases.items[i], version);
    }
}

bool berth_profile_is_fabric(const char *soname)
{
    for (const struct berth_profile *it = berth_profiles; it->name; it++) {
        /* A plugin (`adds`) brings a fabric, but is none. */
        if (it->kind != BERTH_PROFILE_FABRIC || it->adds)
            continue;
        if (berth_text_is_any(soname, it->replaces))
            return true;
    }
    return false;
}

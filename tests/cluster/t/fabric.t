#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The host's network libraries (Debian 13: UCX 1.18, libfabric 2.1) under the MPI of an image
# of another Debian: each rank's library says which release it is, and which provider it has.
# Images that are newer than the host, or have no such library, are refused or left alone.

# shellcheck disable=SC2016 # words for other shells
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images mpibookworm mpitrixie mpisid mpipypi a
old=/images/mpibookworm.sif
new=/images/mpisid.sif
limit=(timeout -k 5 60)

# What ranks and berth say, without what differs in each run. A rank may wait in
# MPI_Finalize (see mpi.t): what it printed counts.
told="grep -aoE '^berth: .*|^rank .*|UCX +INFO +Version [0-9.]+|registering provider: tcp \([0-9]+|Using ofi btl for send|unable to reach each other|libfabric version: .*' |
    sed -E 's/(MPICH|Open MPI|Intel)[^0-9]*([0-9.]+).*/\1 \2/; s/ +/ /g' | LC_ALL=C sort -u"
two=("${limit[@]}" srun -w "n1,n2" -N2 -n2)

# Two ranks on two nodes.
ucx=(env UCX_LOG_LEVEL=info "${two[@]}" --mpi=pmi2)
who=/opt/t/mpich/who
ranks="rank 0 of 2 on n1 in mpibookworm: MPICH 4.0.2
rank 1 of 2 on n2 in mpibookworm: MPICH 4.0.2"
try "the image's own UCX without the option" "UCX INFO Version 1.13.1
$ranks" "$told" -- "${ucx[@]}" --container-image=$old --mpi-bind=hybrid $who
try "the host's UCX under an older MPICH" "UCX INFO Version 1.18.1
$ranks" "$told" -- "${ucx[@]}" --container-image=$old --container-libs=ucx $who
try "auto says what it has found" "UCX INFO Version 1.18.1
berth: n1: note: the host's libucp.so.0.0.0 (ucx) runs under the image's own MPI
$ranks" "$told" -- "${ucx[@]}" --container-image=$old --container-libs=auto $who
try "the same release in the image" "UCX INFO Version 1.18.1
rank 0 of 2 on n1 in mpitrixie: MPICH 4.2.1
rank 1 of 2 on n2 in mpitrixie: MPICH 4.2.1" "$told" \
    -- "${ucx[@]}" --container-image=/images/mpitrixie.sif --container-libs=ucx $who
lines "0 $who" '1 /opt/t/mpich/f90'
try "two programs in one image" "UCX INFO Version 1.18.1
${ranks/n2/n1}" "$told" -- \
    env UCX_LOG_LEVEL=info "${limit[@]}" srun -w n1 -n2 --mpi=pmi2 --container-image=$old \
    --container-libs=ucx --multi-prog lines

# Over the provider tcp of libfabric.
ofi=(env FI_LOG_LEVEL=info FI_PROVIDER=tcp OMPI_MCA_opal_common_ofi_provider_include=tcp)

# Open MPI opens libfabric in a plugin.
openmpi="rank 0 of 2 on n1 in mpibookworm: Open MPI 4.1.4
rank 1 of 2 on n2 in mpibookworm: Open MPI 4.1.4
registering provider: tcp"
mtl=(OMPI_MCA_pml=cm OMPI_MCA_mtl=ofi "${two[@]}" --mpi=pmix "--container-image=$old")
try "the image's own libfabric" "$openmpi (117" "$told" \
    -- "${ofi[@]}" "${mtl[@]}" --mpi-bind=hybrid /opt/t/openmpi/who
try "the host's libfabric under an older Open MPI" "$openmpi (201" "$told" \
    -- "${ofi[@]}" "${mtl[@]}" \
    --container-libs=libfabric /opt/t/openmpi/who

# The BTL takes no provider with ofi_rxm in it (ompi's btl_ofi_component.c), and libfabric 1.17
# has no other tcp for it.
btl=(OMPI_MCA_pml=ob1 "OMPI_MCA_btl=self,ofi" OMPI_MCA_btl_ofi_mode=1 OMPI_MCA_btl_base_verbose=30
    "${two[@]}" --mpi=pmix "--container-image=$old")
try "Open MPI's btl/ofi finds no tcp in the image's own" "registering provider: tcp (117
unable to reach each other" "$told" -- "${ofi[@]}" "${btl[@]}" --mpi-bind=hybrid /opt/t/openmpi/who
try "and uses that of the host's" "Using ofi btl for send
$openmpi (201" "$told" -- "${ofi[@]}" "${btl[@]}" --container-libs=libfabric /opt/t/openmpi/who

# Libraries of wheels, beside which their libfabric is.
wheels=/images/mpipypi.sif
mpich="rank 0 of 2 on n1 in mpipypi: MPICH 4.2.3
rank 1 of 2 on n2 in mpipypi: MPICH 4.2.3
registering provider: tcp"
ch4=(MPIR_CVAR_CH4_NETMOD=ofi "${two[@]}" --mpi=pmi2 "--container-image=$wheels")
try "MPICH's ch4:ofi on its own libfabric" "$mpich (122" "$told" \
    -- "${ofi[@]}" "${ch4[@]}" --mpi-bind=hybrid /opt/t/mpich-4.2.3/runpath
try "and on the host's" "$mpich (201" "$told" -- "${ofi[@]}" "${ch4[@]}" \
    --container-libs=libfabric /opt/t/mpich-4.2.3/runpath

# Intel MPI opens libfabric, and finds its own by the variables that its script sets.
place=/opt/impi-rt-2021.19.0
"$tool" wheel "$name" impi-rt==2021.16.0 >/dev/null || exit 1
intel=("APPTAINERENV_LD_LIBRARY_PATH=$place/lib" "FI_PROVIDER_PATH=$place/lib" I_MPI_DEBUG=2 \
    "${two[@]}"
    --mpi=pmi2 "--container-image=$wheels" "--container-mounts=/wheels/impi-rt-2021.16.0:$place")
impi="rank 0 of 2 on n1 in mpipypi: Intel 2021.16
rank 1 of 2 on n2 in mpipypi: Intel 2021.16
registering provider: tcp (201"
try "Intel MPI on its own libfabric" "libfabric version: 2.1.0-impi
$impi" "$told" -- "${ofi[@]}" "${intel[@]}" --mpi-bind=hybrid /opt/t/impi-rt-2021.19.0/runpath
try "and on the host's" \
    "berth: n1: warning: image '$wheels': --container-libs=libfabric: no program of this step is
        known to need 'libfabric.so.1' of the image, which the host's replaces
        (--container-libs=libfabric)
libfabric version: 2.1.0
$impi" "$told" -- "${ofi[@]}" "${intel[@]}" --container-libs=libfabric \
    /opt/t/impi-rt-2021.19.0/runpath

# A program of libfabric's, and how many of its tasks have the host's library mapped.
script client <<'END'
#!/bin/sh
until "$@" n1 2>/dev/null; do sleep 0.1; done
END
pingpong="/opt/t/fi_pingpong -p tcp -e rdm -S 64 -I 20000"
lines "0 $pingpong" "1 ./client $pingpong"
step=(env FI_LOG_LEVEL=info "${two[@]}" -v --mpi=pmix "--container-image=$old")
heard="grep -aoE '[0-9] of [0-9] ranks loaded the host.*|registering provider: tcp \([0-9]+|^64 .* =20k' | sed -E 's/ +/ /g' | sort -u"
try "fi_pingpong on the image's own libfabric" "64 20k =20k
registering provider: tcp (117" "$heard" -- "${step[@]}" --mpi-bind=hybrid --multi-prog lines
try "and on the host's, as its maps say" \
    "1 of 1 ranks loaded the host's libfabric.so.1.27.0 (libfabric)
64 20k =20k
registering provider: tcp (201" "$heard" -- "${step[@]}" --container-libs=libfabric --multi-prog \
    lines

# One task on a node.
one=(timeout 60 srun -Q -n1 -w n1 --mpi=pmi2)

try "an image that is newer: refused" \
    "~^berth: n1: image '$new': --container-libs=ucx: the host's libucp.so.0.0.0 is older than the
        image's: it lacks [0-9]+ symbols of that, and has [0-9]+ others; leave --container-libs
        out.status 1\$" -- "${one[@]}" --container-image=$new --container-libs=ucx /opt/t/mpich/who
for it in ucx:4.2.3:libucp.so.0.0.0 libfabric:5.0.2:libfabric.so.1.27.0; do
    IFS=: read -r fabric version library <<<"$it"
    try "a newer $fabric beside its MPI: refused" \
        "~--container-libs=$fabric: the host's $library is older than the image's: it lacks [0-9]+
            symbols of that, and has [0-9]+ others; leave --container-libs out.status 1\$" \
            -- "${one[@]}" --container-image=$wheels "--container-libs=$fabric" \
            "/opt/t/mpich-$version/runpath"
done
try "with auto its own stays" \
    "~^berth: n1: note: the image's own 'libucp.so.0' stays: the host's libucp.so.0.0.0 is older
        than the image's: [^
]*
rank 0 of 1 on n1 in mpisid: MPICH Version: +5[^!]*\$" \
    -- "${one[@]}" --container-image=$new --container-libs=auto /opt/t/mpich/who
try "a Python may load any MPI of the image" \
    "~^berth: n1: note: the host's libucp.so.0.0.0 .ucx. runs under the image's own MPI; the host's
        libfabric.so.1.27.0 .libfabric. runs under the image's own MPI
rank 0 of 1 on n1 in mpibookworm: MPICH [^
]*\$" -- "${one[@]}" --container-image=$old --container-libs=auto \
    python3 -c 'import os; os.execv("/opt/t/mpich/who", ["who"])'
try "nor with auto, which says so" \
    "~^berth: n1: note: the image has no library that a fabric of this host could replace
        .--container-libs=auto.\$" -- "${one[@]}" --container-image=/images/a.sif \
            --container-libs=auto true
try "a program that does not use it" \
    "~^berth: n1: warning: image '$old': --container-libs=libfabric: no program of this step is
        known to need 'libfabric.so.1' of the image, which the host's replaces
        .--container-libs=libfabric.
rank 0 of 1 .*\$" -- "${one[@]}" --container-image=$old --container-libs=libfabric /opt/t/mpich/who
try "with the host's MPI it does nothing" \
    "~rank 0 of 1 on n1 in mpibookworm: MPICH Version: +4.2.1 [^
]*!]\$" -- "${one[@]}" --container-image=$old --mpi-bind=host --container-libs=auto /opt/t/mpich/who
try "a plan says what lies over what" \
    "~MPI
  --mpi-bind: hybrid
  asked by: user
  libraries: ucx
.*  on the host: libucp.so.0.0.0
  profile: ucx" -- "${one[@]}" --container-image=$old --container-libs=ucx --container-explain=all \
      /opt/t/mpich/who

# cmp in the image: is the host's file in the place of the image's?
is_host='for it in libucp.so.0 libucs.so.0 libuct.so.0 ucx/libuct_cma.so.0; do
    for copy in /.berth/*/*-*/lib/$it; do
        cmp -s /usr/lib/x86_64-linux-gnu/$it $copy && echo $it; done; done | uniq'
both="libucp.so.0
libucs.so.0
libuct.so.0
ucx/libuct_cma.so.0"
equal "libraries and plugins are the host's" "$both" \
    "$(alice srun -n1 -w n1 --container-image=$old --container-libs=ucx sh -c "$is_host" 2>&1)"
echo 'mpi: {glibc: refuse}' | site n1
try "the site keeps the image's C library" \
    "~--container-libs=ucx: the host's libucp.so.0.0.0 brings the host's C library with it, .*,
        which this site does not allow .*berth.yaml:1.; build the image on a newer distribution;
        leave --container-libs out.status 1\$" -- "${one[@]}" --container-image=$old \
        --container-libs=ucx true
echo 'rules: [{default: {container-libs: auto}}]' | site n1
equal "a default of the site's" "$both" \
    "$(alice srun -n1 -w n1 --container-image=$old sh -c "$is_host" 2>/dev/null)"
try "which a user can switch off" "~^rank 0 of 1 [^
]*\$" -- "${one[@]}" --container-image=$old --container-libs=none /opt/t/mpich/who
try "and which is not for an mpirun" "" -- "${one[@]}" --container-image=$old --mpi-bind=local true
site n1 </dev/null
# A plugin of NCCL, which opens it by the path in a variable. This one is a libfabric of
# another name that needs libfabric; so which release the process has says whose that is.
plugin=/usr/local/lib/libnccl-net.so
on n1 root bash -c 'cp -L /usr/lib/x86_64-linux-gnu/libfabric.so.1 "$1" &&
    patchelf --set-soname libnccl-net.so --add-needed libfabric.so.1 "$1" && ldconfig' - "$plugin"
script nccl.py <<'END'
import ctypes, os
plugin = os.environ.get("NCCL_NET_PLUGIN")
if plugin:
    ctypes.CDLL(plugin)
version = ctypes.CDLL("libfabric.so.1").fi_version()
print(os.path.basename(plugin or "none"), version >> 16)
END
matches "a plugin of the host's" "^nccl: libnccl-net.so, a fabric, found by the loader" \
    "$(on n1 alice berth profiles 2>&1 | grep ^nccl:)"
equal "an image finds it, and has the host's libfabric" \
    "berth: n1: note: image '$old': --container-libs=nccl: 1 of 1 ranks loaded the host's
        libnccl-net.so (nccl)
libnccl-net.so 2" \
    "$(alice srun -v -w n1 -n1 --container-image=$old --container-libs=nccl python3 nccl.py 2>&1 |
    grep 'nccl-net.so 2\|ranks' | sort)"
try "an image whose libraries are newer: refused" \
    "~--container-libs=nccl: .*, which is older; leave --container-libs out.status 1\$" \
    -- "${one[@]}" --container-image=$new --container-libs=nccl python3 nccl.py
equal "auto leaves it to steps with GPUs" "none 2" \
    "$(alice srun -Q -w n1 -n1 --container-image=$old --container-libs=auto python3 nccl.py \
    2>/dev/null)"
on n1 root bash -c 'rm "$1" && ldconfig' - "$plugin"
on login alice rm -f nccl.py

# A fabric that is not where the loader looks, and a link that leads to its version.
on n1 root bash -c \
    'mkdir -p /opt/net/1 /opt/net/2/lib /etc/slurm/profiles.d && ln -s 1 /opt/net/latest &&
    cp -a /usr/lib/x86_64-linux-gnu /opt/net/1/lib && cd /opt/net/1/lib &&
    cp -a libuc[mpst].so* ucx ../../2/lib &&
    cat >/etc/slurm/profiles.d/net.yaml' <<'END'
name: net
kind: fabric
prefix: /opt/net/latest
replaces: [libucp.so.0, libuct.so.0, libucs.so.0, libucm.so.0]
END
site n1 </dev/null
net=("awk '/^[^ ]/ { on = /^net:/ } on'" -- on n1 alice berth profiles)
try "a fabric of the site's, by its prefix" \
    "~^net: libucp.so.0.0.0, a fabric, found by profile 'net'
  /opt/net/latest/lib/libucp.so.0" "${net[@]}"
try "and in an image" "$both" -- srun -n1 -w n1 --container-image=$old --container-libs=net \
    --mpi-bind=hybrid sh -c "$is_host"
try "which has copies" "~  stage: /tmp/berth-2001/net-" "${net[@]}"
on n1 root ln -sfn 2 /opt/net/latest
try "a link that leads to another version takes other copies" "~  stage: none yet" "${net[@]}"
on n1 root rm -rf /opt/net /etc/slurm/profiles.d
finish

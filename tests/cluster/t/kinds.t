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

# row NAME EXPECTED OPTIONS COMMAND: EXPECTED is `host`, without a warning, `openmpi` (the host's Open MPI, with
# PMIx), `own VERSION` (the image's, or the user's own, said aloud), `no MPI` (said, too), or `no: WORDS`.
# OPTIONS are for srun, besides --mpi, --mpi-bind=host and the image.
row() { rows+=("$1|$2|$3|$4"); }

# Linked with MPICH, and started directly.
t=/opt/t/mpich k=/opt/k o=/opt/t/openmpi
linked_rows() {
    row "C" host "" $t/who
    row "C, RPATH" host "" $t/rpath
    row "C, RUNPATH" host "" $t/runpath
    row "C, not position-independent" host "" $k/nopie
    row "C, stripped" host "" $k/stripped
    row "Fortran, use mpi" host "" $t/f90
    row "Fortran, use mpi_f08" host "" $t/f08
    row "C++" host "" $t/cxx
    row "setuid" host "" $t/setuid
    row "an absolute path in DT_NEEDED" host "" $k/absolute
    row "a name of auditwheel's" host "" $k/auditwheel
    row "a private SONAME" host "" $k/odd
    row "a prefix of conda's, by \$ORIGIN" host "" $k/conda/bin/who
    row "by the program's own library" host "" $k/bylibrary
    row "a link to the program" host "" $k/link
    row "a name on PATH" host "--container-env=PATH=$t:/usr/bin:/bin" who
    row "a path from the working directory" host "--container-workdir=$t" ./who
    row "a plugin, by dlopen" host "" "$t/load $t/plugin.so"
    row "LD_PRELOAD of a library" host "--container-env=LD_PRELOAD=/opt/t/libtell.so" $t/who
    row "LD_LIBRARY_PATH of another directory" host "--container-env=LD_LIBRARY_PATH=$k/conda/lib" $t/who
}

# Behind something else.
behind_rows() {
    local it
    # (tests/unit/command.c has more of them.)
    for it in "env LD_LIBRARY_PATH=$k/conda/lib" "time" "taskset -c 0" "stdbuf -oL" "numactl --localalloc" \
        "nice env A=b timeout 60"; do
        row "$it" host "" "/usr/bin/$it $t/who"
    done
    row "ld.so" host "" "/lib64/ld-linux-x86-64.so.2 $t/who"
    row "ld.so --library-path" "no: is neither a program nor a script" "" "/lib64/ld-linux-x86-64.so.2 --library-path $k/conda/lib $t/who"
    row "xargs" host "" "sh -c 'echo x | xargs $t/who'"
    row "a launcher that is linked statically" host "" "./launch64 $t/who"
    row "a launcher of 32 bits" host "" "./launch32 $t/who"
    row "a static launcher that names no program" "no: launch64. is linked statically, .*name the program that it starts" "" ./launch64
    row "sh -c" host "" "sh -c '$t/who 2>&1'"
    row "sh -c exec" host "" "sh -c 'exec $t/who'"
    row "sh -c cd" host "" "sh -c 'cd $t && ./who'"
    row "bash -lc" host "" "bash -lc $t/who"
    row "bash -c, two programs" host "" "bash -c 'date >/dev/null; $t/who'"
    row "bash -c, a loop" host "" "bash -c 'for i in 1; do $t/who; done'"
    row "bash -c, a variable" host "" "bash -c 'p=$t/who; \$p'"
    row "a script" host "" $t/reset
    row "a script of /usr/bin/env" host "" $k/env.sh
    row "a script whose interpreter is a script" host "" $k/script.sh
    row "Perl, system" host "" $k/run.pl
    row "Perl, exec" host "" $k/exec.pl
    row "Python, subprocess" host "" "python3 $k/start.py $t/who"
    row "Python, ctypes by SONAME" host "" "python3 $k/open.py libmpich.so.12"
    row "libmpi.so.12 by dlopen, global, as Julia does" host "--container-env=LD_LIBRARY_PATH=$k/conda/lib" "python3 $k/open.py libmpi.so.12"
    row "Python, ctypes by path" host "" "python3 $k/open.py $k/conda/lib/libmpi.so.12"
}

# An MPI that is not in the image.
outside_rows() {
    row "an MPI at home, RPATH" host "" /home/alice/mpi/bin/app
    row "at home, sh -c" host "" "sh -c /home/alice/mpi/bin/app"
    row "at home, env" host "" "env A=b /home/alice/mpi/bin/app"
    row "at home, sh -c and more" host "" "sh -c 'date >/dev/null; /home/alice/mpi/bin/app'"
    row "at home, Python, ctypes" host "" "python3 $k/open.py /home/alice/mpi/lib/libmpich.so.12"
    row "at home, a script that sets LD_LIBRARY_PATH" host "" /home/alice/mpi/bin/run.sh
    row "at home, a script that looks in ../lib" host "" /home/alice/mpi/bin/follow
    row "at home, a venv with its MPI" host "" "/home/alice/venv/bin/python3 /opt/t/who.py"
    row "at home, VIRTUAL_ENV" host "--container-env=VIRTUAL_ENV=/home/alice/venv,PYTHONPATH=/home/alice/venv/lib/python3.11/site-packages,LD_LIBRARY_PATH=/home/alice/venv/lib" "python3 /opt/t/who.py"
    row "at home, CONDA_PREFIX" host "--container-env=CONDA_PREFIX=/home/alice/mpi" "python3 $k/open.py /home/alice/mpi/lib/libmpich.so.12"
    row "in a mount, RPATH" host "--container-mounts=/home/alice/mpi:/data" /data/bin/app
    row "in a mount, sh -c" host "--container-mounts=/home/alice/mpi:/data" "sh -c 'date >/dev/null; /data/bin/app'"
    row "in a mount, Python, ctypes" host "--container-mounts=/home/alice/mpi:/data" "python3 $k/start.py python3 $k/open.py /data/lib/libmpich.so.12"
    row "below a mount, a script" host "--container-mounts=/home/alice:/data" "sh -c 'LD_LIBRARY_PATH=/data/mpi/lib $t/who'"
    row "a program at home, the image's library" host "" /home/alice/mpi/bin/plain
}

openmpi_rows() {
    row "Open MPI, C" openmpi "" $o/who
    row "Open MPI, RPATH" openmpi "" $o/rpath
    row "Open MPI, Fortran" openmpi "" $o/f90
    row "Open MPI, a plugin" openmpi "" "$o/load $o/plugin.so"
    row "Open MPI, sh -c" openmpi "" "sh -c $o/who"
    row "Open MPI, env" openmpi "" "env A=b $o/who"
    row "Open MPI, a script" openmpi "--mpi-bind=openmpi" $o/reset
    row "Open MPI, mpi4py" openmpi "--mpi-bind=openmpi" "python3 /opt/t/who.py"
}

# What cannot be, and is said.
refused_rows() {
    local static="is linked statically with MPICH 4.0.2"
    row "libmpich.a, C library shared" "no: $static" "" $k/part
    row "libmpich.a, stripped" "no: $static" "" $k/part.stripped
    row "libmpich.a, -rdynamic" "no: $static" "" $k/part.rdynamic
    row "libmpich.a, sh -c" "no: $static" "" "sh -c $k/part.stripped"
    row "libmpich.a, env" "no: $static" "" "env A=b $k/part.stripped"
    row "libmpich.a, all static" "no: $static" "" $t/static
    row "libmpich.a, auto" "own MPICH 4.0.2" "--mpi-bind=auto" $k/part.stripped
    row "libmpich.a, hybrid" "own MPICH 4.0.2" "--mpi-bind=hybrid" $k/part.stripped
    [[ ! $pmix ]] ||
        row "libmpich.a, hybrid, PMIx" "no: MPICH 4.0.2 uses PMI .*--mpi=pmi2" "--mpi-bind=hybrid --mpi=pmix" $k/part.stripped
    row "MPICH and Open MPI in one program" "no: marks of: MPICH and Open MPI" "" $k/both
    row "a library that is nowhere" "no: needs 'libiomp5.so', which is not in the image" "" $k/missing
    row "musl" "no: musl" "--container-image=/images/musl.sif" /opt/t/who
    row "an MPI of another family" "no: wants Open MPI.*is MPICH" "--mpi-bind=mpich" $o/who
    row "a process manager that it does not speak" "no: use srun --mpi=pmi2" "--mpi=none" $t/who
    row "mpirun, sh -c" "no: choose --mpi-bind=local" "" "sh -c 'mpirun -n 2 $t/who'"
    row "mpirun, env" "no: choose --mpi-bind=local" "" "env A=b mpiexec -n 2 $t/who"
    row "no MPI at all" "no MPI" "" /bin/true
}

# step_of ROW: its srun.
step_of() {
    local kind expected options command mpi=pmi2
    IFS='|' read -r kind expected options command <<<"$1"
    [[ $expected != openmpi ]] || mpi=pmix
    [[ $options == *--mpi=* ]] || options+=" --mpi=$mpi"
    [[ $options == *--mpi-bind=* ]] || options+=" --mpi-bind=host"
    [[ $options == *--container-image=* ]] || options+=" --container-image=/images/kinds.sif"
    echo "timeout -k 10 60 srun -N1 -n2 $options $command"
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
linked_rows
if [[ $release != bookworm ]]; then
    # The host's C library is newer than the image's, which makes this harder than it is there.
    behind_rows
    outside_rows
fi
[[ ! $pmix || $release == sid ]] || openmpi_rows
refused_rows
run_rows 1
warnings=yes
for i in "${!rows[@]}"; do
    IFS='|' read -r kind expected _ <<<"${rows[i]}"
    mode=host wanted=$expected
    case $expected in
    host) wanted=$MPICH ;;
    openmpi) wanted=$OPENMPI ;;
    "no MPI") wanted+=", and a warning" ;;
    own*) mode=hybrid wanted=${expected#own } warnings= ;;
    esac
    judge_row "$i" "$mode" "$wanted" "$kind: $expected"
    warnings=yes
done
finish

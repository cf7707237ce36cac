#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The host's OpenBLAS (Debian 13) in the place of the reference BLAS and LAPACK of an image
# (Debian 12): for a program in C, a Python that loads them later, a command in a shell,
# ranks of the image's own MPI and of the host's. What lacks a symbol is refused.

# shellcheck disable=SC2016 # words for other shells
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images blas openblas a
image=/images/blas.sif
lib=/usr/lib/x86_64-linux-gnu

at_exit 'openblas_remove n1,n2'
openblas_install n1,n2

matches "berth profiles lists them" "^openblas: libblas.so.3, libraries, found by profile 'openblas'
  .*/openblas-pthread/libblas.so.3
  .*/openblas-pthread/liblapack.so.3" "$(on n1 alice berth profiles | grep -A2 ^openblas:)"
equal "so does berth doctor" "ok    host's libraries: libblas.so.3 (openblas)" \
    "$(on n1 alice berth doctor | grep 'libraries: ')"

# One task on a node.
one=(timeout 60 srun -Q -n1 -w n1)
with=(--container-image="$image" --container-libs=openblas)

try "the image's own without the option" "~^dgemm 300: .*, residual passed, reference BLAS\$" \
    -- "${one[@]}" --container-image=$image dgemm 300
try "the host's under a program in C" "~^dgemm 300: .*, residual passed, OpenBLAS\$" \
    -- "${one[@]}" "${with[@]}" dgemm 300
equal "srun -v says so, and that it is loaded" \
    "berth: n1: note: image '$image': --container-libs=openblas: 1 of 1 ranks loaded the host's
        libblas.so.3 (openblas)
berth: n1: note: the host's libblas.so.3 (openblas) is in the place of the image's" \
    "$(alice srun -v -w n1 -n1 "${with[@]}" dgemm 1500 2>&1 | grep -a 'note: .*openblas' | sort)"
try "what lacks a symbol is refused" \
    "~^berth: n1: image '$image': --container-libs=openblas: '/usr/bin/dgemmhelper' of the image
        needs cdotcsub_, which the host's libblas.so.3 lacks; leave --container-libs out.status
        1\$" -- "${one[@]}" "${with[@]}" dgemmhelper
try "also in the words of a shell" \
    "~'/usr/bin/dgemmhelper' of the image needs cdotcsub_, .*.status 1\$" \
    -- "${one[@]}" "${with[@]}" sh -c 'cd / && dgemmhelper 300'
try "and runs there, if it has all" "~^dgemm 300: .*OpenBLAS\$" \
    -- "${one[@]}" "${with[@]}" sh -c 'cd / && dgemm 300'
script blas.py <<'END'
import ctypes, numpy
a = numpy.arange(90000.0).reshape(300, 300) % 7 + 300 * numpy.eye(300)
error = abs(numpy.linalg.solve(a, a @ numpy.ones(300)) - 1).max()
blas = ctypes.CDLL("libblas.so.3") # which numpy has loaded
print("solved" if error < 1e-10 else error, hasattr(blas, "openblas_get_config"))
END
try "numpy, which loads it later" "~^solved True\$" -- "${one[@]}" "${with[@]}" python3 blas.py
try "and its own without the option" "~^solved False\$" \
    -- "${one[@]}" --container-image=$image python3 blas.py
sed '1i #!/usr/bin/env python3' <<<"$(on login alice cat blas.py)" | script bang.py
try "a script that finds its Python on the PATH" "~^solved True\$" \
    -- "${one[@]}" "${with[@]}" ./bang.py
on login alice rm -f dgemm dgemmopen envblas
alice srun -Q -w n1 --container-image=$image cp /usr/bin/dgemm /usr/bin/env .
on n1 alice bash -c \
    'patchelf --replace-needed libblas.so.3 libopenblas.so.0 --output dgemmopen dgemm
    patchelf --add-needed libblas.so.3 --output envblas env'
try "what a program starts is checked, though it needs the library itself" \
    "~'/usr/bin/dgemmhelper' of the image needs cdotcsub_, .*.status 1\$" \
    -- "${one[@]}" "${with[@]}" ./envblas A=1 dgemmhelper 300
try "... and runs, if it has all" "~^dgemm 300: .*OpenBLAS\$" \
    -- "${one[@]}" "${with[@]}" ./envblas A=1 dgemm 300
# The warning is on standard error, the program's line on standard output: either may come first.
try "a program that is linked statically" \
    "~^berth: n1: warning: image '$image': --container-libs=openblas: no program of this step is
        known to need 'libblas.so.3' of the image, which the host's replaces
        .--container-libs=openblas.
ldconfig .*" "grep -a '^berth: \|^ldconfig ' | sort" -- "${one[@]}" "${with[@]}" ldconfig --version
try "a program that does not use it" \
    "~^berth: n1: warning: image '$image': --container-libs=openblas: no program of this step is
        known to need 'libblas.so.3' of the image, which the host's replaces
        .--container-libs=openblas.\$" -- "${one[@]}" "${with[@]}" true
try "none cancels the default of a job" "~reference BLAS\$" \
    -- "${one[@]}" --container-image=$image --container-libs=none dgemm 300
try "a plan says what lies over what" "~the host's file replaces the image's .--container-libs.
.*
  --mpi-bind: off
  libraries: openblas
.*  on the host: libblas.so.3
  profile: openblas" -- "${one[@]}" "${with[@]}" --container-explain=all dgemm
lines '0 dgemm 300' '1 python3 blas.py'
try "two programs of one step" $'OpenBLAS\nsolved True' "grep -ao 'OpenBLAS$\|solved.*' | sort" -- \
    srun -Q -w n1 -n2 "${with[@]}" --multi-prog lines
lines '0 dgemm 300' '1 dgemmhelper'
try "each program of a step is checked" \
    "~'/usr/bin/dgemmhelper' of the image needs cdotcsub_.*status" -- \
    srun -Q -w n1 -n2 --mpi=pmix --mpi-bind=hybrid "${with[@]}" --multi-prog lines
try "several tasks on two nodes" "4 OpenBLAS" "grep -ao 'OpenBLAS$' | uniq -c | sed 's/^ *//'" -- \
    srun -Q -w n1,n2 -N2 -n4 "${with[@]}" dgemm 300

# HPL, as a part of hpcc, on two ranks.
hpl_input 200
for it in "HPL on the image's own MPI|hybrid" "HPL on the host's MPI and BLAS|host"; do
    try "${it%|*}" "1 tests completed and passed residual checks" \
        -- bash -c 'cd hpl && rm -f hpccoutf.txt &&
        OPENBLAS_NUM_THREADS=1 timeout 120 srun -Q -w n1 -n2 --mpi=pmix "$@" hpcc >/dev/null 2>&1
        grep -o "[0-9]* tests completed and passed residual checks" hpccoutf.txt | tail -n 1' - \
            "${with[@]}" --mpi-bind="${it#*|}"
done
matches "... which srun -v both counts" \
    "2 of 2 ranks loaded the host's Open MPI [0-9.]+; 2 loaded the host's libblas.so.3 .openblas." \
    "$(alice bash -c \
    'cd hpl && OPENBLAS_NUM_THREADS=1 timeout 120 srun -v -w n1 -n2 --mpi=pmix --mpi-bind=host "$@" hpcc 2>&1' - "${with[@]}")"

printf '%s\n' 'rules:' '  - force: {container-libs: openblas}' | site n1
try "a site's rule" "~OpenBLAS\$" -- "${one[@]}" --container-image=$image dgemm 300
site n1 </dev/null

# An image's own OpenBLAS, and programs that are linked with it by its own name.
own=(--container-image=/images/openblas.sif --container-libs=openblas)
loaded() {
    equal "$1" "berth: n1: note: image '/images/openblas.sif': --container-libs=openblas: 1 of 1
        ranks loaded the host's $2 (openblas)
berth: n1: note: the host's $2 (openblas) is in the place of the image's" \
        "$(alice srun -v -w n1 -n1 "${own[@]}" "./$3" 1500 2>&1 | grep -a 'note: .*(openblas)' |
        sort)"
}
try "an image's OpenBLAS is replaced" "~^dgemm 300: .*OpenBLAS\$" \
    -- "${one[@]}" "${own[@]}" ./dgemmopen 300
loaded "... and srun -v says that a rank has the host's" libblas.so.3 dgemmopen
loaded "... also under the name of BLAS" libblas.so.3 dgemm
on n1 root bash -c \
    "mkdir /opt/openblas && mv $lib/openblas-pthread /opt/openblas/lib &&
    rm $lib/lib{blas,lapack}.so.3 &&
    ln -sf /opt/openblas/lib/libopenblas.so.0 $lib/libopenblas.so.0 && ldconfig"
matches "a host with OpenBLAS by its own name alone" \
    "^openblas: libopenblasp-r[0-9.]*so, libraries, found by profile 'openblas'
  [^ ]*/libopenblas.so.0\$" "$(on n1 alice berth profiles | grep -A1 ^openblas:)"
loaded "... has it for programs by that name" libopenblasp-r0.3.29.so dgemmopen
try "... and for no other" \
    "~the image has no 'libopenblas.so.0' that the host's could replace; leave --container-libs
        out.status 1\$" -- "${one[@]}" "${with[@]}" dgemm
on n1 root bash -c "mv /opt/openblas/lib $lib/openblas-pthread && rmdir /opt/openblas"
openblas_remove n1
openblas_install n1

# A library of a vendor, whose SONAME is another: the site links the names to it.
on n1 root bash -c "mkdir -p /opt/vendor/lib /etc/slurm/profiles.d &&
    cp -L $lib/openblas-pthread/libopenblas.so.0 /opt/vendor/lib/libvendor.so.2 &&
    patchelf --set-soname libvendor.so.2 /opt/vendor/lib/libvendor.so.2 &&
    ln -s libvendor.so.2 /opt/vendor/lib/libblas.so.3 &&
    ln -s libvendor.so.2 /opt/vendor/lib/liblapack.so.3 &&
    cat >/etc/slurm/profiles.d/vendor.yaml" <<'END'
name: vendor
kind: libraries
prefix: /opt/vendor
replaces: [libblas.so.3, liblapack.so.3]
END
try "a library with another SONAME" "~^dgemm 300: .*OpenBLAS\$" \
    -- "${one[@]}" --container-image=$image --container-libs=vendor dgemm 300
try "under a Python, too" "~^solved True\$" -- "${one[@]}" --container-image=$image \
    --container-libs=vendor python3 blas.py

# A library that the image does not have, as a compiler's runtime that is not to be given away.
on n1 root bash -c "cp /opt/vendor/lib/libvendor.so.2 /opt/vendor/lib/libruntime.so.5 &&
    patchelf --set-soname libruntime.so.5 /opt/vendor/lib/libruntime.so.5 &&
    cat >/etc/slurm/profiles.d/vendor.yaml" <<'END'
name: vendor
kind: libraries
prefix: /opt/vendor
adds: [libruntime.so.5]
END
try "a library that the image lacks" "~libruntime.so.5\$" \
    -- "${one[@]}" --container-image=$image --container-libs=vendor \
    python3 -c 'import ctypes; print(ctypes.CDLL("libruntime.so.5")._name)'
finish

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# corpus.sh DIRECTORY: make files for the fuzz targets to start from, DIRECTORY/elf/* and
# DIRECTORY/closure/*, with $CC and the loader of this machine, DIRECTORY/wire/* and
# DIRECTORY/mount/*.
set -e
mkdir -p "$1/elf" "$1/closure" "$1/wire" "$1/mount"
cd "$1"
compile="${CC:-cc} -nostdlib -fno-builtin -w"

cat >library.c <<'C'
int ompi_mpi_comm_world[10];
extern int foreign;
const char *const texts[] = {"MPICH Version:      %s\n", "16:1:4", "4.2.3", "PMI_FD"};
int MPI_Init(void) { return foreign; }
int PMPI_Init(void) { return 1; }
C
cat >program.c <<'C'
extern int ompi_mpi_comm_world[10];
int MPI_Init(void);
void _start(void) { ompi_mpi_comm_world[0] = MPI_Init(); }
C
cat >map <<'MAP'
ONE { global: MPI_Init; ompi_mpi_comm_world; };
TWO { global: PMPI_Init; } ONE;
MAP
$compile -shared -fPIC library.c -Wl,-soname,libmpi.so.12 -o elf/library
$compile -shared -fPIC library.c -Wl,-soname,libmpi.so.12,--version-script=map \
    -Wl,--hash-style=sysv -o elf/versions
$compile -fno-pie -no-pie program.c -Wl,--allow-shlib-undefined,-rpath,/opt/mpi/lib \
    elf/versions -o elf/program
$compile -static program.c library.c -Dforeign=errno -o elf/static 2>/dev/null ||
    $compile -static -x c - -o elf/static <<'C'
void _start(void) { }
C
printf '#! /usr/bin/env python3 -u\n' >elf/script

LD_TRACE_LOADED_OBJECTS=1 "$(command -v sh)" >closure/sh 2>&1
LD_TRACE_LOADED_OBJECTS=1 "$(command -v make)" >closure/make 2>&1 ||
    cp closure/sh closure/make
cat >closure/missing <<'TEXT'
./a: /lib/libc.so.6: version `GLIBC_2.38' not found (required by /m/libhwloc.so.15)
	linux-vdso.so.1 (0x00007fe687cdd000)
	libb.so.1 => not found
	/lib64/ld-linux-x86-64.so.2 (0x00007fe687cdf000)
./a: error while loading shared libraries: libc.so: cannot open shared object file: No
Error loading shared library libx.so.1: No such file or directory (needed by ./a)
	statically linked
TEXT

printf '1;0:image=/a%%20b&mounts=/a:/b:ro&workdir=/w&env=A%%3D%%0A%%2C;12:writable=&args=-x;?:;.' >wire/table
printf '1;*:image=/a.sif&mpi-bind=hybrid&no-mount-home=&entrypoint=&env=B;.' >wire/all
printf '1;0:env=UCX_A%%3D1&env=HOME%%3D/h%%C3%%BC;1:;.' >wire/environment
printf '1;*:env=FI_A%%3D%%5C%%2C%%0A;.' >wire/environment-all
printf 'ALL,A=x,"B=x,y",UCX_A=1,NONE,C=%%41' >wire/export

printf '/a,/b:/c,/d:/e:ro,/f//g/../h:/i/./j/:rw' >mount/absolute
printf './a b:/c,d/../e,..:/f:ro,\303\251:/\303\251' >mount/relative
printf ':,/a:,a:b:c:d,/a:b,/a:/b:rx,,' >mount/none

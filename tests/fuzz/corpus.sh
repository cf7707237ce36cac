#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# corpus.sh DIRECTORY: make files for the fuzz targets to start from, DIRECTORY/elf/* and
# DIRECTORY/closure/*, with $CC and the loader of this machine, and the others with the
# texts below and with those that are shipped.
set -e
mkdir -p "$1/elf" "$1/closure" "$1/wire" "$1/mount" "$1/yaml" "$1/words" "$1/answers"
top=$(cd "${srcdir:-.}" && pwd)
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

printf '1;0:image=/a%%20b&mounts=/a:/b:ro&workdir=/w&env=A%%3D%%0A%%2C;12:writable=&args=-x;13:;.' \
    >wire/table
printf '1;*:image=/a.sif&mpi-bind=hybrid&no-mount-home=&entrypoint=&env=B;.' >wire/all
printf '1;0:env=UCX_A%%3D1&env=HOME%%3D/h%%C3%%BC;1:;.' >wire/environment
printf '1;*:env=FI_A%%3D%%5C%%2C%%0A;.' >wire/environment-all
{
    printf '1;request:image=/a;asked:image=/a&env=A%%3D1;terms:unset=B&image=1.2;'
    printf 'step:nodes=2&prints-component=&restored=A&restored=B;'
    printf 'task:argv0=./x&report-fd=5&memory-fd=6;mpi:holder=7&apart=1&directory=/a%%20b;.'
} >wire/order
printf 'ALL,A=x,"B=x,y",UCX_A=1,NONE,C=%%41' >wire/export

printf '/a,/b:/c,/d:/e:ro,/f//g/../h:/i/./j/:rw' >mount/absolute
printf './a b:/c,d/../e,..:/f:ro,\303\251:/\303\251' >mount/relative
printf ':,/a:,a:b:c:d,/a:b,/a:/b:rx,,' >mount/none

# Files of a site: one that says all, the profiles, and each fault once.
cat >yaml/site <<'YAML'
runtime: {path: /opt/apptainer, args: [--quiet, "a b"], share: no, start_timeout: 5,
          raw_args: [--nv]}
images: {roots: [/apps], uris: ["docker://a/"], owners: [root], cache: ~/cache,
         signatures: [0123456789abcdef0123456789ABCDEF01234567]}
mounts: {forced: [/scratch, "/a:/b:ro"], default: [/opt:/opt], forbidden: [/etc]}
environment: {capture: [MODEL_*], deny: ["*"], unset: [C]}
mpi:
  order: [mpich, openmpi-5]
  glibc: refuse
rules:
- partition: gpu
  account: climate
  default: {mpi-bind: host, container-env: ["A=b c", B=]}
  force: {container-writable: true}
  forbid: [container-args]
provenance: {file: /var/log/berth.json}
profiles_dir: /etc/p.d
YAML
cp "$top"/etc/profiles.d/*.yaml yaml
number=0
while read -r text; do
    number=$((number + 1))
    printf '%b' "$text" >"yaml/fault$number"
done <<'LINES'
runtime: 5\nimages: {root: [a]}\nmounts: {forced: [a, "/a:/b:rx"]}\nxyzzy: {}
[a]
hello
runtime: {path: {a: b}, share: maybe, raw_args: no, start_timeout: 86401, args: [\0047\0047]}
images: {roots: [/c/../d], cache: there, uris: [alpine], owners: [a b], signatures: [abc]}
environment: {capture: [1A], unset: [A*]}\nmpi: {glibc: no, default: a}
rules: [a, {partition: [a]}, {force: 5}, {forbid: {mpi-bind: [a]}}, {partitoin: x}]
runtime.path: /a\nprovenance: {digest: yes}\nrules: {a: b}
mpi: {glibc: refuse\n
runtime:\n\tpath: /a\n
%YAML 9.9\n---\nmpi: {}\n
a: 1\nb: 2\na: 3\n
a: &x [1]\nb: *x\n
&x a: 1\n
<<: *x\n
a: !!str 1\n
? [a]\n: 1\n
a: "x\\0y"\n
--- {}\n---\nmpi: {}\n
a: [[[[[[[[1]]]]]]]]\n
mpi: {}\na: \0377\n# \0001
\0357\0273\0277# a mark\n~\n
name: My MPI\nfamily: mpi\nlibrarys: []\nlibraries: [a, /lib/b]\nmatch: {vendors: a, needs: b}
name: host\nfamily: mpich\nroot: [a]\nbinds: [run]\ndevices: [/run]
name: host\nfamily: mpich\ndata: [{from: [/a], to: ../b}, {to: c}]
LINES

# What users type.
printf '%s\0' srun -n2 --het-group=0,2-4 --container-image=docker://h:5/a/b@sha256:0 \
    --container-mounts=/a,b:/c:ro '--container-env=A=1\,2,B' --mpi-bind ./a : -n 4 \
    --het-group '[1,5]' --container-image=./x:.sif '--container-args=--nv -B /a' ./b >words/several
printf '%s\0' srun --pack-group=1 --container-image=none --container-gpu=rocm \
    --container-lifetime=job \
    --container-explain=json --no-container-mount-home --container-workdir=/w \
    --container-writable --container-entrypoint --mpi-bind=hybrid -- true >words/options
{
    printf '0-3,7 --container-image=/a --mpi-bind --container-env N=%%t '"'./a b'"' %%o\n'
    printf '* --container-image=none ./b\n'
} >words/lines
printf '0-3 ./a x \\\n  y\n\n# 4\n4,5\t./b %%t\n' >words/multiprog

# What others say.
cat >answers/signed <<'JSON'
{"Signatures": 1, "SignerKeys": [{"Signer": {"Partition": "FS", "Name": "a \"{}\u003c",
"Fingerprint": "12AB34cd", "KeyLocal": true, "KeyCheck": true, "DataCheck": true}}]}
JSON
printf '\033[31mFATAL:\033[0m  While pulling docker://a: toomanyrequests\r\n 50 / 100 \r' \
    >answers/pull
printf 'PATH=/bin\0LD_LIBRARY_PATH=\0A=\303\274\0B=\377\0' >answers/environment
printf '# x\nrequired berth.so option_prefix=b-\nkey = "a b" # c\ninclude d/*.conf\n' >answers/lines
{
    printf '1;stage:profile=mpich&version=MPICH%%204.2.1&from=/a&mounted=/b'
    printf '&files=lib/a.so&files=a.so.1&files=5'
    printf '&links=mpi/a.so&links=../lib/a.so&set=A%%3Db%%3Dc&sources=/a&sources=1.2.3.4.5;.'
} >answers/manifest

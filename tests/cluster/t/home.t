#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# berth in the home of a user, on hosts where nobody has installed it: built on Debian 12
# and checked without Slurm's headers, moved, run on this release, and on a newer one.

# shellcheck disable=SC2016 # words for other shells
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/mpiruns.sh"
# shellcheck source-path=SCRIPTDIR/../lib
. "$here/../lib/install.sh"

need_images a mpich
A=--container-image=/images/a.sif

mkdir -p "$work/home/src"
(cd "$here/../../.." && source_files | tar c --verbatim-files-from --no-recursion -T -) |
    tar x -C "$work/home/src"
chown -R 2001:2001 "$work/home"
"$tool" box builder "$work/home:/home/alice" -- sh -c 'rm -r /usr/include/slurm
    exec setpriv --reuid=2001 --regid=2001 --clear-groups env HOME=/home/alice sh -ec "$0"' \
    'cd ~/src && ./autogen.sh &&
    ./configure --prefix=$HOME/berth --without-slurm --enable-werror CFLAGS=-O0
    make -s -j2 && make -s check check_PROGRAMS= TESTS=tests/unit/berth.sh && make -s install' \
        >"$work/log" 2>&1 || { tail -n 40 "$work/log"; exit 1; }
at_exit 'on login alice rm -rf tools'
on login alice mkdir tools
tar -C "$work/home" -c --transform 's,^berth,mine,' berth | on login alice tar -C tools -x
tree=/home/alice/tools/mine
mine=$tree/bin/berth

plugin=$(on login root sed -nE 's/^required ([^ ]+).*/\1/p' /etc/slurm/plugstack.conf.d/berth.conf)
hide "login,$nodes" {/usr/bin,/usr/libexec,/usr/share}/berth \
    /etc/slurm/plugstack.conf.d/berth.conf "$plugin" /usr/bin/patchelf

try "doctor finds nothing wrong" "~nothing wrong$" -- "$mine" doctor
says "it names the programs of its tree" "^ok    berth's programs: .*, in '$tree/libexec/berth'"
says "and its settings, and no other tree" \
    "^ok    berth.yaml: none \('$tree/etc/slurm/berth.yaml'\)" "/home/alice/berth|/usr/[a-z]*/berth"
says "it names its own patchelf" "^ok    patchelf: $tree/libexec/berth/patchelf"
says "the plugin is missing, and nothing to repair" '^note  plugstack.conf: .*do not name berth.so'
says "srun berth run is the remedy" 'remedy: use `srun berth run`; administrators'
try "the documents are there, and what they link to" 7 "wc -l" -- \
    ls "$tree"/share/doc/berth/{README.md,SECURITY.md,NEWS,LICENSE} \
        "$tree"/share/doc/berth/doc/{guide.md,node.svg,README.md}
try "explain" "component 0: one task on this host runs true in /images/a.sif" 'head -n 1' \
    -- "$mine" explain "$A" true
try "qualify finds its script" '~usage: berth qualify' -- "$mine" qualify --help
try "steps" $'a\na' -- srun -N2 -n2 "$mine" run "$A" cat /etc/berth-image
world "the host's MPI, with the tree's patchelf" 4 'MPICH.*4[.]2[.]1' \
    srun -N2 -n4 --mpi=pmi2 "$mine" run --container-image=/images/mpich.sif --mpi-bind=host mpiring

# sid COMMAND...: on a host that lacks berth's libraries.
sid() {
    "$tool" box sid "$work/home:/home/alice" -- sh -c \
        'rm /usr/lib/*/libyaml* /usr/lib/*/libelf* /usr/lib/*/libstdc*
        exec setpriv --reuid=2001 --regid=2001 --clear-groups env HOME=/home/alice "$@"' sh "$@"
}
try "a newer release, without the libraries: berth.yaml is read" \
    'there is none, and the defaults hold' \
    "sed 's/.*: //'" -- sid /home/alice/berth/bin/berth check
try "and programs are" '~versions of glibc that it needs: GLIBC_2' \
    -- sid /home/alice/berth/bin/berth inspect /bin/true
try "and patchelf starts" '~^patchelf [0-9]' -- sid /home/alice/berth/libexec/berth/patchelf \
    --version
soon "nothing is left on the host" "status 1" -- on login root pgrep -u alice -a \
    'apptainer|singularity|starter|berth'

finish

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# berth doctor and berth inspect on real hosts and images: each fault is made on a node,
# and doctor names it there, with a remedy; inspect tells of images what is in them.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images a mpich musl openmpi

task_prolog || exit 1
doctor=(on n1 alice timeout -k 10 "${LIMIT:-180}" berth doctor)
try "a node is fit: exit status" "~" -- "${doctor[@]}"
equal "a node is fit: nothing is wrong" "" "$(grep '^wrong' <<<"$seen")"
matches "the last line counts" \
    $'\n'"$(($(wc -l <<<"$seen") - 1 - $(grep -c '^      remedy: ' <<<"$seen"))) checked, "'([0-9]+ notes?, )?nothing wrong$' "$seen"
matches "the runtime and the plugin are told" \
    'ok    runtime: (apptainer|singularity-ce) version .*ok    plugin: .*berth.so., for Slurm
        [0-9]+\.[0-9]+' "$seen"

# sick TITLE PATTERN BREAK REPAIR: root breaks something on n1, and repairs it.
sick() {
    spoil n1 "$3" "$4" || exit 1
    try "$1" "~(^|$nl)$2[^$nl]*$nl      remedy: .*status 1$" -- "${doctor[@]}"
    put_back
}

stack=/etc/slurm/plugstack.conf.d
plugin=$(on n1 root sed -nE 's/^required ([^ ]+).*/\1/p' $stack/berth.conf)
sick "a /dev/fuse for root alone" 'wrong /dev/fuse: its mode is 0600' \
    'chmod 0600 /dev/fuse' 'chmod 0666 /dev/fuse'
sick "no runtime" 'wrong runtime: container runtime: neither apptainer nor singularity' \
    'mkdir /root/hidden; mv /usr/bin/{apptainer,singularity} /root/hidden; :' \
    'mv /root/hidden/* /usr/bin'
echo 'runtime: {path: /opt/none/apptainer}' | on n1 root tee /etc/slurm/berth.yaml >/dev/null
try "a runtime.path that is not there: text and remedy agree" \
    "~wrong runtime: container runtime '/opt/none/apptainer': No such file or directory
      remedy: correct runtime.path in berth.yaml, or install the runtime there
.* checked, .*1 wrong${nl}status 1$" -- "${doctor[@]}"
on n1 root rm /etc/slurm/berth.yaml
sick "a plugin for another release of Slurm" \
    "wrong plugin: '/tmp/berth.so' is for Slurm 22.05, and this host has" \
    "perl -0pe 's/\\x05\\x0b\\x18\\0/\\x05\\x05\\x16\\0/g' $plugin >/tmp/berth.so
    sed -i.before 's|$plugin|/tmp/berth.so|' $stack/berth.conf" \
    "mv $stack/berth.conf.before $stack/berth.conf; rm /tmp/berth.so"

# The limit of a user namespace of its own, so that no other host has it.
seen=$(on n1 root unshare --user --map-root-user \
    sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && berth doctor' 2>&1)
matches "no user namespaces" 'wrong user namespaces: user.max_user_namespaces is 0' "$seen"

try "all is repaired" "" "grep '^wrong\|^status'" -- "${doctor[@]}"

# Are the nodes alike? The lines that not all four print.
alike=("sort | uniq -c | grep -v '^ *4 '" -- srun -Q -N4 --ntasks-per-node=1 berth doctor)
try "four nodes are alike" "" "${alike[@]}"
on n3 root sed -i 's/berth\.so$/& option_prefix=x-/' $stack/berth.conf
try "a node with another configuration stands out" \
    '~ 1 ok    configuration: .* 3 ok    configuration: |3 ok    configuration: .* 1
        ok    configuration: ' "${alike[@]}"
on n3 root sed -i 's/ option_prefix=x-$//' $stack/berth.conf
on n2 root chmod 0600 /dev/fuse
try "a node with a fault names it" '~ 1 wrong /dev/fuse: ' "${alike[@]}"
on n2 root chmod 0666 /dev/fuse

# (tests/unit/inspect.c has what it prints.)
try "inspect: the MPI and the C library of an image" \
    '~C library: glibc, up to GLIBC_2\.[0-9]+.*has MPICH [0-9.]+: /usr/lib/.*libmpich.*srun --mpi:
        pmi2' -- berth inspect /images/mpich.sif
try "inspect: Open MPI" '~has Open MPI [0-9.]+: .*srun --mpi: .*pmix' \
    -- berth inspect /images/openmpi.sif
try "inspect: a sandbox without MPI" '~sandbox directory.*MPI: none was found' \
    -- berth inspect /images/a.dir
try "inspect: a program, and what --mpi-bind would make of it" \
    '~linked with MPI: MPICH.*loads MPICH.*--mpi-bind=mpich \(MPICH [0-9.]+\): (yes|no)' \
    -- berth inspect /images/mpich.sif mpiring
try "inspect: a program with musl" '~C library: musl.*--mpi-bind=mpich .*: no: the image has musl' \
    -- berth inspect /images/musl.sif /opt/t/who
try "inspect: a program that is not there" \
    "~^berth: image '/images/a.sif': 'nothing' is not there; [^$nl]*${nl}status 1$" \
    -- berth inspect /images/a.sif nothing
hide_runtime login
try "inspect: without a runtime" '~^berth: container runtime: .*status 1' \
    -- berth inspect /images/mpich.sif
put_back

finish

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A step of several nodes runs on one MPI: what is wrong with a node makes it refuse the
# step, and not choose another MPI than the others.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images mpibookworm musl a
who=/opt/t/mpich/who
image=/images/mpibookworm.sif
LIMIT=60

one=(srun -Q -w n2 -N1 --ntasks-per-node=1 --mpi=pmi2 "--container-image=$image")
both=(srun -Q -w "n1,n2" -N2 --ntasks-per-node=1 --mpi=pmi2 "--container-image=$image")

# differ TITLE WORDS BREAK MEND ALONE: what BREAK, a command of root on n2, does to a step.
# ALONE is what n2 does by itself: it uses `own`, the image's MPI, or `next`, another of the host.
reasons=0
lib=/lib/x86_64-linux-gnu
own="berth: n2: [^$nl]*: the image's own MPI runs \(hybrid\): [^$nl]*"
differ() {
    on n2 root rm -rf /tmp/berth-2001
    on n2 root sh -c "$3"
    try "$1: the node refuses" \
        "~berth: n2: image '$image': --mpi-bind=auto: [^$nl]*$2[^$nl]*; all nodes need the same MPI: .*--mpi-bind=hybrid.*status [1-9]" -- \
        "${both[@]}" --mpi-bind $who
    equal "$1: and no rank runs on another MPI" "" "$(grep -a '^rank .*4[.]0[.]2' <<<"$seen")"
    case $5 in
    own) try "$1: alone it takes the image's own, and says so" "~$own$2.*rank 0 of 1.*4[.]0[.]2" \
        -- "${one[@]}" --mpi-bind $who ;;
    next) try "$1: alone it takes the next of the host" "~rank 0 of 1.*4[.]2[.]1" \
        -- "${one[@]}" --mpi-bind $who ;;
    esac
    # The rest is the same for all reasons: each fifth one stands for them, but in tests/every.
    if ((reasons++ % 5 == 0)) || [[ ${BERTH_EVERY-} ]]; then
        try "$1: so it does with host" "~berth: n2: [^$nl]*$2.*status [1-9]" \
            -- "${both[@]}" --mpi-bind=host $who
        try "$1: --container-explain says so" "~berth: n2: .*$2.*; all nodes need .*status [1-9]" \
            -- "${both[@]}" --mpi-bind --container-explain $who
        # Not with MPI: the image's own 4.0.2 hangs between nodes now and then, by itself too.
        try "$1: hybrid runs on both" "~" -- "${both[@]}" --mpi-bind=hybrid true
    fi
    on n2 root sh -c "$4"
}

# The rows of the table in doc/mpi.md whose reason lies in a node.
site_profile='mkdir -p /etc/slurm/profiles.d; printf "%s\n"'
differ "no patchelf" "patchelf: not installed on this node" \
    "mv /usr/bin/patchelf /usr/bin/patchelf.off" "mv /usr/bin/patchelf.off /usr/bin/patchelf" own
differ "a directory that others may use" "has mode " \
    "mkdir /tmp/berth-2001; chown alice: /tmp/berth-2001; chmod 777 /tmp/berth-2001" \
    "rm -rf /tmp/berth-2001" own
differ "a full /tmp" "No space left" \
    "mount -t tmpfs -o size=1m,mode=1777 none /tmp" "umount -l /tmp" own
differ "a /tmp without exec" "mounted noexec" \
    "mount -t tmpfs -o noexec,mode=1777 none /tmp" "umount -l /tmp" own
differ "a copy that the loader cannot load" "libhwloc.so.15: invalid ELF header" \
    "berth profiles --prepare >/dev/null; dd if=/dev/zero of=\$(echo /var/lib/berth/stage/mpich-*/lib/libhwloc.so.15) bs=64 count=1 conv=notrunc 2>/dev/null" \
    "rm -rf /var/lib/berth/stage" own
differ "a runtime that mounts nothing for users" "'/.berth/user/mpich-[^']*': cannot be read" \
    "sed -i 's/^user bind control = yes/user bind control = no/' /etc/$runtime_name/$runtime_name.conf" \
    "sed -i 's/^user bind control = no/user bind control = yes/' /etc/$runtime_name/$runtime_name.conf" own
differ "the host's MPI is not there" "the program wants MPICH, and the MPI of this host is" \
    "mkdir /off; mv $lib/libmpich.so.12* /off; ldconfig" \
    "mv /off/* $lib; rmdir /off; ldconfig" own
# What gives n2 another MPI: a text in it is another one.
# shellcheck disable=SC2016 # for a shell of n2's
mpich='it=$(readlink -f /lib/x86_64-linux-gnu/libmpich.so.12)'
differ "another release of the host's MPI" "lacks 1 of the [0-9]+ MPI symbols" \
    "$mpich; cp -p \$it /root; sed -i s/MPI_Get_library_version/MPI_Get_library_versioX/g \$it" \
    "$mpich; mv /root/libmpich.so.* \$it" own
differ "a library that it needs" "needs 'libnowhere.so.1', which this host does not find" \
    "$mpich; cp -p \$it /root; patchelf --add-needed libnowhere.so.1 \$it" \
    "$mpich; mv /root/libmpich.so.* \$it" own
# One task needs no process manager.
differ "another process manager" "so each of the 2 tasks would be rank 0 of 1" \
    "$mpich; cp -p \$it /root; sed -i s/PMI_FD/PMX_FD/g \$it; patchelf --add-needed libpmix.so.2 \$it" "$mpich; mv /root/libmpich.so.* \$it" next
differ "a C library that only n2's site refuses" "which this site does not allow" \
    "echo 'mpi: {glibc: refuse, compare: no}' >/etc/slurm/berth.yaml" "rm /etc/slurm/berth.yaml" own
differ "a conflict of a profile" "does not go with 'libc.so.6'" \
    "$site_profile 'name: picky' 'family: mpich' 'conflicts: {libraries: [libc.so.6]}' >/etc/slurm/profiles.d/picky.yaml" \
    "rm -r /etc/slurm/profiles.d" own

differ "a container for each task" "the site says share: no" \
    "echo 'runtime: {share: no}' >/etc/slurm/berth.yaml" "rm /etc/slurm/berth.yaml" own
starter=$(built LIBEXECDIR)/$runtime_name/bin/starter
! can_setuid || differ "a setuid runtime" "the runtime is installed setuid" \
    "install -m 4755 $starter $starter-suid" "rm $starter-suid" own

# An image with two MPIs, and n2 has not the one that the program opens.
on n2 root sh -c "mkdir /off; mv $lib/libmpi.so.40* /off; ldconfig"
# shellcheck disable=SC2016 # for a shell of the image's
try "two MPIs in an image: the node refuses" \
    "~berth: n2: [^$nl]*the host's MPICH 4[^ ]* uses PMI and the step has --mpi=pmix[^$nl]*; all nodes need the same .*status [1-9]" -- "${both[@]}" --mpi=pmix --mpi-bind sh -c 'p=/opt/t/open; ${p}mpi/who'
on n2 root sh -c "mv /off/* $lib; rmdir /off; ldconfig"

# An MPI of the site comes first, and n2 has not mounted it.
on n1,n2 root sh -c \
    "$site_profile 'name: site' 'family: mpich' 'prefix: /srv/mpich' >/etc/slurm/profiles.d/site.yaml
        mkdir -p /srv/mpich/lib; cp $lib/libmpich.so.12 /srv/mpich/lib"
differ "an MPI of the site that is not mounted" \
    "profile 'site': this node has no such library in '/srv/mpich'" \
    "mv /srv/mpich /srv/away" "mv /srv/away /srv/mpich" next
try "it is used on both where it is there" \
    "~rank 0 of 2" -- "${both[@]}" --mpi-bind=host $who
# A second profile of the same install is not missing, and has a name.
on n1,n2 root sh -c \
    'sed "s/name: site/name: twin/" </etc/slurm/profiles.d/site.yaml >/etc/slurm/profiles.d/a-twin.yaml'
try "two profiles of one install are both there" \
    "~rank 0 of 2" -- "${both[@]}" --mpi-bind=host $who
try "and both by name" \
    "~rank 0 of 2" -- "${both[@]}" --mpi-bind=site $who
on n1,n2 root rm -r /etc/slurm/profiles.d /srv/mpich

# The host's network libraries under the image's own MPI.
# network TITLE WORDS BREAK MEND: the same with --container-libs=auto.
network() {
    on n2 root rm -rf /tmp/berth-2001
    on n2 root sh -c "$3"
    try "$1: the node refuses" \
        "~berth: n2: image '$image': --container-libs=auto: [^$nl]*$2[^$nl]*; all nodes need the same network libraries: .*--container-libs=none.*status [1-9]" -- \
        "${both[@]}" --container-libs=auto $who
    equal "$1: and no rank runs" "" "$(grep -a '^rank ' <<<"$seen")"
    try "$1: alone it runs" "~rank 0 of 1.*4[.]0[.]2" -- "${one[@]}" --container-libs=auto $who
    try "$1: the image's own runs on both" "~" -- "${both[@]}" --mpi-bind=hybrid \
        --container-libs=none true
    on n2 root sh -c "$4"
}
network "network without patchelf" "patchelf: not installed on this node" \
    "mv /usr/bin/patchelf /usr/bin/patchelf.off" "mv /usr/bin/patchelf.off /usr/bin/patchelf"
network "a network library of an older release" "the host's libucp.so.0.0.0 [^"$'\n'"]*lacks" \
    "it=\$(readlink -f $lib/libucp.so.0); cp -p \$it /root; sed -i s/ucp_tag_send_nbx/ucp_tag_send_nbX/g \$it" \
    "mv /root/libucp.so.* $lib"
network "no network library that the program uses" "this node has no 'libucp.so.0'" \
    "mkdir /off; mv $lib/libucp.so* /off; ldconfig" "mv /off/* $lib; rmdir /off; ldconfig"
network "a container for each task without the network" "the site says share: no" \
    "echo 'runtime: {share: no}' >/etc/slurm/berth.yaml" "rm /etc/slurm/berth.yaml"
on n1,n2 root sh -c \
    "$site_profile 'name: net' 'kind: fabric' 'replaces: [libucp.so.0, libuct.so.0, libucs.so.0, libucm.so.0]' 'prefix: /srv/ucx' >/etc/slurm/profiles.d/net.yaml
        mkdir -p /srv/ucx/lib; cp -a $lib/libuc[pstm].so.* $lib/ucx /srv/ucx/lib"
network "a network library of the site that is not mounted" \
    "profile 'net': this node has no such library in '/srv/ucx'" \
    "mv /srv/ucx /srv/away" "mv /srv/away /srv/ucx"
# What both use is explained; the image's own MPICH 4.0.2 hangs between nodes now and then.
used="the host's libucp.so.0.0.0 .net. runs under the image's own MPI"
uses_net="~($used.*berth: n2: note: $used|berth: n2: note: $used.*$used)"
explain=("${both[@]}" --container-libs=auto --container-explain "$who")
try "it is used on both where it is there" "$uses_net" -- "${explain[@]}"
# Another partition has its own, which these nodes lack and which comes later.
on n1,n2 root sh -c \
    'sed "s/name: net/name: other/; s,/srv/ucx,/srv/other," </etc/slurm/profiles.d/net.yaml >/etc/slurm/profiles.d/other.yaml'
try "one for another partition is not missed" "$uses_net" -- "${explain[@]}"
on n1,n2 root rm -r /etc/slurm/profiles.d /srv/ucx

# A plugin for NCCL, in a step with GPUs: an image with its own, or its variable, is so on both.
on n1,n2 root sh -c "$site_profile 'name: plug' 'kind: fabric' 'adds: [libnccl-net.so]' \
    'environment: [NCCL_NET_PLUGIN=\$STAGE/lib/libnccl-net.so]' 'prefix: /srv/nccl' >/etc/slurm/profiles.d/plug.yaml"
on n1 root sh -c \
    "mkdir -p /srv/nccl/lib; cp -L $lib/libz.so.1 /srv/nccl/lib/libnccl-net.so; patchelf --set-soname libnccl-net.so /srv/nccl/lib/libnccl-net.so"
gpu=("${both[@]}" --gres=gpu:1 --container-libs=auto)
try "a plugin for NCCL that is not mounted: the node refuses" \
    "~berth: n2: [^$nl]*profile 'plug': this node has no such library in '/srv/nccl'; have it mounted here, .*; all nodes need .*status [1-9]" -- \
    "${gpu[@]}" --export=ALL true
try "a plugin of the user's: the first node says so for all" \
    "~berth: n1: note: [^$nl]*the host's 'libnccl-net.so' is left out: the program has its own, 'NCCL_NET_PLUGIN'" -- \
    "${gpu[@]}" --export=ALL,NCCL_NET_PLUGIN=mine true
equal "and no other node does" 1 "$(grep -ac "is left out" <<<"$seen")"
on n1,n2 root rm -rf /etc/slurm/profiles.d /srv/nccl

# A mode that the site sets ends the step like one that the user gives.
site login n1 n2 <<<'rules: [{default: {mpi-bind: auto}}]'
on n2 root sh -c "mv /usr/bin/patchelf /usr/bin/patchelf.off; rm -rf /tmp/berth-2001"
try "a default: what one node refuses ends the step on the other" \
    "~berth: n2: [^$nl]*patchelf: not installed[^$nl]*; all nodes need .*status (1|143)$" \
    -- "${both[@]}" $who
on n2 root mv /usr/bin/patchelf.off /usr/bin/patchelf
site login n1 n2 </dev/null

# What lies in the program is the same on both. (MPICH 4.0.2 is not run: see above.)
try "a static program: the first node says so for all" \
    "~berth: n1: [^$nl]*: the image's own MPI runs \(hybrid\): .* is linked statically" \
    "grep ^berth:" -- "${both[@]}" --mpi-bind sh -c 'false && /opt/t/mpich/static; :'
equal "and no other does" 1 "$(grep -ac "the image's own MPI runs" <<<"$seen")"

try "musl: the first node says so for all" \
    "~berth: n1: [^$nl]*: the image's own MPI runs \(hybrid\): the image has musl" \
    -- "${both[@]/mpibookworm/musl}" --mpi-bind /opt/t/who
equal "musl: and no other does" 1 "$(grep -ac "the image's own MPI runs" <<<"$seen")"

# A program with marks of two MPIs, which never runs.
alice srun -n1 --container-image=$image cp $who two &&
    alice patchelf --add-needed libmpi.so.40 two || exit 1
try "two MPIs in a program: the first node says so for all" \
    "~the image's own MPI runs \(hybrid\): berth cannot tell which MPI the program wants \(marks of: .* and " -- "${both[@]}" --mpi-bind --container-explain ./two
alice rm two

# Of an image that is not searched as a whole nobody can tell that it has no MPI.
alice mkdir -p deep/1/2/3/4/5/6/7/8/9
deep=(--container-mounts=/home/alice/deep:/opt/deep)
try "an image that is searched in part: host refuses" \
    "~berth: n[12]: [^$nl]*is not linked with MPI, and the image is too large to be searched for MPI libraries as a whole; start the program itself.*status [1-9]" -- "${both[@]/mpibookworm/a}" --mpi-bind=host "${deep[@]}" true
try "... and auto explains it" \
    "~the image is too large to be searched" -- "${both[@]/mpibookworm/a}" --mpi-bind \
    --container-explain "${deep[@]}" true
alice rm -r deep
none="berth: n1: note: '[^']*/true' is not linked with MPI, and no MPI library was found in the image; name the program that uses MPI, or leave --mpi-bind out"
try "an image without MPI: auto says so once" "~^$none$" \
    -- "${both[@]/mpibookworm/a}" --mpi-bind true
site login n1 n2 <<<'rules: [{default: {mpi-bind: auto}}]'
try "... but not for the default of a site" "" -- "${both[@]/mpibookworm/a}" true
matches "... whose account says whose wish it was" \
    "no MPI library was found in the image; nothing is bound .the site sets --mpi-bind=auto." \
    "$(alice "${both[@]/mpibookworm/a}" --container-explain true 2>&1)"
site login n1 n2 <<<'rules: [{default: {mpi-bind: host}}]'
matches "... and its error what a user can do" \
    "no MPI library was found in the image; name the program that uses MPI, or give --mpi-bind=off in the place of what the site sets" \
    "$(alice "${both[@]/mpibookworm/a}" true 2>&1)"
site login n1 n2 </dev/null

# Of what both do, both give an account.
try "--container-explain: the other node says whose MPI runs there" \
    "~berth: n2: note: .*the host's MPICH" -- "${both[@]}" --mpi-bind --container-explain $who
equal "the account comes once" 1 "$(grep -c '^component 0' <<<"$seen")"
finish

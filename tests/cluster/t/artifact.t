#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A directory of libraries that a site has built, on a shared file system, in the place of
# copies: the UCX and the MPICH of Debian 13, with their whole closure and its C library, under
# programs of Debian 12. Each fault of such a directory has its line.

# shellcheck disable=SC2016 # words for other shells
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images mpibookworm
image=/images/mpibookworm.sif
top=/shared/netstack
net=$top/$(uname -m)
lib=/usr/lib/x86_64-linux-gnu

clean_up() {
    local node
    for node in n1 n2; do on "$node" root rm -rf /etc/slurm/profiles.d; done
    on n1 root rm -rf $top
}
trap clean_up EXIT

# build DIRECTORY FILE...: libraries of the host, what they and the modules of UCX need, and
# the C library; each searches the others in DIRECTORY.
on n1 root bash -c 'cat >/root/build && chmod +x /root/build' <<'END'
#!/bin/bash
to=$1
shift
mkdir -p "$to/lib" "$to/glibc"
cp -r /usr/lib/x86_64-linux-gnu/ucx "$to/lib"
for file in "$@" "$to"/lib/ucx/*.so.0; do
    ldd "$file" | sed -nE 's/.*=> (\/[^ ]+) .*/\1/p'
    [[ $file == "$to"/* ]] || echo "$file"
done | sort -u | while read -r file; do
    case ${file##*/} in
    libc.so.6 | libm.so.6 | libpthread.so.0 | libdl.so.2 | librt.so.1 | libresolv.so.2) cp -L "$file" "$to/glibc" ;;
    *) cp -L "$file" "$to/lib" ;;
    esac
done
cp -L /lib64/ld-linux-x86-64.so.2 /usr/lib/x86_64-linux-gnu/lib{c,m,dl,rt,pthread,resolv,nss_files,nss_dns}.so.[0-9]* "$to/glibc"
find "$to/lib" -name '*.so*' -type f -exec patchelf --force-rpath --set-rpath "$to/lib" {} +
END
for version in 1.0 2.0; do
    on n1 root /root/build "$net/$version" $lib/lib{ucp,uct,ucs,ucm}.so.0 $lib/libmpich{,fort}.so.12 || exit 1
done

# latest VERSION: the link leads there.
latest() { on n1 root ln -sfn "$1" "$net/latest"; }

# profile NAME TEXT: that profile on n1 and n2.
profile() {
    local node
    for node in n1 n2; do
        on "$node" root bash -c 'mkdir -p /etc/slurm/profiles.d && cat >"/etc/slurm/profiles.d/$1.yaml"' - "$1" <<<"name: $1
$2"
    done
}
latest 1.0
profile net "kind: fabric
replaces: [libucp.so.0, libuct.so.0, libucs.so.0, libucm.so.0]
artifact: $top/\$arch/latest"

equal "berth profiles says where it is" "net: libucp.so.0 of $net/1.0, a fabric, found by profile 'net'
  $net/1.0/lib/libucp.so.0
  $net/1.0/lib/libuct.so.0
  $net/1.0/lib/libucs.so.0
  $net/1.0/lib/libucm.so.0
  profile: net, the site's
  artifact: $top/\$arch/latest" "$(on n1 alice berth profiles 2>&1 | awk '/^[^ ]/ { on = /^net:/ } on')"
equal "there is nothing to copy" "" \
    "$(on n1 root sh -c 'berth profiles --prepare >/dev/null && ls /var/lib/berth/stage | grep ^net; rm -rf /var/lib/berth/stage')"

# What ranks and berth say, without what differs in each run.
said() {
    grep -aoE '^berth: .*|^rank .*|UCX +INFO +Version [0-9.]+|status [0-9]+$' |
        sed -E 's/(MPICH|Open MPI)[^0-9]*([0-9.]+).*/\1 \2/; s/ +/ /g' | LC_ALL=C sort -u
}
# two ARGUMENTS...: two ranks on two nodes.
two() {
    alice env UCX_LOG_LEVEL=info timeout -k 5 60 srun -w n1,n2 -N2 -n2 --mpi=pmi2 --container-image=$image "$@" 2>&1 | said
}
equal "the image's MPI runs on the artifact's UCX" "UCX INFO Version 1.18.1
rank 0 of 2 on n1 in mpibookworm: MPICH 4.0.2
rank 1 of 2 on n2 in mpibookworm: MPICH 4.0.2" "$(two --container-fabric=net /opt/t/mpich/who)"
equal "nothing was copied" "links" \
    "$(on n1 alice sh -c 'find /tmp/berth-2001/net-* -type f -name "*.so*" | grep . || echo links')"

# maps PATTERN PROGRAM ARGUMENTS...: the files of the directory, by their inodes, among those
# of that name that its processes have mapped; else what they have mapped.
maps() {
    local pattern=$1 program=$2
    shift 2
    alice timeout -k 5 60 srun -w n1 -N1 -n2 --mpi=pmi2 --container-image=$image "$@" "$program" -u 100000 -n 200000 -o /dev/null >/dev/null 2>&1 &
    on n1 root bash -c 'for i in {1..100}; do
        seen=$(cat $(pgrep -x "$2" | sed "s,.*,/proc/&/maps,") 2>/dev/null | awk -v name="$1" "index(\$6, name) { print \$5, \$6 }" | sort -u)
        [[ -z $seen ]] || break; sleep 0.1; done
        while read -r inode path; do find "$3" -inum "$inode" | grep . || echo "$path"; done <<<"$seen" | sort -u' - "$pattern" "$program" "$net"
    alice scancel -u alice
    wait
}
equal "so say the maps of its ranks" "$net/1.0/lib/libucp.so.0" \
    "$(maps libucp NPmpich2 --container-fabric=net)"
matches "and berth's witness" "ranks loaded the host's libucp.so.0 of $net/1.0 .net." \
    "$(alice timeout 60 srun -v -w n1 -n1 --mpi=pmi2 --container-image=$image --container-fabric=net NPmpich2 -o /dev/null -u 1000 -n 50 2>&1 | grep -a 'ranks loaded')"

# one TITLE EXPECTED ARGUMENTS...: what one task says, and how it ends.
one() {
    local title=$1 expected=$2
    shift 2
    matches "$title" "$expected" "$(alice bash -c 'timeout 60 srun -Q -n1 -w n1 --mpi=pmi2 "$@" 2>&1; echo "status $?"' - \
        --container-image=$image "$@" | grep -av '^srun: error: n1')"
}
plan=(--container-fabric=net --container-explain /opt/t/mpich/who)
one "a plan names the directory" "on the host  libucp.so.0 of $net/1.0
  profile      net
  found by     profile 'net'
  artifact     $net/1.0
.*status 0" "${plan[@]}"
one "with auto it goes before the node's own" "^berth: n1: note: the host's libucp.so.0 of $net/1.0 .net. runs under the image's own MPI
rank 0 of 1 .*
status 0\$" --container-fabric=auto /opt/t/mpich/who
one "a container has no other version, and cannot write to it" "^1.0
status 1\$" --container-fabric=net sh -c "cd $net && ls && touch 1.0/x 2>/dev/null"
latest 2.0
one "the next step uses the version to which the link leads then" "artifact     $net/2.0
.*status 0" "${plan[@]}"
on login alice rm -f waiting switched
alice timeout 60 srun -Q -n1 -w n1 --container-image=$image --container-fabric=net --mpi-bind=hybrid sh -c \
    "touch waiting; until [ -e switched ]; do sleep 0.1; done; ls $net; ls $net/*/lib/libucp.so.0" >"/tmp/artifact.$$" 2>&1 &
on login alice sh -c 'for i in $(seq 300); do [ ! -e waiting ] || break; sleep 0.1; done'
latest 1.0
on login alice touch switched
wait
equal "a step that runs keeps its own" "2.0
$net/2.0/lib/libucp.so.0" "$(cat "/tmp/artifact.$$")"
rm -f "/tmp/artifact.$$"
on login alice rm -f waiting switched
one "back again" "artifact     $net/1.0
.*status 0" "${plan[@]}"
echo 'runtime: {share: never}' | site n1
one "where each task has a container" "^rank 0 of 1 on n1 in mpibookworm: MPICH [^
]*
status 0\$" --container-fabric=net /opt/t/mpich/who
site n1 </dev/null

profile netmpich "family: mpich
artifact: $net/latest"
equal "the host's MPI from such a directory" "rank 0 of 2 on n1 in mpibookworm: MPICH 4.2.1
rank 1 of 2 on n2 in mpibookworm: MPICH 4.2.1" "$(two --mpi-bind=netmpich /opt/t/mpich/who | grep rank)"
equal "is what its ranks have mapped" "$net/1.0/lib/libmpich.so.12" \
    "$(maps libmpi NPmpich2 --mpi-bind=netmpich)"
matches "and the witness knows it" "1 of 1 ranks loaded the host's MPICH 4.2.1 of $net/1.0" \
    "$(alice timeout 60 srun -v -w n1 -n1 --mpi=pmi2 --container-image=$image --mpi-bind=netmpich NPmpich2 -o /dev/null -u 1000 -n 50 2>&1 | grep -a 'ranks loaded')"

# fault TITLE SENTENCE COMMAND UNDO: what a step that names the profile says, and berth doctor.
place="profile 'net': "
fault() {
    on n1 root bash -c "$3"
    one "$1" "^berth: n1: image '$image': --mpi-bind=hybrid: (--container-fabric=net: )?($place)?$2
status 1\$" --container-fabric=net true
    matches "$1: berth doctor" "^wrong artifacts: $place$2" "$(on n1 alice berth doctor | grep '^wrong' | grep "'net'")"
    on n1 root bash -c "$4"
}
fault "a link that leads nowhere" "artifact: $net/latest: the link leads nowhere; link it to a directory" \
    "ln -sfn 3.0 $net/latest" "ln -sfn 1.0 $net/latest"
fault "a directory that is missing" "artifact: $net/latest: '$(uname -m)': No such file or directory; check the path" \
    "mv $net $net.away" "mv $net.away $net"
fault "a directory of a user's" "artifact: $net/latest: '1.0' belongs to user 2001, who could change it; expected root as the owner" \
    "chown alice $net/1.0" "chown root $net/1.0"
fault "a library of a user's" "$net/1.0: 'lib/libucs.so.0' belongs to user 2001, who could change it; expected root as the owner" \
    "chown alice $net/1.0/lib/libucs.so.0" "chown root $net/1.0/lib/libucs.so.0"
fault "a module that others can write" "$net/1.0: 'lib/ucx/[^']*' can be written by others .mode 0666.; chmod go-w" \
    "chmod 666 $net/1.0/lib/ucx/*" "chmod 644 $net/1.0/lib/ucx/*"
fault "libraries for another machine" "artifact: '$net/1.0/lib/libucp.so.0' is not for this machine .$(uname -m).; build one for each machine, and write .arch in the path" \
    "cp -a $net/1.0/lib/libucp.so.0 /root/kept; printf '\267' | dd of=$net/1.0/lib/libucp.so.0 bs=1 seek=18 conv=notrunc 2>/dev/null" \
    "mv /root/kept $net/1.0/lib/libucp.so.0"
fault "libraries that search beside themselves" "'$net/1.0/lib/libucp.so.0': searches 'libu[^']*' in '.ORIGIN', and not by an absolute path in '$net/1.0'; .*" \
    "cp -a $net/1.0/lib/libucp.so.0 /root/kept; patchelf --set-rpath '\$ORIGIN' $net/1.0/lib/libucp.so.0" \
    "mv /root/kept $net/1.0/lib/libucp.so.0"

on n1 root ln -sfn 3.0 "$net/latest"
one "with auto the step runs without it, and says so" \
    "berth: n1: warning: image '$image': --mpi-bind=hybrid: profile 'net': artifact: $net/latest: the link leads nowhere; link it to a directory; the profile is not used
status 0\$" --container-fabric=auto true
one "a step that asks for nothing of it says nothing" "^status 0\$" true
matches "berth check notes it" "profiles.d: note: profile 'net': artifact: $net/latest: the link leads nowhere" \
    "$(on n1 alice berth check 2>&1)"
latest 1.0

# What only the image sees.
on n1 root bash -c "cp -a $net/1.0/lib/libucs.so.0 /root/kept; patchelf --add-needed libsiteonly.so.1 $net/1.0/lib/libucs.so.0"
one "a library that is nowhere" "'libucs?[^']*' needs 'libsiteonly.so.1', which is neither in the artifact '$net/1.0' nor in the image; build the artifact with it, or leave --container-fabric out
status 1\$" --container-fabric=net /opt/t/mpich/who
on n1 root bash -c "mv /root/kept $net/1.0/lib/libucs.so.0; mv $net/1.0/glibc /root"
one "a C library that the image's is too old for" \
    "of the artifact '$net/1.0' needs GLIBC_2.38, which the image's C library .GLIBC_2.36. lacks, and the artifact brings none in 'glibc'; build it on an older distribution, or leave --container-fabric out
status 1\$" --container-fabric=net /opt/t/mpich/who
on n1 root mv /root/glibc "$net/1.0"
one "all is well again" "^rank 0 of 1 on n1 in mpibookworm: MPICH [^
]*
status 0\$" --container-fabric=net /opt/t/mpich/who
finish

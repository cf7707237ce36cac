#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SingularityCE without setuid, where it is not as Apptainer: on a cluster that has it
# (up --runtime), else a stand-in for it (singularity.pl).

# shellcheck disable=SC2016 # what stands in single quotes is for another shell
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images a b
mine=$runtime
if [[ $runtime_name == apptainer ]]; then
    mine=/home/alice/bin/singularity
    on login alice mkdir -p bin
    script bin/singularity <"$here/singularity.pl"
fi
image=--container-image=/images/a.sif
alice cp -f /images/a.sif mine.sif

# ce SHARE [LINE]...: the site has that runtime, and LINEs.
ce() {
    site n1 <<<"runtime:"$'\n'"  path: ${path:-$mine}"$'\n'"  share: $1$(printf '\n%s' "${@:2}")"
}

step=(srun -Q -w n1 -N1 -n2)
# The mounts, directories and processes on n1.
rest=(on n1 root bash -c \
    'ls -d /tmp/{rootfs-,check-overlay}[0-9]* 2>/dev/null; grep " fuse" /proc/mounts
        pgrep -u alice -a; :')

ce auto 'images:' '  roots: [/images, /home/alice/roots]'
try "an image of the site's" $'a\na' -- "${step[@]}" "$image" cat /etc/berth-image
soon "an image of the site's: nothing is left" "" -- "${rest[@]}"
try "the server of the image is traced" 1 \
    "awk '\$1 == \"Name:\" { name = \$2 }
        \$1 == \"TracerPid:\" && name ~ /^squashfuse/ { print (\$2 > 0) }' | sort -u" -- \
    "${step[@]}" "$image" sh -c 'sleep 1; cat /proc/[0-9]*/status 2>/dev/null'
live 2 -Q -w n1 -N1 -n2 "$image" sh -c "echo ready; $waits; cat /etc/berth-image"
on n1 root bash -c 'for i in {1..50}; do pkill -USR1 squashfuse; pkill -TERM squashfuse; done'
go
ends "... with its step" live 0
printed "... and the signals of others do not reach it" live 2 a
soon "... and its end: nothing is left" "" -- "${rest[@]}"

# The runtime finds another file under the name that was looked at.
on login alice bash -c \
    'mkdir -p roots; cp -f mine.sif roots/x.sif; cat >exchange; chmod +x exchange' <<SH
#!/bin/sh
case "\$*" in
*/home/alice/roots/x.sif*) cp /images/b.sif roots/y.\$\$
    mv -f roots/y.\$\$ roots/x.sif ;;
esac
exec $mine "\$@"
SH
path=/home/alice/exchange ce auto 'images:' '  roots: [/images, /home/alice/roots]'
try "an image that is exchanged is refused" \
    "~image '/home/alice/roots/x.sif': the file was replaced while the step started.*status" -- \
    "${step[@]}" --container-image=/home/alice/roots/x.sif cat /etc/berth-image
matches "... and nothing runs" "^[^b]*berth: [^$nl]*$nl.*status [1-9]" "$seen"
soon "an image that is exchanged: nothing is left" "" -- "${rest[@]}"

ce auto
live 2 -Q -w n1 -N1 -n2 "$image" sh -c 'echo ready; sleep 20'
on n1 root pkill -KILL -u alice -f 'singularity .*exec|[Ss]ingularity runtime'
wait "${pid[live]}"
soon "SIGKILL to the runtime: nothing is left" "" -- "${rest[@]}"

# Whoever ends a runtime while it starts may find it anywhere: before it mounts, or while
# it does, so that nobody serves the mount.
script stuck <<'SH'
#!/bin/sh
mkdir -p /tmp/check-overlay$$/w/work /tmp/check-overlay$$/l \
    /tmp/rootfs-1$$/root /tmp/rootfs-2$$/root
squashfuse_ll -f /home/alice/stuck.sqfs /tmp/rootfs-2$$/root &
until [ -e /tmp/rootfs-2$$/root/stuck ]; do sleep 0.05; done
kill -KILL $!
echo $$ >>/home/alice/stuck.log
exec sleep 60
SH
on login alice mksquashfs stuck stuck.sqfs -quiet -comp gzip -noappend >/dev/null
on n1 alice mkdir -p /tmp/check-overlays /tmp/rootfs-mine
path=/home/alice/stuck ce auto '  start_timeout: 2'
on login alice rm -f stuck.log
try "a runtime that stops while it starts" \
    "~the container did not start within 2 seconds; .*status [1-9]" -- "${step[@]}" "$image" true
try "... when it has a mount" 1 -- on login alice grep -c . stuck.log
soon "... and is ended: nothing is left" "" -- "${rest[@]}"
try "but for what is not the runtime's" "" -- on n1 alice rmdir /tmp/check-overlays /tmp/rootfs-mine

# A squashfs with zstd, by what its first block says of itself.
on login alice perl -e \
    'local $/; open F, "+<", "mine.sif"; $at = index <F>, "hsqs"; seek F, $at + 20, 0; print F pack "v", 6'
ce auto
try "an image with zstd is refused, and the advice names gzip" \
    "~berth: n1: image '/home/alice/mine.sif': $mine did not start it: [^$nl]*unknown compression
        algorithm[^$nl]*; the image is good, and another runtime reads it; build it with gzip, which
        every runtime reads \(mksquashfs -comp gzip\).*status [1-9]" -- \
    "${step[@]}" --container-image=/home/alice/mine.sif cat /etc/berth-image
equal "... with one line" 1 "$(grep -c berth: <<<"$seen")"
soon "an image with zstd: nothing is left" "" -- "${rest[@]}"

# Without FUSE it unpacks the image: nothing then tells which file that was.
on n1 root chmod 000 /dev/fuse
slow="berth: n1: warning: image '/images/a.sif': the runtime has unpacked it instead of mounting it,
        which takes time at each start, and room in /tmp; ask the administrators to repair /dev/fuse
        and squashfuse on that node"
ce auto
try "an image that is unpacked is so with one line" $'a\na\n'"$slow" sort \
    -- "${step[@]}" "$image" cat /etc/berth-image
ce auto 'images:' '  roots: [/images]'
try "an image that is unpacked where the site allows certain ones: it cannot be compared" \
    "~image '/images/a.sif': the runtime has unpacked it instead of mounting it, so that it cannot
        be compared with the file that this site allows; ask the administrators to repair /dev/fuse
        and squashfuse on that node.*status [1-9]" -- \
    "${step[@]}" "$image" cat /etc/berth-image
on n1 root chmod 666 /dev/fuse
soon "an image that is unpacked: nothing is left" "" -- "${rest[@]}"

finish

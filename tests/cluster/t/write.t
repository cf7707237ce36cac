#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # what stands in single quotes is for another shell
# On a cluster with PrologFlags=Contain: --container-writable writes to the node's disk, for the
# step or for the job; a full disk is one line; nothing is left, whoever was killed.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images a b
W=(--container-image=/images/a.sif --container-writable)
at_exit 'on login alice scancel -u alice; on n1 root rm -rf /room'
on n1 root install -d -m 1777 /room
spoil n1 "mkdir -p /small && mount -t tmpfs -o size=8m,mode=1777 small /small" "umount -l /small"

# write OPTION... COMMAND...: a step that writes to /room.
write() { alice env TMPDIR="${room:-/room}" srun -w n1 "${W[@]}" "$@"; }
# left DIRECTORY: what berth has there.
left_in() { on n1 root ls -A "$1"; }

echo "# on disk"
script fill <<'SCRIPT'
#!/bin/sh
mkdir /opt/$SLURM_PROCID && head -c 40M /dev/zero >/opt/$SLURM_PROCID/big && stat -c %s /opt/$SLURM_PROCID/big
chmod 500 /opt/$SLURM_PROCID
SCRIPT
try "more than the runtime's 64 MiB, by tasks at once" "41943040${nl}41943040" \
    -- write -n2 -O ./fill
try "explain says where, and by whom" "~'/room/berth-write.2001.n1.[^']*', by fuse-overlayfs" \
    -- write --container-explain true
try "a directory as image: by the kernel" "~', by the kernel" -- \
    alice env TMPDIR=/shared srun -w n1 --container-image=/images/a.dir --container-writable \
    --container-explain true
lines '0 touch /opt/a' '1 --container-image=/images/b.sif ls -d /opt/a'
try "several images on a node" "~ls: cannot access '/opt/a'" 'cat' -- \
    write -n2 -O --multi-prog lines
try "berth run" "/opt/x" -- on n1 alice env TMPDIR=/room berth run "${W[@]}" sh -c \
    'touch /opt/x; ls /opt/x'
soon "nothing is left" "" -- left_in /room
try "a directory that nobody can write" \
    "~--container-writable: '/proc': .*; set TMPDIR .*status 1" -- \
    on n1 alice env TMPDIR=/proc berth run "${W[@]}" true
site <<<'writable_dir: /room'
try "the site's directory" "~'/room/berth-write" -- alice srun -w n1 "${W[@]}" --container-explain \
    true
site </dev/null

echo "# a full disk"
room=/small
try "one line, and the command's status" \
    "berth: n1: the file system of '/small/berth-write.2001.n1.X' (8 MiB), to which tasks write, was full; set TMPDIR to a directory of the node with more room${nl}status 7" \
    "sed 's/n1[.][^.]*\x27/n1.X\x27/'" -- write -Q sh -c \
    'head -c 20M /dev/zero >/opt/x 2>/dev/null; exit 7'
try "nothing is left" "" -- left_in /small
room=

echo "# for the job"
allocate -w n1
write --jobid="$job" --container-lifetime=job sh -c 'echo kept >/opt/kept'
try "a later step sees what one has written" kept -- write --jobid="$job" --container-lifetime=job \
    cat /opt/kept
try "the directory is there" "~^berth-write.2001.n1" -- left_in /room

echo "# saved"
on login alice sh -c 'rm -rf d; echo old >new.sif'
write --jobid="$job" --container-lifetime=job sh -c \
    'mkdir -m 700 /opt/d; ln -s ../kept /opt/d/l; echo s >/opt/none; chmod 0 /opt/none; rm /etc/hostname; echo "$(cat /etc/berth-image)2" >/etc/berth-image'
try "never over a file that is there" \
    "~^berth: n1: image '/images/a.sif': '/home/alice/new.sif': File exists; take another name, or --force${nl}.*status 1" -- berth save "$job" new.sif
live 1 -w n1 -n1 --jobid="$job" --overlap "${W[@]}" --container-lifetime=job sh -c \
    "echo ready; $waits"
try "but by --force, while a task runs" /home/alice/new.sif 'tail -n 1' \
    -- berth save --force -w n1 "$job" new.sif
go
ends "the task does not care" live 0
try "once more, between two steps, elsewhere" /home/alice/d/new2.sif 'tail -n 1' \
    -- sh -c "mkdir d; cd d; berth save $job new2.sif"
# A list of all files and their contents, but for berth's label. The runtime makes a group file
# with its lines in any order; the size of /tmp is that of the node's.
script all <<'SCRIPT'
#!/bin/sh
find / -xdev ! -path /tmp -printf '%p %m %l %s\n' | grep -v labels.json | sort | md5sum
find / -xdev -type f ! -name labels.json ! -path /etc/group -size -9 | sort | xargs cat 2>/dev/null | md5sum
sort /etc/group | md5sum
SCRIPT
equal "twice the same" "$(alice srun -Q -w n2 --container-image=new.sif ./all)" \
    "$(alice srun -Q -w n3 --container-image=d/new2.sif ./all)"
try "it has what was written, and not what was removed" \
    "a2${nl}kept${nl}700 l 2${nl}ls: cannot access '/etc/hostname': No such file or directory${nl}status 2" -- \
    srun -Q -w n2 --container-image=new.sif sh -c \
    'cat /etc/berth-image /opt/d/l; echo $(stat -c %a /opt/d; ls /opt/d; stat -c %s /opt/none); ls /etc/hostname 2>&1'
try "labels and environment stay, and one label says from what it was made" \
    "~berth.saved-from: /images/a.sif, by job $job on n1${nl}.*org.label-schema" \
    -- "$runtime_name" inspect new.sif
try "a full disk: one line, and nothing is left" \
    "~^berth: n1: image '/images/a.sif': '/small/x.sif': mksquashfs did not write it: [^$nl]+${nl}.*status 1" -- berth save "$job" /small/x.sif
try "no half file" "" -- left_in /small
try "a directory that is not there" "~: '/no/x.sif': No such file or directory${nl}.*status 1" \
    -- berth save "$job" /no/x.sif
spoil n1 "mv /usr/bin/mksquashfs /usr/bin/mksquashfs.x" \
    "mv /usr/bin/mksquashfs.x /usr/bin/mksquashfs"
try "without mksquashfs" \
    "~: mksquashfs is not on this node; ask the administrators to install squashfs-tools${nl}.*status 1" -- berth save "$job" d/x.sif
put_back
spoil n1 "mv /usr/bin/mksquashfs /usr/bin/mksquashfs.x; printf '#!/bin/sh\nsleep 60\n' >/usr/bin/mksquashfs; chmod 755 /usr/bin/mksquashfs" "mv /usr/bin/mksquashfs.x /usr/bin/mksquashfs"
start save alice berth save "$job" d/x.sif
wait_for 30 on n1 alice pgrep -f 'sleep 60' >"$work/pid"
on login alice scancel "$job"
ends "killed" save '[1-9][0-9]*'
soon "nothing is left of it" new2.sif -- ls -A d
put_back
soon "the job has ended: nothing is left" "" -- left_in /room

echo "# whoever is killed"
for victim in berth-start 'runtime parent' berth-init fuse-overlayfs; do
    LIMIT=60 live 1 -w n1 --export=ALL,TMPDIR=/room "${W[@]}" sh -c 'echo ready; sleep 3'
    on n1 root pkill -KILL -u alice -f -o "$victim"
    wait "${pid[live]}"
    try "$victim: the next start leaves nothing" "" -- write true
    soon "... when it has ended" "" -- left_in /room
done
finish

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # what stands in single quotes is for another shell
# On a cluster with PrologFlags=Contain: --container-name keeps a container for the job, which
# steps find with what others have written, whatever their other options are; or one line says
# why not. Nothing is left.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images a b env entry noshell openmpi
A=--container-image=/images/a.sif
at_exit 'on login alice scancel -u alice'

# step_of OPTION... COMMAND...: a step of that job.
step_of() {
    alice srun --jobid="$job" --overlap --overcommit "$@" 2>&1 </dev/null
}
# step_on_n1 OPTION... COMMAND...: a step of one task on n1.
step_on_n1() { step_of -w n1 -N1 -n1 "$@"; }

# while_runs OPTION... -- COMMAND...: COMMAND while a step with the options runs on n1.
while_runs() {
    local options=()
    while [[ $1 != -- ]]; do
        options+=("$1")
        shift
    done
    on n1 root rm -f /tmp/named.go
    step_on_n1 "${options[@]}" sh -c 'echo up >/tmp/named.up; while [ ! -e /tmp/named.go ]; do sleep 0.1; done' &
    wait_for 20 on n1 root test -e /tmp/named.up
    "${@:2}"
    on n1 root sh -c 'touch /tmp/named.go; rm -f /tmp/named.up'
    wait "$!"
}

echo "# what stays"
allocate_tasks n1,n2 2
equal "the first step gives the image" "a a" \
    "$(step_of -N2 -n2 "$A" --container-name=work sh -c 'echo "$SLURM_PROCID" >/opt/mine; cat /etc/berth-image' | paste -sd' ')"
equal "a later one finds it, on each node its own" "n1 0 n1 0 n2 1 n2 1" \
    "$(step_of -N2 -n4 --container-name=work sh -c 'echo "$SLURMD_NODENAME" $(cat /opt/mine)' | sort | paste -sd' ')"
equal "... or gives the image again" 0 "$(step_on_n1 "$A" --container-name=work cat /opt/mine)"
equal "... with a mount" "0 n1" \
    "$(step_on_n1 --container-name=work --container-mounts=/etc/hostname:/opt/host sh -c 'cat /opt/mine /opt/host' | paste -sd' ')"
equal "... without that mount again" "0 no" \
    "$(step_on_n1 --container-name=work sh -c 'cat /opt/mine; [ -s /opt/host ] || echo no' | paste -sd' ')"
equal "... without a home directory" "0 no" \
    "$(step_on_n1 --container-name=work --no-container-mount-home -D / sh -c 'cat /opt/mine; [ -e /home/alice ] || echo no' | paste -sd' ')"
matches "... read-only" '^0 .*Read-only file system' \
    "$(step_on_n1 --container-name=work --container-readonly sh -c 'cat /opt/mine; touch /opt/more' | paste -sd' ')"
equal "... as root, whose files belong to others" "0 0 5" \
    "$(step_on_n1 --container-name=work --container-args=--fakeroot sh -c 'cat /opt/mine; id -u; mkdir -p /opt/five/six; chown -R 5:5 /opt/five; chmod 700 /opt/five; stat -c %u /opt/five' | paste -sd' ')"
equal "... as the user again" "0 yes" \
    "$(step_on_n1 --container-name=work sh -c 'cat /opt/mine; [ -d /opt/five ] && echo yes' | paste -sd' ')"
equal "... from a shell in a directory of the node" /var/tmp "$(step_on_n1 -D /var/tmp --container-name=work pwd)"
equal "a step without the name has a container of its own" "no" \
    "$(step_on_n1 "$A" sh -c '[ -e /opt/mine ] || echo no')"
equal "another name, another container" "no" \
    "$(step_on_n1 "$A" --container-name=other sh -c '[ -e /opt/mine ] || echo no')"
equal "what was removed is gone" "no" \
    "$(step_on_n1 --container-name=work rm /opt/mine; step_on_n1 --container-name=work sh -c '[ -e /opt/mine ] || echo no')"
for it in c1 c2; do
    step_of -N2 -n2 "$A" --container-name="$it" sh -c "echo $it >/opt/n" >/dev/null
done
equal "two components, two names" "c1 c2" \
    "$(step_of -N1 -n1 --container-name=c1 cat /opt/n : -N1 -n1 --container-name=c2 cat /opt/n | sort | paste -sd' ')"
equal "two components, one name" "c1 c1" \
    "$(step_of -N1 -n1 --container-name=c1 cat /opt/n : -N1 -n1 --container-name=c1 cat /opt/n | paste -sd' ')"
equal "the status of a step is its command's" 7 "$(step_on_n1 -Q --container-name=work sh -c 'exit 7' >/dev/null; echo $?)"

site <<<'images: {bare: pull}'
equal "a site that pulls words: no word, no image" "a" "$(step_on_n1 --container-name=work cat /etc/berth-image)"
site </dev/null

echo "# root"
R=--container-remap-root
matches "root has a container with all ids" "^0 65536$" \
    "$(step_on_n1 "$A" "$R" sh -c 'id -u; tail -n1 /proc/self/uid_map | xargs | cut -d" " -f3' | paste -sd' ')"
equal "... that the tasks of a node share" "2 0" \
    "$(step_of -w n1 -N1 -n2 "$A" "$R" sh -c 'echo "$(readlink /proc/self/ns/user) $(id -u)"' | sort | uniq -c | awk '{ print $1, $3 }')"
# kept: the directories on n1 for what steps write.
kept() { on n1 root sh -c 'ls /tmp | grep -c berth-write'; }
before=$(kept)
equal "... and can write to it" "done" \
    "$(step_on_n1 "$A" "$R" sh -c 'touch /opt/root && echo done')"
equal "... and can replace /etc/localtime, and give files away" "5 5 done" \
    "$(step_on_n1 "$A" "$R" --container-writable sh -c 'mkdir /opt/five && touch /etc/localtime.new /opt/five/six && chown -R 5:5 /opt/five && chmod 700 /opt/five &&
        stat -c "%u %g" /opt/five && mv /etc/localtime.new /etc/localtime && echo done' | paste -sd' ')"
wait_for 10 test "$(kept)" = "$before"
equal "... and what it has written goes with the step" "$before" "$(kept)"
equal "a name that root has changed, then the user" "root 2001" \
    "$(step_on_n1 --container-name=work "$R" sh -c 'echo root >/opt/by'; step_on_n1 --container-name=work sh -c 'cat /opt/by; id -u' | paste -sd' ')"
matches "a step that wants to be root where another runs as the user" "which was started without --container-remap-root" \
    "$(while_runs --container-name=work -- step_on_n1 --container-name=work "$R" true)"
spoil n1 'cd /etc && mv subuid subuid.was && mv subgid subgid.was' 'cd /etc && mv subuid.was subuid && mv subgid.was subgid'
matches "a user without subordinate ids" \
    "n1: --container-remap-root: user 2001 has no subordinate ids on this node, and packages cannot be installed without; ask the administrators for lines in /etc/subuid and /etc/subgid" \
    "$(step_on_n1 "$A" "$R" true)"
put_back
# pmix_of_root OPTION...: the image's Open MPI as root.
pmix_of_root() { step_of -w n1 -N1 -n2 -Q --container-image=/images/openmpi.sif "$R" --mpi=pmix "$@"; }
if [[ $release != sid ]]; then
    equal "the image's own MPI over PMIx, which munge tells the user" $'0 of 2 0\n1 of 2 0' \
        "$(pmix_of_root sh -c 'echo "$(id -u) $(mpiring)"' | sed -n 's/^\([0-9]*\) .*rank \([01] of 2\).*/\2 \1/p' | sort)"
    equal "... with --mpi-bind=hybrid" 2 "$(pmix_of_root --mpi-bind=hybrid mpiring | grep -c 'rank [01] of 2')"
    on n1 root sh -c 'printf "libmpi.so.40\0" >/tmp/without-munge'
    less=--container-mounts=/tmp/without-munge:/etc/ld.so.cache
    matches "... of an image without munge" \
        "^berth: n1: warning: image '/images/openmpi.sif': --container-remap-root: with --mpi=pmix its MPI ends in MPI_Init if it runs as root, as the image lacks libmunge.so.2; leave --container-remap-root out of this step, or add --mpi-bind=host$" \
        "$(pmix_of_root $less true)"
    matches "... with --mpi-bind=hybrid" \
        "n1: .*the image's Open MPI .*ends in MPI_Init with --mpi=pmix if it runs as root, as the image lacks libmunge.so.2; leave --container-remap-root out" \
        "$(pmix_of_root $less --mpi-bind=hybrid mpiring)"
    matches "... in a container that has no munge" "as the container has no munge; leave" \
        "$(pmix_of_root --container-args=--contain -D / true)"
    site <<<'inside: none'
    matches "... nor has one where Slurm's commands are denied" "as the container has no munge; leave" "$(pmix_of_root true)"
    equal "... whose program reaches no munged" no "$(step_on_n1 "$A" "$R" sh -c '[ -e /run/munge/munge.socket.2 ] || echo no')"
    site </dev/null
    equal "... an image without MPI" a "$(step_on_n1 "$A" "$R" --mpi=pmix cat /etc/berth-image)"
    on n1 root rm -f /tmp/without-munge
fi
site <<<'runtime: {raw_args: none}'
matches "a site without flags" "--container-remap-root: it is the flag --fakeroot of the runtime, which this site does not allow; leave it out" \
    "$(step_on_n1 "$A" "$R" true)"
site </dev/null

echo "# steps at once"
equal "many steps at once share it" "12 0" \
    "$(for _ in {1..12}; do step_on_n1 "$A" --container-name=work sh -c 'readlink /proc/self/ns/user; sleep 1' & done | sort | uniq -c |
        awk '{ print $1, NR - 1 }')"
equal "steps at once that differ follow one another" "ok ok ok ok" \
    "$(for it in a b c d; do step_on_n1 --container-name=work --container-mounts=/etc/hostname:/opt/$it sh -c 'echo ok' & done | paste -sd' ')"
equal "a step joins one that runs with more" n1 \
    "$(while_runs --container-name=work --container-mounts=/etc/hostname:/opt/host -- step_on_n1 --container-name=work:exec cat /opt/host)"
matches "... and is refused if it asks for more" \
    "n1: --container-name=work: another step runs in the container, which was started without --container-mounts=/etc/hosts:/opt/hosts:rw; start this step after that one, or give the option to both" \
    "$(while_runs --container-name=work -- step_on_n1 --container-name=work --container-mounts=/etc/hosts:/opt/hosts true)"
site <<<'rules: [{default: {container-remap-root: yes, no-container-mount-home: yes}}]'
equal "a default of the site does not keep a step from joining" 2001 \
    "$(while_runs --container-name=work --no-container-remap-root --container-mount-home -- step_on_n1 --container-name=work -Q id -u)"
matches "... but the user's own option does" "which was started without --container-remap-root" \
    "$(while_runs --container-name=work --no-container-remap-root -- step_on_n1 --container-name=work "$R" true)"
if [[ $release != sid ]]; then
    on n1 root sh -c 'printf "libmpi.so.40\0" >/tmp/without-munge'
    matches "... whose MPI, which has no munge, is not taken for one of root's" "rank 0 of 1" \
        "$(while_runs --container-image=/images/openmpi.sif --container-name=ring \
            --no-container-remap-root "$less" -- \
            step_on_n1 --container-name=ring --mpi=pmix --mpi-bind=hybrid mpiring)"
    on n1 root rm -f /tmp/without-munge
fi
equal "... a step alone has it" 0 "$(step_on_n1 --container-name=work -Q -D / id -u)"
site </dev/null
U=--container-unshare=net
equal "a step that joins is in its namespaces" own \
    "$(while_runs --container-name=work "$U" -- step_on_n1 --container-name=work \
        sh -c '[ "$(readlink /proc/self/ns/net)" = "$0" ] || echo own' "$(on n1 root readlink /proc/self/ns/net)")"
matches "... and is refused if it asks for that where the container has one" \
    "n1: --container-name=work: another step runs in the container, which is not in a separate network namespace; start this step after that one, or give --container-unshare=net to both" \
    "$(while_runs --container-name=work -- step_on_n1 --container-name=work "$U" true)"
equal "a step goes on when the one that started the container has ended" "first second" "$( (
    step_on_n1 --container-name=work sh -c 'sleep 1; echo first' &
    sleep 0.5
    step_on_n1 --container-name=work sh -c 'sleep 3; ls /opt >/dev/null && echo second'
    wait
) | paste -sd' ')"

echo "# a batch script"
# scripted OPTION...: the output of a job whose script is standard input, in the image.
scripted() {
    script job.sh
    alice sh -c 'rm -f job.out; sbatch -Q -W -o job.out -w n3 -n2 "$@" job.sh 2>&1; cat job.out' \
        sh "$A" --container-name=script --container-script "$@"
}
its_script() {
    cat <<'END'
#!/bin/sh
echo "script $(id -u)" >/opt/by
srun -Q sh -c 'cat /opt/by; echo step >/opt/step'
srun -Q -n1 --container-workdir=/opt cat step
cat /opt/step
srun -Q -n1 --container-name=other cat /opt/by
END
}
equal "its steps have what it writes, and the reverse" \
    "script 2001,script 2001,step,step,cat: /opt/by: No such file or directory" \
    "$(its_script | scripted | sed '/^srun: error/d; s,^/usr/bin/,,' | paste -sd,)"
equal "... as root" "script 0,script 0,step,step" \
    "$(its_script | scripted --container-remap-root | grep ^s | grep -v '^srun: error' | paste -sd,)"
matches "a step with other mounts while the script runs" \
    "n3: --container-name=script: .*/srv" \
    "$(scripted <<<$'#!/bin/sh\nsrun -Q -n1 --container-mounts=/srv:/srv true')"
equal "a script that ends leaves nothing" 0 "$(wait_for 10 has_no_job; on n3 root sh -c 'ls /tmp | grep -c berth-write')"

echo "# refusals"
matches ":create of a name that is there" \
    "n1: --container-name=work:create: the job has a container with this name; leave out :create, or take another name" \
    "$(step_on_n1 "$A" --container-name=work:create true)"
equal "... of a new one" a "$(step_on_n1 "$A" --container-name=fresh:create cat /etc/berth-image)"
matches ":exec where no step runs" \
    "n1: --container-name=work:exec: no step runs in a container with this name on this node; leave out :exec to start it" \
    "$(step_on_n1 --container-name=work:exec true)"
equal ":no_exec, as there are no mounts of others" a "$(step_on_n1 --container-name=work:no_exec cat /etc/berth-image)"
matches "a name that the job does not have" \
    "n1: --container-name=none: the job has no such container on this node; give the image in the first step that names it" \
    "$(step_on_n1 --container-name=none true)"
matches "a step whose container has no name, as pyxis finds it" \
    "n1: --container-name=$job.0: the job has no such container on this node; to join a step whose container has no name, write: berth enter $job.0 COMMAND" \
    "$(step_on_n1 "--container-name=$job.0" true)"
matches "another image" \
    "n1: --container-name=work: the container has the image '/images/a.sif'; leave --container-image out, or take another name for '/images/b.sif'" \
    "$(step_on_n1 --container-name=work --container-image=/images/b.sif true)"
matches "a first step that cannot start keeps no name" "no such container on this node" \
    "$(step_on_n1 "$A" --container-name=bad --container-args=--none true >/dev/null; step_on_n1 --container-name=bad true)"
site <<<'runtime: {share: no}'
matches "where tasks share no container" \
    "n1: --container-name=work: tasks of several steps cannot share a container here: " \
    "$(step_on_n1 "$A" --container-name=work true)"
site <<<'rules: [{forbid: [container-writable]}]'
matches "a site that forbids --container-writable" \
    "--container-name: the image could be written to, and a rule of this site forbids --container-writable; add --container-readonly" \
    "$(step_on_n1 "$A" --container-name=work true)"
equal "... and a container that is read-only" a "$(step_on_n1 --container-name=ro "$A" --container-readonly cat /etc/berth-image)"
site <<<'images: {roots: [/images]}'
equal "a site with roots for images: by name" a "$(step_on_n1 --container-name=work cat /etc/berth-image)"
site <<<'images: {roots: [/srv]}'
matches "a site that has other roots since the container was made" \
    "image '/images/a.sif': this site does not allow it; it allows /srv \(.*berth.yaml:1\)" \
    "$(step_on_n1 --container-name=work cat /etc/berth-image)"
site <<<'images: {owners: [bob]}'
matches "... or other owners" \
    "image '/images/a.sif': it belongs to root \(uid 0\), and this site allows images of bob only; take one of theirs" \
    "$(step_on_n1 --container-name=work cat /etc/berth-image)"
site </dev/null

echo "# berth ps, enter, save"
matches "ps lists the name" "job +n1 +/images/a.sif .*--container-name=work" "$(alice berth ps "$job")"
equal "enter takes it" a "$(alice berth enter -w n1 --container work "$job" cat /etc/berth-image </dev/null 2>&1)"
step_on_n1 --container-name=work --container-args=--fakeroot sh -c 'rm -r /opt/five' >/dev/null
step_on_n1 --container-name=work sh -c 'echo saved >/opt/saved' >/dev/null
alice berth save -w n1 --container work "$job" named.sif >/dev/null 2>&1 </dev/null
equal "save takes it" saved "$(step_on_n1 --container-image=named.sif cat /opt/saved)"
on login alice rm -f named.sif
# files of other ids, which the directory must not keep
step_on_n1 --container-name=work --container-args=--fakeroot sh -c 'mkdir -p /opt/five/six; chown -R 5:5 /opt/five; chmod 700 /opt/five' >/dev/null
step_on_n1 --container-name=work true >/dev/null

echo "# --container-save"
on login alice sh -c 'rm -rf save*.sif* save*.sqsh*'
# save FILE OPTION... COMMAND...: a step on n1 that is saved.
save() { step_on_n1 --container-save="$1" "${@:2}"; }
matches "srun prints what is written, and how large it is" "berth: n1: saved '/home/alice/save1.sif' \([0-9]+ MB\)" \
    "$(save save1.sif "$A" --container-writable sh -c 'echo one >/opt/saved; sleep 100 >/dev/null 2>&1 &')"
equal "... with what was written" one "$(step_on_n1 --container-image=save1.sif cat /opt/saved)"
matches "a file that is there stays" "--container-save: '/home/alice/save1.sif' is there; remove it, or take another name" \
    "$(save save1.sif "$A" true)"
save save5.sif "$A" sh -c 'echo five >/opt/saved' >/dev/null
equal "... without --container-writable" five "$(step_on_n1 --container-image=save5.sif cat /opt/saved)"
on login alice rm -f save5.sif
matches "... unless it is read-only" "Read-only file system.*save5.sif' is not written, because a task has failed" \
    "$(save save5.sif "$A" --container-readonly sh -c 'echo five >/opt/saved' | paste -sd' ')"
matches "files of other users, and a step that is not root" \
    "save2.sif': mksquashfs did not write it: .*/opt/five; root has made files in it .--container-remap-root.: save it in a step with that option, or while one runs" \
    "$(save save2.sif --container-name=work true)"
matches "... and one that is" "saved '/home/alice/save6.sif'" "$(save save6.sif --container-name=work "$R" true)"
on login alice rm -f save6.sif
step_on_n1 --container-name=work --container-args=--fakeroot sh -c 'rm -r /opt/five' >/dev/null
save save2.sif --container-name=work sh -c 'echo two >/opt/saved' >/dev/null
equal "a container with a name" two "$(step_on_n1 --container-image=save2.sif cat /opt/saved)"
save save3.sif "$A" --container-writable --container-remap-root sh -c 'mkdir /opt/five; echo three >/opt/five/six; chown -R 5:5 /opt/five; chmod 700 /opt/five' >/dev/null
equal "files of other users" three "$(step_on_n1 --container-image=save3.sif cat /opt/five/six)"
# In an overlay a file has the inode number of its layer, so that what tasks write can have that of
# a file of the image which is left out. A new tmpfs counts from 1, as the image does.
spoil n1 "mkdir -p /few && mount -t tmpfs -o mode=1777 few /few" "umount -l /few; rmdir /few"
script many <<'SCRIPT'
#!/bin/sh
mkdir /opt/many && cd /opt/many && seq 999 | xargs mkdir &&
    stat -c %i -- * | grep -cx "$(stat -c %i /.singularity.d/labels.json)"
SCRIPT
matches "what has the inode number of a file that is left out" "(^|$nl)1$nl" \
    "$(alice env TMPDIR=/few srun --jobid="$job" --overlap -w n1 -N1 -n1 "$A" --container-writable --container-save=save7.sif ./many 2>&1 </dev/null)"
equal "... is in the image" 999 "$(step_on_n1 --container-image=save7.sif sh -c 'ls /opt/many | wc -l')"
put_back
on login alice rm -f save7.sif
matches "a task that fails" "n1: --container-save: '/home/alice/save4.sif' is not written, because a task has failed" \
    "$(save save4.sif "$A" sh -c 'exit 3')"
equal "... and its status stays" 3 "$(save save4.sif -Q "$A" sh -c 'exit 3' >/dev/null; echo $?)"
matches "two nodes" "--container-save: the step has 2 nodes, and each has a container of its own; save it in a step on one node" \
    "$(step_of -N2 -n2 --container-save=save4.sif "$A" true)"
matches "a directory that is not there" "n1: --container-save: '/none': No such file or directory; take a directory that you may write to on every node" \
    "$(save /none/save4.sif "$A" true)"
matches "a file that was made meanwhile stays" \
    "n1: --container-save: '/home/alice/save4.sif' was made while the step ran, and stays as it is; save to another name" \
    "$(save save4.sif "$A" sh -c 'echo mine >save4.sif')"
equal "... as it is" mine "$(on login alice cat save4.sif)"
# What mksquashfs does not get to read, always or once, of what tasks have written.
forgets='#!/bin/sh
how=$(cat /opt/forgets)
case $1 in
/proc/*) [ "$how" = once ] && : >/opt/forgets; [ -z "$how" ] || set -- "$@" -e opt/kept ;;
esac
exec /usr/bin/mksquashfs.was "$@"'
spoil n1 "cd /usr/bin && mv mksquashfs mksquashfs.was && printf '%s\n' '$forgets' >mksquashfs &&
    chmod 755 mksquashfs && echo always >/opt/forgets && chmod 666 /opt/forgets" \
    'mv -f /usr/bin/mksquashfs.was /usr/bin/mksquashfs; rm -f /opt/forgets'
writes='mkdir -p /opt/kept/lib && echo kept >/opt/kept/lib/file && rm /etc/berth-image'
matches "a directory that is not in the image" \
    "berth: n1: --container-save: '/home/alice/save5.sif': '/opt/kept', which a task has written, is not in what mksquashfs has read; save the container again" \
    "$(save save5.sif "$A" --container-writable sh -c "$writes")"
matches "... of a squashfs file, with files of other users" \
    "'/home/alice/save5.sqsh': '/opt/kept', which a task has written, is not in what mksquashfs has read" \
    "$(save save5.sqsh "$A" --container-writable --container-remap-root sh -c "$writes; chown -R 5:5 /opt/kept; chmod 700 /opt/kept")"
equal "... and no image is left" "" "$(on login alice sh -c 'ls -d save5* 2>/dev/null')"
on n1 root sh -c 'echo once >/opt/forgets'
matches "... that the second reading has" "berth: n1: saved '/home/alice/save5.sif'" \
    "$(save save5.sif "$A" --container-writable sh -c "$writes")"
equal "... and so the image" kept "$(step_on_n1 --container-image=save5.sif cat /opt/kept/lib/file)"
put_back
on login alice rm -f save5.sif
# A squashfs file: variables of an image of Docker and of a recipe, and an entry point.
for it in env entry; do
    matches "a squashfs file of $it.sif" "berth: n1: saved '/home/alice/save-$it.sqsh' \([0-9]+ MB\)" \
        "$(save "save-$it.sqsh" "--container-image=/images/$it.sif" --container-writable sh -c 'echo "$0" >/opt/saved' "$it")"
    equal "... with what was written" "$it" "$(step_on_n1 "--container-image=save-$it.sqsh" cat /opt/saved)"
done
of_image='env | grep -E "^(DOCKER_|SINGLE|DOUBLE|BLANKS|EXPANDED|UMLAUT|OVERRIDE|LD_|BERTH_TEST)"; echo "${PATH%%:/proc/*}"; pwd'
equal "... with the variables of the image and the directory" \
    "$(step_on_n1 --container-image=/images/env.sif sh -c "$of_image")" \
    "$(step_on_n1 --container-image=save-env.sqsh sh -c "$of_image")"
matches "... that a line can hold" "note: a .sqsh file cannot hold a variable with more than one line; left out: LINES" \
    "$(save save-note.sqsh --container-image=/images/env.sif true)"
of_entry='echo "$BERTH_TEST_IMAGE, $FROM_RUNSCRIPT, $0, $1"'
for through in --container-entrypoint --no-container-entrypoint; do
    equal "... and with $through" \
        "$(step_on_n1 --container-image=/images/entry.sif "$through" sh -c "$of_entry" '5$ `x`' 'a  b')" \
        "$(step_on_n1 --container-image=save-entry.sqsh "$through" sh -c "$of_entry" '5$ `x`' 'a  b')"
done
save save-again.sqsh --container-image=save-entry.sqsh --container-writable sh -c 'echo again >/opt/saved' >/dev/null
equal "... again" "again, entry, yes, 4" \
    "$(step_on_n1 --container-image=save-again.sqsh --container-entrypoint sh -c 'echo "$(cat /opt/saved), $BERTH_TEST_IMAGE, $FROM_RUNSCRIPT"' x)"
save save-back.sif --container-image=save-again.sqsh true >/dev/null
equal "... and as a SIF file" "again, entry, yes, 4" \
    "$(step_on_n1 --container-image=save-back.sif --container-entrypoint sh -c 'echo "$(cat /opt/saved), $BERTH_TEST_IMAGE, $FROM_RUNSCRIPT"' x)"
matches "a squashfs file that is there stays" "--container-save: '/home/alice/save-env.sqsh' is there; remove it, or take another name" \
    "$(save save-env.sqsh "$A" true)"
matches "an image without a shell" "n1: --container-save: a .sqsh file needs the image's /bin/sh and env, to read its variables, and these have failed; save it as a .sif file" \
    "$(save save-noshell.sqsh --container-image=/images/noshell.sif /bin/hello)"
on login alice sh -c 'rm -f save-*.sqsh save-back.sif'
equal "no other file is left" "save1.sif save2.sif save3.sif save4.sif" "$(on login alice sh -c 'ls -d save* | xargs')"
on login alice sh -c 'rm -rf save*.sif* save*.sqsh*'
step_on_n1 --container-name=work --container-args=--fakeroot sh -c 'mkdir -p /opt/five/six; chown -R 5:5 /opt/five; chmod 700 /opt/five' >/dev/null

echo "# nothing is left"
matches "what was written is in a directory" "berth-write.2001.n1" "$(on n1 root ls /tmp)"
end_jobs
# Each component of a heterogeneous job has containers of its own, as it is a job of its own.
script het.sh <<END
#!/bin/bash
#SBATCH -n1 -w n1
#SBATCH hetjob
#SBATCH -n1 -w n2
srun -Q --het-group=0,1 $A --container-name=both sh -c 'echo "\$SLURMD_NODENAME" >/opt/mine'
srun -Q --het-group=0,1 --container-name=both cat /opt/mine
srun -Q --het-group=0 $A --container-name=first true
srun -Q --het-group=0 --container-name=first cat /etc/berth-image
srun -Q --het-group=1 --container-name=first true
srun -Q --container-name=c0 $A sh -c 'echo zero >/opt/n' : --container-name=c1 $A sh -c 'echo one >/opt/n'
srun -Q --container-name=c0 cat /opt/n : --container-name=c1 cat /opt/n
END
alice sbatch -Q -W -o het.out het.sh
# berth's line of the node comes before or after that of srun.
lines='head -n2 het.out | sort; sed -n 3p het.out; grep ^berth: het.out; tail -n2 het.out | sort'
matches "a heterogeneous job: each component finds its own" \
    "^n1 n2 a berth: n2: --container-name=first: the job has no such container on this node.*
        one zero\$" "$(on login alice sh -c "$lines" | paste -sd' ')"
soon "it goes with the job" "" "grep berth-write || true" -- srun -w n1 ls /tmp
soon "... and so do all processes" 0 -- srun -w n1 sh -c 'pgrep -c -u alice -f "[b]erth-start --job" | cat'
allocate_tasks n1 1
matches "a name of another job is not there" "no such container on this node" "$(step_on_n1 --container-name=work true)"

end_jobs
finish

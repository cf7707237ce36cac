#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# On a cluster with PrologFlags=Contain: what a hostile image can open in /proc, with --contain.
# It opens each descriptor, root, directory, program and mapped file of each process, before a
# task runs, as a task and beside others, in every way in which berth starts a container: none
# leads to a file of the host that the container does not show, and no program of berth can be
# written.

# shellcheck disable=SC2016 # words for other shells
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images a b
at_exit 'on login alice scancel -u alice
    on login alice sh -c "chmod -R u+w hostile.dir mine reach; rm -rf hostile.dir mine reach secret secret.json"'
on login alice sh -c \
    'chmod -R u+w hostile.dir mine reach 2>/dev/null; rm -rf hostile.dir mine reach; mkdir reach &&
    echo topsecret >secret
    cat >reach/reach.c && gcc -static -O1 -o reach/reach reach/reach.c' <"$here/reach.c" || exit 1
spoil n1 "echo host >/opt/host-only" "rm -f /opt/host-only"

# berth of a user, in a home.
on n1 alice sh -c \
    'mkdir -p mine/bin mine/libexec && cp /usr/bin/berth mine/bin &&
    cp -r /usr/libexec/berth mine/libexec &&
    { [ ! -d /usr/share/berth ] || { mkdir mine/share && cp -r /usr/share/berth mine/share; }; }' ||
    exit 1
mine=/home/alice/mine/bin/berth

# What must not be reached, in a file: paths, and berth's programs by their inodes.
on n1 alice sh -c '{ echo /home/alice/secret /opt/host-only
    find mine -type f -printf "%i %f\n" | sed "s/ /=/;s/^/$(stat -c %d mine/bin/berth):/"
    } | tr "\n" " " >reach/places'

# An image that looks before a task runs, too, and then goes on beside it.
on login alice sh -c \
    'cp -r /images/a.dir hostile.dir 2>/dev/null; chmod -R u+w hostile.dir; mkdir -p hostile.dir/r
        cp reach/reach hostile.dir/reach
    cp reach/places hostile.dir/places; cat >hostile.dir/.singularity.d/env/99-reach.sh' <<'SCRIPT'
/reach $(cat /places) 2>&1 | sed 's/^/before: /' >>/r/seen
SCRIPT


task='/r/reach $(cat /r/places)'
closed=(--container-args=--contain --container-mounts=/home/alice/reach:/r --container-workdir=/)
A=(--container-image=/images/a.sif "${closed[@]}")
B=(--container-image=/images/b.sif "${closed[@]}")
H=(--container-image=/home/alice/hostile.dir "${closed[@]}")
W=--container-writable

# hostile COMMAND...: alice runs it; then what the script of the image has found, if it ran.
hostile() {
    local status=0
    on login alice rm -f reach/seen
    alice "$@" || status=$?
    on login alice sh -c 'sort -u reach/seen 2>/dev/null'
    return "$status"
}
both="nothing${nl}before: nothing"
alone='grep "^before"'

# The probe itself finds what is there.
try "without --contain the home is there" "~sh root: /home/alice/secret is there" -- \
    srun -w n1 --container-image=/images/a.sif sh -c 'reach/reach $(cat reach/places)'

echo "# steps"
try "a task" nothing -- srun -w n1 "${A[@]}" sh -c "$task"
try "a directory as image" "$both" -- hostile srun -w n1 "${H[@]}" sh -c "$task"
try "writable" nothing -- srun -w n1 "${A[@]}" $W sh -c "$task"
try "writable, a directory as image" "$both" -- hostile srun -w n1 "${H[@]}" $W sh -c "$task"
try "the host's MPI" "$both" "grep -v ' note: '" -- hostile srun -w n1 "${H[@]}" --mpi-bind=auto \
    sh -c "$task"
try "srun inside" nothing -- srun -w n1 -n1 "${A[@]}" sh -c "$task"
try "two tasks" "nothing${nl}nothing" -- srun -w n1 -n2 -O "${A[@]}" $W sh -c "$task"
lines "0 sh -c '$task'" "1 --container-image=/images/b.sif ${closed[*]} sh -c '$task'" \
    "2 --container-image=/home/alice/hostile.dir ${closed[*]} $W sh -c '$task'"
try "several images on a node" "nothing${nl}nothing${nl}$both" 'sort -r' -- \
    hostile srun -w n1 -n3 -O "${A[@]}" $W --multi-prog lines
try "components" "nothing${nl}nothing" -- \
    srun -w n1 -n1 "${A[@]}" $W sh -c "$task" : -w n2 -n1 "${B[@]}" $W sh -c "$task"
try "explain" "before: nothing" "$alone" -- hostile srun -w n1 "${H[@]}" $W --container-explain true

echo "# for the job"
allocate -w n1
J=(--jobid="$job" --overlap --container-lifetime=job)
on login alice sh -c 'echo "{\"token\": \"topsecret\"}" >secret.json
    ln -sf /home/alice/secret.json hostile.dir/.singularity.d/labels.json'
try "the first step" "$both" -- hostile srun "${J[@]}" "${H[@]}" $W sh -c "$task"
try "the next one" nothing "grep -v '^before'" -- hostile srun "${J[@]}" "${H[@]}" $W sh -c "$task"
# One that watches while berth saves what is there, and while somebody enters.
live 1 -w n1 -n1 "${J[@]}" "${H[@]}" $W sh -c \
    '/r/reach --until /r/done $(cat /r/places)'
alice berth save -w n1 "$job" reach/saved.sif >/dev/null
alice berth enter "$job" true
alice touch reach/done
ends "berth save and berth enter" live 0
printed "... are no way either" live 1 nothing
equal "an image was saved" "SIF" "$(alice sh -c \
    'head -c 64 reach/saved.sif | grep -ao SIF | head -n 1')"
try "its labels are not a file of the host to which the image has a link" "berth.saved-from" \
    "grep -oE 'topsecret|berth.saved-from'" -- \
    srun --jobid="$job" --overlap --container-image=reach/saved.sif cat /.singularity.d/labels.json
end_jobs

echo "# what pyxis has, too"
allocate -w n1
N=(--jobid="$job" --overlap --container-name=work)
unshare=--container-unshare=net,ipc,uts
try "a name" nothing -- srun "${N[@]}" "${A[@]}" sh -c "$task"
try "... with another mount, which starts the container anew" nothing -- \
    srun "${N[@]}" "${closed[@]}" --container-mounts=/etc/hostname:/opt/host sh -c "$task"
try "... from a directory as image" "$both" -- \
    hostile srun "${N[@]/work/other}" "${H[@]}" sh -c "$task"
live 1 -w n1 -n1 "${N[@]}" "${closed[@]}" sh -c '/r/reach --until /r/named $(cat /r/places)'
try "... beside a step that joins it" nothing -- srun "${N[@]}" "${closed[@]}" sh -c "$task"
alice touch reach/named
ends "... which ends" live 0
printed "... and has reached nothing either" live 1 nothing
end_jobs
try "namespaces of its own" "$both" -- hostile srun -w n1 "${H[@]}" "$unshare" sh -c "$task"
try "a step that is saved" "~saved '/home/alice/reach/step.sif'" -- \
    srun -w n1 -n1 "${A[@]}" $W --container-save=reach/step.sif sh -c \
    '/r/reach --until /r/step.sif $(cat /r/places) >/r/watched 2>&1 &
    while ! grep -q ready /r/watched; do sleep 0.1; done'
matches "... whose other programs have found nothing" "^ready( nothing)?$" \
    "$(on login alice sh -c 'paste -sd" " reach/watched')"

echo "# berth save into a mount of the container"
# A program puts links in the place of all files that berth and mksquashfs might write.
on login alice sh -c 'echo precious >secret'
live 1 -w n1 -n1 "${A[@]}" $W sh -c 'echo ready; while [ ! -e /r/kept ]; do
    for it in /r/linked.sif.*; do
        [ -d "$it" ] && for name in squashfs sif trial; do ln -s /home/alice/secret "$it/$name"
        done
    done; done 2>/dev/null; true'
alice berth save -w n1 "$(on login alice squeue -h -o %i)" reach/linked.sif >"$work/linked" 2>&1
alice touch reach/kept
ends "a program there that makes links to a file of the host" live 0
equal "... does not have it written over" precious "$(on login alice cat secret)"
equal "... or an image that is one" "" "$(on login alice sh -c 'find reach -type l')"
on login alice sh -c 'echo topsecret >secret'

echo "# a squashfs file"
# Its two files are links to files of the host, and its working directory leads up.
on login alice sh -c 'rm -rf reach/tree; cp -r /images/a.dir reach/tree 2>/dev/null
    cd reach/tree && chmod -R u+w . &&
    rm -rf .singularity.d singularity environment .exec .run .shell .test etc/environment etc/rc &&
    ln -s /home/alice/secret etc/environment &&
    printf "cd \"/../../home/alice\" || exit 1\n" >etc/rc &&
    mksquashfs . ../links.sqsh -all-root -quiet -no-progress -noappend >/dev/null && cd .. &&
    chmod -R u+w tree && rm -rf tree'
Q=(--container-image=/home/alice/reach/links.sqsh --container-args=--contain \
    --container-mounts=/home/alice/reach:/r)
try "a task" nothing -- srun -Q -w n1 "${Q[@]}" sh -c "$task"
try "... starts in no directory of the host, and reads no file of it" "/ none" "grep -v ' note: '" \
    -- \
    srun -Q -w n1 "${Q[@]}" --no-container-mount-home \
    sh -c 'echo "$(pwd) $(env | grep -q topsecret && echo topsecret || echo none)"'
try "writable" nothing -- srun -Q -w n1 "${Q[@]}" $W sh -c "$task"

echo "# berth-oci and a batch script"
on login,n1 root \
    sh -c 'cp $(ls /usr/share/berth/oci.conf /usr/local/share/berth/oci.conf 2>/dev/null |
    head -n1) /etc/slurm/oci.conf'
oci=(env BERTH_CONTAINER_ARGS=--contain BERTH_CONTAINER_MOUNTS=/home/alice/reach:/r \
    BERTH_CONTAINER_WORKDIR=/)
try "Slurm's --container" "$both" -- hostile "${oci[@]}" srun -w n1 \
    --container=/home/alice/hostile.dir sh -c "$task"
on login,n1 root rm -f /etc/slurm/oci.conf
script watch.sh <<<"#!/bin/sh
$task"
script_submit
equal "a batch script" "$both" "$(hostile sh -c 'rm -f job.out; ./submit -o job.out "$@" watch.sh
    cat job.out' sh \
    -w n1 -n1 --container-script "${H[@]}")"

echo "# berth in a home"
home() { hostile srun -w n1 "$mine" run "$@"; }
try "a task" nothing -- home "${A[@]}" sh -c "$task"
try "a directory as image" "$both" -- home "${H[@]}" sh -c "$task"
try "writable" "$both" -- home "${H[@]}" $W sh -c "$task"
try "the host's MPI" "$both" "grep -v ' note: '" -- home "${H[@]}" --mpi-bind=auto sh -c "$task"
try "explain" "before: nothing" "$alone" -- home "${H[@]}" --container-explain true
# It stays when berth-init has ended, and its file is not busy any longer.
on login alice sh -c 'cat >hostile.dir/.singularity.d/env/99-reach.sh' <<'SCRIPT'
(cat /places >/proc/self/fd/3) 2>/dev/null
SCRIPT
on n1 alice sh -c 'cd mine && find . -type f | sort | xargs md5sum' >"$work/before"
for it in "a step" "berth inspect"; do
    case $it in
    "a step") home "${H[@]}" true >/dev/null 2>&1 ;;
    *) on n1 alice "$mine" inspect hostile.dir >/dev/null 2>&1 ;;
    esac
    equal "$it writes over no program of berth" "" \
        "$(on n1 alice sh -c 'cd mine && find . -type f | sort | xargs md5sum' |
        diff "$work/before" -)"
done

echo "# a program of berth as the interpreter of a program of the image"
on login alice sh -c 'rm -f hostile.dir/.singularity.d/env/99-reach.sh
    gcc -static -nostdlib -O1 -fno-stack-protector -x c -o reach/loader - &&
    find hostile.dir -name "ld-linux-*" -exec cp --remove-destination reach/loader {} \; &&
    printf "#!/proc/self/exe\n" >hostile.dir/script && chmod +x hostile.dir/script' \
    <"$here/exeloader.c" || exit 1
read -r -a places <<<"$(on n1 alice cat reach/places)"
try "the first task" nothing -- home "${H[@]}" /script "${places[@]}"
try "two tasks" "nothing${nl}nothing" -- hostile srun -w n1 -n2 -O "$mine" run "${H[@]}" /script \
    "${places[@]}"
live 1 -w n1 -n1 "${H[@]}" /reach --until /r/over "${places[@]}"
try "berth enter" nothing -- on n1 alice "$mine" enter "$(on login alice squeue -h -o %i)" /script \
    "${places[@]}"
alice touch reach/over
ends "a program beside it" live 0
printed "... reaches nothing either" live 1 nothing
finish

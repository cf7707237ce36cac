#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The commands of Slurm in a container: berth-inside, and the step that runs the host's for
# it. There is no container (tests/unit/inimage.c), and srun is a script. Speaks TAP.
# shellcheck disable=SC2016 # words for other shells

build=$PWD
inside=$build/berth-inside
client=$build/tests/unit/insideclient
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"

ln -s "$inside" srun
expect 'without the variable of the step' 1 \
    'berth: srun: BERTH_INSIDE: not set; keep this variable, which the step has set' \
    ./srun hostname
away='berth: srun: the step of this container does not answer; start the command from a task of a
        step that runs'
expect 'a step that is over' 1 "$away" env BERTH_INSIDE=nobody.1a ./srun hostname
expect 'a name without a token' 1 "$away" env BERTH_INSIDE=nobody ./srun hostname
expect 'a name that is too long' 1 "$away" \
    env "BERTH_INSIDE=$(printf '%0200d' 0).1a" ./srun hostname

# The programs of berth-task are where it was built.
trap 'rm -rf "$T" "$build/inside-srun" "$build/inside-all"' EXIT
mkdir -p a/bin host "$build/inside-srun" "$build/inside-all"
for name in srun sbatch sinfo; do
    ln -sf ../berth-inside "$build/inside-all/$name"
done
ln -sf ../berth-inside "$build/inside-srun/srun"
# An image without an srun of its own, which the host may have.
mkdir tools
for name in cat chmod grep head ln mkdir rm rmdir sed sh sleep; do
    ln -s "$(command -v $name)" tools/$name
done
cat >host/srun <<'END'
#!/bin/sh
case $1 in
show) for word; do echo "<$word>"; done; pwd; cat; echo wrong >&2 ;;
limits) echo "$(ulimit -S -s) $(ulimit -S -n)" ;;
status) exit "$2" ;;
orphan) kill -s KILL "$PPID" ;;
die) kill -s "$2" $$ ;;
variable) eval "echo \"$2 \${$2-unset}\"" ;;
await)
    trap 'echo "got USR1"; exit 5' USR1
    trap 'echo ended >ended; exit 1' TERM
    echo up >up
    while :; do sleep 0.05; done ;;
esac
END
cp host/srun host/sbatch
chmod +x host/srun host/sbatch
export SLURMD_NODENAME=n1 ASAN_OPTIONS=detect_leaks=0 IMAGE_PATH="$T/image:$T/tools"

# within POLICY COMMAND: a shell in a container of a step.
within()
{
    BERTH_TASK_ORDER="1;${1:+terms:inside=$1;}step:nodes=1;request:image=$T/a;." \
        PATH=$T/host:$PATH "$build/tests/unit/inimage" serve sh -c "$2"
}
# there FILE: until it is, for some ten seconds.
await='there() { n=0; until [ -e "$1" ] || [ $((n += 1)) -gt 500 ]; do sleep 0.02; done; }; '

expect 'words, directory and streams' 0 "<show>
<a b>
<>
T
input
wrong" within all 'echo input | srun show "a b" ""'
expect 'a status' 0 7 within all 'srun status 7; echo $?'
expect 'a signal' 0 137 within all 'srun die KILL 2>/dev/null; echo $?'
expect 'the last word of the PATH, so the image can have its own' 0 own \
    within all 'mkdir image; echo "#!/bin/sh
echo own" >image/srun; chmod +x image/srun; srun; rm -r image'
expect 'what the program has set' 0 'NEW 1' within all 'NEW=1 srun variable NEW'
expect 'not what the image has set' 0 'IMAGES unset' within all 'srun variable IMAGES'
expect 'the PATH of the host' 0 "PATH T/host:$PATH" within all 'srun variable PATH'
expect 'the soft limits of the program' 0 '1234 77' \
    within all 'ulimit -S -s 1234; ulimit -S -n 77; srun limits'
expect 'a new step has this image' 0 "SLURM_BERTH_JOB 1;*:image=T/a;." \
    within all 'srun variable SLURM_BERTH_JOB'
expect 'a signal goes on' 0 'got USR1
5' within all "$await"'srun await & there up; kill -s USR1 $!; wait $!; echo $?; rm up'
expect 'a program that is killed takes the command with it' 0 ended \
    within all "$await"'srun await & there up; kill -s KILL $!; there ended; cat ended
        rm up ended'
expect 'a program that ignores a signal does not hand it on' 0 9 \
    within all "$await"'trap "" USR1; srun await & p=$!; there up; kill -s USR1 $p
        sleep 0.1; kill -s KILL $p; wait $p 2>/dev/null; echo $(($? - 128)); there ended
        rm up ended'
expect '100 at once' 0 100 within all \
    'i=0; while [ $i -lt 100 ]; do i=$((i + 1)); (srun status 3; echo $?) & done | grep -c 3; wait'
expect 'another command' 0 '<show>' within all \
    '>show; sbatch show </dev/null 2>/dev/null | head -n 1; rm show'
if (PATH=$T/host:$PATH command -v sinfo >/dev/null); then
    skip 'a command that the host does not have' 'it has sinfo'
else
    expect 'a command that the host does not have' 0 \
        'berth: sinfo: the node has no such command; ask the administrators to install it there
1' within all 'sinfo; echo $?'
fi
expect 'srun alone' 0 'sbatch: not found
0' within '' 'sbatch 2>&1 | sed "s/.*: sbatch/sbatch/"; srun status 0; echo $?'
expect 'a command that the site does not allow, by its program' 0 \
    'berth: sbatch: this site offers no such command in a container; run it on the host
1' within '' "ln -s $inside sbatch; ./sbatch x; echo \$?; rm sbatch"
expect 'none' 0 'srun: not found
unset' within none 'srun 2>&1 | sed "s/.*: srun/srun/"; echo ${BERTH_INSIDE-unset}'
expect 'none in a container that is to be closed' 0 unset env PATH="$PATH" \
    BERTH_TASK_ORDER="1;step:nodes=1;request:image=$T/a&args=--containall;." \
    "$build/tests/unit/inimage" serve sh -c 'echo ${BERTH_INSIDE-unset}'
expect 'without a step of Slurm' 0 'unset' env PATH="$PATH" \
    BERTH_TASK_ORDER="1;request:image=$T/a;." \
    "$build/tests/unit/inimage" serve sh -c 'echo ${BERTH_INSIDE-unset}'

# What berth-inside never sends.
expect 'a directory that only the image has' 0 \
    "berth: sbatch: the working directory '/no/such' is not on the host: No such file or directory;
        change to one that is
status 1" within all "$client words /no/such sbatch status 0"
expect 'and another image' 0 \
    "berth: srun: the working directory '/no/such' is not on the host: No such file or directory;
        change to one that is
status 1" within all "$client words /no/such srun --container-image=none true"
expect 'and the same image, which has it' 0 \
    "SLURM_BERTH_JOB 1;*:image=T/a&workdir=/no/such;.
status 0" within all "$client words /no/such srun variable SLURM_BERTH_JOB"
expect 'a path as a command' 0 \
    'berth: ../srun: this site offers no such command in a container; run it on the host
status 1' within all "$client words / ../srun status 0"
for how in 'words' 'words /' 'short / srun show' garbage socket large; do
    expect "nothing is run for: $how" 0 'nothing
0' within all "$client $how; srun status 0; echo \$?"
done
expect 'nothing is run for who knows the name alone' 0 "$away
$away
$away
0" within all 'full=$BERTH_INSIDE
    for token in "" .00 ".${full#*.}0"; do
        BERTH_INSIDE=${full%%.*}$token srun show; done
    srun status 0; echo $?'
expect 'many who say nothing keep nobody waiting' 0 'connected
4' within all "$client silent | { read it; echo \$it; srun status 4; echo \$?; }"
expect 'the process that runs the command is killed' 0 \
    'berth: srun: the process that ran the command was killed; run the command again
1' within all 'srun orphan; echo $?'
expect 'no process can be started' 1 \
    'berth: srun: this node has no memory, process or descriptor left (Resource temporarily
        unavailable); try again, and report the node if it stays so' \
    "$client" decline ./srun true
expect 'a directory that was removed' 0 \
    'berth: srun: the working directory: No such file or directory; go to another one
1' within all 'mkdir gone; cd gone; rmdir ../gone; srun status 0; echo $?'

finish

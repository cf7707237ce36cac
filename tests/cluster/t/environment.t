#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # what stands in single quotes is for another shell
# Which variables an application sees, for every way to tell Slurm what to export, in every
# kind of step; who the user is where the node does not know; and what becomes of forged
# variables.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/same.sh"

need_images a b
script_submit
B=--container-image=/images/b.sif

at_exit 'set_plugin login on'

# What a task tells: LABEL:LETTERS, a letter for each variable with the right value, and the
# name and the value of what it should not have. LABEL is the component's own argument, and
# its small letter is the value of its own variables.
script see <<'PROBE'
#!/bin/sh
IFS=
out= own=$(/usr/bin/printf %s "$1" | /usr/bin/tr ABC abc)
see() {
    eval "v=\${$1-not set}"
    case $v in
    "not set") ;;
    "$2") out=$out$3 ;;
    *) out="$out $1=$v " ;;
    esac
}
see HOME /home/alice H
see USER alice U
see LOGNAME alice L
see SHELL /bin/bash S
see LANG C.UTF-8 G
[ "$1" = C ] || see TMPDIR /tmp T
see UCX_ENV e E
see FI_LINES "a
b=c;&%, \\,ü" N
see UCX_SUBMIT s s
see OTHER o O
see UCX_TOKEN t K
see UCX_VAR "$own" X
see VAR "$own" V
see LD_PRELOAD "" P
/usr/bin/env | /usr/bin/grep -q '^SLURM_BERTH_\(STEP\|ENV\)\|^BERTH_TASK' && out="$out LEAK"
echo "$1:$out"
PROBE

# Rows: title | variables for srun | its options; @ is the value of a component's own
# variables | what a task in an image sees | what one on the host sees. `s`, the variable of
# the shell that has submitted, is added where sbatch hands it on.
all=HULSGTENOK
none=HULSGTEN
host=HULSGENOK
exports=(
    "--export=ALL||--export=ALL|$all|$host"
    "--export=NONE||--export=NONE|$none|"
    "--export=NIL||--export=NIL|$none|"
    "--export=NONE,VAR=x||--export=NONE,UCX_VAR=@,VAR=@|${none}X|"
    "--export=VAR=x||--export=UCX_VAR=@,VAR=@|${none}XV|XV"
    "--export=ALL,VAR=x||--export=ALL,UCX_VAR=@,VAR=@|${all}XV|${host}XV"
    "SRUN_EXPORT_ENV=NONE|SRUN_EXPORT_ENV=NONE||$none|"
    "SRUN_EXPORT_ENV=ALL|SRUN_EXPORT_ENV=ALL||$all|$host"
    "SLURM_EXPORT_ENV=NONE|SLURM_EXPORT_ENV=NONE||$none|"
    "SLURM_EXPORT_ENV=ALL|SLURM_EXPORT_ENV=ALL||$all|$host"
    "SRUN_EXPORT_ENV=NONE --export=ALL|SRUN_EXPORT_ENV=NONE|--export=ALL|$all|$host"
)
# What `srun` alone does follows sbatch.
alone=("nothing said|||$all|$host" "nothing said|||$none|")
# Components that say different things: options of A, and of B; what A sees, what B sees.
mixed=(
    "ALL : NONE|--export=ALL|--export=NONE|$all|$none"
    "NONE : ALL|--export=NONE|--export=ALL|$none|$all"
    "NONE,VAR=x : NONE|--export=NONE,UCX_VAR=a|--export=NONE|${none}X|$none"
    "VAR=x : ALL|--export=UCX_VAR=a,VAR=a|--export=ALL|${none}XV|$all"
)

tell=(/bin/sh /home/alice/see)

# One srun for each row, and what its tasks tell, each once, with how many tell it.
# component LABEL OPTIONS IMAGE: the words of one component.
component() { echo "$spread ${2//@/${1,,}} $3 ${tell[*]} $1"; }
counted="sort | uniq -c | awk '{ n = \$1; sub(/^ *[0-9]+ /, \"\"); print n \"*\" \$0 }' |
    paste -sd' '"
in_batch() {
    local export=$1 shape=$2 tasks=$3 s="" it said variables options b image bare words expected
    local title="sbatch $1, $2, $3 on a node" these=("${exports[@]}" "${alone[1]}") \
        srun="timeout -k 10 120 srun -Q --mpi=none"
    spread="-n$tasks"
    [[ $shape != step ]] || spread="-N1 -n$tasks"
    [[ $export != ALL ]] || { s=s && these=("${exports[@]}" "${alone[0]}"); }
    for it in "${these[@]}"; do
        IFS='|' read -r said variables options image bare <<<"$it"
        words=$(component A "$options" "$A") expected="$tasks*A:${image/TEN/TEN$s}"
        [[ $shape == single ]] || {
            words+=" : $(component B "$options" "$B") : $(component C "$options" "")"
            expected+=" $tasks*B:${image/TEN/TEN$s} $tasks*C:${bare/EN/EN$s}"
        }
        row "$title: $said" "$expected" "$counted" "env $variables $srun $words"
    done
    [[ $shape == single ]] || for it in "${mixed[@]}"; do
        IFS='|' read -r said options b image bare <<<"$it"
        row "$title: $said" "$tasks*A:${image/TEN/TEN$s} $tasks*B:${bare/TEN/TEN$s}" "$counted" \
            "$srun $(component A "$options" "$A") : $(component B "$b" "$B")"
    done
    header="$4
export UCX_ENV=e OTHER=o UCX_TOKEN=t LANG=C.UTF-8 FI_LINES='a
b=c;&%, \\,ü'" run_rows env UCX_SUBMIT=s ./submit "--export=$export" -o batch.log
}

het='#SBATCH -N1 -n2
#SBATCH hetjob
#SBATCH -N1 -n2
#SBATCH hetjob
#SBATCH -N1 -n2'
# One task on a node, or two: each shape has both, and so has each --export.
in_batch ALL job 2 "$het"
in_batch NONE step 2 '#SBATCH -N3 --ntasks-per-node=2'
if thorough; then
    in_batch ALL single 2 '#SBATCH -N1 -n2'
    in_batch ALL step 1 '#SBATCH -N3 --ntasks-per-node=2'
    in_batch NONE single 1 '#SBATCH -N1 -n2'
    in_batch NONE job 1 "$het"
fi

# Every byte that a variable can have, and a long one.
tool bytes <<'PERL'
#!/usr/bin/perl
print unpack("H*", $ENV{UCX_BYTES}), " ", length $ENV{FI_LONG}, "\n";
PERL
seen=$(alice bash -c 'export UCX_BYTES=$(printf "$(printf "\\\\x%x" $(seq 1 9) $(seq 11 255))x\ny")
    export FI_LONG=$(printf "%030000d" 7)
    t/bytes; srun -n2 --export=NONE $1 /usr/bin/perl t/bytes' bytes "$A" | sort | uniq -c |
        awk '{ print $1, length($2), $3 }')
equal "every byte of a value arrives, and a long value" "3 514 30000" "$seen"

# The same with a container for each task.
seen=$(alice env UCX_ENV=e srun -n2 --export=NONE "$A" --container-args=--pid "${tell[@]}" A |
    sort | uniq -c | awk '{ print $1 $2 }')
equal "a container for each task" "2A:HULSGTE" "$seen"
seen=$(alice env UCX_ENV=e srun --export=NONE "$A" --container-args=--cleanenv /bin/bash -c \
    'echo ${UCX_ENV-gone}')
equal "--cleanenv takes it away again" gone "$seen"
seen=$(alice env UCX_ENV=e UCX_TLS=x srun --export=NONE "$A" --container-env=UCX_ENV=i,UCX_TLS \
    bash -c 'echo $UCX_ENV $UCX_TLS')
equal "--container-env goes over what is restored, and passes it" "i x" "$seen"
printf '#!/bin/sh\necho "export UCX_ENV=prolog$UCX_ENV"\necho "unset FI_LINES"\n' | script prolog
seen=$(alice env UCX_ENV=e FI_LINES=x srun --export=NONE --task-prolog=/home/alice/prolog "$A" \
    bash -c 'echo $UCX_ENV ${FI_LINES-gone}')
equal "a TaskProlog sees it, and can change it" "prologe gone" "$seen"
script_pty
seen=$(alice env TERM=xterm-test ./pty.py srun -Q --pty --export=NONE "$A" bash -c \
    'echo term=$TERM' </dev/null)
matches "TERM with --pty" "term=xterm-test" "$seen"

# ---- options by environment

seen=$(alice env BERTH_CONTAINER_IMAGE=/images/a.sif srun -N1 -n1 cat /etc/berth-image : \
    -N1 -n1 --export=NONE,BERTH_CONTAINER_IMAGE=/images/b.sif cat /etc/berth-image | sort | paste \
    -sd' ')
equal "BERTH_CONTAINER_IMAGE of a component" "a b" "$seen"
seen=$(alice bash -c 'export BERTH_CONTAINER_IMAGE=/images/a.sif BERTH_CONTAINER_WORKDIR=/tmp
    ./submit --export=NONE -o v.log --wrap "srun sh -c \"cat /etc/berth-image; pwd\"; env | grep -c ^BERTH_"; cat v.log')
equal "sbatch --export=NONE makes it the default of the job" "a /tmp 0" "$(paste -sd' ' <<<"$seen")"

# ---- srun in a container

script nested <<'NESTED'
#!/bin/bash
mkdir -p inner ~/hostroot/{usr,etc,proc,sys,dev,tmp,home,run,var,images,opt,mnt}
for d in bin sbin lib lib64; do ln -sfn usr/$d ~/hostroot/$d; done
echo outer >inner/marker
srun -Q --overlap --container-image="$HOME/hostroot" --container-env=UCX_A=1,EDITOR=e \
    --container-mounts=/usr,/etc,/run,/images,/opt,"$PWD/inner":/mnt bash -c '
    cat /mnt/marker
    srun --overlap --container-image=/images/a.sif bash -c "cat /etc/berth-image
        ls /mnt; echo \$UCX_A \$EDITOR \$APPTAINER_BIND \$APPTAINER_NAME"
    srun -Q --overlap --export=NONE --container-image=/images/a.sif \
        bash -c "echo \$UCX_A \${EDITOR-none}"
    srun -Q --overlap bash -c "echo host \$APPTAINER_NAME"'
NESTED
need_shared=$(alice salloc -Q -N1 ./nested 2>&1 </dev/null | paste -sd' ')
equal "srun in a container: its own image, no mount of the outer one, and it says so" \
    "srun: berth: warning: --container-mounts=/usr:/usr hides the image's /usr; mount it at another
        place, such as /host/usr srun: berth: warning: --container-mounts=/etc:/etc hides the
        image's /etc; mount it at another place, such as /host/etc outer srun: berth: note: this
        srun runs in '/home/alice/hostroot'; its tasks get their own image, and none of that image's
        mounts a 1 e a.sif 1 none host hostroot" \
    "$need_shared"

# Who the user is the runtime asks, not Slurm.
if thorough; then
    # ---- the umask that an image sets
on login alice sh -c \
    'rm -rf umask.dir; cp -r /images/a.dir umask.dir 2>/dev/null # but for its devices
    chmod -R u+w umask.dir &&
    echo "umask 002" >umask.dir/.singularity.d/env/91-umask.sh'
script masks <<'MASKS'
#!/bin/sh
umask 077
srun -n2 --container-image=umask.dir sh -c umask
srun -n1 "$@" --container-image=umask.dir sh -c umask
umask 027
srun -n1 "$@" --container-image=umask.dir sh -c umask
srun -n1 --container-image=/images/a.sif sh -c umask
MASKS
try "the umask of an image's %environment wins over that of the step" \
    $'0002\n0002\n0002\n0002\n0027' -- \
    salloc -Q -N1 -n2 ./masks --container-lifetime=job
on login alice rm -rf umask.dir

# ---- a node that does not know the user

    spoil n1 'cp -a /etc/passwd /root/passwd.saved && sed -i /^alice:/d /etc/passwd' \
        'mv /root/passwd.saved /etc/passwd'
    equal "n1 does not know alice" "" "$(on n1 root getent passwd alice)"
    seen=$(alice srun -w n1 "$runtime" exec /images/a.sif true 2>&1)
    matches "the runtime alone does not start there" "unknown userid 2001" "$seen"
    who='id -u; id -un; id -g; id -gn; echo ~; echo $HOME $USER
        touch $HOME/mine && stat -c %u:%g $HOME/mine; [ -r climate ] && cat climate'
    on login root bash -c \
        'echo readable >/home/alice/climate; chown root:climate /home/alice/climate
            chmod 640 /home/alice/climate'
    mine="2001 alice 2001 alice /home/alice /home/alice alice 2001:2001 readable"
    equal "what a node that knows alice gives" "$mine" \
        "$(alice srun -Q -w n2 "$A" bash -c "$who" 2>&1 | paste -sd' ')"
    for export in ALL NONE; do
        equal "an unknown uid, --export=$export" "$mine" \
            "$(alice srun -Q -w n1 --export=$export "$A" bash -c "$who" 2>&1 | paste -sd' ')"
    done
    equal "an unknown uid, a container for each task" "$mine" \
        "$(alice srun -Q -w n1 --export=NONE "$A" --container-args=--pid bash -c "$who" 2>&1 |
        paste -sd' ')"
    equal "an unknown uid, a directory, --container-writable" "$mine" \
        "$(alice srun -Q -w n1 --container-image=/images/a.dir --container-writable bash -c "$who" \
        2>&1 | paste -sd' ')"
    equal "an unknown uid, many tasks" "8 alice" \
        "$(alice srun -Q -w n1 -n8 --export=NONE "$A" whoami 2>&1 | sort | uniq -c |
        awk '{ print $1, $2 }')"
    # (With sbatch --export=NONE Slurm 26.05 holds the job: it cannot read the login environment.)
    equal "an unknown uid, from a batch script" "alice" \
        "$(alice bash -c \
        "./submit -w n1 -o u.log --wrap 'srun --export=NONE $A whoami'; cat u.log")"
    put_back
    on login root rm /home/alice/climate
    equal "the node's own user database is as it was" "" \
        "$(on n1 root bash -c \
        'getent passwd alice >/dev/null || echo gone; grep /etc/passwd /proc/mounts
            ls /tmp/passwd 2>/dev/null')"
fi

# ---- forged variables: an srun without the plugin sends what it finds

set_plugin login off
step='SLURM_BERTH_STEP=1;=:env=UCX_A%3D1;*:image=/images/a.sif;.'
seen=$(alice env "$step" srun -Q --export=NONE /bin/sh -c 'cat /etc/berth-image; echo $UCX_A' |
    paste -sd' ')
equal "a well formed one is honoured" "a 1" "$seen"
# (tests/spank/node.sh and environment.sh have more of them.)
seen=$(alice env "${step%;.}" srun -Q -N2 -n4 --ntasks-per-node=2 cat /etc/berth-image 2>&1)
equal "one that is cut short: one line for each node, and nothing runs" "2 " \
    "$(grep -ac "berth: n[1-4]: SLURM_BERTH_STEP: internal data is damaged" <<<"$seen") $(grep -av \
    'berth: \|^srun: ' <<<"$seen")"
set_plugin login on
equal "the plugin is back" a "$(alice srun "$A" cat /etc/berth-image)"

finish

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The options of sbatch and salloc are the defaults of the sruns in the job.
# shellcheck source=tests/spank/lib.sh
. "${srcdir:-.}/tests/spank/lib.sh"

A=--container-image=T/a
given=' job.sh' # what Slurm gives berth-oci; before 23.11 the plugin replaces the script
since 23.11 || given=
B=--container-image=T/b
C=--container-image=T/c

expect 'the batch step runs on the host, whatever the default' 0 \
    "0 host: job.sh 1
$missed" \
    FAKE_JOB=$$ sbatch --container-image=a job.sh 1
lost=$missed missed=none
expect '... and nothing of a job whose image only the environment names' 0 '0 host: job.sh' \
    BERTH_CONTAINER_IMAGE=a sbatch job.sh
expect '... or that starts a step in it' 0 "0 $A: ./x" \
    FAKE_JOB=$$ FAKE_SCRIPT="srun ./x" sbatch --container-image=a job.sh
missed=$lost
expect 'the batch step runs in the image' 0 "0 host: LIBEXEC/berth-oci$given 1" \
    sbatch --container-image=a --container-script job.sh 1
expect '... by an #SBATCH line' 0 "0 host: LIBEXEC/berth-oci$given" \
    FAKE_HEADER='--container-image=a --container-script' sbatch job.sh
expect '... unless the command line says otherwise' 0 '0 host: job.sh' \
    FAKE_HEADER='--container-image=a --container-script' sbatch --no-container-script job.sh
site 'rules: [{default: {container-script: yes}}]'
expect '... by a rule of the site' 0 "0 host: LIBEXEC/berth-oci$given" \
    FAKE_WORDS="$SITE" sbatch --container-image=a job.sh
expect '... and not against the option' 0 '0 host: job.sh' \
    FAKE_WORDS="$SITE" sbatch --container-image=a --no-container-script job.sh
site 'rules: [{force: {no-container-script: yes}}]'
expect '... but a rule that forces' 0 '0 host: job.sh' \
    FAKE_WORDS="$SITE" sbatch --container-image=a --container-script job.sh
site 'rules: [{forbid: [container-script]}]'
expect '... or forbids' 1 \
    "sbatch: error: berth: --container-script: a rule of this site forbids it; leave it out
        (T/berth.yaml:1)" \
    FAKE_WORDS="$SITE" sbatch --container-image=a --container-script job.sh
expect '... and needs an image' 1 \
    'sbatch: error: berth: --container-script: it needs an image; add --container-image=IMAGE' \
    sbatch --container-script job.sh
expect '... also by its name' 1 \
    'sbatch: error: berth: --container-name=work: the batch script begins the job, which has no such
        container; add --container-image (containers end with their job: see --container-save)' \
    FAKE_CONTAIN=1 sbatch --container-name=work --container-script job.sh
expect '... and saves none' 1 \
    'sbatch: error: berth: --container-save: only a step saves its container; write srun
        --container-save in the script, with --container-name here for what the script writes' \
    sbatch --container-image=a --container-save=new.sif --container-script job.sh
expect 'a step has no script' 1 \
    'srun: error: berth: --container-script: only sbatch has a script; leave it out, the command
        itself runs in the image' \
    srun --container-image=a --container-script ./x
expect 'nor has salloc' 1 \
    'salloc: error: berth: --container-script: only sbatch has a script; leave it out, the command
        itself runs in the image' \
    salloc --container-image=a --container-script
expect 'the steps inside get the default' 0 \
    "0 $A: ./x" \
    FAKE_SCRIPT="srun ./x" sbatch --container-image=a job.sh
expect 'every option is a default' 0 \
    "0 $A --container-mounts=/d:/d:rw --container-mounts=/e:/e:rw --container-workdir=/w
        --no-container-mount-home --container-writable --container-entrypoint --container-env=X
        --container-args=-a --mpi-bind=hybrid: ./x" \
    FAKE_SCRIPT="srun ./x" sbatch --container-image=a --container-mounts=/d \
    --container-mounts=/e --container-workdir=/w --no-container-mount-home \
    --container-writable --container-entrypoint --container-env=X --container-args=-a \
    --mpi-bind=hybrid job.sh
expect 'a lifetime, too, which a step overrides' 0 \
    "0 $A --container-lifetime=job: ./x
1 $B --container-lifetime=step: ./y" \
    FAKE_SCRIPT="srun ./x : --container-image=b --container-lifetime=step ./y" \
    sbatch --container-image=a --container-lifetime=job job.sh
expect 'without a default there is none' 0 \
    '0 host: ./x' \
    FAKE_SCRIPT="srun ./x" sbatch job.sh
expect 'a step overrides the default' 0 \
    "0 $B: ./x" \
    FAKE_SCRIPT="srun --container-image=b ./x" sbatch --container-image=a job.sh
expect 'none cancels the default' 0 \
    '0 host: ./x' \
    FAKE_SCRIPT="srun --container-image=none ./x" \
    sbatch --container-image=a --container-mounts=/d job.sh
expect 'lists of a step come behind those of the default' 0 \
    "0 $A --container-mounts=/d:/d:rw --container-mounts=/e:/e:rw: ./x" \
    FAKE_SCRIPT="srun --container-mounts=/e ./x" \
    sbatch --container-image=a --container-mounts=/d job.sh
expect 'a default without an image waits for one' 0 \
    "0 $A --container-mounts=/d:/d:rw: ./x" \
    FAKE_SCRIPT="srun --container-image=a ./x" sbatch --container-mounts=/d job.sh
expect 'a default without an image harms nobody' 0 \
    '0 host: ./x' \
    FAKE_SCRIPT="srun ./x" sbatch --container-mounts=/d job.sh
expect 'one component overrides the default' 0 \
    "0 $A: ./x
1 $B: ./y
2 $A: ./z" \
    FAKE_SCRIPT="srun ./x : --container-image=b ./y : ./z" \
    sbatch --container-image=a job.sh
expect 'one component cancels the default' 0 \
    "0 host: ./x
1 $A: ./y" \
    FAKE_SCRIPT="srun --container-image=none ./x : ./y" sbatch --container-image=a job.sh
expect 'a default under --export=NONE' 0 \
    "0 $A: ./x
1 $B: ./y" \
    FAKE_SCRIPT="srun ./x : --container-image=b ./y" \
    sbatch --export=NONE --container-image=a job.sh
expect 'the #SBATCH lines are a default too' 0 \
    "0 $A --container-mounts=/d:/d:rw: ./x" \
    FAKE_HEADER='--container-image=a --container-mounts=/d' FAKE_SCRIPT="srun ./x" \
    sbatch job.sh
expect 'a second srun inside knows nothing of the first' 0 \
    "0 $B: ./x
0 $A: ./y" \
    FAKE_SCRIPT="srun --container-image=b ./x && srun ./y" sbatch --container-image=a job.sh
expect 'sbatch inside a step starts anew' 0 \
    '0 host: ./x' \
    SLURM_BERTH_JOB="1;*:image=$T/a;." SLURM_BERTH_STEP="1;*:image=$T/a;." \
    FAKE_SCRIPT="srun ./x" sbatch job.sh
expect 'salloc is like sbatch' 0 \
    "0 $A: ./x
1 $B: ./y" \
    salloc --container-image=a srun ./x : --container-image=b ./y

# A mount on the place of another: the later one wins, the job's before the step's.
expect 'a mount of a step replaces that of the job on its place' 0 \
    "0 $A --container-mounts=/e:/e:rw --container-mounts=/g:/d:ro: ./x
1 $A --container-mounts=/f:/d:rw --container-mounts=/e:/e:rw: ./y" \
    FAKE_SCRIPT="srun --container-mounts=/g:/d/:ro ./x : ./y" \
    sbatch --container-image=a --container-mounts=/f:/d,/e job.sh
expect 'a mount of an option replaces that of the variable' 0 \
    "0 $A --container-mounts=/g:/d:rw: ./x" \
    BERTH_CONTAINER_MOUNTS=/f:/d srun --container-image=a --container-mounts=/g://d ./x

# As with options of Slurm: the script, over it the environment, over both the command line.
header='--container-image=a --container-lifetime=step --container-writable --container-env=X'
header="$header --container-mounts=/f:/d,/e"
expect 'the command line of sbatch wins over the script' 0 \
    "0 $B --container-mounts=/e:/e:rw --container-mounts=/g:/d:rw --container-readonly
        --container-env=X --container-env=Y --container-lifetime=job: ./x" \
    FAKE_HEADER="$header" \
    FAKE_SCRIPT='srun ./x' \
    sbatch --container-lifetime job --container-image=b --container-readonly \
    --container-env=Y --container-mounts=/g:/d job.sh
expect 'with a prefix' 0 "0 $B: ./x" \
    FAKE_WORDS=option_prefix=site- FAKE_HEADER='--site-container-image=a' \
    FAKE_SCRIPT='srun ./x' sbatch --site-container-image=b job.sh
expect 'the environment of sbatch wins over the script' 0 \
    "0 $B: ./x" \
    BERTH_CONTAINER_IMAGE=b FAKE_HEADER='--container-image=a' FAKE_SCRIPT='srun ./x' sbatch job.sh
expect 'the command line of sbatch wins over both' 0 \
    "0 $C: ./x" \
    BERTH_CONTAINER_IMAGE=b FAKE_HEADER='--container-image=a' FAKE_SCRIPT='srun ./x' \
    sbatch --container-image=c job.sh
expect 'the script twice is a mistake' 1 \
    "sbatch: error: berth: --container-image: given twice, 'T/a' and 'T/b'; expected one value" \
    FAKE_HEADER='--container-image=a --container-image=b' sbatch job.sh
expect 'so is the command line' 1 \
    "sbatch: error: berth: --container-image: given twice, 'T/b' and 'T/c'; expected one value" \
    FAKE_HEADER='--container-image=a' sbatch --container-image=b --container-image=c job.sh
expect 'components of a command line and of a script' 0 \
    "0 $C: ./x
1 $B: ./y" \
    FAKE_HEADER='--container-image=a : --container-image=a' \
    FAKE_SCRIPT='srun --het-group=0 ./x : --het-group=1 ./y' \
    sbatch --container-image=c : --container-image=b job.sh

# Each component of a job has a default of its own.
expect 'components of a batch job have a default each' 0 \
    "0 $A: ./x
1 $B: ./y" \
    FAKE_SCRIPT="srun ./x : ./y" sbatch --container-image=a : --container-image=b job.sh
expect 'the first component alone has one' 0 \
    "0 $A: ./x
1 host: ./y" \
    FAKE_SCRIPT="srun ./x : ./y" sbatch --container-image=a : -n2 job.sh
three='--container-image=a --container-mounts=/d : --container-image=b'
three="$three : --container-image=c --container-workdir=/w"
expect '#SBATCH components, in any order, and one srun for two groups' 0 \
    "2 $C --container-workdir=/w: ./x
0 $A --container-mounts=/d:/d:rw: ./y
0 $A --container-mounts=/d:/d:rw: ./z
2 $C --container-workdir=/w: ./z
0 $A --container-mounts=/d:/d:rw: ./one" \
    FAKE_HEADER="$three" FAKE_SCRIPT="srun --het-group=2 ./x && srun --het-group=0 ./y &&
        srun --het-group=0,2 ./z && srun ./one" sbatch job.sh
expect 'a step overrides the default of a component' 0 \
    "0 $A --container-mounts=/d:/d:rw: ./x
1 $C: ./y
2 host: ./z" \
    FAKE_HEADER="$three" \
    FAKE_SCRIPT="srun ./x : --container-image=c ./y : --container-image=none ./z" sbatch job.sh
expect 'salloc, too' 0 \
    "0 $A: ./x
1 $B: ./y" \
    salloc --container-image=a : --container-image=b srun ./x : ./y
expect 'a wrong option of a later component is reported once' 1 \
    "sbatch: error: berth: --container-image=none: the other container options mean nothing on the
        host; leave them out" \
    FAKE_HEADER='--container-image=a : --container-image=b : --container-image=none --mpi-bind' \
    sbatch job.sh
echo ./app >host.sh
expect 'a warning is printed once' 0 \
    "sbatch: berth: warning: 'host.sh' runs on the host and has no srun, so nothing runs in the
        image; write srun before each program, or give --container-script to run the script in the
        image" \
    FAKE_SCRIPT=true FAKE_HEADER='--container-image=a : --container-image=b' sbatch host.sh
expect 'an srun whose groups berth cannot read' 1 \
    "srun: error: berth: the components of this job have different container options, and berth
        cannot tell which component this is; write --het-group with numbers (--het-group=0,2-3), or
        unset SLURM_BERTH_JOB and name the image" \
    FAKE_HEADER='--container-image=a : --container-image=b' \
    FAKE_SCRIPT="srun '--het-group=[0-1' ./x" sbatch job.sh
expect 'another process of the same command starts anew' 0 \
    "0 $A: ./x
1 $A: ./y" \
    "BERTH_SBATCH_AGAIN=1:1;0:$B;1:$B;." FAKE_SCRIPT="srun ./x : ./y" \
    sbatch --container-image=a : --container-image=a job.sh

damaged='sbatch: error: berth: internal data is damaged (x); have one release of berth on all hosts,
        and set no variable of berth by hand'
equal 'a table of this process that is damaged does not make it start for ever' "$damaged" \
    "$(sh -c 'BERTH_SBATCH_AGAIN=$$:x exec "$@"' sh sbatch --container-image=a : \
    --container-image=b 2>&1)"

# A script on standard input is read a second time.
printf '%s\n' "srun ./x : ./y" >script
from()
{
    case $1 in
        file) shift && "$@" <script ;;
        pipe) shift && "$@" <<END ;;
$(cat script)
END
        late) shift && { sleep 0.3 && cat script; } | "$@" ;;
        unread) shift && sleep 0.1 | FAKE_SCRIPT=$(cat script) "$@" job.sh ;;
        ended) shift && sleep 0.1 | FAKE_SCRIPT=- "$@" job.sh ;;
        fifo) shift && FAKE_SCRIPT=true "$@" ./fifo </dev/null ;;
    esac
}
both="0 $A: ./x
1 $B: ./y"
twice='sbatch: error: berth: the components of this job have different container options, so sbatch
        has to read the script twice, and it is not in a file; give sbatch a file'
mkfifo fifo
for row in "file|$both" "pipe|$both" "late|$twice" "unread|$both" \
    "ended|FAULT: /dev/stdin is empty" "fifo|$twice"; do
    equal "standard input: ${row%%|*}" "${row#*|}" \
        "$(FAKE_SCRIPT=- from "${row%%|*}" sbatch --container-image=a : --container-image=b 2>&1 |
        neutral)"
done

expect 'a het batch job without options' 0 \
    "0 $A: ./x
1 $B: ./y" \
    FAKE_SCRIPT="srun --container-image=a ./x : --container-image=b ./y" \
    sbatch -n1 : -n2 job.sh
expect 'a default that is not ours is refused' 1 \
    "srun: error: berth: SLURM_BERTH_JOB: internal data is damaged (x); have one release of berth on
        all hosts, and set no variable of berth by hand" \
    SLURM_JOB_ID=100 SLURM_BERTH_JOB=x srun ./x
options='--container-workdir=/v --container-mounts=/g:/d'
expect 'an account tells where an option comes from' 0 \
    "srun: berth: component 0: --container-image: 'T/b' of its environment, over 'T/a' of the job
        (sbatch, salloc)
srun: berth: component 0: --container-workdir: '/v' of the command line of srun, over '/w' of the
        job (sbatch, salloc)
srun: berth: component 0: --mpi-bind: 'hybrid' of the job (sbatch, salloc)
srun: berth: component 0: --container-mounts: '/g:/d:rw' of the command line of srun, over
        '/f:/d:rw' of the job (sbatch, salloc)
srun: berth: component 0: --container-mounts: '/e:/e:rw' of the job (sbatch, salloc)
0 $B --container-mounts=/e:/e:rw --container-mounts=/g:/d:rw --container-workdir=/v
        --mpi-bind=hybrid --container-explain=text: ./x" \
    FAKE_SCRIPT="BERTH_CONTAINER_IMAGE=b srun $options --container-explain ./x" \
    sbatch --container-image=a --container-workdir=/w --mpi-bind=hybrid \
    --container-mounts=/f:/d,/e job.sh

finish

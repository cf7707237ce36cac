#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What is typed and does not do what it looks like: Slurm's own commands say it in a line.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images a
script_submit
A=/images/a.sif
IMAGE=--container-image=$A

script job <<'SCRIPT'
#!/bin/bash
#SBATCH --output=/dev/null
# Here srun is only a word.
true
SCRIPT

# (tests/spank/mistakes.sh has all of them; here they come from Slurm's own command lines.)
argument="runs on the host and gets '$IMAGE' as an argument; .*"
nothing='runs on the host and has no srun, so nothing runs in the image; write srun before each
        program, or give --container-script to run the script in the image'
try "an option behind the program" "~^srun: berth: warning: 'true' $argument: srun $IMAGE true$" \
    -- srun true "$IMAGE"
try "an option for another srun" "" -- salloc -Q srun "$IMAGE" true
try "Slurm's own --container names an image" \
    "~error: berth: --container=$A .*; write srun $IMAGE.status 1" -- \
    srun --container=$A true
try "a script without srun" "~^sbatch: berth: warning: 'job' $nothing$" -- ./submit "$IMAGE" job
try "the same, said by #SBATCH" "~^sbatch: berth: warning: 'with' $nothing$" -- \
    sh -c "sed 's|^#SBATCH|& $IMAGE|' job >with && ./submit with"
try "the same on standard input" "~^sbatch: berth: warning: the script $nothing$" \
    -- sh -c "./submit $IMAGE <job"
try "sbatch --wrap without srun" "~^sbatch: berth: warning: the command of --wrap $nothing$" -- \
    ./submit -o /dev/null "$IMAGE" --wrap 'echo x'
try "a step without any of this" "" -- srun true :- 7: -n1

finish

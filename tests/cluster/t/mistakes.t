#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What is typed and does not do what it looks like: Slurm's own commands say it in a line.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images a
script_submit
A=/images/a.sif
IMAGE=--container-image=$A

# typed TITLE PATTERN COMMAND...: the line of COMMAND that begins with `berth: `; "" is none.
typed() {
    local said
    said=$("${@:3}" 2>&1 </dev/null | grep -o 'berth: .*')
    if [[ $2 ]]; then matches "$1" "^berth: warning: $2$" "$said"; else equal "$1" "" "$said"; fi
}

# refused TITLE PATTERN COMMAND...: the same for an error.
refused() { matches "$1" "error: berth: $2$" "$("${@:3}" 2>&1 </dev/null)"; }

script job <<'SCRIPT'
#!/bin/bash
#SBATCH --output=/dev/null
# Here srun is only a word.
true
SCRIPT
script step <<'SCRIPT'
#!/bin/bash
#SBATCH --output=/dev/null
srun true
SCRIPT

typed "an option behind the program" "'true' runs on the host and gets '$IMAGE' as an argument; .*: srun $IMAGE true" \
    alice srun true "$IMAGE"
typed "an option behind the program of the second component" \
    "'env' runs on the host and gets '$IMAGE' as an argument; .*" \
    alice srun -w n1 "$IMAGE" true : -w n2 env A=1 true "$IMAGE"
typed "an option for another srun" "" alice salloc -Q srun "$IMAGE" true
refused "a colon that is not a word" "':-n1' is an argument of 'true' and does not begin a component; .*" \
    alice srun "$IMAGE" true :-n1 "$IMAGE" true
typed "a colon of an argument" "" alice srun "$IMAGE" echo error: -r -n logs
refused "Slurm's own --container names an image" "--container=$A .*; write srun $IMAGE" \
    alice srun --container=$A true
refused "SLURM_CONTAINER does" "--container=$A .*; write srun $IMAGE" \
    alice env SLURM_CONTAINER=$A srun true
typed "an image that is forgotten in the second component" \
    "component 1 has no image and runs on the host, which has no 'nowhere'; each component needs its own --container-image" \
    alice srun -w n1 "$IMAGE" true : -w n2 nowhere
nothing='runs on the host; only commands that srun starts, .*: srun COMMAND'
typed "a script without srun" "'job' $nothing" alice ./submit "$IMAGE" job
typed "the same, said by #SBATCH" "'with' $nothing" \
    alice sh -c "sed 's|^#SBATCH|& $IMAGE|' job >with && ./submit with"
typed "the same on standard input" "the script $nothing" alice sh -c "./submit $IMAGE <job"
typed "a script with srun" "" alice ./submit "$IMAGE" step
typed "a script without srun where a profile sets the image" "" \
    alice env "BERTH_CONTAINER_IMAGE=$A" ./submit job
typed "a script without srun and without an image" "" alice ./submit job
typed "sbatch --wrap without srun" "the command of --wrap $nothing" \
    alice ./submit -o /dev/null "$IMAGE" --wrap 'echo x'
typed "an option behind a script" "'step' runs on the host and gets '$IMAGE' as an argument; .*: sbatch $IMAGE step" \
    alice ./submit step "$IMAGE"
printf '#!/usr/bin/perl\n# srun\nprint "@ARGV\\n";\n' | on login alice tee script.pl >/dev/null
typed "an option behind a script of another language" "" alice ./submit -o /dev/null script.pl "$IMAGE"
typed "a step without any of this" "" alice srun true :- 7: -n1

finish

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Slurm's own --container with an image, where oci.conf names berth-oci: tasks share a container
# per node, a batch script runs in the image with a srun that starts its steps there, and an end
# of any kind leaves nothing, in SlurmdSpoolDir neither. First without the plugin, then with it.

# shellcheck disable=SC2016,SC2086 # words for other shells, and several words in $A
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images a b mpich
container_option_without_plugin
LIMIT=60
A=--container=/images/a.sif
# A container that begins after another one has ended may have the number of its namespace.
script count <<'END'
#!/bin/sh
echo "$(cat /etc/berth-image 2>/dev/null || echo host) $SLURMD_NODENAME $(readlink /proc/self/ns/mnt)"
END
script count.image <<'END'
#!/bin/sh
cat /etc/berth-image 2>/dev/null || echo host
END
script_submit
script_pty

# in_containers COMMAND...: the images of the tasks, and how many containers they are in.
in_containers() { alice "$@" 2>&1 | sort | uniq -c | awk '{ print $1, $2 }'; }

if [[ $release == bookworm ]]; then
    try "Slurm 22.05 does not take an image as --container: an error, and no task" '~status [1-9]' -- srun -n1 $A true
    finish
    exit
fi

equal "there is no plugin" 0 "$(alice srun --help | grep -c container-image)"
equal "tasks of two nodes: a container on each" $'4 a\n4 a' "$(in_containers srun -Q -N2 -n8 --ntasks-per-node=4 $A ./count)"
try "the environment, directory and exit status of the task" $'a b /tmp 1\nstatus 3' -- \
    env X='a b' srun -n1 -D /tmp $A sh -c 'echo "$X $PWD $SLURM_NTASKS"; exit 3'
try "standard input" 'line of input' -- sh -c "echo line of input | srun -n1 $A cat"
try "--pty" '~dev/pts/0' -- ./pty.py srun -Q -n1 --pty $A tty
try "--output for each task" $'a\na' -- sh -c "srun -n2 -o out.%t $A cat /etc/berth-image; cat out.0 out.1"
try "--export=NONE" a 'grep -v ^berth:' -- srun -n1 --export=NONE $A cat /etc/berth-image
try "a variable of berth" 'a b' -- env BERTH_CONTAINER_ENV='X=a b' srun -n1 $A sh -c 'echo "$X"'
try "an image in the working directory" a -- sh -c 'ln -sf /images/a.sif here.sif; srun -n1 --container=here.sif cat /etc/berth-image'
ranks='sed -nE "s/^rank .* (in mpich: MPICH Version:)[[:space:]]*([0-9.]{3}).*/\1 \2/p" | sort | uniq -c | sed "s/^ *//"'
try "a ring of the image's MPI" '4 in mpich: MPICH Version: 4.0' "$ranks" -- srun -N2 -n4 --mpi=pmi2 --container=/images/mpich.sif mpiring
on_host='4 in mpich: MPICH Version: 4.2'
[[ $release == trixie ]] || on_host='4 in mpich: MPICH Version: 5.0'
try "the host's MPI" "$on_host" "$ranks" -- env BERTH_MPI_BIND=host srun -N2 -n4 --mpi=pmi2 --container=/images/mpich.sif mpiring
try "a missing image: one line per node" "berth: n1: image '/images/gone.sif': not found; check the path, and that the nodes see this file system
status 1" -- srun -w n1 -n4 --container=/images/gone.sif true
try "Slurm gives all components the last image" $'berth: note: Slurm gives the last --container to all components of this step; only the plugin gives each its own\nb\nb' -- \
    srun -Q -n1 $A cat /etc/berth-image : -n1 --container=/images/b.sif cat /etc/berth-image

# Batch scripts.
# in_image OPTION...: the output of a job whose script is standard input, and how it ended.
in_image() {
    script job.sh
    alice sh -c 'rm -f job.out; ./submit -o job.out "$@" job.sh one "two words"; cat job.out' sh "$@"
}
equal "the script runs in the image, and so do its steps" "a one two words
2 a
2 a" "$(in_image $A -N2 -n4 --ntasks-per-node=2 <<'END'
#!/bin/sh
echo "$(cat /etc/berth-image) $*"
srun -Q ./count | sort | uniq -c | awk '{ print $1, $2 }'
END
)"
equal "steps at once have CPUs of their own" "no SLURM_OVERLAP" "$(in_image $A -n2 <<'END'
#!/bin/sh
srun -n1 sh -c 'echo ${SLURM_OVERLAP-no SLURM_OVERLAP}'
END
)"
equal "a step in another image" b "$(in_image $A -n1 <<'END'
#!/bin/sh
srun -n1 --container=/images/b.sif cat /etc/berth-image
END
)"
equal "the script's exit status" "FAILED 7:0" "$(in_image $A -n1 <<'END' >/dev/null
#!/bin/sh
echo $SLURM_JOB_ID >job.id
exit 7
END
alice sh -c 'scontrol show job $(cat job.id) | tr " " "\n" | sed -n "s/^JobState=//p; s/^ExitCode=//p" | paste -sd" "')"
equal "an image that is not there" "berth: n1: image '/images/gone.sif': not found; check the path, and that the nodes see this file system" \
    "$(in_image --container=/images/gone.sif -w n1 <<<'#!/bin/sh')"

# The end of a step, by whatever. The shell in the image may print that its `sleep` has the
# signal, too.
traps='trap "echo got USR1; exit 4" USR1; echo ready; while :; do sleep 0.1; done'
# ends_by TITLE EXPECTED COMMAND...: what a step prints that COMMAND, given its number, ends.
ends_by() {
    start step alice srun -Q -w n1 -n1 $A sh -c "$traps"
    await step 1 ready
    "${@:3}" "$(alice squeue -h -s -u alice -o %i | grep -v '[.][a-z]')"
    wait "${pid[step]}"
    matches "$1" "$2" "status $?$nl$(cat "$work/step")"
}
# time_out STEP: the job of the step is at its limit now; slurmctld looks twice a minute.
time_out() { on login root scontrol update "JobId=${1%.*}" EndTime=now; }
ends_by "scancel of a step" 'CANCELLED' alice scancel
ends_by "scancel with a signal" '^status 4.*got USR1' alice scancel -s USR1
ends_by "a time limit" 'CANCELLED.* DUE TO TIME LIMIT' time_out
try "a task that is killed" "status 137" -- srun -w n1 -n1 $A sh -c 'kill -9 $$'
try "... ends the other tasks of its step with -K" "~status 1(37|43)$" -- \
    srun -K -w n1 -n2 $A sh -c '[ $SLURM_PROCID = 0 ] || kill -9 $$; sleep 60'

# A job that begins again.
script_is_ready() { on login alice grep -aq "^a ready ${1:-0}\$" job.out 2>/dev/null; }
script ready.sh <<'END'
#!/bin/sh
echo "$(cat /etc/berth-image) ready ${SLURM_RESTART_COUNT-0}"
sleep 60
END
on login alice rm -f job.out
job=$(alice sbatch --parsable -o job.out --open-mode=append $A -w n1 --requeue ready.sh)
wait_for 30 script_is_ready || result FAIL "the script begins" "$(on login alice cat job.out)"
requeue "$job"
wait_for 60 script_is_ready 1
equal "a requeued job begins again in the image" "0 is ready 1" "$? is $(on login alice grep -ao 'ready 1' job.out)"
alice scancel "$job"
wait_for 30 has_no_job
soon "nothing is left in SlurmdSpoolDir" "" -- spooled

# With the plugin.
container_option_with_plugin
equal "with the plugin: a container per node" $'4 a\n4 a' "$(in_containers srun -Q -N2 -n8 --ntasks-per-node=4 $A ./count)"
try "... and its options" "$on_host" "$ranks" -- srun -N2 -n4 --mpi=pmi2 --container=/images/mpich.sif --mpi-bind mpiring
try "... each component has its own image, or none" $'a\nb\nhost' 'sort' -- \
    srun -Q -n1 $A ./count.image : -n1 --container=/images/b.sif ./count.image : -n1 ./count.image
equal "... the script of a job, its steps, another image and the host" "a a b host" "$(in_image $A -n1 <<'END'
#!/bin/sh
echo $(./count.image) $(srun -Q ./count.image) $(srun -Q --container-image=/images/b.sif ./count.image) $(srun -Q --container-image=none ./count.image)
END
)"
equal "... as an #SBATCH line" a "$(in_image -n1 <<'END'
#!/bin/sh
#SBATCH --container=/images/a.sif
cat /etc/berth-image
END
)"
equal "... as an #SBATCH line, with the script on the host" "host a" "$(in_image -n1 <<'END'
#!/bin/sh
#SBATCH --container=/images/a.sif --no-container-script
echo $(./count.image) $(srun -Q ./count.image)
END
)"
# of_components OPTION...: the images of the script and of two components of a job.
of_components() {
    { cat && printf 'srun -Q --het-group=%s ./count.image\n' 0 1; } | in_image "$@" | paste -sd' '
}
equal "... each component of a job has its own" "a a b" \
    "$(of_components $A -n1 : -n1 --container=/images/b.sif <<<$'#!/bin/sh\n./count.image')"
equal "... as #SBATCH lines, too" "a a b" "$(of_components <<'END'
#!/bin/sh
#SBATCH --container=/images/a.sif -n1
#SBATCH hetjob
#SBATCH --container=/images/b.sif -n1
./count.image
END
)"
equal "... or none" "host host b" "$(of_components <<'END'
#!/bin/sh
#SBATCH -n1
#SBATCH hetjob
#SBATCH --container=/images/b.sif -n1
./count.image
END
)"
equal "... on the host" "host a" "$(in_image $A --no-container-script -n1 <<'END'
#!/bin/sh
echo $(./count.image) $(srun -Q ./count.image)
END
)"
on n1 root rm /etc/slurm/oci.conf
try "... on a node without oci.conf, too" a -- srun -Q -w n1 -n1 $A cat /etc/berth-image
soon "nothing is left there" "" -- spooled
on login root rm /etc/slurm/oci.conf
try "... and refused where srun's host has none" "~^srun: error: berth: --container=/images/a.sif .or its variable. is Slurm's own option.*status 1" -- srun -n1 $A true

finish

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sbatch --container-script: the batch script itself runs in the image, with a srun that starts
# its steps there; its arguments, status, signals, requeue and end are as outside. And a job whose
# script runs on the host and starts nothing in the image says so.

# shellcheck disable=SC2016 # words for other shells
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images a b
LIMIT=90
script_submit

# submitted OPTION...: the output of a job whose script is standard input, and how the job ended.
submitted() {
    script job.sh
    alice sh -c 'rm -f job.out; ./submit -o job.out "$@" job.sh one "two words" 2>&1; cat job.out' \
        sh "$@"
}
# job_ended: the state and the status of the job whose number is in the file job.id.
job_ended() {
    alice sh -c 'scontrol show job $(cat job.id) | tr " " "\n" | sed -n "s/^JobState=//p; s/^ExitCode=//p" | paste -sd" "'
}
A=(--container-image=/images/a.sif)
S=("${A[@]}" --container-script)

equal "the script runs in the image, and so do its steps, on all nodes" \
    "a one two words in /home/alice
4 a" "$(submitted "${S[@]}" -N2 -n4 <<'END'
#!/bin/sh
echo "$(cat /etc/berth-image) $* in $(pwd)"
srun -Q cat /etc/berth-image | sort | uniq -c | sed 's/^ *//'
END
)"
equal "as an #SBATCH line" a "$(submitted -n1 <<'END'
#!/bin/sh
#SBATCH --container-image=/images/a.sif --container-script
cat /etc/berth-image
END
)"
equal "mounts and variables are those of the job; a step in another image, one on the host" \
    "/home/alice/in.it v b host" "$(submitted "${S[@]}" -n1 \
    --container-mounts=/home/alice:/elsewhere --container-env=V=v <<'END'
#!/bin/sh
touch /elsewhere/in.it
echo $(ls /home/alice/in.it) $V $(srun -Q --container-image=/images/b.sif cat /etc/berth-image) \
    $(srun -Q --container-image=none sh -c 'cat /etc/berth-image 2>/dev/null || echo host')
END
)"
equal "steps at once have CPUs of their own" "none" "$(submitted "${S[@]}" -n1 <<'END'
#!/bin/sh
srun -Q sh -c 'echo ${SLURM_OVERLAP-none}'
END
)"
equal "a heterogeneous job: each component has its image" "a a b a+b" \
    "$(submitted -n1 "${S[@]}" : -n1 --container-image=/images/b.sif <<'END'
#!/bin/sh
echo $(cat /etc/berth-image) $(srun -Q --het-group=0 cat /etc/berth-image) $(srun -Q --het-group=1 cat /etc/berth-image) \
    $(srun -Q --het-group=0 cat /etc/berth-image : --het-group=1 cat /etc/berth-image | sort | paste -sd+)
END
)"
submitted "${S[@]}" -n1 >/dev/null <<'END'
#!/bin/sh
echo $SLURM_JOB_ID >job.id
exit 7
END
equal "the status of the script is that of the job" "FAILED 7:0" "$(job_ended)"

# Signals, requeue and the end of a job.
script traps.sh <<'END'
#!/bin/bash
echo $SLURM_JOB_ID >job.id
trap 'echo got USR1; exit 3' USR1
echo ready ${SLURM_RESTART_COUNT-0}
for it in $(seq 300); do sleep 0.1; done
END
is_ready() { on login alice grep -q "^ready ${1:-0}\$" job.out 2>/dev/null; }
# begin OPTION...: the job of traps.sh runs when this returns; $job is its number.
begin_traps() {
    on login alice rm -f job.out
    job=$(alice sbatch --parsable -o job.out "${S[@]}" -w n1 -n1 "$@" traps.sh)
    wait_for 30 is_ready || result FAIL "the script begins" "$(on login alice cat job.out)"
}
begin_traps
alice scancel --batch --signal=USR1 "$job"
wait_for 30 has_no_job
equal "scancel --batch --signal reaches the script" "got USR1 FAILED 3:0" \
    "$(on login alice tail -n1 job.out) $(job_ended)"
begin_traps --time=2 --signal=B:USR1@100
wait_for 60 has_no_job
equal "--signal=B:USR1@" "got USR1 FAILED 3:0" "$(on login alice tail -n1 job.out) $(job_ended)"
begin_traps --requeue
requeue "$job"
wait_for 60 is_ready 1
equal "a requeued job begins again in the image" "ready 1" \
    "$(on login alice grep -a ready job.out | tail -n1)"
alice scancel "$job"
wait_for 30 has_no_job
equal "scancel ends it" CANCELLED "$(job_ended | cut -d' ' -f1)"

# What a site decides.
site <<<'rules: [{default: {container-script: yes}}]'
equal "a rule makes it the default" a "$(submitted -n1 "${A[@]}" \
    <<<$'#!/bin/sh\ncat /etc/berth-image')"
matches "... that --no-container-script cancels" 'No such file' \
    "$(submitted -n1 "${A[@]}" --no-container-script <<<$'#!/bin/sh\ncat /etc/berth-image')"
site <<<'mounts: {forbidden: [/var/spool/slurmd]}'
matches "a site that forbids the place of the script" \
    "^berth: n1: the batch script '/var/spool/slurmd/job[0-9]+/slurm_script' cannot be mounted: the site forbids its place" \
    "$(submitted -w n1 -n1 "${S[@]}" <<<'#!/bin/sh')"
site <<<'images: {roots: [/elsewhere]}'
matches "a site that allows other images" \
    "/images/a.sif': this site does not allow it; it allows /elsewhere" \
    "$(submitted -n1 "${S[@]}" <<<'#!/bin/sh')"
site </dev/null

# A job that uses no image.
note='note: the batch script ran on the host, and nothing of the job in its image'
matches "a script on the host says so" "hello"$'\n'"berth: n1: $note" \
    "$(submitted -w n1 -n1 "${A[@]}" <<<$'#!/bin/sh\necho hello')"
equal "... but not one that starts a step in the image" a \
    "$(submitted -n1 "${A[@]}" <<<$'#!/bin/sh\nsrun -Q cat /etc/berth-image')"
equal "... or uses berth run" a "$(submitted -n1 "${A[@]}" \
    <<<$'#!/bin/sh\nberth run cat /etc/berth-image')"
equal "... or has its image only from the environment" hello \
    "$(script job.sh <<<$'#!/bin/sh\necho hello'
    alice sh -c 'rm -f job.out; BERTH_CONTAINER_IMAGE=/images/a.sif ./submit -o job.out job.sh; cat job.out')"

finish

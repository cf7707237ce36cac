#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # what stands in single quotes is for another shell
# On two virtual machines (up --machines): what berth does with systemd, cgroup v2,
# accounting, PAM limits, restarts of Slurm's daemons, and a power cut.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/t/lib.sh"

# Emulated machines are ten times slower.
LIMIT=600
need_images a b openmpi

I=--container-image=/images/a.sif
PATIENCE=90

# state_of JOB: as the database has it.
state_of() { on login root sacct -nXP -j "$1" -o State | head -n 1; }
ended() { [[ -n $(state_of "$1") && $(state_of "$1") != @(PENDING|RUNNING|REQUEUED|SUSPENDED) ]]; }
running() { on login root squeue -h -t RUNNING -o %i; }
idle() { [[ $(on login root sinfo -h -o '%D %t') == "2 idle" ]]; }

equal "the hosts have systemd, cgroup v2 and AppArmor" "systemd cgroup2fs Y" \
    "$(on n2 root bash -c \
    'echo $(cat /proc/1/comm) $(stat -fc %T /sys/fs/cgroup) $(cat /sys/module/apparmor/parameters/enabled)')"
seen=$(alice srun -Q -N2 "$I" sh -c \
    'cat /etc/berth-image; cut -d/ -f3- /proc/self/cgroup; ulimit -n')
matches "the tasks of a step are in its cgroup" '_slurmstepd.scope/job_[0-9]+/step_0/user/task_1' \
    "$seen"
equal "... and have the limits of PAM, as without an image" \
    "$(alice srun -Q -N2 sh -c 'ulimit -n')" \
    "$(grep -x '[0-9]*' <<<"$seen")"
seen=$(alice srun -Q -N2 -n4 --mpi=pmix --container-image=/images/openmpi.sif --mpi-bind=host \
    mpiring)
equal "the host's MPI on both machines" "4 ring of 4 passed" \
    "$(grep -c '^rank' <<<"$seen") $(grep ^ring <<<"$seen")"
seen=$(alice srun -Q -N1 "$I" cat /etc/berth-image : -N1 --container-image=/images/b.sif cat \
    /etc/berth-image)
equal "two components" "a b" "$(sort <<<"$seen" | paste -sd' ')"
equal "srun inside" "n1 n2" "$(alice salloc -Q -N2 srun -N1 -n1 "$I" srun --overlap -N2 -n2 \
    hostname | sort | paste -sd' ')"

eat='ready() { echo ready; }; ready; head -c 400M /dev/zero | tail >/dev/null; echo survived'
for image in '' "$I"; do
    # shellcheck disable=SC2086
    alice srun -w n1 -n1 --mem=150M $image sh -c "$eat" >"$work/oom${image:+.image}" 2>&1
    job=$(on login alice sacct -nXP -o JobID | tail -n 1)
    wait_for 30 ended "$job"
    equal "out of memory${image:+ in an image}: the state" OUT_OF_MEMORY "$(state_of "$job")"
    matches "... and a line says so" 'oom' "$(cat "$work/oom${image:+.image}")"
done
# The same by Slurm's own --container, for which oci.conf names berth-oci.
on n1,n2 root cp /usr/share/berth/oci.conf /etc/slurm/oci.conf
C=--container=/images/a.sif
alice srun -w n1 -n1 --mem=150M $C sh -c "$eat" >"$work/oom.container" 2>&1
job=$(on login root sacct -nXP -o JobID | tail -n 1)
wait_for 30 ended "$job"
equal "out of memory in an image of --container: the state" OUT_OF_MEMORY "$(state_of "$job")"
equal "... and sacct shows the image, of the job and of the step" \
    "$job /images/a.sif,$job.0 /images/a.sif" \
    "$(on login alice sacct -nP -j "$job" -o JobID,Container | grep -v extern | tr '|\n' ' ,' |
        sed 's/,$//')"
soon "... and nothing is left in SlurmdSpoolDir" "" -- spooled
# lines_of FILE: without numbers, and without what tells that its job waited for the one before.
lines_of() { sed -E '/^srun: job [0-9]+ (queued|has been)/d; s/[0-9]//g' "$1" | sort -u; }
equal "... with the same lines but for numbers" "$(lines_of "$work/oom")" \
    "$(lines_of "$work/oom.image")"

live 1 -w n1 -n1 "$I" sh -c \
    'x=$(head -c 60000000 /dev/zero | tr "\0" x); echo ready; '"$waits"'; echo ${#x}'
job=$(running)
# used COMMAND WORD...: has it the memory of the task?
used() { (($(on login root "$@" -nP --noconvert -j "$job.0" -o MaxRSS) + 0 > 60000000)); }
wait_for 30 used sstat
equal "sstat has the memory of the task" 0 $?
go
ends "... which ends" live 0
wait_for 30 used sacct
equal "... and sacct has it" 0 $?

live 2 -N2 "$I" sh -c "echo ready; $waits; cat /etc/berth-image"
on n2 root systemctl restart slurmd
on n1 root systemctl restart slurmctld
go
ends "slurmd and slurmctld start again in the middle of a step" live 0
printed "... which does not care" live 2 a

live 2 -N2 "$I" sh -c "echo ready; $waits; cat /etc/berth-image"
job=$(running)
on login root scontrol suspend "$job"
stopped() { on n2 root bash -c \
    '[[ $(ps -o stat= -p $(pgrep -u alice -f "^[^ ]*sh -c echo ready; until" | head -n 1)) == T* ]]'; }
wait_for 15 stopped
equal "suspended: the task is stopped" 0 $?
go
on login root scontrol resume "$job"
ends "... and resumed" live 0
printed "... in the image" live 2 a

on login alice rm -f again.out
script again <<'SCRIPT'
#!/bin/bash
#SBATCH -w n2 -n1 --requeue -o again.out --open-mode=append
srun -Q --container-image=/images/a.sif --container-lifetime=job sh -c \
    'echo run $SLURM_RESTART_COUNT $(cat /etc/berth-image); [ "$SLURM_RESTART_COUNT" ] || sleep 300'
SCRIPT
said() { [[ $(on login alice cat again.out 2>/dev/null | tr -d '\0') == *"$1"* ]]; }
job=$(alice sbatch --parsable again)
wait_for 60 said "run a"
on login root scontrol requeue "$job"
# Slurm runs it again after cred_expire.
seen=$(alice srun -Q -w n1 -t 0:20 --signal=TERM@5 "$I" sh -c \
    'trap "cat /etc/berth-image; exit 7" TERM; for i in $(seq 100); do sleep 1; done' 2>&1)
matches "the signal before the time limit finds the image's files" $'(^|\n)a\n' "$seen"
wait_for 200 said "run 1 a"
equal "requeued: the job runs again in a container of its own" "run a,run 1 a" \
    "$(on login alice grep -o 'run.*' again.out | paste -sd,)"

on n2 root sysctl -qw user.max_user_namespaces=0
seen=$(alice srun -Q -w n2 "$I" true 2>&1)
matches "no user namespaces: one line" '^berth: n2: [^'$'\n'']*user namespaces?[^'$'\n'']*'$'\n' \
    "$seen"$'\n'
matches "... and doctor names the setting" 'user.max_user_namespaces is 0' \
    "$(on n2 alice berth doctor 2>&1)"
on n2 root sysctl -qw user.max_user_namespaces=7000

# As Ubuntu's setting does, which Debian's kernel has not.
on n2 root bash -c 'cat >/etc/apparmor.d/strict; apparmor_parser -r /etc/apparmor.d/strict' <<'END'
abi <abi/4.0>,
profile strict /usr/libexec/berth/berth-task flags=(attach_disconnected,mediate_deleted) {
  capability, network, signal, dbus, unix, mqueue, ptrace, mount, umount, pivot_root,
  file rwlkm /**,
  pix /**,
}
END
printf '%s --container-image=/images/%s.sif cat /etc/berth-image\n' 0 a 1 b |
    on login alice sh -c 'cat >images'
seen=$(alice srun -Q -w n2 -n1 "$I" true 2>&1)
matches "AppArmor refuses user namespaces: one line" \
    '^berth: n2: [^'$'\n'']*user namespace: Permission denied[^'$'\n'']*'$'\n' "$seen"$'\n'
on n2 root bash -c \
    'cp /usr/share/berth/apparmor /etc/apparmor.d/berth; apparmor_parser -r /etc/apparmor.d/berth'
equal "... and with berth's profile two images run on a node" "a b" \
    "$(alice srun -Q -w n2 -n2 --multi-prog images 2>&1 | sort | paste -sd' ')"
on n2 root bash -c \
    "cd /etc/apparmor.d; apparmor_parser -R strict; apparmor_parser -R berth; rm strict berth"

# Beside it a job whose script runs in its image by --container: Slurm keeps the environment of
# the script in SlurmdSpoolDir, and fails to write it where it is already.
script container.sh <<'SCRIPT'
#!/bin/sh
echo "run ${SLURM_RESTART_COUNT-0} $(cat /etc/berth-image)"
[ "$SLURM_RESTART_COUNT" ] || sleep 300
SCRIPT
began() { [[ $(on login alice cat container.out 2>/dev/null | tr -d '\0') == *"$1"* ]]; }
on login alice rm -f again.out container.out
job=$(alice sbatch --parsable again)
container=$(alice sbatch --parsable -w n2 -n1 --requeue -o container.out --open-mode=append $C \
    container.sh)
wait_for 60 said "run a"
wait_for 60 began "run 0 a"
on n2 root sync
"$tool" power "$name" n2
wait_for 120 idle
soon "a power cut leaves nothing in SlurmdSpoolDir" "" -- spooled
seen=$(on n2 root bash -c \
    'pgrep -u alice; find /tmp /run /dev/shm -user alice; grep -c squashfuse /proc/mounts')
equal "a power cut leaves nothing" 0 "$seen"
on login root scontrol release "$job" "$container" 2>/dev/null
wait_for 200 said "run 1 a"
matches "... and the job runs again in a container of its own" 'run 1 a' \
    "$(on login alice cat again.out)"
wait_for 60 began "run 1 a"
matches "... and so does a script in the image of --container" 'run 1 a' \
    "$(on login alice cat container.out)"

steps=500
[[ $(<"/run/berth/$name/accel") == kvm ]] ||
    steps=5 # emulated, some seconds each; there are five kinds
LIMIT=1200 many_steps $steps --mem-per-cpu=400
finish

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Where tasks cannot join a container (a setuid runtime), or must not (share: no), each
# becomes a runtime, as with apptainer exec; policy and options apply, and MPI is watched.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images a mpibookworm
A=--container-image=/images/a.sif
at_exit 'share auto'
host=$(on n1 alice readlink /proc/self/ns/user)

# Two tasks; but for the times of -v.
two=(srun -w n1 -n2)
quiet="grep -v '^srun: '"
mpi=(srun -Q -w n1 -n2 --container-image=/images/mpibookworm.sif)
who=/opt/t/mpich/who

for way in no setuid; do
    share $way
    why="the runtime is installed setuid and uses no user namespace (--container-args=--userns)"
    [[ $way == setuid ]] || why="the site says share: no"
    reason=${why%% (*}
    try "$way: -v says why each task has a container of its own" \
        "berth: n1: note: image '/images/a.sif': a container for each of 2 tasks: $why" "$quiet" \
        -- "${two[@]}" -v "$A" true
    if [[ $way == setuid ]]; then
        try "$way: without a user namespace" "$host$nl$host" \
            -- "${two[@]}" "$A" readlink /proc/self/ns/user
    else
        try "$way: each has a user namespace" 2 "sort -u | grep -c ^user" \
            -- "${two[@]}" "$A" readlink /proc/self/ns/user
    fi
    # shellcheck disable=SC2016 # for the task
    {
        try "$way: --container-writable is each task's own" $'own\nown' -- \
            "${two[@]}" "$A" --container-writable sh -c \
            'echo $SLURM_PROCID >/berth; sleep 0.3; [ $(cat /berth) = $SLURM_PROCID ] && echo own'
        try "$way: directory and variables" $'/usr/lib a,b= n\n/usr/lib a,b= n' \
            -- "${two[@]}" "$A" --container-workdir=/usr/lib \
            --container-env='C=a\,b=' --mpi-bind=hybrid sh -c \
            'echo $PWD $C $UCX_POSIX_USE_PROC_LINK'
        try "$way: no command of Slurm" $'unset\nunset' \
            -- "${two[@]}" "$A" sh -c 'echo ${BERTH_INSIDE-unset}'
        try "$way: an exit status" "status 3" -- srun -Q -w n1 "$A" sh -c 'exit 3'
        try "$way: a command that the image does not have fails" "~status 255" \
            -- srun -Q -w n1 "$A" /no/such
        try "$way: death by a signal" "~status 139" \
            -- srun -Q -w n1 "$A" sh -c 'kill -SEGV $$; sleep 5'
    }
    SECONDS=0
    alice srun -Q -w n1 -n2 "$A" sleep 60 >/dev/null 2>&1 &
    wait_for 10 has_processes n1 sleep 2
    on login alice scancel -u alice
    wait $!
    equal "$way: scancel ends it" yes "$( ((SECONDS < 30)) && echo yes)"
    nothing_left

    try "$way: ranks that are each alone are warned of, with the right --mpi" \
        "~berth: n1: warning: image '/images/mpibookworm.sif': .*the image's MPICH 4.0.2
            .*--mpi=pmi2" -- \
        "${mpi[@]}" --mpi=none python3 -c \
        'import ctypes, time; ctypes.CDLL("libmpich.so.12"); time.sleep(2)'
    try "$way: --mpi-bind=auto says that the image's own MPI runs, and it does" \
        "~note: the image's own MPI runs \(hybrid\): $reason.*rank [01] of 2 .*4[.]0[.]2" \
        -- "${mpi[@]}" --mpi=pmi2 --mpi-bind=auto $who
    equal "$way: that takes one line" 1 "$(grep -ac '^berth: ' <<<"$seen")"
    try "$way: on several nodes it is refused" \
        "~$reason.*; all nodes need the same MPI: .*--mpi-bind=hybrid.*status" \
        -- \
        "${mpi[@]}" --mpi=pmi2 --mpi-bind=auto -w n1,n2 -N2 $who
    try "$way: --mpi-bind=hybrid says nothing where the library fits" "~^rank [01] of 2 " \
        -- "${mpi[@]}" --mpi=pmi2 --mpi-bind=hybrid $who
    try "$way: --mpi-bind=host is refused" \
        "~^berth: n1: image '/images/mpibookworm.sif': --mpi-bind=host: $reason.* nothing can be
            mounted in its containers; choose --mpi-bind=hybrid.*status" -- \
        "${mpi[@]}" --mpi=pmi2 --mpi-bind=host $who
    try "$way: a fabric that is named is refused" \
        "~$reason.* nothing can be mounted in its containers; leave --container-libs out.*status" \
        -- \
        "${mpi[@]}" --mpi=pmi2 --mpi-bind=hybrid --container-libs=ucx $who
    try "$way: with auto the image's own stays" \
        "~note: the image's own MPI runs, on its own network libraries: $reason.*rank [01] of 2
            .*4[.]0[.]2" -- \
        "${mpi[@]}" --mpi=pmi2 --mpi-bind=hybrid --container-libs=auto $who
    try "$way: an mpirun on all nodes has no srun" \
        "~the image gets no srun, .*each task has a container of its own.*status" -- \
        salloc -Q -w n1 -n1 srun -n1 "$A" --mpi-bind=launch true
    try "$way: --container-explain says so" "~one for each task: $reason" \
        -- srun -w n1 -n2 "$A" --container-explain true
done
share setuid
try "setuid: --container-args=--userns shares one" \
    "berth: n1: note: image '/images/a.sif': one container for 2 tasks" "$quiet" \
    -- "${two[@]}" -v "$A" --container-args=--userns true
share no
echo 'images: {roots: [/nowhere]}' | site n1
try "no: the policy applies" "~image '/images/a.sif': .*status" -- srun -Q -w n1 "$A" true
share auto
finish

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

# printed TITLE EXPECTED ARGS...: what two tasks on n1 print, but for the times of -v.
printed() { equal "$1" "$2" "$(alice srun -w n1 -n2 "${@:3}" 2>&1 | grep -vE '^srun: |: serving it took ')"; }

# mpi MANAGER MODE PROGRAM OPTION...: what a step of two tasks prints, and its status.
mpi() {
    alice srun -Q -w n1 -n2 --mpi="$1" --container-image=/images/mpibookworm.sif \
        --mpi-bind="$2" "${@:4}" "/opt/t/$3" 2>&1
    echo "status $?"
}

for way in no setuid; do
    share $way
    why="the runtime is installed setuid and uses no user namespace (--container-args=--userns)"
    [[ $way == setuid ]] || why="the site says share: no"
    reason=${why%% (*}
    printed "$way: -v says why each task has a container of its own" \
        "berth: n1: note: image '/images/a.sif': a container for each of 2 tasks: $why" -v "$A" true
    seen=$(alice srun -Q -w n1 -n2 "$A" readlink /proc/self/ns/user 2>/dev/null | sort -u | grep -c .)
    if [[ $way == setuid ]]; then
        printed "$way: without a user namespace" "$host"$'\n'"$host" "$A" readlink /proc/self/ns/user
    else
        equal "$way: each has a user namespace" 2 "$seen"
    fi
    # shellcheck disable=SC2016 # for the task
    printed "$way: --container-writable is each task's own" $'own\nown' \
        "$A" --container-writable sh -c 'echo $SLURM_PROCID >/berth; sleep 0.3; [ $(cat /berth) = $SLURM_PROCID ] && echo own'
    # shellcheck disable=SC2016
    printed "$way: directory and variables" $'/usr/lib a,b= n\n/usr/lib a,b= n' "$A" --container-workdir=/usr/lib \
        --container-env='C=a\,b=' --mpi-bind=hybrid sh -c 'echo $PWD $C $UCX_POSIX_USE_PROC_LINK'
    # shellcheck disable=SC2016
    printed "$way: no command of Slurm" $'unset\nunset' "$A" sh -c 'echo ${BERTH_INSIDE-unset}'
    equal "$way: an exit status" 3 "$(alice srun -Q -w n1 "$A" sh -c 'exit 3' >/dev/null 2>&1; echo $?)"
    equal "$way: a command that the image does not have fails" 255 \
        "$(alice srun -Q -w n1 "$A" /no/such >/dev/null 2>&1; echo $?)"
    # shellcheck disable=SC2016
    equal "$way: death by a signal" 139 "$(alice srun -Q -w n1 "$A" sh -c 'kill -SEGV $$; sleep 5' >/dev/null 2>&1; echo $?)"
    SECONDS=0
    alice srun -Q -w n1 -n2 "$A" sleep 60 >/dev/null 2>&1 &
    wait_for 10 has_processes n1 sleep 2
    on login alice scancel -u alice
    wait $!
    equal "$way: scancel ends it" yes "$( ((SECONDS < 30)) && echo yes)"
    nothing_left

    matches "$way: ranks that are each alone are warned of, with the right --mpi" \
        "berth: n1: warning: image '/images/mpibookworm.sif': .*the image's MPICH 4.0.2 .*--mpi=pmi2" \
        "$(alice srun -Q -w n1 -n2 --mpi=none --container-image=/images/mpibookworm.sif \
            python3 -c 'import ctypes, time; ctypes.CDLL("libmpich.so.12"); time.sleep(2)' 2>&1)"
    seen=$(mpi pmi2 auto mpich/who)
    matches "$way: --mpi-bind=auto says that the image's own MPI runs, and it does" \
        "note: the image's own MPI runs \(hybrid\): $reason.*rank [01] of 2 .*4[.]0[.]2.*status 0" "$seen"
    equal "$way: that takes one line" 1 "$(grep -ac '^berth: ' <<<"$seen")"
    matches "$way: on several nodes it is refused" "$reason.*; other nodes of this step may use the host's MPI, .*--mpi-bind=hybrid.*status [1-9]" \
        "$(mpi pmi2 auto mpich/who -w n1,n2 -N2)"
    matches "$way: --mpi-bind=hybrid says nothing where the library fits" "^rank [01] of 2 .*status 0\$" \
        "$(mpi pmi2 hybrid mpich/who)"
    matches "$way: --mpi-bind=host is refused" \
        "^berth: n1: image '/images/mpibookworm.sif': --mpi-bind=host: $reason.* nothing can be mounted in its containers; choose --mpi-bind=hybrid.*status [1-9]" \
        "$(mpi pmi2 host mpich/who)"
    matches "$way: a fabric that is named is refused" "$reason.* nothing can be mounted in its containers; leave --container-libs out.*status [1-9]" \
        "$(mpi pmi2 hybrid mpich/who --container-libs=ucx)"
    matches "$way: with auto the image's own stays" \
        "note: the image's own MPI runs, on its own network libraries: $reason.*rank [01] of 2 .*4[.]0[.]2.*status 0" \
        "$(mpi pmi2 hybrid mpich/who --container-libs=auto)"
    matches "$way: an mpirun on all nodes has no srun" "the image gets no srun, .*each task has a container of its own" \
        "$(alice salloc -Q -w n1 -n1 srun -n1 "$A" --mpi-bind=launch true 2>&1)"
    matches "$way: --container-explain says so" "one for each task: $reason" \
        "$(alice srun -w n1 -n2 "$A" --container-explain true 2>&1)"
done
share setuid
printed "setuid: --container-args=--userns shares one" \
    "berth: n1: note: image '/images/a.sif': one container for 2 tasks" -v "$A" --container-args=--userns true
share no
echo 'images: {roots: [/nowhere]}' | site n1
matches "no: the policy applies" "image '/images/a.sif': .*status [1-9]" \
    "$(alice srun -Q -w n1 "$A" true 2>&1; echo "status $?")"
share auto
finish

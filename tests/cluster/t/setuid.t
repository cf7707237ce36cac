#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# With a setuid runtime there is no user namespace through which a task could join, so each
# has a container of its own, and all else is as ever.

# The scripts are single-quoted on purpose: they are for the login node.
# shellcheck disable=SC2016
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/same.sh"

need_images a mpibookworm
on login alice rm -rf t w
tool_within
tool words <<'END_OF_TOOL'
#!/usr/bin/perl
print "$_\n" for map { unpack "H*", $_ } @ARGV, $ENV{BYTES};
END_OF_TOOL
trap 'share auto; rm -rf "$scratch"' EXIT
share setuid

# inside TITLE EXPECTED ARGS...: what n1 prints, but for the times of -v.
inside() { equal "$1" "$2" "$(alice srun -w n1 "${@:3}" 2>&1 | grep -vE '^srun: |: serving it took ')"; }

host=$(on n1 alice readlink /proc/self/ns/user)
inside "the runtime has no user namespace" "$host" \
    "$runtime" --silent exec /images/a.sif readlink /proc/self/ns/user
inside "a step runs in its image, without user namespace" "a"$'\n'"$host" \
    "$A" sh -c 'cat /etc/berth-image; readlink /proc/self/ns/user'
inside "-v says why each task has a container of its own" \
    "berth: n1: note: image '/images/a.sif': a container for each of 3 tasks: the runtime is installed setuid and uses no user namespace (--container-args=--userns)" \
    -v -n3 "$A" true
inside "-v: --container-args=--userns shares one" "berth: n1: note: image '/images/a.sif': one container for 3 tasks" \
    -v -n3 "$A" --container-args=--userns true
inside "--container-writable is each task's own" $'own\nown' \
    -n2 "$A" --container-writable sh -c 'echo $SLURM_PROCID >/berth; sleep 0.3; [ $(cat /berth) = $SLURM_PROCID ] && echo own'
same "words and variables reach the program byte for byte" \
    "export BYTES=\$'\\xff'; srun \$C perl \$t/words \$'caf\\xe9' 'a b' ''" '^636166e9\n612062\n\nff'
same "PWD, directory and descriptors" 'mkdir d; ln -s d l; cd l; srun $C sh -c "pwd; /bin/pwd; id -u; ls /proc/self/fd | wc -l"' '/w/l'
same "exit codes" 'srun -w n1 -n3 $C sh -c "exit \$SLURM_PROCID"' 'exit status 2'
same "death by a signal" "srun -w n1 \$C sh -c 'kill -SEGV \$\$; sleep 5'" 'Segmentation fault'
same "a signal to the step arrives once, and the files of the image stay" \
    'srun -w n1 -n2 $C bash -c "n=0; trap \"n=\\\$((n+1))\" USR1; touch ready.\$SLURM_PROCID
        for i in {1..600}; do [ \$n = 0 ] || break; sleep 0.1; done
        for i in {1..5}; do sleep 0.1; done; cat /etc/os-release >/dev/null && echo got \$n" 2>/dev/null &
     for i in 0 1; do $t/within 60 test -e ready.$i; done; sleep 0.2; scancel -s USR1 -u alice; wait' \
    'got 1\ngot 1'
same "a signal to SLURM_TASK_PID" \
    'srun -w n1 $C bash -c "n=0; trap \"n=\\\$((n+1))\" USR1; kill -USR1 \$SLURM_TASK_PID; sleep 0.3; sleep 0.3; echo task \$n"' 'task 1'
same "scancel" \
    'srun -w n1 -n2 $C sh -c "touch ready; exec sleep 30" 2>/dev/null & $t/within 60 test -e ready; sleep 0.3; scancel -u alice; wait $!; echo $?'

# mpi MANAGER MODE PROGRAM OPTION...: what a step of two tasks says, and its status.
mpi() {
    alice srun -Q -w n1 -n2 --mpi="$1" --container-image=/images/mpibookworm.sif \
        --mpi-bind="$2" "${@:4}" "/opt/t/$3" 2>&1
    echo "status $?"
}
for mode in auto hybrid; do
    matches "--mpi-bind=$mode: ranks that would each be alone are refused" \
        "^berth: n1: image '/images/mpibookworm.sif': --mpi-bind=$mode: the image's Open MPI 4.1.4 speaks PMIx and the step has --mpi=pmi2, .*status [1-9]" \
        "$(mpi pmi2 $mode openmpi/who)"
    matches "--mpi-bind=$mode: --container-explain refuses them, too" "speaks PMIx .*status [1-9]" \
        "$(mpi pmi2 $mode openmpi/who --container-explain)"
done
seen=$(mpi pmi2 auto mpich/who)
matches "--mpi-bind=auto says that the image's own MPI runs, and it does" \
    "note: the image's own MPI runs \(hybrid\): the runtime is installed setuid .*rank [01] of 2 .*4[.]0[.]2.*status 0" "$seen"
equal "that takes one line" 1 "$(grep -ac '^berth: ' <<<"$seen")"
matches "--mpi-bind=hybrid says nothing where the library fits" "^rank [01] of 2 .*status 0\$" \
    "$(mpi pmi2 hybrid mpich/who)"
matches "--mpi-bind=host is refused" "installed setuid .* nothing can be mounted in its containers; choose --mpi-bind=hybrid.*status [1-9]" \
    "$(mpi pmi2 host mpich/who)"
matches "a fabric that is named is refused" "installed setuid .* nothing can be mounted in its containers; leave --container-libs out.*status [1-9]" \
    "$(mpi pmi2 hybrid mpich/who --container-libs=ucx)"
matches "with auto the image's own stays" \
    "note: the image's own MPI runs, on its own network libraries: the runtime is installed setuid .*rank [01] of 2 .*4[.]0[.]2.*status 0" \
    "$(mpi pmi2 hybrid mpich/who --container-libs=auto)"

# Where the user may have no user namespace either.
on n1 root bash -c 'mv /usr/bin/apptainer /usr/bin/apptainer.real
    printf "#!/bin/bash\nfor word; do [[ \$word != --userns ]] || { echo no user namespaces here >&2; exit 1; }; done\nexec /usr/bin/apptainer.real \"\$@\"\n" >/usr/bin/apptainer
    chmod 755 /usr/bin/apptainer'
for mode in auto hybrid; do
    seen=$(mpi pmi2 $mode mpich/who)
    matches "--mpi-bind=$mode says that nothing could be checked" \
        "^berth: n1: warning: image [^"$'\n'"]*--mpi-bind=$mode: the image's own MPI runs, unchecked: .*installed setuid .*no user namespaces here.*rank [01] of 2 .*status 0" "$seen"
    equal "in one line" 1 "$(grep -ac '^berth: ' <<<"$seen")"
done
on n1 root mv /usr/bin/apptainer.real /usr/bin/apptainer

finish

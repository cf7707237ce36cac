#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# --container-explain and `berth explain`: the account of a step, which runs nothing.

# shellcheck disable=SC2016 # words for other shells
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images a b mpibookworm
A=--container-image=/images/a.sif
B=--container-image=/images/b.sif
M=--container-image=/images/mpibookworm.sif
who=/opt/t/mpich/who
explain=--container-explain
json=--container-explain=json

# What must never run says so.
script run-me <<'END'
#!/bin/sh
echo "$*" >>"$HOME/has-run"
echo "it runs"
END
alice rm -f has-run

# of WORD...: what the document on standard input has there: a number (of a component, too), a
# member, several with commas between them, or the name of a variable: where it comes from, and
# why.
of() {
    python3 -c '
import json, sys
value = json.load(sys.stdin)
for word in sys.argv[1:]:
    if isinstance(value, dict):
        if word in value:
            value = value[word]
        else:
            value = "\n".join(str(value[it]) for it in word.split(","))
    elif word.isdigit():
        value = value[int(word)]
    else:
        value = [(it["value"], it["from"], it["why"]) for it in value if it["name"] == word]
print(value)' "$@" 2>&1
}

# One component.
try "the tasks, the command and the image come first" \
    "component 0: 4 tasks on 2 nodes run ./run-me 1 in /images/a.sif" 'head -n 1' \
    -- srun -N2 -n4 "$A" $explain ./run-me 1
seen=$(alice srun -N2 -n4 "$A" $explain=all ./run-me 1 2>&1)
matches "the image's variables are there" \
    "  image: [^"$'\n'"]*"$'\n'"(    [^"$'\n'"]*"$'\n'")*    BERTH_TEST_IMAGE=a" "$seen"
seen=$(alice srun -n1 "$A" $json --container-mounts=/shared:/s:ro --container-env=V=caf$'\xe9' \
    ./run-me)
equal "JSON: a mount of the user" \
    "{'source': '/shared', 'destination': '/s', 'read_only': True, 'squashfs': False, 'from':
        'user', 'why': '--container-mounts'}" \
    "$(of mounts 0 <<<"$seen")"
equal "JSON: a variable of the user, which is not UTF-8" \
    "[('caf�', 'user', '--container-env')]" "$(of environment V <<<"$seen")"
matches "JSON: the runtime says its version" "^(apptainer|singularity-ce) version " \
    "$(of runtime version <<<"$seen")"

# Several components.
seen=$(alice srun -n1 "$A" $json ./run-me : -n1 "$B" ./run-me b : -n1 ./run-me host 2>/dev/null)
equal "het job: the first component" /images/a.sif "$(of 0 image path <<<"$seen")"
equal "het job: the array has each component once" "[0, 1, 2]" \
    "$(python3 -c 'import json, sys; print([it["component"] for it in json.load(sys.stdin)])' \
        <<<"$seen")"
equal "het job: the third would run on the host, and does not" "['./run-me', 'host']" \
    "$(of 2 command <<<"$seen")"
seen=$(alice salloc -Q -N2 -n2 srun -N1 -n1 "$A" ./run-me : -N1 -n1 "$B" $json ./run-me 2>/dev/null)
equal "het step: one that asks is enough" "/images/a.sif /images/b.sif" \
    "$(of 0 image path <<<"$seen") $(of 1 image path <<<"$seen")"

# The same faults as without it; for how many tasks srun says at once how they ended is its own.
fault() {
    { alice srun -Q -w n1 "$@" 2>&1; echo "$?"; } |
        sed -E 's/^(srun: error: n1: task)s? [0-9,-]+:/\1:/' | sort |
        awk '!/^srun: error: n1: task:/ || !seen[$0]++'
}
faults() { equal "refused as the step is: $1" "$(fault "${@:2}")" "$(fault $explain "${@:2}")"; }
faults "a command that is not there" -n2 "$A" gone
faults "a command that is no program" -n1 "$A" /etc/passwd
faults "MPI that cannot be had" -n2 --mpi=none "$M" --mpi-bind=host $who
faults "a program without MPI" -n1 "$A" --mpi-bind=host /bin/true

# MPI. The library is looked at anew where an earlier step has left a note.
hosts=$(alice berth profiles | sed -n 's/^mpich: \(MPICH [^,]*\),.*/\1/p')
if [[ -n $hosts ]]; then
    for round in first second; do
        seen=$(alice srun -N2 -n2 --mpi=pmi2 "$M" --mpi-bind $json $who)
        equal "auto, $round look: the host's MPI runs" "$hosts" \
            "$(of mpi host 0 version <<<"$seen")"
    done
    equal "the image's own is told" "MPICH 4.0.2" "$(of mpi image 0 <<<"$seen")"
    matches "a file of the image is exchanged" "'from': 'mpi'" "$(of mounts <<<"$seen")"
    matches "the image's loader has been asked" "libmpich.so.12" \
        "$(of mpi verified libraries <<<"$seen")"
    matches "that the ranks are watched" "^each rank while it runs, by " \
        "$(of mpi watched <<<"$seen")"
    equal "the step's process manager" "pmi2 pmi2" "$(of mpi srun <<<"$seen") $(of mpi speaks \
        <<<"$seen")"
    equal "the verdict is what the step says" \
        "$(alice srun -v -n1 --mpi=pmi2 "$M" --mpi-bind $who 2>&1 |
        sed -n 's/^berth: n[0-9]: note: //p' | head -n 1)" \
        "$(of mpi verdict <<<"$seen")"
fi
seen=$(alice srun -n1 --mpi=pmi2 "$M" --mpi-bind=hybrid $json $who)
equal "hybrid: no file is exchanged" "[]" "$(of mpi host <<<"$seen")"
equal "hybrid: the library that runs" "libmpich.so.12 None" \
    "$(of mpi verified libraries 0 soname <<<"$seen") $(of mpi verified libraries 0 staged \
    <<<"$seen")"
seen=$(alice srun -n1 "$A" --mpi-bind=local $json ./run-me)
equal "local: the launcher's variables are taken away" \
    "[(None, 'berth', 'hidden, so that an mpirun in the task starts ranks without Slurm
        (--mpi-bind=local)')]" \
    "$(of environment SLURM_JOB_ID <<<"$seen")"

# Variables that --export drops.
seen=$(alice env UCX_TLS=all MPICH_X=1 srun -n1 --export=NONE "$A" $json ./run-me)
equal "--export=NONE: a variable of MPI, and its list" \
    "[('1', 'capture', '--export drops it, and berth restores it (list: MPICH)')]" \
    "$(of environment MPICH_X <<<"$seen")"
seen=$(alice env MPICH_X=1 srun -n1 "$A" $json ./run-me)
equal "--export=ALL: nothing is restored" "[]" "$(of environment MPICH_X <<<"$seen")"

# How long a container lives.
lifetime="grep -v '^berth: ' | of container lifetime,lifetime_from,why_step"
try "a container ends with its step" $'step\nNone\nNone' "$lifetime" -- srun -n1 "$A" $json ./run-me
site <<<'rules: [{default: {container-lifetime: job}}]'
try "the site lets it end with its job, which cannot keep it here" \
    $'~^step\nsite\nthe job has no extern step on this node that can keep the container; ' \
    "$lifetime" -- srun -n1 "$A" $json ./run-me
site </dev/null

# A container for each task.
share no
try "share: no: it cannot end with its job" $'step\nuser\neach task has a container of its own' \
    "$lifetime" -- \
    srun -n1 "$A" --container-lifetime=job $json ./run-me
seen=$(alice srun -n2 "$A" $json ./run-me)
equal "share: no: why" "False the site says share: no" \
    "$(of container shared <<<"$seen") $(of container because <<<"$seen")"
equal "share: no: what its libraries are told" "n" \
    "$(alice srun -n1 "$A" --mpi-bind=hybrid $json ./run-me |
    of environment UCX_POSIX_USE_PROC_LINK | cut -d"'" -f2)"
share setuid
seen=$(alice srun -n1 "$M" --mpi-bind $json $who)
matches "a setuid runtime: why" "installed setuid" "$(of container because <<<"$seen")"
matches "a setuid runtime: no host's MPI" \
    "^the image's own MPI runs [(]hybrid[)]: the runtime is installed setuid" \
    "$(of mpi verdict <<<"$seen")"
share auto
seen=$(alice srun -n1 "$A" --container-args=--pid $json ./run-me)
equal "a process namespace: why" "the container has a process namespace" \
    "$(of container because <<<"$seen")"

# Without Slurm.
seen=$(alice berth explain --json "$B" ./run-me)
equal "berth explain: the image" /images/b.sif "$(of image path <<<"$seen")"
equal "berth explain: a fault is that of berth run" \
    "$(alice berth run "$B" gone 2>&1; echo "$?")" "$(alice berth explain "$B" gone 2>&1; echo \
    "$?")"
try "berth explain: text" "~^component 0: one task on this host runs ./run-me in " \
    -- berth explain "$B" ./run-me

equal "nothing of the user's has run" "no" "$(alice sh -c \
    'test -e has-run && cat has-run || echo no')"
finish

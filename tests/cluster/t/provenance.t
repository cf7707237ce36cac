#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What is kept of a step where the site wants it: a line in a file.

# shellcheck disable=SC2016 # words for other shells
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images a b mpich mpibookworm

records=/shared/records
on login root bash -c "rm -rf $records; install -d -m 1777 $records"
site <<<"provenance: {file: $records/%u-%j.jsonl}"

# fields FILE NAME...: of each line, sorted; of those about a server where the first name is
# of it.
fields() {
    on login root cat "$1" | python3 -c '
import json, sys
for line in sorted(json.loads(line) and line for line in sys.stdin):
    record = json.loads(line)
    if ("server" in record) != sys.argv[1].startswith("server"):
        continue
    values = []
    for name in sys.argv[1:]:
        value = record
        for part in name.split("."):
            value = value and value.get(part)
        values.append(json.dumps(value))
    print(" ".join(values))' "${@:2}" | sort
}

# job_of COMMAND [OPTION...]: in an allocation of four nodes; prints its number last.
job_of() { alice salloc -Q -N4 -n8 "${@:2}" bash -c "$1; echo \$SLURM_JOB_ID" 2>/dev/null |
    tail -n 1; }

A=--container-image=/images/a.sif
id=$(job_of "srun -N2 -n4 $A true; srun -n1 hostname")
equal "a step leaves one line, of its first node; a step without an image none" \
    '"alice" '"$id"' 0 0 2 4 "/images/a.sif" "SIF file" true null "off"' \
    "$(fields "$records/alice-$id.jsonl" user job step component nodes tasks image.path image.kind \
    shared apart mpi.mode)"
matches "the image has the id of its build, and the runtime its version" \
    '^"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}" "(apptainer|singularity-ce) version [0-9.]+[^"]*"$' \
    "$(fields "$records/alice-$id.jsonl" image.id runtime.version)"
equal "the file is the user's" "alice 644" "$(on login root stat -c '%U %a' \
    "$records/alice-$id.jsonl")"

id=$(job_of "srun -N1 -n1 $A true : -N2 -n2 --container-image=/images/b.sif true : -n1 true")
equal "each component with an image has a line" $'0 "/images/a.sif" 1\n1 "/images/b.sif" 2' \
    "$(fields "$records/alice-$id.jsonl" component image.path tasks)"
mpich="srun -w n1 -N1 -n2 --mpi=pmi2 --container-image=/images/mpich.sif"
id=$(job_of "$mpich --mpi-bind=host mpiring")
matches "the verdict names the host's MPI" '"host" "pmi2" "[^"]*MPICH 4[.]2[.]1' \
    "$(fields "$records/alice-$id.jsonl" mpi.mode mpi.type mpi.verdict)"
matches "the line of the start has the image" '^"/images/mpich.sif" "n1"$' \
    "$(fields "$records/alice-$id.jsonl" image.path node | grep -v '^null')"
# Who loaded what, node by node.
witnessed=(step node mpi.witnessed.ranks mpi.witnessed.loaded mpi.witnessed.other \
    mpi.witnessed.host)
matches "what was witnessed is a line" '^0 "n1" 2 2 0 "MPICH 4[.][0-9.]+"$' \
    "$(fields "$records/alice-$id.jsonl" "${witnessed[@]}" | grep -v 'null null null null$')"
id=$(job_of "srun -w n1,n2 -N2 -n2 --mpi=pmi2 --container-image=/images/mpibookworm.sif \
    --mpi-bind=mpich sh -c '[ \$SLURM_PROCID = 1 ] || env -u PMI_FD /opt/t/mpich/who'" -w n1,n2)
matches "of each node, of a rank without MPI too" \
    '^0 "n1" 1 1 0 "MPICH [0-9.]+"'$'\n''0 "n2" 1 0 0 "MPICH [0-9.]+"$' \
    "$(fields "$records/alice-$id.jsonl" "${witnessed[@]}" | grep -v 'null null null null$')"
id=$(job_of "$mpich --mpi-bind=hybrid mpiring")
equal "nothing is witnessed of the image's own MPI" "" \
    "$(fields "$records/alice-$id.jsonl" "${witnessed[@]}" | grep -v 'null null null null$')"
id=$(job_of "srun -N1 -n2 --container-args=--pid $A true")
matches "containers of their own are told, with the reason" \
    '^false "the container has a process namespace' \
    "$(fields "$records/alice-$id.jsonl" shared apart)"
id=$(job_of "for i in 1 2 3 4 5 6; do
    srun -N1 -n1 --exact --container-image=/images/b.sif true & done; wait")
equal "steps at the same time leave a line each" "0 1 2 3 4 5" \
    "$(fields "$records/alice-$id.jsonl" step | sort -n | paste -sd' ')"

# Where all may write, bob has been there first.
site <<<"provenance: {file: $records/%u}"
on login bob bash -c "touch $records/alice; chmod 666 $records/alice"
on login alice touch mine.txt
for what in "bob's file" "a link" "a second name"; do
    try "$what is not taken for a record" \
        "~berth: n1: warning: no record is kept: provenance.file '$records/alice': it is a link, or
            not a file of yours or root's; ask" -- \
        srun -v -w n1 "$A" true
    on login root rm -f "$records/alice"
    case $what in
    bob*) alice ln -s /home/alice/mine.txt "$records/alice" ;;
    *) on login root bash -c \
        "touch $records/x; chown alice $records/x; ln -f $records/x $records/alice" ;;
    esac
done
equal "nor written to" "0 0" "$(on login root stat -c %s /home/alice/mine.txt "$records/x" |
    paste -sd' ')"
on login root bash -c "rm -f $records/alice; touch $records/alice; chmod 666 $records/alice"
alice srun -w n1 "$A" true
equal "a file that root has made is" 1 "$(on login root grep -c '"image"' "$records/alice")"

site <<<"provenance: {file: /nowhere/%j}"
equal "a record that cannot be kept fails no step" a "$(alice srun "$A" cat /etc/berth-image 2>&1)"
matches "srun -v says why" \
    "berth: n1: warning: no record is kept: provenance.file '/nowhere/[0-9]+': No such file or
        directory; ask the administrators" \
    "$(alice srun -v -w n1 "$A" true 2>&1)"

finish

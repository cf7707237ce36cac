#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# srun --multi-prog --mpi-bind: the programs of a step run on one MPI, whichever task
# comes first.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images mpibookworm
t=/opt/t
LIMIT=60

# run MODE LINE...: what a step says whose tasks run these commands, and its status; with
# VERBOSE=v more of that.
run() {
    local i=0 word
    for word in "${@:2}"; do echo "$((i++)) $word"; done | on login alice sh -c 'cat >programs'
    alice srun -"${VERBOSE:-Q}" -w n1 -n $(($# - 1)) --mpi=pmi2 --container-image=/images/mpibookworm.sif \
        --mpi-bind="$1" --multi-prog programs 2>&1
    echo "status $?"
}

# on_host TITLE SEEN: both ranks run on the host's MPI: the file is not the image's.
on_host() {
    equal "$1" "2 status 0" "$(grep -ac '^rank [01] of 2 .*!\]' <<<"$2") $(tail -n 1 <<<"$2")"
}

on_host "two programs run on the host's MPI" "$(run host $t/mpich/who $t/mpich/rpath)"
on_host "and the other way round" "$(run host $t/mpich/rpath $t/mpich/who)"
on_host "a shell beside them does not matter" "$(run host $t/mpich/who "sh -c $t/mpich/who")"
on_host "auto" "$(run auto $t/mpich/who $t/mpich/rpath)"

seen=$(VERBOSE=v run host $t/mpich/who $t/mpich/rpath)
matches "the ranks of both are witnessed" "2 of 2 ranks loaded the host's MPICH" "$seen"
seen=$(VERBOSE=v run host $t/mpich/who $t/mpich/rpath)
equal "several programs are looked at anew" 0 "$(grep -ac 'as found before' <<<"$seen")"
run host $t/mpich/who $t/mpich/who >/dev/null
seen=$(VERBOSE=v run host $t/mpich/who $t/mpich/who)
matches "one program is remembered" "as found before" "$seen"

# refused TITLE WORDS MODE A B: that is refused in either order.
refused() {
    local seen
    for seen in "$(run "$3" "$4" "$5")" "$(run "$3" "$5" "$4")"; do
        matches "$1: refused with the same words in either order" "^berth: n1: [^"$'\n'"]*--mpi-bind=$3: $2.*status [1-9]" "$seen"
        equal "$1: nothing has run" 0 "$(grep -ac '^rank ' <<<"$seen")"
    done
}
refused "a static program" "'$t/mpich/static' is linked statically" host $t/mpich/static $t/mpich/who
for mode in auto host hybrid; do
    refused "two MPIs, $mode" "'$t/mpich/who' wants MPICH and '$t/openmpi/who' wants Open MPI" \
        $mode $t/mpich/who $t/openmpi/who
done

seen=$(run auto $t/mpich/who $t/mpich/static)
matches "auto: with a static program all run on the image's own" \
    "--mpi-bind=auto: the image's own MPI runs \(hybrid\): '$t/mpich/static' is linked statically" "$seen"
equal "auto: and none on the host's" 0 "$(grep -ac '^rank .*!\]' <<<"$seen")"
finish

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A program that was built with Open MPI runs on the host's MPICH, by a translator of this
# test's own (translator.c), which has a small part of the interface. A program that
# needs more is refused, and nobody gets it who has not named it.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images mpibookworm openmpi
image=--container-image=/images/mpibookworm.sif

clean_up() {
    local node
    for node in n1 n2; do on "$node" root rm -rf /opt/xlate /etc/slurm/profiles.d; done
    on login alice rm -rf xlate
    site n1 </dev/null
}
trap clean_up EXIT
on login alice bash -c 'mkdir -p xlate && cd xlate && cat >t.c &&
    gcc -shared -fPIC -O1 -Wl,-soname,libmpi.so.40 -o libmpi.so.40 t.c' <"$here/translator.c" || exit 1
for node in n1 n2; do
    on "$node" root bash -c 'mkdir -p /opt/xlate/lib /etc/slurm/profiles.d &&
        cp /home/alice/xlate/libmpi.so.40 /opt/xlate/lib && cat >/etc/slurm/profiles.d/xlate.yaml' <<'END' || exit 1
name: xlate
kind: translator
family: openmpi
prefix: /opt/xlate
# The host's MPI that it calls, which speaks to Slurm.
libraries: [libmpich.so.12]
environment: [XLATE_ROOT=$STAGE]
binds: [/run/munge]
END
done

# ranks ARGUMENTS...: what two ranks on two nodes say, without paths and dates, and how they
# end if that is by a signal.
ranks() {
    alice timeout 60 srun -Q -w n1,n2 -N2 -n2 "$@" 2>&1 | grep -aE '^rank|^berth|Segmentation|Aborted' |
        sed -E 's/(MPICH Version: +|Open MPI v)([0-9.]+).*/\1\2/; s/ +/ /g; s/^berth: n[12]: /n: /' | sort -u
}
equal "berth profiles lists it" "xlate: xlate, a translator for the family Open MPI, found by profile 'xlate'" \
    "$(on n1 alice berth profiles | grep ^xlate:)"
equal "a program of Open MPI runs on the host's MPICH, over two nodes" \
    "rank 0 of 2 on n1 in mpibookworm: MPICH Version: 4.2.1
rank 1 of 2 on n2 in mpibookworm: MPICH Version: 4.2.1" \
    "$(ranks --mpi=pmi2 $image --mpi-bind=xlate /opt/t/openmpi/who)"
equal "what ranks load is seen" "2 of 2 ranks loaded the host's xlate" \
    "$(alice srun -v -w n1 -n2 --mpi=pmi2 $image --mpi-bind=xlate /opt/t/openmpi/who 2>&1 | grep -ao '2 of 2 .*')"
matches "its variables are set" "XLATE_ROOT=/.berth/user/xlate-" \
    "$(alice srun -Q -w n1 -n1 --mpi=pmi2 $image --mpi-bind=xlate --container-explain /opt/t/openmpi/who 2>&1)"
equal "the MPI that speaks to Slurm is the inner one" \
    "n: image '/images/mpibookworm.sif': --mpi-bind=xlate: the host's MPICH 4.2 speaks PMI and the step has --mpi=pmix, so each of the 2 tasks would be rank 0 of 1; use srun --mpi=pmi2" \
    "$(ranks --mpi=pmix $image --mpi-bind=xlate /opt/t/openmpi/who | sed 's/MPICH 4[0-9.]*/MPICH 4.2/')"
equal "a program that needs more is refused" \
    "n: image '/images/openmpi.sif': --mpi-bind=xlate: the host's xlate lacks 2 of the 9 MPI symbols that the program needs (MPI_Recv, MPI_Send); choose --mpi-bind=hybrid, or a profile with another release (--mpi-bind=NAME)" \
    "$(ranks --mpi=pmi2 --container-image=/images/openmpi.sif --mpi-bind=xlate mpiring)"
equal "so is one of another family" \
    "n: image '/images/mpibookworm.sif': --mpi-bind=xlate: the program wants MPICH, and 'xlate' is xlate; leave the choice to --mpi-bind=host, or take the image's own MPI with --mpi-bind=hybrid" \
    "$(ranks --mpi=pmi2 $image --mpi-bind=xlate /opt/t/mpich/who)"
equal "who does not name it gets the host's own" "rank 0 of 2 on n1 in mpibookworm: Open MPI v5.0.7
rank 1 of 2 on n2 in mpibookworm: Open MPI v5.0.7" \
    "$(ranks --mpi=pmix $image --mpi-bind=host /opt/t/openmpi/who)"
echo 'mpi: {order: [xlate]}' | site n1
equal "unless the site orders so" "rank 0 of 1 on n1 in mpibookworm: MPICH Version: 4.2.1" \
    "$(alice srun -Q -w n1 -n1 --mpi=pmi2 $image --mpi-bind=host /opt/t/openmpi/who 2>&1 |
        sed -E 's/(Version: )+ *([0-9.]+).*/\1\2/; s/ +/ /g')"
finish

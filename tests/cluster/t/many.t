#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# High-throughput runs: 200 mpirun at once (--mpi-bind=local, local-each), as tasks of one
# step and as steps of one job. 400 ranks that poll: nothing else should run beside it.

# shellcheck disable=SC2016 # words for other shells
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images mpich openmpi

passed() { grep -c '^ring of 2 passed$'; }
for image in mpich openmpi; do
    equal "$image: 200 tasks of one step, each with an mpirun" 200 \
        "$(LIMIT=600 alice srun -N4 -n200 --mpi-bind=local-each \
            --container-image=/images/$image.sif mpirun -n 2 mpiring 2>&1 | passed)"
done
script steps <<'END'
#!/bin/bash
for ((i = 0; i < 200; i++)); do
    srun -Q -N1 -n1 --exact --mpi-bind=local --container-image="/images/$1.sif" mpirun -n 2 mpiring &
done
wait
END
for image in mpich openmpi; do
    equal "$image: 200 steps of one task, each with an mpirun" 200 \
        "$(LIMIT=600 alice salloc -Q -N4 -n200 ./steps "$image" 2>&1 | passed)"
done

finish

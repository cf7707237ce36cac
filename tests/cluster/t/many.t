#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# High-throughput runs: 64 mpirun at once (--mpi-bind=local, local-each), with tests/every
# 200, as tasks of one step and as steps of one job. Two ranks of each poll: nothing else
# should run beside it.

# shellcheck disable=SC2016 # words for other shells
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images mpich openmpi
many=${BERTH_EVERY:+200}
many=${many:-64}

# rings TITLE TEXT: all worlds of two ranks came about; else what the others said. Each
# line of TEXT begins with the number of its task or step.
rings() {
    local passed
    passed=$(sed -nE 's/^ *([0-9]+): ring of 2 passed$/\1/p' <<<"$2")
    if [[ $(sort -u <<<"$passed" | grep -c .) -eq "$many" ]]; then
        result ok "$1"
    else
        result FAIL "$1" "$(grep -c . <<<"$passed") passed; the others:"$'\n'"$(
            awk -F: 'NR == FNR { passed[$1]; next } { n = $1; gsub(/ /, "", n) } !(n in passed)' \
                <(echo "$passed") - <<<"$2" | head -n 60
        )"
    fi
}

for image in mpich ${BERTH_EVERY:+openmpi}; do
    rings "$image: $many tasks of one step, each with an mpirun" \
        "$(LIMIT=600 alice srun -l -N4 -n"$many" --mpi-bind=local-each \
            "--container-image=/images/$image.sif" mpirun -n 2 mpiring 2>&1)"
done
script steps <<'END'
#!/bin/bash
images=(mpich openmpi)
for ((i = 0; i < $1; i++)); do
    {
        srun -Q -N1 -n1 --exact --mpi-bind=local --container-image="/images/${images[i % 2]}.sif" \
            mpirun -n 2 mpiring
        echo "status $?"
    } 2>&1 | sed "s/^/$i: /" &
done
wait
END
rings "$many steps of one task, each with an mpirun of one of the two MPIs" \
    "$(LIMIT=600 alice salloc -Q -N4 -n"$many" ./steps "$many" 2>&1)"

finish

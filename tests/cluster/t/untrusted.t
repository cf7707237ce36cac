#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What runs of an image before and as a task: it has nothing of berth's open, no rights that
# the container does not give, and is in the container's namespaces, that of processes too.

# shellcheck disable=SC2016 # words for other shells
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images a
alice mkdir -p x
on login alice bash -c 'cat >x/ld.c' <"$here/untrusted.c"
alice bash -c 'cd x && gcc -static -o ld ld.c && echo "int main(void) { return 0; }" >app.c &&
    gcc -o app app.c -Wl,--dynamic-linker=/x/ld' || exit 1

image=(--container-image=/images/a.sif --container-mounts=/home/alice/x:/x --container-workdir=/)

# What the program has written while a step ran, each line once.
written='cat >/dev/null; alice sort -u x/seen; alice rm -f x/seen'
alice rm -f x/seen

# The image's own loader, which berth asks for a program's libraries.
outside='asked: may not gain rights
asked: parent hidden'
for mode in auto hybrid; do
    try "a loader, --mpi-bind=$mode" "${outside/hidden/seen}" "$written" -- \
        srun -n1 -w n1 "${image[@]}" --container-explain --mpi-bind=$mode /x/app
done
# berth inspect, at a terminal.
alice bash -c 'chmod -R u+w a.dir 2>/dev/null; rm -rf a.dir; cp -r /images/a.dir . 2>/dev/null
    mkdir -p a.dir/x; cp x/ld x/app a.dir/x/'
on n1 alice rm -f /tmp/seen
on n1 alice script -qec 'berth inspect a.dir /x/app' /dev/null >/dev/null </dev/null
equal "a loader, berth inspect" "$outside" "$(on n1 alice sort -u /tmp/seen 2>&1)"

# Tasks that share a container.
inside='task: may not gain rights
task: parent seen'
try "a task" "$inside" "$written" -- srun -n2 -w n1 "${image[@]}" /x/ld
try "a task, --mpi-bind" "$inside" "$written" -- srun -n2 -w n1 "${image[@]}" --mpi-bind=auto /x/ld
# What this harness leaves open is not berth's.
try "a task, berth run" "$inside" "$written" -- on n1 alice timeout 180 bash -c \
    'exec 10<&-; exec berth run "$@"' run "${image[@]}" /x/ld

finish

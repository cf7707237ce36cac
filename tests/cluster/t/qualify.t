#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # what stands in single quotes is for another shell
# berth qualify runs steps on two nodes and tells of each what came of it: what works, and
# each fault that is made.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/registry.sh"

need_images a devmpich devopenmpi mpich
image=/images/devmpich.sif
alice rm -rf qualify .cache/berth
alice mkdir qualify
at_exit 'on login alice scancel -u alice'

# qualify TITLE STATUS OPTION...: in alice's directory; it ends so. Sets seen.
qualify() {
    seen=$(alice bash -c 'cd qualify && exec berth qualify "$@"' - "${@:3}" 2>&1)
    equal "$1: exit status" "$2" $?
}

task_prolog || exit 1
qualify "a site that is fit" 0 -w n1,n2 --image $image --mpi pmi2 --quick --verbose
says "each node by its doctor" '^ok    node n2: berth=[0-9.]+ slurm=.* runtime=.* setuid=no mpi=.*$'
says "the nodes are alike" '^ok    nodes: 2 nodes have the same .*$'
says "what there is for images" \
    '^ok    profiles of n1: openmpi \(Open MPI [0-9.]+\), mpich \(MPICH [0-9.]+\), ucx \(libucp.*\),
        libfabric \(libfabric.*\)$'
says "a compiler that the host has not" '^skip  program, native: .*mpicc.*$'
says "the program is built in the image" \
    "^ok    program, devmpich.sif: built with the image's mpicc: MPICH Version: [0-9.]+\$"
says "native, by the same program" \
    '^ok    ring, native, .*, pmi2: MPICH Version: .*UCX between nodes: tcp/.*$'
says "the host's MPI, by the witness" \
    "^ok    ring, devmpich.sif, the host's mpich, pmi2: MPICH .*; 4 of 4 ranks have the host's MPICH
        [0-9.]+; UCX between nodes: tcp/.*\$"
says "the image's own MPI" \
    '^ok    ring, devmpich.sif, its own MPI, pmi2: MPICH .*; UCX between nodes: .*$'
says "another family" "^skip  devmpich.sif, the host's openmpi: the image's MPI is not Open MPI\$"
says "CMA" "^ok    ring, devmpich.sif, the host's mpich, pmi2: .*; CMA: yes\$"
says "latency" "^(ok   |note ) latency of 8 B, devmpich.sif, between nodes: native [0-9.]+ us, the
        host's MPI in the image [0-9.]+ us \\([0-9.]+\\), the image's own .*\$"
says "bandwidth" \
    "^(ok   |note ) bandwidth of 4 MiB, devmpich.sif, on a node: native [0-9.]+ MB/s, .*\$"
says "start" "^ok    start of true, 2 nodes: on the host [0-9.]+ s, in the image [0-9.]+ s
        \([+-][0-9.]+\)\$"
matches "the last lines count and judge" \
    '[0-9]+ checks: [0-9]+ ok, [0-9]+ notes?, [0-9]+ skipped, 0 failed'$'\n''qualified$' "$seen"
equal "nothing is left in the directory" '' "$(alice ls qualify)"

# What it prints is typed by an administrator.
again=$(sed -n "/^ok    start of true, 1 node/{n; s/^      again: //p; }" <<<"$seen" |
    sed 's/--[a-z-]*mounts=[^ ]*//')
alice bash -c "$again"
equal "a command of a check can be typed" 0 $?

# Each fabric of the host, on one node.
qualify "the host's fabrics" 0 -N1 -w n1 --image /images/devopenmpi.sif --mpi pmix
says "which network Open MPI uses natively" \
    '^ok    ring, native, .*, pmix: Open MPI v5.*; Open MPI on a node: [a-z]+.*$'
says "UCX is tried" \
    "^ok    ring, devopenmpi.sif, its own MPI on the host's ucx, pmix: .*; 2 of 2 ranks have the
        host's libucp.* \(ucx\); UCX on a node: .*\$"
says "libfabric is tried, and its provider told" \
    "^ok    ring, devopenmpi.sif, its own MPI on the host's libfabric, pmix: .*; 2 of 2 ranks have
        the host's libfabric.* \(libfabric\); libfabric: tcp.*\$"
says "fabrics beside native" \
    "^(ok   |note ) latency of 8 B, devopenmpi.sif, on a node: native [0-9.]+ us, .*, the image's
        own on the host's ucx [0-9.]+ us \([0-9.]+\), the image's own on the host's libfabric
        [0-9.]+ us \([0-9.]+\).*\$"
says "one node" '^skip  nodes: there is one node, so nothing is tried between nodes; see -N$'
says "one node: its ring" \
    "^ok    ring, devopenmpi.sif, the host's openmpi, pmix: Open MPI .*; 2 of 2 ranks have the
        host's Open MPI .*\$"
matches "one node: the verdict" $'\nqualified on one node; nothing was tried between nodes$' "$seen"

qualify "an image that is missing" 1 -w n1,n2 --image /images/none.sif --image /images/mpich.sif \
    --quick --json
equal "JSON says what was found" "False fail True skip not qualified: 1 check failed" \
    "$(python3 -c '
import json, sys
page = json.loads(sys.stdin.read())
rows = {row["about"]: row for row in page["checks"]}
missing = rows["program, none.sif"]
print(page["passed"], missing["result"], missing["command"].startswith("srun --"), rows["program, mpich.sif"]["result"], page["verdict"])' <<<"$seen")"
kept=$(alice ls qualify)
matches "a program that failed can be built again" '^berth-qualify-[0-9a-f]{8}$' "$kept"
alice rm -rf qualify/*

# A registry has one image, and not the other.
registry_start http://login:5000 /var/log/registry.log
push app/one:1 a >/dev/null
seen=$(alice bash -c "export ${RUNTIME}_NOHTTPS=1; cd qualify && exec berth qualify -w n1 --quick \
    --image docker://login:5000/app/two:1 --image docker://login:5000/app/one:1" 2>&1)
registry_stop
says "an image that cannot be pulled" \
    "^fail  pull, two:1: berth: image 'docker://login:5000/app/two:1': .* did not pull it: .*\$"
says "its command" '^      again: berth pull docker://login:5000/app/two:1$'
says "an image that is pulled" '^ok    pull, one:1: it is in the cache of images$'
says "an image without an mpicc" \
    "^skip  program, one:1: the image has no mpicc; its MPI is not tried\$"
alice rm -rf .cache/berth qualify/*

on n2 root mv /usr/libexec/berth/berth-task /root/
qualify "a node without berth-task" 1 -w n1,n2 --image $image --mpi pmi2 --quick
on n2 root mv /root/berth-task /usr/libexec/berth/
says "the node is named" "^fail  node n2: wrong: berth's_programs; .*\$"
says "so are its steps" \
    "^fail  ring, devmpich.sif, the host's mpich, pmi2: berth: n2: '/usr/libexec/berth/berth-task':
        No such file.*\$"

seen=$(on login root bash -c 'cd ~alice/qualify && exec berth qualify -w n1 --quick' 2>&1)
says "root" '^note  user: root has other limits; run it as an ordinary user$'

# Two images that end alike, with an mpicc that has no compiler.
alice cp /images/mpich.sif qualify/
qualify "images without a compiler" 1 -w n1 --image /images/mpich.sif --image mpich.sif --quick
alice rm qualify/mpich.sif
says "the first of two that end alike" \
    "^skip  program, /images/mpich.sif: .*gcc: .*not found; so the image's mpicc builds nothing; its
        MPI is not tried\$"
says "the second" "^skip  program, $(alice pwd)/qualify/mpich.sif: .*gcc: .*not found; .*\$"
says "MPI was not tried" \
    '^not qualified: MPI was not tried in /images/mpich.sif: its mpicc builds nothing; name another
        image \(--image\)$'
qualify "no image" 1 -w n1,n2 --quick
says "no image" '^not qualified: MPI was not tried in an image; name one that has mpicc
        \(--image\)$'

qualify "a directory that is the login host's" 1 -w n1,n2 --directory /tmp --quick
says "the node that does not see it" \
    "^fail  directory: a node does not see '/tmp/berth-qualify-[0-9a-f]{8}' \\(.*\\); name one that
        all see \\(--directory\\)\$"
says "nothing else is tried" '^[0-9]+ checks: .*, 1 failed$'
alice bash -c 'rm -r /tmp/berth-qualify-*'

alice bash -c 'cd qualify && rm -rf ./* && berth qualify -w n1,n2 --quick 2>&1 |
    head -n 1 >/dev/null'
equal "a reader that goes away: nothing is left in the directory" '' "$(alice ls qualify)"

qualify "a node that is not there" 1 -w n9
matches "... and Slurm says so" 'salloc: error: .*nvalid node name' "$seen"

# A compiler of the host's that does not end.
alice mkdir -p bin
script bin/mpicc <<'PROGRAM'
#!/bin/sh
exec sleep 1000
PROGRAM
seen=$(alice bash -c \
    'cd qualify && PATH=$HOME/bin:$PATH exec berth qualify -w n1,n2 --seconds 2 --quick' 2>&1)
says "a step that hangs" '^fail  program, native: it hangs: not done after 2 seconds$'
says "can be tried again" '^      again: srun .* mpicc -O1 -o .*$'
alice bash -c 'cd qualify &&
    PATH=$HOME/bin:$PATH salloc -Q -w n1,n2 --ntasks-per-node=2 berth qualify --quick' \
    >interrupt.log 2>&1 &
wait_for 30 on n1 alice pgrep -u alice -x sleep >/dev/null
on login alice pkill -INT -x python3
wait $!
equal "an interrupt: exit status" 1 $?
matches "an interrupt" 'berth: qualify: interrupted$' "$(<interrupt.log)"
soon "its step has ended" "status 1" -- on n1 alice pgrep -u alice -x sleep
rm interrupt.log
alice rm -rf bin

on login root mv /usr/bin/srun /usr/bin/srun.gone
qualify "no srun" 1
on login root mv /usr/bin/srun.gone /usr/bin/srun
equal "no srun" "berth: qualify: srun is not on the PATH; log in where Slurm's commands are" "$seen"

alice rm -rf qualify
finish

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# berth.yaml on a cluster: a change holds for the next step, without a daemon started again;
# a fault ends steps in images, names its place, and touches nothing else.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images a mpich
profiles=/etc/slurm/profiles.d
forget=(on n1 root rm -rf "$profiles" /opt/mpich /etc/fabric.conf)
# shellcheck disable=SC2016 # for at_exit
at_exit '"${forget[@]}"'
step=(srun -w n1 --container-image=/images/a.sif)
yaml=/etc/slurm/berth.yaml

before=$(on n1,n2 root cat /run/slurm/slurmd.pid)

try "without the file, as always" a -- "${step[@]}" cat /etc/berth-image

site <<'YAML'
runtime:
  start_timeout: 99
  shrae: never
YAML
fault="$yaml:3: runtime: 'shrae' is not a key here; did you mean 'share'?"
try "a fault: srun names file, line and key" "srun: error: berth: $fault${nl}status 1" \
    -- "${step[@]}" true
site login </dev/null
try "a fault on the nodes: each says it once, and the step fails" \
    "~^berth: n[12]: ${fault/[?]/[?]}${nl}berth: n[12]: ${fault/[?]/[?]}${nl}status 1$" \
    -- "${step[@]}" -w n1,n2 -N2 -n4 true
try "a fault: other steps run" n1 -- srun -w n1 hostname

site <<'YAML'
runtime:
  share: no
YAML
try "the next step goes by the corrected file" \
    "~berth: n1: note: image '/images/a.sif': a container for each of 2 tasks: the site says share:
        no" -- "${step[@]}" -v -n2 true

site </dev/null
try "without the file, as always again" a -- "${step[@]}" cat /etc/berth-image
site login <<'YAML'
rules: [{default: {mpi-bind: auto}}]
mpi:
  order: [openmpi]
  glibc: refuse
YAML
matches "berth inspect judges as a step would" \
    $'default of --mpi-bind: auto\n  --mpi-bind=openmpi [^\n]*: no: [^\n]*\n  --mpi-bind=mpich [^\n]*: no: [^\n]* older than [^\n]* needs \(GLIBC_[0-9.]*\), which this site does not allow \('"$yaml:4\\)" \
    "$(alice berth inspect /images/mpich.sif mpiring 2>&1)"
matches "berth profiles lists what the site prefers first" ^openmpi: "$(alice berth profiles 2>&1)"
site <<'YAML'
mpi: {order: [mpihc]}
YAML
step=(srun -w n1 --mpi=pmi2 --container-image=/images/mpich.sif)
try "a preferred MPI that is none: the step ends with its place" \
    "berth: n1: $yaml:1: mpi.order: 'mpihc' is not an MPI stack or profile; did you mean
        'mpich'?${nl}status 1" -- \
    "${step[@]}" --mpi-bind mpiring
try "a preferred MPI that is none: steps without the host's MPI run" mpich \
    -- "${step[@]}" cat /etc/berth-image
site </dev/null

# Hosts that decide otherwise about MPI: two libraries in one MPI_COMM_WORLD would hang.
site </dev/null
site n1 <<<'rules: [{force: {mpi-bind: host}}]'
unlike="berth: n1: berth.yaml of this node, or profiles.d, decides otherwise about MPI than that of
        login, "
ring=(timeout 100 srun -Q --mpi=pmi2 -w "n1,n2")
mine=--container-image=/images/mpich.sif
try "another berth.yaml: the node says it, and the step ends" "~^$unlike.*status 1[0-9]*$" \
    -- "${ring[@]}" -N2 -n2 "$mine" mpiring
matches "... a component, too" "$unlike" \
    "$(alice timeout 100 srun -Q --mpi=pmi2 -w n1 -n1 "$mine" mpiring : -w n2 -n1 "$mine" mpiring \
    2>&1)"
try "... but not a step on one node" "~ring of 2 passed" \
    -- srun -Q --mpi=pmi2 -w n1 -n2 "$mine" mpiring
equal "... and from a host that decides alike the other node says it" "berth: n2: berth.yaml" \
    "$(alice bash -c \
    'printf "#!/bin/sh\nsrun -N2 -n2 --mpi=pmi2 --container-image=/images/mpich.sif mpiring\n" >alike.sh
        sbatch -Q -W -w n1,n2 -N2 -o alike.out alike.sh
        grep -o "berth: n2: berth.yaml" alike.out')"
site </dev/null

# An MPI in a place to which neither a module nor the loader leads, with a directory of
# libraries that it opens, a file and a device of the host.
"${forget[@]}"
on n1 root bash -c 'mkdir -p /opt/mpich/lib /opt/mpich/tuning
    cp -a /usr/lib/*/libmpich*.so.* /opt/mpich/lib
    cp /usr/lib/*/libz.so.1 /opt/mpich/tuning/libtune.so
    echo fast >/etc/fabric.conf'
on n1 root mkdir -p $profiles
conf=$(built APPTAINER_CONF_FILE)$(built SINGULARITY_CONF_FILE)
node_file n1 $profiles/x.yaml <<'YAML'
name: mpich-opt
family: mpich
prefix: /opt/mpich
plugins:
  - {from: [../tuning], to: lib/tuning}
environment: [SITE_TUNING=$STAGE/lib/tuning]
binds: [/etc/fabric.conf, /etc/nowhere]
devices: [/dev/fus*]
conflicts:
  variables: [SITE_MODE=old*]
YAML
mpich=$(on n1 alice berth profiles | sed -n 's/^mpich-opt: \(MPICH [0-9.]*\),.*/\1/p')
matches "a profile: berth profiles names it" \
    "^mpich-opt: MPICH [0-9.]+, of the family MPICH, found by profile 'mpich-opt'" \
    "$(on n1 alice berth profiles)"
try "a profile: its MPI runs" "~rank 1 of 2 on n1 in mpich: MPICH" \
    -- "${step[@]}" -n2 --mpi-bind=mpich-opt mpiring
# shellcheck disable=SC2016 # for the image
try "a profile: libraries, variables, directories and binds" \
    $'libtune.so\nfast\nover /mpich-opt-HASH/lib/libmpich.so.12' \
    -- "${step[@]}" --mpi-bind=mpich-opt \
    sh -c 'ls $SITE_TUNING; cat /etc/fabric.conf
        sed -nE "s,.*/tmp/berth-2001|.*/berth-2001,,
            s,-[0-9a-f]{16}/,-HASH/,
            s,^([^ ]*) .*/libmpich[.]so.*,over \1,p" /proc/self/mountinfo | uniq'
try "a profile: a device, where the runtime brings none" /dev/fuse -- \
    "${step[@]}" --mpi-bind=mpich-opt --container-args=--contain ls /dev/fuse
try "a profile: a device can be opened where the runtime brings it" opened -- \
    "${step[@]}" --mpi-bind=mpich-opt sh -c 'exec 3<>/dev/fuse && echo opened'
on n1 root sed -i 's/^mount dev = .*/mount dev = minimal/' "$conf"
try "a profile: and where the runtime's configuration says minimal" opened -- \
    "${step[@]}" --mpi-bind=mpich-opt sh -c 'exec 3<>/dev/fuse && echo opened'
on n1 root sed -i 's/^mount dev = .*/mount dev = yes/' "$conf"
try "a profile: what it does not go with" \
    "berth: n1: image '/images/mpich.sif': --mpi-bind=mpich-opt: the host's $mpich does not go with
        'SITE_MODE=old*' (profile 'mpich-opt'); unset or unload it, or choose
        --mpi-bind=hybrid${nl}status 1" -- \
    "${step[@]}" --mpi-bind=mpich-opt --container-env=SITE_MODE=older true
site <<'YAML'
mounts: {forbidden: [/etc/fabric.conf]}
YAML
try "a profile: its binds are the site's, and not forbidden" fast -- \
    "${step[@]}" --mpi-bind=mpich-opt cat /etc/fabric.conf
site </dev/null

node_file n1 $profiles/x.yaml <<'YAML'
name: mpich-opt
family: mpich
prefix: /opt/mpich
bind: [/etc/fabric.conf]
YAML
try "a broken profile: the step ends with its place" \
    "berth: n1: $profiles/x.yaml:4: 'bind' is not a key here; did you mean 'binds'?${nl}status 1" \
    -- \
    "${step[@]}" --mpi-bind=host mpiring
try "a broken profile: steps without the host's MPI run" mpich -- "${step[@]}" cat /etc/berth-image
"${forget[@]}"
try "without it, the next step runs" mpich -- "${step[@]}" --mpi-bind=host cat /etc/berth-image

equal "no slurmd was started again" "$before" "$(on n1,n2 root cat /run/slurm/slurmd.pid)"

finish

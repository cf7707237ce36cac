#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# OCI bundles as Slurm's own --container, where oci.conf names berth-oci: the program of oci.runtime
# starts them, here the shipped one with Debian's crun. With doc/admin.md's own commands; first
# without the plugin, then with it.

# shellcheck disable=SC2016,SC2086 # words for other shells, and several words in $B
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/console.sh"

need_images a
LIMIT=60
container_option_without_plugin
on login alice bash -c 'rm -rf bundle; ln -sfn /images/a.sif app.sif'
at_exit 'on login alice bash -c "rm -rf bundle"'
B=--container=bundle
try "without oci.runtime: one line" "berth: n1: 'bundle' is an OCI bundle, and berth runs images; give an image, or ask the administrators to set oci.runtime in berth.yaml
status 1" -- sh -c "mkdir bundle && echo '{}' >bundle/config.json; srun -w n1 -n2 $B true; status=\$?; rm -r bundle; exit \$status"

site_used=yes # the document writes berth.yaml
at_exit 'on "$nodes" root rm -f /etc/slurm/bundle'
case $release in
sid) put_debian "login,$nodes" crun libblake3-0 ;;
*) put_debian "login,$nodes" crun libyajl2 ;;
esac
# crun looks at the type of this file system, which most hosts of clusters do not have.
for host in login ${nodes//,/ }; do
    [[ $(on "$host" root stat -fc %T /sys/fs/cgroup) == @(tmpfs|cgroup2fs) ]] ||
        spoil "$host" "mount -t tmpfs none /sys/fs/cgroup" "umount /sys/fs/cgroup"
done
sed -n '/^### OCI bundles$/,/^### Jobs/p' "$here/../../../doc/admin.md" >"$work/admin.md"
console_document "$work/admin.md" doc/admin.md

script_submit
script_pty
try "tasks of two nodes, in the bundle" $'4 a' 'sort | uniq -c | sed "s/^ *//"' -- \
    srun -Q -N2 -n4 $B cat /etc/berth-image
try "the environment and exit status of the task" $'a b 2\nstatus 3' -- \
    env X='a b' srun -Q -n1 -c2 $B sh -c 'echo "$X $SLURM_CPUS_PER_TASK"; exit 3'
try "standard input" 'line of input' -- sh -c "echo line of input | srun -Q -n1 $B cat"
try "--pty" '~dev/pts/0|dev/console' -- ./pty.py srun -Q -n1 --pty $B tty
script job.sh <<'SCRIPT'
#!/bin/sh
echo "$(cat /etc/berth-image) $*"
SCRIPT
try "a batch script runs in the bundle" 'a one two words' -- \
    sh -c "rm -f job.out; ./submit -o job.out $B job.sh one 'two words'; cat job.out"
try "a command that is not there: crun says so" '~nothing.*status 1' -- srun -Q -n1 $B nothing

# The end of a step.
remember n1
traps='trap "echo got USR1; exit 4" USR1; echo ready; while :; do sleep 0.1; done'
start step alice srun -Q -w n1 -n2 $B sh -c "$traps"
await step 2 ready
alice scancel -s USR1 -u alice
ends "scancel with a signal" step 4
printed "... reaches the tasks" step 2 "got USR1"
start step alice srun -Q -w n1 -n2 $B sh -c 'trap "" TERM; echo ready; while :; do sleep 1; done'
await step 2 ready
alice scancel -u alice
ends "scancel, and the application does not care for SIGTERM" step '[1-9][0-9]*'
wait_for 30 has_no_job
soon "nothing is left in SlurmdSpoolDir" "" -- spooled
equal "... or anywhere" "" "$(left n1)"

# With the plugin.
container_option_with_plugin
try "with the plugin: a bundle" a -- srun -Q -n1 $B cat /etc/berth-image
try "... and an image" a -- srun -Q -n1 --container=/images/a.sif cat /etc/berth-image
try "... as two components: refused" "srun: error: berth: $B is an OCI bundle, and another component of this step has an image; start one of the two with an srun of its own
status 1" -- srun -Q -n1 $B true : -n1 --container=/images/a.sif true

finish

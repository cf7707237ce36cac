#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# berth enter and berth ps, with a squeue and an srun that are scripts. Speaks TAP.

berth=$PWD/berth
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"

uid=$(id -u)
mkdir slurm empty
cat >slurm/squeue <<END
#!/bin/sh
case " \$* " in
*--jobs=12\ * | *--user=*) echo "12 12 $uid 2 RUNNING" ;;
*--jobs=13\ *) echo "13 13 $uid 1 PENDING" ;;
*--jobs=14\ *) echo "14 14 1$uid 1 RUNNING" ;;
*--jobs=15\ *) echo "15 15 $uid 1 RUNNING" ;;
*--jobs=16\ *) echo "16 16 $uid 2 RUNNING" ;;
*--jobs=17\ *) echo "17 17 $uid 1 RUNNING" ;;
*--jobs=18\ *) echo "18 18 $uid 1 RUNNING" ;;
*) echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1 ;;
esac
END
cat >slurm/srun <<'END'
#!/bin/sh
container() { echo "berth-container:node=$1&image=/a.sif"; }
case " $* " in
*--jobid=15\ * | *--jobid=16\ *)
    container 'n7&job=16&step=0&tasks=1&holder=5' | grep "job=${6#--jobid=}"
    echo 'srun: error: no such node' >&2
    exit 1
    ;;
*--jobid=17\ *) ;;
*--jobid=18\ *\ ps\ *)
    container 'n1&job=18&since=1800000000&holder=5'
    container 'n1&job=18&since=1800000100&holder=6&options=--container-mounts%3D/d:/d:rw'
    ;;
*\ ps\ *)
    container 'n1&job=12&step=0&rank=0&tasks=2&since=1800000000&memory=5120&cpu=20&holder=5'
    container 'n10&job=12&step=0&rank=2&tasks=12&since=1800000000&holder=6'
    ;;
*)
    printf '%s\n' "$@"
    env | grep -E '^(SLURM|BERTH)'
    exit 3
    ;;
esac
END
chmod +x slurm/*
PATH=$T/slurm:$PATH
export SLURM_JOB_ID=77 SLURM_NTASKS=8 BERTH_CONTAINER_IMAGE=/x.sif

expect 'an srun beside the tasks' 3 "--overlap
--quiet
--mpi=none
--chdir=/
--export=TERM
--jobid=12
--nodelist=n10
--nodes=1
--ntasks=1
--ntasks-per-node=1
--unbuffered
BIN/berth
enter
--node-part
12
2
6
word=echo
word=a%20b
word=:
word=
BERTH_CONTAINER_IMAGE=none" sh -c "'$berth' enter 12.0 -w n10 echo 'a b' : '' </dev/null |
    sed 's|^/.*/berth\$|BIN/berth|'; exit 3"
says 'options before the job' 0 'n1
' sh -c "'$berth' enter --rank 0 -w n1 12 -- -x | grep -e word=-x -e n1 && echo"
expect 'containers are a table' 0 \
    'JOB  STEP  NODE  IMAGE   SINCE                TASKS   RSS    CPU  ID  OPTIONS
 12  0     n1    /a.sif  2027-01-15T08:00:00      2  5.0M  0.02s   5  -
 12  0     n10   /a.sif  2027-01-15T08:00:00     12     -      -   6  -' \
    env TZ=UTC "$berth" ps
says '--json is for programs' 0 '"server_kib": 5120' "$berth" ps --json 12
says 'a job that waits' 1 \
    "berth: enter: job 13: expected a job that is RUNNING, got 'PENDING'" "$berth" enter 13
says "somebody else's job" 1 \
    'berth: enter: job 14: not yours, or Slurm does not know it; see berth ps' "$berth" enter 14.0 \
    id
says 'an unknown job' 1 \
    'berth: enter: job 9: slurm_load_jobs error: Invalid job id specified' "$berth" enter 9
says 'a step without a container' 1 \
    'berth: enter: job 12: step 4 does not run in an image; see berth ps 12' "$berth" enter 12.4
says 'another node' 1 \
    "berth: enter: job 12: no such container on 'n9'; expected -w n1, n10" "$berth" enter 12 -w n9
says 'a node that cannot be asked' 1 'berth: enter: job 15: srun: error: no such node' "$berth" \
    enter 15
says 'the containers of other nodes are listed' 1 ' n7 ' sh -c "'$berth' ps 16 2>&1"
says 'a step that is a word' 2 "berth: enter: expected JOBID or JOBID.STEPID, got '12.batch'" \
    "$berth" enter 12.batch
says 'a rank that is a word' 2 "berth: enter: expected a number for --rank, got 'x'" "$berth" \
    enter 12 --rank x
says 'a component that is a word' 2 "berth: enter: expected a number for --component, got '-1'" \
    "$berth" enter --component -1 12
says 'a name that no container has' 1 'berth: save: job 12: no such container; see berth ps 12' \
    "$berth" save --container x 12 x.sif
says 'a job without an image' 1 'berth: enter: job 17: no step of it runs in an image' "$berth" \
    enter 17
expect 'a job that keeps several' 1 \
    "berth: save: job 18: it has several containers; choose one by -w or --container
JOB  STEP  NODE  IMAGE   SINCE                TASKS  RSS  CPU  ID  OPTIONS
 18  job   n1    /a.sif  2027-01-15T08:00:00      0    -    -   5  -
 18  job   n1    /a.sif  2027-01-15T08:01:40      0    -    -   6  --container-mounts=/d:/d:rw" \
    env TZ=UTC "$berth" save 18 x.sif
says 'one of those' 0 'word=true' sh -c "'$berth' enter --container 6 18 true; echo" </dev/null
says 'JSON has what tells them apart' 0 '"options": "--container-mounts=/d:/d:rw"' "$berth" ps \
    --json 18
says 'no job' 2 'usage: berth enter JOBID' "$berth" enter -w n1
says 'an unknown option' 2 'usage: berth enter JOBID' "$berth" enter 12 --node n1
says 'an unknown option of ps' 2 'usage: berth ps' "$berth" ps --all
says 'an unknown user' 1 "berth: ps: -u: 'nobody-here' is not a user of this host" \
    "$berth" ps -u nobody-here
ordinary=
[ "$uid" != 0 ] || ordinary='setpriv --reuid=65534 --regid=65534 --clear-groups'
chmod 755 .
# shellcheck disable=SC2086
says 'only root sees others' 1 \
    "berth: ps: -u: only root sees containers of 'root', on the node where they are" $ordinary \
    "$berth" ps -u root
says 'a container that is gone' 1 'berth: job 4000000: the container has ended; see berth ps' \
    "$berth" enter --node-part 4000000 0 1

# Commands are looked for in the usual directories, too.
if [ ! -e /usr/bin/squeue ] && [ ! -e /usr/local/bin/squeue ]; then
    says 'this host has no srun' 0 'JOB' env "PATH=$T/empty" "$berth" ps 4000000
    says 'nor is there a way to a node' 1 \
        "berth: enter: squeue is not on the PATH; log in to a host where Slurm's commands are" \
        env "PATH=$T/empty" "$berth" enter 12
    rm slurm/srun
    says 'nor with half of Slurm' 1 \
        "berth: enter: srun is not on the PATH; log in to a host where Slurm's commands are" \
        "$berth" enter 12
fi

finish

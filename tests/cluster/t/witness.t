#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# With --mpi-bind that chose the host's MPI, berth knows whether the ranks have loaded it:
# who runs with another one is named, whatever it is called and however it came, and nobody
# else is. The step ends for it where the host's was asked for.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images mpich mpibookworm
alice mkdir -p odd
# An MPICH under a name that says nothing, in a place that no forecast looks at. Where the
# host has the same release, its build ID alone tells them apart.
alice srun -n1 --container-image=/images/mpibookworm.sif python3 -c '
import os
note = b"\4\0\0\0\x14\0\0\0\3\0\0\0GNU\0"
data = open("/usr/lib/x86_64-linux-gnu/libmpich.so.12", "rb").read()
at = data.index(note) + len(note)
with open(os.path.expanduser("~/odd/libodd9.so"), "wb") as to:
    to.write(data[:at] + bytes([data[at] ^ 1]) + data[at + 1:])' || exit 1
# Under a SONAME of its own, it is loaded beside the host's.
alice patchelf --set-soname libodd8.so --output odd/libodd8.so odd/libodd9.so || exit 1
script beside <<'PROGRAM'
#!/bin/sh
LD_PRELOAD=$HOME/odd/libodd8.so exec /opt/t/mpich/who
PROGRAM
# odd.py LIBRARY SECONDS [unlink|memory]: MPI_Init of that library.
script odd.py <<'PROGRAM'
#!/usr/bin/python3
import ctypes, os, sys, time
if "memory" in sys.argv:
    copy = os.memfd_create("odd")
    with open(copy, "wb", closefd=False) as to:
        to.write(open(sys.argv[1], "rb").read())
    sys.argv[1] = f"/proc/self/fd/{copy}"
library = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
if "memory" in sys.argv:
    os.close(copy)
if "unlink" in sys.argv:
    os.unlink(sys.argv[1])
library.MPI_Init(None, None)
time.sleep(float(sys.argv[2]))
library.MPI_Finalize()
PROGRAM
# shapes.py SHAPE: two MPIs, the host's and another one, in one rank.
script shapes.py <<'PROGRAM'
#!/usr/bin/python3
import ctypes, os, subprocess, sys, time

HOST = "/usr/lib/x86_64-linux-gnu/libmpich.so.12"
ODD = os.environ["HOME"] + "/odd/libodd9.so"
ODD_PROGRAM = [os.environ["HOME"] + "/odd.py", ODD, "5"]
# A child has no descriptor of Slurm's, and is a world of its own.
ALONE = {name: value for name, value in os.environ.items() if name != "PMI_FD"}

def python(text, **more):
    return subprocess.Popen([sys.executable, "-c", "import ctypes, time\n" + text], **more)

shape = sys.argv[1]
if shape == "exec":
    ctypes.CDLL(HOST)
    os.execv(ODD_PROGRAM[0], ODD_PROGRAM)
elif shape == "subprocess":
    ctypes.CDLL(HOST).MPI_Init(None, None)
    time.sleep(1)
    subprocess.run(ODD_PROGRAM, env=ALONE)
elif shape == "later":
    python(f"ctypes.CDLL('{HOST}')").wait()
    subprocess.run(ODD_PROGRAM, env=ALONE)
elif shape == "fork":
    ctypes.CDLL(HOST)
    if os.fork() == 0:
        ctypes.CDLL(ODD).MPI_Init(None, None)
        time.sleep(5)
        os._exit(0)
    os.wait()
elif shape == "idle":
    child = python(f"odd = ctypes.CDLL('{ODD}'); "
                   "odd.MPI_Initialized(ctypes.byref(ctypes.c_int())); time.sleep(2)")
    ctypes.CDLL(ODD)
    host = ctypes.CDLL(HOST)
    host.MPI_Init(None, None)
    child.wait()
    host.MPI_Finalize()
elif shape == "onlyidle":
    ctypes.CDLL(ODD)
    time.sleep(1)
elif shape == "helpers":
    host = ctypes.CDLL(HOST)
    host.MPI_Init(None, None)
    for command in (["ldd", ODD], ["cat", ODD], ["sh", "-c", "mpichversion; true"]):
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    host.MPI_Finalize()
elif shape == "copy":
    copy = f"/tmp/copy-{os.environ['SLURM_JOB_ID']}-{os.environ['SLURM_PROCID']}.so"
    with open(copy, "wb") as to:
        to.write(open(HOST, "rb").read())
    host = ctypes.CDLL(copy)
    host.MPI_Init(None, None)
    os.unlink(copy)
    time.sleep(1)
PROGRAM
# bundle NAME SECONDS [unlink]: unpacks its MPI when it is run.
script bundle <<'PROGRAM'
#!/bin/sh
mkdir -p /tmp/bundle-$SLURM_JOB_ID && cp ~/odd/libodd9.so /tmp/bundle-$SLURM_JOB_ID/$1 || exit
~/odd.py /tmp/bundle-$SLURM_JOB_ID/$1 $2 $3
status=$?
rm -rf /tmp/bundle-$SLURM_JOB_ID
exit $status
PROGRAM
# Rank 0 runs with the host's MPI, and waits for the others.
script mixed <<'PROGRAM'
#!/bin/sh
[ $SLURM_PROCID = 0 ] && exec /opt/t/mpich/who
exec ~/odd.py ~/odd/libodd9.so 20
PROGRAM

# The static program is not to be seen beforehand.
script behind <<'PROGRAM'
#!/bin/sh
where=/opt/t/mpich
$where/static
PROGRAM

# loads OPTION... COMMAND: what is said of the ranks, node by node, and the status. MODE is
# that of --mpi-bind.
loads() {
    alice srun --mpi=pmi2 "--mpi-bind=${MODE:-host}" "$@" 2>&1 >/dev/null |
        sed -nE 's/^berth: (n.): (warning: )?(note: )?image .* --mpi-bind=[a-z]*: (.* (runs with|runs alone|has loaded|ranks? .*loaded|was seen).*)/\1: \2\4/p' | sort
    echo "status ${PIPESTATUS[0]}"
}

mpich=/images/mpich.sif
both=/images/mpibookworm.sif
wrong='rank [0-9] runs with .[^ ]*/libodd9.so. \(MPICH 4.0.2\) and not with the host.s (MPICH|Open
        MPI) [0-9]'

# Debian 12's MPICH hangs between nodes (mpi.t): each rank is a world.
matches "ranks on two nodes have loaded it" \
    "^n1: 2 of 2 ranks loaded the host's MPICH [0-9.]+${nl}n2: 2 of 2 ranks loaded the host's
        MPICH [0-9.]+${nl}status 0\$" \
    "$(loads -v -w n1,n2 -N2 --ntasks-per-node=2 --container-image=$both env -u PMI_FD \
    /opt/t/mpich/who)"
matches "again, in a later step" "^n1: 2 of 2 ranks loaded .*"$'\nstatus 0$' \
    "$(loads -v -w n1 -n2 --container-image=$mpich mpiring)"
matches "16 ranks of a shell" "^n1: 16 of 16 ranks loaded .*"$'\nstatus 0$' \
    "$(loads -v -w n1 -n16 --container-image=$mpich sh -c 'mpiring; :')"
matches "without Slurm's variables" "^n1: 1 of 1 ranks loaded .*"$'\nstatus 0$' \
    "$(loads -v -w n1 -n1 --container-image=$both env -i /opt/t/mpich/who)"
matches "a child without Slurm's variables" "^n1: 1 of 1 ranks loaded .*"$'\nstatus 0$' \
    "$(loads -v -w n1 -n1 --container-image=$both sh -c 'env -i /opt/t/mpich/who; :')"
equal "nothing is said of right ranks without -v" "status 0" \
    "$(loads -w n1 -n4 --container-image=$mpich mpiring)"
# One node says it.
for command in true "sleep 1" "sh -c 'sleep 1'" "ls /"; do
    equal "a program without MPI: $command" \
        $'n1: warning: no rank of this node was seen to load an MPI library\nstatus 0' \
        "$(loads -w n1,n2 -N2 -n4 --container-image=$mpich sh -c "$command")"
    equal "behind auto: $command" "status 0" \
        "$(MODE=auto loads -N2 -n4 --container-image=$mpich sh -c "$command")"
done
equal "a Python without MPI" \
    $'n1: warning: no rank of this node was seen to load an MPI library\nstatus 0' \
    "$(loads -w n1 -n2 --container-image=$both python3 -c 'import time; time.sleep(0.5)')"
equal "one task without MPI" "status 0" \
    "$(loads -w n1 -n1 --container-image=$mpich sleep 0.3)"
equal "nothing is killed before it has a status" "status 3" \
    "$(loads -n1 --container-image=$mpich sh -c 'exit 3')"
equal "a step that fails early needs no warning" "status 3" \
    "$(loads -w n1 -n2 --container-image=$mpich sh -c 'exit 3')"
equal "nor does one of which one task fails" "status 3" \
    "$(loads -w n1 -n2 --container-image=$mpich sh -c "exit \$((SLURM_PROCID * 3))")"
matches "with -v each node says it" \
    '^n1: warning: no rank of this node was seen .*'$'\n''n2: no rank of this node was seen to load
        an MPI library'$'\nstatus 0$' \
    "$(loads -v -w n1,n2 -N2 --ntasks-per-node=2 --container-image=$mpich sleep 0.3)"

matches "an MPI of another name, on two nodes" \
    "^n[12]: $wrong.*choose --mpi-bind=hybrid"$'\nstatus 1(37|43)$' \
    "$(loads -w n1,n2 -N2 --ntasks-per-node=2 --container-image=$both ./odd.py odd/libodd9.so 20)"
matches "one that ends soon" "^n1: $wrong.*"$'\nstatus 137$' \
    "$(loads -w n1 -n2 --container-image=$both ./odd.py odd/libodd9.so 0.1)"
# The MPICH of sid needs functions that the image's UCX, which comes with this one, lacks.
[[ $release == sid ]] ||
    for mode in host mpich auto; do
        if [[ $mode == auto ]]; then how='warning: ' status=0; else how='' status=137; fi
        matches "before the host's, behind --mpi-bind=$mode" \
            "^n1: ${how}rank [01] runs with '[^ ]*/libodd8.so' \(MPICH 4.0.2\), which it has loaded
                beside the host's MPICH [0-9.]+[^;]*; .*${nl}status $status\$" \
            "$(MODE=$mode loads -v -w n1 -n2 --container-image=$both ./beside)"
    done
second='a program of rank [01] runs with .[^ ]*/libodd9.so. \(MPICH 4.0.2\), though another one has
        loaded the host.s MPICH [0-9]'
matches "in another program of the rank, later" "^n1: $second.*"$'\nstatus 137$' \
    "$(loads -w n1 -n2 --container-image=$both sh -c \
    "/opt/t/mpich/who && env -u PMI_FD ./odd.py odd/libodd9.so 2")"
# The host's of sid and the image's do not fit into one process.
shapes=(exec subprocess later fork)
[[ $release != sid ]] || shapes=(exec subprocess later)
for shape in "${shapes[@]}"; do
    case $shape in
    fork)
        line="rank [01] runs with .[^ ]*/libodd9.so. \(MPICH 4.0.2\), which it has loaded beside the
            host.s MPICH [0-9]"
        ;;
    *) line=$second ;;
    esac
    for mode in host mpich; do
        matches "two MPIs in a rank, $shape, behind --mpi-bind=$mode" \
            "^n1: $line.*"$'\nstatus 137$' \
            "$(MODE=$mode loads -v -w n1 -n2 --container-image=$both ./shapes.py "$shape")"
    done
    matches "two MPIs in a rank, $shape, behind --mpi-bind=auto" \
        "^n1: warning: $line.*"$'\nstatus 0$' \
        "$(MODE=auto loads -v -w n1 -n2 --container-image=$both ./shapes.py "$shape")"
done
right=$'^n1: 2 of 2 ranks loaded the host.s MPICH [^\n]*\nstatus 0$'
matches "programs that read MPI libraries, or ask their version" "$right" \
    "$(loads -v -w n1 -n2 --container-image=$both ./shapes.py helpers)"
matches "a copy of the host's own library" "$right" \
    "$(loads -v -w n1 -n2 --container-image=$both ./shapes.py copy)"
[[ $release == sid ]] ||
    matches "another MPI that is loaded and not used" "$right" \
        "$(loads -v -w n1 -n2 --container-image=$both ./shapes.py idle)"
equal "the only one that is loaded is not used" \
    $'n1: warning: no rank of this node was seen to initialize MPI\nstatus 0' \
    "$(loads -w n1 -n2 --container-image=$both ./shapes.py onlyidle)"
matches "behind --mpi-bind=mpich" \
    "^n1: rank 0 runs with .* and not with the host's MPICH [0-9.]+; .*"$'\nstatus 137$' \
    "$(MODE=mpich loads -w n1 -n1 --container-image=$both ./odd.py odd/libodd9.so 20)"
matches "behind --mpi-bind=auto it is a warning" \
    "^n1: warning: $wrong.*"$'\n'"n2: warning: $wrong.*"$'\nstatus 0$' \
    "$(MODE=auto loads -w n1,n2 -N2 -n2 --container-image=$both ./odd.py odd/libodd9.so 1)"
matches "unpacked to /tmp" \
    "^n1: rank 0 runs with '/tmp/bundle-[0-9]+/libstrange.so' \(MPICH 4.0.2\).*"$'\nstatus 137$' \
    "$(loads -w n1 -n1 --container-image=$both ./bundle libstrange.so 20)"
matches "and deleted" \
    "^n1: rank 0 runs with '/tmp/bundle-[0-9]+/libmpich.so.12( \(deleted\))?'
        \(MPICH.*\).*${nl}status 137\$" \
    "$(loads -w n1 -n1 --container-image=$both ./bundle libmpich.so.12 20 unlink)"
matches "and deleted, by a name that says nothing" \
    "^n1: rank 0 runs with '/tmp/bundle-[0-9]+/libstrange.so( \(deleted\))?'
        \(MPICH.*\).*${nl}status 137\$" \
    "$(loads -w n1 -n1 --container-image=$both ./bundle libstrange.so 20 unlink)"
matches "without a file" \
    "^n1: rank [01] runs with '/memfd:odd \(deleted\)' \(MPICH\).*"$'\nstatus 137$' \
    "$(loads -w n1 -n2 --container-image=$both ./odd.py odd/libodd9.so 20 memory)"
matches "without a file, for a moment" \
    "^n1: warning: rank [01] runs with '/memfd:odd \(deleted\)' \(MPICH\).*"$'\nstatus 0$' \
    "$(MODE=auto loads -w n1 -n2 --container-image=$both ./odd.py odd/libodd9.so 0.2 memory)"
matches "beside a right rank, behind auto" \
    "^n1: rank 1 runs with .*, as other ranks on this node do; .*"$'\nstatus 137$' \
    "$(MODE=auto loads -w n1 -n2 --container-image=$both ./mixed)"
alone='rank [01] runs alone: the host.s Open MPI [0-9][^ ]* uses PMIx and the step has --mpi=pmi2,
        so each of the 2 tasks would be rank 0 of 1; use srun --mpi=pmix'
# The words of the command do not name it, or the step would not start.
behind="sleep 1; where=/opt/t; \$where/openmpi/who; sleep 2"
matches "one of the host's that does not speak the step's process manager" \
    "^n1: $alone"$'\nstatus 137$' \
    "$(loads -w n1 -n2 --container-image=$both sh -c "$behind")"
matches "again, in a later step" "^n1: $alone"$'\nstatus 137$' \
    "$(loads -w n1 -n2 --container-image=$both sh -c "$behind")"
matches "it is a warning behind auto" "^n1: warning: $alone"$'\nstatus 0$' \
    "$(MODE=auto loads -w n1 -n2 --container-image=$both sh -c "$behind")"
matches "in one of two components" "^n.: $wrong.*"$'\nstatus 1[34][0-9]$' \
    "$(loads -N1 -n1 --container-image=$both ./odd.py odd/libodd9.so 20 : --mpi-bind=host -N1 -n1 \
    --container-image=$mpich sleep 20 | grep -v 'no rank')"

matches "linked into a program, behind a shell" \
    "^n1: rank [01] runs with '/opt/t/mpich/static' \(MPICH 4.0.2\).*"$'\nstatus [0-9]+$' \
    "$(MODE=mpich loads -w n1 -n2 --container-image=$both ./behind)"

# The sentence names the mpirun by the word of the script.
script each <<'PROGRAM'
#!/bin/sh
mpirun -n 1 sleep 2
PROGRAM
worlds="'mpirun', whose ranks do not meet those of other tasks; leave the mpirun out, as srun starts
        the ranks, or use --mpi-bind=local for an mpirun in one task, --mpi-bind=local-each for one
        in every task"
starters() { alice srun --mpi=pmi2 "$@" ./each 2>&1 |
    sed -n 's/^berth: \(n.\): warning: image .*: \(.* starts\{0,1\} .mpirun.*\)/\1: \2/p'; }
equal "a script that starts an mpirun in each task" "n1: several tasks start $worlds" \
    "$(starters --mpi-bind=host -w n1 -n2 --container-image=$mpich)"
equal "... in a task for each node" "n2: rank 1 starts $worlds" \
    "$(starters --mpi-bind=host -w n1,n2 -N2 -n2 --container-image=$mpich)"
equal "... without --mpi-bind" "n1: several tasks start $worlds" \
    "$(starters -w n1 -n2 --container-image=$mpich)"
equal "... where each is asked for" "" \
    "$(starters --mpi-bind=local-each -w n1 -n2 --container-image=$mpich)"

# A witness that is killed is missed by nobody.
start killed alice srun --mpi=pmi2 --mpi-bind=host -w n1 -n2 --container-image=$mpich sleep 4
wait_for 10 has_processes n1 sleep 2
on n1 root pkill -KILL -x berth-mpi
ends "the witness is killed" killed 0

finish

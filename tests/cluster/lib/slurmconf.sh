# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# slurm.conf: our defaults for fast tests, overlaid with the --conf lines.

# slurmconf NODES [LINE...]: the file, on stdout.
slurmconf() {
    local nodes=$1 line
    shift
    slurmconf_base "$(slurmconf_shape "$nodes" "$@")" |
        slurmconf_without "$@"
    for line; do [[ ${line,,} == cpuspeclist=* ]] || printf '%s\n' "$line"; done
}

# The lines whose key no LINE sets.
slurmconf_without() {
    local line key it
    while IFS= read -r line; do
        key=${line%%=*}
        for it; do
            it=${it%%=*}
            [[ ${it,,} != "${key,,}" ]] || continue 2
        done
        printf '%s\n' "$line"
    done
}

# slurmconf_shape NODES LINE...: the NodeName line.  64 CPUs a node, whatever
# the machine has, so that tests can have many tasks; but task/affinity binds
# to CPUs that must exist.  CpuSpecList=N, which is a node's, goes there.
slurmconf_shape() {
    local nodes=$1 line shape='Sockets=2 CoresPerSocket=32 ThreadsPerCore=1 CPUs=64' system=
    shift
    for line; do
        case ${line,,} in
        taskplugin=*affinity*) shape="CPUs=$(nproc)" ;;
        cpuspeclist=*) system=" $line" ;;
        esac
    done
    printf 'NodeName=n[1-%s] %s%s RealMemory=64000 Gres=gpu:2 State=UNKNOWN' "$nodes" "$shape" \
        "$system"
}

slurmconf_base() {
    cat <<-END
	ClusterName=berth
	SlurmctldHost=login
	SlurmUser=slurm
	AuthType=auth/munge
	StateSaveLocation=/var/lib/slurm/slurmctld
	SlurmdSpoolDir=/var/spool/slurmd
	SlurmctldPidFile=/run/slurm/slurmctld.pid
	SlurmdPidFile=/run/slurm/slurmd.pid
	SlurmctldLogFile=/var/log/slurm/slurmctld.log
	SlurmdLogFile=/var/log/slurm/slurmd.log
	SlurmctldDebug=info
	SlurmdDebug=info
	TmpFS=/tmp
	GresTypes=gpu
	ProctrackType=proctrack/linuxproc
	TaskPlugin=task/none
	JobAcctGatherType=jobacct_gather/none
	MpiDefault=none
	SelectType=select/cons_tres
	SelectTypeParameters=CR_CPU
	SchedulerType=sched/backfill
	SchedulerParameters=bf_interval=1,sched_interval=2,sched_min_interval=10000,batch_sched_delay=0
	SlurmdParameters=config_overrides
	ReturnToService=2
	KillWait=5
	UnkillableStepTimeout=60
	MessageTimeout=30
	SlurmdTimeout=300
	InactiveLimit=0
	PlugStackConfig=/etc/slurm/plugstack.conf
	$1
	PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
	END
}

# The lines of `up --cgroup`: as most sites have it, but for task/affinity, with which there
# are but a few CPUs.
slurmconf_cgroup() {
    printf '%s\n' ProctrackType=proctrack/cgroup TaskPlugin=task/cgroup \
        JobAcctGatherType=jobacct_gather/cgroup PrologFlags=Contain \
        SelectTypeParameters=CR_CPU_Memory DefMemPerCPU=500
}

# cgroup.conf RELEASE: without --cgroup a host has no cgroup tree.  22.05 does not know
# the word; its v1 plugin, named, asks nothing of the host (autodetect would fail).
cgroupconf() {
    if [[ -e $STATE/cgroup ]]; then
        printf '%s\n' CgroupPlugin=cgroup/v1 ConstrainRAMSpace=yes
        ! grep -qi '^TaskPlugin=.*affinity' "$STATE/etc/slurm/slurm.conf" || echo ConstrainCores=yes
    elif [[ $1 == bookworm ]]; then
        echo CgroupPlugin=cgroup/v1
    else
        echo CgroupPlugin=disabled
    fi
}

# gres.conf: two GPUs on each node, as far as Slurm can tell. They must be files.
gresconf() {
    echo 'Name=gpu File=/dev/full'
    echo 'Name=gpu File=/dev/zero'
}

# mpi.conf RELEASE: a tree of PMIx (the default, where nothing is exchanged) waits for no node
# when TreeWidth is above their number, so that ranks leave MPI_Init before others are in it.
# 26.05 comes without PMIx.
mpiconf() {
    [[ $1 == sid ]] || echo PMIxCollFence=ring
}

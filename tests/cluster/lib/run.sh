# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Commands on a host, as a user: what `run` and `shell` stand on.

# host_argv HOST: sets HOST_ARGV to what enters HOST as root.
host_argv() {
    host_open "$1"
    if [[ -e $STATE/machines ]]; then
        HOST_ARGV=("$HERE/lib/machine-run" "$STATE" "$1")
        return
    fi
    HOST_ARGV=(nsenter --target "$REPLY" --mount --uts --ipc --net --pid --cgroup --)
}

# user_argv USER DIR: sets USER_ARGV to what becomes USER, in DIR (empty: home),
# with the environment of a login, and INT and QUIT not ignored.
user_argv() {
    local user=$1 dir=$2 home=/home/$1 drop=()
    if [[ $user == root ]]; then
        home=/root
    else
        drop=(--reuid "$user" --regid "$user" --init-groups)
    fi
    USER_ARGV=(
        setpriv "${drop[@]}" --pdeathsig TERM --
        env "--default-signal=INT,QUIT" -i -C "${dir:-$home}" "HOME=$home" "USER=$user" \
            "LOGNAME=$user"
        SHELL=/bin/bash "TERM=${TERM:-dumb}" LANG=C.UTF-8
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
    )
}

# run_command [-u USER] [-n NODE] [-d DIR] -- COMMAND...
run_command() {
    local user=alice node=login dir='' OPTARG OPTIND=1 option
    while getopts :u:n:d: option; do
        case $option in
        u) user=$OPTARG ;;
        n) node=$OPTARG ;;
        d) dir=$OPTARG ;;
        *) die "run: unknown option '-$OPTARG'; see: $0 help" ;;
        esac
    done
    shift $((OPTIND - 1))
    (($#)) || die "run: expected a command after --"
    host_argv "$node"
    user_argv "$user" "$dir"
    run_attended "${HOST_ARGV[@]}" "${USER_ARGV[@]}" "$@"
}

# run_attended COMMAND...: runs COMMAND, an nsenter that forks, hands signals on
# to what it runs, and returns that command's status.  With a terminal the
# command stays in our foreground process group, so it gets Ctrl-C from the
# kernel and needs none from us.  Should we be killed outright, the command
# gets SIGTERM (--pdeathsig, twice: nsenter stands between us).
run_attended() {
    local rc=0 apart=(setsid) signalled=1
    [[ ! -t 0 ]] || apart=()
    "${apart[@]}" setpriv --pdeathsig KILL -- "$@" <&0 &
    RUN_PID=$!
    trap 'signalled=1; run_forward TERM' TERM
    trap 'signalled=1; run_forward HUP' HUP
    if ((${#apart[@]})); then
        trap 'signalled=1; run_forward INT' INT
        trap 'signalled=1; run_forward QUIT' QUIT
    else
        trap 'signalled=1' INT QUIT
    fi
    while ((signalled)); do
        signalled=0 rc=0
        wait "$RUN_PID" 2>/dev/null || rc=$?
    done
    trap - TERM HUP INT QUIT
    return "$rc"
}

# The command is nsenter's only child; before that is born, nsenter will do.
run_forward() {
    local child=''
    { read -r child _ <"/proc/$RUN_PID/task/$RUN_PID/children"; } 2>/dev/null || true
    kill "-$1" "${child:-$RUN_PID}" 2>/dev/null || true
}

# shell_command NAME [-u USER] [-n NODE]: `script` gives the shell a terminal of
# the host's own, so that tty(1) and srun --pty work.
shell_command() {
    local name=$1 user=alice node=login OPTARG OPTIND=1 option
    shift
    while getopts :u:n: option; do
        case $option in
        u) user=$OPTARG ;;
        n) node=$OPTARG ;;
        *) die "shell: unknown option '-$OPTARG'; see: $0 help" ;;
        esac
    done
    printf '%s: Slurm %s, hosts %s; files shared by all: /home /shared /images\n' \
        "$name" "$(<"$STATE/slurm")" \
        "$(state_hosts | paste -sd' ')" >&2
    printf 'try: sinfo; srun -N2 hostname; singularity exec /images/a.sif whichimage\n' >&2
    run_command -u "$user" -n "$node" -- env BERTH_CLUSTER="$name" \
        script -qec 'bash -l' /dev/null
}

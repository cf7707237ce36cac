# shellcheck shell=bash disable=SC2154 # `work` and others are of lib.sh
# SPDX-License-Identifier: Apache-2.0
# Sourced after lib.sh by tests that run a script twice, outside and inside an image, and
# compare what it printed and how it ended.

A=--container-image=/images/a.sif

# What differs between any two runs: ids, times, ports, process numbers and terminals.
normalise() {
    sed -E \
        -e 's/(StepId=|STEP |JOB |JobId=|[Jj]ob )[0-9]+(\.[0-9]+)?/\1J/g' \
        -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+/TIME/g' \
        -e 's/^\[TIME\] /[TIME] /' \
        -e 's/(pipe|socket|anon_inode):\[[0-9]+\]/\1:[I]/g' \
        -e 's,/dev/pts/[0-9]+,/dev/pts/N,g' \
        -e 's/^(SLURM_(TASK_PID|JOB_?ID|STEP_?ID|STEP_LAUNCHER_PORT|SRUN_COMM_PORT|JOB_(START|END)_TIME|STEP_SLUID|JOB_SLUID|SLUID|PMI2_SRUN_PORT|STEPMGR))=.*/\1=X/'
}

# What srun says now and then, of its own.
chance="$waited|Timed out waiting for job step to complete"
chance+='|^srun: error: IO: Hey, you told me node [0-9]+ was down!$'

# run_script WHERE OPTION SCRIPT: alice runs SCRIPT with $C set to OPTION in an empty
# directory that has the same name each time; $HOME/t holds the tools. What it prints,
# on both outputs, and its exit status go to $work/WHERE.
run_script() {
    local status=0
    # shellcheck disable=SC2016
    alice env C="$2" bash -c 'rm -rf ~/w && mkdir ~/w && cd ~/w && t=$HOME/t && eval "$1"' \
        script "$3" </dev/null >"$work/out" 2>"$work/err" || status=$?
    {
        grep -avE "$chance" "$work/out"
        echo "--- standard error"
        grep -avE "$chance" "$work/err" | sort
        echo "--- exit status $status"
    } | tr -d '\0' | normalise >"$work/$1"
}

# judge_same TITLE [PATTERN]: PATTERN must be in what was printed (so that a test in which
# both runs fail alike is none).
judge_same() {
    local title=$1 pattern=${2:-}
    if ! cmp -s "$work/outside" "$work/inside"; then
        result FAIL "$title" "- outside, + inside"$'\n'"$(diff -a -U2 "$work/outside" \
            "$work/inside" |
            tail -n +3 | cut -c1-400 | head -40)"
    elif [[ -n $pattern ]] && ! grep -qaPz -- "$pattern" "$work/outside"; then
        result FAIL "$title" "alike, but not: $pattern"$'\n'"$(head -c 2000 "$work/outside")"
    else
        result ok "$title"
    fi
}

# same TITLE SCRIPT [PATTERN]: the script says $C where the image is to go.
same() {
    run_script outside "" "$2"
    run_script inside "$A" "$2"
    judge_same "$1" "${3:-}"
}

# For sed -E: `:/proc/PID/fd/N` in hexadecimal, where a container finds the host's srun.
end_of_path='s,^(PATH=[0-9a-f]*)3a2f70726f632f(3[0-9])+2f66642f3[0-9]$,\1,'

# inside TITLE EXPECTED SCRIPT: a script that has no outside; its standard output as one line.
inside() {
    run_script inside "$A" "$3"
    sed -E -e '/^--- standard error$/,$d' -e "$end_of_path" "$work/inside" >"$work/seen"
    equal "$1" "$2" "$(paste -sd' ' "$work/seen")$([[ -s $work/seen ]] || tail -n 5 "$work/inside")"
}

# tool NAME: standard input becomes $t/NAME.
tool() {
    on login alice bash -c "mkdir -p t && cat >'t/$1' && chmod +x 't/$1'"
}

# set_plugin HOSTS on|off: the plugin's line of plugstack.conf.
set_plugin() {
    local host file=/etc/slurm/plugstack.conf.d/berth.conf
    for host in $1; do
        if [[ $2 == off ]]; then
            on "$host" root bash -c "[ ! -e $file ] || mv $file $file.off"
        else
            on "$host" root bash -c "[ ! -e $file.off ] || mv $file.off $file"
        fi
        [[ $host == login ]] || "$tool" restart "$name" "$host" >/dev/null 2>&1
    done
}

# The tool `within SECONDS COMMAND...`: until COMMAND succeeds.
tool_within() {
    tool within <<'END_OF_TOOL'
#!/bin/bash
end=$((SECONDS + $1))
shift
until "$@"; do
    ((SECONDS < end)) || exit 1
    sleep 0.05
done
END_OF_TOOL
}

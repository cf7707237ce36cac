#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# With CPUs that Slurm leaves to the system (CpuSpecList, CoreSpecCount), the program that
# serves an image runs on these, and not on the CPUs of the tasks.

# shellcheck disable=SC2016 # words for other shells
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images a

allowed='s/^Cpus_allowed_list:[[:space:]]*//p'
live 1 -Q -w n1 -n1 --container-image=/images/a.sif sh -c \
    'cat /etc/berth-image; sed -n "$1" /proc/self/status; echo ready
    until [ -e ~/go ]; do sleep 0.1; done' sh "$allowed"
served=$(on n1 root bash -c 'for pid in $(pgrep -u alice "squashfuse|berth-start"); do
    sed -n "$1" /proc/$pid/status; done' bash "$allowed")
go
wait
equal "the task runs on a CPU of the job" "a 1 ready" "$(paste -sd' ' "$work/live")"
equal "the image is served, and the step supervised, on the system's CPU" "0 0" \
    "$(paste -sd' ' <<<"$served")"
nothing_left
finish

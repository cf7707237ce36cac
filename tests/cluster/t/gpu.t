#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# --container-gpu: the driver of the GPUs that Slurm gives to a step. The nodes have two GPUs
# in the eyes of Slurm (lib/slurmconf.sh); here n1 gets the device and a library of NVIDIA's
# driver, n2 the device of AMD's, and the runtime writes down how it was started.

# shellcheck disable=SC2016 # words for other shells
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images a mpich

gpu_add || exit 1
spoil n2 "mknod -m 666 /dev/kfd c 1 3" "rm -f /dev/kfd" || exit 1

# What a user has in front of the real runtime.
alice mkdir -p gpu-bin
script "gpu-bin/$runtime_name" <<END
#!/bin/sh
echo "\$*" >>"\$HOME/runtime.log"
exec $runtime "\$@"
END

A=--container-image=/images/a.sif

# step ARGS...: with that runtime.
step() { alice bash -c 'rm -f runtime.log; PATH=$HOME/gpu-bin:$PATH exec srun "$@"' srun "$@" 2>&1; }

# flag TITLE EXPECTED ARGS...: whose driver the runtime was told to bring.
flag() {
    step "${@:3}" "$A" true >/dev/null
    equal "$1" "$2" \
        "$(alice cat runtime.log | grep -q -- ' exec .*/images/a.sif' && alice cat runtime.log | grep -oE -- ' --(nv|rocm) ' | tr -d ' ')"
}

flag "a step with GPUs gets the driver, without an option" --nv -w n1 --gres=gpu:1
flag "GPUs for each task are GPUs of the step" --nv -w n1 -n2 --gpus-per-task=1
flag "a step without GPUs gets none" "" -w n1
flag "none brings none" "" -w n1 --gres=gpu:1 --container-gpu=none
flag "the node's own driver is taken" --rocm -w n2 --gres=gpu:1
explained() { alice srun "$@" "$A" --container-explain true | sed -n 's/^  devices: //p'; }
equal "the account tells that GPUs of the step bring the driver" \
    "GPU driver (--nv): there are GPUs for it, and /dev/nvidiactl" "$(explained -w n1 --gres=gpu:1)"
equal "and why there is none" "no GPU driver: the step has no GPUs on this node" "$(explained -w n1)"
flag "a node without a driver has none to bring" "" -w n3 --gres=gpu:1
flag "a driver can be named where Slurm gives no GPU" --nv -w n1 --container-gpu=nvidia
equal "a driver that the node does not have is one line" \
    "berth: n3: --container-gpu=nvidia: this host has no NVIDIA driver (there is no /dev/nvidiactl); ask for a node that has one, or leave the option out" \
    "$(step -w n3 -n2 --gres=gpu:2 --container-gpu=nvidia "$A" true | grep -v '^srun: ')"
matches "device and library are in the container, and the tasks find them" \
    $'^/dev/nvidiactl\n/[.]singularity[.]d/libs/libcuda[.]so[.]1\n[^\n]*/[.]singularity[.]d/libs' \
    "$(step -w n1 --gres=gpu:1 "$A" sh -c 'ls /dev/nvidiactl; ls /.singularity.d/libs/libcuda.so.1; echo "$LD_LIBRARY_PATH"' | grep -v '^srun: ')"
for export in ALL NONE; do
    equal "--export=$export: in one container each task sees its own GPU" $'0 0 0 0\n1 1 1 1' \
        "$(step --export=$export -w n1 -n2 --gpus-per-task=1 "$A" \
            sh -c 'echo $SLURM_STEP_GPUS $CUDA_VISIBLE_DEVICES $ROCR_VISIBLE_DEVICES $SLURM_PROCID' | sort)"
done

# The host's MPI as it is with CUDA: it needs the driver.
file='file=$(readlink -f /usr/lib/x86_64-linux-gnu/libmpich.so.12)'
spoil n1 "$file; cp -p \$file /root/libmpich && patchelf --add-needed libcuda.so.1 \$file && ldconfig" \
    "$file; mv /root/libmpich \$file; ldconfig" || exit 1
matches "the host's MPI finds the driver that the runtime brings" 'rank 0 of 2 .*4[.]2[.]1.*ring of 2 passed' \
    "$(step -w n1 -n2 --mpi=pmi2 --gres=gpu:1 --container-image=/images/mpich.sif --mpi-bind=host mpiring | sort | tr '\n' ' ')"
matches "without the driver it is refused, and the line names the library" 'libcuda[.]so[.]1' \
    "$(step -w n1 -n2 --mpi=pmi2 --container-image=/images/mpich.sif --mpi-bind=host mpiring)"

finish

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

# A step with that, and whose driver the runtime was told to bring.
step=(bash -c 'rm -f runtime.log; PATH=$HOME/gpu-bin:$PATH exec srun "$@"' srun)
flag="cat >/dev/null; alice cat runtime.log | grep ' exec .*/images/a.sif' |
    grep -oE -- ' --(nv|rocm) ' | tr -d ' '"
devices="sed -n 's/^  devices: //p'"

try "a step with GPUs gets the driver, without an option" --nv "$flag" \
    -- "${step[@]}" -w n1 --gres=gpu:1 "$A" true
try "GPUs for each task are GPUs of the step" --nv "$flag" \
    -- "${step[@]}" -w n1 -n2 --gpus-per-task=1 "$A" true
try "a step without GPUs gets none" "" "$flag" -- "${step[@]}" -w n1 "$A" true
try "none brings none" "" "$flag" -- "${step[@]}" -w n1 --gres=gpu:1 --container-gpu=none "$A" true
try "the node's own driver is taken" --rocm "$flag" -- "${step[@]}" -w n2 --gres=gpu:1 "$A" true
try "the account tells that GPUs of the step bring the driver" \
    "GPU driver (--nv): there are GPUs for it, and /dev/nvidiactl" "$devices" \
    -- srun -w n1 --gres=gpu:1 "$A" --container-explain true
try "and why there is none" "no GPU driver: the step has no GPUs on this node" "$devices" \
    -- srun -w n1 "$A" --container-explain true
try "a node without a driver has none to bring" "" "$flag" \
    -- "${step[@]}" -w n3 --gres=gpu:1 "$A" true
try "a driver can be named where Slurm gives no GPU" --nv "$flag" \
    -- "${step[@]}" -w n1 --container-gpu=nvidia "$A" true
try "a driver that the node does not have is one line" \
    "berth: n3: --container-gpu=nvidia: this host has no NVIDIA driver (there is no /dev/nvidiactl);
        ask for a node that has one, or leave the option out${nl}status 1" -- \
    "${step[@]}" -w n3 -n2 --gres=gpu:2 --container-gpu=nvidia "$A" true
try "device and library are in the container, and the tasks find them" \
    $'~^/dev/nvidiactl\n/[.]singularity[.]d/libs/libcuda[.]so[.]1\n[^\n]*/[.]singularity[.]d/libs' \
    -- \
    "${step[@]}" -w n1 --gres=gpu:1 "$A" sh -c \
    'ls /dev/nvidiactl; ls /.singularity.d/libs/libcuda.so.1; echo "$LD_LIBRARY_PATH"'
for export in ALL NONE; do
    try "--export=$export: in one container each task sees its own GPU" $'0 0 0 0\n1 1 1 1' sort \
        -- \
        "${step[@]}" --export=$export -w n1 -n2 --gpus-per-task=1 "$A" \
        sh -c 'echo $SLURM_STEP_GPUS $CUDA_VISIBLE_DEVICES $ROCR_VISIBLE_DEVICES $SLURM_PROCID'
done

# The host's MPI as it is with CUDA: it needs the driver.
file='file=$(readlink -f /usr/lib/x86_64-linux-gnu/libmpich.so.12)'
spoil n1 "$file; cp -p \$file /root/libmpich && patchelf --add-needed libcuda.so.1 \$file &&
    ldconfig" \
    "$file; mv /root/libmpich \$file; ldconfig" || exit 1
step+=(-w n1 -n2 --mpi=pmi2 --container-image=/images/mpich.sif --mpi-bind=host)
try "the host's MPI finds the driver that the runtime brings" \
    '~rank 0 of 2 .*4[.]2[.]1.*ring of 2 passed' sort -- "${step[@]}" --gres=gpu:1 mpiring
try "without the driver it is refused, and the line names the library" '~libcuda[.]so[.]1.*status' \
    -- "${step[@]}" mpiring

finish

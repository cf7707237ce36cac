#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Devices by their CDI names: what a specification on a node says comes into a container by
# --container-device, by the step's GPUs, by the site and by a profile. n1 and n2 have two GPUs
# in the eyes of Slurm, and n1 files like those of NVIDIA's driver; n3 has no specification.

# shellcheck disable=SC2016 # words for other shells
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images mpich

clean_up() {
    local host
    for host in n1 n2; do
        on $host root rm -rf /etc/cdi /run/cdi /opt/gpu /dev/gpu0 /dev/gpu1 /dev/gpuctl
    done
    on n1 root rm -rf /etc/slurm/profiles.d/cdi.yaml
    site </dev/null
}
trap clean_up EXIT

# A library whose links ldconfig would make, as the driver's, and a hook that nobody knows.
on n1 root bash -c 'mkdir -p /etc/cdi /run/cdi /opt/gpu/lib /opt/gpu/secret
    cp "$(readlink -f /usr/lib/x86_64-linux-gnu/libz.so.1)" /opt/gpu/lib/libgpu.so.5.1
    ln -s libgpu.so.5.1 /opt/gpu/lib/libgpu.so.5
    echo settings >/opt/gpu/settings; echo secret >/opt/gpu/secret/file
    for it in gpu0 gpu1 gpuctl; do mknod -m 666 /dev/$it c 1 3; done' || exit 1
node_file n1 /etc/cdi/gpu.json <<'JSON'
{
	"cdiVersion": "0.6.0", "kind": "vendor.com/gpu",
	"devices": [
		{"name": "0", "containerEdits": {"env": ["GPU_0=yes"], "deviceNodes": [{"path": "/dev/gpu0"}]}},
		{"name": "1", "containerEdits": {"env": ["GPU_1=yes"], "deviceNodes": [{"path": "/dev/gpu1"}]}},
		{"name": "all", "containerEdits": {"env": ["GPU_ALL=yes"], "deviceNodes": [{"path": "/dev/gpu0"}, {"path": "/dev/gpu1"}]}},
		{"name": "gone", "containerEdits": {"deviceNodes": [{"path": "/dev/gpu7"}]}}
	],
	"containerEdits": {
		"env": ["GPU_VISIBLE=void"],
		"deviceNodes": [{"path": "/dev/gpuctl"}, {"path": "/dev/renamed", "hostPath": "/dev/gpuctl"}],
		"mounts": [
			{"hostPath": "/opt/gpu/lib/libgpu.so.5.1", "containerPath": "/usr/lib64/libgpu.so.5.1", "options": ["ro", "nosuid", "bind"]},
			{"hostPath": "/opt/gpu/settings", "containerPath": "/etc/gpu/settings", "options": ["ro", "rbind"]}
		],
		"hooks": [
			{"hookName": "createContainer", "path": "/usr/bin/nvidia-cdi-hook", "args": ["nvidia-cdi-hook", "update-ldcache", "--folder", "/usr/lib64"]},
			{"hookName": "createContainer", "path": "/usr/bin/nvidia-cdi-hook", "args": ["nvidia-cdi-hook", "create-symlinks", "--link", "libgpu.so.5::/usr/lib64/libgpu.so"]},
			{"hookName": "createContainer", "path": "/opt/gpu/setup", "args": ["setup"]}
		],
		"additionalGids": [44]
	}
}
JSON

image=--container-image=/images/mpich.sif
step() { alice srun -w n1 "$image" "$@" 2>&1 | grep -v '^srun: '; }
note="berth: n1: note: image '/images/mpich.sif': devices ask for what is not done: the device '/dev/renamed' (/etc/cdi/gpu.json), the hook 'setup' (/etc/cdi/gpu.json), the additional group '44' (/etc/cdi/gpu.json)"

equal "variables, device nodes and mounts come by name, and the note names what does not" "$note
void yes
opened
settings" "$(step --container-device=vendor.com/gpu=0 \
    sh -c 'echo $GPU_VISIBLE $GPU_0; exec 3<>/dev/gpu0 4<>/dev/gpuctl && echo opened; cat /etc/gpu/settings')"
equal "device nodes come into a /dev of the container's own, too" $'/dev/gpu0\n/dev/gpuctl\nopened' \
    "$(step --container-device=vendor.com/gpu=0 --container-args=--contain \
        sh -c 'ls /dev/gpu*; exec 3<>/dev/gpu0 4<>/dev/gpuctl && echo opened' | grep -v ^berth:)"
equal "the loader finds a library by the names that ldconfig and a hook would make" \
    $'libgpu.so\nlibgpu.so.5\nlibgpu.so.5.1\nit is loaded' "$(step --container-device=vendor.com/gpu=0 \
        sh -c 'ls /.singularity.d/libs; LD_PRELOAD="libgpu.so libgpu.so.5" sh -c "echo it is loaded"' | grep -v ^berth:)"
equal "one line from a node, whatever the number of tasks" "$note" \
    "$(step -n3 --container-device=vendor.com/gpu=0 true)"
matches "a device that no specification has is one line" \
    "^berth: n1: --container-device: 'vendor.com/gpu=2': no specification in /etc/cdi or /var/run/cdi has it; choose one that 'berth doctor' lists on the node\$" \
    "$(step -n2 --container-device=vendor.com/gpu=2 true)"
matches "one whose file is gone, too" \
    "^berth: n1: --container-device: 'vendor.com/gpu=gone': '/dev/gpu7' of /etc/cdi/gpu.json: No such file or directory; write the specification anew on this node\$" \
    "$(step --container-device=vendor.com/gpu=gone true)"
equal "where the runtime leaves /dev out, the note says so" "$note, the devices in /dev, which --no-mount of the runtime leaves out" \
    "$(step --container-device=vendor.com/gpu=0 --container-args='--no-mount dev,tmp' true)"
matches "JSON says not_done as the text does" '"not_done": .[^]]*/dev/renamed' \
    "$(step --container-device=vendor.com/gpu=0 --container-explain=json true)"
explained=$(step --container-device=vendor.com/gpu=0 --container-explain true)
matches "the account names the device, its file and what is not done" \
    $'\n  device       vendor.com/gpu=0 \\(/etc/cdi/gpu.json\\)\n  not done     the device ./dev/renamed. \\(/etc/cdi/gpu.json\\)\n' "$explained"
matches "and the reason for each mount" \
    $'site: the CDI device vendor.com/gpu=0 \\(/etc/cdi/gpu.json\\)\n    /opt/gpu/lib/libgpu.so.5.1 -> /usr/lib64/libgpu.so.5.1 \\(ro\\)\n' "$explained"
matches "and for each variable" 'GPU_0=yes' "$explained"

# Two devices that set one variable or mount at one place; and a large specification.
node_file n1 /run/cdi/two.yaml <<'YAML'
cdiVersion: 0.6.0
kind: vendor.com/two
containerEdits: {env: [SEEN=void]}
devices:
- name: none
  containerEdits: {mounts: [{hostPath: /opt/gpu/settings, containerPath: /opt/seen}]}
- name: x
  containerEdits: {env: [SEEN=x]}
- name: y
  containerEdits: {env: [SEEN=y], mounts: [{hostPath: /opt/gpu/secret/file, containerPath: /opt/seen}]}
YAML
two() {
    equal "$1" "$2" "$(step --container-device="$3" sh -c 'echo $SEEN $(cat /opt/seen)' | grep -v ^berth:)"
}
two "what a file has for all its devices comes before these" "x settings" vendor.com/two=x,vendor.com/two=none
two "the later of two devices wins" "y secret" vendor.com/two=none,vendor.com/two=x,vendor.com/two=y
two "... whatever came before" "x settings" vendor.com/two=y,vendor.com/two=x,vendor.com/two=none
two "... and one that is named again is not another" "x secret" vendor.com/two=y,vendor.com/two=x,vendor.com/two=y
on n1 root bash -c '{ printf "cdiVersion: 0.6.0\nkind: vendor.com/mig\ndevices:\n"
    for i in {1..4000}; do printf -- "- {name: \"%d\", containerEdits: {env: [MIG=%d], deviceNodes: [{path: /dev/gpu0}]}}\n" $i $i; done
    } >/run/cdi/mig.yaml'
equal "a large specification is read" 4000 "$(step --container-device=vendor.com/mig=4000 sh -c 'echo $MIG')"
on n1 root rm -f /run/cdi/two.yaml /run/cdi/mig.yaml

# A runtime that is not where packages put it is asked for its configuration.
on login alice mkdir -p cdi-bin
script "cdi-bin/$runtime_name" <<END
#!/bin/sh
echo "\$1" >>/home/alice/runtime.log # HOME is not set for questions
exec $runtime "\$@"
END
asked() {
    equal "$1" "$note 1" "$(alice bash -c 'rm -f runtime.log; PATH=$HOME/cdi-bin:$PATH srun "$@" true 2>&1 | grep -v ^srun:; grep -c buildcfg runtime.log' - \
        -w n1 "$image" --container-device=vendor.com/gpu=0 | paste -sd' ')"
}
asked "the runtime is asked for its configuration once"
if [[ $share == auto ]]; then
    echo 'runtime: {share: never}' | site
    asked "... also where a task has a container of its own"
    site </dev/null
fi

# GPUs.
site <<'YAML'
cdi:
  gpus: [vendor.com/gpu, amd.com/gpu]
YAML
seen='echo ${GPU_0:-no} ${GPU_1:-no} ${GPU_ALL:-no}'
gpus() { step "$@" sh -c "$seen" | grep -v ^berth: | sort -u; }
equal "the step's GPU is a device" "yes no no" "$(gpus --gres=gpu:1)"
equal "its GPUs are devices" "yes yes no" "$(gpus -n2 --gres=gpu:2)"
if [[ $share == auto ]]; then
    equal "tasks with a GPU each share a container with all" "no no yes" "$(gpus -n2 --gpus-per-task=1)"
fi
equal "a step without GPUs has none" "no no no" "$(gpus)"
equal "nor with off" "no no no" "$(gpus --gres=gpu:1 --container-gpu=off)"
matches "the account says why" 'GPU +vendor.com/gpu \(--container-gpu=auto: there are GPUs for it, and a specification of them\)' \
    "$(step --gres=gpu:1 --container-explain true)"
equal "a node without a specification goes by its driver" "" \
    "$(alice srun -w n2 "$image" --gres=gpu:1 true 2>&1 | grep -v '^srun: ')"

doctor=$(on n1 root berth doctor 2>&1; on n2 root berth doctor 2>&1)
matches "berth doctor compares GPUs with Slurm's: none" \
    'note +devices by CDI: Slurm has Gres=gpu:2 here, and no specification has devices of cdi.gpus .vendor.com/gpu, amd.com/gpu.' "$doctor"
equal "... and says nothing where they are the same" 1 "$(grep -c 'Slurm has' <<<"$doctor")"
on n1 root bash -c 'sed "/gone/d; s/\"name\": \"1\"/\"name\": \"2\"/" /etc/cdi/gpu.json >/run/cdi/gpu.json; mv /etc/cdi/gpu.json /root/gpu.json'
doctor=$(on n1 root berth doctor 2>&1)
matches "... one that Slurm has alone" "note +devices by CDI: Slurm has Gres=gpu:2 here, and no specification has 'vendor.com/gpu=1'" "$doctor"
on n1 root bash -c 'mv /root/gpu.json /etc/cdi/gpu.json; rm /run/cdi/gpu.json'

# What the site and a profile name is left out where it is not.
site <<'YAML'
cdi:
  default: [vendor.com/gpu=1, vendor.com/net=all]
YAML
equal "the site's devices come into every container" "no yes no" "$(gpus)"
equal "and a node that has none runs without" "no no no" "$(alice srun -w n2 "$image" sh -c "$seen" 2>&1 | grep -v '^srun: ')"
doctor=$(on n1 root berth doctor 2>&1)
matches "berth doctor lists devices" 'ok +devices by CDI: vendor.com/gpu=0, vendor.com/gpu=1' "$doctor"
matches "and names that no specification has" "devices by CDI: cdi.default names 'vendor.com/net=all', which no specification in /etc/cdi or /var/run/cdi has" "$doctor"
on n1 root bash -c 'mkdir -p /etc/slurm/profiles.d; cat >/etc/slurm/profiles.d/cdi.yaml' <<'YAML'
name: cdi
family: mpich
cdi: [vendor.com/gpu=0, vendor.com/net=all]
YAML
site </dev/null
equal "a profile's devices come with its MPI" "yes no no" "$(gpus --mpi=pmi2 --mpi-bind=cdi)"
on n1 root rm -f /etc/slurm/profiles.d/cdi.yaml

# What a site forbids stays so, and only root says what a device is.
site <<'YAML'
mounts:
  forbidden: [/opt/gpu]
YAML
matches "a user's device does not bring what the site forbids" \
    "^berth: n1: --container-device: mount '/opt/gpu/lib/libgpu.so.5.1:/usr/lib64/libgpu.so.5.1:ro': this site forbids '/opt/gpu'" \
    "$(step --container-device=vendor.com/gpu=0 true)"
site </dev/null
on n1 root bash -c 'sed "s/GPU_0=yes/GPU_0=new/" /etc/cdi/gpu.json >/run/cdi/gpu.json'
equal "/var/run/cdi wins" "new no no" "$(gpus --container-device=vendor.com/gpu=0)"
on n1 root chmod o+w /run/cdi/gpu.json
matches "what others could have written is not read" \
    "^berth: n1: --container-device: 'vendor.com/net=1': no specification in /etc/cdi or /var/run/cdi has it, and one cannot be used: /var/run/cdi/gpu.json: 'gpu.json' can be written by others [(]mode 0646[)]; chmod go-w\$" \
    "$(step --container-device=vendor.com/net=1 true)"
equal "a specification that can be used is" "yes no no" "$(gpus --container-device=vendor.com/gpu=0)"
equal "a name that is none is refused by srun" \
    "srun: error: --container-device: expected the name of a device like nvidia.com/gpu=all, got 'gpu0'" \
    "$(alice srun "$image" --container-device=gpu0 true 2>&1 | grep -o 'srun: error: .*gpu0.' | sed 's/berth: //')"

finish

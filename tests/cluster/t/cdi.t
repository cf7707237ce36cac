#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Devices by their CDI names: a runtime that has --device gets them, another one is refused, and
# a site may forbid them. Debian's runtime has no such flag; a script before it says that it has.

# shellcheck disable=SC2016 # words for other shells
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images a

clean_up() {
    on login alice rm -rf cdi-bin runtime.log
    site </dev/null
}
trap clean_up EXIT

image=--container-image=/images/a.sif
device=--container-gpu=vendor.com/gpu=0,vendor.com/net=all
step() { alice srun -w n1 "$image" "$@" 2>&1 | grep -v '^srun: '; }

if ! on n1 alice "$runtime" exec --help | grep -q ' --device '; then
    equal "a runtime without --device is refused" \
        "berth: n1: --container-gpu: 'vendor.com/gpu=0': the container runtime '$runtime' has no --device; it takes Apptainer 1.5 or newer" \
        "$(step $device true)"
fi

on login alice bash -c 'mkdir -p cdi-bin; rm -f runtime.log'
script "cdi-bin/$runtime_name" <<END
#!/bin/bash
if [[ "\$*" == "exec --help" ]]; then
    echo "      --device strings   CDI devices"
    exit
fi
words=()
for word in "\$@"; do
    [[ \$word == --device=* ]] && echo "\$word" >>/home/alice/runtime.log || words+=("\$word")
done
exec $runtime "\${words[@]}"
END
with() { alice env PATH="/home/alice/cdi-bin:/usr/bin:/bin" srun -w n1 "$image" "$@" 2>&1 | grep -v '^srun: '; }
equal "a runtime that has it is started once for a node's tasks" "a a a" \
    "$(with -n3 $device cat /etc/berth-image | paste -sd' ')"
equal "with each device" "--device=vendor.com/gpu=0 --device=vendor.com/net=all" \
    "$(on login alice paste -sd' ' runtime.log)"
matches "the account has the devices" '--device=vendor.com/gpu=0.*--device=vendor.com/net=all.*--container-gpu: vendor.com/gpu=0,vendor.com/net=all' \
    "$(with $device --container-explain=all true)"
matches "so has JSON" '"vendor.com/gpu=0,vendor.com/net=all"' \
    "$(with $device --container-explain=json true)"

site <<'YAML'
mounts:
  forbidden: [/opt/gpu]
YAML
matches "a site that restricts mounts takes none" \
    "--container-gpu: 'vendor.com/gpu=0': this site restricts mounts, and berth does not see what a device mounts; leave it out" \
    "$(alice srun -w n1 "$image" $device true 2>&1)"
site <<'YAML'
mounts:
  forbidden: [/opt/gpu]
rules:
- force: {container-gpu: vendor.com/net=all}
YAML
on login alice rm -f runtime.log
equal "a rule of the site's may bring one" "a --device=vendor.com/net=all" \
    "$(with cat /etc/berth-image) $(on login alice cat runtime.log)"
site </dev/null
equal "what is no name of a device is refused by srun" \
    "srun: error: --container-gpu: 'gpu0' is not a kind of GPU; expected auto, nvidia, rocm, none, or the name of a device like nvidia.com/gpu=all" \
    "$(alice srun "$image" --container-gpu=gpu0 true 2>&1 | grep -o 'srun: error: .*' | sed 's/berth: //')"

finish

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Devices by their CDI names: a runtime that has --device gets them, another one is refused, and
# a site may forbid them. Debian's runtime has no such flag; a script before it says that it has.

# shellcheck disable=SC2016 # words for other shells
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images a

at_exit 'on login alice rm -rf cdi-bin runtime.log'

image=--container-image=/images/a.sif
device=--container-gpu=vendor.com/gpu=0,vendor.com/net=all
step=(srun -w n1 "$image")

if ! on n1 alice "$runtime" exec --help | grep -q ' --device '; then
    try "a runtime without --device is refused" \
        "berth: n1: --container-gpu: 'vendor.com/gpu=0': the container runtime '$runtime' has no
            --device; it takes Apptainer 1.5 or newer${nl}status 1" -- \
        "${step[@]}" $device true
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
with=(env PATH=/home/alice/cdi-bin:/usr/bin:/bin "${step[@]}")
try "a runtime that has it is started once for a node's tasks" $'a\na\na' \
    -- "${with[@]}" -n3 $device cat /etc/berth-image
equal "with each device" "--device=vendor.com/gpu=0 --device=vendor.com/net=all" \
    "$(on login alice paste -sd' ' runtime.log)"
try "the account has the devices" \
    "~--device=vendor.com/gpu=0.*--device=vendor.com/net=all.*--container-gpu:
        vendor.com/gpu=0,vendor.com/net=all" -- \
    "${with[@]}" $device --container-explain=all true

site <<'YAML'
mounts:
  forbidden: [/opt/gpu]
YAML
try "a site that restricts mounts takes none" \
    "~--container-gpu: 'vendor.com/gpu=0': this site restricts mounts, and takes them from
        --container-mounts only; leave it out.*status 1" -- \
    "${step[@]}" $device true
site <<'YAML'
mounts:
  forbidden: [/opt/gpu]
rules:
- force: {container-gpu: vendor.com/net=all}
YAML
on login alice rm -f runtime.log
try "a rule of the site's may bring one" $'a\n--device=vendor.com/net=all' \
    -- "${with[@]}" sh -c 'cat /etc/berth-image ~/runtime.log'
site </dev/null

finish

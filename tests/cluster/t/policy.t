#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a site allows, forces and forbids in berth.yaml, and how a user may try to get round it.

# shellcheck disable=SC2016 # words for other shells
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images a b
trap 'site </dev/null' EXIT

# said TITLE PATTERN OPTION... COMMAND...: what a step on n1 says or prints.
said() {
    matches "$1" "$2" "$(alice srun -w n1 -N1 "${@:3}" 2>&1 </dev/null)"
}

# refused TITLE SENTENCE OPTION...: a step on n1 that must not run.
refused() {
    local out
    out=$(alice srun -w n1 -N1 "${@:3}" sh -c 'echo r''an' 2>&1 </dev/null && echo "ended well")
    matches "$1" "$2" "$out"
    [[ $out != *ran* && $out != *"ended well"* ]] || result FAIL "$1: nothing runs" "$out"
}

image=--container-image=/images/a.sif
alice cp /images/a.sif mine.sif
alice ln -sf /home/alice/mine.sif link.sif

site <<'YAML'
images:
  roots: [/images]
YAML
only="this site allows images in /images only"
said "roots: an image of the site" '^a$' "$image" cat /etc/berth-image
refused "roots: an image of the user's" "$only" --container-image=mine.sif
refused "roots: a way out with .." "$only" --container-image=/images/../home/alice/mine.sif
refused "roots: a link to the user's" "$only" --container-image=link.sif
refused "roots: in the second component" "$only" "$image" true : -w n2 -N1 --container-image=mine.sif
matches "roots: a default of the environment" "$only" \
    "$(alice env BERTH_CONTAINER_IMAGE=/home/alice/mine.sif srun -w n1 -N1 cat /etc/berth-image 2>&1)"
matches "roots: a step variable that is forged" '^n1$' \
    "$(alice env "SLURM_BERTH_STEP=1;*:image=/home/alice/mine.sif;." srun -w n1 -N1 hostname 2>&1)"

# The runtime of this site finds another file under the name that was looked at.
on login alice bash -c 'mkdir -p roots; cat >exchange; chmod +x exchange' <<'SH'
#!/bin/sh
case "$*" in
*/home/alice/roots/x.sif*) cp /home/alice/mine.sif roots/y.sif
    mv roots/y.sif roots/x.sif ;;
esac
exec apptainer "$@"
SH
for way in auto never; do
    share "$way"
    site <<'YAML'
runtime:
  path: /home/alice/exchange
images:
  roots: [/images, /home/alice/roots]
YAML
    alice cp mine.sif roots/x.sif
    said "exchange, share: $way: an image that stays" '^a$' "$image" cat /etc/berth-image
    refused "exchange, share: $way: another file at the time of the start" \
        "it was exchanged while the step started" --container-image=/home/alice/roots/x.sif
done
share setuid
site <<'YAML'
images:
  roots: [/images]
YAML
said "roots: with a setuid runtime" '^a$' "$image" cat /etc/berth-image
refused "roots: with a setuid runtime, the user's" "$only" --container-image=mine.sif
share "$share"

site <<'YAML'
images:
  owners: [root]
YAML
said "owners: root's" '^a$' "$image" cat /etc/berth-image
refused "owners: the user's" "belongs to alice .*images of root only" --container-image=mine.sif

site <<'YAML'
images:
  signatures: [0123456789ABCDEF0123456789ABCDEF01234567]
YAML
refused "signatures: an image without" "sign" "$image"

site <<'YAML'
mounts:
  forced: [/usr/share:/site:ro]
  default: [/srv, /nowhere]
  forbidden: [/etc/slurm]
YAML
forbids="this site forbids '/etc/slurm'"
alice ln -sfn /etc/slurm hidden
said "mounts: the site's are there" 'yes' "$image" sh -c 'test -d /site/doc && test -d /srv && echo yes'
refused "mounts: forbidden" "$forbids" "$image" --container-mounts=/etc/slurm:/s
refused "mounts: what is in it" "$forbids" "$image" --container-mounts=/etc/slurm/slurm.conf:/s
refused "mounts: what holds it" "$forbids" "$image" --container-mounts=/etc:/s
refused "mounts: a link to it" "$forbids" "$image" --container-mounts=/home/alice/hidden:/s
refused "mounts: by a flag of the runtime" "berth: " "$image" --container-args=--bind=/etc/slurm:/s
refused "mounts: at the place of the site's" "berth: " "$image" --container-mounts=/tmp:/site
matches "mounts: by a variable of the runtime" "$forbids" \
    "$(alice env APPTAINER_BIND=/etc/slurm:/s srun -w n1 -N1 "$image" ls /s 2>&1)"

site <<'YAML'
runtime:
  raw_args: [--cleanenv]
environment:
  set: [SITE=yes]
  unset: [EDITOR]
rules:
  - partition: main
    options: {container-env: "RULE=main"}
  - account: physics
    options: {container-env: "RULE=physics"}
YAML
matches "environment: set, unset, and a rule for the partition" '^yes  main$' \
    "$(alice env EDITOR=vi srun -w n1 -N1 "$image" sh -c 'echo "$SITE $EDITOR $RULE"' 2>&1)"
said "a rule goes before the user" '^main$' "$image" --container-env=RULE=mine sh -c 'echo $RULE'
matches "a rule asks Slurm, not the environment" '^main$' \
    "$(alice env SLURM_JOB_PARTITION=x srun -w n1 -N1 "$image" sh -c 'echo $RULE' 2>&1)"
said "a rule for each component" 'main.*main' "$image" sh -c 'echo $RULE' : -w n2 -N1 "$image" sh -c 'echo $RULE'
refused "raw_args: another flag behind an allowed one" "does not allow it" "$image" \
    --container-args='--cleanenv --bind /etc'

finish

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# crun-bundle, as berth-oci starts it for an OCI bundle: the config.json that crun gets, with
# programs in the place of unshare, mount and crun. Speaks TAP.
# shellcheck disable=SC2016 # words for other shells

source=$(cd "${srcdir:-.}" && pwd)
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
python=$(python3 -c 'import sys; print(sys.executable)') || {
    skip 'crun-bundle' 'there is no python3'
    finish
    exit
}
mkdir -p path bundle mapped broken empty spool/task-0
printf '#!/bin/sh\nuntil [ "$1" = -- ]; do shift; done\nshift\nexec "$@"\n' >path/unshare
printf '#!/bin/sh\n' >path/mount
printf '#!/bin/sh\necho "$*"\nexec "%s" "%s/show.py"\n' "$python" "$T" >path/crun
cat >show.py <<'SHOW'
import json, os
config = json.load(open("config.json"))
os.unlink("config.json")
print(config["process"]["args"], config["process"]["terminal"], config["root"]["path"])
print([it for it in sorted(config["process"]["env"]) if it.startswith("MARK")])
print([it["destination"] for it in config.get("mounts", [])], config.get("linux"))
SHOW
chmod +x path/*
echo '{"process": {"args": ["sh"], "env": ["MARK2=of the bundle"]}, "root": {"path": "rootfs"}}' \
    >bundle/config.json
echo '{"process": {"args": ["sh"]}, "root": {"path": "/root"},
    "mounts": [{"destination": "/proc"}],
    "linux": {"uidMappings": [{"containerID": 5, "hostID": '"$(id -u)"', "size": 1}],
    "gidMappings": [{"containerID": 6, "hostID": 77777, "size": 1}]}}' \
    >mapped/config.json
echo '{"process": ' >broken/config.json
echo '{}' >empty/config.json

start()
{
    env PATH="$T/path:$PATH" SLURMD_NODENAME=n1 MARK1='of the task' MARK2='of the task' \
        "$@" </dev/null
}
# bundle BUNDLE COMMAND...: of a task.
bundle()
{
    start SLURM_STEP_ID=0 "$python" "$source/share/berth/crun-bundle" spool/task-0/environment "$@"
}

crun='--root=T/spool/task-0/state --cgroup-manager=disabled run --bundle=T/spool/task-0 task'
expect 'the command and the environment of a task, and the variables of the bundle' 0 "$crun
['echo', \"a'b\", 'c d'] False T/bundle/rootfs
['MARK1=of the task', 'MARK2=of the bundle']
[] None" bundle bundle echo "a'b" 'c d'
expect 'the user is root outside of the bundle' 0 "$crun
['x'] False /root
['MARK1=of the task', 'MARK2=of the task']
['/proc'] {'uidMappings': [{'containerID': 5, 'hostID': 0, 'size': 1}], 'gidMappings':
        [{'containerID': 6, 'hostID': 77777, 'size': 1}]}" \
    bundle mapped x
for step in UNUSED=1 SLURM_STEP_ID=-5 SLURM_STEP_ID=4294967291; do
    expect 'a batch script is mounted: '"$step" 0 "$crun
['/spool/slurm_script', 'x'] False T/bundle/rootfs
['MARK1=of the task', 'MARK2=of the bundle']
['/spool/slurm_script'] None" \
    start "$step" "$python" "$source/share/berth/crun-bundle" spool/task-0/environment bundle \
    /spool/slurm_script x
done
expect 'a config.json that is cut' 1 \
    "berth: n1: 'T/broken/config.json': Expecting value: line 2 column 1 (char 13)" bundle broken x
expect 'a config.json of something else' 1 \
    "berth: n1: 'T/empty/config.json': it is not the configuration of an OCI bundle;
        KeyError('process')" \
    bundle empty x
rm path/crun
says 'no crun' 1 "berth: n1: '$T/bundle' is an OCI bundle; there is no crun in PATH" \
    start PATH="$T/path" "$python" "$source/share/berth/crun-bundle" spool/task-0/environment \
    bundle x

finish

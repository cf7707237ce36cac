#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# On a cluster with PrologFlags=Contain: squashfs files as enroot makes them, which pyxis runs.
# Each is
# an image wherever a SIF file is one: variables in /etc/environment, entry point in /etc/rc, MPI,
# the container of a job, berth save, berth run, several on a node, a site that restricts images.
# And
# the working directory of tasks in these and in images of a registry.

# shellcheck disable=SC2016 # words for other shells
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/mpiruns.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/registry.sh"

need_images a b mpibookworm
at_exit 'on login alice scancel -u alice
    on login alice sh -c "chmod -R u+w sqsh 2>/dev/null; rm -rf sqsh wd"'

# pack_enroot FROM.sif TO.sqsh ENVIRONMENT WORKDIR ENTRYPOINT: the tree of an image without what a
# runtime has
# put in, and with the two files that enroot's `import` writes (docker::configure in its
# src/docker.sh). ENVIRONMENT "": without them. Like enroot, it does
# not compress the data, which would take minutes.
pack_enroot() {
    on login alice bash -ec 'cd; mkdir -p sqsh; chmod -R u+w sqsh/tree 2>/dev/null || true
        rm -rf sqsh/tree
        offset=$('"$runtime"' sif list "$1" | sed -n "s/^.*|\([0-9]*\)-[0-9]* *|FS (Squashfs.*/\1/p")
        # Devices need root.
        unsquashfs -n -o "$offset" -d sqsh/tree "$1" >/dev/null 2>&1 || [ -d sqsh/tree/etc ]
        cd sqsh/tree; chmod -R u+w .
        rm -rf .singularity.d singularity environment .exec .run .shell .test
        rm -f etc/environment etc/rc
        if [ "$3" ]; then
            printf "%b\n" "$3" >etc/environment
            cat >etc/rc <<END
# enroot-provenance: docker://registry.test/$2:1
# maintainer nobody

mkdir -p "$4" 2> /dev/null
cd "$4" && unset OLDPWD || exit 1

if [ -s /etc/rc.local ]; then
    . /etc/rc.local
fi

if [ \$# -gt 0 ]; then
    exec $5 "\$@"
else
    exec $5 '"'/bin/sh'"'
fi
END
            : >etc/rc.local; mkdir -p ".$4"
        fi
        rm -f "$2"; mksquashfs . "$2" -noD -all-root -quiet -no-progress -noappend >/dev/null' \
        sh "$1" "/home/alice/sqsh/$2" "$3" "${4-}" "${5-}"
}
odd='PATH=/opt/conda/bin:/usr/local/bin:/usr/bin:/bin\nCUDA_VERSION=12.3\nLD_LIBRARY_PATH=/opt/lib\nODD=it'"'"'s "$HOME" `id` *\nQUOTED="a b"\nHOME=/root\n# no=variable\nLAST=1'
pack_enroot /images/a.sif a.sqsh "$odd" /workspace /opt/entry &&
    on login alice bash -ec 'cd sqsh/tree; mkdir -p opt/conda/bin
        printf "#!/bin/sh\nexport ENTRY=yes\nexec \"\$@\"\n" >opt/entry
        printf "#!/bin/sh\necho conda\n" >opt/conda/bin/python
        chmod 755 opt/entry opt/conda/bin/python
        mksquashfs . ../a.sqsh -noD -all-root -quiet -no-progress -noappend >/dev/null' &&
    pack_enroot /images/b.sif plain.sqsh '' &&
    pack_enroot /images/mpibookworm.sif mpi.sqsh 'PATH=/usr/local/bin:/usr/bin:/bin\nOF_IMAGE=mpi' \
    /tmp '' || exit 1
S=--container-image=/home/alice/sqsh/a.sqsh
P=--container-image=/home/alice/sqsh/plain.sqsh
on "$nodes" root mkdir -p /srv/cwd
printf '%s\n' "0 $S pwd" "1 $S --container-workdir=/ pwd" "2 $P pwd" |
    on login alice sh -c 'cat >wd'

echo "# variables"
try "two nodes run it" $'a\na' -- srun -N2 -n2 "$S" cat /etc/berth-image
vars='printf "%s\n" "$CUDA_VERSION" "$LD_LIBRARY_PATH" "$ODD" "$QUOTED" "$HOME" "$LAST" "${PATH%%:/usr*}"; python'
image=$'12.3\n/opt/lib:/.singularity.d/libs\nit\'s "$HOME" `id` *\na b\n/home/alice\n1\n/opt/conda/bin\nconda'
try "its variables, which win over the host's" "$image" -- \
    env CUDA_VERSION=host LD_LIBRARY_PATH=/host ODD=host srun -n1 "$S" sh -c "$vars"
try "under --export=NONE" "$image" -- srun -n1 --export=NONE "$S" sh -c "$vars"
try "--container-env wins over them" "mine 12.3" -- env LAST=mine srun -n1 "$S" \
    --container-env=LAST sh -c 'echo "$LAST $CUDA_VERSION"'
try "and so does what the user gives the runtime" "mine flag" -- \
    env "${RUNTIME}ENV_LAST=mine" srun -n1 "$S" "--container-args=--env CUDA_VERSION=flag" \
    sh -c 'echo "$LAST $CUDA_VERSION"'
try "a variable of the host that the image lacks" host -- env OTHER=host srun -n1 "$S" \
    sh -c 'echo $OTHER'
try "a squashfs file without the two files" "b host" -- env CUDA_VERSION=host srun -n1 "$P" \
    sh -c 'echo "$(cat /etc/berth-image) $CUDA_VERSION"'
try "each task with a container of its own" \
    $'12.3 it\'s "$HOME" `id` *\n12.3 it\'s "$HOME" `id` *' -- \
    srun -n2 "$S" --container-args=--pid sh -c 'echo "$CUDA_VERSION $ODD"'

echo "# entry point"
try "the entry point gets the command as it is typed" $'/workspace yes\n5$ `x` "q"' -- \
    srun -n1 "$S" --container-entrypoint sh -c 'echo "$PWD $ENTRY"; echo "$0"' '5$ `x` "q"'
try "without the option the command runs alone" "no" -- srun -n1 "$S" sh -c 'echo ${ENTRY:-no}'
try "a squashfs file that has none" "~berth: n[0-9]: image '/home/alice/sqsh/plain.sqsh':
        --container-entrypoint: the image has no entry point [(]'/etc/rc'[)]; leave the option
        out.*status" -- \
    srun -n1 "$P" --container-entrypoint true
try "each task with a container of its own" "/workspace yes" -- \
    srun -n1 "$S" --container-args=--pid --container-entrypoint sh -c 'echo "$PWD $ENTRY"'

echo "# the working directory"
gone="the working directory '/home/alice' is not in the container .No such file or directory.; the
        command starts in"
try "that of an image of enroot" "/workspace /workspace" -- srun -n1 "$S" \
    sh -c 'echo "$(pwd -P) $PWD"'
try "... of each line of --multi-prog" $'/\n/home/alice\n/workspace' sort -- srun -N1 -n3 \
    --multi-prog wd
try "--container-workdir" /opt -- srun -n1 "$S" --container-workdir=/opt pwd
try "a squashfs file that names none" /home/alice -- srun -n1 "$P" pwd
try "... without the home" "~note: image '/home/alice/sqsh/plain.sqsh': $gone '/': mount
        yours.*$nl/\$" -- \
    srun -n1 "$P" --no-container-mount-home pwd
try "explain" "~working directory /home/alice of the host; .*the command starts in /workspace" \
    -- srun -n1 "$S" --container-explain true
try "a SIF file, in a directory that it lacks" "~warning: image '/images/a.sif': the working
        directory '/srv/cwd' is not in the container .*; the command starts in '/': mount yours
        .--container-mounts=/srv/cwd.*$nl/\$" -- \
    srun -n1 --container-image=/images/a.sif --chdir=/srv/cwd --container-args=--no-mount=cwd pwd
try "... once for all tasks" "1 4" 'awk "/warning/ { w++ } /^\/$/ { d++ } END { print w, d }"' -- \
    srun -N2 -n4 --container-image=/images/a.sif --chdir=/srv/cwd --container-args=--no-mount=cwd \
    pwd
try "... in one file" "~warning: image .*starts in '/'" \
    -- sh -c 'srun -n1 --container-image=/images/a.sif --chdir=/srv/cwd \
        --container-args=--no-mount=cwd pwd >one 2>&1; cat one; rm one'
try "... where the command is not found" "~warning: image .*command './app' is not in the
        image.*status" -- \
    srun -n1 --container-image=/images/a.sif --chdir=/srv/cwd --container-args=--no-mount=cwd ./app
# Only trixie's hosts have a registry.
if [[ $release == trixie ]]; then
    registry_start http://login:5000 /var/log/registry.log || result FAIL "the registry starts" \
        "$(on login root cat /var/log/registry.log)"
    push app/dir:1 a '' "/opt/work space" >/dev/null
    push app/none:1 b >/dev/null
    at_exit 'on login alice rm -rf .cache/berth'
    D=--container-image=docker://login:5000/app/dir:1
    for it in dir none; do
        alice env "${RUNTIME}_NOHTTPS=1" berth pull "docker://login:5000/app/$it:1" >/dev/null 2>&1
    done
    try "an image of a registry: that of srun" /home/alice -- srun -n1 "$D" sh -c pwd
    try "... without the home its WORKDIR" $'/opt/work space\n/opt/work space' -- srun -n2 "$D" \
        --no-container-mount-home sh -c pwd
    try "... and if the container lacks that of srun" "~warning: .*the command starts in '/opt/work
        space', the image's: .*$nl/opt/work space\$" -- \
        srun -n1 "$D" --chdir=/srv/cwd --container-args=--no-mount=cwd sh -c pwd
    try "... each task with a container of its own" "/opt/work space" -- \
        srun -n1 "$D" --container-args=--pid --no-container-mount-home sh -c 'echo $PWD'
    try "... berth run" "/opt/work space" -- srun -n1 berth run "$D" --no-container-mount-home \
        sh -c 'pwd'
    try "... and of a squashfs file that is saved of it" $'/opt/work space\n5$' \
        'tail -n 2' -- sh -c "srun -n1 $D --container-save=sqsh/dir.sqsh sh -c exit
            srun -n1 --container-image=sqsh/dir.sqsh --container-entrypoint sh -c 'pwd; echo \"\$0\"' '5$'"
    try "one without WORKDIR and without the home" "~starts in '/': .*$nl/\$" -- \
        srun -n1 --container-image=docker://login:5000/app/none:1 --no-container-mount-home \
        sh -c pwd
fi

echo "# where a SIF file can be"
try "berth run" "12.3 a" -- srun -n1 berth run "$S" \
    sh -c 'echo "$CUDA_VERSION $(cat /etc/berth-image)"'
lines "0 $S sh -c 'echo 0=\$CUDA_VERSION'" "1 $P cat /etc/berth-image" \
    "2 --container-image=/images/a.sif cat /etc/berth-image"
try "--multi-prog, several on a node" $'0: 0=12.3\n1: b\n2: a' sort -- srun -l -N1 -n3 \
    --multi-prog lines
try "components" $'0: 12.3\n1: a' sort -- srun -l -n1 "$S" sh -c 'echo $CUDA_VERSION' : -n1 \
    --container-image=/images/a.sif cat /etc/berth-image
try "a command of the host inside" $'12.3\n/workspace' -- srun -n1 -N1 "$S" \
    sh -c 'srun --overlap -n1 sh -c "echo \$CUDA_VERSION; pwd"'
try "explain" "~image: squashfs file; .*mounts: for the image's variables: /[^
        ]*/share/berth/squashfs-environment:/environment:ro" 'paste -sd" "' -- \
    srun -n1 "$S" --container-explain true
try "explain as JSON" "squashfs file" "sed -nE 's/.*\"kind\": \"([^\"]*)\".*/\1/p'" -- srun -n1 \
    "$S" --container-explain=json true
try "berth inspect" "~[.]sqsh: squashfs file.*C library: glibc" -- berth inspect sqsh/a.sqsh
try "berth inspect --json" squashfs "sed -nE 's/.*\"format\": \"([^\"]*)\".*/\1/p'" -- berth \
    inspect --json sqsh/a.sqsh
try "berth inspect finds a program on the image's PATH" "~opt/conda/bin/python" -- berth inspect \
    sqsh/a.sqsh python
on login alice sh -c 'head -c 100000 sqsh/a.sqsh >sqsh/cut.sqsh'
try "a file that is cut is refused before anything is allocated" \
    "~error: berth: image '/home/alice/sqsh/cut.sqsh': the file is incomplete; copy or build it
        again.*status" -- \
    srun -n1 --container-image=sqsh/cut.sqsh true
before=$(on n1 root sh -c 'ps -e -o comm= | grep -c squashfuse')
equal "nothing is left" 0 "$before"

echo "# MPI"
MPI=--container-image=/home/alice/sqsh/mpi.sqsh
try "the host's MPICH over the image's" 4 'grep -acE "^rank [0-3] of 4 .*\[[^ ]*!"' -- \
    srun -N2 -n4 --mpi=pmi2 "$MPI" --mpi-bind=host /opt/t/mpich/who
try "... through the entry point" 2 'grep -acE "^rank [01] of 2 .*\[[^ ]*!"' -- \
    srun -N1 -n2 --mpi=pmi2 "$MPI" --mpi-bind=host --container-entrypoint /opt/t/mpich/who
if has_pmix; then
    try "the host's Open MPI" 2 'grep -acE "^rank [01] of 2 .*\[[^ ]*!"' -- \
        srun -N2 -n2 --mpi=pmix "$MPI" --mpi-bind=host /opt/t/openmpi/who
fi

echo "# the container of a job, and berth save"
allocate -N1 -n2 -w n1
keeps() { alice srun -Q --jobid="$job" --overlap --overcommit -N1 -n1 --container-lifetime=job \
    "$@" 2>&1; }
equal "the first step" "12.3" "$(keeps "$S" --container-writable sh -c 'echo changed >/changed
    echo $CUDA_VERSION')"
equal "a later one joins it, with its variables" "changed 12.3" \
    "$(keeps "$S" --container-writable sh -c 'echo "$(cat /changed) $CUDA_VERSION"')"
equal "... and with the entry point" "changed yes 12.3" \
    "$(keeps "$S" --container-writable --container-entrypoint \
    sh -c 'echo "$(cat /changed) $ENTRY $CUDA_VERSION"')"
# The squashfuse of bookworm gives the files of an image to nobody, and /root is for its owner.
if [[ $release != bookworm ]]; then
    try "berth save makes a SIF file of it" "~saved.sif" -- berth save "$job" sqsh/saved.sif
    saved=--container-image=/home/alice/sqsh/saved.sif
    try "... with what was written, and its variables" "changed 12.3 it's \"\$HOME\" \`id\` *" -- \
        srun -n1 "$saved" sh -c 'echo "$(cat /changed) $CUDA_VERSION $ODD"'
    try "... and what the user gives the runtime" flag -- srun -n1 "$saved" \
        "--container-args=--env CUDA_VERSION=flag" sh -c 'echo $CUDA_VERSION'
    try "... and its entry point" "/workspace yes 5\$" -- srun -n1 "$saved" --container-entrypoint \
        sh -c 'echo "$PWD $ENTRY $0"' '5$'
    try "... and without the place of berth's script" "no" -- srun -n1 "$saved" \
        sh -c '[ -e /environment ] && echo yes || echo no'
fi
end_jobs

echo "# a site that restricts images"
site <<'END'
images: {roots: [/images]}
END
try "images.roots" "~berth: .*'/home/alice/sqsh/a.sqsh': this site does not allow it; it allows
        /images .*status" -- srun -n1 "$S" true
site <<'END'
images: {owners: [root]}
END
try "images.owners" "~berth: .*'/home/alice/sqsh/a.sqsh': it belongs to alice .*status" \
    -- srun -n1 "$S" true
site <<'END'
images: {signatures: [0123456789ABCDEF0123456789ABCDEF01234567]}
END
try "images.signatures" "~image '/home/alice/sqsh/a.sqsh': .*this site runs images with certain
        signatures only.*status" -- srun -n1 "$S" true
site <<'END'
rules: [{force: {container-env: "LAST=site"}}]
END
try "the site's environment wins over the image's" "site 12.3" -- srun -n1 "$S" \
    sh -c 'echo "$LAST $CUDA_VERSION"'
site <<'END'
rules: [{forbid: [container-entrypoint]}]
END
try "rules: no entry point" "~container-entrypoint.*status" -- srun -n1 "$S" \
    --container-entrypoint true
try "... and the rest" 12.3 -- srun -n1 "$S" sh -c 'echo $CUDA_VERSION'
site <<'END'
mounts: {forbidden: [/usr]}
END
try "mounts.forbidden does not concern berth's script" 12.3 -- srun -n1 "$S" \
    sh -c 'echo $CUDA_VERSION'
site </dev/null

finish

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The berth command, with an MPI that is compiled here. Speaks TAP.

berth=$PWD/berth
source=$(cd "${srcdir:-.}" && pwd)
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
chmod 755 .
mkdir -m 1777 run
unset CRAY_MPICH_DIR I_MPI_ROOT MPICH_DIR MPI_HOME OPAL_PREFIX LD_LIBRARY_PATH

says '--version prints the version' 0 'berth 0.' "$berth" --version
says '--help prints the usage' 0 '  berth profiles' "$berth" --help
says 'no verb is a wrong use' 2 'usage: berth' "$berth"
says 'an unknown verb is a wrong use' 2 "berth: 'fly' is not a verb; expected check, doctor, " \
    "$berth" fly
for verb in check doctor explain inspect profiles pull qualify run; do
    says "how $verb is used is no fault" 0 "usage: berth $verb [" "$berth" "$verb" --help
done
says 'a verb that is used wrongly prints its usage' 2 'usage: berth doctor [--json]' \
    "$berth" doctor --breif
for words in 'help pull' 'pull -h' 'pull --help'; do
    # shellcheck disable=SC2086
    says "berth $words ends with examples" 0 'examples:
  berth pull docker://ubuntu:24.04
  berth pull --again oras://ghcr.io/climate/atm:7' "$berth" $words
done
says 'berth -h' 0 'usage: berth VERB' "$berth" -h
says 'berth help' 0 'usage: berth VERB' "$berth" help
says 'help for what is no verb' 2 "berth: 'pul' is not a verb; did you mean 'pull'?" "$berth" help \
    pul
says 'a misspelt option of a verb' 2 \
    "berth: pull: '--agian' is not an option; did you mean '--again'?
usage: berth pull [" "$berth" pull --agian docker://r/x
says 'an option that no verb has' 2 \
    "berth: doctor: '--everything' is not an option; expected those of the usage below" \
    "$berth" doctor --everything
says 'a verb that is misspelt' 2 "berth: 'chekc' is not a verb; did you mean 'check'?" "$berth" \
    chekc
says 'an unknown option is a wrong use' 2 'usage:' "$berth" profiles --all
says 'a second word behind --prepare is a wrong use' 2 'usage:' \
    "$berth" profiles --prepare --all
says 'output to a full device is a failure' 1 'berth: standard output: ' \
    sh -c "exec '$berth' --help >/dev/full"
says 'a closed output is a failure, too' 1 'berth: standard output: ' sh -c \
    "exec '$berth' --help >&-"
says 'lost output is reported beside a fault of the host' 1 'berth: standard output: ' \
    sh -c "exec '$berth' doctor >/dev/full"

# A registry that is a script.
mkdir bin
cat >bin/apptainer <<'END'
#!/bin/sh
echo 'FATAL:   manifest unknown' >&2
exit 255
END
chmod +x bin/apptainer
says 'a pull that fails is one line' 1 "berth: pulling image 'docker://r/x'
berth: image 'docker://r/x': $T/bin/apptainer did not pull it: manifest unknown; try it by hand:
        $T/bin/apptainer pull docker://r/x" \
    env "XDG_CACHE_HOME=$T/cache" "PATH=$T/bin:$PATH" "$berth" pull docker://r/x
says 'only a URI can be pulled' 1 "berth: '/a.sif': cannot be pulled; write" \
    "$berth" pull /a.sif
says 'a pull of a name in a registry' 1 \
    "berth: 'ubuntu:22.04': cannot be pulled; write docker://ubuntu:22.04" \
    "$berth" pull ubuntu:22.04
# A cache with two images, and files that berth did not make.
digest=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
one=docker+r+a@sha256-$digest-x86_64.sif
two=docker+r+b@sha256-f${digest#0}-x86_64.sif
cache()
{
    rm -rf images theirs
    mkdir -p images/berth/index images/berth/dir images/berth/work theirs
    for file in "images/berth/$one" "images/berth/$two" images/berth/notes.txt \
        images/berth/mine.sif \
        images/berth/dir/data "images/berth/dir/$one" images/berth/index/file "theirs/$one"; do
        truncate -s 1500000 "$file"
        touch -d 2026-01-02 "$file"
    done
    touch -d 2026-01-01 "images/berth/$two"
    ln -s "../$one" images/berth/index/docker+r+a=1-x86_64
    ln -s "../$one" images/berth/index/docker+r+a=2-x86_64
    ln -s ../notes.txt images/berth/index/docker+r+c=1-x86_64
    ln -s "../../../theirs/$one" images/berth/index/docker+r+d=1-x86_64
    ln -s ../../theirs images/berth/link
    ln -s ../mine.sif "images/berth/docker+r+e@sha256-$digest-x86_64.sif"
}
images() { env "XDG_CACHE_HOME=$T/images" "$berth" images "$@"; }
left() { (cd "$T" && find images/berth/* theirs ! -type d | sort); }
others=$(cache && rm images/berth/*@*-x86_64.sif images/berth/index/docker+r+a=* &&
    ln -s ../mine.sif \
    "images/berth/docker+r+e@sha256-$digest-x86_64.sif" && left)
cache
says 'images are listed, one a row' 0 \
    "IMAGE                  DIGEST        MACHINE        MB  PULLED      USED        WHERE
docker://r/a:1         0123456789ab  x86_64        1.5  2026-01-02  2026-01-02  cache
  also docker://r/a:2
docker://r/b (no tag)  f123456789ab  x86_64        1.5  2026-01-01  2026-01-01  cache
2 images, 3.0 MB" images
says 'images --json' 0 '[
  {
    "names": [
      "docker://r/a:1",
      "docker://r/a:2"
    ],
    "digest": "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "machine": "x86_64",
    "bytes": 1500000,
    "pulled": "2026-01-02T' images --json
says 'without a cache there are none' 0 '0 images, 0.0 MB' env "XDG_CACHE_HOME=$T/none" "$berth" \
    images
says 'an image that is not there' 1 \
    "berth: images: 'r/z': no such image in your cache or the store" images r/z
says 'nor to remove' 1 "berth: images: 'r/z': no such image in your cache" images r/z --remove
says 'an image by its name without docker://' 0 '1 image, 1.5 MB' images r/a:2
says '--remove alone asks which' 2 'berth: images: --remove: which? give NAME, --unused or --keep' \
    images --remove
images --remove --unused 9 >"$T/removed"
equal '--remove leaves what berth did not make, and follows no link' "$others" "$(left)"
equal 'and says what it removed' 'removed 2 images, 3.0 MB' "$(tail -n 1 "$T/removed")"
cache
says 'one of two names' 0 'removed 0 images, 0.0 MB' images --remove r/a:1
says 'the other is still there' 0 '1 image, 1.5 MB' images docker://r/a:2
says 'the last name of an image' 0 'removed 1 image, 1.5 MB' images docker://r/a:2 --remove
says 'a digest' 0 'removed 1 image, 1.5 MB' images --remove f123456789ab
equal 'and no more than that' "$others" "$(left)"
cache
truncate -s 1G "images/berth/$two"
touch -d 2026-01-01 "images/berth/$two"
says 'images --keep lists those beyond a size, which were used first' 0 '1 image, 1074 MB' images \
    --keep 1
says 'the options in any order' 0 'removed 1 image, 1074 MB' images --remove --unused 9 --keep 1
cache
chmod 1777 images/berth
says 'a cache that others can write is left alone' 1 'has mode 1777; expected user ' images \
    --unused 9 --remove
chmod 755 images/berth
if [ "$(id -u)" = 0 ]; then
    chown 65534 images/berth
    says 'and one of another user, also by root' 1 \
        'belongs to user 65534 and has mode 0755; expected user 0' \
        images --unused 9 --remove
    chown 0 images/berth
    chown -h 65534 "images/berth/$one" images/berth/index/*
    says 'and files of another user' 0 'removed 1 image, 1.5 MB' images --unused 9 --remove
fi
says 'images --keep of no number is a wrong use' 2 'usage:' images --keep 1G
says 'a pull without a URI is a wrong use' 2 'usage:' "$berth" pull
says 'a pull of --again is a wrong use' 2 'usage:' "$berth" pull --again
says 'a pull with another option is a wrong use' 2 'usage:' "$berth" pull --all docker://r/x
# What doctor finds depends on the machine; here it only has to refuse a wrong use.
says 'doctor takes no other option' 2 'usage:' "$berth" doctor --long
"$berth" doctor >doctor.out 2>&1
status=$?
grep -q '^wrong' doctor.out && want=1 || want=0
[ "$status" = "$want" ] && grep -qE '^(ok   |note |wrong) user namespaces: ' doctor.out
report $? 'doctor looks at this host' "status $status: $(cat doctor.out)"
# Levels in the order in which they are printed, each once.
levels=$(sed -nE 's/^(ok|note|wrong) .*/\1/p' doctor.out | uniq | tr '\n' ' ')
echo 'wrong note ok ' | grep -qF "$levels"
report $? 'doctor prints what is wrong first, then notes' "$(cat doctor.out)"
escape=$(printf '\033')
colored() { "$berth" doctor "$@" | grep -c "^$escape\[[0-9;]*m[a-z]* *$escape\[0m "; }
equal 'doctor has no colours in a pipe' 0 "$(colored)"
equal 'doctor --color=always has one on each line with a result' \
    "$(grep -cE '^(ok   |note |wrong) ' doctor.out)" "$(colored --color=always)"
says 'doctor --color of another word' 2 \
    "berth: --color: expected auto, always or never, got 'red'" "$berth" doctor --color=red
says 'a misspelt option with a value' 2 \
    "berth: doctor: '--colour' is not an option; did you mean '--color'?" \
    "$berth" doctor --colour=never
"$berth" doctor --json >json.out
[ "$(head -c 14 json.out)" = '{
  "berth": "' ] && grep -qxE ' +"about": "user namespaces",' json.out &&
    [ "$(grep -c '"result":' json.out)" -ge "$(grep -cE '^(ok   |note |wrong) ' doctor.out)" ]
report $? 'doctor says the same as JSON' "$(cat json.out)"
for program in init mpi task; do
    says "berth-$program tells its release" 0 "berth-$program 0." "${berth%/*}/berth-$program" \
        --version
done

mkdir image
mkdir image/bin
says 'an account without an image' 2 \
    'berth: explain: no image; give --container-image, or set BERTH_CONTAINER_IMAGE' \
    "$berth" explain ./app
says 'an account without a command is a wrong use' 2 'usage:' \
    "$berth" explain --container-image=image
says 'an option of explain itself that comes too late' 2 \
    'berth: explain: --json comes before the options of srun' \
    "$berth" explain --container-image=image --json ./app
says 'a misspelt one' 2 "berth: explain: '--jsno' is not an option; did you mean '--json'?" \
    "$berth" explain --jsno --container-image=image ./app
says 'explain --color of another word' 2 \
    "berth: --color: expected auto, always or never, got 'red'" "$berth" explain --color=red ./app
says 'an account with a wrong option' 2 "berth: explain: '--colour' is not an option" \
    "$berth" explain --colour --container-image=image ./app
says 'explain --help names --json' 0 '--json: for programs' "$berth" explain --help

mkdir -p mpi/lib
cat >mpi.c <<'END'
int MPIR_Err_return_comm;
const char abi[] = "16:1:4", number[] = "4.2.1";
int PMPI_Init(void) { return 0; }
END
${CC:-cc} -shared -fPIC -nostdlib -Wl,-soname,libmpi.so.12 -o mpi/lib/libmpi.so.12 mpi.c ||
    exit 1
says 'a stack is listed' 0 "mpich: MPICH 4.2.1, of the family MPICH, found by MPI_HOME
  $T/mpi/lib/libmpi.so.12: C
  stage: none yet" env "MPI_HOME=$T/mpi" "$berth" profiles

# The words that run a command as an ordinary user, also for root.
ordinary=
[ "$(id -u)" != 0 ] || ordinary='setpriv --reuid=65534 --regid=65534 --clear-groups'
# shellcheck disable=SC2086
says 'only root prepares' 1 \
    'berth: profiles --prepare: writes for all users; run it as root' \
    $ordinary "$berth" profiles --prepare

# What inspect says of files: a program that is linked with that MPI, the MPI, and others.
cat >app.c <<'END'
int MPI_Init(void *, void *);
int main(void) { return MPI_Init(0, 0); }
END
sed '$a int MPI_Init(void) { return 0; }' mpi.c >both.c
${CC:-cc} -shared -fPIC -nostdlib -Wl,-soname,libmpi.so.12 -o mpi/lib/libmpi.so.12 both.c &&
    ${CC:-cc} -o app app.c "-Wl,-rpath,$T/mpi/lib" mpi/lib/libmpi.so.12 || exit 1
# shellcheck disable=SC2086
{
    says 'a program is told' 0 "  linked with MPI: MPICH
  uses: C
  MPI symbols that it needs: 1
  loads MPICH 4.2.1: $T/mpi/lib/libmpi.so.12 (C)" $ordinary "$berth" inspect app
    says 'how it is linked is told' 0 "PATH: $T/mpi/lib
  needs: libmpi.so.12, libc.so.6
  versions of glibc that it needs: GLIBC_2." $ordinary "$berth" inspect app
    says 'a library is told' 0 'it is MPICH 4.2.1' $ordinary "$berth" inspect mpi/lib/libmpi.so.12
    says 'JSON says the same' 0 '"family": "MPICH"' $ordinary "$berth" inspect --json app
    says '--json after the file' 0 '"family": "MPICH"' $ordinary "$berth" inspect app --json
    mv mpi/lib/libmpi.so.12 gone
    says 'what is not found is told' 0 '  not found: libmpi.so.12' $ordinary "$berth" inspect app
    mv gone mpi/lib/libmpi.so.12
    echo '#!/bin/sh' >app.sh
    says 'a script is run by its interpreter' 0 'app.sh: script
  interpreter: /bin/sh
  run by: /' $ordinary "$berth" inspect app.sh
    echo '#!/nowhere/sh' >lost.sh
    says 'a script without its interpreter is one line' 1 \
        "berth: './lost.sh': the interpreter that its #! line names is not there; install it, or
            look in an image that has it" \
        $ordinary "$berth" inspect ./lost.sh
    says 'what is not there is one line' 1 \
        "berth: '/nowhere/x': No such file or directory; give the path of a file or an image" \
        $ordinary "$berth" inspect /nowhere/x
    cp app removed
    exec 3<removed
    rm removed
    says 'an open file that has been removed is one line' 1 \
        "berth: '/proc/self/fd/3': No such file or directory; give the path of a file or an image" \
        $ordinary "$berth" inspect /proc/self/fd/3
    exec 3<&-
    says 'what is neither is one line' 1 "berth: image '$T/mpi.c': not an image" \
        $ordinary "$berth" inspect "$T/mpi.c"
    says 'a directory that is no image is one line' 1 \
        'not an image; expected a SIF file, a squashfs file or a sandbox' \
        $ordinary "$berth" inspect "$T/run"
    head -c 900 app >short
    says 'a file that is cut is one line' 1 "berth: '$T/short': " $ordinary "$berth" inspect \
        "$T/short"
    says 'a program of a file is a mistake' 1 "berth: '$T/app': not an image; leave out 'x'" \
        $ordinary "$berth" inspect "$T/app" x
    says 'inspect without a file is a wrong use' 2 'usage:' $ordinary "$berth" inspect
    says 'an unknown option is a wrong use' 2 'usage:' $ordinary "$berth" inspect --xml app
}
[ "$(id -u)" != 0 ] || says 'root inspects nothing' 1 \
    'berth: inspect: starts loaders that the file names; run it as an ordinary user, not as root' \
    "$berth" inspect app
if command -v python3 >/dev/null; then
    says 'it is JSON' 0 'MPICH 4.2.1 True' sh -c "$ordinary '$berth' inspect --json '$T/app' |
        python3 -c 'import json, sys
it = json.load(sys.stdin)[\"mpi\"][0]
print(\"%(family)s %(version)s %(loaded)s\" % it)'"
fi

# check
printf 'runtime: {share: no}\n' >"$T/good.yaml"
printf 'runtime:\n  share: x\nimage: {}\n' >"$T/bad.yaml"
printf 'rules: [{force: {mpi: host}}]\n' >"$T/rule.yaml"
chmod 644 "$T"/*.yaml
says 'check: a good file' 0 "$T/good.yaml: no error found" "$berth" check good.yaml
awk -v to="$T/site" '/^\.EX/ { file = to (++n) ".yaml"; next } /^\.EE/ { file = ""; next }
    file { gsub(/\\-/, "-"); print >file }' "$source/man/berth.yaml.5.in"
chmod 644 "$T"/site*.yaml
for n in 1 2 3 4; do
    says "check: site $n of the manual page" 0 "$T/site$n.yaml: no error found" "$berth" check \
        "$T/site$n.yaml"
done
says 'check: all faults of a file' 1 "$T/bad.yaml:2: runtime.share: expected auto or no, got 'x'
$T/bad.yaml:3: 'image' is not a key here; did you mean 'images'?" "$berth" check "$T/bad.yaml"
# shellcheck disable=SC2016 # words for sh
says 'check: a file in a directory that is gone' 1 "berth: expected a path from /, got 'x.yaml'" \
    sh -c 'mkdir gone && cd gone && rmdir ../gone && exec "$0" check x.yaml' "$berth"
says 'check: a rule that names no option' 1 \
    "$T/rule.yaml:1: rule 1: 'mpi' is not an option; did you mean 'mpi-bind'?" "$berth" check \
    rule.yaml
cat >"$T/many.yaml" <<'YAML'
runtime: {path: /nope/apptainer}
mpi: {glibc: no}
mounts:
  forced: [/a:b]
mpi: {glibc: refuse}
rules:
  - partition: gpu
    force:
      gpu: nvidia
      container-writable: maybe
      mpi-bind: hots
  - force:
      container-workdir: here
YAML
chmod 644 "$T/many.yaml"
says 'check: every fault, and its own line' 1 \
    "$T/many.yaml:2: mpi.glibc: expected replace or refuse, got 'no'
$T/many.yaml:4: mounts.forced: expected SRC[:DST[:ro|rw|sqsh]], DST from / and not / itself, got
        '/a:b'
$T/many.yaml:5: mpi: given twice, first on line 2; keep one
$T/many.yaml:9: rule 1: 'gpu' is not an option; did you mean 'container-gpu'?
$T/many.yaml:10: rule 1: container-writable: expected yes, got 'maybe'; the opposite is
        container-readonly: yes
$T/many.yaml:11: rule 1: mpi-bind: 'hots' is not a mode, MPI stack or profile; did you mean 'host'?
$T/many.yaml:13: rule 2: container-workdir: expected a directory in the image, from /, got 'here'" \
    "$berth" check many.yaml
printf 'runtime: {share: no}\nrules: [{default: {container-lifetime: job}}]\n' >lifetime.yaml
chmod 644 lifetime.yaml
says 'check: a lifetime that no container has' 0 \
    "$T/lifetime.yaml:2: note: container-lifetime: job has no effect with share: no
$T/lifetime.yaml: no error found" "$berth" check lifetime.yaml
mkdir profiles.d
echo 'name: x' >profiles.d/x.yaml
says 'check: a profile beside a good file' 1 "$T/profiles.d/x.yaml:1: family: not there" "$berth" \
    check good.yaml
rm -r profiles.d
printf 'mpi:\n  order:\n    - mpich\n    - mpihc\n' >"$T/order.yaml"
chmod 644 "$T/order.yaml"
says 'check: an order of MPI stacks with one that is none' 1 \
    "$T/order.yaml:4: mpi.order: 'mpihc' is not an MPI stack or profile; did you mean 'mpich'?" \
    "$berth" check order.yaml
cat >"$T/modes.yaml" <<'END'
rules:
- default: {mpi-bind: mpihc}
- force: {mpi-bind: own}
- force: {mpi-bind: opempi}
END
chmod 644 "$T/modes.yaml"
mkdir profiles.d
printf 'name: own\nfamily: mpich\n' >profiles.d/own.yaml
chmod 644 profiles.d/own.yaml
says 'check: MPI stacks that are none, wherever they are named' 1 \
    "$T/modes.yaml:2: rule 1: mpi-bind: 'mpihc' is not a mode, MPI stack or profile; did you mean
        'mpich'?
$T/modes.yaml:4: rule 3: mpi-bind: 'opempi' is not a mode, MPI stack or profile; did you mean
        'openmpi'?" \
    "$berth" check modes.yaml
rm -r profiles.d
says 'check: no such file' 1 "No such file or directory" "$berth" check none.yaml
says 'check: wrong use' 2 usage: "$berth" check a b
says 'check: an option' 2 usage: "$berth" check --all
cp "$source/etc/berth.yaml" shipped.yaml
sed 's/^\( *\)# \([a-z_]*:\)/\1\2/' shipped.yaml >open.yaml
chmod 644 shipped.yaml open.yaml
says 'check: the shipped file' 0 'no error found' "$berth" check shipped.yaml
says 'check: the shipped file with every key in use' 0 'no error found' "$berth" check open.yaml

# Which file it is: that of the plugin.
SLURM_CONF=$T/slurm/slurm.conf
export SLURM_CONF
mkdir -p slurm/d image/etc
: >slurm/slurm.conf
says 'without a plugstack.conf it is the usual file' 0 '/slurm/berth.yaml: ' "$berth" check
echo "required other.so config=$T/bad.yaml" >slurm/plugstack.conf
says 'words of another plugin are ignored' 0 '/slurm/berth.yaml: ' "$berth" check
echo "include d/*.conf" >slurm/plugstack.conf
echo "required berth.so config=$T/good.yaml" >slurm/d/berth.conf
says 'the plugin says which file it is' 0 "$T/good.yaml: no error found" "$berth" check
echo "PlugStackConfig=$T/slurm/other.conf" >slurm/slurm.conf
echo "optional /lib/berth.so config=$T/bad.yaml" >slurm/other.conf
fault="$T/bad.yaml:2: runtime.share: expected auto or no, got 'x'"
says 'slurm.conf says where plugstack.conf is' 1 "$fault" "$berth" check
says 'a file on the command line wins' 0 "$T/good.yaml: no error found" "$berth" check good.yaml
for verb in profiles 'pull docker://r/x' 'run --container-image=image ./app' \
    'explain --container-image=image ./app'; do
    # shellcheck disable=SC2086
    says "${verb%% *} goes by the file of the plugin" 1 "berth: $fault" "$berth" $verb
done
# shellcheck disable=SC2086
says 'inspect uses the file of the plugin' 1 "berth: $fault" $ordinary "$berth" inspect image
says 'doctor uses the file of the plugin' 1 "wrong berth.yaml: $fault" "$berth" doctor
echo "optional /lib/berth.so config=$T/order.yaml" >slurm/other.conf
says 'doctor finds a wrong order of MPI stacks' 1 \
    "wrong profiles: $T/order.yaml:4: mpi.order: 'mpihc'" \
    "$berth" doctor
echo "optional /lib/berth.so config=$T/modes.yaml" >slurm/other.conf
fault="$T/modes.yaml:2: rule 1: mpi-bind: 'mpihc' is not a mode, MPI stack or profile; did you mean
        'mpich'?"
says 'doctor finds a wrong default of MPI stacks' 1 "wrong profiles: $fault" "$berth" doctor
says 'profiles finds the wrong default, too' 1 "berth: $fault" "$berth" profiles
echo "optional /lib/berth.so config=$T/gone.yaml" >slurm/other.conf
says 'a file that the plugin wants has to be there' 1 \
    "berth: $T/gone.yaml: No such file or directory; it must be there, and readable by all users" \
    "$berth" run --container-image=image ./app
echo 'optional /lib/berth.so config=good.yaml' >slurm/other.conf
fault="plugstack.conf: config: expected an absolute path, got 'good.yaml'"
for verb in check profiles; do
    says "$verb refuses what the plugin refuses" 1 "berth: $fault" "$berth" "$verb"
done
says 'doctor refuses the file, too' 1 "wrong berth.yaml: $fault" "$berth" doctor
if [ "$(id -u)" != 0 ]; then
    chmod 0 slurm/other.conf
    says 'a plugstack.conf that cannot be read says nothing' 0 '/slurm/berth.yaml: ' "$berth" check
fi

finish

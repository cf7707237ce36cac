#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a site allows, forces and forbids in berth.yaml, and how a user may try to get round it.

# shellcheck disable=SC2016 # words for other shells
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images a b

on_n1=(srun -w n1 -N1)

# forbids TITLE SENTENCE OPTION...: a step on n1 that must not run.
forbids() {
    try "$1" "~$2.*status" -- "${on_n1[@]}" "${@:3}" sh -c 'echo r''an'
    [[ $seen != *ran* ]] || result FAIL "$1: nothing runs" "$seen"
}

image=--container-image=/images/a.sif
alice cp /images/a.sif mine.sif
alice ln -sf /home/alice/mine.sif link.sif

site <<'YAML'
images:
  roots: [/images]
YAML
only="this site does not allow it; it allows /images ./etc/slurm/berth.yaml:2"
try "roots: an image of the site" '~^a$' -- "${on_n1[@]}" "$image" cat /etc/berth-image
forbids "roots: an image of the user's" "$only" --container-image=mine.sif
forbids "roots: a way out with .." "$only" --container-image=/images/../home/alice/mine.sif
forbids "roots: a link to the user's" "$only" --container-image=link.sif
try "roots: before anything is allocated" \
    "~^srun: error: berth: image '/home/alice/mine.sif': $only.${nl}status 1$" -- \
    srun --container-image=mine.sif true
try "roots: a step variable that is forged" n1 -- \
    env "SLURM_BERTH_STEP=1;*:image=/home/alice/mine.sif;." "${on_n1[@]}" hostname

# The runtime of this site finds another file under the name that was looked at.
on login alice bash -c 'mkdir -p roots; cat >exchange; chmod +x exchange' <<SH
#!/bin/sh
case "\$*" in
*/home/alice/roots/x.sif*) cp /home/alice/mine.sif roots/y.sif
    mv roots/y.sif roots/x.sif ;;
esac
exec $runtime "\$@"
SH
site <<'YAML'
runtime:
  path: /home/alice/exchange
images:
  roots: [/images, /home/alice/roots]
YAML
alice cp mine.sif roots/x.sif
try "exchange: an image that stays" '~^a$' -- "${on_n1[@]}" "$image" cat /etc/berth-image
forbids "exchange: another file at the time of the start" \
    "the file was replaced while the step started" --container-image=/home/alice/roots/x.sif
! can_setuid || share setuid
site <<'YAML'
images:
  roots: [/images]
YAML
matches "berth run: the user's image" "$only" "$(on n1 alice timeout 180 berth run \
    --container-image=mine.sif true 2>&1)"
try "roots: with a setuid runtime" '~^a$' -- "${on_n1[@]}" "$image" cat /etc/berth-image
forbids "roots: with a setuid runtime, the user's" "$only" --container-image=mine.sif
share auto

site <<'YAML'
images:
  owners: [root]
YAML
try "owners: root's" '~^a$' -- "${on_n1[@]}" "$image" cat /etc/berth-image
forbids "owners: the user's" "belongs to alice .*images of root only.*berth.yaml:2" \
    --container-image=mine.sif

# Where a runtime keeps keys: if nobody says so, and the variable that says so.
keyring=.$runtime_name/keys keys=${RUNTIME}_KEYSDIR
[[ $runtime_name == apptainer ]] || keyring=.singularity/sypgp keys=SINGULARITY_SYPGPDIR

# A file system of the user's own says what the user has it say.
alice bash -c 'mkdir -p fuse tree; cp -f mine.sif tree/evil.sif
    mksquashfs tree tree.sqfs -noD -quiet -noappend -all-root >/dev/null 2>&1'
on n1 alice squashfuse tree.sqfs fuse
equal "owners: it is root's, by its own word" root "$(on n1 alice stat -c %U fuse/evil.sif)"
forbids "owners: root's on a file system of the user's" \
    "a file system that uid 2001 has mounted [(]FUSE[)]: image '/home/alice/fuse/evil.sif': it
        belongs to alice .*images of root only" \
    --container-image=fuse/evil.sif
on n1 alice fusermount -u fuse || on n1 alice fusermount3 -u fuse
on n1 root bash -c 'mkdir -p /srv/fuse && squashfuse -o allow_other /home/alice/tree.sqfs /srv/fuse'
try "owners: root's on a file system of root's" '~see this file system.a$' \
    -- "${on_n1[@]}" --container-image=/srv/fuse/evil.sif cat /etc/berth-image
on n1 root bash -c 'umount /srv/fuse && rmdir /srv/fuse'

# An image that is missing (tests/spank/refusals.sh has all sentences).
site </dev/null
mine="image '/home/alice/myne.sif': not found; did you mean 'mine.sif'[?]"
try "missing in a directory of this host" \
    "~^srun: berth: warning: $mine.*berth: n1: $mine.*status" -- \
    "${on_n1[@]}" --container-image=myne.sif true
site <<<'images: {missing: refuse}'
try "... where the site says refuse" "~^srun: error: berth: $mine.status 1$" \
    -- srun --container-image=myne.sif true
try "... inside a job the node says it" "~berth: n1: $mine.*status" \
    -- salloc -Q -w n1 -N1 srun --container-image=myne.sif true
site </dev/null
on n1 root bash -c 'mkdir -p /scratch/images && cp /images/a.sif /scratch/images/app:1.2'
try "missing here, on the node, and called like an image in a registry" \
    "~^srun: berth: warning: image '/scratch/images/app:1.2': not found; check the path,
        [^$nl]*${nl}a$" -- \
    "${on_n1[@]}" --container-image=/scratch/images/app:1.2 cat /etc/berth-image
on n1 root rm -r /scratch

# key OWNER: a key in the directory OWNER of alice's; its fingerprint.
key() {
    alice mkdir -m 700 "$1" && alice env "$keys=/home/alice/$1" "$runtime" key newpair \
        --name "$1" --email a@b --comment c --password "" --push=false >/dev/null 2>&1 </dev/null
    alice env "$keys=/home/alice/$1" "$runtime" key list | sed -n 's/^ *Fingerprint: *//p'
}

alice bash -c 'rm -rf site.keys other.keys && cp -f mine.sif signed.sif &&
    cp -f mine.sif other.sif && chmod u+w signed.sif other.sif'
fingerprint=$(key site.keys)
other=$(key other.keys)
# The public keys of all are known on the node, as in a keyring that the user fills.
alice bash -c "mkdir -p -m 700 $keyring &&
    cat site.keys/pgp-public other.keys/pgp-public >$keyring/pgp-public &&
    chmod 600 $keyring/pgp-public"
for it in signed:site other:other; do alice env "$keys=/home/alice/${it#*:}.keys" "$runtime" sign \
    "${it%:*}.sif" >/dev/null 2>&1; done
alice bash -c 'cp signed.sif changed.sif; printf evil |
    dd of=changed.sif bs=1 seek=20000000 conv=notrunc status=none
    mkdir -p layer/etc; echo layer >layer/etc/berth-image
    mksquashfs layer layer.sqfs -quiet -noappend >/dev/null 2>&1
    cp signed.sif layered.sif
    '"$runtime"' sif add --datatype 4 --parttype 4 --partfs 1 --partarch 2 --groupid 2 layered.sif layer.sqfs'
alice env "$keys=/home/alice/other.keys" "$runtime" sign --group-id 2 layered.sif >/dev/null 2>&1
site <<YAML
images:
  signatures: ["$fingerprint"]
YAML
forbids "signatures: an image without" "it is not signed" "$image"
try "signatures: the site's" '~^a$' -- "${on_n1[@]}" --container-image=signed.sif cat \
    /etc/berth-image
forbids "signatures: somebody else's" \
    "signed with the key ${other,,}, which this site does not accept" --container-image=other.sif
forbids "signatures: changed since" "it was changed after it was signed" \
    --container-image=changed.sif
forbids "signatures: a layer of somebody else's over the site's" \
    "signed with the key ${other,,}, which this site does not accept" \
    --container-image=layered.sif
try "signatures: not verified in the user's way" '~^a$' \
    -- "${on_n1[@]}" --container-image=signed.sif \
    --export=ALL,"${RUNTIME}_VERIFY_KEY=/nowhere.pem" cat /etc/berth-image

site <<'YAML'
mounts:
  forced: [/usr/share:/site:ro]
  default: [/srv, /nowhere]
  forbidden: [/etc/slurm]
YAML
that="this site forbids '/etc/slurm',[^(]*.[/]etc/slurm/berth.yaml:4[)]"
alice ln -sfn /etc/slurm hidden
try "mounts: the site's are there" '~yes' -- "${on_n1[@]}" "$image" sh -c \
    'test -d /site/doc && test -d /srv && echo yes'
forbids "mounts: forbidden" "$that" "$image" --container-mounts=/etc/slurm:/s
forbids "mounts: a link to it" "$that" "$image" --container-mounts=/home/alice/hidden:/s
forbids "mounts: by a flag of the runtime" "berth: " "$image" --container-args=--bind=/etc/slurm:/s
forbids "mounts: at the place of the site's" "berth: " "$image" --container-mounts=/tmp:/site
for it in tmpfs:/site tmpfs:/site/doc umount:/site umount:/site/..//site/doc; do
    forbids "mounts: the site's changed by $it" \
        "this site itself mounts '/usr/share:/site:ro' there" "$image" "--container-mounts=$it"
done
alice sh -c 'rm -rf linked.dir; cp -r /images/a.dir linked.dir 2>/dev/null; chmod -R u+w linked.dir
    mkdir -p linked.dir/site; ln -s /site linked.dir/link && ln -s / linked.dir/root-of-it'
for it in tmpfs:/link umount:/link umount:/root-of-it/site; do
    matches "mounts: the site's changed by $it, behind a link of the image" \
        "--container-mounts: '$it': a symbolic link of the image leads to '/site'; write that" \
        "$(alice srun -w n1 -N1 -D / --container-image=/home/alice/linked.dir \
            "--container-mounts=$it" true 2>&1)"
done
alice sh -c 'chmod -R u+w linked.dir; rm -rf linked.dir'
try "mounts: none for a process manager that is none" '~^no$' -- env PALS_SPOOL_DIR=/etc/slurm \
    "${on_n1[@]}" "$image" --mpi-bind=hybrid sh -c 'test -e /etc/slurm/slurm.conf || echo no'
on n1 root install -d -o alice /etc/slurm/pmix.x
for kept in step job; do
    try "mounts: none for one at a forbidden place, in a container of the $kept" '~^no$' -- \
        env PMIX_SERVER_TMPDIR=/etc/slurm/pmix.x salloc -Q -w n1 -N1 srun --mpi=none "$image" \
        "--container-lifetime=$kept" --mpi-bind=hybrid sh -c \
        'test -e /etc/slurm/pmix.x || echo no'
done
on n1 root rmdir /etc/slurm/pmix.x
forbids "mounts: at a forbidden place" "$that" "$image" --container-mounts=tmpfs:/etc/slurm/x
try "mounts: a tmpfs elsewhere" '~^tmpfs$' -- "${on_n1[@]}" "$image" --container-mounts=tmpfs:/x \
    findmnt -n -o fstype /x
matches "mounts: by a variable of the runtime" "$that" \
    "$(alice env "${RUNTIME}_BIND=/etc/slurm:/s" srun -w n1 -N1 "$image" ls /s 2>&1)"
# A source that a --task-prolog of the user's makes, or leads elsewhere.
script prolog.sh <<'PROLOG'
#!/bin/sh
ln -sfn /etc/slurm /home/alice/late
PROLOG
for variable in '' APPTAINER_BIND=/home/alice/late:/s; do
    for was in "rm -f late" "ln -sfn /tmp late"; do
        alice bash -c "$was"
        mounted=(--container-mounts=/home/alice/late:/s)
        [[ -z $variable ]] || mounted=(--export="ALL,$variable")
        out=$(alice srun -w n1 -N1 "$image" --task-prolog=/home/alice/prolog.sh "${mounted[@]}" \
            sh -c 'ls /s/slurm.conf && echo r''ead' 2>&1 </dev/null)
        equal "mounts: ${variable:-an option}, $was, and then a link to it: not read" 0 \
            "$(grep -c read <<<"$out")"
    done
done
alice rm -f late
# Slurm's own copies of options and the runtime's other ways.
alice bash -c 'ln -sfn /etc/slurm a:b; printf "bind path = /etc/slurm:/s\n" >mine.conf'
by_option="restricts mounts, and takes them from --container-mounts only"
for variable in "${RUNTIME}_BIND=/home/alice/a\:b:/s" \
    "${RUNTIME}_CONTAINLIBS=/etc/slurm/slurm.conf" \
    "${RUNTIME}_CONFIG_FILE=/home/alice/mine.conf" \
    SINGULARITY_MOUNT=type=bind,src=/etc/slurm,dst=/s; do
    forbids "mounts: by ${variable%%=*}" "berth: n1: ${variable%%=*}: this site $by_option" \
        "$image" --export=ALL,"${variable}"
done
forbids "mounts: by way of /proc" "$that" "$image" --container-mounts=/proc/self/root/etc/slurm:/s
matches "mounts: by a link, from salloc, in a second component" "$that" \
    "$(alice salloc -N2 -w n1,n2 "$image" --container-mounts=/home/alice/hidden:/s srun \
    --container-image=none true : true 2>&1 </dev/null)"
try "mounts: by Slurm's variable of an option" '~^a$' -- \
    env _SLURM_SPANK_OPTION_berth_container_mounts=/etc/slurm:/s srun -Q -w n1 -N1 "$image" sh -c \
    'test ! -e /s && cat /etc/berth-image'

# The same without Slurm.
try "berth run: mounts of the site's" yes "grep -x yes" \
    -- on n1 alice timeout 180 berth run "$image" sh -c \
    'test -d /site/doc && test -d /srv && echo yes'
try "berth run: forbidden" "~^berth: mount '/home/alice/hidden:/s:rw': $that.*status" -- \
    on n1 alice timeout 180 berth run "$image" --container-mounts=/home/alice/hidden:/s true
try "berth explain: whose mount it is" \
    '~user: [^/]*/tmp -> /m.*  site: [^/]*/srv.*/usr/share -> /site .ro.' -- \
    on n1 alice timeout 180 berth explain --all "$image" --container-mounts=/tmp:/m true

# What a rule accepts it obeys.
site <<'YAML'
rules:
  - forbid: [container-writable]
    force: {no-container-mount-home: Yes}
  - partition: main
    forbid: [container-entrypoint]
    force:
      container-image: /images/b.sif
YAML
rule="a rule of this site forbids it; leave it out ./etc/slurm/berth.yaml"
forbids "rules: no writable root, before anything is allocated" \
    "^srun: error: berth: --container-writable: $rule:2" \
    "$image" --container-writable
forbids "rules: no runscript in this partition" "berth: n1: --container-entrypoint: $rule:5" \
    "$image" --container-entrypoint
try "rules: the site's image, and a note" \
    "~berth: n1: note: --container-image: a rule of this site replaces ./images/a.sif. by
        ./images/b.sif. ./etc/slurm/berth.yaml:7.${nl}b\$" -- "${on_n1[@]}" \
    "$image" -n2 --chdir=/tmp sh -c '[ "$SLURM_PROCID" != 0 ] || cat /etc/berth-image'
try "rules: the home directory is not there" "~^none$" \
    -- "${on_n1[@]}" --container-image=/images/b.sif --chdir=/tmp \
    sh -c 'ls /home/alice/mine.sif 2>/dev/null || echo none'
matches "rules: berth run says it, too" '^berth: note: --container-image: .*'$'\nb$' \
    "$(on n1 alice env -C /tmp SLURM_JOB_PARTITION=main timeout 180 berth run "$image" cat \
    /etc/berth-image 2>&1)"

site <<'YAML'
runtime:
  raw_args: [--cleanenv]
environment:
  unset: [EDITOR, BOTH]
rules:
  - default: {container-env: [SITE=yes, BOTH=site, TMPDIR=/site]}
  - partition: main
    force: {container-env: "RULE=main"}
  - account: physics
    force: {container-env: "RULE=physics"}
YAML
matches "environment: set, unset, and a rule for the partition" '^yes  main$' \
    "$(alice env EDITOR=vi srun -w n1 -N1 "$image" sh -c 'echo "$SITE $EDITOR $RULE"' 2>&1)"
# SITE, BOTH and RULE, which the user exports, and TMPDIR, as tasks see them.
for it in "an export goes over what is set|own|" \
    "an export goes over what is set, past --cleanenv|own|--container-args=--cleanenv" \
    "--container-env goes over an export|option|--container-env=SITE=option" \
    "nothing is exported|yes|--export=NONE"; do
    IFS='|' read -r title own option <<<"$it"
    try "environment: $title" "$own site main /site" -- \
        env SITE=own BOTH=own RULE=own srun -w n1 -N1 ${option:+"$option"} "$image" sh -c \
        'echo "$SITE $BOTH $RULE $TMPDIR"'
done
matches "environment: explain says which one won, and why" \
    'site: the site unsets it in every container EDITOR .* user: exported, which wins over the site
        .rules. SITE=own site: [^=]*BOTH=site TMPDIR=/site user: --container-env RULE=mine site:
        [^=]*RULE=main' \
    "$(alice env SITE=own BOTH=own srun -w n1 -N1 "$image" --container-env=RULE=mine \
    --container-explain=all true 2>&1 | xargs -d '\n' | tr -s ' ')"
try "a rule goes before the user" '~^main$' -- "${on_n1[@]}" "$image" --container-env=RULE=mine sh \
    -c 'echo $RULE'
matches "a rule asks Slurm, not the environment" '^main$' \
    "$(alice env SLURM_JOB_PARTITION=x srun -w n1 -N1 "$image" sh -c 'echo $RULE' 2>&1)"
matches "a rule asks Slurm for the account" '^physics$' \
    "$(alice env SLURM_JOB_ACCOUNT=x srun -A physics -w n1 -N1 "$image" sh -c 'echo $RULE' 2>&1)"
try "a rule for each component" '~main.*main' -- "${on_n1[@]}" "$image" sh -c 'echo $RULE' : -w n2 \
    -N1 "$image" sh -c 'echo $RULE'
# In a het job Slurm has one SLURM_JOB_PARTITION for all components: that of the last.
on login root scontrol create PartitionName=other Nodes=ALL State=UP
# shellcheck disable=SC2016 # for at_exit
at_exit 'on login root scontrol delete PartitionName=other'
het=(srun -l -w n1 -p main -n1 "$image" sh -c 'echo "$RULE"' : -w n2 -p other -n1 "$image" sh -c \
    'echo "<$RULE>"')
try "het job: a rule for the partition of a component" "0: main${nl}1: <>" sort -- "${het[@]}"
try "... also if a user names another one" "0: main${nl}1: <>" sort -- \
    env SLURM_JOB_PARTITION_PACK_GROUP_0=other SLURM_JOB_PARTITION_HET_GROUP_0=other "${het[@]}"
script het.sh <<'JOB'
#!/bin/sh
#SBATCH -p main -n1
#SBATCH hetjob
#SBATCH -p other -n1
export SLURM_JOB_PARTITION_HET_GROUP_1=main SLURM_JOB_PARTITION_PACK_GROUP_1=main
for groups in 0 1 0,1; do
    srun -l --het-group=$groups --container-image=/images/a.sif sh -c 'echo "<$RULE>"' 2>&1 | sort
done
unset SLURM_JOB_PARTITION_HET_GROUP_1 SLURM_JOB_PARTITION_PACK_GROUP_1
export SLURM_JOB_PARTITION_PACK_GROUP_1=other
srun -l --het-group=0,1 berth run --container-image=/images/a.sif \
    sh -c 'echo "<$RULE>"' 2>/dev/null | sort
JOB
equal "... and in a batch script, for berth run, too" \
    "0: <main>${nl}0: <>${nl}0: <main>${nl}1: <>${nl}0: <main>${nl}1: <>" \
    "$(alice sh -c 'sbatch -Q -W -o het.out het.sh; cat het.out')"
matches "raw_args: a variable of the runtime, before anything is allocated" \
    "^srun: error: berth: APPTAINER_BIND: this variable is a flag .*unset it
        [(]/etc/slurm/berth.yaml:2[)]$" \
    "$(alice env APPTAINER_BIND=/tmp srun -w n1 -N1 "$image" true 2>&1)"
try "raw_args: the login for a pull is no flag" '~^a$' -- \
    env APPTAINER_DOCKER_USERNAME=u APPTAINER_DOCKER_PASSWORD=p APPTAINER_NOHTTPS=1 srun -w n1 -N1 \
    "$image" cat /etc/berth-image

# The user's flags come before the site's, of which the last one wins.
alice sh -c 'echo topsecret >secret'
# sees OPTION...: what a step on n1 sees of the file secret of alice's home directory.
sees() { alice srun -w n1 -N1 "$image" "$@" --chdir=/tmp sh -c \
    'cat ~/secret 2>/dev/null || echo nothing' 2>&1; }
for it in 'rules: [{force: {container-args: [--contain]}}]' 'runtime: {args: [--contain]}'; do
    site <<<"$it"
    equal "$it" nothing "$(sees)"
    equal "... not taken back" nothing "$(sees --container-args=--contain=false)"
    equal "... nor by the short name" nothing "$(sees --container-args=-c=false)"
    equal "... beside flags with values" "nothing" "$(sees \
        '--container-args=--env A=1,B=2 -B /usr:/u')"
    matches "... nor by a flag without its value" 'invalid argument .--disable-cache. for .--env' \
        "$(sees --container-args='--contain=false --env')"
    matches "... nor by another image" 'invalid argument ./images/b.sif. for ' \
        "$(sees --container-args='--cleanenv /images/b.sif')"
    equal "... nor with berth run" nothing "$(on n1 alice env -C /tmp timeout 180 berth run \
        "$image" --container-args=--contain=false sh -c 'cat ~/secret 2>/dev/null || echo nothing' \
        2>&1)"
done

# What a rule forbids does not come in by another name, at any door.
site <<'YAML'
rules: [{forbid: [container-writable, container-mounts]}]
YAML
forbid="it does what --container-writable does, which a rule of this site forbids; leave it out
        ./etc/slurm/berth.yaml:1"
writes=(touch /opt/x)
lines "0 --container-image=/images/a.sif --container-args=--writable-tmpfs touch /opt/x"
matches "forbid: a flag" "^srun: error: berth: --container-args: '--writable-tmpfs': $forbid" \
    "$(alice srun -w n1 -N1 "$image" --container-args=--writable-tmpfs "${writes[@]}" 2>&1)"
matches "forbid: a flag in a line" \
    "'lines': line 1: --container-args: '--writable-tmpfs': $forbid" \
    "$(alice srun -w n1 -N1 --multi-prog lines 2>&1)"
matches "forbid: a variable" "^srun: error: berth: '${RUNTIME}_WRITABLE_TMPFS': $forbid" \
    "$(alice env "${RUNTIME}_WRITABLE_TMPFS=1" srun -w n1 -N1 "$image" "${writes[@]}" 2>&1)"
matches "forbid: a variable by --export" "berth: n1: '${RUNTIME}_WRITABLE_TMPFS': $forbid" \
    "$(alice srun -w n1 -N1 --export="ALL,${RUNTIME}_WRITABLE_TMPFS=1" "$image" "${writes[@]}" \
    2>&1)"
matches "forbid: with berth run" "^berth: '${RUNTIME}_WRITABLE_TMPFS': $forbid" \
    "$(on n1 alice env "${RUNTIME}_WRITABLE_TMPFS=1" timeout 180 berth run "$image" "${writes[@]}" \
    2>&1)"
matches "forbid: from the inside" "'${RUNTIME}_WRITABLE_TMPFS': $forbid" \
    "$(alice srun -w n1 -N1 "$image" env "${RUNTIME}_WRITABLE_TMPFS=1" srun --overlap "$image" \
    "${writes[@]}" 2>&1)"
matches "forbid: a mount by a variable" "'${RUNTIME}_BIND': it does what --container-mounts does" \
    "$(alice env "${RUNTIME}_BIND=/usr:/u" srun -w n1 -N1 "$image" true 2>&1)"
site <<<'rules: [{forbid: [container-args]}]'
matches "forbid: any flag" \
    "${RUNTIME}_CONTAIN: this variable is for the container runtime, and a rule of this site forbids
        --container-args; unset it" \
    "$(alice env "${RUNTIME}_CONTAIN=1" srun -w n1 -N1 "$image" true 2>&1)"

# Nor what the site unsets.
site <<'YAML'
environment: {unset: [FOO]}
runtime: {share: no}
YAML
for it in APPTAINERENV SINGULARITYENV; do
    equal "unset: ${it}_ in a container of a task" "<>" \
        "$(alice env "${it}_FOO=1" srun -w n1 -N1 "$image" sh -c 'echo "<$FOO>"' 2>&1)"
done
matches "unset: by a flag" \
    "^srun: error: berth: --container-args: --env: 'FOO': this site unsets it in every container" \
    "$(alice srun -w n1 -N1 "$image" "--container-args=--env FOO=1" true 2>&1)"
site </dev/null
finish

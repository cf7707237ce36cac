#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The site's store of images (images.store): root fills it from a registry, and all users
# run what is there, by digest and machine, without a pull and without a lock.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/registry.sh"

LOG=/var/log/registry.log
STORE=/shared/store
one=docker://login:5000/app/one:1
image=$STORE/docker+login=5000+app+one@sha256-
index=$STORE/index/docker+login=5000+app+one=1
need_images a b noshell

fill() { on login root env "${RUNTIME}_NOHTTPS=1" berth pull --store "$@" 2>/dev/null; }
bob() { on login bob timeout -k 10 180 "$@"; }
layers() { on login root grep -cE '"GET /v2/app/one/blobs/' $LOG; }

registry_start http://login:5000 $LOG || { result FAIL "the registry starts" \
    "$(on login root cat $LOG)"; exit 1; }
at_exit "on login root rm -rf $STORE"
on login root bash -c "rm -rf $STORE ~alice/.cache/berth ~bob/.cache/berth; mkdir -m 755 $STORE"
site <<YAML
images: {store: $STORE}
provenance: {file: /shared/%u.json}
YAML
a=$(push app/one:1 a)
a=${a#sha256:}
machine=$(on n1 root uname -m)

# One transfer for two users and all nodes.
equal "berth pull --store names the image by its digest" "$image$a-$machine.sif" "$(fill $one)"
before=$(layers)
alice srun -N4 --container-image=$one cat /etc/berth-image >"$work/alice" 2>&1 &
equal "bob runs it on four nodes" $'a\na\na\na' "$(bob srun -N4 --container-image=$one cat \
    /etc/berth-image 2>&1)"
wait
equal "alice runs it at the same time" $'a\na\na\na' "$(<"$work/alice")"
equal "the registry was asked for two layers, once" "2 $before" "$before $(layers)"
try "nobody's cache has it" "~No such file.*status" -- alice ls .cache/berth
matches "the record has the digest" "\"sha256\":\"$a\"" "$(alice tail -n 1 /shared/alice.json)"
try "what is there is not pulled again" "$image$a-$machine.sif" -- fill $one
fill "docker://login:5000/app/one@sha256:$a" >/dev/null
equal "a digest and a tag share a file" 1 "$(on login root bash -c "ls $STORE/*.sif | wc -l")"

# starts JOB: let it start, and wait for its output.
starts() {
    alice scontrol release "$1"
    wait_for 60 alice grep -qs '^[ab]$' "$1.out"
}

# A tag that moves between submission and start.
script job.sh <<'SCRIPT'
#!/bin/sh
srun -n1 cat /etc/berth-image
SCRIPT
job=$(alice sbatch --parsable -H -N1 -o %j.out --container-image=$one ./job.sh)
b=$(push app/one:1 b)
fill --again $one >/dev/null
starts "$job"
equal "a job keeps the digest of its submission, and says so" \
    "srun: berth: note: image '$one': another image has that name by now; this step keeps
        sha256:$a${nl}a" \
    "$(alice cat "$job.out")"
try "a new job has the new one" b -- alice srun -n1 --container-image=$one cat /etc/berth-image

# An image for each machine.
on login root bash -c "cp $image${b#sha256:}-$machine.sif $image$a-aarch64.sif
    printf 04 | dd of=$image$a-aarch64.sif bs=1 seek=45 conv=notrunc status=none
    ln -s ../docker+login=5000+app+one@sha256-$a-aarch64.sif $index-aarch64
    mv $index-$machine $index-away"
try "an image for another machine alone: in one line" \
    "~-aarch64.sif': it is for aarch64 and this machine is $machine; use.*status" -- \
    alice srun -n1 --container-image=$one true
try "the cache's image for this machine comes before it" b -- \
    alice sh -c "${RUNTIME}_NOHTTPS=1 berth pull --again $one >/dev/null 2>&1
        srun -n1 --container-image=$one cat /etc/berth-image"
try "berth images --unused lists what was not used" \
    "~docker://login:5000/app/one:1 +${b:7:12} .* 1970-01-02 +cache" -- \
    alice sh -c "touch -ad 1970-01-02 .cache/berth/*.sif; berth images --unused 9
        berth images --unused 9 --remove >/dev/null"
equal "and --remove removes that from the cache alone" "0 3" \
    "$(alice sh -c "find .cache/berth -name '*.sif' | wc -l") $(on login root bash -c \
    "ls $STORE/*.sif | wc -l")"
job=$(alice sbatch --parsable -H -N1 -o %j.out --container-image=$one ./job.sh)
on login root mv "$index-away" "$index-$machine"
starts "$job"
equal "each node takes the one for its machine" b "$(alice cat "$job.out")"

# Who may write.
try "a user does not fill it" "~belongs to user 0 and has mode 0755; expected user 2001.*status" \
    -- alice berth pull --store docker://login:5000/app/two:1
on login root chmod o+w $STORE/index
try "a store that others can write answers nobody" \
    "~error: berth: images.store: $STORE/index: 'index' can be written by others.*status" -- \
    alice srun -n1 --container-image=$one true
on login root bash -c "chmod o-w $STORE/index; chown alice $STORE"
try "nor does one of a user's" "~images.store: $STORE/index: 'store' belongs to user 2001.*status" \
    -- \
    bob srun -n1 --container-image=$one true
site <<YAML
images: {store: $STORE, store_owner: alice}
YAML
try "unless the site names the user" b -- bob srun -n1 --container-image=$one cat /etc/berth-image
site </dev/null
try "berth pull --store without a store" "~this site has no store; set images.store.*status" -- \
    alice berth pull --store $one

finish

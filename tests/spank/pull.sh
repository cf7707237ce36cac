#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Images from registries: srun, sbatch and salloc pull them once. The runtime is a script.
# shellcheck source=tests/spank/lib.sh
. "${srcdir:-.}/tests/spank/lib.sh"

# The smallest SIF file with a file system in it.
zeros()
{
    head -c "$1" /dev/zero
}
{
    zeros 32
    printf 'SIF_MAGIC'
    zeros 47
    printf '\1'
    zeros 7
    printf '\200'
    zeros 31
    printf '\4\100'
    zeros 2
    printf '\1'
    zeros 891
} >whole.sif

mkdir bin
cat >bin/apptainer <<'END'
#!/bin/sh
# pull FILE URI
[ "$1" = pull ] || exit
echo "$3" >>"$FAKE_CALLS"
case $3 in
    *nobody*)
        echo "FATAL:   While pulling: $3: manifest unknown" >&2
        exit 255
        ;;
esac
echo 'INFO:    words that nobody needs' >&2
cp "$FAKE_IMAGE" "$2"
END
chmod +x bin/apptainer
FAKE_CALLS=$T/calls
FAKE_IMAGE=$T/whole.sif
XDG_CACHE_HOME=$T/cache
PATH=$T/bin:$PATH
export FAKE_CALLS FAKE_IMAGE XDG_CACHE_HOME PATH

# calls NAME COUNT: the number of pulls since the last call is COUNT.
calls()
{
    seen=$([ ! -f calls ] || sed -n '$=' calls)
    rm -f calls
    equal "$1" "$2" "${seen:-0}"
}

end=@sha256-$(sha256sum <whole.sif | cut -d' ' -f1)-$(uname -m).sif
file="T/cache/berth/docker+r+app@${end#@}"
expect 'srun pulls an image' 0 \
    "srun: berth: pulling image 'docker://r/app:1'
0 --container-image=$file uri=docker://r/app:1: ./x" \
    srun --container-image=docker://r/app:1 ./x
expect 'it is in the cache then' 0 "0 --container-image=$file uri=docker://r/app:1: ./x" \
    srun --container-image=docker://r/app:1 ./x
expect 'also for sbatch' 0 '0 host: job.sh' sbatch --container-image=docker://r/app:1 job.sh
calls 'once' 1
expect 'two components pull it once' 0 \
    "srun: berth: pulling image 'oras://r/app'
0 --container-image=T/cache/berth/oras+r+app@${end#@} uri=oras://r/app: ./x
1 --container-image=T/cache/berth/oras+r+app@${end#@} uri=oras://r/app: ./y" \
    srun --container-image=oras://r/app ./x : --container-image=oras://r/app ./y
calls 'for both' 1
expect 'a variable names it too' 0 "0 --container-image=$file uri=docker://r/app:1: ./x" \
    BERTH_CONTAINER_IMAGE=docker://r/app:1 srun ./x
expect 'an image of its own goes over that of the job' 0 '0 --container-image=T/a: ./x' \
    "SLURM_BERTH_JOB=1;*:image=$T/gone.sif&uri=docker://r/app:1;." SLURM_JOB_ID=100 \
    srun --container-image=a ./x
expect 'a job keeps the file that it was submitted with' 0 \
    "0 --container-image=T/bad.sif uri=docker://r/app:1: ./x" \
    "SLURM_BERTH_JOB=1;*:image=$T/bad.sif&uri=docker://r/app:1;." SLURM_JOB_ID=100 srun ./x
expect 'unless it is gone' 0 \
    "srun: berth: image 'docker://r/app:1': the file that the job was submitted with is gone; this
        step runs 'T/cache/berth/docker+r+app$end'
0 --container-image=$file uri=docker://r/app:1: ./x" \
    "SLURM_BERTH_JOB=1;*:image=$T/gone.sif&uri=docker://r/app:1;." SLURM_JOB_ID=100 srun ./x
calls 'without another pull' 0
expect 'a name with a tag, and without a scheme, is an image in a registry' 0 \
    "srun: berth: pulling image 'docker://r/tag:1'
0 --container-image=T/cache/berth/docker+r+tag@${end#@} uri=docker://r/tag:1: ./x" \
    srun --container-image=r/tag:1 ./x
expect 'so is the default of a job' 0 \
    "0 --container-image=T/cache/berth/docker+r+tag@${end#@} uri=docker://r/tag:1: ./x" \
    "FAKE_SCRIPT=srun ./x" sbatch --container-image=r/tag:1 job.sh
expect 'and one with the mark of enroot' 0 \
    "srun: berth: pulling image 'docker://nvcr.io/n/app:1'
0 --container-image=T/cache/berth/docker+nvcr.io+n+app@${end#@} uri=docker://nvcr.io/n/app:1: ./x" \
    srun "--container-image=\$oauthtoken@nvcr.io#n/app:1" ./x
: >r:2
expect 'but not if there is such a file' 1 \
    "srun: error: berth: image 'T/r:2': the file is incomplete; copy or build it again" \
    srun --container-image=r:2 ./x
calls 'two of these were pulled' 2
site 'images: {uris: [docker://nvcr.io]}'
expect 'the site allows other registries' 1 \
    "srun: error: berth: image 'docker://r/tag:1': this site does not allow it; it allows
        docker://nvcr.io (T/berth.yaml:1)" \
    "FAKE_WORDS=$SITE" srun --container-image=r/tag:1 ./x
for job in '' SLURM_JOB_ID=100; do
    expect "a bare word is not, with ${job:-no job}" 1 \
        "srun: error: berth: image 'T/zebra': not found; check the path, and that the nodes see this
            file system, or write docker://zebra for an image of a registry" \
        $job srun --container-image=zebra ./x
done
site 'images: {bare: pull}'
expect 'unless the site says so' 0 \
    "srun: berth: pulling image 'docker://zebra'
0 --container-image=T/cache/berth/docker+zebra@${end#@} uri=docker://zebra: ./x" \
    "FAKE_WORDS=$SITE" srun --container-image=zebra ./x
expect 'also by sbatch' 0 \
    "0 --container-image=T/cache/berth/docker+zebra@${end#@} uri=docker://zebra: ./x" \
    "FAKE_WORDS=$SITE" "FAKE_SCRIPT=srun ./x" sbatch --container-image=zebra job.sh
site 'images: {bare: pull, uris: none}'
expect 'and not if it allows no registry' 1 \
    "srun: error: berth: image 'docker://zebra': this site does not allow it; it allows none
        (T/berth.yaml:1)" \
    "FAKE_WORDS=$SITE" srun --container-image=zebra ./x
calls 'one of these was pulled' 1
expect 'an image that is not in the registry' 1 \
    "srun: berth: pulling image 'docker://r/nobody'
srun: error: berth: image 'docker://r/nobody': T/bin/apptainer did not pull it: While pulling:
        docker://r/nobody: manifest unknown; try it by hand: T/bin/apptainer pull
        docker://r/nobody" \
    srun --container-image=docker://r/nobody ./x
expect 'nor for sbatch' 1 \
    "sbatch: berth: pulling image 'docker://r/nobody'
sbatch: error: berth: image 'docker://r/nobody': T/bin/apptainer did not pull it: While pulling:
        docker://r/nobody: manifest unknown; try it by hand: T/bin/apptainer pull
        docker://r/nobody" \
    sbatch --container-image=docker://r/nobody job.sh
calls 'was asked for twice' 2
expect 'a wrong option is told before anything is pulled' 1 \
    "srun: error: berth: --container-workdir: expected a directory in the image, from /, got 'w'" \
    srun --container-image=docker://r/other --container-workdir=w ./x
expect 'a component on the host pulls nothing' 0 '0 host: ./x' \
    "SLURM_BERTH_JOB=1;*:image=docker://r/other;." SLURM_JOB_ID=100 \
    srun --container-image=none ./x
calls 'really' 0

rm bin/apptainer
if PATH=/usr/local/bin:/usr/bin:/bin:/opt/apptainer/bin command -v apptainer singularity \
    >/dev/null; then
    skip 'without a runtime' 'there is one here'
else
    expect 'without a runtime sbatch leaves it to srun' 0 \
        "sbatch: berth: note: image 'docker://r/other': no container runtime on this host; the first
            srun of the job pulls it
0 host: job.sh" sbatch --container-image=docker://r/other job.sh
    expect 'which needs one' 1 \
        "srun: error: berth: image 'docker://r/other': container runtime: neither apptainer nor
            singularity is installed here; ask the administrators to install one" \
        "SLURM_BERTH_JOB=1;*:image=docker://r/other;." SLURM_JOB_ID=100 srun ./x
fi

finish

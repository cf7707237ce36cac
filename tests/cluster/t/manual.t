#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every command in README.md and doc/ does what is written there. console.sh says how
# documents are read; BERTH_DOCS="doc/mpi.md" runs some of them. doc/admin.md starts where
# there is no berth yet: up to "What users may do" tests/cluster/packages runs it, bundle.t the
# section about OCI bundles, and rest.t that about slurmrestd.

# shellcheck disable=SC2016 # words for other shells
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/console.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/registry.sh"

cd "$here/../../.." || exit 1
need_images a atm blas mpibookworm mpich mpitrixie musl oasisatm oasisocn ocn openblas openmpi \
    pytorch
# Documents leave settings of a site on some hosts, and the next test has its own.
at_exit 'on "login,$nodes" root rm -rf /etc/slurm/berth.yaml /etc/slurm/profiles.d'

# What documents take for granted: a user who has some images, and has not bound an MPI yet.
on n1,n2,n3,n4 root rm -rf /tmp/berth-2001
alice bash -c '
    rm -rf .cache/berth
    rm -f ubuntu.sif noble.sif hello.sif greet.sif
    for image in atm blas mpich musl oasisatm oasisocn ocn openmpi; do
        ln -sfn "/images/$image.sif" "$image.sif"
    done
    ln -sfn /images/openmpi.sif app.sif
    ln -sfn /images/pytorch.sif pytorch.sif
    ln -sfn /images/mpitrixie.sif model.sif
    ln -sfn /images/mpibookworm.sif mpi.sif
    cp /images/mpitrixie.share/mpich/who model
    cp /images/mpibookworm.share/openmpi/cxx cxx
    mkdir -p forcing; echo 1990 >forcing/year; rm -f forcing.sqsh
    head -c 1000000 /images/a.sif >cut.sif
    mkdir -p enroot/workspace
    cp -a /images/a.dir/{bin,etc,lib,lib64,usr} enroot/' || exit 1
# What enroot keeps of an image, in its two files (enroot, src/docker.sh).
on login alice bash -c 'cat >enroot/etc/environment && chmod u+w enroot/etc' <<'END' || exit 1
PATH=/usr/local/bin:/usr/bin:/bin
CUDA_VERSION=12.3
END
on login alice bash -c 'cat >enroot/etc/rc && rm -f image.sqsh &&
    mksquashfs enroot image.sqsh -noD -quiet -noappend -no-progress &&
    rm -rf enroot' <<'END' || exit 1
mkdir -p "/workspace" 2> /dev/null
cd "/workspace" && unset OLDPWD || exit 1

if [ -s /etc/rc.local ]; then
    . /etc/rc.local
fi

if [ $# -gt 0 ]; then
    exec /usr/bin/env ENTRY=image.sqsh "$@"
else
    exec "/bin/sh"
fi
END
script coupler <<'END'
#!/bin/sh
echo "rank $SLURM_PROCID of $SLURM_NTASKS on $SLURMD_NODENAME: coupler, on the host"
END
script hello <<'END'
#!/bin/sh
echo "hello from $SLURMD_NODENAME"
END
on login alice bash -c 'cat >train.py' <<'END' || exit 1
import os
rank, gpu, size, first = map(os.environ.get, "RANK LOCAL_RANK WORLD_SIZE MASTER_ADDR".split())
print(f"rank {rank} of {size}, GPU {gpu} of its node, first node {first}")
END
on login alice bash -c 'cat >hello.def' <<'END' || exit 1
Bootstrap: docker
From: ubuntu:24.04

%files
    hello /usr/bin/hello
END
on login alice sh -c 'cat >namcouple' <"$here/../oasis/namcouple" || exit 1
# Documents name Docker's registry, and no test reaches that: a registry of our own answers
# to its name, on the login host only.
registry_start https://index.docker.io /var/log/registry.log registry-1.docker.io || exit 1
push library/ubuntu:24.04 'Ubuntu 24.04 LTS' >/dev/null || exit 1
push library/debian:12 'Debian GNU/Linux 12 (bookworm)' >/dev/null || exit 1

for document in ${BERTH_DOCS:-README.md doc/*.md}; do
    case $document in
    doc/admin.md)
        sed -e '1,/^## What users may do$/s/.*//' -e '/^### OCI bundles$/,/^## /s/.*//' \
            "$document" >"$work/admin.md"
        console_document "$work/admin.md" "$document"
        ;;
    doc/network.md)
        openblas_install n1,n2,n3,n4
        task_prolog
        console_document "$document"
        no_task_prolog
        openblas_remove n1,n2,n3,n4
        ;;
    *) console_document "$document" ;;
    esac
done

finish

# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The releases we test on: which Debian suite, which Slurm, which packages.

RELEASES=(bookworm trixie sid)
MORE_PACKAGES=()

release_check() {
    case ${1-} in
    bookworm | trixie | sid) ;;
    *) die "unknown release '${1-}'; expected ${RELEASES[*]}" ;;
    esac
}

# The packages of RELEASE's root tree, with MORE_PACKAGES, one per line.
release_packages() {
    local all=(
        # what a cluster is made of
        slurmctld slurmd slurm-client libslurm-dev munge
        iproute2 procps util-linux strace tini uidmap python3-minimal
        # what berth is built with
        gcc make autoconf automake pkg-config check patchelf
        libyaml-dev libelf-dev libpmix-dev libc6-dev file
        # what Apptainer starts
        squashfs-tools squashfuse fuse2fs fuse3 fuse-overlayfs ca-certificates
        libseccomp2 libsqlite3-0 gocryptfs tzdata
        # the site's own MPI, with Fortran
        libmpich12
    )
    case $1 in
    bookworm) all+=(libpmix2 libopenmpi3) ;;
    *) all+=(libpmix2t64 apptainer libopenmpi40) ;;
    esac
    case $1 in
    # a registry of images, for tests that need one release only
    trixie) all+=(docker-registry curl) ;;
    esac
    printf '%s\n' "${all[@]}" "${MORE_PACKAGES[@]}"
}

# The machine's own Debian mirror, as apt knows it.
release_mirror() {
    # shellcheck disable=SC2016 # $(...) is apt's own notation here
    apt-get indextargets --format '$(SUITE) $(CODENAME) $(REPO_URI)' |
        awk '$1 !~ /security|updates|backports/ && $3 ~ /debian\/?$/ { print $3; exit }'
}

# The apt sources of RELEASE's tree.  Apptainer is packaged in sid only.
release_sources() {
    local release=$1 mirror=$2
    printf 'deb %s %s main\n' "$mirror" "$release"
    [[ $release == sid ]] || printf 'deb %s sid main\n' "$mirror"
}

# Written into the tree before packages are chosen: sid is there for Apptainer
# and what it is shipped together with, and nothing else.
release_preferences() {
    [[ $1 != sid ]] || return 0
    printf 'Package: *\nPin: release n=sid\nPin-Priority: -1\n\n'
    printf 'Package: apptainer containernetworking-plugins\n'
    printf 'Pin: release n=sid\nPin-Priority: 990\n'
}

# unpack_once NAME TREE TITLE COMMAND...: runs COMMAND, which makes the directory TREE, if TREE
# is not there. The lock of NAME lets one process at a time do so.
unpack_once() {
    local name=$1 tree=$2 title=$3 lock
    shift 3
    [[ ! -d $tree ]] || return 0
    need_packages mmdebstrap debian-archive-keyring
    mkdir -p "$BERTH_CACHE/rootfs"
    exec {lock}>"$BERTH_CACHE/rootfs/.$name.lock"
    flock "$lock"
    [[ -d $tree ]] || step "unpacking $title (once)" "$@"
    exec {lock}>&-
}

# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Test images, made from the recipes in images/.  They live in the cache and are
# the same for every cluster, whatever its release: /images/NAME.sif.
#
# A recipe is a bash file which sets
#   IMAGE_BASE      Debian release to start from; `none`: an empty tree
#   IMAGE_PACKAGES  what is in the image besides the base
#   IMAGE_TOOLS     packages that only `post` needs, besides compilers and both MPIs
#   IMAGE_WHEELS    Python wheels (see wheel.sh), each in /opt/NAME-VERSION
#   IMAGE_SOURCES   directories beside images/ that `post` reads
#   IMAGE_SANDBOX   yes: also make the unpacked tree /images/NAME.dir
#   IMAGE_SHARE     a directory of the image that is also /images/NAME.share
# and may define functions: post ROOT (run as root, in a box that has gcc),
# environment and runscript, which print those sections.

image_read() {
    local recipe=$HERE/images/$1
    [[ ${1-} =~ ^[a-z0-9]+$ && -f $recipe ]] || die \
        "no image recipe '${1-}'; there are: $(image_names)"
    # shellcheck disable=SC2034 # image-build reads the rest
    IMAGE_BASE=bookworm IMAGE_PACKAGES=() IMAGE_TOOLS=() IMAGE_SANDBOX=''
    IMAGE_WHEELS=() IMAGE_SOURCES=() IMAGE_SHARE=''
    # shellcheck source=/dev/null
    . "$recipe"
}

image_names() {
    (cd "$HERE/images" && printf '%s\n' * | grep -v '[.]' | paste -sd' ')
}

# image_inputs IMAGE: the files that decide what the image holds, one a line: its
# recipe, what that names of images/, and all of the directories it asks for.
image_inputs() {
    local it
    printf '%s\n' "images/$1" lib/image-build
    for it in images/*.{c,sh}; do
        ! grep -qwF -- "${it##*/}" "images/$1" || printf '%s\n' "$it"
    done
    ((${#IMAGE_SOURCES[@]} == 0)) || find "${IMAGE_SOURCES[@]}" -type f | LC_ALL=C sort
}

# image_hash IMAGE: what image_read has read, and all else that decides about it.
image_hash() {
    {
        declare -f image_tree image_packages image_base
        (cd "$HERE" && image_inputs "$1" | xargs cat)
    } | sha256sum | cut -c1-16
}

# image_command NAME IMAGE
image_command() {
    local image=${2-} hash stamp lock
    image_read "$image"
    hash=$(image_hash "$image")
    stamp=$BERTH_CACHE/image-work/$image.hash
    if [[ ! -f $stamp || $(<"$stamp") != "$hash" ]]; then
        need_packages mmdebstrap debian-archive-keyring
        mkdir -p "$BERTH_CACHE"/{images,image-work}
        exec {lock}>"$BERTH_CACHE/image-work/$image.lock"
        flock "$lock"
        if [[ ! -f $stamp || $(<"$stamp") != "$hash" ]]; then
            step "building image $image (once)" quietly "$BERTH_CACHE/image-work/$image.log" \
                "$HERE/cluster" build_image "$image" "$(<"$STATE/rootfs")"
            printf '%s\n' "$hash" >"$stamp"
        fi
        exec {lock}>&-
    fi
    printf '/images/%s.sif\n' "$image"
}

# image_build IMAGE TREES: in a box on the last of TREES, and in a mount namespace of its own.
image_build() {
    local image=$1 tree=$2 images=$BERTH_CACHE/images
    local half=$BERTH_CACHE/image-work/$image.half
    rm -rf --one-file-system -- "$half"
    CLEANUP_PATHS+=("$half")
    CLEANUP_HOOKS+=("image_unmount")
    mkdir -p "$half"/{tree,layer}
    mount -t tmpfs -o mode=755,size=90% layer "$half/layer"
    image_tree "$half/tree"
    boxed "$half/log" "${tree##*:}" \
        "$half:/box" "$HERE:/cluster" -- /cluster/lib/image-build "$image"
    mv -T "$half/out.sif" "$images/$image.sif"
    if [[ -d $half/out.dir ]]; then
        rm -rf --one-file-system -- "$images/$image.dir"
        mv -T "$half/out.dir" "$images/$image.dir"
    fi
    if [[ $IMAGE_SHARE ]]; then
        rm -rf --one-file-system -- "$images/$image.share"
        cp -aT "$half/tree$IMAGE_SHARE" "$images/$image.share"
    fi
}

image_unmount() { umount "$BERTH_CACHE"/image-work/*.half/{tree,layer} 2>/dev/null; }

# image_tree DIR: the packages and wheels, unpacked.
image_tree() {
    local wheel
    image_packages "$1"
    for wheel in "${IMAGE_WHEELS[@]}"; do
        wheel_ensure "$wheel"
        mkdir -p "$1/opt"
        cp -a "$REPLY" "$1/opt/"
    done
}

# A tree begins as a layer over one with nothing else, or over one with what `post` needs, which
# `image-build` removes.
image_packages() {
    local dir=$1 all=("${IMAGE_PACKAGES[@]}" "${IMAGE_TOOLS[@]}")
    local tools='gcc g++ gfortran libc6-dev libmpich-dev libopenmpi-dev'
    if [[ $IMAGE_BASE == none ]]; then
        return
    elif ((${#all[@]} == 0)); then
        image_base "$IMAGE_BASE" "$dir" --variant=essential
    else
        image_base "$IMAGE_BASE-mpi" "$dir" --variant=apt --skip=cleanup/apt/lists \
            --include="${tools// /,}" --customize-hook="chroot \"\$1\" apt-mark auto $tools"
        quietly "${dir%/tree}.install.log" env DEBIAN_FRONTEND=noninteractive apt-get -o \
            Dir="$dir" -o DPkg::Chroot-Directory="$dir" \
            -o Dir::State::status="$dir/var/lib/dpkg/status" -o APT::Sandbox::User=root \
            -o APT::Install-Recommends=false -y install "${all[@]}"
    fi
}

# image_base NAME DIR MMDEBSTRAP-OPTION...: NAME is unpacked once, and seen in DIR.
image_base() {
    local trees=$BERTH_CACHE/image-work/$1 dir=$2 base lock small=()
    base=$trees@$(declare -f image_base image_packages | sha256sum | cut -c1-12)
    shift 2
    exec {lock}>"$trees.lock"
    flock "$lock"
    if [[ ! -d $base ]]; then
        rm -rf --one-file-system -- "$trees"{,@*}
        CLEANUP_PATHS+=("$base.half")
        # Debian 12's usrmerge would bring all of Perl along.
        # shellcheck disable=SC2016 # $1 is for mmdebstrap's shell
        [[ $IMAGE_BASE != bookworm ]] || small=(--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr
            --setup-hook='mkdir -p "$1/etc/apt/preferences.d" && printf "%s\n" "Package: usrmerge" \
                "Pin: release *" "Pin-Priority: -1" >"$1/etc/apt/preferences.d/usrmerge"')
        quietly "$base.unpack.log" mmdebstrap \
            --aptopt='Acquire::Check-Valid-Until "false"' \
            --aptopt='APT::Install-Recommends "false"' \
            --dpkgopt='path-exclude=/usr/share/man/*' \
            --dpkgopt='path-exclude=/usr/share/doc/*' \
            --dpkgopt='path-exclude=/usr/share/locale/*' \
            --dpkgopt='path-exclude=/usr/share/zoneinfo/*' \
            --dpkgopt=force-unsafe-io \
            "${small[@]}" "$@" "$IMAGE_BASE" "$base.half" "$(release_mirror)"
        mv -T "$base.half" "$base"
    fi
    exec {lock}>&-
    mkdir "${dir%/*}"/layer/{upper,work}
    mount -t overlay -o \
        "lowerdir=$base,upperdir=${dir%/*}/layer/upper,workdir=${dir%/*}/layer/work" overlay "$dir"
}

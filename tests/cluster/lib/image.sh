# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Test images, made from the recipes in images/.  They live in the cache and are
# the same for every cluster, whatever its release: /images/NAME.sif.
#
# A recipe is a bash file which sets
#   IMAGE_BASE      Debian release to start from; `none`: an empty tree
#   IMAGE_PACKAGES  what is in the image besides the base
#   IMAGE_TOOLS     packages that only `post` needs
#   IMAGE_WHEELS    Python wheels (see wheel.sh), each in /opt/NAME-VERSION
#   IMAGE_SOURCES   directories beside images/ that `post` reads
#   IMAGE_SANDBOX   yes: also make the unpacked tree /images/NAME.dir
#   IMAGE_SHARE     a directory of the image that is also /images/NAME.share
# and may define functions: post ROOT (run as root, in a box that has gcc),
# environment and runscript, which print those sections.

image_read() {
    local recipe=$HERE/images/$1
    [[ ${1-} =~ ^[a-z0-9]+$ && -f $recipe ]] || die "no image recipe '${1-}'; there are: $(image_names)"
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
        declare -f image_tree image_packages image_copy image_unpack
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
            step "building image $image (once)" image_build "$image"
            printf '%s\n' "$hash" >"$stamp"
        fi
        exec {lock}>&-
    fi
    printf '/images/%s.sif\n' "$image"
}

image_build() {
    local image=$1 images=$BERTH_CACHE/images
    local half=$BERTH_CACHE/image-work/$image.half tree
    tree=$(<"$STATE/rootfs")
    rm -rf --one-file-system -- "$half"
    CLEANUP_PATHS+=("$half")
    mkdir -p "$half"
    image_tree "$half/tree"
    boxed "$BERTH_CACHE/image-work/$image.log" "${tree##*:}" \
        "$half:/box" "$HERE:/cluster" -- /cluster/lib/image-build "$image"
    mv -T "$half/out.sif" "$images/$image.sif"
    if [[ -d $half/out.dir ]]; then
        rm -rf --one-file-system -- "$images/$image.dir"
        mv -T "$half/out.dir" "$images/$image.dir"
    fi
    if [[ $IMAGE_SHARE ]]; then
        rm -rf --one-file-system -- "$images/$image.share"
        mv -T "$half/tree$IMAGE_SHARE" "$images/$image.share"
    fi
    rm -rf --one-file-system -- "$half"
}

# image_tree DIR: the packages and wheels, unpacked.
image_tree() {
    local wheel
    mkdir -p "$1"
    image_packages "$1"
    for wheel in "${IMAGE_WHEELS[@]}"; do
        wheel_ensure "$wheel"
        mkdir -p "$1/opt"
        cp -a "$REPLY" "$1/opt/"
    done
}

# Copies of a tree are made in less time than packages are unpacked: of one with nothing
# else, and of one with the compilers, which `image-build` removes where they are tools.
image_packages() {
    local dir=$1 all=("${IMAGE_PACKAGES[@]}" "${IMAGE_TOOLS[@]}")
    if [[ $IMAGE_BASE == none ]]; then
        return
    elif ((${#all[@]} == 0)); then
        image_copy "$IMAGE_BASE" "$dir" --variant=essential
    else
        image_copy "$IMAGE_BASE-gcc" "$dir" --variant=apt --skip=cleanup/apt/lists \
            --include=gcc,g++,gfortran,libc6-dev
        quietly "${dir%/tree}.install.log" env DEBIAN_FRONTEND=noninteractive apt-get -o Dir="$dir" -o DPkg::Chroot-Directory="$dir" \
            -o Dir::State::status="$dir/var/lib/dpkg/status" -o APT::Sandbox::User=root \
            -o APT::Install-Recommends=false -y install "${all[@]}"
    fi
}

# image_copy NAME DIR MMDEBSTRAP-OPTION...: NAME is unpacked once.
image_copy() {
    local base=$BERTH_CACHE/image-work/$1 dir=$2 lock
    shift 2
    exec {lock}>"$base.lock"
    flock "$lock"
    if [[ ! -d $base ]]; then
        rm -rf --one-file-system -- "$base.half"
        CLEANUP_PATHS+=("$base.half")
        image_unpack "$base.half" "$@"
        mv -T "$base.half" "$base"
    fi
    exec {lock}>&-
    cp -aT "$base" "$dir"
}

image_unpack() {
    local dir=$1
    shift
    quietly "${dir%/tree}.unpack.log" mmdebstrap \
        --aptopt='Acquire::Check-Valid-Until "false"' \
        --aptopt='APT::Install-Recommends "false"' \
        --dpkgopt='path-exclude=/usr/share/man/*' \
        --dpkgopt='path-exclude=/usr/share/doc/*' \
        --dpkgopt='path-exclude=/usr/share/locale/*' \
        --dpkgopt='path-exclude=/usr/share/zoneinfo/*' \
        "$@" "$IMAGE_BASE" "$dir" "$(release_mirror)"
}

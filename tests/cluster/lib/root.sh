# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The file system of one host: made inside a mount namespace of its own, by the
# shell that then lives in it.  pivot_root, never chroot: the kernel refuses
# user namespaces inside a chroot, and Apptainer needs them.

# root_stack TREES: a writable view of them (lowerdir= of overlayfs, the first on top) which
# nobody else sees; becomes the working directory.
root_stack() {
    local base=/mnt
    mount -t tmpfs -o mode=755,size=90% tmpfs "$base"
    mkdir "$base"/{upper,work,root}
    mount -t overlay overlay "$base/root" \
        -o "lowerdir=$1,upperdir=$base/upper,workdir=$base/work"
    cd "$base/root" || return
}

root_devices() {
    local it
    mount -t tmpfs -o mode=755,nosuid tmpfs dev
    while read -r it; do
        # shellcheck disable=SC2086
        mknod -m 666 $it
    done <<-'END'
	dev/null c 1 3
	dev/zero c 1 5
	dev/full c 1 7
	dev/random c 1 8
	dev/urandom c 1 9
	dev/tty c 5 0
	dev/fuse c 10 229
	END
    mkdir dev/pts dev/shm
    mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts dev/pts
    mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs dev/shm
    ln -s pts/ptmx dev/ptmx
    ln -s /proc/self/fd dev/fd
    ln -s fd/0 dev/stdin
    ln -s fd/1 dev/stdout
    ln -s fd/2 dev/stderr
}

root_kernel() {
    mount -t proc -o nosuid,nodev,noexec proc proc
    mount -t sysfs -o ro,nosuid,nodev,noexec sysfs sys
    mount -t tmpfs -o mode=755,nosuid,nodev tmpfs run
    mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs tmp
}

# root_bind SOURCE [PLACE [OPTIONS]]: shows a directory of the machine.
root_bind() {
    local source=$1 place=${2:-$1}
    mkdir -p ".$place"
    mount --rbind "$source" ".$place"
    [[ -z ${3-} ]] || mount -o "remount,bind,$3" ".$place"
}

# root_enter: the working directory becomes /, the machine's tree goes away.
root_enter() {
    mkdir -p .machine
    pivot_root . .machine
    cd /
    umount -l /.machine
    rmdir /.machine
}

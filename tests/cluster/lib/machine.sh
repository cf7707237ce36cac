# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The hosts of `up --machines`: virtual machines with systemd, cgroup v2, AppArmor and
# accounting, as sites have them. `login` is n1. With KVM where it works, else emulated; a file
# system each, on a disk that is made once.

# The port on this machine that leads to ssh of n0, if there was one; n1 has the next.
MACHINE_PORT=22130
MACHINE_PACKAGES=(systemd-sysv dbus udev kmod linux-image-amd64 initramfs-tools openssh-server
    slurmdbd slurm-wlm-mysql-plugin mariadb-server apparmor libpam-systemd)

# Lines of slurm.conf that differ from those of other clusters.
machine_conf() {
    printf '%s\n' 'SlurmctldHost=n1(login)' \
        "NodeName=n[1-$1] CPUs=2 RealMemory=1800 Gres=gpu:2 State=UNKNOWN" \
        ProctrackType=proctrack/cgroup TaskPlugin=task/cgroup,task/affinity \
        JobAcctGatherType=jobacct_gather/cgroup JobAcctGatherFrequency=1 \
        PrologFlags=Contain SelectTypeParameters=CR_CPU_Memory DefMemPerCPU=300 UsePAM=1 \
        AccountingStorageType=accounting_storage/slurmdbd AccountingStorageHost=login \
        AccountingStoreFlags=job_comment JobRequeue=1 AuthInfo=cred_expire=30
}

# machine_ensure NODES: sets REPLY_MACHINE to a directory with disk, kernel and initrd, and adds
# to UP_CONF.
machine_ensure() {
    local hash
    mapfile -t -O "${#UP_CONF[@]}" UP_CONF < <(machine_conf "$1")
    need_packages qemu-system-x86 qemu-utils openssh-client e2fsprogs
    hash=$({
        rootfs_recipe trixie
        printf '%s\n' "${MACHINE_PACKAGES[@]}"
        declare -f machine_build machine_settings
    } | sha256sum)
    REPLY_MACHINE=$BERTH_CACHE/rootfs/machine-${hash:0:12}
    unpack_once machine "$REPLY_MACHINE" "Debian trixie with a kernel and systemd" machine_build \
        "$REPLY_MACHINE"
}

machine_build() {
    local tree=$1.tree half=$1.new
    CLEANUP_PATHS+=("$tree" "$half")
    rm -rf --one-file-system -- "$half" "$BERTH_CACHE/rootfs/machine"-*
    # shellcheck disable=SC2034 # for release_packages
    local MORE_PACKAGES=("${MACHINE_PACKAGES[@]}")
    rootfs_build trixie "$tree"
    mkdir "$half"
    ssh-keygen -q -t ed25519 -N '' -f "$half/key"
    install -D -m 600 "$half/key.pub" "$tree/root/.ssh/authorized_keys"
    machine_settings "$tree" >>"$tree.log" 2>&1
    cp -L "$tree"/boot/vmlinuz-* "$half/vmlinuz"
    cp -L "$tree"/boot/initrd.img-* "$half/initrd"
    mkfs.ext4 -q -d "$tree" "$half/disk" 6G >>"$tree.log" 2>&1
    rm -rf --one-file-system -- "$tree"
    mv -T "$half" "$1"
}

# machine_settings TREE: networks, file systems of all hosts, what starts at boot.
machine_settings() {
    local tree=$1 it
    install -D /dev/stdin "$tree/etc/systemd/system/addresses.service" <<-'END'
	[Unit]
	DefaultDependencies=no
	Before=network.target
	[Service]
	Type=oneshot
	RemainAfterExit=yes
	ExecStart=sh -c 'until ip link show eth1; do sleep 0.2; done >/dev/null 2>&1'
	ExecStart=sh -c 'ip addr add 10.0.2.15/24 dev eth0; ip addr add 10.83.1.$$(($$(hostname | tr -d n) + 1))/16 dev eth1'
	ExecStart=sh -c 'for it in lo eth0 eth1; do ip link set $$it up; done'
	[Install]
	WantedBy=sysinit.target
	END
    printf '/dev/vda / ext4 rw,noatime 0 1\n' >"$tree/etc/fstab"
    for it in home:mmap shared:mmap images:loose wheels:loose; do
        printf '%s /%s 9p trans=virtio,version=9p2000.L,msize=512000,cache=%s 0 0\n' \
            "${it%:*}" "${it%:*}" "${it#*:}" >>"$tree/etc/fstab"
    done
    mkdir -p "$tree/wheels"
    printf 'MaxSessions 500\nMaxStartups 100\n' >"$tree/etc/ssh/sshd_config.d/tests.conf"
    echo 'session required pam_limits.so' >"$tree/etc/pam.d/slurm"
    echo '* hard nofile 5000' >"$tree/etc/security/limits.d/tests.conf"
    printf '%s\n' virtio_pci virtio_blk virtio_net ext4 9p 9pnet_virtio \
        >>"$tree/etc/initramfs-tools/modules"
    echo 'd /run/slurm 0755 slurm slurm' >"$tree/etc/tmpfiles.d/slurm.conf"
    # libmariadb 11.8.9 refuses what slurmdbd asks first: "execeeds maxmimum allowed number of
    # columns".
    apt_download "$tree/opt" bookworm "$(release_mirror)" libmariadb3
    dpkg-deb -x "$tree"/opt/libmariadb3_*.deb "$tree/opt/libmariadb"
    rm "$tree"/opt/*.deb
    install -D /dev/stdin "$tree/etc/systemd/system/slurmdbd.service.d/library.conf" <<-END
	[Service]
	Environment=LD_LIBRARY_PATH=/opt/libmariadb/usr/lib/x86_64-linux-gnu
	END
    chroot "$tree" systemctl enable addresses ssh
    # What costs seconds of an emulated boot, and no test asks for.
    chroot "$tree" systemctl mask systemd-binfmt systemd-pstore systemd-network-generator \
        systemd-networkd \
        systemd-rfkill systemd-random-seed systemd-update-utmp serial-getty@ttyS0 getty@tty1 \
        modprobe@{drm,configfs,efi_pstore}.service sys-kernel-{config,debug,tracing}.mount \
        dev-{hugepages,mqueue}.mount \
        {apt-daily,apt-daily-upgrade,dpkg-db-backup,e2scrub_all,fstrim}.timer \
        systemd-tmpfiles-clean.timer e2scrub_reap
    chroot "$tree" systemctl disable munge mariadb slurmdbd slurmctld slurmd
    # What takes minutes of a boot that is emulated: Debian's profiles are compiled, all modules
    # unpacked, and caches made as after an upgrade.
    find "$tree/etc/apparmor.d" -maxdepth 1 -type f -delete
    sed -i 's/^MODULES=.*/MODULES=list/' "$tree/etc/initramfs-tools/initramfs.conf"
    chroot "$tree" update-initramfs -u
    touch "$tree"/{etc,var}/.updated
}

# machines_start NODES: boots them, brings them what state_write has written, starts Slurm.
machines_start() {
    local i
    printf '%s\n' "$REPLY_MACHINE" >"$STATE/machines"
    machine_accel >"$STATE/accel"
    machine_accounting
    for ((i = 1; i <= $1; i++)); do machine_boot "$i"; done
    cp "$STATE/hosts/n1" "$STATE/hosts/login"
    cp "$STATE/hosts/n1" "$STATE/world"
    step "$1 machines boot ($(<"$STATE/accel"))" machines_await "$1"
    step "their daemons start" machines_slurm "$1"
}

machines_await() {
    local i
    for ((i = 1; i <= $1; i++)); do machine_await "n$i"; done
}

machines_slurm() {
    local i
    machine_do n1 'systemctl start mariadb && mariadb -e "create user slurm@localhost; grant all on slurm_acct_db.* to slurm@localhost"
        systemctl start slurmdbd
        until (: </dev/tcp/login/6819) 2>/dev/null; do sleep 0.2; done
        systemctl start slurmctld'
    for ((i = 1; i <= $1; i++)); do machine_do "n$i" 'systemctl start slurmd'; done
}

# machine_accel: print kvm if it runs a kernel until that finds no disk, which KVM in a virtual
# machine may not do though it is there, else tcg.
machine_accel() {
    if [[ -w /dev/kvm ]] && { timeout 10 qemu-system-x86_64 -machine q35,accel=kvm -cpu max -m 256 \
        -no-reboot -display none \
        -monitor none -serial none -kernel "$REPLY_MACHINE/vmlinuz" -append panic=-1 </dev/null; } \
        >/dev/null 2>&1; then
        echo kvm
    else
        echo tcg
    fi
}

machine_accounting() {
    install -m 600 /dev/stdin "$STATE/etc/slurm/slurmdbd.conf" <<-END
	AuthType=auth/munge
	DbdHost=n1
	DbdAddr=login
	SlurmUser=slurm
	StorageType=accounting_storage/mysql
	StorageUser=slurm
	LogFile=/var/log/slurm/slurmdbd.log
	PidFile=/run/slurm/slurmdbd.pid
	END
    printf '%s\n' CgroupPlugin=cgroup/v2 ConstrainCores=yes ConstrainRAMSpace=yes \
        >"$STATE/etc/slurm/cgroup.conf"
    # The same addresses, but login is n1.
    sed -i 's/^10\.83\.0\.1 login$//; s/ n1$/ n1 login/' "$STATE/etc/hosts"
}

# machine_boot NUMBER
machine_boot() {
    local host=n$1 mount mounts=() machine
    machine=$(<"$STATE/machines")
    mkdir -p "$BERTH_CACHE/machines/${STATE##*/}"
    [[ -e $BERTH_CACHE/machines/${STATE##*/}/$host ]] ||
        qemu-img create -q -f qcow2 -b "$machine/disk" -F raw \
        "$BERTH_CACHE/machines/${STATE##*/}/$host"
    for mount in home shared images wheels; do
        mounts+=(-virtfs "local,path=$(realpath \
            "$STATE/$mount"),mount_tag=$mount,security_model=passthrough")
    done
    "${CLEAN_ENV[@]}" qemu-system-x86_64 -machine "q35,accel=$(<"$STATE/accel")" -cpu Nehalem -smp \
        2 -m 2048 \
        -no-reboot -display none -monitor none -serial "file:$STATE/log/$host" \
        -kernel "$machine/vmlinuz" -initrd "$machine/initrd" \
        -append "root=/dev/vda rw quiet mitigations=off console=ttyS0 net.ifnames=0 \
systemd.hostname=$host" \
        -drive "file=$BERTH_CACHE/machines/${STATE##*/}/$host,if=virtio,cache=unsafe" \
        -nic "user,model=virtio,hostfwd=tcp:127.0.0.1:$((MACHINE_PORT + $1))-:22" \
        -nic "socket,model=virtio,mac=52:54:00:84:00:0$1,mcast=230.84.0.1:12340" "${mounts[@]}" \
        -pidfile "$STATE/$host.pid" -daemonize {STATE_LOCK}>&-
    process_line "$(<"$STATE/$host.pid")"
    printf '%s\n' "$REPLY" >"$STATE/hosts/$host"
}

# machine_power HOST: the machine loses its power, and starts again.
machine_power() {
    kill -KILL "$(<"$STATE/$1.pid")" 2>/dev/null || true
    while process_alive "$STATE/hosts/$1"; do sleep 0.1; done
    rm -f "$STATE/ssh-$1"
    machine_boot "${1#n}"
    machine_await "$1"
    machine_do "$1" 'systemctl start slurmd'
}

# machine_await HOST: until it answers; it has the cluster's files when this returns.
machine_await() {
    local i
    machine_ssh "$1"
    for ((i = 0; i < 120; i++)); do
        ! "${MACHINE_SSH[@]}" -o ConnectTimeout=5 -fNM 2>/dev/null || break
        sleep 1
    done
    tar -C "$STATE/etc" -c . | machine_do "$1" 'tar -C /etc --no-same-owner -x
        chown slurm: /etc/slurm/slurmdbd.conf
        chown munge: /etc/munge/munge.key; chmod 400 /etc/munge/munge.key
        install -d -o slurm -g slurm /var/log/slurm /var/lib/slurm/slurmctld /var/spool/slurmd
        systemctl restart munge'
}

# machine_ssh HOST: sets MACHINE_SSH to what starts commands there.
machine_ssh() {
    local host=${1/login/n1}
    MACHINE_SSH=(ssh -qT -p $((MACHINE_PORT + ${host#n})) -i "$(<"$STATE/machines")/key"
        -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o \
            ControlPath="$STATE/ssh-$host" root@127.0.0.1)
}

# machine_do HOST COMMAND: COMMAND of a shell, as root.
machine_do() {
    machine_ssh "$1"
    "${MACHINE_SSH[@]}" "$2"
}

# machines_install STAGE
machines_install() {
    local host
    for host in $(state_nodes); do
        tar -C "$1" -c . | machine_do "$host" \
            'tar -C / --no-same-owner --keep-directory-symlink -x && systemctl restart slurmd'
    done
    machine_do n1 'systemctl restart slurmctld'
}

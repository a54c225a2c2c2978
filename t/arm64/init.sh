#!/bin/busybox sh
# shellcheck shell=dash
# SPDX-License-Identifier: GPL-2.0-or-later
# The first program in the emulated machine: finds the root, and runs /line in it. See run.sh.
b=/bin/busybox
off() {
	$b sync
	$b poweroff -f
}

$b mount -t devtmpfs none /dev
$b mount -t proc none /proc
while read -r module; do
	$b insmod "$module"
done </order
if ! $b mount -t ext4 /dev/vda /mnt; then
	echo "arm64: no root was found"
	off
fi
$b mkdir -p /mnt/dev /mnt/proc /mnt/sys /mnt/tmp
$b mount -o move /dev /mnt/dev
$b mkdir -p /mnt/dev/pts /mnt/dev/shm
$b mount -t devpts none /mnt/dev/pts
$b mount -t tmpfs none /mnt/dev/shm
$b mount -t tmpfs none /mnt/tmp
$b mount -t proc none /mnt/proc
$b mount -t sysfs none /mnt/sys
$b mount -t cgroup2 none /mnt/sys/fs/cgroup
$b ip link set lo up
$b chroot /mnt /sbin/ldconfig # programs find libraries without it, but tests ask it which there are
$b chroot /mnt /bin/sh /line
off

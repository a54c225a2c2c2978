#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# run.sh [TEST ...]: what `make check-arm64` does: builds for arm64, boots Debian's kernel for
# arm64 in an emulated machine, and runs tests there with Debian's Ruby for arm64. Prints what
# prove prints, and exits as it does.
#
#   TEST      t/x.t: these instead of those in t/arm64/tests
#   LINE=..   a line for the shell, instead of tests
#   SUITE=..  another Debian than this machine's, such as trixie
#   KERNEL=.. the package of another kernel, such as linux-image-arm64-16k (pages of 16 KiB)
#   IMAGE=..  the file of a kernel of your own, such as one with pages of 64 KiB, which Debian lacks. It has no modules: the
#             drivers of virtio_pci, virtio_blk, ext4 and the console ttyAMA0 are built in
#   CFLAGS    more of them, such as -mbranch-protection=standard
#   CPU=NAME  another processor of qemu's than the newest
#
# This machine needs apt-get, Debian's sources, and a few packages (t/lib/packages, arm64). Packages
# for arm64 are unpacked in .build/arm64 (.build/arm64-SUITE), and not installed. All that was printed is in its log.
# shellcheck disable=SC2317 # mw_quietly calls functions by their names
set -eu
cd "$(dirname "$0")/../.."
. t/lib/setup.sh

to=$PWD/.build/arm64${SUITE:+-$SUITE}
root=$to/root
tree=$to/mwrap
CPU=${CPU:-max,pauth-impdef=on}
memory=4096 # MB
limit=10800 # seconds

# shellcheck disable=SC2329 # mw_quietly calls it
# apt COMMAND...: apt-get for arm64, of a system in which nothing is installed
apt() {
	APT_CONFIG=$to/apt.conf apt-get -qq -o Acquire::Retries=3 "$@"
}

# made_of: what decides about the root
made_of() {
	echo "${KERNEL:-linux-image-arm64}"
	cat t/arm64/packages t/arm64/init.sh
}

# packages: the names in t/arm64/packages, and the kernel's
packages() {
	local name
	export APT_CONFIG=$to/apt.conf
	for name in "${KERNEL:-linux-image-arm64}" $(sed 's/#.*//' t/arm64/packages); do
		mw_choose "$name"
	done
}

# write_sources: those of $SUITE, from where this machine's own Debian comes
write_sources() {
	local mirror
	mirror=$(mw_mirror)
	[ -n "$mirror" ] || mw_die "SUITE=$SUITE: no Debian in /etc/apt: leave it out"
	echo "deb $mirror $SUITE main" >"$to/sources.list"
	printf 'Dir::Etc::sourcelist "%s/sources.list";\nDir::Etc::sourceparts "-";\n' "$to" >>"$to/apt.conf"
}

# apt-get's settings
write_apt_conf() {
	mkdir -p "$to/apt/lists/partial" "$to/debs/archives/partial"
	: >"$to/apt/status"
	cat >"$to/apt.conf" <<-END
		APT::Architecture "arm64";
		APT::Architectures { "arm64"; };
		APT::Sandbox::User "root";
		Dir::State "$to/apt";
		Dir::State::status "$to/apt/status";
		Dir::Cache "$to/debs";
	END
	[ -z "${SUITE:-}" ] || write_sources
}

# Makes the files that packages' own scripts would make
finish_root() {
	local link
	for link in sh:dash awk:mawk cc:gcc c++:g++; do
		ln -sfn "${link#*:}" "$root/usr/bin/${link%:*}"
	done
	cp "$root/usr/share/base-passwd/passwd.master" "$root/etc/passwd"
	cp "$root/usr/share/base-passwd/group.master" "$root/etc/group"
	echo '127.0.0.1 localhost' >"$root/etc/hosts"
}

# The kernel's modules that find the root, in the order in which they are loaded, into boot/
take_modules() {
	local kernel=$1 module name
	depmod -b "$root" "$kernel"
	for name in virtio_pci virtio_blk crc32c_generic ext4; do
		modprobe -d "$root" -S "$kernel" --show-depends "$name"
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r module; do
		cp "$module" "$to/boot/"
		echo "/${module##*/}" >>"$to/boot/order"
	done
}

make_boot() {
	local kernel
	kernel=$(basename "$root"/lib/modules/*)
	rm -rf "${to:?}/boot" && mkdir -p "$to"/boot/{dev,proc,sys,mnt,bin}
	take_modules "$kernel"
	cp "$root/bin/busybox" "$to/boot/bin/"
	install -m 755 t/arm64/init.sh "$to/boot/init"
	(cd "$to/boot" && find . | cpio -o -H newc --quiet) | gzip -1 >"$to/initrd.gz"
	cp "$root/boot/vmlinuz-$kernel" "$to/kernel"
	rm -rf "$root/lib/modules" "${root:?}"/boot/*
}

# The root, unless it was made of these files
make_root() {
	local deb
	! made_of | cmp -s - "$to/made-of" || return 0
	mw_say "unpacking packages for arm64"
	write_apt_conf
	mw_quietly "apt-get update" apt update
	# shellcheck disable=SC2046 # a word for each package
	mw_quietly "apt-get install" apt install -y --download-only --no-install-recommends $(packages)
	rm -rf "$root" && mkdir -p "$root"/usr/{bin,sbin,lib}
	ln -s usr/bin usr/sbin usr/lib "$root/"
	for deb in "$to"/debs/archives/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink -C "$root"
	done
	finish_root
	make_boot
	made_of >"$to/made-of"
}

# The files of this checkout, as they are, with the time at which they changed: make sees what is new
copy_tree() {
	mkdir -p "$tree"
	git ls-files -co --exclude-standard -z | tar -c --ignore-failed-read --null -T - 2>/dev/null | tar -x -C "$tree"
}

# shellcheck disable=SC2329 # the same
# cross NAME ARG...: make for arm64. clang is t/unwound's
cross() {
	local include=$root/usr/include of_root="--sysroot=$root -B$root/usr/lib/aarch64-linux-gnu" # this one's C library
	mkdir -p "$to/bin"
	printf '#!/bin/sh\nexec /usr/bin/clang --target=aarch64-linux-gnu --sysroot=%s "$@"\n' "$root" >"$to/bin/clang"
	chmod +x "$to/bin/clang"
	env -u MAKEFLAGS -u MAKELEVEL PATH="$to/bin:$PATH" make -C "$tree" -j"$(nproc)" RUBY="$RUBY" PKG_CONFIG=false \
		CC="aarch64-linux-gnu-gcc $of_root" CXX="aarch64-linux-gnu-g++ $of_root" CFLAGS="${CFLAGS:-}" \
		RUBY_ID=ruby-arm64 RUBY_CFLAGS="$(printf -- '-isystem %s ' "$include"/ruby-3.* "$include"/aarch64-linux-gnu/ruby-3.*)" "$@"
}

# The machine's command, run as a child of its first process; the exit status comes last
write_line() {
	cat >"$root/line" <<-END
		cd /mwrap
		export RUBY=/usr/bin/ruby PATH=/usr/bin:/usr/sbin HOME=/root LANG=C.UTF-8
		setsid -w sh /words
		echo "arm64: ended with \$?"
	END
	echo "${LINE:-perl -It/lib -S prove -j3 --formatter CheckFormatter --failures --comments $*}" >"$root/words"
}

boot() {
	rm -rf "$to/disk" "$root/mwrap"
	cp -al "$tree" "$root/mwrap"
	mke2fs -q -q -t ext4 -O ^has_journal -d "$root" "$to/disk" 6G
	timeout "$limit" qemu-system-aarch64 -M virt,gic-version=3 -cpu "$CPU" -smp 2 -m "$memory" -nic none -display none \
		-no-reboot -kernel "${IMAGE:-$to/kernel}" -initrd "$to/initrd.gz" -append 'console=ttyAMA0 quiet loglevel=1 panic=-1 transparent_hugepage=madvise' \
		-drive "file=$to/disk,format=raw,if=virtio" -serial stdio </dev/null | sed -u 's,\r,,g' | tee "$to/log"
}

mw_setup build arm64
make_root
copy_tree
mw_say "building for arm64"
mw_quietly "the build for arm64" cross all check-programs
if [ $# -eq 0 ]; then
	mapfile -t tests < <(sed 's/#.*//; /^ *$/d' t/arm64/tests)
	set -- "${tests[@]}"
fi
write_line "$@"
boot
status=$(sed -n 's/^arm64: ended with //p' "$to/log")
exit "${status:-1}"

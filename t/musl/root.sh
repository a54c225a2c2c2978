#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# root.sh [TEST ...]: what `make check-rubies SUITES=musl` runs in a bare Debian root, as root: builds Ruby and the
# libraries that mwrap needs for Debian's musl, from Debian's sources, builds mwrap with them, and runs tests with
# that Ruby. Prints what prove prints, and exits as it does.
#
#   TEST      t/x.t, or t/musl/gems.rb: these instead of those in t/musl/tests
#
# What is built is in /opt/musl. The dynamic linker of musl finds libraries there.
set -eu
cd "$(dirname "$0")/../.."
. t/lib/setup.sh

to=/opt/musl
sources=/opt/musl-sources
musl="musl-gcc -isystem $to/include -L$to/lib"

mkdir -p .build "$to/include" "$to/lib" "$sources"

# shellcheck disable=SC2329 # mw_quietly calls it, as it does the following
sources() (
	mirror=$(mw_mirror)
	for suite in bookworm trixie; do
		echo "deb-src $mirror $suite main"
	done >/etc/apt/sources.list.d/musl.list
	cd "$sources" && apt-get -qq update &&
		apt-get -qq source --download-only ruby3.3/trixie {libffi,liburcu,libmicrohttpd,libyaml,zlib,xxhash}/bookworm || exit 1
	# as released: Debian's patches are newer than the configure scripts, which would be made again
	for name in ruby3.3 libffi liburcu libmicrohttpd libyaml zlib xxhash; do
		mkdir -p "$name" && tar xf "$(ls "$name"_*.orig.tar.*[z2])" --strip-components=1 -C "$name" || exit 1
	done
)

# The kernel's headers don't depend on the C library.
# shellcheck disable=SC2329
headers() {
	ln -sfn /usr/include/linux "$to/include/linux"
	ln -sfn /usr/include/asm-generic "$to/include/asm-generic"
	ln -sfn /usr/include/*-linux-gnu/asm "$to/include/asm"
	printf '%s\n' /lib/*-linux-musl /usr/lib/*-linux-musl "$to/lib" >"/etc/ld-musl-$(uname -m).path"
}

# library SOURCE OPTION...: an archive, by its configure
library() (
	cd "$sources/$1" || exit 1
	shift
	[ -e configure ] || autoreconf -fi || exit 1
	CC=$musl CFLAGS='-O2 -fPIC' ./configure --prefix="$to" "$@" && make -j2 && make install
)

# shellcheck disable=SC2329
libraries() {
	library liburcu --disable-shared &&
		library libmicrohttpd --disable-shared --disable-https --disable-doc --disable-examples --disable-curl &&
		library libyaml --disable-shared &&
		library libffi --disable-static --disable-docs && # by its name a test knows it
		library zlib --static &&
		cp "$sources"/xxhash/*.h "$to/include"
}

# As Alpine's: with a shared libruby. It has no extension that needs another library.
# shellcheck disable=SC2329
ruby_for_musl() (
	cd "$sources/ruby3.3" && : >gems/bundled_gems || exit 1
	CC=$musl ./configure --prefix="$to" --disable-install-doc --enable-shared --disable-yjit --with-out-ext=openssl,readline &&
		make -j2 && make install
)

# shellcheck disable=SC2329
gems_for_it() {
	mw_lines t/lib/gems check | awk '$2 ~ /^minitest/ { print $2 ":" $3 }' |
		xargs gem install --no-document --install-dir "$GEM_HOME"
}

# shellcheck disable=SC2329
gems_of_alpine() {
	ruby t/musl/unpack.rb "$MWRAP_MUSL_GEMS"
}

# shellcheck disable=SC2329
for_musl() {
	make -j2 CC="$musl" PKG_CONFIG=false "$@"
}

mw_say "building Ruby and libraries for musl"
unset RUBY # the one that is installed makes the one for musl
mw_packages musl
mw_quietly "headers" headers
mw_quietly "sources" sources
mw_quietly "libraries" libraries
mw_quietly "Ruby" ruby_for_musl
GEM_HOME=$PWD/.build/gems-musl
export GEM_HOME
mw_quietly "gems" gems_for_it
export MWRAP_MUSL_GEMS=$PWD/.build/gems-alpine
mw_quietly "gems for Alpine" gems_of_alpine
# as the launcher does it: programs of glibc that tests start run then
# shellcheck disable=SC2016 # $LIB is the linkers'
export MWRAP_TEST_LIB=$PWD/lib/mwrap/preload/'$LIB'
export RUBY=$to/bin/ruby PATH=$to/bin:$PATH
mw_say "building"
mw_quietly "mwrap" for_musl all
for_musl -k check-programs >"$mw_log" 2>&1 || true # programs that call what glibc alone has aren't built
mapfile -t tests < <(grep '^t/' t/musl/tests)
[ $# -eq 0 ] || tests=("$@")
without=$(sed -n 's/^but //p' t/musl/tests | paste -sd '|')
exec prove --failures --comments --exec "$RUBY -It" "${tests[@]}" :: -e "/$without/"

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# needs.sh [old] - prints one line that says why mwrap can't be built here, or nothing.
# With `old` it checks only the versions of the C library and of Ruby, which no package
# mends. CC, CFLAGS, RUBY and MAKE are as in make. extconf.rb, GNUmakefile and
# t/lib/setup.sh run it, so a missing requirement doesn't show as C errors.
: "${CC:=cc}" "${CFLAGS:=}" "${RUBY:=ruby}" "${MAKE:=make}"

# Like make, leaves the quotes in these variables to the shell.
run_ruby() {
	eval "$RUBY" '"$@"'
}

preprocess() {
	eval "$CC $CFLAGS -E -P -x c -" 2>/dev/null
}

header() {
	echo "#include <$1>" | preprocess >/dev/null
}

# runs NAME [ARG...]: true if there is a program of that name
runs() {
	command -v "$1" >/dev/null
}

# older MAJOR.MINOR[.MORE] MAJOR.MINOR: true if the first version is older
older() {
	awk -v a="$1" -v b="$2" 'BEGIN { split(a, x, "."); split(b, y, "."); exit !(x[1] * 1000 + x[2] < y[1] * 1000 + y[2]) }'
}

# The compiler may be for another machine: then that machine's C library counts.
glibc=$(printf '#include <features.h>\n__GLIBC__.__GLIBC_MINOR__\n' | preprocess | tail -n 1 | tr -d ' ')
case $glibc in
[0-9]*.[0-9]*) ;;
*__GLIBC__*) glibc=0 ;;
*) glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null) && glibc=${glibc#* } || glibc= ;;
esac
version=$(run_ruby -e 'print RUBY_VERSION' 2>/dev/null)

if [ "$(uname -s)" != Linux ]; then
	echo "mwrap: $(uname -s): not supported: mwrap needs Linux"
elif [ -n "$glibc" ] && [ "$glibc" != 0 ] && older "$glibc" 2.35; then
	echo "mwrap: glibc $glibc: too old: mwrap needs glibc 2.35 or newer (Debian 12, Ubuntu 22.04)"
elif [ -n "$version" ] && older "$version" 3.1; then
	echo "mwrap: Ruby $version: too old: mwrap needs Ruby 3.1 or newer"
elif [ "${1:-}" != old ]; then
	missing=
	need() {
		missing="${missing:+$missing, }$1"
	}
	eval "runs $MAKE" || need "make (Debian: make)"
	header stdlib.h || need "a C compiler (Debian: gcc and libc6-dev)"
	[ -n "$version" ] || need "Ruby (Debian: ruby)"
	[ -z "$version" ] || run_ruby -rrbconfig -e '
		exit %w[rubyhdrdir/ruby.h rubyarchhdrdir/ruby/config.h].all? { |name|
			dir, file = name.split("/", 2)
			File.exist?(File.join(RbConfig::CONFIG[dir].to_s, file)) }' || need "the headers of Ruby $version (Debian: ruby-dev)"
	header urcu/rculfhash.h || need "liburcu's headers (Debian: liburcu-dev)"
	header xxhash.h || need "xxHash's header (Debian: libxxhash-dev)"
	header zlib.h || need "zlib's headers (Debian: zlib1g-dev)"
	header microhttpd.h || need "libmicrohttpd's headers (Debian: libmicrohttpd-dev)"
	[ -z "$missing" ] || echo "mwrap: packages: missing: install $missing"
fi

# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# setup.sh - installs what is missing, and builds. Sourced, under `set -eu`, by
# bin/demo and bin/check; whatever else needs gems or tools does the same:
#
#	cd "$(dirname "$0")/.." && . t/lib/setup.sh && mw_setup build demo
#
# The current folder must be the top of the checkout. Outside of it only Debian's
# list of installed packages may change (t/lib/packages says which); gems
# (t/lib/gems) go to .build/gems-*, one folder for each Ruby, npm packages to
# web/node_modules. On a terminal it asks once before packages are installed; sudo asks for
# a password.
#
# RUBY names another Ruby than the first in PATH. A function that can't go on
# says why in one line on stderr and exits 1.

mw_log=.build/setup.log

mw_say() {
	printf 'mwrap: %s\n' "$*"
}

mw_die() {
	printf 'mwrap: %s\n' "$*" >&2
	exit 1
}

# mw_quietly WHAT COMMAND...: runs it with its output in $mw_log; when it fails,
# shows the end of that and exits.
mw_quietly() {
	local what=$1
	shift
	if ! "$@" >"$mw_log" 2>&1 </dev/null; then
		tail -n 40 "$mw_log" >&2
		mw_die "$what: failed: see $mw_log"
	fi
}

# mw_lines FILE LEVEL...: the file's lines of these levels, without comments
mw_lines() {
	local file=$1
	shift
	awk -v levels=" $* " '!/^#/ && NF && index(levels, " " $1 " ")' "$file"
}

# mw_exists PATTERN...: does one of them match a file?
mw_exists() {
	local pattern
	for pattern; do
		! compgen -G "$pattern" >/dev/null || return 0
	done
	return 1
}

# mw_there THERE-IF: see t/lib/packages
mw_there() {
	local name=${1#*:}
	case $1 in
	cmd:*) command -v "$name" >/dev/null || mw_exists "/usr/sbin/$name" ;;
	header:*) mw_exists "/usr/include/$name" "/usr/include/*-linux-gnu*/$name" "/usr/local/include/$name" ;;
	lib:*) mw_exists "/usr/lib/$name" "/usr/lib/*/$name" "/usr/local/lib/$name" ;;
	ruby) "${RUBY:-ruby}" -e 0 >/dev/null 2>&1 ;;
	ruby-dev) "${RUBY:-ruby}" -rrbconfig -e 'exit File.exist?(RbConfig::CONFIG["rubyhdrdir"] + "/ruby.h")' 2>/dev/null ;;
	ruby-lib:*) mw_ruby_without "$name" || mw_there "lib:lib$name.so" ;;
	*) mw_die "t/lib/packages: unknown condition $1" ;;
	esac
}

# mw_ruby_without NAME: is there no Ruby yet, or one whose extensions can do
# without libNAME? When libruby isn't a shared object (the default of version
# managers), extconf.rb links what it tries with all that Ruby is linked with.
mw_ruby_without() {
	! "${RUBY:-ruby}" -rrbconfig -e '
		c = RbConfig::CONFIG
		exit c["ENABLE_SHARED"] != "yes" && c["MAINLIBS"].split.include?("-l" + ARGV[0])' "$1" 2>/dev/null
}

# The headers of the Ruby that is there: Debian's (/usr/bin/ruby3.4) has a package
# for each version; one that came another way must have brought its own.
mw_ruby_dev() {
	"${RUBY:-ruby}" -rrbconfig -e '
		c = RbConfig::CONFIG
		print c["bindir"] == "/usr/bin" ? "ruby#{c["MAJOR"]}.#{c["MINOR"]}-dev" : "no-headers"' 2>/dev/null || echo ruby-dev
}

# mw_missing LEVEL...: what is to be installed, alternatives as a|b, one a line
mw_missing() {
	local packages there
	mw_lines t/lib/packages "$@" | while read -r _ packages there _; do
		if ! mw_there "$there"; then
			[ "$there" != ruby-dev ] || packages=$(mw_ruby_dev)
			echo "$packages"
		fi
	done
}

# mw_choose A|B|...: the first that apt knows, or the first
mw_choose() {
	local name
	for name in ${1//|/ }; do
		if [ -n "$(apt-cache show --no-all-versions "$name" 2>/dev/null)" ]; then
			echo "$name"
			return
		fi
	done
	echo "${1%%|*}"
}

# mw_list PACKAGE...: says what is to be installed, and how large it is with all that it needs
mw_list() {
	local text
	text=$(LC_ALL=C "${as_root[@]}" apt-get install --assume-no --no-install-recommends "$@" 2>/dev/null || true)
	mw_say "to be installed: $*"
	printf '%s\n' "$text" | sed -n 's/^\([0-9]*\) upgraded, \([0-9]*\) newly installed.*/mwrap: with what they need: \2 packages/p
		s/^Need to get \(.*\) of archives.*/mwrap: to download: \1/p
		s/^After this operation, \(.*\) of additional disk space.*/mwrap: on disk: \1/p'
}

# mw_ask: goes on, or ends. Asks only a person at a terminal, who hasn't said --yes.
mw_ask() {
	local answer
	[ -t 0 ] && [ -t 1 ] && [ -z "${CI:-}${MW_YES:-}" ] || return 0
	printf 'mwrap: install them? [Y/n] '
	read -r answer || answer=n
	case $answer in
	"" | [yY]*) ;;
	*) mw_die "packages: not installed: install them yourself, or answer y" ;;
	esac
}

# mw_mirror: the address of Debian's archive that this machine's apt uses; nothing: apt has none
mw_mirror() {
	grep -rhoE 'https?://[^ ]*/debian/?( |$)' /etc/apt/sources.list /etc/apt/sources.list.d 2>/dev/null | head -n 1
}

# mw_packages LEVEL...: installs the Debian packages that are missing
mw_packages() {
	local missing names name ruby chosen=() as_root=(env)
	[ -z "${RUBY:-}" ] || mw_there ruby || mw_die "RUBY=$RUBY: doesn't run: name another Ruby"
	missing=$(mw_missing "$@")
	[ -n "$missing" ] || return 0
	names=${missing//|/ or }
	names=${names//$'\n'/, }
	case $missing in
	*no-headers*)
		ruby=$(command -v "${RUBY:-ruby}")
		mw_die "$ruby: without its headers: name another Ruby by RUBY="
		;;
	esac
	command -v apt-get >/dev/null || mw_die "packages: missing: install $names"
	if [ "$(id -u)" -ne 0 ]; then
		command -v sudo >/dev/null || mw_die "packages: missing, and neither root nor sudo is here: install $names"
		as_root=(sudo env)
	fi
	as_root+=(DEBIAN_FRONTEND=noninteractive)
	# A source of packages that isn't ours may be out of reach: what counts is
	# whether the install below finds its packages.
	"${as_root[@]}" apt-get update -qq >"$mw_log" 2>&1 || true
	for name in $missing; do
		chosen+=("$(mw_choose "$name")")
	done
	mw_list "${chosen[@]}"
	mw_ask
	mw_say "installing them"
	mw_quietly "apt-get install ${chosen[*]}" "${as_root[@]}" apt-get install -y -qq \
		-o DPkg::Lock::Timeout=300 --no-install-recommends "${chosen[@]}"
	hash -r
	missing=$(mw_missing "$@")
	[ -z "$missing" ] || mw_die "${missing//$'\n'/, }: installed, but not found: see $mw_log"
}

# mw_not_old: what no package mends ends here, before anything is installed
mw_not_old() {
	local old
	old=$(RUBY=$(printf %q "${RUBY:-ruby}") sh src/needs.sh old)
	[ -z "$old" ] || mw_die "${old#mwrap: }"
}

# mw_ruby: RUBY becomes the path of the Ruby itself (PATH may lead to a version
# manager's script), and `ruby` in PATH leads to that one too.
mw_ruby() {
	local bin=$PWD/.build/bin
	# variables of a bundle or a calling app are not for us
	unset RUBYOPT RUBYLIB BUNDLE_GEMFILE GEM_PATH MWRAP
	RUBY=$("${RUBY:-ruby}" -rrbconfig -e 'print RbConfig.ruby') || mw_die "${RUBY:-ruby}: doesn't run: name another Ruby by RUBY="
	GEM_HOME=$PWD/.build/gems-$("$RUBY" -e 'print RUBY_ENGINE, "-", RUBY_VERSION, "-", RUBY_PLATFORM')
	mkdir -p "$bin"
	ln -sfn "$RUBY" "$bin/ruby"
	PATH=$bin:$PATH
	export RUBY GEM_HOME PATH
	export LANG=${LANG:-C.UTF-8}
}

# mw_gem ARG...: the `gem` command of $RUBY, which need not have one in PATH
mw_gem() {
	"$RUBY" -rrubygems/gem_runner -rrubygems/exceptions -e '
		begin
			Gem::GemRunner.new.run(ARGV.dup)
		rescue Gem::SystemExitException => e
			exit e.exit_code
		end' -- "$@"
}

# mw_gems LEVEL...: installs the gems that are missing into $GEM_HOME
mw_gems() {
	local name version missing=() mw_log=.build/gems.log # not the build's: both run at once
	while read -r _ name version _; do
		[ -e "$GEM_HOME/specifications/$name-$version.gemspec" ] || missing+=("$name:$version")
	done < <(mw_lines t/lib/gems "$@")
	[ ${#missing[@]} -ne 0 ] || return 0
	mw_say "installing the gems ${missing[*]}"
	# nokogiri would build its own libxml2, for minutes
	export NOKOGIRI_USE_SYSTEM_LIBRARIES=1
	# --force: two versions of rack, and rackup, have a program of one name
	mw_quietly "gem install ${missing[*]}" mw_gem install --no-document --no-user-install --ignore-dependencies --force \
		--platform ruby --install-dir "$GEM_HOME" "${missing[@]}"
}

# mw_npm LEVEL...: for the tests, what the page is built with, into web/node_modules,
# exactly as web/package-lock.json says
mw_npm() {
	case " $* " in
	*" check "*) ;;
	*) return 0 ;;
	esac
	! cmp -s web/package-lock.json web/node_modules/.mwrap-lock || return 0
	mw_say "installing what the page is built with"
	mw_quietly "npm ci" npm ci --prefix web --no-audit --no-fund
	cp web/package-lock.json web/node_modules/.mwrap-lock
}

# mw_promtool LEVEL...: for the tests, promtool into .build/bin. Its package isn't installed:
# that would start a Prometheus on this machine.
mw_promtool() {
	local to=.build/promtool package=promtool
	case " $* " in
	*" check "*) ;;
	*) return 0 ;;
	esac
	! command -v promtool >/dev/null || return 0
	command -v apt-get >/dev/null || mw_die "packages: missing: install promtool"
	rm -rf "$to" && mkdir -p "$to"
	apt-cache show --no-all-versions prometheus >/dev/null 2>&1 || apt-get update -qq >"$mw_log" 2>&1 || true
	# a package of its own from Debian 13 on
	apt-cache show --no-all-versions promtool >/dev/null 2>&1 || package=prometheus
	mw_say "unpacking promtool from the package $package"
	mw_quietly "apt-get download $package" env -C "$to" apt-get download -qq "$package"
	mw_quietly "unpacking $package" dpkg-deb -x "$to/$package"_*.deb "$to"
	mv "$to/usr/bin/promtool" .build/bin/
	rm -r "$to"
}

# mw_setup LEVEL...: all of the above. Gems are still being installed when it returns, since that is
# mostly waiting: mw_build follows, and waits for them.
mw_setup() {
	mkdir -p .build
	{
		# one at a time: two would write to the same folders
		flock 9
		mw_not_old
		mw_packages "$@" 9>&-
		mw_not_old
		mw_ruby
		(mw_gems "$@" 9>&-) & # the shell around it keeps the lock
		mw_gems_pid=$!
		mw_npm "$@" 9>&-
		mw_promtool "$@" 9>&-
	} 9>.build/setup.lock
}

# mw_build TARGET...: make, quietly, after mw_setup
mw_build() {
	mw_say "building"
	mw_quietly "the build" make -j"$(nproc)" RUBY="$RUBY" "$@"
	wait "$mw_gems_pid" || exit 1
}

# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# lives.rb N: N times a program of modes.rb, natively and tracked in one of its ways, in random surroundings: limits,
# namespaces, folders that are missing, descriptors, signals, users, and settings of the loader and of the C library.
# Prints each life that differs, and the SEED that brings it back.
require_relative "modes"

module Lives
  # Words in front of a program, which changes what it inherits
  def self.shell(text) = ["sh", "-c", "#{text}; exec \"$@\"", "sh"]
  def self.mounted(text) = ["unshare", "-rm", *shell(text)]

  LIMITS = %w[stack=unlimited:unlimited stack=262144 fsize=0 nofile=24 sigpending=0 memlock=0 nproc=1 core=0 as=6000000000
              data=300000000 msgqueue=0 locks=0 cpu=60].map { |limit| ["prlimit", "--#{limit}"] }
  LAYOUTS = %w[-R -L -X -3 -Z].map { |flag| ["setarch", flag] }
  FOLDERS = ["umount -l /proc", "mount -t tmpfs none /dev", "mount -t tmpfs none /dev/shm", "mount -t tmpfs none /sys",
             "mount -t tmpfs -o ro none /var", "mount -o bind /dev/null /proc/self/maps"].map { |text| mounted(text) }
  NAMESPACES = [%w[unshare -r --mount-proc -fp], %w[unshare -r -T --boottime 99999 --monotonic 77777], %w[unshare -rn], %w[unshare -riu]]
  USERS = [%w[setpriv --reuid=65534 --regid=65534 --clear-groups], %w[setpriv --no-new-privs], %w[setpriv --pdeathsig KILL],
           %w[setpriv --securebits=+noroot,+noroot_locked,+no_setuid_fixup --bounding-set=-all]]
  INHERITED = ["umask 777", "exec 2>&-", "exec 0<&-", "exec 2>/dev/full", "trap '' PIPE HUP CHLD URG ALRM PROF XFSZ",
               "d=$(mktemp -d); cd $d; rmdir $d", "for i in 3 4 5 6 7 8 9; do eval \"exec $i</dev/null\"; done"].map { |text| shell(text) }
  SCHEDULED = [%w[chrt -i 0], %w[chrt -r 5], %w[taskset 1], %w[ionice -c3], %w[nice -n 19], %w[setsid -w], %w[stdbuf -oL], %w[choom -n 1000 --]]
  SETTINGS = %w[LD_BIND_NOW=1 LD_BIND_NOT=1 LD_WARN=1 LD_LIBRARY_PATH=/nonexistent::. LD_PREFER_MAP_32BIT_EXEC=1 MALLOC_ARENA_MAX=1 TMPDIR=/nonexistent
                LC_ALL=xx TZ=:/nonexistent RUBY_GC_HEAP_INIT_SLOTS=90000 RUBY_THREAD_VM_STACK_SIZE=100000].map { |s| ["env", s] } + [%w[env -u HOME -u TMPDIR]]
  TUNABLES = %w[malloc.hugetlb=1 malloc.hugetlb=2 malloc.check=3 malloc.perturb=165 malloc.arena_max=1 malloc.arena_test=1 malloc.tcache_max=0
                malloc.tcache_max=1032 malloc.tcache_unsorted_limit=3 malloc.mxfast=0 malloc.mxfast=160 malloc.trim_threshold=0 malloc.top_pad=0
                malloc.top_pad=10000000 malloc.mmap_max=0 malloc.mmap_threshold=100 rtld.nns=1 rtld.optional_static_tls=0 pthread.rseq=0
                pthread.stack_cache_size=0 rtld.dynamic_sort=1].map { |t| ["env", "GLIBC_TUNABLES=glibc.#{t}"] }
  KINDS = [LIMITS, LAYOUTS, FOLDERS, NAMESPACES, USERS, INHERITED, SCHEDULED, SETTINGS, TUNABLES].freeze
  # Others wait for a terminal, a browser's sandbox, or so long that limits of time decide.
  PROGRAMS = Modes::PROGRAMS.reject { |p| p.name.match?(/chromium|java|faketime|gdb|bubblewrap|fork_loads/) || !Modes.there?(p) }
  MODES = Modes::MODES.keys - ["attach, detach"]

  # A program that has no memory left natively crashes in one of several ways.
  CRASHES = /\Aend: SIG(?:SEGV|ABRT|BUS)\b.* for SIG(?:SEGV|ABRT|BUS)\b/

  module_function

  # The surroundings are the tracked command's own, or the launcher's, too.
  def life(random, number)
    program, mode = PROGRAMS.sample(random: random), MODES.sample(random: random)
    kinds = KINDS.sample(1 + random.rand(2), random: random)
    before, words = Array.new(2) { [] }
    kinds.each { |kind| (random.rand(2).zero? ? before : words).concat(kind.sample(random: random)) }
    name = format("%d: %s | %s | %s", number, before.join(" "), words.join(" "), program.name)
    [Modes::Program.new(name: name, before: before, command: [*words, *program.command], stays: program.stays), mode]
  end

  def right?(is) = Modes::RIGHT.include?(is) || is.match?(CRASHES)

  def main(lives)
    random = Random.new(Integer(Modes::SEED))
    puts "# SEED=#{Modes::SEED}"
    found = (1..lives).map do |number|
      program, mode = life(random, number)
      Modes.in_tmp { |dir| Modes.compare(program, mode, dir) }.tap do |is|
        puts "#{program.name}, #{mode}: #{is}" unless right?(is)
        $stdout.flush
      end
    end
    wrong = found.count { |is| !right?(is) }
    puts "#{lives} lives, #{found.count("-")} couldn't be tried, #{wrong} differences"
    exit wrong.zero?
  end
end

Lives.main(Integer(ARGV.fetch(0))) if $PROGRAM_NAME == __FILE__

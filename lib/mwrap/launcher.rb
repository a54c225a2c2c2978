# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "version"
require_relative "executable"
require_relative "linker"

module Mwrap
  # most commands need none of these
  %w[Allocators Moments Options].each { |name| autoload(name, File.join(__dir__, "#{name.downcase}.rb")) }

  # The work of lib/exe/mwrap. Not for use elsewhere: it execs or exits.
  class Launcher # :nodoc: all
    # One line on stderr, and the status to exit with.
    class Failure < StandardError
      attr_reader :status

      def initialize(message, status = 2)
        super(message)
        @status = status
      end
    end

    NO_COMMAND = "COMMAND: missing: see mwrap --help"

    def initialize(lib)
      @lib = lib
      launch = ENV.delete("MWRAP_LAUNCH").to_s
      # From Ruby 3.3 on, nothing can be executed after an attempt to start a thread failed.
      @alone = launch == "alone" || Process.getrlimit(:NPROC)[0].zero?
      @pid, to = launch.match(/\A(\d+):(\d+)\z/)&.captures&.map(&:to_i) || Process.pid
      @answer = to && IO.for_fd(to, "wb").tap { |io| io.close_on_exec = true }
    end

    def run(argv)
      command = options(argv) or return
      tracker = find_tracker
      text = ENV["MWRAP"]&.then { |t| absolute(trimmed(t)) }
      require_extension
      check_options(text)
      text = text && numbered_group(text)
      keep_listening_sockets
      path = Executable.find(command[0])
      executable = Executable.new(path)
      executable.problems(tracker).each { |line| say("#{command[0]}#{line}") }
      return untracked(path, command) if aside?(executable, command[0], tracker, text)
      say_how_to_look(text)
      require_loadable(tracker, text) # takes a thread, whose end an AddressSanitizer in LD_PRELOAD complains of
      start(path, command, "LD_PRELOAD" => preload(tracker, allocator(text)), "MWRAP" => text, "MWRAP_PID" => named(text))
    rescue Failure, Executable::Missing => e
      say(e.message)
      exit(e.status)
    end

    private

    def say(line) = $stderr.write("mwrap: #{line}\n")

    # The command, or nil if there is nothing more to do.
    def options(argv)
      case argv[0]
      when "--help", "-h" then $stdout.write(help)
      when "--version", "-V", "-v" then $stdout.write("mwrap #{VERSION}\n")
      when nil then raise Failure, NO_COMMAND
      when "--"
        raise Failure, NO_COMMAND if argv.size == 1
        return argv.drop(1)
      when /\A-/ then raise Failure, "#{argv[0]}: unknown option: see mwrap --help"
      else return argv
      end
      nil
    end

    def help
      <<~HEAD + Options.help + <<~TAIL
        usage: mwrap COMMAND [ARG ...]
               mwrap --help | --version

        Runs COMMAND with mwrap's tracker in it: which lines allocate memory, and
        which keep it. Options are in the environment: MWRAP=key:value,key:value

          MWRAP=socket:/tmp/mw.sock mwrap ruby server.rb
          mwrapctl verdict /tmp/mw.sock
          mwrapctl report /tmp/mw.sock

      HEAD

        In a value, %p is the PID, %% a percent sign, and a backslash quotes a comma.

        The manual:  #{manual}
      TAIL
    end

    # The command that shows mwrap(1). RubyGems doesn't install manuals where man looks.
    def manual
      require "shellwords"
      page = File.join(File.dirname(@lib), "doc/mwrap.1")
      File.file?(page) ? "man #{page.shellescape}" : "man mwrap"
    end

    def find_tracker
      found = Executable.tracker(@lib) or raise Failure, "#{@lib}/libmwrap.so: not built: run make in #{File.dirname(@lib)}"
      return found if Executable.preloadable?(found)
      raise Failure, "#{found}: can't be preloaded: move it to a path without spaces, colons and $"
    end

    # If a library is missing that the tracker needs, no program would run; if one is missing that
    # the server needs, there would be no server.
    def require_loadable(tracker, text)
      server = %w[libmwrap_httpd.so libmwrap_mhd.so].map { |so| File.join(File.dirname(tracker), so) }
      served = text && items(text).any?(/\A(?:socket|socket_dir|listen|report_dir):/n)
      @glibc_only = ""
      return if @alone # the linker can't be asked

      problem, @glibc_only = Linker.check([tracker, *(server.select { |so| File.file?(so) } if served)])
      raise Failure, problem if problem
    end

    def require_extension
      require "mwrap"
    rescue LoadError => e
      raise Failure, "the Ruby extension: can't be loaded (#{e.message.lines.first.chomp}): " \
        "run make in #{File.dirname(@lib)} with this Ruby (#{RUBY_VERSION})"
    end

    # The options without the blanks that may stand before each.
    def trimmed(text) = text.b.match?(/(?:\A|,)[ \t]/n) ? items(text).map { |item| item.sub(/\A[ \t]+/n, "") }.join : text

    # Nothing would show what COMMAND counts: a person at a terminal learns how to see it.
    def say_how_to_look(text)
      return if !$stderr.tty? || (text && items(text).any?(/\A(?:socket|socket_dir|listen|dump_path|dump_fd|trace_path):/n))
      say("no server is asked for: give MWRAP=socket:/tmp/mw.sock, or run mwrapctl attach #{@pid}")
    end

    # The options with absolute paths. A process that COMMAND starts may run in another directory,
    # and still belongs to the same family.
    def absolute(text)
      relative = /\A(?:#{Options.paths.join("|")}):(?=[^\/])/n
      items(text).map { |item| item.sub(relative) { "#{$&}#{here(item)}" } }.join
    end

    # The working directory as it is written in an option. Nobody asks for it if each path is absolute: it may be gone.
    def here(item)
      "#{Dir.pwd}/".gsub(/[,\\]/) { "\\#{_1}" }.gsub("%", "%%").b
    rescue SystemCallError
      raise Failure, "#{item}: the working directory is gone: give a path that begins with /"
    end

    # The options and the commas between them.
    def items(text) = text.b.scan(/(?:\\.|[^,\\]|\\\z)+|,/mn)

    # Checks the options with the tracker's own parser.
    def check_options(text)
      return unless text
      error = Mwrap.check_options(text)
      fd = error ? error[/\Adump_fd: "(\d+)" is not open/, 1]&.to_i : Mwrap.dump_fd_option(text)
      raise Failure, "dump_fd: \"#{fd}\" is not an open file descriptor" if fd && ours?(fd)
      raise Failure, error if error
    end

    # Replaces the group's name by its number: within COMMAND only /etc/group can be asked.
    def numbered_group(text)
      items(text).map do |item|
        name = item[/\Asocket_group:(.*)/mn, 1]&.gsub(/\\(.)/mn) { $1 }
        name.nil? || name.match?(/\A\d+\z/n) ? item : "socket_group:#{gid(name)}"
      end.join
    end

    def gid(name)
      require "etc"
      Etc.getgrnam(name).gid
    rescue ArgumentError
      raise Failure, "socket_group: there is no group #{name}: write its number"
    end

    # True if this Ruby opened the descriptor itself. One that was open before Ruby started isn't
    # close-on-exec.
    def ours?(fd)
      IO.for_fd(fd, autoclose: false).close_on_exec?
    rescue ArgumentError # Ruby refuses some of its own
      true
    end

    # Keeps systemd's sockets, 3 and up, open. Descriptors given to this process stay open by
    # themselves, unless code loaded by RUBYOPT changed that.
    def keep_listening_sockets
      return if ENV["LISTEN_PID"].to_i != Process.pid
      (3...3 + ENV["LISTEN_FDS"].to_i.clamp(0, 1000)).each do |fd|
        io = IO.for_fd(fd, autoclose: false)
        io.close_on_exec = false if io.stat.socket?
      rescue SystemCallError, ArgumentError
        next
      end
    end

    # The path of what malloc: names, or nil.
    def allocator(text)
      name = text && Mwrap.malloc_option(text) or return
      Allocators.find(name) or
        raise Failure, "malloc: \"#{name}\" is not installed: install it (Debian: #{Allocators.package(name)})"
    end

    # The other preloaded libraries.
    def others
      ENV.fetch("LD_PRELOAD", "").split(/[ :]+/).reject do |path|
        path.empty? || %w[libmwrap.so mwrap.so].include?(File.basename(path))
      end
    end

    # The order of LD_PRELOAD: the tracker, the wanted allocator, then the other libraries without
    # copies of either. If there are several allocators, the first one serves. A program of musl passes over both.
    def preload(tracker, allocator)
      rest = others.reject { |path| allocator && File.basename(path) == File.basename(allocator) }
      [*[Executable.for_preload(tracker), *allocator].map { |path| @glibc_only + path }, *rest].join(":")
    end

    # Sanitizers and the tracker exclude each other: COMMAND and its children run without the
    # tracker.
    def aside?(executable, name, tracker, text)
      runtime = others.find { |path| Executable.sanitizer?(File.basename(path)) }
      say("#{name}: runs without the tracker: LD_PRELOAD has a sanitizer (#{runtime})") if runtime
      runtime || executable.sanitizer? || ends?(executable, tracker, text)
    end

    # A program of glibc would end with 127 if its linker found a library of musl.
    def ends?(executable, tracker, text)
      Executable.new(tracker).musl? && executable.of_other_library?(tracker) &&
        (Executable.for_preload(tracker) == tracker || (text && Mwrap.malloc_option(text)))
    end

    # Identifies the process of COMMAND, where that matters: src/tracker/process/named.h. exec keeps both
    # numbers. The start is counted without the offset of a time namespace.
    def named(text)
      return unless text && items(text).any?(/\A(?:socket|socket_dir|listen|dump_every|report_dir):/n)
      start = File.read("/proc/#{@pid}/stat")[/.*\) (.*)/m, 1].split[19]
      "#{@pid}.#{start.to_i - Moments.boot_offset}"
    rescue SystemCallError
      @pid.to_s
    end

    def untracked(path, command) = start(path, command, "LD_PRELOAD" => (others.join(":") unless others.empty?))

    # bin/mwrap becomes COMMAND; without it this process does: src/tools/launch/main.c.
    def start(path, command, env)
      return answer([path, *env.map { |name, value| [name, *value].join("=") }, "", *command]) if @answer
      env.each { |name, value| ENV[name] = value } # given to exec, it would drop what isn't NAME=VALUE
      Mwrap.become(path, command)
    rescue Errno::ENOENT
      raise Failure.new("#{command[0]}: its interpreter is missing", 127)
    rescue SystemCallError => e
      raise Failure.new("#{command[0]}: #{Executable.reason(e)}", 126)
    end

    def answer(fields)
      @answer.write(fields.map { |field| "#{field.b}\0" }.join)
      @answer.close
    rescue Errno::EPIPE # a signal has ended bin/mwrap
      nil
    end
  end
end

# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require "json"
require_relative "output"

module Mwrap
  module Ctl
    # lib/mwrap/mwrap-replay (src/tools/replay): reads recordings, and plays them.
    module ReplayProgram # :nodoc: all
      PATH = File.expand_path("../mwrap-replay", __dir__)

      class << self
        # The words of a command line that runs it.
        def words(*args)
          File.file?(PATH) or raise Failure, "#{PATH}: not there: run make, or install mwrap again"
          [PATH, *args]
        end

        # Returns its output, or writes that into the IO `out`.
        def run(*args, out: nil)
          texts = [IO.pipe, (IO.pipe unless out)]
          pid = Process.spawn(QUIET, *words(*args), in: File::NULL, err: texts[0][1], out: out || texts[1][1])
          problem, text = texts.map do |read, write|
            write&.close
            Thread.new { read.read } if read
          end
          Process.wait(pid)
          pid = nil
          $?.success? or raise Failure, reason(problem.value)
          text&.value
        rescue SystemCallError => e
          raise Failure, "#{PATH}: #{Executable.reason(e)}"
        ensure
          stop(pid) if pid
        end

        # Ends a child, and waits for it.
        def stop(pid)
          Process.kill(:KILL, pid)
          Process.wait(pid)
        end

        # Of a recording: META, END, sums.
        def info(file)
          require_file(file)
          JSON.parse(run("info", file), max_nesting: 100)
        rescue JSON::ParserError
          raise Failure, "#{file}: can't be read: see mwrapctl trace info"
        end

        # Its line without its own name.
        def reason(text) = Text.clean(text.to_s.lines.grep_v(/\A[\d.]+$/).last.to_s.chomp.delete_prefix("mwrap-replay: ")).then { |t| t.empty? ? "mwrap-replay: ended without a word" : t }

        def require_file(path)
          File.open(path, &:close)
          raise Failure, "#{path}: is a directory: name a recording" if File.directory?(path)
        rescue SystemCallError => e
          raise Failure, "#{path}: #{Executable.reason(e)}"
        end
      end

      # Variables for an allocator or the tracker: none of them is meant for the program.
      VARIABLE = /\A(?:MALLOC_|GLIBC_TUNABLES\z|MIMALLOC_|TCMALLOC_|LD_PRELOAD\z|MWRAP)/
      QUIET = ENV.keys.grep(VARIABLE).to_h { |name| [name, nil] }.freeze
    end
  end
end

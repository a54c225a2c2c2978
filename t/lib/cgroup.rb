# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# A memory cgroup of a test's own, without swap: version 2 if it is mounted and lets us, else version 1.

module MakesCgroups
  # procs: the file that takes a PID
  Cgroup = Struct.new(:dir, :procs, :events) do
    def kills = File.read(File.join(dir, events))[/^oom_kill (\d+)/, 1].to_i
  end

  # A Cgroup, or the reason why there is none.
  def make_cgroup(limit, name: "mwrap-test-#{Process.pid}")
    v2 = File.read("/proc/mounts")[/^\S+ (\S+) cgroup2 /, 1]
    v1 = File.read("/proc/mounts")[/^\S+ (\S+) cgroup \S*\bmemory\b/, 1]
    tried = [v2 && [v2, "memory.max", "memory.events"], v1 && [v1, "memory.limit_in_bytes", "memory.oom_control"]].compact.map do |root, max, events|
      dir = File.join(root, name)
      Dir.mkdir(dir)
      File.write(File.join(dir, max), limit.to_s)
      %w[memory.swap.max memory.memsw.limit_in_bytes].each do |f|
        File.write(File.join(dir, f), f == "memory.swap.max" ? "0" : limit.to_s) if File.exist?(File.join(dir, f))
      rescue SystemCallError
        nil
      end
      return Cgroup.new(dir, File.join(dir, "cgroup.procs"), events)
    rescue SystemCallError => e
      Dir.rmdir(dir) if dir && Dir.exist?(dir)
      "#{root}: #{e.message}"
    end
    tried.empty? ? "no memory cgroup is mounted" : tried.join("; ")
  end

  # group: what make_cgroup returned, or nil
  def remove_cgroup(group)
    return unless group.is_a?(Cgroup)
    eventually("the cgroup is empty") do
      Dir.rmdir(group.dir)
    rescue Errno::EBUSY
      false
    end
  end
end

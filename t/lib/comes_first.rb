# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# For tests of programs that keep to a timetable, watched by servers that look each second: they and their
# programs come before the other tests that run meanwhile, which compute. Without the right to that they
# run as all others do.

begin
  Process.setpriority(Process::PRIO_PROCESS, 0, -10)
rescue SystemCallError
  nil
end

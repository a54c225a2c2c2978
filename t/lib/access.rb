# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# For t/access*.t: servers with a token, who comes with one, and who comes as another user.

require_relative "httpd"

module AccessTest
  TOKEN = "correct-horse-battery-staple"
  OTHER = "another-horse-battery-staple"
  NOBODY = 65_534 # a user and a group that own nothing
  FORM = { "Content-Type" => "application/x-www-form-urlencoded" }.freeze

  # A file with a token; its path.
  def token_file(text = "#{TOKEN}\n", mode: 0o600, name: "token")
    File.write(path(name), text)
    File.chmod(mode, path(name))
    path(name)
  end

  # A new token in one step, as it should be done.
  def rotate(text, name: "token", mode: 0o600)
    File.write(path("#{name}.new"), text, perm: mode)
    File.chmod(mode, path("#{name}.new"))
    File.rename(path("#{name}.new"), path(name))
  end

  # A fake_server on TCP, with a token unless told otherwise; its port is #port.
  def tcp(*options, listen: "127.0.0.1:0", token: token_file)
    f = fake("listen=#{listen}", *("token_file=#{token}" if token), *options)
    port = eventually("a port on stderr") { f.said[%r{\Amwrap: listening on http://\S+:(\d+)/$}, 1] }.to_i
    f.define_singleton_method(:port) { port }
    f
  end

  def bearer(token = TOKEN) = { "Authorization" => "Bearer #{token}" }

  # Logs in; "NAME=VALUE" as the browser sends it back.
  def login(at:, token: TOKEN, headers: {})
    host = { "Host" => "localhost:#{at.is_a?(Integer) ? at : 8080}" }
    r = post("/login", FORM.merge(host, headers), "token=#{token}", at: at)
    assert_equal 303, r.status, r.body
    r.headers.fetch("set-cookie")[/\A[^;]+/]
  end

  def with_cookie(cookie, at:) = { "Cookie" => cookie, "Host" => "localhost:#{at.is_a?(Integer) ? at : 8080}" }

  # The block's result, run by another user: a String or nil, or an exception's class.
  # As root only: elsewhere nobody can become somebody else.
  def as_user(uid, gid, groups = [gid])
    r, w = IO.pipe
    pid = fork do
      r.close
      Process.groups = groups
      Process::GID.change_privilege(gid)
      Process::UID.change_privilege(uid)
      w.write(Process.uid == uid && Process.euid == uid ? yield.to_s : "still root")
    rescue SystemCallError => e
      w.write(e.class.name)
    ensure
      w.close
      exit!(0)
    end
    w.close
    Timeout.timeout(HttpdTest::PATIENCE) { r.read }
  ensure
    r&.close
    Process.wait(pid) if pid
  end

  def root? = Process.uid.zero?

  # GET over a socket, its status; for as_user.
  def status_at(socket, target = "/stats.json") = get(target, at: socket).status
end

Minitest::Test.include(AccessTest)

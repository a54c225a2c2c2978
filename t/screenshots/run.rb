# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# run.rb: pictures of every page, each as NAME-light.png and NAME-dark.png. Runs the
# demo's app in a mount namespace in which it, its gems and mwrap are in /srv, so that
# no path of this machine is in a picture; that needs root, or user namespaces.
# Everything that it started is gone when it ends.
#
#   PICTURES=t/demo/pictures   where to
#   LOAD=150                   seconds that the page looks at the app's leak before
require "fileutils"
require "json"
require "net/http"
require "rbconfig"
require "tmpdir"
require_relative "../lib/chromium"

class Screenshots
  TOP = File.expand_path("../..", __dir__)
  TO = File.expand_path(ENV.fetch("PICTURES", "t/demo/pictures"), TOP)
  LOAD = Integer(ENV.fetch("LOAD", "150"))
  RATE = 50        # requests a second
  PATIENCE = 60    # seconds for whatever must happen
  WIDE = [1280, 800].freeze
  PHONE = [390, 844].freeze
  TALL = [1280, 1540].freeze
  # what is copied into the folder that becomes /srv, and what as
  FILES = { "t/demo" => "notes", "t/lib" => "lib", "bin" => "mwrap/bin", "lib" => "mwrap/lib" }.freeze

  def run
    FileUtils.mkdir_p(TO)
    Dir.mktmpdir("mwrap-pictures") do |dir|
      @dir = dir
      start
      browser = Chromium.start(PATIENCE)
      take(browser)
    ensure
      browser&.quit
      stop
    end
  end

  private

  def start
    FILES.each do |from, to|
      FileUtils.mkdir_p(File.join(@dir, File.dirname(to)))
      FileUtils.cp_r(File.join(TOP, from), File.join(@dir, to))
    end
    FileUtils.mkdir_p(File.join(@dir, "gems"))
    stdin, @alive = IO.pipe
    @log = File.join(@dir, "log")
    namespace = Process.uid.zero? ? %w[unshare --mount] : %w[unshare --user --map-root-user --mount]
    @pid = spawn({ "GEM_HOME" => "/srv/gems", "GEM_PATH" => "/srv/gems", "MWRAP" => "listen:127.0.0.1:0,stacks:auto" }, *namespace, "sh", "-euc", <<~'SH',
      mount --bind "$2" "$1/gems"
      mount --rbind "$1" /srv
      cd /srv/notes
      exec "$3" /srv/mwrap/bin/mwrap "$3" /srv/notes/server.rb 3.3.2
    SH
                 "sh", @dir, ENV.fetch("GEM_HOME"), RbConfig.ruby, in: stdin, %i[out err] => @log, pgroup: true)
    stdin.close
    @page = URI(logged(%r{listening on (http://\S+)}))
    @app = URI(logged(%r{Listening on (http://\S+)}))
  end

  def logged(pattern)
    wait_for(pattern) { File.read(@log)[pattern, 1] }
  end

  def wait_for(what)
    (PATIENCE * 20).times do
      got = yield and return got
      Process.wait(@pid, Process::WNOHANG) and (@pid = nil) if @pid
      @pid or @ended or abort "screenshots: the app ended:\n#{File.read(@log)}"
      sleep 0.05
    end
    abort "screenshots: waited in vain for #{what}\n#{File.read(@log)}"
  end

  def stop
    @sending&.kill
    @alive&.close unless @alive&.closed?
    return unless @pid

    Process.kill(:TERM, @pid)
    Process.wait(@pid)
  ensure
    @pid = nil
  end

  # The requests of some visitors: mostly reading, some searching, some writing.
  def send_requests(count, pause = nil)
    Net::HTTP.start(@app.host, @app.port) do |http|
      count.times do |n|
        case n % 10
        when 0 then http.get("/?q=Note+#{n % 24}")
        when 1 then http.get("/notes.json?q=#{n % 24}")
        when 2 then http.post("/notes/#{n % 24}", "text=Comment+*#{n}*")
        else http.get("/notes/#{n % 24}")
        end
        sleep pause if pause
      end
      http.post("/gc", "") # else what is garbage takes as much room as what leaks in so short a time
    end
  end

  def take(browser)
    send_requests(300)
    Net::HTTP.post(@page + "/reset", "")
    @tab = browser.create_page
    look(WIDE, "light")
    @tab.go_to(@page.to_s)
    (LOAD * RATE / 100).times { send_requests(100, 1.0 / RATE) }
    @sending = Thread.new { loop { send_requests(20, 5.0 / RATE) } }
    live_pages
    flame
    plain_pages(browser)
    gone
  end

  def live_pages
    leak = rows.max_by { |r| r["growth"] }["location"]
    first = "document.querySelector('[role=row] td.location')?.textContent"
    picture("home", "", "#{first} === '#{leak}' && document.querySelector('[role=row] .trend').dataset.way === 'up'")
    picture("phone", "", "document.querySelectorAll('[role=row]').length > 5", size: PHONE)
    picture("gems", "group=gem", "#{first} === '/srv/notes'")
    picture("map", "view=map", "document.querySelectorAll('.area').length > 3")
    picture("location", URI.encode_www_form(at: leak), "!!document.querySelector('.source .here') && !!document.querySelector('.one .histogram td')")
    @tab.evaluate("location.hash = ''")
    wait_for("the table") { @tab.evaluate("document.activeElement?.className === 'locations'") }
    @tab.evaluate("document.querySelector('[data-action=reset]').click()")
    picture("reset", nil, "!document.querySelector('.ask').hidden")
    @tab.evaluate("document.querySelector('.ask .no').click()")
  end

  # Who called it: all of it, and the callers of the leak.
  def flame
    leak = rows.max_by { |r| r["growth"] }["location"]
    drawn = "!!document.querySelector('.flame .top-frames tbody tr') && !document.querySelector('.flame[aria-busy]')"
    { "flame" => "flame", "flame-of-leak" => "flame?#{URI.encode_www_form(location: leak)}" }.each do |name, path|
      @tab.go_to((@page + path).to_s)
      picture(name, nil, drawn, size: TALL)
    end
    @tab.go_to(@page.to_s)
  end

  # Those of the server's own; none of them needs a script.
  def plain_pages(browser)
    leak = rows.max_by { |r| r["growth"] }["location"]
    live, @tab = @tab, browser.create_page
    @tab.disable_javascript
    look(WIDE, "light")
    { "plain" => "", "plain-each" => "each/2000?sort=live_bytes&group=gem", "plain-at" => "at/#{URI.encode_www_form_component(leak)}",
      "overruns" => "overruns" }.each do |name, path|
      @tab.go_to((@page + path).to_s)
      picture(name, nil, "!!document.querySelector('main h1')")
    end
    @tab.close
    @tab = live
    @tab.command("Page.bringToFront")
  end

  def gone
    @ended = true
    stop
    picture("gone", "", "document.querySelector('.light').dataset.state === 'gone'")
  end

  # The table as it is; no picture is made when a path of this machine would be in it.
  def rows
    JSON.parse(Net::HTTP.get(@page + "/each/0.json")).tap do |all|
      ours = all.find { |r| [TOP, @dir, Dir.home].any? { |path| path != "/" && r["location"].start_with?(path) } }
      abort "screenshots: #{ours["location"]} is in the table" if ours
    end
  end

  def look(size, scheme)
    Chromium.look(@tab, *size, scheme, still: true)
  end

  # fragment: of the URL, nil: as it is; ready: what must hold, as JavaScript
  def picture(name, fragment, ready, size: WIDE)
    @tab.evaluate("location.hash = arguments[0], document.activeElement.blur()", fragment) if fragment
    %w[light dark].each do |scheme|
      look(size, scheme)
      wait_for("#{name}: #{ready}") { @tab.evaluate("document.readyState === 'complete' && #{ready}") }
      sleep 1.5 # a tick more, and what is drawn in the next frames
      path = File.join(TO, "#{name}-#{scheme}.png")
      File.binwrite(path, @tab.screenshot(encoding: :binary))
      puts format("%-24s %4d kB", File.basename(path), File.size(path) / 1000)
    end
    look(WIDE, "light")
  end
end

$stdout.sync = true
Screenshots.new.run

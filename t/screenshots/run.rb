# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# run.rb: pictures of every page, each as NAME-light.png and NAME-dark.png. Runs the
# demo's app as in_srv.rb says. Everything that it started is gone when it ends.
# Those of the memory map are maps.rb's.
#
#   PICTURES=t/demo/pictures   where to
#   LOAD=150                   seconds that the page looks at the app's leak before
require "json"
require "net/http"
require "tmpdir"
require_relative "in_srv"
require_relative "pictures"

class Screenshots
  include Pictures

  LOAD = Integer(ENV.fetch("LOAD", "150"))
  RATE = 50        # requests a second
  PHONE = [390, 844].freeze
  TALL = [1280, 1540].freeze

  def run
    Dir.mktmpdir("mwrap-pictures") do |dir|
      @dir = dir
      start
      browser = Chromium.start(InSrv::PATIENCE)
      take(browser)
    ensure
      browser&.quit
      stop
    end
  end

  private

  def start
    @srv = InSrv.new(@dir, "/srv/notes/server.rb", "3.3.2", options: "listen:127.0.0.1:0,stacks:auto")
    @page = URI(@srv.logged(%r{listening on (http://\S+)}))
    @app = URI(@srv.logged(%r{Listening on (http://\S+)}))
  end

  def wait_for(what, &block) = @srv.wait_for(what, &block)

  def stop
    @sending&.kill
    @srv&.stop
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
    first = ->(location) { "document.querySelector('[role=row] td.location')?.textContent.startsWith('#{location}')" }
    picture("home", "", "#{first[leak]} && document.querySelector('[role=row] .trend').dataset.way === 'up'")
    picture("phone", "", "document.querySelectorAll('[role=row]').length > 5", size: PHONE)
    picture("gems", "group=gem", first["/srv/notes"])
    picture("treemap", "view=map", "document.querySelectorAll('.area').length > 3")
    picture("location", URI.encode_www_form(at: leak), "!!document.querySelector('.source .here') && !!document.querySelector('.one .histogram td')")
    @tab.evaluate("document.querySelector('.one .back').click()")
    wait_for("the table") { @tab.evaluate("document.activeElement?.className === 'locations'") }
    @tab.evaluate("document.querySelector('[data-action=reset]').click()")
    picture("reset", nil, "!document.querySelector('.ask').hidden")
    @tab.evaluate("document.querySelector('.ask .no').click()")
  end

  # The whole flame graph, and the callers of the leak.
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
    stop
    picture("gone", "", "document.querySelector('.light').dataset.state === 'gone'")
  end

  # The table as it is; no picture is made when a path of this machine would be in it.
  def rows
    JSON.parse(Net::HTTP.get(@page + "/each/0.json")).tap { |all| @srv.check(all.map { |r| r["location"] }) }
  end
end

$stdout.sync = true
Screenshots.new.run

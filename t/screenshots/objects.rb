# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# objects.rb: a Rails app whose class keeps its records, which are Ruby objects (t/demo/audit.rb), while requests come.
# heap-light.png and heap-dark.png: the first page, once its sentence names the line; objects-light.png and
# objects-dark.png: that line's page, with what keeps the objects, as doc/index.md shows them. The app runs as in_srv.rb
# says.
#
#   PICTURES=t/demo/pictures   where to
require "json"
require "net/http"
require "tmpdir"
require_relative "in_srv"
require_relative "pictures"

class ObjectPictures
  include Pictures

  LEAK = "audit.rb"
  SAMPLES = 100
  TALL = [1280, 1350].freeze
  ASKED = "document.querySelector('.held button')?.textContent === 'Look again'"
  MINUTES = 12 # in which the sentence must come: a process that young warms up
  PAUSE = 0.05 # seconds between two requests
  APP = ["-r/srv/lib/under_puma", "-e", "UnderPuma.run('/srv/notes/impressions.ru')"].freeze

  def run
    Dir.mktmpdir("mwrap-objects") do |dir|
      @srv = InSrv.new(dir, *APP, options: "socket:/srv/sock,listen:127.0.0.1:0,objects:on")
      @page = URI(@srv.logged(%r{mwrap: .*listening on (http://\S+)}))
      requests = ask(URI(@srv.logged(%r{^\* Listening on (http://\S+)})))
      told
      browse(leaking)
    ensure
      requests&.kill
      @srv&.stop
    end
  end

  private

  def wait_for(what, &block) = @srv.wait_for(what, &block)

  def get(path) = JSON.parse(Net::HTTP.get(@page + path))

  def ask(app)
    Thread.new do
      Net::HTTP.start(app.host, app.port) do |http|
        loop do
          answer = http.get("/pictures")
          answer.code == "200" or abort "screenshots: #{answer.code}: #{answer.body[0, 200]}"
          sleep PAUSE
        end
      end
    end
  end

  # Waits until the sentence names the line.
  def told
    (MINUTES * 60).times do
      text = get("/verdict.json")["sentence"]
      return puts text if text.match?(/grows.*#{LEAK}/)

      sleep 1
    end
    abort "screenshots: the sentence doesn't name the line: #{get('/verdict.json')['sentence']}"
  end

  # The line with the most objects, once enough samples tell that
  def leaking
    wait_for("#{SAMPLES} samples of a line") do
      rows = get("/each/0.json?sort=object_bytes&limit=50")
      @srv.check(rows.map { |r| r["location"] })
      rows[0]["location"] if rows[0]["object_samples"] >= SAMPLES
    end
  end

  def browse(location)
    browser = Chromium.start(InSrv::PATIENCE)
    @tab = browser.create_page
    @tab.go_to(@page.to_s)
    picture("heap", nil, "document.querySelectorAll('table tbody tr').length > 0")
    @tab.go_to((@page + "/at?location=#{URI.encode_www_form_component(location)}").to_s)
    wait_for("the button") { @tab.evaluate("!!document.querySelector('.held button')") }
    @tab.evaluate("document.querySelector('.held button').click()")
    picture("objects", nil, ASKED, size: TALL)
  ensure
    browser&.quit
  end
end

$stdout.sync = true
ObjectPictures.new.run

# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# maps.rb: pictures of /map, as doc/memory-map.md shows them: map-bloat.png and map-rails.png, whole pages of two of the
# demo's programs, and of the second one map-light.png and map-dark.png.
# The programs run as in_srv.rb says. Everything that it started is gone when it ends.
#
#   PICTURES=t/demo/pictures   where to
require "json"
require "net/http"
require "tmpdir"
require_relative "in_srv"
require_relative "pictures"

class MapPictures
  include Pictures

  THREADS = 8
  REQUESTS = 100 # of each
  TALL = [1280, 1060].freeze
  DRAWN = "!!document.querySelector('.memory canvas') && !document.querySelector('.memory[aria-busy], .cells[data-loading]')"

  def run
    bloat
    shop
  end

  private

  # Runs a program, and yields when it has said what it says when it is ready.
  def with(*args, ready:)
    Dir.mktmpdir("mwrap-maps") do |dir|
      @srv = InSrv.new(dir, *args, options: "socket:/srv/sock,listen:127.0.0.1:0")
      @page = URI(@srv.logged(%r{listening on (http://\S+)}))
      yield @srv.logged(ready)
    ensure
      @srv&.stop
    end
  end

  def wait_for(what, &block) = @srv.wait_for(what, &block)

  def bloat
    with("/srv/notes/bloat.rb", ready: /^(ready)$/) { browse { draw("map-bloat") } }
  end

  def shop
    with("-r/srv/lib/under_puma", "-e", "UnderPuma.run('/srv/notes/shop.ru', threads: #{THREADS})", ready: %r{Listening on (http://\S+)}) do |app|
      send_requests(URI(app))
      browse do
        draw("map-rails")
        picture("map", nil, DRAWN, size: TALL)
      end
    end
  end

  # Some visitors at once: most look at a product.
  def send_requests(app)
    Array.new(THREADS) do |thread|
      Thread.new do
        Net::HTTP.start(app.host, app.port) do |http|
          REQUESTS.times do |i|
            n = thread * REQUESTS + i
            path = n % 10 == 3 ? "/products?from=#{n % 400}" : n % 10 == 6 ? "/products.json" : "/products/#{n * 7 % 400}"
            answer = http.get(path)
            answer.code == "200" or abort "screenshots: #{path}: #{answer.code}: #{answer.body[0, 200]}"
          end
        end
      end
    end.each(&:join)
  end

  # All of the page
  def draw(name)
    look(TALL, "light")
    wait_for("#{name}: #{DRAWN}") { @tab.evaluate(DRAWN) }
    path = File.join(TO, "#{name}.png")
    File.binwrite(path, @tab.screenshot(encoding: :binary, full: true))
    taken(path)
  end

  def browse
    @srv.check(JSON.parse(Net::HTTP.get(@page + "/map.json"))["lines"].map { |l| l["location"] })
    browser = Chromium.start(InSrv::PATIENCE)
    @tab = browser.create_page
    @tab.go_to((@page + "/map").to_s)
    yield
  ensure
    browser&.quit
  end
end

$stdout.sync = true
MapPictures.new.run

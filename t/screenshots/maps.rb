# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# maps.rb: pictures of memory maps, as doc/memory-map.md shows them: map-bloat.png and map-rails.png, which
# mwrapctl draws of two of the demo's programs, and the page of the second one, map-light.png and map-dark.png.
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
    with("/srv/notes/bloat.rb", ready: /^(ready)$/) { draw("map-bloat") }
  end

  def shop
    with("-r/srv/lib/under_puma", "-e", "UnderPuma.run('/srv/notes/shop.ru', threads: #{THREADS})", ready: %r{Listening on (http://\S+)}) do |app|
      send_requests(URI(app))
      draw("map-rails")
      browse
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

  # As mwrapctl draws it
  def draw(name)
    @srv.check(JSON.parse(Net::HTTP.get(@page + "/map.json"))["lines"].map { |l| l["location"] })
    path = File.join(TO, "#{name}.png")
    system(RbConfig.ruby, File.join(InSrv::TOP, "exe/mwrapctl"), "map", File.join(@srv.dir, "sock"), "-o", path) or abort "screenshots: #{name}: mwrapctl failed"
    taken(path)
  end

  def browse
    browser = Chromium.start(InSrv::PATIENCE)
    @tab = browser.create_page
    @tab.go_to((@page + "/map").to_s)
    picture("map", nil, "!!document.querySelector('.memory canvas') && !document.querySelector('.memory[aria-busy], .cells[data-loading]')", size: TALL)
  ensure
    browser&.quit
  end
end

$stdout.sync = true
MapPictures.new.run

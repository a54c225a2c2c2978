# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# objects.rb: a picture of the page of a line that made Ruby objects which a class keeps, with what keeps them:
# objects-light.png and objects-dark.png, as doc/index.md shows it. The program runs as in_srv.rb says.
#
#   PICTURES=t/demo/pictures   where to
require "json"
require "net/http"
require "tmpdir"
require_relative "in_srv"
require_relative "pictures"

class ObjectPictures
  include Pictures

  SAMPLES = 100
  ASKED = "document.querySelector('.held button')?.textContent === 'Look again'"

  def run
    Dir.mktmpdir("mwrap-objects") do |dir|
      @srv = InSrv.new(dir, "/srv/notes/registry.rb", options: "socket:/srv/sock,listen:127.0.0.1:0,objects:on")
      @page = URI(@srv.logged(%r{listening on (http://\S+)}))
      @srv.logged(/^(ready)$/)
      browse(leaking)
    ensure
      @srv&.stop
    end
  end

  private

  def wait_for(what, &block) = @srv.wait_for(what, &block)

  # The line with the most objects, once enough samples tell that
  def leaking
    wait_for("#{SAMPLES} samples of a line") do
      rows = JSON.parse(Net::HTTP.get(@page + "/each/0.json?sort=object_bytes&limit=50"))
      @srv.check(rows.map { |r| r["location"] })
      rows[0]["location"] if rows[0]["object_samples"] >= SAMPLES
    end
  end

  def browse(location)
    browser = Chromium.start(InSrv::PATIENCE)
    @tab = browser.create_page
    @tab.go_to((@page + "/at?location=#{URI.encode_www_form_component(location)}").to_s)
    wait_for("the button") { @tab.evaluate("!!document.querySelector('.held button')") }
    @tab.evaluate("document.querySelector('.held button').click()")
    picture("objects", nil, ASKED)
  ensure
    browser&.quit
  end
end

$stdout.sync = true
ObjectPictures.new.run

# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# story.rb: the live page and a line's page of t/demo/sessions.rb, as doc/story.md shows them: story and story-line, light
# and dark. The program runs as in_srv.rb says, until the verdict has a proof.
#
#   PICTURES=t/demo/pictures   where to
require "json"
require "net/http"
require "tmpdir"
require_relative "in_srv"
require_relative "pictures"

class StoryPictures
  include Pictures

  LINE = "/srv/notes/sessions.rb:9"
  PROVED = 20 # times InSrv::PATIENCE
  ASKED = "document.querySelector('.held button')?.textContent === 'Look again'"

  def run
    Dir.mktmpdir("mwrap-story") do |dir|
      @srv = InSrv.new(dir, "/srv/notes/sessions.rb", options: "socket:/srv/sock,listen:127.0.0.1:0")
      @page = URI(@srv.logged(%r{listening on (http://\S+)}))
      proof
      browse
    ensure
      @srv&.stop
    end
  end

  private

  def wait_for(what, &block) = @srv.wait_for(what, &block)
  def json(path) = JSON.parse(Net::HTTP.get(@page + path))

  def proof
    @srv.check(json("/each/0.json?limit=1000").map { |r| r["location"] })
    PROVED.times { |i| break if sentence.include?("kept by") || i == PROVED - 1 || sleep(10).nil? }
    puts sentence
  end

  def sentence = json("/verdict.json")["sentence"]

  def browse
    browser = Chromium.start(InSrv::PATIENCE)
    @tab = browser.create_page
    @tab.go_to(@page.to_s)
    picture("story", nil, "document.body.textContent.includes(#{LINE.split("/").last.to_json})")
    @tab.go_to((@page + "/at?location=#{URI.encode_www_form_component(LINE)}").to_s)
    wait_for("the button") { @tab.evaluate("!!document.querySelector('.held button')") }
    @tab.evaluate("document.querySelector('.held button').click()")
    picture("story-line", nil, ASKED)
  ensure
    browser&.quit
  end
end

$stdout.sync = true
StoryPictures.new.run

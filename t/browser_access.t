#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

# Logging in with a real browser, at a real process; and what pages of other origins get
# done with a browser that is logged in: nothing.
require_relative "lib/browser"
require_relative "lib/access"
require_relative "lib/served"

BrowserTest.careful!

class BrowserAccessTest < Minitest::Test
  include BrowserTest

  attr_reader :origin

  APP = <<~RUBY
    $stdout.sync = true
    KEPT = []
    while gets
      200.times { KEPT << ("x" * 10_000) } # the leak
      puts "done"
    end
  RUBY

  def teardown
    super
    @evil&.close
  end

  def start(*options, listen: "127.0.0.1:0")
    token = token_file
    app = served_ruby(APP, options: ["listen:#{listen}", "token_file:#{option_value(token)}", *options])
    app.ask("go")
    @port = port_of(app)
    @origin = "http://127.0.0.1:#{@port}"
    app
  end

  def location = js("location.pathname + location.search")

  def log_in(token = TOKEN)
    wait_until("!!document.querySelector('input[name=token]')")
    js("document.querySelector('input[name=token]').value = arguments[0]", token)
    click("form button")
  end

  def resets = JSON.parse(get("/stats.json", bearer(@token || TOKEN), at: @port).body).fetch("resets")

  def test_login_and_logout
    start
    open_page("#{origin}/#sort=live")
    assert_equal "Log in", text("h1")
    assert_equal "password", js("document.querySelector('input[name=token]').type")
    # the style sheet is there, for everybody
    assert_operator js("document.styleSheets[0].cssRules.length"), :>, 10
    log_in("not the token at all")
    wait_until("document.querySelector('.warning')?.textContent === 'That is not the token.'")
    log_in
    wait_for_live
    assert_equal "/", location
    wait_until("document.querySelectorAll('#{ROWS}').length > 5")
    assert_equal "", js("document.cookie"), "no script sees it"
    # the page's own requests have it, too
    click("[data-action=reset]")
    click(".ask .yes")
    wait_until("document.querySelector('.said').textContent.startsWith('The counters start again')")
    assert_equal 1, resets
    # and other pages and tabs
    go_to("#{origin}/each/0?sort=live")
    assert_equal "Locations", text("h1")
    assert_quiet "401 (Unauthorized)"
    click("form.logout button")
    wait_until("document.querySelector('h1')?.textContent === 'Log in'")
    assert_equal "/each/0?sort=live", js("document.querySelector('input[name=to]').value")
    go_to("#{origin}/")
    assert_equal "Log in", text("h1")
  end

  def test_what_was_asked_for_comes_after_the_login
    start
    where = "/at/#{escape("#{path("app.rb")}:4")}"
    open_page("#{origin}#{where}?limit=5", scripts: false)
    log_in
    wait_until("document.querySelector('h1')?.textContent.endsWith('app.rb:4')")
    assert_equal "#{where}?limit=5", location
    go_to("#{origin}/login")
    log_in
    wait_until("document.querySelector('h1')?.textContent === 'Growing locations'")
    assert_equal "/", location
  end

  # WCAG 2's 4.5 to 1, with what was wrong shown as well; and nothing but the form's few words.
  def test_the_form_in_light_and_dark
    start
    %w[light dark].each do |scheme|
      open_page(origin, scheme: scheme)
      log_in("not the token at all")
      wait_until("!!document.querySelector('.warning')")
      n, bad = js(Chromium::CONTRAST)
      assert_operator n, :>=, 6, scheme
      assert_empty bad, scheme
      refute_match(/pid|ruby|app\.rb/, text("body"))
      close_page
    end
  end

  # While somebody looks: the page says so, keeps what it has, and is there again after a login.
  def test_another_token
    start
    open_page(origin)
    log_in
    wait_for_live
    rotate("#{OTHER}\n")
    wait_until("document.querySelector('.light').dataset.state === 'refused'")
    assert_includes text(".light"), "not live: refused: log in"
    assert_operator js("document.querySelectorAll('#{ROWS}').length"), :>, 5
    refresh
    log_in(OTHER)
    wait_for_live
  end

  # --- pages of others ---------------------------------------------------------------

  # A server whose only page does what the script says, once it is loaded; its port.
  def evil(script)
    @evil = TCPServer.new("127.0.0.1", 0)
    html = "<!DOCTYPE html><title>evil</title><body><script>#{script}</script>"
    Thread.new(@evil) do |server|
      while (s = server.accept)
        # browsers open some that they never use
        Thread.new(s) { |one| answer_evil(one, html) }
      end
    rescue IOError, SystemCallError
      nil
    end
    @evil.addr[1]
  end

  def answer_evil(s, html)
    s.readpartial(10_000)
    s.write("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: #{html.bytesize}\r\nConnection: close\r\n\r\n#{html}")
  rescue IOError, SystemCallError
    nil
  ensure
    s.close
  end

  POSTS = <<~JS
    (async () => {
      const out = [];
      for (const options of [{}, { credentials: "include" }, { mode: "no-cors", credentials: "include" }])
        for (const path of ["/reset", "/logout", "/pause"])
          try { out.push((await fetch(TARGET + path, { method: "POST", ...options })).status); } catch (e) { out.push(e.name); }
      for (const path of ["/stats.json", "/each/0.json"])
        try { out.push(await (await fetch(TARGET + path, { credentials: "include" })).text()); } catch (e) { out.push(e.name); }
      const form = Object.assign(document.createElement("form"), { method: "post", action: TARGET + "/reset", target: "there" });
      document.body.append(Object.assign(document.createElement("iframe"), { name: "there" }), form);
      form.submit();
      document.querySelector("iframe").onload = () => { document.title = JSON.stringify(out); };
    })();
  JS

  # Another site (localhost and 127.0.0.1 are two), and another port of the same host, to which
  # a browser sends the same cookies.
  def test_pages_of_another_origin
    start
    open_page(origin)
    log_in
    wait_for_live
    port = evil("const TARGET = #{origin.to_json};\n#{POSTS}")
    %w[localhost 127.0.0.1].each do |host|
      go_to("http://#{host}:#{port}/")
      out = JSON.parse(wait_until("document.title") { |t| t.start_with?("[") })
      # 0: an answer that the page isn't shown
      assert_equal ["TypeError"] * 6 + [0] * 3 + ["TypeError"] * 2, out, host
      assert_equal 0, resets, host
    end
    go_to("#{origin}/") # still logged in
    wait_for_live
    assert_equal "false", get("/stats.json", bearer, at: @port).body[/"paused":(\w+)/, 1]
    click("[data-action=reset]")
    click(".ask .yes")
    wait_until("document.querySelector('.said').textContent.startsWith('The counters')")
    assert_equal 1, resets
  end

  # By a link from elsewhere the cookie isn't sent; from the form that is shown then, it is.
  def test_a_link_from_another_site
    start
    open_page(origin)
    log_in
    wait_for_live
    port = evil("document.body.append(Object.assign(document.createElement('a'), " \
                "{ href: #{"#{origin}/each/0?sort=live".to_json}, textContent: 'look' }))")
    go_to("http://localhost:#{port}/")
    click("a")
    wait_until("document.querySelector('h1')?.textContent === 'Log in'")
    click("p.note a")
    wait_until("document.querySelector('h1')?.textContent === 'Locations'")
    assert_equal "/each/0?sort=live", location
  end

  # A page can't take one of ours into a frame, to have it clicked.
  def test_frames
    start
    open_page(origin)
    log_in
    wait_for_live
    port = evil("const f = Object.assign(document.createElement('iframe'), { src: #{"#{origin}/".to_json} }); document.body.append(f); " \
                "f.onload = () => { let text; try { text = f.contentDocument.title } catch { text = 'none' } document.title = 'frame:' + text; };")
    go_to("http://127.0.0.1:#{port}/")
    wait_until("document.title") { |t| t.start_with?("frame:") }
    assert(eventually("a complaint") { @complaints.any? { |c| c.include?("frame-ancestors") } })
  end
end

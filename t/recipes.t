#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# doc/recipes.md and doc/containers.md stay true: what can be run here is taken from the pages
# and run; of the rest, names, options and references are checked. A block of code is known by
# the word after its language: ```ruby config/puma.rb.
require_relative "lib/tap"
require "fileutils"
require "socket"
require "yaml"

module Recipes
  PAGES = %w[recipes.md containers.md].to_h { |name| [name, File.join(MwrapTest::ROOT, "doc", name)] }.freeze
  PACKAGES = File.readlines(File.join(MwrapTest::ROOT, "t/lib/packages")).grep_v(/\A(#|\s*\z)/).flat_map { |line| line.split[1].split("|") }

  def page(name) = (@pages ||= {})[name] ||= File.read(PAGES.fetch(name))

  # [language, name or nil, text] of every block
  def blocks(name) = page(name).scan(/^```(\w+)(?: (\S+))?\n(.*?)^```$/m)

  def block(page, name)
    found = blocks(page).select { |_, n, _| n == name }
    assert_equal 1, found.size, "blocks #{name} of doc/#{page}"
    found[0][2]
  end
end

class RecipesRunTest < Minitest::Test
  include Recipes
  GEMS = File.join(ROOT, ".build/gems-#{RUBY_ENGINE}-#{RUBY_VERSION}-#{RUBY_PLATFORM}")
  PINS = File.readlines(File.join(ROOT, "t/lib/gems")).grep(/ (railties|actionpack|puma) /).to_h { |line| line.split[1, 2] }
  LOGIN = "admin:pass word"
  # A Rails application with a leak. The files that the page says to write aren't here.
  APP = {
    "config/application.rb" => <<~RUBY,
      require "logger"
      require "bundler/setup"
      require "rails"
      require "action_controller/railtie"
      Bundler.require
      class App < Rails::Application
        config.load_defaults 7.1
        config.root = File.expand_path("..", __dir__)
        config.eager_load = true
        config.hosts.clear
        config.secret_key_base = "not a secret: a test"
        config.logger = Logger.new($stderr, level: Logger::WARN)
      end
    RUBY
    "config/routes.rb" => %(Rails.application.routes.draw { get "/leak", to: "leaks#show" }\n),
    "config.ru" => %(require_relative "config/application"\nRails.application.initialize!\nrun Rails.application\n),
    "app/controllers/leaks_controller.rb" => <<~RUBY
      class LeaksController < ActionController::Base
        KEPT = []

        def show
          KEPT << "x" * 10_000
          render plain: "ok"
        end
      end
    RUBY
  }.freeze

  def test_rails_and_puma_in_a_bundle
    in_tmp do |dir|
      write(dir)
      assert_success shell("bundle install --local", dir)
      puma(dir) do
        cluster(dir)
        leak(dir)
        mounted(dir)
      end
    end
  end

  private

  # Everything that the pages tell to write, and an app around it. lib/ of this checkout is built:
  # that is what `make -C vendor/mwrap` leaves.
  def write(dir)
    gemfile = %(source "https://rubygems.org"\n) + PINS.map { |name, version| %(gem "#{name}", "= #{version}"\n) }.join
    FileUtils.mkdir_p("#{dir}/vendor")
    File.symlink(ROOT, "#{dir}/vendor/mwrap")
    files = APP.merge("Gemfile" => gemfile + block("recipes.md", "Gemfile"))
    %w[config/puma.rb config/initializers/mwrap.rb].each { |name| files[name] = block("recipes.md", name) }
    files.each do |name, text|
      FileUtils.mkdir_p(File.dirname("#{dir}/#{name}"))
      File.write("#{dir}/#{name}", text)
    end
    FileUtils.mkdir_p("#{dir}/bin")
    File.symlink(RUBY, "#{dir}/bin/ruby")
    # this Ruby's, which need not be the first one in PATH
    File.write("#{dir}/bin/bundle", %(#!#{RUBY}\nload Gem.bin_path("bundler", "bundle")\n), perm: 0o755)
  end

  # The examples' socket and port, here
  def here(text, dir) = text.gsub("/tmp/mw.sock", "#{dir}/mw.sock").gsub("localhost:3000", "localhost:#{port}")

  def port = @port ||= TCPServer.open("127.0.0.1", 0) { |s| s.addr[1] }

  def env(dir)
    { "BUNDLE_GEMFILE" => nil, "GEM_HOME" => GEMS, "GEM_PATH" => nil, "RUBYOPT" => nil, "RUBYLIB" => nil, "HOME" => dir,
      "PATH" => "#{dir}/bin:#{GEMS}/bin:#{ENV["PATH"]}", "PORT" => port.to_s, "WEB_CONCURRENCY" => "2", "RAILS_ENV" => "production", "MWRAP_LOGIN" => LOGIN }
  end

  def shell(text, dir, more = {})
    run_command("sh", "-euc", here(text, dir), env: env(dir).merge(more), chdir: dir, timeout: 120)
  end

  # The command of the page, until the block ends
  def puma(dir)
    command = blocks("recipes.md").map(&:last).grep(/\ARAILS_ENV=production MWRAP=socket/)
    assert_equal 1, command.size
    log = "#{dir}/puma.log"
    pid = Process.spawn(env(dir).merge("LD_PRELOAD" => nil, "MWRAP" => nil), "sh", "-euc", here("exec env #{command[0]}", dir),
                        chdir: dir, in: :close, out: log, err: log, pgroup: true)
    tries = 0
    until answers?
      flunk "Puma ended:\n#{File.read(log)}" if Process.wait(pid, Process::WNOHANG)
      flunk "Puma doesn't answer:\n#{File.read(log)}" if (tries += 1) > 1200
      sleep 0.1
    end
    yield
    assert_empty File.readlines(log).grep(/mwrap:/)
  ensure
    stop(pid)
  end

  def answers?
    TCPSocket.open("127.0.0.1", port) { |s| s.write("GET /leak HTTP/1.0\r\n\r\n") && s.read.include?("200 OK") }
  rescue SystemCallError
    false
  end

  def stop(pid)
    return unless pid
    Process.kill(:KILL, -pid)
    Process.wait(pid)
  rescue Errno::ESRCH, Errno::ECHILD
    nil # it ended before
  end

  def cluster(dir)
    100.times do # the second worker may still be booting
      run = shell(block("recipes.md", "cluster"), dir)
      assert_success run
      next sleep(0.1) unless run.stdout.lines.grep(/\A\d+\tpuma.*\tanswers\t/).size == 3
      return refute_empty Dump.tsv(tables(run.stdout)).fetch(0)
    end
    flunk "never three processes: #{File.read("#{dir}/puma.log")}"
  end

  # From the header of a table of locations on, without the column of processes
  def tables(text) = text[/^total\t.*/m].lines(chomp: true).map { |line| "#{line.split("\t", -1)[0, MwrapTest::COLUMNS.size].join("\t")}\n" }.join

  def leak(dir)
    run = row = nil
    5.times do # the sum leaves a worker out if a busy machine keeps it from answering in time
      run = shell(block("recipes.md", "leak"), dir)
      assert_success run
      row = Dump.tsv(tables(run.stdout)).fetch(0).find { |r| r.location.end_with?("app/controllers/leaks_controller.rb:5") }
      break if row && row.allocations >= 100
    end
    assert row, run.stdout
    assert_operator row.allocations - row.frees, :>=, 100
    assert_operator row.growth, :>=, 100 * 10_000
    source(dir)
  end

  def source(dir)
    source = nil
    50.times do # a worker that knows no leak, or only the line of its constant, may answer
      answer = shell(block("recipes.md", "source"), dir).stdout
      next unless answer.start_with?("{") # that worker doesn't know the location

      source = JSON.parse(answer)
      break if source["location"]&.end_with?("/app/controllers/leaks_controller.rb:5")
    end
    assert source&.fetch("location")&.end_with?("/app/controllers/leaks_controller.rb:5"), source.inspect
    assert_includes source["lines"].join("\n"), "KEPT << "
  end

  def mounted(dir)
    run = shell(block("recipes.md", "mounted"), dir)
    assert_success run
    assert_includes run.stdout, "leaks_controller.rb:5"
    assert_match(/reset/, run.stdout.lines.last)
    ["", "-u admin:wrong"].each do |login|
      assert_equal "401", shell("curl -s -o /dev/null -w '%{http_code}' #{login} http://localhost:3000/mwrap/", dir).stdout
    end
  end
end

class RecipesTest < Minitest::Test
  include Recipes

  def test_every_block_of_ruby_parses
    found = PAGES.keys.flat_map { |name| blocks(name) }.select { |language, *| language == "ruby" }
    assert_operator found.size, :>=, 5
    found.each { |_, _, text| assert_success run_command(RUBY, "-c", "-e", text) }
  end

  def test_every_block_of_shell_parses
    found = PAGES.keys.flat_map { |name| blocks(name) }.select { |language, *| language == "sh" }
    assert_operator found.size, :>=, 8
    found.each { |_, _, text| assert_success run_command("sh", "-nc", text) }
  end

  # By the tracker's own parser; what is closed or missing here is replaced.
  def test_every_value_of_mwrap_is_one
    found = PAGES.keys.flat_map { |name| mwrap_values(page(name)) }
    assert_operator found.size, :>=, 8
    script = 'require "mwrap"; ARGV.each { |text| e = Mwrap.check_options(text) and puts "#{text}: #{e}" }'
    run = run_command(RUBY, "-I#{LIB}", "-e", script, *found)
    assert_success run
    assert_equal "", run.stdout
  end

  def mwrap_values(text)
    plain = text.scan(/MWRAP=([a-z_]+:[^\s`"]+)/) + text.scan(/^ +value: (\S+)/) + text.scan(/^\|.*\| `([a-z_]+:[^`]+)` \|/)
    plain.flatten.map { |v| v.gsub("%%p", "%p").sub("socket_group:monitoring", "socket_group:0").sub(/token_file:(?=[^\/])/, "token_file:/") }.uniq
  end

  def test_the_mwrap_of_this_page_is_no_older_one
    assert_includes page("recipes.md"), "2.x"
    assert_operator File.read(File.join(LIB, "mwrap/version.rb"))[/"(\d+)/, 1].to_i, :>, 2
  end

  # --- Docker -----------------------------------------------------------------------------

  # [INSTRUCTION, rest] of each, with its continuation lines
  def dockerfile = block("containers.md", "Dockerfile").gsub("\\\n", " ").lines(chomp: true).reject(&:empty?).map { |l| l.split(" ", 2) }

  def stages = dockerfile.slice_before { |name, _| name == "FROM" }.to_a

  def apt(stage) = stage.filter_map { |name, rest| rest[/apt-get install(.*?)(&&|\z)/, 1] if name == "RUN" }.flat_map(&:split).grep(/\A\w/)

  def test_the_dockerfile_has_two_stages_of_known_instructions
    assert_equal %w[COPY ENV FROM RUN WORKDIR], stages[0].map(&:first).uniq.sort
    assert_equal %w[CMD COPY ENV FROM RUN USER WORKDIR], stages[1].map(&:first).uniq.sort
    name = stages[0][0][1][/ AS (\w+)\z/, 1]
    assert_equal [name], dockerfile.filter_map { |_, rest| rest[/--from=(\w+)/, 1] }
    assert_equal %w[mwrap bundle exec], JSON.parse(stages[1].last[1]).first(3)
  end

  def test_the_packages_that_build_are_those_of_the_tests
    assert_empty apt(stages[0]) - PACKAGES
    needed = File.readlines(File.join(ROOT, "t/lib/packages")).grep(/\Abuild /).map { |line| line.split[1] }
    # the gem runs no tests
    assert_empty needed - apt(stages[0]) - ["libcmocka-dev"]
  end

  # The libraries of our shared objects, by the names of their packages' own version here and in
  # the page's Debian, which may end in t64. No Debian is without zlib: dpkg needs it.
  def test_the_packages_that_run_are_those_of_our_libraries
    objects = %w[libmwrap.so libmwrap_httpd.so libmwrap_mhd.so].map { |so| File.join(LIB, so) }
    wanted = objects.flat_map { |so| run_command("readelf", "-d", so).stdout.scan(/NEEDED.*\[(?!libc\.|libz\.|ld-)(.*?)\.so\.(\d+)\]/) }
    families = wanted.map { |name, version| "#{name[/\A(liburcu|.*)/, 1]}#{version}" }.uniq.sort
    assert_equal %w[libmicrohttpd12 liburcu8], families
    assert_equal families, (apt(stages[1]) - %w[ruby bundler]).map { |name| name.delete_suffix("t64") }.sort
    families.each { |name| assert_includes page("containers.md"), "`#{name}`" }
  end

  # --- Kubernetes -------------------------------------------------------------------------

  def pods = %w[pod.yaml scrape.yaml].flat_map { |name| YAML.load_stream(block("containers.md", name)) }.select { |d| d["kind"] == "Pod" }

  def test_the_pods_refer_to_what_they_have
    assert_equal 2, pods.size
    pods.each do |pod|
      spec = pod["spec"]
      volumes = spec["volumes"].map { |v| v["name"] }
      mounts = (spec["containers"] + spec.fetch("initContainers", [])).flat_map { |c| c["volumeMounts"] }
      assert_equal volumes.sort, mounts.map { |m| m["name"] }.uniq.sort
      assert_equal true, spec.dig("securityContext", "runAsNonRoot")
      paths_of(spec["containers"][0]).each { |path| assert(spec["containers"][0]["volumeMounts"].any? { |m| "#{path}/".start_with?("#{m["mountPath"]}/") }, path) }
    end
  end

  # The paths that MWRAP makes or reads
  def paths_of(container)
    value = container["env"].find { |e| e["name"] == "MWRAP" }["value"]
    value.scan(/(?:socket|report_dir|token_file):([^,]+)/).flatten.tap { |paths| refute_empty paths }
  end

  def test_the_token_is_a_file_that_no_group_can_read
    spec = pods[1]["spec"]
    secret = spec["volumes"].find { |v| v["secret"] }["name"]
    refute(spec["containers"][0]["volumeMounts"].any? { |m| m["name"] == secret })
    assert_match(/\Aumask 077 && cat \S+ > #{Regexp.escape(paths_of(spec["containers"][0])[0])}\z/, spec["initContainers"][0]["command"][2])
  end

  def test_prometheus_asks_for_a_port_and_a_path_that_are_there
    job = YAML.safe_load(block("containers.md", "prometheus.yml"))["scrape_configs"][0]
    assert_includes pods[1]["spec"]["containers"][0]["ports"].map { |p| p["name"] }, job["relabel_configs"][0]["regex"]
    assert_equal "/all/metrics", job["metrics_path"]
  end

  # --- systemd, Procfile ------------------------------------------------------------------

  def test_systemd_takes_the_unit
    in_tmp do |dir|
      unit = block("containers.md", "app.service").sub("/usr/local/bin/mwrap", LAUNCHER).sub("/usr/bin/bundle", RUBY)
      assert_equal "", verified(dir, unit)
      refute_equal "", verified(dir, unit.sub("RuntimeDirectory", "RuntimeDirectry")), "what systemd-analyze says of a wrong one"
    end
  end

  def verified(dir, unit)
    File.write("#{dir}/app.service", unit)
    run = run_command("systemd-analyze", "verify", "#{dir}/app.service")
    run.stdout + run.stderr
  end

  # systemd would replace %p
  def test_the_unit_has_its_directories
    value = block("containers.md", "app.service")[/^Environment=MWRAP=(.*)/, 1]
    assert_empty value.scan(/%+/) - ["%%"]
    dirs = block("containers.md", "app.service").scan(/^(Runtime|State)Directory=(\w+)$/).to_h
    assert_equal({ "Runtime" => "mw", "State" => "mwrap" }, dirs)
    assert_includes value, "socket:/run/#{dirs["Runtime"]}/"
    assert_match(/report_dir:\/var\/lib\/#{dirs["State"]}\z/, value)
  end

  # A report at a share of the limit needs a limit.
  def test_there_is_a_limit
    assert_match(/^MemoryMax=\d+M$/, block("containers.md", "app.service"))
    assert(pods[0]["spec"]["containers"].all? { |c| c.dig("resources", "limits", "memory") })
    assert_match(/^docker run -m \d/, page("containers.md"))
  end

  def test_the_aptfile_has_what_a_build_needs
    assert_empty block("containers.md", "Aptfile").split - PACKAGES
    %w[Procfile Procfile.token].each { |name| assert_match(/\Aweb: .*bundle exec mwrap puma /, block("containers.md", name)) }
  end
end

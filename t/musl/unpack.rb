# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# unpack.rb TO: unpacks the gems that t/lib/gems has for musl into folders of TO, as their authors built them for
# Alpine, or without a platform. It leaves alone what is there. Older RubyGems would choose those for glibc.
require "rubygems/package"
require "rubygems/remote_fetcher"
require "fileutils"

def download(name, version, platform)
  source = Gem.sources.first
  spec = source.fetch_spec(Gem::NameTuple.new(name, Gem::Version.new(version), platform))
  source.download(spec, Dir.pwd)
end

FileUtils.mkdir_p(ARGV.fetch(0))
list = File.join(__dir__, "../lib/gems")
Dir.chdir(ARGV[0]) do
  File.readlines(list).grep(/\Amusl /).map { |line| line.split[1, 2] }.each do |name, version|
    next if Dir.exist?(name)
    file = begin
      download(name, version, "#{Gem::Platform.local.cpu}-linux-musl")
    rescue Gem::RemoteFetcher::FetchError
      download(name, version, "ruby")
    end
    Gem::Package.new(file).extract_files("#{name}.new")
    File.rename("#{name}.new", name)
  end
end

# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later

# embed.rb web/FILE... - prints the C source of mw_web_files (see assets.h). A build step: nothing
# loads it at run time. Templates (.html) get no content type: no request gets one unfilled.

require "digest"
require "zlib"

TYPES = {
  ".css" => "text/css; charset=utf-8",
  ".js" => "text/javascript; charset=utf-8",
  ".svg" => "image/svg+xml",
  "" => "text/plain; charset=utf-8", # LICENSES
  ".html" => nil
}.freeze

# Reproducible: the same input gives the same output, without a time, a name or a system.
def gzip(bytes)
  deflate = Zlib::Deflate.new(Zlib::BEST_COMPRESSION, 16 + Zlib::MAX_WBITS)
  out = deflate.deflate(bytes, Zlib::FINISH)
  deflate.close
  out
end

def array(name, bytes)
  puts "static const unsigned char #{name}[] = {"
  (bytes.bytes + [0]).each_slice(20) { |row| puts "\t#{row.join(",")}," }
  puts "};"
end

files = ARGV.to_h { |path| [path.sub(%r{\A(?:.*/)?web/}, ""), path] }.sort
abort "embed.rb: two files of one name" if files.size != ARGV.size

puts "/* made by embed.rb from: #{files.map(&:first).join(" ")} */", "#include \"assets.h\""
rows = files.each_with_index.map do |(name, path), i|
  type = TYPES.fetch(File.extname(name)) { abort "embed.rb: #{name}: no content type known" }
  bytes = File.binread(path)
  array("file_#{i}", bytes)
  next "{ #{name.dump}, NULL, file_#{i}, #{bytes.bytesize}, NULL, 0, NULL, { NULL, NULL } }" unless type

  small = gzip(bytes)
  small = nil if small.bytesize >= bytes.bytesize
  array("gzip_#{i}", small) if small
  version = Digest::SHA256.hexdigest(bytes)[0, 16]
  "{ #{name.dump}, #{type.dump}, file_#{i}, #{bytes.bytesize}, #{small ? "gzip_#{i}, #{small.bytesize}" : "NULL, 0"}, " \
    "#{version.dump}, { \"ETag\", #{"\"#{version}\"".dump} } }"
end
puts "const struct mw_web_file mw_web_files[] = {", rows.map { |row| "\t#{row}," }, "};",
     "const size_t mw_web_files_n = #{files.size};"

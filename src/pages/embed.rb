# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later

# embed.rb FILE... - prints the C source of mw_web_files (see web.h): a build step, never
# loaded at run time. Templates (.html) get no content type: they are not served as they are.

TYPES = {
  ".css" => "text/css; charset=utf-8",
  ".svg" => "image/svg+xml",
  ".html" => nil
}.freeze

files = ARGV.sort_by { |path| File.basename(path) }
names = files.map { |path| File.basename(path) }
abort "embed.rb: two files of one name" if names.uniq.size != names.size

puts "/* made by embed.rb from: #{names.join(' ')} */", "#include \"web.h\""
files.each_with_index do |path, i|
  bytes = File.binread(path).bytes
  puts "static const unsigned char file_#{i}[] = {"
  (bytes + [0]).each_slice(20) { |row| puts "\t#{row.join(',')}," }
  puts "};"
end
puts "const struct mw_web_file mw_web_files[] = {"
names.each_with_index do |name, i|
  type = TYPES.fetch(File.extname(name)) { abort "embed.rb: #{name}: no content type known" }
  puts "\t{ #{name.dump}, #{type ? type.dump : 'NULL'}, file_#{i}, sizeof(file_#{i}) - 1 },"
end
puts "};", "const size_t mw_web_files_n = #{files.size};"

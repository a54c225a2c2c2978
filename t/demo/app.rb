# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# app.rb - the demo's app: notes with comments in Markdown, served by Sinatra. It
# does what such apps do, and one thing that they should not: it makes a new
# Markdown renderer for every comment. That costs little where redcarpet frees
# its renderers; 3.3.2 doesn't.
#
# Whatever it keeps is bounded, so that apart from the leak its memory stays as
# it is after some hundred requests.
require "json"
require "redcarpet"
require "sinatra/base"

class Notes < Sinatra::Base
  NOTES = 24
  COMMENTS = 20 # of each note; the oldest goes when one is added
  CACHED = 8    # lists of notes, by what was searched for

  Note = Struct.new(:id, :title, :text, :comments)

  set :show_exceptions, false
  set :logging, false
  set :lock, Mutex.new
  set :cache, {}
  set :notes, Array.new(NOTES) { |id|
    Note.new(id, "Note #{id}", "## To do\n\n#{"- *soon*: [this](/notes/#{id}) and `that`\n" * 12}",
             Array.new(COMMENTS) { |n| "Comment **#{n}**, _as agreed_ with <someone@example.org>." })
  }

  helpers do
    def h(text)
      Rack::Utils.escape_html(text.to_s)
    end

    # The usual way: a renderer for each thread, which is kept.
    def markdown(text)
      Thread.current[:markdown] ||= Redcarpet::Markdown.new(Redcarpet::Render::XHTML.new, autolink: true)
      Thread.current[:markdown].render(text)
    end

    # Comments aren't trusted, so they get a renderer with other options, and
    # here a new one for each comment.
    def comment(text)
      safe = Redcarpet::Render::HTML.new(filter_html: true, no_images: true) # the leak
      Redcarpet::Markdown.new(safe).render(text)
    end

    def find(id)
      settings.notes[id.to_i] or halt 404
    end

    def search(query)
      settings.lock.synchronize do
        cache = settings.cache
        cache.shift while cache.size > CACHED
        cache[query] ||= settings.notes.select { |note| note.title.include?(query) || note.text.include?(query) }
      end
    end
  end

  get "/" do
    erb :list, locals: { notes: search(params[:q].to_s) }
  end

  get "/notes.json" do
    content_type :json
    JSON.generate(search(params[:q].to_s).map(&:to_h))
  end

  get "/notes/:id" do
    note = find(params[:id])
    comments = settings.lock.synchronize { note.comments.dup }
    erb :note, locals: { note: note, comments: comments }
  end

  post "/notes/:id" do
    note = find(params[:id])
    settings.lock.synchronize do
      note.comments << params[:text].to_s[0, 1000]
      note.comments.shift while note.comments.size > COMMENTS
    end
    redirect to("/notes/#{note.id}"), 303
  end

  # A full GC: what is live afterwards is in use, or leaked. Without it the demo
  # would have to run until Ruby does one by itself.
  post "/gc" do
    GC.start
    204
  end
end

// SPDX-License-Identifier: GPL-2.0-or-later
// flame_data.mjs - made-up stacks, and flame.json of them: for tests of the flame graph and for looking
// at it. The stacks are kept beside the tree, so that a test can count by hand.
//
//	node t/js/flame_data.mjs [NODES] > flame.json

import { pathToFileURL } from "node:url";

export const RUBY = 0, NATIVE = 1, SPECIAL = 2;

// The same numbers in every run
export function random(seed) {
	let s = seed;
	return () => {
		s = (Math.imul(s, 1103515245) + 12345) & 0x7fffffff;
		return s / 0x7fffffff;
	};
}

const G = "/usr/share/gems/gems";
// [name, file, line, group, kind]
const at = (group, file, line, name) => [name, `${group === "notes" ? "/srv/notes" : `${G}/${group}/lib`}/${file}`, line, group, RUBY];
const std = (file, line, name) => [name, `/usr/lib/ruby/3.1.0/${file}`, line, "ruby 3.1 stdlib", RUBY];
const core = (name) => [name, "", 0, "libruby-3.1.so.3.1", NATIVE];
const so = (name, file) => [name, file, 0, file, NATIVE];

const [PUMA, RACK, SINATRA, RED, JSON_, TILT, SEQUEL] = ["puma-6.6.1", "rack-3.1.8", "sinatra-4.1.1", "redcarpet-3.6.0", "json-2.9.1", "tilt-2.4.0", "sequel-5.87.0"];
const SERVER = [core("thread_start_func_1"), at(PUMA, "puma/thread_pool.rb", 155, "block in spawn_thread"), at(PUMA, "puma/server.rb", 470, "Puma::Server#process_client"),
	at(PUMA, "puma/request.rb", 103, "Puma::Request#handle_request"), at(RACK, "rack/common_logger.rb", 43, "Rack::CommonLogger#call"), at(RACK, "rack/head.rb", 15, "Rack::Head#call"),
	at(RACK, "rack/method_override.rb", 28, "Rack::MethodOverride#call"), at(RACK, "rack/session/cookie.rb", 128, "Rack::Session::Cookie#call"),
	at(SINATRA, "sinatra/base.rb", 1104, "Sinatra::Base#call!"), at(SINATRA, "sinatra/base.rb", 1108, "block in call!"), core("catch"), at(SINATRA, "sinatra/base.rb", 1153, "Sinatra::Base#dispatch!"),
	at(SINATRA, "sinatra/base.rb", 1017, "Sinatra::Base#route!")];
const BOOT = [std("rubygems/core_ext/kernel_require.rb", 85, "Kernel#require"), core("rb_require_string"), core("iseq_compile")];
const ROUTES = ["GET /", "GET /notes/:id", "GET /notes.json", "POST /notes/:id", "GET /search", "GET /tags", "POST /login", "GET /export.csv", "GET /feed.atom", "GET /admin"];
const WORK = [
	[[at("notes", "app.rb", 51, "Notes#render_markdown"), at(RED, "redcarpet.rb", 51, "Redcarpet::Markdown.new"), so("rb_redcarpet_md_render", "redcarpet.so"), so("bufgrow", "redcarpet.so"), core("ruby_xrealloc2")], 30],
	[[at("notes", "app.rb", 77, "Notes#to_json"), at(JSON_, "json/common.rb", 314, "JSON.generate"), core("cState_generate"), so("generate_json_object", "generator.so"), so("fbuffer_append", "generator.so")], 12],
	[[at("notes", "app.rb", 33, "Notes#load"), at(SEQUEL, "sequel/dataset/actions.rb", 162, "Sequel::Dataset#all"), at(SEQUEL, "sequel/adapters/sqlite.rb", 333, "fetch_rows"), core("Hash#[]="), core("rb_hash_aset")], 18],
	[[at("notes", "cache.rb", 12, "Notes::Cache#fetch"), core("rb_str_dup"), core("str_alloc")], 25],
	[[at(TILT, "tilt/template.rb", 231, "Tilt::Template#evaluate"), at(TILT, "tilt/template.rb", 340, "compile_template_method"), core("rb_iseq_compile_with_option"), core("iseq_compile"), core("ruby_xmalloc2")], 8],
	[[std("logger.rb", 412, "Logger#add"), std("logger/formatter.rb", 30, "Logger::Formatter#call"), core("rb_str_format"), core("rb_str_resize")], 3],
	[[std("uri/rfc3986_parser.rb", 12, "URI::RFC3986_Parser#split"), core("Regexp#match"), so("onig_search", "libruby-3.1.so.3.1"), core("ruby_xmalloc2")], 2],
];

// Stacks as {frames: outermost first, bytes by each nature, growth, samples}
export function stacks(nodes, seed = 7) {
	const rnd = random(seed), list = [], known = new Set();
	const add = (frames, size) => {
		const live = Math.ceil(size * (0.2 + rnd())), path = [];
		for (const frame of frames) {
			path.push(frame.join());
			known.add(path.join("\n"));
		}
		list.push({ frames, live, total: Math.ceil(live * (1 + rnd() * 40)), growth: Math.round(live * (rnd() * 1.3 - 0.4)), samples: Math.ceil(live / 65536 * rnd() * 2) });
	};
	const deep = nodes > 5000;
	while (known.size < nodes - 1) {
		const kind = rnd();
		if (kind < 0.12) {
			const gem = [RACK, SINATRA, SEQUEL, TILT, "i18n-1.14.6", "mustermann-3.0.3", "nokogiri-1.16.7"][Math.floor(rnd() * 7)], file = Math.floor(rnd() * 40);
			add([["<main>", "/srv/notes/server.rb", 3, "notes", RUBY], ...BOOT.slice(0, 2), at(gem, `${gem.split("-")[0]}/part_${file}.rb`, 1 + Math.floor(rnd() * 30), "<top (required)>"), ...BOOT], 20000 * rnd());
			continue;
		}
		const route = ROUTES[Math.floor(rnd() ** 2 * ROUTES.length)], [work, weight] = WORK[Math.floor(rnd() ** 1.5 * WORK.length)];
		const middle = [];
		for (let i = Math.floor(rnd() * (deep ? 18 : 3)); i > 0; i--)
			middle.push(rnd() < 0.3 ? core(["Array#each", "Array#map", "Hash#each", "Integer#times", "Kernel#public_send"][Math.floor(rnd() * 5)])
				: at("notes", `lib/helpers_${Math.floor(rnd() * 9)}.rb`, 5 + Math.floor(rnd() * 60), `Notes::Helpers#help_${Math.floor(rnd() * 30)}`));
		const head = SERVER.slice(0, SERVER.length), upTo = rnd() < 0.1 ? 4 + Math.floor(rnd() * 8) : head.length;
		add([...head.slice(0, upTo), ...(upTo < head.length ? [core("rb_str_new_cstr")] : [at("notes", "app.rb", 20 + ROUTES.indexOf(route) * 9, route), ...middle, ...work.slice(0, 1 + Math.floor(rnd() * work.length + 0.8))])], weight * 30000 * rnd() ** 3);
	}
	list.push({ frames: [["(other)", "", 0, "(other)", SPECIAL]], live: 81234, total: 812340, growth: 1234, samples: 0 });
	return list;
}

export const locationOf = ({ frames }) => {
	const line = frames.findLast((f) => f[4] === RUBY);
	return line ? `${line[1]}:${line[2]}` : null;
};

// flame.json of stacks
export function flame(list, { by = "live", inverted = false, location = null, unix = 1763900000.25 } = {}) {
	const names = [], files = [], groups = [], frames = [], index = new Map();
	const intern = (list, s) => (list.includes(s) ? list.indexOf(s) : list.push(s) - 1);
	const frame = ([name, file, line, group, kind]) => {
		const key = JSON.stringify([name, file, line, group]);
		if (!index.has(key))
			index.set(key, frames.push([intern(names, name), file ? intern(files, file) : -1, line, intern(groups, group), kind]) - 1);
		return index.get(key);
	};
	const node = (f) => ({ f, value: 0, width: 0, samples: 0, kids: new Map() });
	const root = node(-1);
	for (const stack of list) {
		if (location && locationOf(stack) !== location)
			continue;
		const v = stack[by], path = inverted ? [...stack.frames].reverse() : stack.frames;
		let here = root;
		for (const f of [null, ...path]) {
			if (f) {
				const id = frame(f);
				here = here.kids.get(id) || here.kids.set(id, node(id)).get(id);
			}
			here.value += v;
			here.width += Math.abs(v);
			here.samples += stack.samples;
		}
	}
	const out = { frame: [], depth: [], value: [], samples_of: [], width: [] };
	const todo = [[root, 0]];
	while (todo.length) {
		const [n, depth] = todo.pop();
		for (const [name, v] of Object.entries({ frame: n.f, depth, value: n.value, samples_of: n.samples, width: n.width }))
			out[name].push(v);
		for (const kid of [...n.kids.values()].sort((a, b) => a.value - b.value))
			todo.push([kid, depth + 1]);
	}
	if (by !== "growth")
		delete out.width;
	return { start: "1a2b", now: 12.25, unix, by, inverted, location, total: root.value, samples: root.samples, rate: 65536, pruned: 0, names, files, groups, frames, ...out };
}

if (import.meta.url === pathToFileURL(process.argv[1] || "").href)
	process.stdout.write(JSON.stringify(flame(stacks(Number(process.argv[2]) || 3000))));

// SPDX-License-Identifier: GPL-2.0-or-later
// fake_flame.mjs - /flame and /flame.json of the made-up server (fake_server.mjs), and the
// page that `mwrapctl flame` would write, as /alone: [status, type, body].

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { stacks, flame } from "./flame_data.mjs";

const escape = (s) => String(s).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
const fill = (path, slots) => readFileSync(path, "utf8").replace(/\{\{(\w+)\}\}/g, (_, k) => slots[k] ?? "");

let known = null;

const tree = (o, params) => {
	known ??= stacks(o.nodes || 3000);
	if (o.hostile && known[0].frames[0][0] !== "<img src=x onerror=\"window.hostile=1\">")
		known.unshift({ frames: [["<img src=x onerror=\"window.hostile=1\">", "/srv/</script><script>window.hostile=1</script>.rb", 1, "{{json}}<!--", 0]], live: 3e7, total: 3e8, growth: 3e6, samples: 9 });
	return flame(known, { by: params.get("by") || "live", inverted: params.get("invert") === "1", location: params.get("location") });
};

// The tree without scripts: three rows of it
function plain(json) {
	let out = "", open = 0;
	json.frame.forEach((f, i) => {
		if (f < 0 || json.depth[i] > 3)
			return;
		for (; open >= json.depth[i]; open--)
			out += "</ul></li>\n";
		out += `<li>${escape(json.names[json.frames[f][0]])} ${json.value[i]}\n<ul>`;
		open = json.depth[i];
	});
	return `<ul>${out}${"</ul></li>".repeat(open)}</ul>`;
}

export function flamePage(web, o, policy, path, params) {
	const base = escape(o.base), json = tree(o, params);
	if (path === "/flame.json")
		return o["no-stacks"] ? [404, "text/plain", "flame: stacks are off: start with the option stacks:auto\n"] : [200, "application/json", JSON.stringify(json)];
	if (path === "/alone")
		return [200, "text/html", fill(join(web, "dist/flame_alone.html"), { title: "calls", process: "pid 4711", json: JSON.stringify(json).replaceAll("<", "\\u003c") })];
	const main = fill(join(web, "flame.html"), { base, summary: "70 MB are live.", by: '<option value="live">live</option>', invert: '<option value="">callers</option>', tree: plain(json) });
	return [200, "text/html", fill(join(web, "layout.html"), { title: "calls", base, about: ' data-page="flame"', nav: `<a class="home" href="${base}/">mwrap</a><a class="help" href="${base}/help">?</a>`,
		version: "4.0", process: "pid 4711, up 3 h 12 min", main, css: `${base}/mwrap.css`, script: `<script type="module" src="${base}/dist/mwrap.js"></script>\n` }), policy];
}
